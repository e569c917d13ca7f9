"""What verify costs: the same for each turn, however many there are; every page is sought."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from headish import Store
from headish.database.query import SQLITE, Connection, Query
from headish.rows.bookmarks import LIST_BY_NAME, LIST_BY_RECENCY
from headish.rows.payloads import PAYLOADS_AFTER
from headish.rows.searching.indexing import CAN_INDEX
from headish.rows.threads.listings import PAGE
from headish.verify import turns
from headish.verify.bookmarks import LOG
from support.insides import counted_steps, own_threads

SOUGHT = {
    PAGE.name: "(space=? AND (chain,pos)>(?,?))",
    LOG.name: "(space=? AND (name,move)>(?,?))",
    PAYLOADS_AFTER.name: "(space=? AND hash>?)",
    LIST_BY_RECENCY.name: "(recent,name)<(?,?)",
    LIST_BY_NAME.name: "(space=? AND name>? AND name<?)",
}
"""The statements that read pages, and what of an index each of them seeks."""


@contextmanager
def watched() -> Iterator[dict[str, Query]]:
    """The statements that run inside the block, in its own threads, by name."""
    seen: dict[str, Query] = {}
    original, is_own = Connection._execute, own_threads()

    def execute(self: Connection, query: Query, parameters: dict[str, Any]) -> None:
        if is_own():
            seen[query.name] = query
        original(self, query, parameters)

    Connection._execute = execute  # type: ignore[method-assign]
    try:
        yield seen
    finally:
        Connection._execute = original  # type: ignore[method-assign]


def plan(store: Store, query: Query) -> list[str]:
    """What SQLite's planner makes of a statement, a line for each table."""
    words = SQLITE[query]
    database: Any = store._backend
    pooled = database._take_connection()
    try:
        return [row[3] for row in pooled.cursor().execute(f"EXPLAIN QUERY PLAN {words.sql}", [1] * len(words.names))]
    finally:
        database._give_back(pooled)


def test_every_statement_begins_with_the_space_and_every_page_is_sought() -> None:
    with Store.open(":memory:") as store:
        store.add_turn("a", bookmark="a")
        store.add_document(b"x" * 100_000)
        with watched() as seen:
            store.verify()
        assert {PAGE.name, LOG.name, PAYLOADS_AFTER.name} <= seen.keys()
        for name, query in {**seen, LIST_BY_NAME.name: LIST_BY_NAME, LIST_BY_RECENCY.name: LIST_BY_RECENCY}.items():
            lines = plan(store, query)
            if re.search("search_(text|entry|word)", SQLITE[query].sql):
                # The index seeks its own words, and one statement looks into the schema.
                assert query is CAN_INDEX or any(re.search(r"VIRTUAL TABLE INDEX [1-9]", line) for line in lines), lines
                continue
            tables = [line for line in lines if re.search(r" USING (COVERING )?(INDEX|PRIMARY|INTEGER)", line)]
            assert tables, name
            assert all(line.startswith("SEARCH") and ("(space=?" in line or "rowid=?" in line) for line in tables), (
                lines
            )
            assert not any(re.match(r"SCAN (turn|payload|link|bookmark|definition|stream)", line) for line in lines)
            if name in SOUGHT:
                assert any(SOUGHT[name] in line for line in lines), (name, lines)


@pytest.mark.parametrize("shape", ["one chain", "many chains"])
def test_a_turn_costs_the_same_in_a_large_space(monkeypatch: pytest.MonkeyPatch, shape: str) -> None:
    monkeypatch.setattr(turns, "PAGE_TURNS", 50)

    def steps_for_a_turn(count: int) -> float:
        with Store.open(":memory:") as store:
            store.add_turns(
                {"content": f"{index}", "respond": shape == "one chain" and index > 0} for index in range(count)
            )
            with counted_steps(store) as steps:
                assert store.verify().problems == ()
            return steps[0] / count

    assert steps_for_a_turn(3000) <= 1.2 * steps_for_a_turn(300)
