"""On a server an append to a name that this store moved last is one message, and a transaction of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy

from headish import Database, Store
from headish.database.query import Query, Statement
from headish.database.server.connection import SETTINGS, ServerConnection
from headish.database.server.merged import merge
from headish.errors import DatabaseReadOnly, DatabaseTimedOut
from headish.history.writing import append
from support.growing import texts
from support.insides import database_of

psycopg = pytest.importorskip("psycopg")
SHOW = Query("a setting", "SELECT current_setting('synchronous_commit'), current_setting('enable_seqscan')")
FORGET = Query("forget every name", "DELETE FROM bookmark")

REFUSE_EVERY_OTHER_COMMIT = """
CREATE SEQUENCE tried;
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF mod(nextval('tried'), 2) = 1 THEN RAISE EXCEPTION USING ERRCODE = 'serialization_failure'; END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER refused AFTER INSERT ON turn DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION refuse();
"""


@pytest.fixture
def store(new_postgresql: str) -> Iterator[Store]:
    with Store.open(new_postgresql, durability="normal") as store:
        store.add_turn("first", bookmark="main")
        yield store


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was sent of each append: ``whole`` is a message that is a transaction, ``part`` any other."""
    listed: list[str] = []
    for name, kind in (("_send_whole", "whole"), ("_piped", "part")):
        original = getattr(ServerConnection, name)

        def watched(self: Any, *given: Any, original: Any = original, kind: str = kind) -> Any:
            listed.append(kind)
            return original(self, *given)

        monkeypatch.setattr(ServerConnection, name, watched)
    return listed


@contextmanager
def own_connection(url: str) -> Iterator[sqlalchemy.Connection]:
    """A connection of another program."""
    engine = sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool)
    with engine.connect() as connection:
        yield connection


def set_default(url: str, setting: str, value: str) -> None:
    """What every connection begins with that is made from now on."""
    with own_connection(url) as connection:
        name = connection.engine.url.database
        connection.exec_driver_sql(f"ALTER DATABASE \"{name}\" SET {setting} = '{value}'")
        connection.commit()


def test_an_append_to_a_known_name_is_one_message(store: Store, sent: list[str]) -> None:
    for number in range(20):  # also once the server has prepared it
        sent.clear()
        store.add_turn(f"turn {number}", continues="main")
        assert sent == ["whole", "part"], "the pipeline is entered once, inside"
    assert store.verify().problems == ()


def test_where_another_store_wrote_nothing_of_it_is_stored(store: Store, new_postgresql: str, sent: list[str]) -> None:
    with Store.open(new_postgresql) as other:
        other.add_turn("by another", continues="main")
    store.add_turn("behind it", continues="main")
    assert "whole" in sent
    assert texts(store, "main") == ["first", "by another", "behind it"]
    assert store.stats().turns == 3
    assert store.verify().problems == ()


def test_what_follows_it_is_a_transaction_again_with_its_settings(store: Store) -> None:
    backend: Any = database_of(store)
    store.add_turn("second", continues="main")

    def fail(connection: Any) -> None:
        assert connection.row(SHOW) == ("off", "off")
        connection.run(FORGET)
        raise RuntimeError

    for _ in range(2):
        with pytest.raises(RuntimeError):
            backend.write(fail)
    assert "main" in store.bookmarks


