"""Lists of conversations: each list is one statement, whatever the size of the space (rule R33, conversations).

A name is found in the order in which names moved. Conversations without a name are found by the chain in which each
begins, the newest first: the statement looks at the next ``window`` chains, leaves out those that go on with what was
said before, those in which a name lies, and other versions of a first turn, and gives the rest. Of each it reads the
first words and the last ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from headish.database.query import Connection, Query, Row

NEWEST = 2**63 - 1

CUT_BYTES = 2048
"""So much is read of a payload that is larger than ``PREVIEW_BYTES``."""


class Words(NamedTuple):
    """A turn as a list shows it: of a large payload only the beginning, and then ``cut`` is 1. ``overlay`` are the
    attributes of an overlay, which say what it does."""

    id: str | None
    role: str | None
    type: str | None
    system: bytes | None
    payload: bytes | None
    cut: int | None
    erased: int | None
    overlay: bytes | None


class Listed(NamedTuple):
    """A conversation of a list: what was said last and first, and what its order is by.

    ``name`` and ``recent``, in Unix milliseconds, are of those that have a name; ``chain``, ``first`` and ``branches``
    of the others. ``turns`` are those of the thread of a name, along first parents, or all of a conversation without
    one.
    """

    last: Words
    first: Words
    name: bytes | None = None
    recent: int = 0
    chain: int = 0
    start: str | None = None
    branches: int | None = None
    turns: int = 0


NAMED = Query("conversations with a name, the last moved first")
NAMELESS = Query("conversations without a name, the newest first")
LOWEST = Query("the last of the chains that a list looked at")


def list_named(
    connection: Connection,
    space: int,
    *,
    before: tuple[int, bytes],
    archived: bool | None,
    pinned: bool | None,
    limit: int,
) -> list[Listed]:
    """Names whose last move is older than ``before``, or as old and of a lower name; the last moved first."""
    flags = {"archived": _flag(archived), "pinned": _flag(pinned)}
    rows = connection.rows(NAMED, space=space, recent=before[0], name=before[1], limit=limit, **flags)
    return [Listed(*_two_words(row[3:]), name=row[0], recent=row[1], turns=int(row[2] or 0)) for row in rows]


def list_nameless(connection: Connection, space: int, *, before: int, limit: int, window: int) -> list[Listed]:
    """Conversations without a name that begin in one of the ``window`` chains below ``before``, the newest first."""
    rows = connection.rows(NAMELESS, space=space, before=before, limit=limit, looked_at=window)
    return [
        Listed(*_two_words(row[4:]), chain=row[0], start=row[1], branches=int(row[2]), turns=int(row[3]))
        for row in rows
    ]


def lowest_chain(connection: Connection, space: int, *, before: int, window: int) -> int | None:
    """Where ``list_nameless`` stopped looking; None if it looked at all that there are."""
    row = connection.row(LOWEST, space=space, before=before, looked_at=window)
    return None if row is None or int(row[0]) < window else int(row[1])


def _flag(wanted: bool | None) -> int:
    return -1 if wanted is None else int(wanted)


def _two_words(row: Sequence[object] | Row) -> tuple[Words, Words]:
    middle = len(Words._fields)
    return Words._make(row[:middle]), Words._make(row[middle:])
