"""Verify the spaces of a database: their rows are in order, and every other row belongs to one of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from headish.database.backend import Backend
from headish.database.query import Connection, Query
from headish.database.revisions import TABLES
from headish.history.searching.checking import is_switch, strange_spaces
from headish.rows.counters import Counter, read_counter
from headish.rows.searching.indexing import NO_SPACE
from headish.rows.spaces import removed_name, space_numbers
from headish.values.names import refusal, stored_name
from headish.values.results.reports import Problem
from headish.verify.changes import check_changes, check_names
from headish.verify.space import STUMBLING
from headish.verify.types import check_types, check_types_of_spaces

LEFT = {"counter", "search", "space_log"}
"""The tables in which a removed space leaves rows. The row of its search index, if there was one, says it is empty."""

_BEFORE_ALL = -(2**63)  # not 0: a damaged row may have a negative number


class SpaceInUse(NamedTuple):
    """A space that is in use."""

    number: int
    name: str


# As bytes, because the driver could not read a text that is not UTF-8.
_ALL_SPACES = """
    SELECT s.id, CAST(s.name AS %s), CASE WHEN c.state = 'removed' THEN 1 ELSE 0 END
    FROM space AS s LEFT JOIN counter AS c ON c.space = s.id ORDER BY s.id
"""
ALL_SPACES = Query("all spaces, the removed ones too", sqlite=_ALL_SPACES % "BLOB", postgresql=_ALL_SPACES % "BYTEA")


def check_spaces(backend: Backend) -> tuple[list[SpaceInUse], list[Problem]]:
    """The spaces in use, sorted by name, and the problems with them and with rows outside of them.

    Where policies keep spaces apart, this sees only the spaces of this login, and nothing outside of them.
    Cost: one statement, two for each removed space, and one seek for each table and space.
    """
    if backend.is_confined:
        open_to_us = [SpaceInUse(number, stored_name(name)) for number, name in backend.read(space_numbers)]
        return sorted(open_to_us, key=lambda each: each.name), []
    rows = backend.read(lambda connection: connection.rows(ALL_SPACES))
    spaces = [SpaceInUse(number, stored_name(name or b"")) for number, name, is_removed in rows if not is_removed]
    removed = [number for number, _, is_removed in rows if is_removed]
    problems = backend.read(check_types_of_spaces)
    problems += [Problem(f"space {row[0]}", what) for row in rows if (what := _space_problem(*row))]
    for number in removed:
        problems += _check_removed(backend, number)
    in_use = {each.number for each in spaces}
    problems += backend.read(lambda connection: list(_strangers(connection, in_use, removed)))
    return sorted(spaces, key=lambda each: each.name), problems


def _space_problem(number: int, name: bytes | None, is_removed: int) -> str | None:
    if name is None:
        return None  # reported by check_types_of_spaces
    if is_removed:
        return None if name == removed_name(number) else "it is not as a removed space is left"
    try:
        reason = refusal(name.decode())
    except UnicodeDecodeError:
        reason = "it is not UTF-8"
    return reason and f"its name cannot be a name: {reason}"


def _check_removed(backend: Backend, number: int) -> Iterator[Problem]:
    yield from backend.read(lambda connection: check_types(connection, number))
    with suppress(*STUMBLING):  # reported by check_types
        yield from backend.read(lambda connection: list(_check_left(connection, number)))


def _check_left(connection: Connection, number: int) -> Iterator[Problem]:
    subject = f"space {number}"
    yield from check_names(connection, number, subject)
    yield from check_changes(connection, number, subject)
    if read_counter(connection, number) != Counter(0, 0, 0, 0, 0, 0):
        yield Problem(subject, "it was removed, and its counter is not at 0")


NEXT_SPACE = {
    table: Query(f"the next space with rows in {table}", f"SELECT min(space) FROM {table} WHERE space > :after")
    for table in TABLES
}


def _strangers(connection: Connection, known: Collection[int], removed: Collection[int]) -> Iterator[Problem]:
    for table, query in NEXT_SPACE.items():
        expected = {*known, *removed} if table in LEFT else known
        for space in _spaces_in(connection, query):
            if space not in expected and not (table == "search" and space == NO_SPACE):
                yield Problem("database", f"{table} holds rows of the space {space!r}, which does not exist")
    for space in strange_spaces(connection):
        if space not in known:
            yield Problem("database", f"the search index holds words of the space {space!r}, which does not exist")
    if not is_switch(connection):
        yield Problem("database", "the row that switches the search index off says something else")


def _spaces_in(connection: Connection, query: Query) -> Iterator[Any]:
    """The spaces that have rows in a table: one seek for each, however many rows there are."""
    row = connection.row(query, after=_BEFORE_ALL)
    while row is not None and row[0] is not None:
        yield row[0]
        row = connection.row(query, after=row[0])
