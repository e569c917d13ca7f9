"""Who may send calls, in whose space they are written, and with whose key they go on. No key is ever written down."""

from __future__ import annotations

import gzip
import json
import os
import socket
import time
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

from headish.gateway.files import write_whole
from headish.gateway.passing.access import ACCESS_FILE, Access, PointerPlace
from headish.gateway.passing.gate import _find_key
from headish.gateway.passing.upstreams import UPSTREAMS, CallTarget, read_target
from headish.gateway.spool import now
from headish.gateway.spool.state import RecorderState, living, write_state
from headish.values.access.tokens import Right, Token, make_token, token_hash
from support.gateways import Running, running
from support.upstream import Asked, Step, Upstream, answer, byte_by_byte, stream

pytestmark = pytest.mark.slow

PATH = "/anthropic/v1/messages"


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream() as started:
        yield started


@pytest.fixture
def gateway(upstream: Upstream, tmp_path: Path) -> Iterator[Running]:
    upstream.asked.clear()
    upstream.script = lambda _: answer(b"{}")
    with running(tmp_path, upstream) as started:
        yield started


def token_of(text: str, *rights: Right, expires: int | None = None) -> Token:
    return Token("laptop", 1, "work", rights or ("gateway",), token_hash(text), 0, expires)


def tell(gateway: Running, *tokens: Token, **pointers: PointerPlace) -> None:
    write_whole(gateway.folder / ACCESS_FILE, Access(tokens=tokens, pointers={"work": pointers}))


def test_a_token_opens_its_space_wherever_it_is_shown_and_never_goes_on(upstream: Upstream, gateway: Running) -> None:
    text = make_token()
    tell(gateway, token_of(text))
    shown = [
        (PATH, {"x-headish-token": text, "x-api-key": "the client's own"}),
        (f"/t/{text}{PATH}", {"x-api-key": "the client's own"}),
        (PATH, {"Authorization": f"Bearer {text}"}),
        (PATH, {"X-Api-Key": text}),
        ("/gemini/v1beta/models", {"x-goog-api-key": text}),
    ]
    for number, (path, headers) in enumerate(shown, 1):
        assert gateway.ask(path, b"{}", headers)[0] == 200
        call = gateway.calls(number)[-1]
        assert (call.begin.space, call.begin.token) == ("work", "laptop")
        assert text not in str(upstream.asked[-1])
        assert call.begin.path == upstream.asked[-1].target
    assert [asked.header("x-api-key") for asked in upstream.asked[:3]] == ["the client's own"] * 2 + [None]
    assert text.encode() not in gateway.spooled()
    gateway.ask(PATH, b"{}", {"x-api-key": "the client's own"})
    call = gateway.calls(len(shown) + 1)[-1]
    assert (call.begin.space, call.begin.token) == (None, None)


def test_a_wrong_token_is_refused_in_the_words_of_the_api_and_nothing_is_forwarded(
    upstream: Upstream, gateway: Running
) -> None:
    good, reading, old = make_token(), make_token(), make_token()
    tell(gateway, token_of(good), token_of(reading, "read"), token_of(old, expires=1))
    for text in (make_token(), good[:-1] + ("A" if good[-1] != "A" else "B"), reading, old, "hdsh_", ""):
        status, _, body = gateway.ask(f"/t/{text}{PATH}", b"{}")
        assert (text, status) == (text, 401)
        assert json.loads(body)["error"]["type"] == "authentication_error"
    for headers in ({"Authorization": f"Bearer {make_token()}"}, {"x-headish-token": "other"}):
        status, _, body = gateway.ask("/gemini/v1beta/models", b"{}", headers)
        assert (status, json.loads(body)["error"]["status"]) == (401, "UNAUTHENTICATED")
    two = {"Authorization": f"Bearer {good}", "x-api-key": good}
    assert gateway.ask(PATH, b"{}", two)[0] == 401
    assert gateway.ask(f"/gemini/v1beta/models?key={good}", b"{}")[0] == 401
    assert upstream.asked == []


