"""``/calls``: what passed the gateway, with its turns, its tokens and its breaks; and what was not recorded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from headish import Store
from headish.gateway.spool.state import STATE_FILE, RecorderState
from headish.serve.recorder.recording import CallRecorder
from support.loopback import Loopback
from support.passed import passed
from support.serving import Served, serving
from support.talks import record_calls

pytestmark = pytest.mark.slow


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "calls.db") as made:
        yield made


def page_of(served: Served, path: str = "/calls") -> str:
    client = served.client()
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
    (tmp_path / "state").mkdir()
    state = RecorderState(0, 7, 2, 3, 1000, "database is locked")
    (tmp_path / "state" / STATE_FILE).write_bytes(msgspec.json.encode(state))
    with Loopback() as gateway:
        gateway.answer_json({"status": "unrecorded", "unrecorded": 4, "failure": "the spool is <full>"})
        with serving(tmp_path / "calls.db", tmp_path / "state", gateway=gateway.url) as served:
            page = page_of(served)
            assert "could not record 4 calls since it began: the spool is &lt;full&gt;" in page
            assert "could not store 2 calls" in page
            assert "3 calls wait to be stored" in page
            assert "The database does not answer." in page
            assert "No call has passed the gateway yet." in page
    with serving(tmp_path / "calls.db", tmp_path / "state", gateway="http://127.0.0.1:1") as served:
        page = page_of(served)
        assert "could not record" not in page
        assert "could not store 2 calls" in page
    with serving(tmp_path / "calls.db", tmp_path / "state") as served:
        assert "could not store" not in page_of(served)
