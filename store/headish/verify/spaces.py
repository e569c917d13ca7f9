"""The part of verify that asks whether the spaces of a database are in order, and whether every row belongs to one."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from sqlalchemy import Table, bindparam, func, select

from headish.database.query import Connection, Query
from headish.database.schema import metadata
from headish.database.schema import space as space_table
from headish.rows.spaces import removed_name
from headish.values.names import refusal, stored_name
from headish.values.reports import Problem
from headish.verify.types import check_types_of_spaces

ALL_SPACES = Query(
    "all spaces, the removed ones too",
    select(space_table.c.id, space_table.c.name, space_table.c.seq).order_by(space_table.c.id),
)


def _next_space(table: Table) -> Query:
    statement = select(func.min(table.c.space)).where(table.c.space > bindparam("after"))
    return Query(f"the next space with rows in {table.name}", statement)


NEXT_SPACE = {table.name: _next_space(table) for table in metadata.sorted_tables if table is not space_table}
_BEFORE_ALL = -(2**63)


class Known(NamedTuple):
    """A space that is in use."""

    number: int
    name: str


def check_spaces(connection: Connection) -> tuple[list[Known], list[Problem]]:
    """The spaces in use by name, and what is wrong with them or lies outside of them.

    Cost: one statement, and one seek for each table and space.
    """
    rows = connection.rows(ALL_SPACES)
    known = [Known(number, _shown(name)) for number, name, seq in rows if not (isinstance(seq, int) and seq < 0)]
    problems = check_types_of_spaces(connection)
    problems += [Problem(f"space {row[0]}", what) for row in rows if (what := _space_problem(*row))]
    problems += _strangers(connection, {each.number for each in known})
    return sorted(known, key=lambda each: each.name), problems


def _space_problem(number: int, name: object, seq: object) -> str | None:
    if not isinstance(name, bytes) or not isinstance(seq, int):
        return None  # reported by check_types_of_spaces
    if seq < 0:
        return None if (seq, name) == (-1, removed_name(number)) else "it is not as a removed space is left"
    try:
        reason = refusal(name.decode())
    except UnicodeDecodeError:
        reason = "it is not UTF-8"
    return reason and f"its name cannot be a name: {reason}"


def _shown(name: object) -> str:
    return stored_name(name) if isinstance(name, bytes) else str(name)


def _strangers(connection: Connection, known: Collection[int]) -> Iterator[Problem]:
    for table, query in NEXT_SPACE.items():
        for space in _spaces_in(connection, query):
            if space not in known:
                yield Problem("database", f"{table} holds rows of the space {space!r}, which does not exist")


def _spaces_in(connection: Connection, query: Query) -> Iterator[Any]:
    """The spaces that have rows in a table: one seek for each, however many rows there are."""
    row = connection.row(query, after=_BEFORE_ALL)
    while row is not None and row[0] is not None:
        yield row[0]
        row = connection.row(query, after=row[0])
