"""What a server keeps beside its tables: statistics repeat values, and files keep what was deleted."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from headish import Database, Store
from headish.database.urls import parse_url, server_arguments
from support.secured import secured_database

SECRET = "hunter2-very-secret"


@pytest.fixture
def server(new_postgresql: str) -> Iterator[Store]:
    """Words and names of which the server has collected statistics."""
    with Store.open(new_postgresql) as store:
        store.add_turns({"content": f"{SECRET} {number}", "bookmark": f"{SECRET}-{number}"} for number in range(60))
        ask(store, "ANALYZE")
        assert told(store)
        yield store


def ask(store: Store, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(**server_arguments(parse_url(database_of(store).target))) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def database_of(store: Store) -> Database:
    database = Database(store._database)
    assert isinstance(database, Database)
    return database


def told(store: Store) -> bool:
    """Whether the statistics hold the secret."""
    return SECRET.encode().hex() in str(ask(store, "SELECT s::text FROM pg_stats AS s"))


class TestStatistics:
    def test_what_turns_said_is_not_in_them(self, server: Store) -> None:
        for name in list(server.bookmarks):
            server.bookmarks.erase(name, reason="r", scrub=False)
        server.erase([turn.id for turn in server.turns()], meta=True, reason="asked for")
        assert not told(server)

    def test_nor_what_a_whole_space_held(self, server: Store) -> None:
        database_of(server).spaces.erase(server.space, reason="asked for")
        assert not told(server)


def test_a_login_that_may_not_vacuum_is_told_so(new_postgresql: str) -> None:
    with secured_database(new_postgresql) as logins, Store.open(logins.at("eraser"), space="ana") as store:
        store.erase("main", reason="asked for")
        done = database_of(store).gc(scrub=True)
        assert (done.scrubbed, store.erasures.is_scrubbed) == (False, False)
        assert "permission denied to vacuum" in done.unscrubbed


FILES = """
SELECT relname FROM pg_class WHERE relkind IN ('r', 'i', 't', 'm') AND NOT relisshared
AND position(%s::bytea IN pg_read_binary_file(pg_relation_filepath(oid))) > 0 ORDER BY relname
"""


def files_that_hold(store: Store, word: str) -> list[str]:
    """The tables and indexes of the server's own files in which a word stands."""
    with psycopg.connect(**server_arguments(parse_url(database_of(store).target)), autocommit=True) as connection:
        connection.execute("CHECKPOINT")
        return [name for (name,) in connection.execute(FILES, (word.encode(),))]


def test_no_file_of_the_server_holds_it_once_it_is_scrubbed(server: Store) -> None:
    server.conversations.set(f"{SECRET}-1", title=SECRET)
    assert len(list(server.search("hunter2", limit=5))) == 5
    assert {"turn", "bookmark_log", "search_text", "pg_statistic"} <= set(files_that_hold(server, "hunter2"))
    database_of(server).spaces.erase(server.space, reason="asked for")
    assert database_of(server).gc(scrub=True).scrubbed
    assert files_that_hold(server, "hunter2") == []
