"""Find the turns that a moved name brought: those that lead to its new place, but not to its old one."""

from __future__ import annotations

from headish.database.query import Connection
from headish.history.reading.order import arrange, without
from headish.rows.threads.ranges import check_gapless, turns_of
from headish.rows.threads.walks import read_links_of
from headish.rows.turns import StoredTurn
from headish.values.places import Place, Segment


def find_brought(connection: Connection, space: int, old: Place | None, new: Place) -> list[Segment]:
    """The ranges of turns that a move brought, in walk order; none if the name moved back.

    Cost: none if both places are in one chain, otherwise two statements for each place; the database takes one step per
    fork.
    """
    if old is not None and old.chain == new.chain:
        return [Segment(new.chain, old.pos + 1, new.pos)] if old.pos < new.pos else []
    return without(_leading(connection, space, new), _leading(connection, space, old))


def read_brought(connection: Connection, space: int, segment: Segment) -> list[StoredTurn]:
    """The turns of a range. Raises: CorruptTurn if one is missing."""
    turns = turns_of(connection, space, segment)
    check_gapless(segment, turns)
    return turns


def _leading(connection: Connection, space: int, place: Place | None) -> list[Segment]:
    return [] if place is None else arrange([place], read_links_of(connection, space, [place]))
