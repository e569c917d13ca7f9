"""Behind a pooler that lends a connection for one transaction: no settings of a session, no prepared statements.

Tried with pgbouncer itself where it is installed.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import make_url

from headish import Database, Store
from headish.database.query import Query
from headish.errors import InvalidArgument
from support.growing import texts
from support.poolers import started_pooler

pytestmark = pytest.mark.postgresql


def settings_of(database: Any) -> dict[str, str]:
    """What a connection of the pool says of itself between two transactions."""
    pooled = database.backend._pool.take()
    try:
        cursor = pooled.cursor()
        found = {}
        for name in ("enable_seqscan", "synchronous_commit", "idle_in_transaction_session_timeout"):
            found[name] = cursor.execute(f"SHOW {name}").fetchone()[0]
        found["prepared"] = cursor.execute("SELECT count(*) FROM pg_prepared_statements").fetchone()[0]
        return found
    finally:
        pooled.rollback()
        database.backend._pool.give_back(pooled)


@pytest.mark.parametrize("durability", ["full", "normal"])
def test_settings_hold_for_a_transaction_and_are_gone_after_it(new_postgresql: str, durability: Any) -> None:
    with Database.open(new_postgresql, durability=durability) as database:
        before = settings_of(database)
        store = database.store()
        for index in range(20):
            store.add_turn(str(index), bookmark="main", continues="main" if index else None)

        def inside(connection: Any) -> tuple[str, str]:
            seqscan, commit = (connection.row(Query(name, f"SHOW {name}"))[0] for name in SHOWN)
            return seqscan, commit

        assert database.backend.write(inside) == ("off", "on" if durability == "full" else "off")
        after = settings_of(database)
        assert {**after, "prepared": 0} == {**before, "prepared": 0}
        assert int(after["prepared"]) > 0


SHOWN = ("enable_seqscan", "synchronous_commit")


@pytest.mark.parametrize("how", ["argument", "url"])
def test_nothing_is_prepared_where_it_is_not_wanted(new_postgresql: str, how: str) -> None:
    url = make_url(new_postgresql)
    target = str(url.update_query_dict({"prepared": "false"}).render_as_string(hide_password=False))
    options: dict[str, Any] = {"prepared": False} if how == "argument" else {}
    with Database.open(new_postgresql if how == "argument" else target, **options) as database:
        store = database.store()
        for index in range(20):
            store.add_turn(str(index), bookmark="main", continues="main" if index else None)
        assert int(settings_of(database)["prepared"]) == 0


def test_a_url_says_true_or_false(new_postgresql: str) -> None:
    target = make_url(new_postgresql).update_query_dict({"prepared": "perhaps"})
    with pytest.raises(InvalidArgument, match="prepared in the database URL is true or false"):
        Store.open(target.render_as_string(hide_password=False))


@pytest.fixture
def pooled(new_postgresql: str) -> Iterator[str]:
    """The URL of a database behind pgbouncer, which lends four connections, each for one transaction."""
    with started_pooler(new_postgresql, connections=4) as url:
        yield url


@pytest.mark.slow
def test_writers_and_readers_behind_pgbouncer(pooled: str) -> None:
    with Store.open(pooled) as store:
        store.add_turn("first", bookmark="main")

    def work(number: int) -> None:
        with Store.open(pooled) as store:
            for index in range(10):
                store.add_turn(f"{number}-{index}", continues="main")
                store.resolve("main")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    with Store.open(pooled) as store:
        said = texts(store, "main")
        assert len(said) == 81
        for number in range(8):
            assert [each for each in said if each.startswith(f"{number}-")] == [f"{number}-{i}" for i in range(10)]
        assert store.verify().problems == ()
