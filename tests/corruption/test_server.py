"""The same verdicts on PostgreSQL, which itself keeps types and NULLs: values are altered, and rows deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import Column, Table

from headish import Database
from headish.database.schema import metadata
from support.damage.databases import DamagedServer, problems_of
from support.damage.holding import hold, spread
from support.damage.reading import read_all
from support.damage.rows import damages
from support.damage.spaces import fill
from support.damage.verdicts import verdict

pytestmark = pytest.mark.postgresql

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
