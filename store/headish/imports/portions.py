"""Storing one imported thread, so that a second import of the same file stores nothing.

A message stands for a stored turn that says the same behind the same turns, and that keeps the same beside it: the
header of a transcript is no part of a digest, and must not be lost for that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from headish.content.drafts import Draft
from headish.database.query import Connection
from headish.history.append import append
from headish.history.record import match_stored
from headish.rows.turns import StoredTurn
from headish.values.ids import TurnId
from headish.values.places import Place

Beside = Callable[[int], tuple[bytes | None, bytes | None]]
"""What a turn keeps beside its message: headish's own keys and the inherited options, as stored."""


def find_thread(
    connection: Connection, space: int, digests: Sequence[bytes], beside: Beside
) -> tuple[int, Place | None]:
    """How much of a thread is stored, from its first message on, and where that ends.

    Cost: one statement for every 64 messages that are.
    """

    def fits(index: int, stored: StoredTurn) -> bool:
        return (stored.system, stored.inherited) == beside(index)

    matched, tip = match_stored(connection, space, digests, None, fits)
    return matched, None if tip is None else tip.place


def store_portion(
    connection: Connection, space: int, drafts: Sequence[Draft], before: Place | None, mint: Callable[[], TurnId]
) -> Place:
    """Store drafts that continue one another, the first one ``before``; where the last one lies."""
    linked = [
        replace(draft, continues=(index - 1,) if index else () if before is None else (before,))
        for index, draft in enumerate(drafts)
    ]
    return append(connection, space, linked, mint, carries_names=False)[-1].turn.place
