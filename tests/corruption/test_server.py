"""The same verdicts on PostgreSQL, which itself keeps types and NULLs: values are altered, and rows deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import Column, Table

from headish import Database
from headish.database.revisions import ALL_TABLES
from headish.database.schema import metadata
from headish.database.server.upkeep import OUR_INDEXES
from support.damage.databases import DamagedServer, problems_of
from support.damage.holding import hold, spread
from support.damage.reading import read_all
from support.damage.rows import damages
from support.damage.spaces import fill
from support.damage.verdicts import verdict

pytestmark = [pytest.mark.postgresql, pytest.mark.xdist_group("damaged server")]
"""One process fills a database for all of them."""

CELLS: list[tuple[Table, Column[Any] | None, str]] = [
    *((table, column, "flip") for table in metadata.sorted_tables for column in table.c),
    *((table, None, "delete") for table in metadata.sorted_tables),
]


@pytest.fixture(scope="module")
def damaged(make_postgresql_database: Callable[[], str]) -> Iterator[DamagedServer]:
    url = make_postgresql_database()
    with Database.open(url) as database:
        fill(database)
        assert problems_of(database) == []
        assert read_all(database) == []
        made = DamagedServer(url, database)
        yield made
        made.close()
        assert problems_of(database) == []


@pytest.mark.parametrize(
    ("table", "column", "kind"),
    CELLS,
    ids=[f"{table if column is None else column}-{kind}" for table, column, kind in CELLS],
)
def test_damage_is_seen_as_its_verdict_says(
    damaged: DamagedServer, table: Table, column: Column[Any] | None, kind: str
) -> None:
    said = verdict(table.name, column.name if column is not None else None, kind)
    attempts = list(damages(table, column, kind, damaged.rows[table.name]))
    seen = hold(damaged, table, spread(attempts, 1), said)
    assert len(seen) <= 1


def test_the_indexes_of_every_table_are_those_that_amcheck_is_asked_of(postgresql_url: str) -> None:
    with Database.open(postgresql_url) as database, database.backend.schema_connection() as connection:
        looked_at = {name for _, name in connection.execute(OUR_INDEXES, (list(ALL_TABLES),))}
        held = connection.execute(
            "SELECT indexname FROM pg_indexes WHERE schemaname = current_schema() AND tablename = ANY(%s) "
            "AND indexdef LIKE '%%USING btree%%'",
            (list(ALL_TABLES),),
        )
        assert looked_at == {name for (name,) in held}
        assert {"turn_seq", "object_pkey", "erasure_pkey", "conversation_key"} <= looked_at
