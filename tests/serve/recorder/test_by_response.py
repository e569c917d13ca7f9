"""Requests that send only what is new and name the response before, as clients do through a WebSocket."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headish import Store
from headish.content.forms.layout import is_same
from headish.gateway.spool import SpooledCall
from headish.history.writing.calls import RecordedCall
from headish.serve.recorder.recording import CallRecorder
from support.counting import calls
from support.passed import events, passed
from support.sockets import completed, create, created, said

CODEX = {"user-agent": "codex_exec/0.171.0", "session-id": "01a217f6-782b-7e80-bb8f-18f39e675dd1"}
TOOLS = {"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "ls"}]}


class Socket:
    """A client that warms up, and then names the last response in each request."""

    def __init__(self, store: Store, recorder: CallRecorder | None = None, **headers: str) -> None:
        self.store, self.headers = store, headers or CODEX
        self.recorder = recorder or CallRecorder(lambda _space: store)
        self.last: str | None = None
        self.sent: list[tuple[SpooledCall, dict[str, Any]]] = []

    def ask(self, body: dict[str, Any], text: str | None = None, *, ends: bool = True) -> RecordedCall:
        number = len(self.sent)
        id = f"resp_{number}_{abs(hash(self))}"
        sent = body if self.last is None else {**body, "previous_response_id": self.last}
        came = [created(id), *([] if text is None else said(text, f"msg_{id}")), *([completed(id)] if ends else [])]
        call = passed("responses", sent, events(came), headers=self.headers, outcome="ok" if ends else "client gone")
        self.sent.append((call, sent))
        recorded = self.recorder.record(call)
        assert recorded is not None
        if ends:
            self.last = id
        return recorded

    def check_bodies(self) -> None:
        for call, sent in self.sent:
            assert is_same(self.store.calls.body(call.id), sent)


def texts(store: Store, name: str) -> list[str]:
    return [store.text(turn.id) for turn in reversed(list(store.log(name)))]


def first(*words: str, **more: Any) -> dict[str, Any]:
    body = create(*words, **more)
    return {**body, "input": [TOOLS, *body["input"]]}


def test_a_warm_up_stores_nothing_and_what_follows_is_one_thread(store: Store) -> None:
    socket = Socket(store)
    warm = socket.ask({**create(generate=False), "input": []})
    assert (warm.call.tip, warm.call.answer, warm.name) == (None, None, None)
    names = [socket.ask(first("List"), "One.").name, socket.ask(create("and?"), "Two.").name,
             socket.ask(create("so?"), "Three.").name]  # fmt: skip
    assert set(names) == {"codex/675dd1"}
    assert texts(store, "codex/675dd1")[-6:] == ["List", "One.", "and?", "Two.", "so?", "Three."]
    assert [call.facts.note for call in store.calls.list()] == [None] * 4
    assert [call.facts.added for call in store.calls.list()] == [1, 1, 2, 0]
    assert list(store.bookmarks) == ["codex/675dd1"]
    socket.check_bodies()


def test_instructions_are_the_thread_s_where_nothing_was_said_before(store: Store) -> None:
    for session in ("1", "2"):
        socket = Socket(store, **{**CODEX, "session-id": session * 8})
        said_so = {"instructions": "Be brief.", "tools": [{"type": "function", "name": "ls"}]}
        socket.ask({**create(generate=False, **said_so), "input": []})
        socket.ask(first("List", **said_so), "One.")
        socket.ask(create("and?", **said_so), "Two.")
        stored = texts(store, f"codex/{session * 8}")
        assert (stored[0], stored[-4:]) == ("Be brief.", ["List", "One.", "and?", "Two."])
        assert [turn.meta.role for turn in store.log(f"codex/{session * 8}")].count("system") == 1
        socket.check_bodies()


def test_the_instructions_of_a_request_replace_those_of_its_warm_up(store: Store) -> None:
    socket = Socket(store)
    tools = [{"type": "function", "name": "ls"}]
    socket.ask({**create(generate=False, instructions="Be brief.", tools=tools), "input": []})
    socket.ask(create("List", instructions="Be long.", tools=tools), "One.")
    assert texts(store, "codex/675dd1") == ["Be long.", "List", "One."]
    socket.check_bodies()


def test_a_warm_up_that_says_something_is_gone_on_from(store: Store) -> None:
    socket = Socket(store)
    warm = socket.ask(first("List", generate=False))
    assert warm.name == "codex/675dd1"
    socket.ask({**create(), "input": []}, "One.")
    socket.ask(create("and?"), "Two.")
    assert texts(store, "codex/675dd1")[-4:] == ["List", "One.", "and?", "Two."]
    socket.check_bodies()


def test_a_connection_that_begins_anew_with_the_whole_list_goes_on_in_the_same_thread(store: Store) -> None:
    socket = Socket(store)
    listed = first("List")["input"]
    for text in ("One.", "Two."):
        item = said(text)[-1]["item"]
        socket.ask({**create(), "input": listed if text == "One." else listed[-1:]}, text)
        listed = [*listed, {**item, "id": socket.sent[-1][0].id}, *create("and?")["input"]]
    again = Socket(store)
    again.ask({**create(generate=False), "input": []})
    recorded = again.ask({**create(), "input": listed}, "Three.")
    assert recorded.name == "codex/675dd1"
    assert texts(store, "codex/675dd1")[-6:] == ["List", "One.", "and?", "Two.", "and?", "Three."]
    assert store.calls.get(recorded.call.id).facts.added == 1
    assert store.calls.get(recorded.call.id).facts.broke is None


def test_without_a_session_each_request_continues_the_one_that_it_names(store: Store) -> None:
    one, other = (Socket(store, **{"user-agent": "openai-python"}) for _ in range(2))
    for number in range(3):
        for socket in (one, other):
            socket.ask(create(f"{number}"), f"On {number}.")
    for socket in (one, other):
        answer = store.calls.get(socket.sent[-1][0].id).answer
        assert texts(store, str(answer)) == ["0", "On 0.", "1", "On 1.", "2", "On 2."]
        socket.check_bodies()


def test_an_earlier_response_begins_a_branch_and_an_unknown_one_a_thread(store: Store) -> None:
    socket = Socket(store)
    socket.ask(first("List"), "One.")
    before = socket.last
    socket.ask(create("and?"), "Two.")
    socket.last = before
    socket.ask(create("or?"), "Other.")
    assert texts(store, "codex/675dd1")[-4:] == ["List", "One.", "or?", "Other."]
    socket.last = "resp_of_another"
    recorded = socket.ask(create("what?"), "No.")
    assert "not stored here" in str(store.calls.get(recorded.call.id).facts.note)


def test_an_answer_that_broke_off_is_incomplete_and_gone_on_from_before_it(store: Store) -> None:
    socket = Socket(store)
    socket.ask(first("List"), "One.")
    broken = socket.ask(create("and?"), "Tw", ends=False)
    stored = store.get(str(broken.call.answer))
    assert stored.meta.reply is not None
    assert stored.meta.reply["incomplete"] is True
    socket.ask(create("and?"), "Two.")
    assert texts(store, "codex/675dd1")[-4:] == ["List", "One.", "and?", "Two."]


def test_a_recorder_that_starts_anew_knows_where_it_was(store: Store) -> None:
    socket = Socket(store)
    socket.ask({**create(generate=False), "input": []})
    for number in range(3):
        socket.recorder = CallRecorder(lambda _space: store)
        socket.ask(first(f"{number}") if number == 0 else create(f"{number}"), f"On {number}.")
    assert texts(store, "codex/675dd1")[-6:] == ["0", "On 0.", "1", "On 1.", "2", "On 2."]


@pytest.mark.parametrize("headers", [CODEX, {"user-agent": "openai-python"}])
def test_what_a_request_costs_does_not_grow_with_its_thread(store: Store, headers: dict[str, str]) -> None:
    socket = Socket(store, **headers)
    for number in range(40):
        socket.ask(first("0") if number == 0 else create(f"{number}"), f"On {number}.")
    few = calls(lambda: socket.ask(create("few"), "On few."), "read_payload")
    for number in range(40):
        socket.ask(create(f"{number} more"), f"On {number} more.")
    assert calls(lambda: socket.ask(create("many"), "On many."), "read_payload") == few
    assert calls(lambda: socket.ask(create("many"), "On many."), "load_lane") == 0


def test_a_response_of_another_space_is_unknown(tmp_path: Path) -> None:
    with Store.open(tmp_path / "two.db", space="hers") as hers, Store.open(tmp_path / "two.db", space="his") as his:
        recorder = CallRecorder({"hers": hers, "his": his}.__getitem__)
        answer = events([created("resp_1"), *said("A secret."), completed("resp_1")])
        for space, body in (
            ("hers", first("Tell me.")),
            ("his", create("And then?", previous_response_id="resp_1")),
        ):
            assert recorder.record(passed("responses", body, answer, headers=CODEX, space=space)) is not None
        assert [his.text(turn.id) for turn in his.turns()] == ["And then?", "A secret."]
        assert sum(hers.text(turn.id) == "A secret." for turn in hers.turns()) == 1
        assert (hers.verify().problems, his.verify().problems) == ((), ())
