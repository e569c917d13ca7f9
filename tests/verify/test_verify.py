"""Verify finds whatever was altered behind the store's back; reading refuses it and names the turn."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Column, LargeBinary, String

from headish import Store, Turn
from headish.database.schema import metadata
from headish.errors import CorruptTurn, HeadishError
from headish.values.limits import INLINE_BYTES
from headish.verify.turns import PAGE_TURNS
from support.dags import dags
from support.growing import grow
from support.places import FilePlace, Place

DRAWING = "q? <- a <- r?, q? <- b, b + r? <- end"


class TestInOrder:
    def test_an_empty_space_is_in_order(self, store: Store) -> None:
        report = store.verify()
        assert (report.turns, report.payloads, report.bookmarks, report.problems) == (0, 0, 0, ())

    @given(parents=dags())
    def test_whatever_was_stored_is_in_order(self, place: Place, parents: list[list[int]]) -> None:
        with place.fresh() as store:
            store.add_turns(
                {
                    "content": str(index),
                    "continues": continues,
                    "inherited": {"n": index},
                    "meta": {"m": [None]} if index % 2 else None,
                    "bookmark": f"b{index % 3}",
                    "force": True,
                    "cache": index % 2 == 0,
                }
                for index, continues in enumerate(parents)
            )
            store.add_document(b"\x00", name="x")
            store.bookmarks.set("b0", "@")
            store.bookmarks.remove("b0")
            report = store.verify()
            assert report.problems == ()
            assert report.turns == len(parents) + 1

    @pytest.mark.slow
    def test_more_than_a_page_is_in_order_and_progress_is_told(self, store: Store) -> None:
        store.add_turns({"content": "a", "respond": index % 700 > 0} for index in range(2 * PAGE_TURNS + 10))
        told: list[int] = []
        assert store.verify(told.append).problems == ()
        assert sum(told) == 2 * PAGE_TURNS + 10
        assert len(told) == 3

    def test_what_a_writer_adds_meanwhile_is_no_problem(self, store: Store) -> None:
        store.add_turns({"content": "a", "respond": index > 0} for index in range(PAGE_TURNS + 5))
        store.bookmarks.set("main", "@")

        def write(_: int) -> None:
            store.add_turn("b", continues="main")
            store.add_turn("fork", continues="main~1")

        assert store.verify(write).problems == ()

    def test_another_spaces_damage_is_not_this_ones(self, file_place: FilePlace) -> None:
        one, other = file_place.open("one"), file_place.open("other")
        grow(one, DRAWING)
        grow(other, DRAWING)
        alter(file_place, "UPDATE turn SET role = 'tool' WHERE space = (SELECT id FROM space WHERE name = ?)", b"other")
        assert one.verify().problems == ()
        assert other.verify().problems != ()


def alter(place: FilePlace, sql: str, *values: object) -> int:
    """Change the file behind the store's back; how many rows were changed."""
    with closing(sqlite3.connect(place.path)) as connection, connection:
        return connection.execute(sql, values).rowcount


