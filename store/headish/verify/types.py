"""The part of verify that asks whether every column holds values of its type: SQLite keeps any value in any column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headish.database.query import Connection, Query, Row
from headish.database.revisions import TABLES
from headish.values.results.reports import Problem

ADDRESS_BYTES = 32


IN_A_SPACE = {table: Query(f"values of another type in {table}") for table in TABLES}
IN_SPACES = Query("values of another type in space")


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
