"""Find conversations of which nothing is left: every turn that their line in a list stands for is erased."""

from __future__ import annotations

from headish.database.query import Connection
from headish.history.reading.halves import CHAINS_LIMIT
from headish.history.reading.order import segments_to
from headish.history.reading.versions import find_firsts
from headish.rows.bookmarks import find_bookmark
from headish.rows.threads.entries import NEWEST, Listed
from headish.rows.threads.names import names_of_segments
from headish.rows.threads.places import grown_chains
from headish.rows.threads.ranges import ids_of_ranges
from headish.rows.turns import turn_by_id
from headish.rows.upkeep.erasures import is_living
from headish.values.ids import TurnId
from headish.values.places import Place, Segment


def is_gone(connection: Connection, space: int, listed: Listed) -> bool:
    """Whether nothing is left of a conversation. Cost: a few statements if its last turn was erased."""
    # The two ends were read for the list anyway, and settle nearly every case without a statement.
    if listed.last.erased is None:
        return False
    if listed.first.id is not None and listed.first.erased is None:
        return False
    if listed.name is None:
        begins = turn_by_id(connection, space, TurnId(str(listed.start)))
        return begins is not None and not is_living(connection, space, begins.place)
    end = find_bookmark(connection, space, listed.name)
    if end is None:
        return True
    segments = segments_to(connection, space, end)
    if any(erased is None for _, erased in ids_of_ranges(connection, space, segments)):
        return False
    return not _is_left_beside(connection, space, end)


def _is_left_beside(connection: Connection, space: int, end: Place) -> bool:
    """Whether anything is left in the tree of a name that is the only name there. Then no other line of the list would
    show what is left."""
    firsts = [each.place for each in find_firsts(connection, space, end)]
    if not any(is_living(connection, space, each, named=False) for each in firsts):
        return False
    grown = [Segment(chain, low, NEWEST) for _, chain, low in grown_chains(connection, space, firsts, CHAINS_LIMIT)]
    lows = {each.chain: each.low for each in grown}
    names_at = names_of_segments(connection, space, grown)
    return sum(len(names) for place, names in names_at.items() if place.pos >= lows.get(place.chain, NEWEST)) == 1