@pytest.fixture
def damaged(file_place: FilePlace) -> tuple[FilePlace, Store, dict[str, Turn]]:
    """A store with something in every column, in a file that is to be damaged."""
    store = file_place.open()
    grown = grow(store, DRAWING)
    store.bookmarks.set("main", grown["end"].id)
    grown["full"] = store.add_turn(
        "full", continues="main", cache=True, inherited={"t": 1}, meta={"k": 1}, attributes={"speaker": "Ada"}
    )
    grown["document"] = store.add_document(b"x", name="x.txt", continues=grown["r?"].id)
    grown["after"] = store.add_turn("after", continues=grown["document"].id)
    store.bookmarks.set("main", grown["a"].id)
    store.bookmarks.set("old", grown["q?"].id)
    store.bookmarks.remove("old")
    store.bookmarks.set("again", grown["q?"].id)
    store.bookmarks.set("main", grown["full"].id)
    for model in ("small", "smaller"):
        store.pointers.set("milli", f"anthropic/{model}")
    store.tools.set("files", [{"name": "read"}])
    store.objects.put("state", "kept", b"x")
    store.conversations.set("main", title="T", key="k")
    store.conversations.set(store.add_turn("nameless").id, pinned=True)
    store.conversations.set("again", title="of a removed name")
    store.bookmarks.remove("again")
    store.add_turn("x" * (INLINE_BYTES + 1))
    store.capture("main", "anthropic").finish()
    store.bookmarks.set("main", "main~1")  # the turn that the tests alter is the last of its name
    capture = store.capture("main", "anthropic", lease_seconds=1000)
    for event in ({"type": "ping"}, {"type": "ping"}):
        capture.feed(event)
        capture._journal.keep()
    capture._journal.close()
    assert store.verify().problems == ()
    return file_place, store, grown


def test_a_removed_bookmark_whose_log_goes_on_is_found(damaged: tuple) -> None:
    place, store, _ = damaged
    alter(place, "DELETE FROM bookmark")
    assert [problem.subject for problem in store.verify().problems] == ["bookmark main"]


def test_an_added_turn_is_found(damaged: tuple) -> None:
    place, store, _ = damaged
    columns = [column.name for column in metadata.tables["turn"].c]
    values = ", ".join({"pos": "pos + 1", "seq": "seq + 1", "id": "'1' || substr(id, 2)"}.get(c, c) for c in columns)
    alter(place, f"INSERT INTO turn SELECT {values} FROM turn ORDER BY seq DESC LIMIT 1")
    assert store.verify().problems != ()


def of_the_type(column: Column[Any]) -> st.SearchStrategy[object]:
    """Values that a column can hold and should not."""
    if isinstance(column.type, LargeBinary):
        return st.binary(max_size=8) | st.sampled_from([b"[]", b"{}", b'[{"type":"text"}]', b'{"a":NaN}', b"\xff"])
    if isinstance(column.type, String):
        return st.sampled_from(["", "x", "é", "document", "application/json", "0" * 25])
    return st.integers(-3, 10) | st.sampled_from([2**63 - 1, -(2**63)])


@given(data=st.data())
def test_whatever_is_written_anywhere_verify_and_reading_do_not_break(
    file_place: FilePlace, data: st.DataObject
) -> None:
    store = file_place.reuse()
    if not store.bookmarks.list():
        grown = grow(store, DRAWING, inherited={"t": 1}, attributes={"speaker": "Ada"}, meta={"k": 1})
        store.add_turn("full", continues=grown["end"].id, bookmark="main")
        store.add_document(b"x" * (INLINE_BYTES + 1), name="x.txt")
    table = data.draw(st.sampled_from(["payload", "turn", "link", "bookmark", "bookmark_log"]))
    each_column = data.draw(st.sampled_from(list(metadata.tables[table].c)))
    column = each_column.name
    value = data.draw(st.none() | of_the_type(each_column))
    with closing(sqlite3.connect(file_place.path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        backup = connection.execute(f"SELECT * FROM {table}").fetchall()
        with suppress(sqlite3.IntegrityError):
            connection.execute(
                f"UPDATE {table} SET {column} = ? WHERE {column} IN (SELECT {column} FROM {table} LIMIT 1)", (value,)
            )
        connection.execute("COMMIT")
        try:
            store.verify()
            for call in (store.resolve, store.get, store.log, store.tree, store.blocks, store.options, store.children):
                for headish in ("main", "@"):
                    with suppress(HeadishError):
                        call(headish)
            for read in (store.heads, store.bookmarks.list, store.stats, lambda: list(store.turns())):
                with suppress(HeadishError):
                    read()
        finally:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(f"DELETE FROM {table}")
            connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(backup[0]))})", backup)
            connection.execute("COMMIT")
    assert store.verify().problems == ()


