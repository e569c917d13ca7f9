"""Write rows of ``turn`` and ``link``. An INSERT into ``turn`` names only the columns that its rows need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any

from msgspec.structs import astuple

from headish.database.query import Connection, Query, Statement
from headish.rows.turns import StoredTurn
from headish.values.places import Place


class TurnRows:
    """Rows of ``turn`` to be stored, by columns in the order of the fields of ``StoredTurn``."""

    def __init__(self, columns: Iterable[Sequence[Any]]) -> None:
        self.columns: dict[str, Any] = dict(zip(StoredTurn.__struct_fields__, columns, strict=True))

    def turn(self, at: int) -> StoredTurn:
        return StoredTurn(*[each[at] for each in self.columns.values()])

    def put(self, at: int, turn: StoredTurn) -> None:
        """Replace a row."""
        for name, value in zip(self.columns, astuple(turn), strict=True):
            if not isinstance(self.columns[name], list):
                self.columns[name] = [*self.columns[name]]
            self.columns[name][at] = value


class _Adding:
    """An INSERT for turns whose columns ``empty`` are all null.

    It leaves these columns out, because SQLite's driver takes longer to bind a null than a text. The columns ``space``
    and ``data`` (a small payload) are not fields of ``StoredTurn``.
    """

    def __init__(self, name: str, *empty: str) -> None:
        fields = StoredTurn.__struct_fields__
        given = [each for each in fields if each not in empty]
        columns = [*given, "space", "data"]
        placeholders = ", ".join(f":{each}" for each in columns)
        self.query = Query(name, f"INSERT INTO turn ({', '.join(columns)}) VALUES ({placeholders})")
        self.given = itemgetter(*map(fields.index, given))
        self.empty = itemgetter(*map(fields.index, empty)) if empty else itemgetter(slice(0))
        """``given`` picks the values that the statement stores, and ``empty`` those that it leaves out: of one turn, or
        of the columns of many turns."""
        self.nothing = (None,) * len(empty)


_RARE = ("type", "content_type", "cache", "attributes", "inherited", "erased", "supersedes")
_BARE = _Adding("add a turn that has nothing but its blocks", *_RARE, "system", "key")
_WAYS = (_BARE, _Adding("add a turn that is known elsewhere", *_RARE), _Adding("add turn"))
"""The narrowest first. The last one takes every turn, so a search for one that fits always succeeds."""
ADDING = {each.query.name: each.query for each in _WAYS}


def add_turns(connection: Connection, space: int, turns: Sequence[StoredTurn], data: Sequence[bytes | None]) -> None:
    """Store complete rows. ``data`` has the payload of each row that keeps it in the row itself, otherwise None."""
    if turns:
        add_rows(connection, space, TurnRows(zip(*map(astuple, turns), strict=True)), data)


def add_rows(connection: Connection, space: int, rows: TurnRows, data: Sequence[bytes | None]) -> None:
    """Store turns as ``add_turns`` does.

    One statement stores all of them, even if some fit a narrower one: a server answers each change of the statement.
    """
    columns = [*rows.columns.values()]
    way = next(each for each in _WAYS if all(column.count(None) == len(data) for column in each.empty(columns)))
    connection.run_rows(way.query, [*zip(*way.given(columns), repeat(space, len(data)), data, strict=True)])


def add_turn(space: int, turn: StoredTurn, data: bytes | None) -> Statement:
    """The statement that stores a complete row. ``data`` is its payload if the row itself keeps it."""
    values = astuple(turn)
    way = _BARE  # as nearly every turn is
    if way.empty(values) != way.nothing:
        way = next(each for each in _WAYS if each.empty(values) == each.nothing)
    return Statement(way.query, (*way.given(values), space, data))


ADD_LINK = Query(
    "add link",
    """
    INSERT INTO link (space, chain, ordinal, parent_chain, parent_pos)
    VALUES (:space, :chain, :ordinal, :parent_chain, :parent_pos)
    """,
)


def add_links(connection: Connection, space: int, links: Iterable[tuple[int, Sequence[Place]]]) -> None:
    """Store the links of new chains: pairs of a chain and the parents of its first turn, in order."""
    rows = [
        {"space": space, "chain": chain, "ordinal": ordinal, "parent_chain": parent.chain, "parent_pos": parent.pos}
        for chain, parents in links
        for ordinal, parent in enumerate(parents)
    ]
    if rows:
        connection.run_many(ADD_LINK, rows)
