"""Under a policy, a call reads the rows that it reads without one: no plan turns to the whole space."""

from __future__ import annotations

from typing import Any

import pytest

from headish import Store
from headish.database.isolation.confined import SentSettings
from headish.database.query import Query
from support.growing import grow
from support.queries import all_queries
from support.reloading import load
from support.secured import Logins

PLANS = load("database/test_plans.py")
TURNS, ROUNDS = 3000, 4
AROUND = 100
"""More rows than that are no longer the look-ups of who may enter the space."""


@pytest.fixture(scope="module")
def grown(secured: Logins) -> str:
    """A space of many turns."""
    with Store.open(secured.url, space="grown") as store:
        store.add_turn("first", bookmark="main", key="first")
        store.add_turns({"content": f"turn {index}", "continues": "main"} for index in range(TURNS))
        store._database.backend.plan_again()  # type: ignore[attr-defined]
    return "grown"


@pytest.mark.parametrize("call", PLANS.CALLS)
def test_a_call_reads_no_more_rows_under_a_policy(secured: Logins, grown: str, call: str) -> None:
    def measured(target: str) -> int:
        with Store.open(target, space=grown) as store:
            run: Any = PLANS.CALLS[call]
            run(store, 0)
            read: int = PLANS.rows_read(store, lambda: [run(store, 1 + index) for index in range(ROUNDS)])
            return read

    assert measured(secured.at("app")) <= measured(secured.url) + ROUNDS * AROUND


def test_what_is_said_otherwise_under_a_policy_finds_the_same(secured: Logins, monkeypatch: pytest.MonkeyPatch) -> None:
    run = set[str]()
    before = SentSettings.before

    def noting(sent: SentSettings, query: Query, space: int | None) -> str:
        if sent.is_confined:
            run.add(query.name)
        return before(sent, query, space)

    monkeypatch.setattr(SentSettings, "before", noting)
    with Store.open(secured.url, space="drawn") as plain, Store.open(secured.at("app"), space="drawn") as held:
        grow(plain, "q? <- a <- r? <- c, q? <- b <- s?, q? <- t?, z? <- y <- x?")
        for name, text in (("main", "c"), ("side", "s?")):
            [turn] = [each for each in plain.turns() if each.text == text]
            plain.bookmarks.set(name, turn.id)
        plain.add_turn("more", continues="main")
        plain.bookmarks.set("side", plain.get("main").id)
        plain.conversations.set("main", title="Letters")
        plain.edit("main~2", "instead")
        for _ in range(2):
            plain.add_turn("the same")
        ids = [each.id for each in plain.turns()]
        for look in (
            lambda store: store.heads(),
            lambda store: store.heads(limit=2, by="tip"),
            lambda store: [store.conversations.list(limit=2), store.conversations.list()],
            lambda store: store.tree(ids[0], limit=4),
            lambda store: store.abbreviate(ids),
            lambda store: [store.get(handle).id for handle in store.abbreviate(ids).values()],
            lambda store: [(each.kind, each.cursor) for each in store.follow(wait=False)],
            lambda store: store.verify(),
            lambda store: [hit.heads for hit in store.search("q")],
        ):
            assert look(held) == look(plain)
    otherwise = {
        each.name for each in all_queries().values() if each.text_for("secured") != each.text_for("postgresql")
    }
    assert otherwise - run == {"add space"}
