"""Whatever is damaged in whichever column: verify names it, reading refuses it, or it is listed why neither can.

The table of verdicts is tests/support/damage/verdicts.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Column, Table

from headish import Database
from headish.database.schema import metadata
from support.damage.databases import DamagedFile, problems_of
from support.damage.holding import hold, spread
from support.damage.reading import read_all
from support.damage.rows import damages
from support.damage.spaces import fill
from support.damage.verdicts import COLUMNS, READING, REFUSED, ROWS, UNWRITTEN, VERIFY, Listed, Verdicts, verdict

CELLS = [
    *((table, column, kind) for table in metadata.sorted_tables for column in table.c for kind in Verdicts._fields),
    *((table, None, "delete") for table in metadata.sorted_tables),
]
EACH_CELL = pytest.mark.parametrize(
    ("table", "column", "kind"),
    CELLS,
    ids=[f"{table if column is None else column}-{kind}" for table, column, kind in CELLS],
)
TRIED = 6
"""How many damages of a kind are done to a column where verify is said to see each."""


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DamagedFile]:
    path = str(tmp_path_factory.mktemp("damaged") / "headish.db")
    with Database.open(path, durability="normal") as database:
        fill(database)
        assert problems_of(database) == []
        assert read_all(database) == []
        made = DamagedFile(path, database)
        yield made
        made.close()
        assert problems_of(database) == []


def test_every_column_of_every_table_has_its_verdicts() -> None:
    columns = {table.name: {column.name for column in table.c} for table in metadata.sorted_tables}
    assert {table: set(verdicts) for table, verdicts in COLUMNS.items()} == columns
    assert set(ROWS) == set(columns)


def test_what_is_listed_says_why() -> None:
    cells = [verdict(table.name, None if column is None else column.name, kind) for table, column, kind in CELLS]
    assert all(cell.reason for cell in cells if isinstance(cell, Listed))


@pytest.mark.slow
@EACH_CELL
def test_damage_is_seen_as_its_verdict_says(
    damaged: DamagedFile, table: Table, column: Column[Any] | None, kind: str
) -> None:
    said = verdict(table.name, column.name if column is not None else None, kind)
    done = list(damages(table, column, kind, damaged.rows[table.name]))
    seen = hold(damaged, table, spread(done, TRIED) if said == VERIFY else done, said)
    if isinstance(said, Listed):
        assert None in seen or (said in (REFUSED, UNWRITTEN) and not seen), (
            "something sees all of it now: say so in the table"
        )
    elif said == READING:
        assert READING in seen, "verify sees all of it now: say so in the table"
