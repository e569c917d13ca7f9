"""SQLite databases of other programs: in use, with a log beside them, or made to harm who reads them."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from contextlib import closing, suppress
from pathlib import Path

import pytest

from headish import Store
from headish.errors import InvalidImport
from headish.imports.readers.shared import databases
from imports.samples import DATABASES
from support.places import Place

TABLES = """
CREATE TABLE agent_sessions (session_id TEXT PRIMARY KEY);
CREATE TABLE agent_messages (id INTEGER PRIMARY KEY, session_id TEXT, message_data TEXT, created_at TEXT);
"""
ROW = "INSERT INTO agent_messages VALUES (?, ?, ?, '2026-01-02 03:04:05')"


def said(text: str) -> str:
    return f'{{"role": "user", "content": "{text}"}}'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "sessions.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(TABLES)
        connection.execute(ROW, (1, "s", said("one")))
        connection.commit()
    return path


def test_what_stands_in_a_log_beside_is_read_and_the_owner_can_write_meanwhile(memory: Store, path: Path) -> None:
    with closing(sqlite3.connect(path, timeout=0)) as owner:
        owner.execute("PRAGMA journal_mode = WAL")
        owner.execute("PRAGMA wal_autocheckpoint = 0")
        owner.execute(ROW, (2, "s", said("in the log")))
        owner.commit()
        with databases.opened(str(path), "it") as foreign:
            keys = foreign.keys("agent_messages", "id")
            assert next(keys) == (1,)
            owner.execute(ROW, (3, "s", said("meanwhile")))
            owner.commit()
        assert memory.import_file(path).added == 3


def test_nothing_is_left_beside_a_database_that_nobody_has_open(memory: Store, path: Path) -> None:
    with closing(sqlite3.connect(path)) as owner:
        owner.execute("PRAGMA journal_mode = WAL")
    before = path.read_bytes()
    memory.import_file(path)
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert path.read_bytes() == before


def test_the_owner_of_one_without_a_log_can_write_between_two_reads(path: Path) -> None:
    with closing(sqlite3.connect(path, timeout=0)) as owner, databases.opened(str(path), "it") as foreign:
        foreign.rows("agent_messages", ("id",))
        next(foreign.keys("agent_messages", "id"))
        owner.execute(ROW, (2, "s", said("two")))
        owner.commit()
        assert len(foreign.rows("agent_messages", ("id",))) == 2


def test_a_log_that_can_only_be_read_by_writing_is_read_in_a_copy(
    memory: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(sqlite3.connect(path)) as owner:
        owner.execute("PRAGMA journal_mode = WAL")
        owner.execute(ROW, (2, "s", said("in the log")))
        owner.commit()
        for ending in ("", "-wal"):
            shutil.copy(f"{path}{ending}", f"{path.parent}/copied.db{ending}")
    connect = databases._connect

    def refuse(stack: object, place: str, mode: str) -> object:
        if place.endswith("copied.db"):  # what SQLite says in a folder that it may not write to
            raise sqlite3.OperationalError("unable to open database file")
        return connect(stack, place, mode)  # type: ignore[arg-type]

    monkeypatch.setattr(databases, "_connect", refuse)
    assert memory.import_file(path.parent / "copied.db", "openai-agents").added == 2


def test_one_that_changes_while_nobody_may_change_it_is_told(path: Path) -> None:
    with closing(sqlite3.connect(path)) as owner:
        owner.execute("PRAGMA journal_mode = WAL")

    def read() -> None:
        with databases.opened(str(path), "it") as foreign:
            foreign.rows("agent_messages", ("id",))
            os.utime(path, ns=(1, 1))

    with pytest.raises(InvalidImport, match="changed while it was read"):
        read()


def test_a_log_that_leads_elsewhere_is_not_followed(memory: Store, path: Path) -> None:
    elsewhere = path.parent / "elsewhere"
    elsewhere.write_bytes(b"x")
    os.symlink(elsewhere, f"{path}-wal")
    with pytest.raises(InvalidImport, match="is a link"):
        memory.import_file(path, "openai-agents")


VIEW = "CREATE VIEW agent_messages AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) "
HARMFUL = {
    "a view without end": VIEW + "SELECT id, 's' AS session_id, 'x' AS message_data FROM n",
    "a virtual table": "CREATE VIRTUAL TABLE agent_messages USING fts5(id, session_id, message_data)",
    "a column that is computed": (
        "CREATE TABLE agent_messages (id INTEGER, session_id TEXT, "
        "message_data TEXT AS (printf('%.*c', 99, session_id)) VIRTUAL); INSERT INTO agent_messages VALUES (1, 's')"
    ),
    "an order that nobody knows": (
        "CREATE TABLE agent_messages (id INTEGER PRIMARY KEY, session_id TEXT, message_data TEXT)"
    ),
}


@pytest.mark.parametrize("kind", HARMFUL)
def test_what_a_schema_could_do_to_a_reader_is_denied(memory: Store, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "harm.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(HARMFUL[kind])
        if kind.startswith("an order"):
            connection.execute("PRAGMA writable_schema = ON")
            connection.execute(
                "UPDATE sqlite_master SET sql = replace(sql, 'session_id TEXT', 'session_id TEXT COLLATE nobody')"
            )
        connection.commit()
    with pytest.raises(InvalidImport):
        memory.import_file(path, "openai-agents")
    assert memory.stats().turns == 0


def test_triggers_are_not_run_and_tables_of_any_name_are_found(memory: Store, tmp_path: Path) -> None:
    path = tmp_path / "named.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            'CREATE TABLE "my ""odd"" table" (id INTEGER PRIMARY KEY, session_id TEXT, message_data TEXT);'
            'CREATE TRIGGER t AFTER INSERT ON "my ""odd"" table" BEGIN SELECT load_extension(\'x\'); END;'
        )
        connection.execute("DROP TRIGGER t")
        connection.execute('INSERT INTO "my ""odd"" table" VALUES (1, \'s\', ?)', (said("odd"),))
        connection.execute('CREATE TRIGGER t AFTER INSERT ON "my ""odd"" table" BEGIN SELECT load_extension(1); END')
        connection.commit()
    assert memory.import_file(path).added == 1


def test_a_value_that_is_too_large_costs_its_row(memory: Store, path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO agent_messages VALUES (2, 's', zeroblob(70000000), NULL)")
        connection.execute(ROW, (3, "s", said("three")))
        connection.commit()
    done = memory.import_file(path)
    assert (done.added, done.broken) == (2, 1)


def test_more_sessions_than_a_page_are_all_read(memory: Store, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "PAGE", 3)
    with closing(sqlite3.connect(path)) as connection:
        connection.executemany(ROW, [(number, f"s{number}", said(str(number))) for number in range(2, 12)])
        connection.commit()
    assert memory.import_file(path).trees == 11


@pytest.mark.parametrize("cut", [0.1, 0.3, 0.6])
def test_a_damaged_database_raises_the_named_error_alone(memory: Store, path: Path, cut: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * cut)])
    with pytest.raises(InvalidImport):
        memory.import_file(path, "openai-agents")


def test_two_imports_at_once_store_each_turn_once(durable_place: Place, path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executemany(ROW, [(number, "s", said(str(number))) for number in range(2, 30)])
        connection.commit()
    stores = [durable_place.open(), durable_place.open()]
    failed: list[BaseException] = []

    def run(store: Store) -> None:
        try:
            store.import_file(path)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert stores[0].stats().turns == 29
    assert len(stores[0].heads()) == len(stores[0].bookmarks) == 1


@pytest.mark.slow
@pytest.mark.parametrize("format", DATABASES)
def test_a_column_that_is_missing_is_done_without_or_named(memory: Store, tmp_path: Path, format: str) -> None:
    """Another version of the program may have other columns."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(DATABASES[format][1]())
        columns = connection.execute(
            "SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'"
        ).fetchall()
        script = list(connection.iterdump())
    raised = []
    for number, (table, column) in enumerate(columns):
        path = tmp_path / f"{number}.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript("\n".join(script))
            with suppress(sqlite3.OperationalError):  # SQLite's own tables
                connection.execute(f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "another"')
        try:
            memory.import_file(path, format)
        except InvalidImport:
            pass
        except Exception as error:
            raised.append(f"{table}.{column}: {error!r}")
    assert raised == []
