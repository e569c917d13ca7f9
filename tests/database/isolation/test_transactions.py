"""The space of a transaction: sent with its BEGIN, gone with its end, and no statement more than there was before."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from headish import Database, Store
from headish.database.isolation.confined import SentSettings
from headish.database.query import Connection, Query
from headish.database.urls import parse_url, server_arguments
from support.growing import texts
from support.poolers import started_pooler
from support.secured import PASSWORD, Logins

SPACE = Query("the space of a transaction", "SELECT current_setting('headish.space', true)")


def test_the_space_is_gone_with_its_transaction(logins: Logins) -> None:
    with Store.open(logins.at("ana"), space="ana") as store:
        inside = store._backend.read(lambda connection: connection.rows(SPACE))[0][0]
        assert inside.isdigit()
        pooled: Any = store._backend._pool.take()  # type: ignore[attr-defined]
        assert pooled.execute("SELECT current_setting('headish.space', true)").fetchone() == ("",)
        with pytest.raises(psycopg.Error, match="no space was entered"):
            pooled.execute("SELECT * FROM headish.turn")
        pooled.rollback()
        store._backend._give_back(pooled)  # type: ignore[attr-defined]
        assert store.get("main")


def test_a_transaction_that_fails_leaves_no_space_behind(logins: Logins) -> None:
    with Store.open(logins.at("ana"), space="ana") as store:

        def fail(connection: Connection) -> None:
            connection.row(SPACE)
            raise ZeroDivisionError

        for run in (store._backend.read, store._backend.write):
            with pytest.raises(ZeroDivisionError):
                run(fail)
        assert store._database.backend.read(lambda connection: connection.row(SPACE)) in (("",), (None,))


def test_the_space_goes_in_the_message_that_begins_the_transaction() -> None:
    sent = SentSettings("SELECT set_config('a', 'b', true)", is_confined=True)
    assert (
        sent.before(SPACE, 7) == "SELECT set_config('a', 'b', true), pg_catalog.set_config('headish.space', '7', true)"
    )
    assert sent.before(SPACE, 7) == ""
    assert sent.before(SPACE, 8) == "SELECT pg_catalog.set_config('headish.space', '8', true)"
    assert sent.before(Query("find space"), 8) == ""  # it enters another one, perhaps
    assert sent.before(SPACE, 8) == "SELECT pg_catalog.set_config('headish.space', '8', true)"


def test_a_database_that_is_not_secured_sends_what_it_always_sent(new_postgresql: str) -> None:
    sent = SentSettings("SELECT 1", is_confined=False)
    assert [sent.before(SPACE, 7), sent.before(SPACE, 8)] == ["SELECT 1", ""]
    with Database.open(new_postgresql) as database:
        store = database.store()
        assert store._backend is database.backend
        assert store._backend.read(lambda connection: connection.within(7) is connection)


@pytest.mark.slow
def test_one_connection_of_a_pooler_serves_two_tenants_in_turn(own: Logins) -> None:
    with (
        started_pooler(own.url, connections=1, login=own.name("app"), password=PASSWORD) as pooled,
        Store.open(pooled, space="ana", isolation="required") as ana,
        Store.open(pooled, space="ben", isolation="required") as ben,
    ):

        def work(store: Store) -> None:
            for index in range(12):
                store.add_turn(f"{store.space} {index}", continues="main")
                assert all("ben" not in each if store is ana else "ana" not in each for each in texts(store, "main"))

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(work, (ana, ben, ana, ben)))
        for store in (ana, ben):
            assert len(texts(store, "main")) == 25
            assert store.verify().problems == ()
        with psycopg.connect(**server_arguments(parse_url(pooled).without(["prepared"]))) as raw:
            assert raw.execute("SELECT current_setting('headish.space', true)").fetchone() in ((None,), ("",))
            with pytest.raises(psycopg.Error, match="no space was entered"):
                raw.execute("SELECT * FROM headish.turn")