def test_the_careful_way_behind_one_that_proved_nothing_has_the_settings(
    store: Store, new_postgresql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(new_postgresql) as other:
        other.add_turn("by another", continues="main")
    seen: list[Any] = []
    original = append.take_seq

    def watched(connection: Any, *given: Any, **named: Any) -> Any:
        seen.append(connection.row(SHOW))
        return original(connection, *given, **named)

    monkeypatch.setattr(append, "take_seq", watched)
    store.add_turn("behind it", continues="main")
    assert seen == [("off", "off")]


def test_no_part_of_it_reads_a_table_as_a_whole(
    store: Store, new_postgresql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small as the tables are: a plan is kept, and they grow."""
    plans: list[str] = []
    send = ServerConnection._send_whole

    def explained(self: Any, result: object, *statements: Statement) -> bool:
        sql = merge(statements[0].query, tuple(each.query for each in statements[1:]), is_confined=False)
        values = [value for each in statements for value in each.values]
        with psycopg.connect(new_postgresql.replace("+psycopg", ""), cursor_factory=psycopg.ClientCursor) as asking:
            asking.execute(SETTINGS)
            plans.extend(row[0] for row in asking.execute(f"EXPLAIN {sql}", values).fetchall())
        return send(self, result, *statements)

    monkeypatch.setattr(ServerConnection, "_send_whole", explained)
    database_of(store).plan_again()
    store.add_turn("second", continues="main")
    assert any("Index Scan" in line for line in plans)
    assert [line for line in plans if "Seq Scan" in line] == []


def test_a_server_that_spreads_rows_gets_plain_statements(
    store: Store, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_of(store), "_takes_whole", False)
    for number in range(10):
        store.add_turn(f"turn {number}", continues="main")
    assert "whole" not in sent
    assert len(texts(store, "main")) == 11
    assert store.verify().problems == ()


@pytest.mark.parametrize("default", ["repeatable read", "serializable"])
def test_a_server_that_is_stricter_unless_asked_is_asked(
    store: Store, new_postgresql: str, sent: list[str], default: str
) -> None:
    set_default(new_postgresql, "default_transaction_isolation", default)
    with Store.open(new_postgresql) as other:
        for number in range(8):
            other.add_turn(f"turn {number}", continues="main")
    assert "whole" not in sent
    assert len(texts(store, "main")) == 9


def test_what_a_stricter_server_refuses_at_the_commit_is_run_again(store: Store, new_postgresql: str) -> None:
    set_default(new_postgresql, "default_transaction_isolation", "serializable")
    with own_connection(new_postgresql) as connection, connection.begin():
        connection.exec_driver_sql(REFUSE_EVERY_OTHER_COMMIT)
    with Store.open(new_postgresql) as other:
        for number in range(4):
            other.add_turn(f"turn {number}", continues="main")
    assert texts(store, "main") == ["first", *(f"turn {number}" for number in range(4))]


def test_a_refusal_at_the_commit_may_come_while_the_message_is_still_being_sent(
    store: Store, new_postgresql: str, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver waits for one answer to what ends a message, and gets two: why it was refused, and that it ended."""

    def end_slowly(pipeline: Any) -> None:
        def end() -> None:
            pipeline.pgconn.pipeline_sync()
            time.sleep(0.05)

        pipeline.command_queue.append(end)
        pipeline.result_queue.append(None)

    monkeypatch.setattr(psycopg.Pipeline, "_enqueue_sync", end_slowly)
    with own_connection(new_postgresql) as connection, connection.begin():
        connection.exec_driver_sql(REFUSE_EVERY_OTHER_COMMIT)
    for number in range(4):
        store.add_turn(f"turn {number}", continues="main")
    assert "whole" in sent
    assert texts(store, "main") == ["first", *(f"turn {number}" for number in range(4))]
    assert store.verify().problems == ()


@pytest.mark.parametrize("refuses_commits", [False, True])
def test_a_server_that_becomes_stricter_while_it_is_used_loses_nothing(
    store: Store, new_postgresql: str, sent: list[str], refuses_commits: bool
) -> None:
    """What is looked up when a store opens is true no more, once ALTER SYSTEM has changed it for all connections."""
    others = [store, *(Store.open(new_postgresql, durability="normal") for _ in range(3))]
    for number, each in enumerate(others):
        each.add_turn("first", bookmark=f"of-{number}")
        database = database_of(each)
        driver = database._pool.take()
        driver.autocommit = True
        driver.execute("SET default_transaction_isolation = 'serializable'")
        driver.autocommit = False
        database._pool.give_back(driver)

    def say(number: int) -> None:
        for turn in range(40):
            others[number].add_turn(f"turn {turn}", continues=f"of-{number}")

    if refuses_commits:
        with own_connection(new_postgresql) as connection, connection.begin():
            connection.exec_driver_sql(REFUSE_EVERY_OTHER_COMMIT)
    with ThreadPoolExecutor() as pool:
        list(pool.map(say, range(len(others))))
    assert "whole" in sent
    for number in range(len(others)):
        assert texts(store, f"of-{number}") == ["first", *(f"turn {turn}" for turn in range(40))]
    assert store.verify().problems == ()
    for each in others[1:]:
        each.close()


def test_a_server_that_takes_no_writes_is_named(store: Store, new_postgresql: str) -> None:
    set_default(new_postgresql, "default_transaction_read_only", "on")
    with Store.open(new_postgresql, create=False) as other:
        for _ in range(2):
            with pytest.raises(DatabaseReadOnly, match="takes no writes"):
                other.add_turn("refused", continues="main")
    assert texts(store, "main") == ["first"]


def test_a_statement_that_failed_is_prepared_for_nobody(store: Store, new_postgresql: str) -> None:
    """The driver prepares what it sent a few times, and counts it as prepared even where the server refused it."""
    set_default(new_postgresql, "lock_timeout", "20ms")
    with Store.open(new_postgresql) as other, own_connection(new_postgresql) as holder:
        other.add_turn("begins", continues="main")
        for number in range(8):
            with holder.begin():
                holder.exec_driver_sql("LOCK TABLE turn IN ACCESS EXCLUSIVE MODE")
                with pytest.raises(DatabaseTimedOut):
                    other.add_turn("refused", continues="main")
            other.add_turn(f"turn {number}", continues="main")
    assert texts(store, "main") == ["first", "begins", *(f"turn {number}" for number in range(8))]
    assert store.verify().problems == ()


@pytest.mark.parametrize("appended", range(4, 8))
def test_tables_that_were_moved_meanwhile_are_found(store: Store, new_postgresql: str, appended: int) -> None:
    for number in range(appended):
        store.add_turn(f"turn {number}", continues="main")
    with Database.open(new_postgresql) as database:
        database.secure()
    for number in range(appended, appended + 3):
        store.add_turn(f"turn {number}", continues="main")
    assert texts(store, "main") == ["first", *(f"turn {number}" for number in range(appended + 3))]


def test_two_stores_that_append_at_once_lose_nothing(new_postgresql: str, store: Store) -> None:
    def work(number: int) -> None:
        with Store.open(new_postgresql) as mine:
            mine.add_turn(f"{number} begins", continues="main")
            for index in range(25):
                mine.add_turn(f"{number}-{index}", continues="main")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    said = texts(store, "main")
    assert len(said) == len(set(said)) == 1 + 4 * 26
    for number in range(4):
        assert [each for each in said if each.startswith(f"{number}-")] == [f"{number}-{i}" for i in range(25)]
    assert store.verify().problems == ()
