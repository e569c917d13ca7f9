"""What an operation costs does not depend on how much else is stored: counted in steps of SQLite's machine."""

from __future__ import annotations

from collections.abc import Callable
from random import random

import pytest

from headish import Store, Turn
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
    "list of conversations": lambda store, grown: store.conversations.list(limit=1),
    "object": lambda store, grown: store.objects.put("kind", "key", b"data"),
    "bookmark history": lambda store, grown: store.bookmarks.history("main"),
    "record": lambda store, grown: store.record([{"role": "user", "content": "q?"}], bookmark="main"),
}


def steps_among(others: int, operation: str) -> int:
    """The steps of an operation on a small thread, in a store that holds others, half stored before and half after."""
    with Store.open(":memory:") as store:
        store.add_turns(
            {"content": f"other {index}", "inherited": {"t": index}, "key": f"other {index}"}
            for index in range(others // 2)
        )
        grown = grow(store, DRAWING)
        store.bookmarks.set("main", grown["end"].id)
        store.add_turns({"content": f"long {index}", "respond": index > 0} for index in range(others // 2))
        OPERATIONS[operation](store, grown)  # the first call compiles and prepares
        with counted_steps(store) as steps:
            OPERATIONS[operation](store, grown)
        return steps[0]


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operation_costs_the_same_in_a_small_store_and_in_a_large_one(operation: str) -> None:
    small, large = steps_among(10, operation), steps_among(2000, operation)
    assert 0 < large <= small + 20
