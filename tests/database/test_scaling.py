"""What an operation costs does not depend on how much else is stored: counted in steps of SQLite's machine."""

from __future__ import annotations

from collections.abc import Callable
from random import random

import pytest

from headish import Store, Turn
from headish.values.blocks import ToolResult
from support.growing import grow
from support.insides import counted_steps

DRAWING = "q? <- a <- r?, q? <- b, b + r? <- end"
OPERATIONS: dict[str, Callable[[Store, dict[str, Turn]], object]] = {
    "get by id": lambda store, grown: store.get(grown["end"].id),
    "get by prefix": lambda store, grown: store.get(grown["end"].id[:24]),
    "get by bookmark": lambda store, grown: store.get("main"),
    "get by past position": lambda store, grown: store.get("main@{0}"),
    "get the newest": lambda store, grown: store.get("@"),
    "payload": lambda store, grown: store.payload("main"),
    "resolve": lambda store, grown: store.resolve("main"),
    "options": lambda store, grown: store.options("main"),
    "thread": lambda store, grown: store.thread("main"),
    "log": lambda store, grown: store.log("main"),
    "tree": lambda store, grown: store.tree("main"),
    "children": lambda store, grown: store.children(grown["q?"].id),
    "names": lambda store, grown: store.bookmarks.at([grown["end"].id]),
    "names in a transaction": lambda store, grown: store.read(lambda read: read.names_at(grown["b"].id)),
    "abbreviate": lambda store, grown: store.abbreviate([grown["a"].id]),
    "turns after": lambda store, grown: next(store.turns(after="@"), None),
    "append": lambda store, grown: store.add_turn("new", continues="main"),
    "append by id": lambda store, grown: store.add_turn("new", continues=grown["end"].id),
    "respond": lambda store, grown: store.add_turn("new", respond=True),
    "append with a key": lambda store, grown: store.add_turn("keyed", key="k1", supersedes=grown["a"].id),
    "find by key": lambda store, grown: store.find("other 3"),
    "fork": lambda store, grown: store.add_turn("new", continues=grown["q?"].id),
    "merge": lambda store, grown: store.add_turn("new", continues=[grown["a"].id, grown["end"].id]),
    "bookmark": lambda store, grown: store.bookmarks.set("other", grown["a"].id),
    "make a name": lambda store, grown: store.add_turn("new", continues=grown["b"].id, bookmark=f"n{random()}"),
    "rename": lambda store, grown: [store.bookmarks.rename(*pair) for pair in (("main", "new"), ("new", "main"))],
    "conversation of a name": lambda store, grown: store.conversations.set("main", title="T"),
    "edit and keep": lambda store, grown: store.edit("main~1", f"edit {random()}", keep=True),
    "edit a first message": lambda store, grown: store.edit(grown["q?"].id, f"edit {random()}"),
    "siblings": lambda store, grown: store.siblings(grown["b"].id),
    "diff": lambda store, grown: store.diff(grown["a"].id, "main"),
    "log of a range": lambda store, grown: store.log(f"{grown['a'].id}..main"),
    "list of conversations": lambda store, grown: store.conversations.list(limit=1),
    "object": lambda store, grown: store.objects.put("kind", "key", b"data"),
    "bookmark history": lambda store, grown: store.bookmarks.history("main"),
    "position": lambda store, grown: store.position(),
    "follow": lambda store, grown: follow_a_move(store, grown),
    "at least": lambda store, grown: store.at_least(store.position()).get("main"),
    "record": lambda store, grown: store.record([{"role": "user", "content": "q?"}], bookmark="main"),
}


def follow_a_move(store: Store, grown: dict[str, Turn]) -> list[object]:
    before = store.position()
    store.bookmarks.set("main", grown["b"].id)
    store.conversations.set("main", title="T")
    store.bookmarks.set("main", grown["end"].id)
    return list(store.follow(before, wait=False, bookmark="main"))


def steps_among(others: int, operation: str) -> int:
    """The steps of an operation on a small thread, in a store that holds others, forks and names, half stored before it
    and half after."""
    with Store.open(":memory:") as store:
        store.add_turns(
            {"content": f"other {index}", "inherited": {"t": index}, "key": f"other {index}"}
            for index in range(others // 2)
        )
        grown = grow(store, DRAWING)
        store.bookmarks.set("main", grown["end"].id)
        store.add_turns({"content": f"long {index}", "respond": index > 0} for index in range(others // 2))
        forked = store.get("@").id
        store.add_turns({"content": f"fork {index}", "continues": forked} for index in range(others // 4))
        for index in range(others // 20):
            store.bookmarks.set(f"name-{index}", forked)
        OPERATIONS[operation](store, grown)  # the first call compiles and prepares
        with counted_steps(store) as steps:
            OPERATIONS[operation](store, grown)
        return steps[0]


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operation_costs_the_same_in_a_small_store_and_in_a_large_one(operation: str) -> None:
    small, large = steps_among(10, operation), steps_among(2000, operation)
    assert 0 < large <= small + 20


CALL = {"type": "tool_use", "id": "call_1", "name": "read", "input": {}}
ANSWER = {
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [CALL],
    "stop_reason": "tool_use",
    "usage": {},
}


def capture(store: Store) -> None:
    """An answer that arrives in one event."""
    captured = store.capture("main", "anthropic")
    captured.feed({"type": "message_start", "message": {**ANSWER, "content": []}})
    captured.finish()


STEPS_OF_AN_ANSWER: dict[str, Callable[[Store], object]] = {
    "reply": lambda store: store.reply("main", "anthropic", ANSWER),
    "capture": capture,
    "open calls": lambda store: store.open_calls("main"),
    "run tools": lambda store: store.run_tools("main", lambda calls: [ToolResult(content=()) for _ in calls]),
    "say": lambda store: store.say("more", continues="main", to="anthropic"),
    "options": lambda store: store.options("main"),
    "tree of a part": lambda store: store.tree("main", limit=4),
}


def steps_behind(turns: int, operation: str) -> int:
    """The steps of an operation at the end of a thread of so many turns."""
    with Store.open(":memory:") as store:
        store.tools.set("files", [{"name": "read", "inputSchema": {"type": "object"}}])
        store.add_turn("first", bookmark="main", servers=["files"])
        store.add_turns({"content": f"{index}", "continues": "main"} for index in range(turns))
        store.reply("main", "anthropic", ANSWER)
        STEPS_OF_AN_ANSWER[operation](store)
        store.reply("main", "anthropic", ANSWER)
        with counted_steps(store) as steps:
            STEPS_OF_AN_ANSWER[operation](store)
        return steps[0]


@pytest.mark.parametrize("operation", STEPS_OF_AN_ANSWER)
def test_an_answer_costs_the_same_behind_a_short_thread_and_behind_a_long_one(operation: str) -> None:
    small, large = steps_behind(10, operation), steps_behind(1000, operation)
    # The journal of an answer writes when it is time: a statement more, or one less.
    assert 0 < large <= small + 200
