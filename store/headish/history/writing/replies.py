"""Replies: pin the turns of a request, and store the reply that continues them.

A request pins what its reply will continue. The bookmark of the request moves only if it still points there (rule R5, a
reply follows its request); otherwise the reply is a branch without a name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from headish.content.drafts import Draft
from headish.database.query import Connection
from headish.errors import UnknownTurn
from headish.history.reading.find import find_place
from headish.history.writing.append import Written, append
from headish.rows.bookmarks import find_bookmark
from headish.rows.turns import parent_at, turn_by_id
from headish.values.grammar import Headish
from headish.values.ids import Mint, TurnId
from headish.values.places import Place


class Pinned(NamedTuple):
    """The turns that a reply will continue, and the bookmark that points at the first of them, if one was named."""

    turns: tuple[TurnId, ...]
    bookmark: str | None


def pin_turns(connection: Connection, space: int, places: Sequence[Place], name: str | None) -> Pinned:
    """Pin the turns at these places; and the name, if it is a bookmark that points at the first.

    Raises: UnknownTurn.
    """
    at = None if name is None else find_bookmark(connection, space, name.encode())
    turns = tuple(_id_at(connection, space, place) for place in dict.fromkeys(places))
    return Pinned(turns, name if at is not None and at == places[0] else None)


def pin_headishes(connection: Connection, space: int, headishes: Sequence[Headish]) -> tuple[list[Place], Pinned]:
    """``pin_turns`` for headishes, with each name looked up once. Returns their places, too.

    Raises: UnknownTurn, Ambiguous.
    """
    name = headishes[0].bookmark
    at = None if name is None else find_bookmark(connection, space, name.encode())
    places = [] if at is None else [at]
    places += [find_place(connection, space, each) for each in headishes[len(places) :]]
    turns = tuple([_id_at(connection, space, place) for place in dict.fromkeys(places)])
    return places, Pinned(turns, None if at is None else name)


def write_reply(
    connection: Connection,
    space: int,
    draft: Draft,
    turns: Sequence[TurnId],
    bookmark: str | None,
    replaces: TurnId | None,
    mint: Mint,
) -> Written:
    """Append the draft, continuing these turns.

    Without ``bookmark`` the one that points at the first turn moves, if there is exactly one (rule R2, one name moves).
    An answer that ``replaces`` another takes over that answer's bookmark.
    Raises: UnknownTurn if a turn is not in this space.
    """
    name = None if bookmark is None else bookmark.encode()
    at = None if name is None else find_bookmark(connection, space, name)
    places = [_place(connection, space, turn) for turn in turns]
    # A retry moves the name off the answer that it replaces; any other reply moves it off the question.
    expected = places[0] if replaces is None else _place(connection, space, replaces)
    moves = at is not None and at == expected
    # Forced, because a retry continues the question, not the answer that the name is at.
    draft = replace(draft, continues=tuple(places), bookmark=name if moves else None, force=True)
    return append(connection, space, [draft], mint, carries_names=name is None and replaces is None)


def _place(connection: Connection, space: int, turn: TurnId) -> Place:
    stored = turn_by_id(connection, space, turn)
    if stored is None:
        raise UnknownTurn(turn)
    return stored.place


def _id_at(connection: Connection, space: int, place: Place) -> TurnId:
    found = parent_at(connection, space, place)
    if found is None:
        raise UnknownTurn(str(place))
    return found.id
