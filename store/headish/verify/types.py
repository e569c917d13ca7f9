"""Verify that every column holds values of its type: SQLite keeps any value in any column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headish.database.query import Connection, Query, Row
from headish.database.revisions import TABLES, Column, columns_of
from headish.values.results.reports import Problem

ADDRESS_BYTES = 32


NAMED_BY = {"turn": ("id",), "counter": ("space",), "search": ("space",)}
"""The columns that name a row to people, if they are not those of its key."""
_SPACE = Column("space", "integer", in_key=False, nullable=False)


def _misfit(column: Column) -> str:
    """The SQL for a column: its name if it holds a value of another type, and ``name=hex`` for a text that is not
    ASCII. Such a text may hold bytes that are not UTF-8, on which every reader would fail."""
    name, kinds = column.name, f"'{column.kind}'" + (", 'null'" if column.nullable else "")
    # GLOB rules out printable ASCII, so that hardly any text is written as hex and checked in Python.
    odd = f"WHEN {name} GLOB '*[^ -~]*' THEN '{name}=' || hex({name}) || ' '" if column.kind == "text" else ""
    return f"CASE WHEN typeof({name}) NOT IN ({kinds}) THEN '{name} ' {odd} ELSE '' END"


def _misfits_of(table: str) -> Query:
    columns = columns_of(table)
    names = NAMED_BY.get(table, [column.name for column in columns if column.in_key])
    key = " || '/' || ".join(f"hex({name})" for name in names)
    of_space, checked = ("", columns) if table == "space" else (" AND space = :space", [_SPACE, *columns])
    misfits = " || ".join(map(_misfit, checked))
    return Query(
        f"values of another type in {table}",
        sqlite=f"SELECT {key}, {misfits} FROM {table} WHERE {misfits} <> ''{of_space}",
        postgresql=f"SELECT '', '' FROM {table} WHERE '' <> ''{of_space}",  # a server keeps the types itself
    )


IN_A_SPACE = {table: _misfits_of(table) for table in TABLES}
IN_SPACES = _misfits_of("space")


def check_types(connection: Connection, space: int) -> list[Problem]:
    """Find the rows of a space that hold a value of another type, or text that is not UTF-8."""
    tables = ((table, connection.rows(query, space=space)) for table, query in IN_A_SPACE.items())
    return [problem for table, rows in tables for problem in _problems(table, rows)]


def check_types_of_spaces(connection: Connection) -> list[Problem]:
    """As ``check_types``, for the rows of the spaces themselves."""
    return list(_problems("space", connection.rows(IN_SPACES)))


def _problems(table: str, rows: Sequence[Row]) -> Iterator[Problem]:
    for key, misfits in rows:
        wrong = [name for name, _, value in (each.partition("=") for each in misfits.split()) if not _is_text(value)]
        if wrong:
            subject = "/".join(_shown(part) for part in key.split("/"))
            yield Problem(
                f"{table} {subject}", f"its {', '.join(wrong)} {_HOLD[len(wrong) > 1]} a value of another type"
            )


def _shown(part: str) -> str:
    """A value of the key as people know it: an address in hex, anything else as text."""
    value = bytes.fromhex(part)
    return value.hex() if len(value) == ADDRESS_BYTES else value.decode(errors="replace")


def _is_text(value: str) -> bool:
    """Whether the hex of a text is UTF-8. An empty hex means a value of another type."""
    try:
        return bool(value and bytes.fromhex(value).decode())
    except UnicodeDecodeError:
        return False


_HOLD = ("holds", "hold")