def test_a_token_that_is_revoked_stops_with_the_next_call(gateway: Running) -> None:
    text = make_token()
    statuses = []
    for tokens in ((), (token_of(text),), ()):
        tell(gateway, *tokens)
        statuses.append(gateway.ask(f"/t/{text}{PATH}", b"{}")[0])
    (gateway.folder / ACCESS_FILE).write_text("{broken")
    statuses.append(gateway.ask(f"/t/{text}{PATH}", b"{}")[0])
    assert statuses == [401, 200, 401, 401]


def test_who_tries_many_tokens_has_to_wait(gateway: Running) -> None:
    text = make_token()
    tell(gateway, token_of(text))
    tried = [gateway.ask(f"/t/{make_token()}{PATH}", b"{}")[0] for _ in range(21)]
    assert tried == [401] * 20 + [429]
    assert gateway.ask(f"/t/{text}{PATH}", b"{}")[0] == 200


def test_behind_a_proxy_every_call_needs_a_token(upstream: Upstream, tmp_path: Path) -> None:
    text = make_token()
    with running(tmp_path, upstream, behind_proxy=("10.0.0.0/8",)) as gateway:
        tell(gateway, token_of(text))
        assert gateway.ask(PATH, b"{}", {"x-api-key": "a key"})[0] == 401
        assert gateway.ask(f"/t/{text}{PATH}", b"{}")[0] == 200


def test_a_key_of_the_environment_goes_to_its_own_host_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "named")
    for api, name in (("anthropic", "ANTHROPIC_API_KEY"), ("openai", "OPENAI_API_KEY"), ("gemini", "GEMINI_API_KEY")):
        monkeypatch.setenv(name, f"the-usual-one-of-{api}")
        own = UPSTREAMS[api]
        assert _find_key(own) == f"the-usual-one-of-{api}"
        assert _find_key(own.moved("https://other.example")) is None
    assert _find_key(UPSTREAMS["ollama"]) is None


