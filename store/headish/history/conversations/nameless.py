"""Read the conversations of a list that have no name, without hidden halves and twins."""

from __future__ import annotations

from headish.database.query import Connection
from headish.history.conversations.entries import leave_out_gone
from headish.history.reading.halves import count_without, hidden_among
from headish.history.reading.versions import NOTHING_UNLISTED, unlisted_in_space
from headish.history.twins import folded_twins
from headish.rows.threads.beginnings import list_nameless
from headish.rows.threads.entries import Listed, NamelessStarts
from headish.values.ids import TurnId


def read_nameless(
    connection: Connection, space: int, begun: NamelessStarts, limit: int, *, erased: bool, twins: bool
) -> tuple[list[Listed], int | None]:
    """At most ``limit`` conversations that begin at the given places, and the lowest chain that was looked at, None if
    all were.

    ``erased`` includes those of which nothing is left, ``twins`` those that repeat another one of this space.
    Cost: two statements, and those of ``hidden_among``, ``leave_out_gone`` and ``folded_twins``.
    """
    more = list_nameless(connection, space, begun.places, limit)
    lowest = more[-1].chain if len(more) == limit else begun.lowest
    unlisted = unlisted_in_space(connection, space) if more else NOTHING_UNLISTED
    more = count_without(connection, space, more, hidden_among(connection, space, unlisted.halves))
    left_of = more if erased else leave_out_gone(connection, space, more)
    if unlisted.has_arrivals and not twins:
        left_of = _leave_out_twins(connection, space, left_of)
    return left_of, lowest


def _leave_out_twins(connection: Connection, space: int, listed: list[Listed]) -> list[Listed]:
    """The conversations whose last turn is not the twin of a turn that is shown."""
    folded = folded_twins(connection, space, [TurnId(each.last.id) for each in listed if each.last.id is not None])
    return [each for each in listed if each.last.id not in folded]
