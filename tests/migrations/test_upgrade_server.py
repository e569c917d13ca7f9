"""The upgrade of a PostgreSQL database that headish 0.1.0 wrote: all that it says stays, however it is cut short.

The rows are those of ``edition1``; its tables are made by the migrations up to the last one of 0.1.0.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy
from alembic import command
from alembic.config import Config

from headish import Database, Store
from headish.database.dialects import connect
from headish.database.revisions import REVISION
from headish.database.upgrade import upgrade_schema
from headish.errors import DatabaseTooOld
from support.command import Command
from support.edition1 import EDITION1, FACTS, said

LAST_OF_0_1_0 = "headish_0003"


@pytest.fixture
def old_server(new_postgresql: str) -> str:
    """A database as 0.1.0 left it."""
    config = Config()
    config.set_main_option("script_location", "headish_migrations:")
    with _connected(new_postgresql) as server, closing(sqlite3.connect(":memory:")) as file:
        file.executescript((EDITION1 / "database.sql").read_text("utf-8"))
        config.attributes["connection"] = server
        command.upgrade(config, LAST_OF_0_1_0)
        tables = sqlalchemy.MetaData()
        tables.reflect(server)
        for table in tables.sorted_tables:
            names = [column.name for column in table.columns]
            rows = file.execute(f"SELECT {', '.join(names)} FROM {table.name}").fetchall()
            if rows and table.name != "alembic_version":
                server.execute(table.insert(), [dict(zip(names, row, strict=True)) for row in rows])
        server.exec_driver_sql("SELECT setval('payload_number', (SELECT max(number) FROM payload))")
        server.exec_driver_sql("SELECT setval(pg_get_serial_sequence('space', 'id'), (SELECT max(id) FROM space))")
    return new_postgresql


@contextmanager
def _connected(url: str) -> Iterator[sqlalchemy.Connection]:
    engine = sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool)
    with engine.begin() as connection:
        yield connection


def everything(url: str) -> dict[str, Any]:
    """All rows, and what the catalogue says of tables and indexes."""
    with _connected(url) as connection:
        tables = sqlalchemy.MetaData()
        tables.reflect(connection)
        found: dict[str, Any] = {
            table.name: sorted(map(repr, connection.execute(sqlalchemy.select(table))))
            for table in tables.sorted_tables
        }
        indexes = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1"
        return found | {"indexes": [tuple(row) for row in connection.exec_driver_sql(indexes)]}


def upgrade(url: str) -> None:
    database = connect(url, create=False)
    upgrade_schema(database)
    database.close()


def test_everything_that_0_1_0_said_is_said_again(old_server: str) -> None:
    with pytest.raises(DatabaseTooOld, match="headish db upgrade"):
        Store.open(old_server)
    upgrade(old_server)
    with Database.open(old_server) as database:
        found, wanted = said(database.store()), FACTS["default"]
        for part in sorted(wanted.keys() - {"exports", "texts"}):
            assert found[part] == wanted[part], part
        assert all(report.problems == () for report in database.verify().values())
        second = database.store("second")
        assert [turn.to_dict() for turn in second.turns()] == FACTS["second"]["turns"]
        second.add_turn("on", continues="main")
        assert database.store("third").add_turn("new").meta.continues == ()


def test_the_commands_of_the_page_upgrade_it(old_server: str, tmp_path: Path) -> None:
    """docs/how-to/upgrade.md, as somebody types it who has installed the new version."""
    headish = Command(old_server)
    assert headish("db", "current", "--json").json == {"current": LAST_OF_0_1_0, "newest": REVISION}
    for words in (("backup", str(tmp_path / "before")), ("list",), ("add", "new"), ("--read-only", "list")):
        assert "run 'headish db upgrade'" in headish.fails(*words)
    assert list(tmp_path.iterdir()) == []
    for _ in range(2):
        headish("db", "upgrade")
        assert headish("db", "current", "--json").json == {"current": REVISION, "newest": REVISION}
    assert headish("verify", "--all").err.splitlines() == [
        "default: 16 turns, 5 bookmarks: all in order.",
        "second: 2 turns, 1 bookmark: all in order.",
    ]
    headish("bundle", "create", str(tmp_path / "since.bundle"))
    headish("backup", str(tmp_path / "after"))


@pytest.mark.slow
def test_killed_at_any_statement_it_is_as_it_was(old_server: str) -> None:
    """One transaction: whoever died in it has left nothing, so the next one begins anew."""
    before = everything(old_server)
    at = 1
    while _killed_at(old_server, at):
        assert everything(old_server) == before
        at += 10
    assert at > 160
    with Database.open(old_server) as database:  # the last one was not killed: it had no more statements
        assert said(database.store())["turns"] == FACTS["default"]["turns"]
        assert all(report.problems == () for report in database.verify().values())


def _killed_at(url: str, at: int) -> bool:
    """Upgrade in a child that is gone without a word at a statement; whether it came so far."""
    child = os.fork()
    if child == 0:
        _upgrade_until(url, at, lambda: os._exit(7))
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, 7)
    return code == 7


def _upgrade_until(url: str, at: int, die: Callable[[], object]) -> None:
    try:
        count = 0

        def step() -> None:
            nonlocal count
            count += 1
            if count == at:
                die()

        database: Any = connect(url, create=False)

        def counted(ran: Callable[..., Any]) -> Any:
            def run(*given: Any, **options: Any) -> Any:
                step()
                return ran(*given, **options)

            return run

        psycopg.Cursor.execute = counted(psycopg.Cursor.execute)  # type: ignore[method-assign]
        psycopg.Cursor.executemany = counted(psycopg.Cursor.executemany)  # type: ignore[method-assign]
        upgrade_schema(database)
        os._exit(0)
    finally:
        os._exit(1)
