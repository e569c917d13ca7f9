"""Store an answer: one assistant turn behind the turns that were asked from.

The request pinned what the answer continues. The bookmark that was asked by moves only if it still points there (R5);
else the answer is a branch without a name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from headish.content.drafts import Draft
from headish.database.query import Connection
from headish.errors import UnknownTurn
from headish.history.append import Appended, append
from headish.rows.bookmarks import lock_bookmarks
from headish.rows.turns import turn_by_id
from headish.values.ids import TurnId
from headish.values.places import Place


def append_reply(
    connection: Connection,
    space: int,
    draft: Draft,
    turns: Sequence[TurnId],
    bookmark: bytes | None,
    replaces: TurnId | None,
    mint: Callable[[], TurnId],
) -> Appended:
    """Append the draft behind these turns.

    Without a bookmark the one that points at the first turn moves along, if there is just one (R2). An answer that
    ``replaces`` another takes the bookmark over from there.
    Raises: UnknownTurn where a turn is not of this space.
    """
    locked = {} if bookmark is None else lock_bookmarks(connection, space, [bookmark])
    places = [_place(connection, space, turn) for turn in turns]
    expected = places[0] if replaces is None else _place(connection, space, replaces)
    moves = bookmark is not None and locked.get(bookmark) == expected
    draft = replace(draft, continues=tuple(places), bookmark=bookmark if moves else None)
    [appended] = append(connection, space, [draft], mint, carries_names=bookmark is None and replaces is None)
    return appended


def _place(connection: Connection, space: int, turn: TurnId) -> Place:
    stored = turn_by_id(connection, space, turn)
    if stored is None:
        raise UnknownTurn(turn)
    return stored.place