def test_a_pointer_leads_to_its_address_with_the_key_that_it_names(
    upstream: Upstream, gateway: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = make_token()
    monkeypatch.setenv("MY_KEY", "named-key-0123456789")
    place = PointerPlace("openai", f"{upstream.url}/base/v1", key_env="MY_KEY")
    unnamed = PointerPlace("openai", f"{upstream.url}/base/v1", key_env="NO_KEY_OF_THAT_NAME")
    tell(gateway, token_of(text), mine=place, broken=unnamed)
    path, headers = "/to/mine/chat/completions?x=1", {"Authorization": f"Bearer {text}"}
    assert gateway.ask(path, b"{}", headers)[0] == 200
    [asked] = upstream.asked
    assert (asked.target, asked.header("authorization")) == (
        "/base/v1/chat/completions?x=1",
        "Bearer named-key-0123456789",
    )
    [call] = gateway.calls(1)
    assert (call.begin.api, call.begin.path) == ("mine", "/chat/completions")
    assert b"named-key" not in gateway.spooled()
    status, _, body = gateway.ask("/to/broken/chat/completions", b"{}", headers)
    assert (status, json.loads(body)["error"]["code"]) == (401, "missing_api_key")
    assert gateway.ask(path, b"{}")[0] == 404, "the pointers of another space are unknown"
    assert len(upstream.asked) == 1


def test_other_hosts_and_pages_of_other_sites_are_refused(upstream: Upstream, tmp_path: Path) -> None:
    with running(tmp_path, upstream, origins=("app://mine",), public_urls=("https://llm.example.org",)) as gateway:
        own = {"Host": f"127.0.0.1:{gateway.port}"}
        asked = {
            421: [{"Host": "evil.example"}, {"Host": "127.0.0.1"}],
            403: [
                own | {"Origin": "http://evil.example"},
                own | {"Sec-Fetch-Site": "cross-site"},
                own | {"Sec-Fetch-Site": "same-site"},
                own | {"Origin": "null"},
            ],
            200: [
                own,
                {"Host": f"localhost:{gateway.port}"},
                {"Host": "llm.example.org"},
                own | {"Origin": "app://mine", "Sec-Fetch-Site": "cross-site"},
            ],
        }
        upstream.asked.clear()
        upstream.script = lambda _: answer(b"{}")
        for path in (PATH, "/healthz"):
            found = {status: [gateway.ask(path, headers=each)[0] for each in cases] for status, cases in asked.items()}
            assert found == {status: [status] * len(cases) for status, cases in asked.items()}, path
        assert len(upstream.asked) == len(asked[200])


def test_no_key_of_a_call_is_written_down_wherever_it_is_echoed(upstream: Upstream, gateway: Running) -> None:
    """In an answer cut at every byte, compressed, encoded, in an error, a header; in the request's own body."""
    key = "zz-very-secret-0123456789-abcdefgh"
    events = [f'data: {{"echo": "{key}", "b64": "{b64encode(key.encode()).decode()}"}}\n\n'.encode()] * 2
    packed = gzip.compress(b"".join(events))

    def script(asked: Asked) -> list[Step]:
        return {
            "1": stream(byte_by_byte(b"".join(events))),
            "2": stream(byte_by_byte(packed), "text/event-stream", "content-encoding: gzip"),
            "3": answer(events[0], 401, "application/json", f"request-id: {key}"),
            "4": answer(b'{"error": "Incorrect key: sk-proj-1234567890abcdefgh"}', 401),
        }[asked.target[-1]]

    upstream.script = script
    body = json.dumps({"messages": [{"role": "user", "content": f"my key is {key}; sk-proj-1234567890abcdefgh"}]})
    for number in "1234":
        gateway.ask(f"/openai/v1/{number}", body.encode(), {"Authorization": f"Bearer {key}", "User-Agent": key})
        gateway.ask(f"/gemini/v1beta/models?key={key}&n={number}", body.encode())
    calls = gateway.calls(8)
    spooled = gateway.spooled()
    assert key.encode() not in spooled
    assert b64encode(key.encode()) not in spooled
    # The last characters of base64 also depend on what stands behind the key.
    assert [call.response for call in (calls[0], calls[2])] == [b'data: {"echo": "***", "b64": "***A=="}\n\n' * 2] * 2
    assert b"my key is ***; sk-proj-1234567890abcdefgh" in calls[0].request, "what people say stays as it is"
    assert b"sk-proj" not in calls[6].response
    assert json.loads(calls[6].response)["error"].startswith("Incorrect key: <hidden")
    assert [call.begin.query for call in calls if call.begin.api == "gemini"] == [f"n={n}" for n in "1234"]
    assert os.fsencode(key) in upstream.asked[0].body, "it passed"


def test_a_request_that_is_not_http_puts_no_key_into_the_log(
    gateway: Running, caplog: pytest.LogCaptureFixture
) -> None:
    """The log of a service is kept, and read by others than the owner of the key."""
    heads = {
        "/t/hdt-secret/anthropic/v1/m\u00e9": "",
        PATH: "x-api-key: sk-secret\x01\r\n",
        "/openai/v1/responses": "Authorization: Bearer sk-secret\rx\r\n",
        "/ollama/api/chat": "Authorization: Bearer sk-secret\r\n x\r\n",
        "/gemini/" + "sk-secret" * 10_000: "",
    }
    for path, head in heads.items():
        with socket.create_connection(("127.0.0.1", gateway.port), timeout=60) as connection:
            head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{gateway.port}\r\n{head}\r\n"
            connection.sendall(head.encode())
            assert b" 400 Bad Request" in connection.recv(65536)
    assert [record.getMessage() for record in caplog.records] == [
        "headish gateway: a request of 127.0.0.1 is not valid HTTP"
    ] * len(heads)
    assert "secret" not in caplog.text


def test_a_head_that_does_not_end_is_hung_up_on(
    upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headish.gateway.running.HEAD_SECONDS", 0.2)
    with running(tmp_path, upstream) as gateway:
        whole = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{gateway.port}\r\n\r\n".encode()
        for sent in (b"", b"GET / HT", whole[:-2], whole + b"GET /"):
            with socket.create_connection(("127.0.0.1", gateway.port), timeout=60) as connection:
                connection.sendall(sent)
                answered = b""
                while piece := connection.recv(65536):
                    answered += piece
                assert answered.count(b"HTTP/1.1 200") == sent.count(b"\r\n\r\n"), "only a whole request is answered"


def test_a_call_may_take_longer_than_a_head(
    upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headish.gateway.running.HEAD_SECONDS", 0.2)
    upstream.script = lambda _: [0.6, *answer(b"{}")]

    def slow() -> Iterator[bytes]:
        yield b"{"
        time.sleep(0.6)
        yield b"}"

    with running(tmp_path, upstream) as gateway:
        assert gateway.ask(PATH, slow())[0] == 200


def test_of_a_stranger_no_body_is_asked_for(upstream: Upstream, gateway: Running) -> None:
    upstream.script = lambda _: answer(b"{}")
    own = f"127.0.0.1:{gateway.port}"
    for host, expected, told in (
        ("evil.example", "100-continue", b"HTTP/1.1 421"),
        (own, "100-continue", b"HTTP/1.1 100"),
        (own, "100-Continue", b"HTTP/1.1 100"),
        (own, "anything", b"HTTP/1.1 417"),
    ):
        with socket.create_connection(("127.0.0.1", gateway.port), timeout=60) as connection:
            head = f"POST {PATH} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 2\r\nExpect: {expected}\r\n\r\n"
            connection.sendall(head.encode())
            assert connection.recv(65536).startswith(told)


def test_whoever_asks_for_the_health_learns_no_space_s_name(gateway: Running) -> None:
    state = RecorderState(now(), 0, 0, 1, 5, aside={"user-alice": "the database has no space left"})
    write_state(gateway.folder, state)
    with living(gateway.folder):
        assert gateway.health()["problems"] == ["spaces that take no calls: 1 (the database has no space left)"]
        assert b"user-alice" not in gateway.ask("/healthz")[2]


def test_a_target_is_read_as_it_was_sent() -> None:
    assert read_target("/t/TOKEN/openai/v1/x?a=/t/") == CallTarget("openai", None, "/v1/x", "a=/t/", "TOKEN")
    assert read_target("/to/a%20b/x") == CallTarget(None, "a%20b", "/x", "")
    for path in ("", "/", "/other/v1", "/t/TOKEN", "/to/", "openai", "//openai/v1", "http://other/openai/v1"):
        assert read_target(path) is None, path


def test_a_call_that_has_to_be_recorded_is_refused_where_it_cannot_be(upstream: Upstream, tmp_path: Path) -> None:
    upstream.script = lambda _: answer(b"{}")
    upstream.asked.clear()
    with running(tmp_path / "strict", upstream, require_record=True, spool_limit_bytes=2000) as gateway:
        assert gateway.ask(PATH, b"{}")[0] == 200
        gateway.ask(PATH, b"{" + b" " * 4000 + b"}")
        gateway.calls(2)
        until, status = time.monotonic() + 60, 200
        while status == 200 and time.monotonic() < until:
            asked = len(upstream.asked)
            status, _, body = gateway.ask(PATH, b"{}")
        assert (status, len(upstream.asked)) == (503, asked)
        assert json.loads(body)["error"]["message"].startswith("this call cannot be recorded")


def test_a_call_that_cannot_be_recorded_passes_and_is_counted(upstream: Upstream, tmp_path: Path) -> None:
    upstream.script = lambda _: answer(b"{}")
    with running(tmp_path / "full", upstream, spool_limit_bytes=100) as gateway:
        until = time.monotonic() + 60
        calls = 0
        while gateway.health()["unrecorded"] == 0 and time.monotonic() < until:
            assert gateway.ask(PATH, b"{" + b" " * 4000 + b"}")[0] == 200
            calls += 1
        health = gateway.health()
        assert (health["status"], health["calls"], health["open"]) == ("unrecorded", calls, 0)
        assert health["failure"] == "the spool has 100 bytes, its limit"
