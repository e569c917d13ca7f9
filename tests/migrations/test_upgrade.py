"""The upgrade of a database that headish 0.1.0 wrote: all that it says stays, damage included, however it is cut short.

``edition1`` holds such a database as SQL text, and what 0.1.0 itself read from it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from headish import Database, Store
from headish.database.dialects import connect
from headish.database.file import upkeep
from headish.database.upgrade import current_revision, upgrade_schema
from headish.errors import DatabaseFull, HeadishError
from support.edition1 import EDITION1, FACTS, said
from support.insides import dump, on_connections


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A database as 0.1.0 left it."""
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((EDITION1 / "database.sql").read_text("utf-8"))
        connection.execute("PRAGMA journal_mode = WAL")
    return path


@contextmanager
def opened(path: Path) -> Iterator[Store]:
    """Its store; the answer that was under way stays so, which ``Store.open`` would recover."""
    with Database.open(path) as database:
        yield database.store()


class TestWhatStays:
    @pytest.mark.parametrize("part", sorted(FACTS["default"].keys() - {"exports", "texts"}))
    def test_everything_that_0_1_0_said_is_said_again(self, old: Path, part: str) -> None:
        """Ids, addresses, digests and seals are those of the old rows, byte for byte."""
        with opened(old) as store:
            assert said(store)[part] == FACTS["default"][part]

    def test_an_export_is_the_old_one_behind_the_header_that_it_has_since(self, old: Path) -> None:
        with opened(old) as store:
            for name, text in FACTS["default"]["exports"].items():
                assert store.export(name).endswith(text.partition("<|start|>")[2])

    def test_nothing_disagrees_afterwards_in_any_space(self, old: Path) -> None:
        with Database.open(old) as database:
            assert {name: report.problems for name, report in database.verify().items()} == {
                "": (), "default": (), "second": (),
            }  # fmt: skip
            second = database.store("second")
            assert [turn.to_dict() for turn in second.turns()] == FACTS["second"]["turns"]

    def test_pointers_tools_and_an_answer_under_way_are_there(self, old: Path) -> None:
        with opened(old) as store:
            assert [each.pointer.model for each in store.pointers.history("milli") if each.pointer] == [
                "smaller",
                "small",
            ]
            assert len(store.pointers["large"].params["text"]) == 3000
            assert store.tools["files"][0]["name"] == "read"
            assert len(store.streams) == 1

    def test_the_store_goes_on(self, old: Path) -> None:
        with opened(old) as store:
            before = store.bookmarks["main"]
            assert store.add_turn("on", continues="main").meta.continues == (before,)
            store.bookmarks.set("gone", "main~1")
            assert [move.number for move in store.bookmarks.history("gone")] == [4, 3, 2, 1]
            assert store.record(
                [{"role": "user", "content": "recorded"}, {"role": "assistant", "content": "yes"}], bookmark="rec"
            ).added == 0  # fmt: skip
            assert store.verify().problems == ()

    def test_the_copy_beside_it_is_still_the_old_one(self, old: Path) -> None:
        Store.open(old).close()
        copy = connect(f"{old}.backup-headish_0003", create=False)
        assert current_revision(copy) == "headish_0003"
        copy.close()

    def test_a_disk_without_the_room_is_named_before_anything_is_written(
        self, old: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = old.read_bytes()
        with monkeypatch.context() as patched:
            patched.setattr(upkeep, "UPGRADE_ROOM", 2**60)
            with pytest.raises(DatabaseFull, match="an upgrade needs"):
                Store.open(old)
        assert old.read_bytes() == before
        assert not list(old.parent.glob("*.backup*"))
        Store.open(old).close()


DAMAGES = {
    "a payload without bytes": "UPDATE payload SET data = NULL WHERE number = 1",
    "a large payload without bytes": "UPDATE payload SET data = NULL WHERE size > 4000",
    "bytes that are others": "UPDATE payload SET data = CAST('[]' AS BLOB) WHERE number = 2",
    "a payload's row that is gone": "DELETE FROM payload WHERE number = 3",
    "a role that was altered": "UPDATE turn SET role = 'system' WHERE seq = 2",
    "a value of another type": "UPDATE turn SET app = 7 WHERE seq = 2",
    "a turn that is gone": "DELETE FROM turn WHERE seq = 4",
    "a link to nothing": "UPDATE link SET parent_pos = 77 WHERE ordinal = 0",
    "a name that names nothing": "UPDATE bookmark SET pos = 99 WHERE name = CAST('main' AS BLOB)",
    "a move that is gone": "DELETE FROM bookmark_log WHERE name = CAST('old' AS BLOB) AND move = 1",
    "a log that is gone": "DELETE FROM bookmark_log WHERE name = CAST('old' AS BLOB)",
    "a pointer that does not decode": (
        "UPDATE payload SET data = CAST('{' AS BLOB) WHERE number = (SELECT min(payload) FROM definition)"
    ),
    "a pointer's payload that is gone": "DELETE FROM payload WHERE number = (SELECT max(payload) FROM definition)",
    "a journal that does not decode": "UPDATE stream_chunk SET data = CAST('{' AS BLOB)",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_carried_and_named_and_the_rest_is_as_it_was(old: Path, damage: str) -> None:
    with closing(sqlite3.connect(old)) as connection, connection:
        assert connection.execute(DAMAGES[damage]).rowcount >= 1
    with opened(old) as store:
        assert store.verify().problems != ()
        wanted = {record["id"]: record for record in FACTS["default"]["turns"]}
        for turn_id, record in wanted.items():
            try:
                assert store.get(turn_id).to_dict() == record
            except (HeadishError, AssertionError):
                assert damage in ALTERS_TURNS
        assert store.add_turn("on", bookmark="new").meta.bookmark == "new"


ALTERS_TURNS = {
    "a payload's row that is gone",
    "a role that was altered",
    "a value of another type",
    "a turn that is gone",
    "a link to nothing",
}


@pytest.mark.slow
def test_killed_at_any_statement_it_begins_anew(old: Path, tmp_path: Path) -> None:
    statements = _upgraded_in_a_child(old, tmp_path / "counted.db", at=None)
    assert statements > 60
    with opened(tmp_path / "counted.db") as store:
        whole = _rows(store)
    for at in range(1, statements + 1, 5):
        path = tmp_path / f"killed-{at}.db"
        assert _upgraded_in_a_child(old, path, at=at) == at
        with opened(path) as store:
            assert _rows(store) == whole
            assert store.verify().problems == ()
        for file in tmp_path.glob(f"{path.name}*"):
            file.unlink()


def _rows(store: Store) -> dict[str, Any]:
    """All rows, but for what is random."""
    rows: dict[str, Any] = dump(store)
    return {name: [row[:4] for row in listed] if name == "counter" else listed for name, listed in rows.items()}


def _upgraded_in_a_child(old: Path, path: Path, *, at: int | None) -> int:
    """Upgrade a copy in a child that is gone without a word at a statement; the number of those that it began."""
    path.write_bytes(old.read_bytes())
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        _upgrade_until(path, at, lambda count: os.write(tell, count.to_bytes(4, "big")))
    os.waitpid(child, 0)
    os.close(tell)
    with os.fdopen(told, "rb") as file:
        return int.from_bytes(file.read(4), "big")


def _upgrade_until(path: Path, at: int | None, tell: Callable[[int], object]) -> None:
    try:
        count = 0

        def step(_: str) -> None:
            nonlocal count
            count += 1
            if count == at:
                tell(count)
                os._exit(0)

        database: Any = connect(path, create=False)
        with on_connections(database, lambda driver: driver.set_trace_callback(step)):
            upgrade_schema(database)
        tell(count)
    finally:
        os._exit(0)


def test_it_can_be_followed_from_its_first_turn(old: Path) -> None:
    """And the moves lead to where the names are, although 0.1.0 gave them no numbers."""
    with opened(old) as store:
        names: dict[str, str] = {}
        turns = []
        for change in store.follow(wait=False):
            if change.kind == "turn":
                turns.append(change.turn)
                names |= {change.turn.meta.bookmark: change.turn.id} if change.turn.meta.bookmark else {}
            elif change.kind == "move":
                names.pop(change.name, None)
                names |= {change.name: change.new} if change.new else {}
        assert turns == list(store.turns())
        assert names == dict(store.bookmarks)
