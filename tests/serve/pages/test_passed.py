"""``/calls``: what passed the gateway, with its turns, its tokens and its breaks; and what was not recorded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from headish import Database, Store
from headish.gateway.spool import Outcome
from headish.serve.recorder.recording import CallRecorder
from support.command import Command, at_terminal
from support.loopback import Loopback
from support.passed import CLAUDE_CODE, anthropic_answer, anthropic_body, message_item, passed, responses_answer, user
from support.serving import Served, serving
from support.talks import record_calls

pytestmark = pytest.mark.slow


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "calls.db") as made:
        yield made


def page_of(served: Served, path: str = "/calls", token: str | None = None) -> str:
    client = served.client(token)
    client.headers |= {"accept": "text/html"}
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return str(answer.text)


def test_each_call_says_its_tokens_how_it_ended_and_where_its_prefix_broke(store: Store, tmp_path: Path) -> None:
    record_calls(store)
    calls = store.calls.list()
    with serving(tmp_path / "calls.db", tmp_path / "state") as served:
        page = page_of(served)
        assert page.count("<h2>") == len(calls) == 5
        assert page.index("not recorded") < page.index("status 529") < page.index("The prompt cache ended at message")
        assert page.count("The prompt cache ended") == 1
        assert re.search(r"about [\d,]+ tokens were read anew", page)
        assert page.count("100 in, 90 of them cached, 7 out") == 3
        assert "/chat/completions" in page
        assert "Overloaded" in page
        broke = next(each.facts.broke for each in calls if each.facts.broke)
        for turn in (*(each.answer for each in calls if each.answer), broke.turn):
            assert f'href="/t/{turn}#t{turn}"' in page
        of_one = page_of(served, "/calls?name=claude-code/097ac8")
        assert of_one.count("<h2>") == 3
        assert "not recorded" not in of_one
        assert "No call of this conversation" in page_of(served, "/calls?name=nobody")


def test_an_error_about_a_whole_body_says_no_path_into_it(store: Store, tmp_path: Path) -> None:
    CallRecorder(lambda _space: store).record(passed("anthropic", b"[]", headers=CLAUDE_CODE))
    error = store.calls.list()[0].facts.error
    assert error is not None
    assert error.endswith(" (at $)")
    with serving(tmp_path / "calls.db", tmp_path / "state") as served:
        page = page_of(served)
    assert f"{error.removesuffix(' (at $)')}</p>" in page
    assert "at $" not in page


def test_an_answer_that_ends_before_its_last_event_is_marked(store: Store, tmp_path: Path) -> None:
    """A provider, or a proxy before it, may close a stream in good order and in the middle of an answer."""
    recorder = CallRecorder(lambda _space: store)
    for answer in (anthropic_answer("Whole"), anthropic_answer("Half", whole=False), anthropic_answer(whole=False)):
        recorder.record(passed("anthropic", anthropic_body([user("Hi")]), answer, headers=CLAUDE_CODE))
    assert [each.facts.outcome for each in store.calls.list()] == ["broken", "broken", "ok"]
    assert [each.answer is not None for each in store.calls.list()] == [False, True, True]
    with serving(tmp_path / "calls.db", tmp_path / "state") as served:
        page = page_of(served)
    assert page.count("the provider broke off") == 2
    listed = Command(str(tmp_path / "calls.db"))("call", "list").out.splitlines()
    assert [re.findall(r"  (200(?: \w+)?)  ", line) for line in listed] == [["200 broken"], ["200 broken"], ["200"]]


def record_refusals(store: Store) -> None:
    """Codex, in two sessions, asks a provider for a WebSocket that opens none, and then by HTTP."""
    recorder = CallRecorder(lambda _space: store)
    headers = {"user-agent": "codex_exec/0.171.0"}
    for _ in range(2):
        for number in range(7):
            outcome: Outcome = "client gone" if number % 2 else "ok"
            tried = passed("responses", b"", b"{}", headers=headers, status=404, method="GET", outcome=outcome)
            recorder.record(tried)
        recorder.record(passed("responses", {"input": "Hi"}, responses_answer(message_item("Yes")), headers=headers))
    for path in ("/v1/models", "/v1/files"):
        recorder.record(passed("responses", b"", b"{}", headers=headers, status=404, method="GET", path=path))


def test_refused_websockets_in_a_row_are_one_line(store: Store, tmp_path: Path) -> None:
    record_refusals(store)
    with serving(tmp_path / "calls.db", tmp_path / "state") as served:
        page = page_of(served)
    assert (page.count("<h2>"), page.count("status 404, 7 times")) == (6, 2)
    database = str(tmp_path / "calls.db")
    shown = at_terminal("--db", database, "--no-pager", "call", "list", columns=120).splitlines()
    assert len(shown) == 1 + 6
    assert [line.split()[4:6] for line in shown if "x7" in line] == [["/responses", "404"]] * 2
    listed = Command(database)("call", "list").out.splitlines()
    assert (len(listed), [line for line in listed if "x7" in line]) == (18, [])


def test_calls_are_listed_in_pages(store: Store, tmp_path: Path) -> None:
    recorder = CallRecorder(lambda _space: store)
    for number in range(60):
        recorder.record(passed("chat", b"", status=404, path=f"/v1/number-{number}-"))
    with serving(tmp_path / "calls.db", tmp_path / "state") as served:
        first = page_of(served)
        older = page_of(served, re.findall(r'href="(/calls\?before=[^"]+)"', first)[0])
    shown = [int(number) for page in (first, older) for number in re.findall(r"number-(\d+)-", page)]
    assert shown == list(range(59, -1, -1))
    assert "Older calls" not in older


def test_what_was_not_recorded_is_said_and_a_gateway_that_does_not_answer_is_no_error(
    store: Store, tmp_path: Path
) -> None:
    problems = ["calls that were not recorded: 4 (the spool is <full>)", "spaces that take no calls: 3 (is restored)"]
    with Database.open(tmp_path / "calls.db") as database:
        token = database.access_tokens.add("one", space="default", rights=("read",))
    with Loopback() as gateway:
        gateway.answer_json({"status": "unrecorded", "problems": problems})
        with serving(tmp_path / "calls.db", tmp_path / "state", gateway=gateway.url) as served:
            page = page_of(served)
            assert (
                '<p class="failure" role="alert">Calls that were not recorded: 4 (the spool is &lt;full&gt;).</p>'
                in page
            )
            assert '<p class="failure" role="alert">Spaces that take no calls: 3 (is restored).</p>' in page
            assert page.count('class="failure"') == 2
            assert "No call has passed the gateway yet." in page
            gateway.answer_json({"status": "unrecorded", "problems": problems})
            of_one = page_of(served, token=token)
            assert "No call has passed the gateway yet." in of_one
            assert 'class="failure"' not in of_one, "the counts are of all spaces"
    for url in ("http://127.0.0.1:1", "http://::1:8322"):
        with serving(tmp_path / "calls.db", tmp_path / "state", gateway=url) as served:
            page = page_of(served)
            assert '<p class="failure" role="alert">The gateway does not say how it is.</p>' in page
            assert page.count('class="failure"') == 1
            assert "headish run claude" in page
    with serving(tmp_path / "calls.db", tmp_path / "state") as served:
        page = page_of(served)
        assert 'class="failure"' not in page
        assert "This server runs without a gateway." in page
        assert "headish run claude" not in page, "no gateway would take its calls"
