"""The part of verify that asks whether every column holds values of its type: SQLite keeps any value in any column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import Table, bindparam, literal_column, select

from headish.database.dialects import in_hex, misfits
from headish.database.query import Connection, Query, Row
from headish.database.schema import metadata
from headish.database.schema import space as space_table
from headish.values.reports import Problem

NAMED_BY = {"turn": ("id",), "counter": ("space",), "search": ("space",)}
"""The columns that name a row to people, where they are not those of its key."""
ADDRESS_BYTES = 32


def _key(table: Table) -> list[str]:
    return [name for name in (column.name for column in table.primary_key) if name != "space"]


def _misfits_of(table: Table) -> Query:
    found = misfits(table.c)
    named = in_hex(table.c[name] for name in NAMED_BY.get(table.name, _key(table)))
    statement = select(named, found).select_from(table).where(found != literal_column("''"))
    if table is not space_table:
        statement = statement.where(table.c.space == bindparam("space"))
    return Query(f"values of another type in {table.name}", statement)


IN_A_SPACE = {table.name: _misfits_of(table) for table in metadata.sorted_tables if table is not space_table}
IN_SPACES = _misfits_of(space_table)


def check_types(connection: Connection, space: int) -> list[Problem]:
    """The rows of a space that hold a value of another type, or text that is none."""
    found = ((table, connection.rows(query, space=space)) for table, query in IN_A_SPACE.items())
    return [problem for table, rows in found for problem in _problems(table, rows)]


def check_types_of_spaces(connection: Connection) -> list[Problem]:
    """As ``check_types``, of the spaces themselves."""
    return list(_problems("space", connection.rows(IN_SPACES)))


def _problems(table: str, rows: Sequence[Row]) -> Iterator[Problem]:
    for key, found in rows:
        wrong = [name for name, _, value in (each.partition("=") for each in found.split()) if not _is_text(value)]
        if wrong:
            subject = "/".join(_shown(part) for part in key.split("/"))
            yield Problem(
                f"{table} {subject}", f"its {', '.join(wrong)} {_HOLD[len(wrong) > 1]} a value of another type"
            )


def _shown(part: str) -> str:
    """A value of the key: an address in hex, as everywhere; whatever else as text."""
    value = bytes.fromhex(part)
    return value.hex() if len(value) == ADDRESS_BYTES else value.decode(errors="replace")


def _is_text(value: str) -> bool:
    """Whether the hex of a text is UTF-8; empty is what stands for a value of another type."""
    try:
        return bool(value and bytes.fromhex(value).decode())
    except UnicodeDecodeError:
        return False


_HOLD = ("holds", "hold")
