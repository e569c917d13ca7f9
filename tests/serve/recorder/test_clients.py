"""Which client called, in which of its sessions: from what the gateway writes down of a call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from headish import Store
from headish.gateway.passing.headers import keep_headers
from headish.gateway.recording.redacting import KeyFilter
from headish.serve.recorder.clients import CLIENTS, CONVERSATION, KnownClient, find_session
from headish.serve.recorder.recording import CallRecorder
from support.passed import anthropic_answer, anthropic_body, passed, user

OPENCODE = "opencode/1.18.33 ai-sdk/provider-utils/4.0.46 runtime/bun/1.3.14"
SESSION = "ses_ddf4371aaffeBISDElEUGWKtyX"


class Asked(Mapping[str, str]):
    """Headers of which none is there; which ones were looked for."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __getitem__(self, name: str) -> str:
        self.names.append(name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_each_header_that_tells_a_session_is_written_down(client: KnownClient) -> None:
    asked = Asked()
    for read in client.sessions:
        read(asked, {})
    for name in (*asked.names, CONVERSATION, "user-agent"):
        assert keep_headers([(name.title(), "x")], KeyFilter([])) == {name: "x"}


@pytest.mark.parametrize("header", ["x-session-affinity", "X-Session-Id", "x-opencode-session"])
def test_sessions_of_opencode_that_begin_alike_are_conversations_of_their_own(store: Store, header: str) -> None:
    recorder = CallRecorder(lambda _space: store)
    names = []
    for session in (SESSION, SESSION[:-6] + "abcdef", "ses_" + "0" * 20 + SESSION[-6:].lower(), SESSION):
        headers = keep_headers([("User-Agent", OPENCODE), (header, session)], KeyFilter([]))
        body = anthropic_body([user("listing please")], tools=[{"name": "bash"}])
        call = passed("anthropic", body, anthropic_answer("Hello"), headers=headers)
        recorded = recorder.record(call)
        assert recorded is not None
        names.append(recorded.name)
    longer = "opencode/ses-" + "0" * 20 + "gwktyx"
    assert names == ["opencode/gwktyx", "opencode/abcdef", longer, "opencode/gwktyx"]


def test_what_only_looks_like_a_session_of_opencode_is_its_own_name() -> None:
    for session in ("trip", SESSION + "a", SESSION.upper()):
        assert len(find_session({"user-agent": OPENCODE, CONVERSATION: session}, {}).shorts) == 1