READS: dict[str, Callable[[Store, str], object]] = {
    "payload": lambda store, turn: store.payload(turn),
    "blocks": lambda store, turn: store.blocks(turn),
    "resolve": lambda store, turn: store.resolve(turn),
    "resolve below": lambda store, turn: store.resolve("after"),
    "thread": lambda store, turn: store.thread(turn),
    "tree": lambda store, turn: store.tree(turn),
}


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize(
    "change",
    [
        'UPDATE {} SET data = CAST(\'[{{"type":"text","text":"EVIL"}}]\' AS BLOB)',
        "UPDATE {} SET data = substr(data, 1, 5)",
        "UPDATE {} SET data = NULL",
        "DELETE FROM payload",
    ],
    ids=["replaced", "cut", "erased", "removed"],
)
@pytest.mark.parametrize("text", ["a", "x" * (INLINE_BYTES + 1)], ids=["small", "large"])
def test_a_corrupted_payload_is_an_error_that_names_the_turn(
    file_place: FilePlace, read: str, change: str, text: str
) -> None:
    if change == "DELETE FROM payload" and text == "a":
        change = "UPDATE turn SET data = NULL"  # it lies in the row of its turn
    store = file_place.open()
    store.add_turn("q", bookmark="main")
    turn = store.add_turn(text, role="assistant", continues="main", bookmark="main")
    store.add_turn("after", continues=turn.id, bookmark="after", force=True)
    table = "turn" if text == "a" else "payload"
    assert alter(file_place, f"{change.format(table)} WHERE hash = ?", bytes.fromhex(turn.hash)) == 1
    with pytest.raises(CorruptTurn, match="headish verify") as refused:
        READS[read](store, turn.id)
    assert refused.value.turn == turn.id
    assert any(turn.hash in problem.subject or turn.id in problem.subject for problem in store.verify().problems)


def test_a_name_that_was_renamed_behind_the_stores_back_is_found(file_place: FilePlace) -> None:
    store = file_place.open()
    store.add_turn("a", bookmark="old")
    store.bookmarks.rename("old", "new")
    store.add_turn("b", continues="new")
    assert store.verify().problems == ()
    for table in ("bookmark", "bookmark_log"):
        alter(file_place, f"UPDATE {table} SET name = CAST('other' AS BLOB)")
    assert any("it was renamed" in problem.what for problem in store.verify().problems)


@pytest.mark.parametrize("column", ["attributes", "inherited", "app"])
@pytest.mark.parametrize("bad", [b"{", b"[]", b"\xff", b""], ids=repr)
def test_a_record_that_does_not_decode_is_an_error_that_names_the_turn(
    file_place: FilePlace, column: str, bad: bytes
) -> None:
    store = file_place.open()
    turn = store.add_turn("a", inherited={"t": 1}, meta={"k": 1}, attributes={"speaker": "Ada"})
    alter(file_place, f"UPDATE turn SET {column} = ?", bad)
    with pytest.raises(CorruptTurn) as refused:
        store.get(turn.id)
    assert refused.value.turn == turn.id
    assert any(problem.subject == f"turn {turn.id}" for problem in store.verify().problems)


def test_a_missing_turn_in_a_thread_is_an_error_and_never_skipped(file_place: FilePlace) -> None:
    store = file_place.open()
    grown = grow(store, "a? <- b <- c? <- d")
    alter(file_place, "DELETE FROM turn WHERE id = ?", grown["b"].id)
    for read in (store.resolve, store.thread, store.log, store.tree):
        with pytest.raises(CorruptTurn):
            read(grown["d"].id)


def test_what_was_stored_but_is_missing_is_an_error_in_the_stored_sequence(file_place: FilePlace) -> None:
    store = file_place.open()
    stored = store.add_turns(["a", "b", "c"])
    alter(file_place, "DELETE FROM turn WHERE seq = 2")
    with pytest.raises(CorruptTurn):
        list(stored)
