"""The statements of ``verify/types``."""

from __future__ import annotations

from sqlalchemy import Executable, Table, bindparam, literal_column, select

from headish.database.schema import metadata
from headish.database.schema import space as space_table
from headish.statements.compiling import define
from headish.statements.elements import in_hex, misfits
from headish.verify.types import IN_A_SPACE, IN_SPACES

NAMED_BY = {"turn": ("id",), "counter": ("space",), "search": ("space",)}
"""The columns that name a row to people, where they are not those of its key."""


def _key(table: Table) -> list[str]:
    return [name for name in (column.name for column in table.primary_key) if name != "space"]


def _misfits_of(table: Table) -> Executable:
    found = misfits(table.c)
    named = in_hex(table.c[name] for name in NAMED_BY.get(table.name, _key(table)))
    statement = select(named, found).select_from(table).where(found != literal_column("''"))
    return statement if table is space_table else statement.where(table.c.space == bindparam("space"))


for _name, _query in IN_A_SPACE.items():
    define(_query, _misfits_of(metadata.tables[_name]))
define(IN_SPACES, _misfits_of(space_table))
