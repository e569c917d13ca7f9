"""Find the turns that may be erased: those that lead to nothing that stays. The caller has locked the space."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import starmap, takewhile

from headish.database.query import Connection
from headish.history.reading.order import arrange
from headish.rows.bookmarks import ALL
from headish.rows.conversations import names_in
from headish.rows.threads.listings import children
from headish.rows.threads.names import names_of_segments
from headish.rows.threads.ranges import turns_of_ranges
from headish.rows.threads.walks import read_links_of
from headish.rows.turns import StoredTurn
from headish.rows.upkeep.erasures import is_living, names_logged
from headish.rows.upkeep.receipts import named_by_erasures
from headish.values.places import Place, Segment


def free_turns(
    connection: Connection, space: int, ends: Sequence[Place], keepers: Sequence[Place], own: bytes | None
) -> list[Place]:
    """Find the turns that lead to ``ends`` and to nothing else: not to ``keepers``, another branch, or a current or
    former position of a name other than ``own``.

    Cost: two statements for each turn.
    """
    going = _turns_leading(connection, space, ends)
    for place in _turns_leading(connection, space, keepers):
        going.pop(place, None)
    stays: set[Place] = set()
    named = _foreign_names(connection, space, going.keys(), own)
    # Newest first: what continues a turn was stored later, so it is decided by then.
    for place, _ in sorted(going.items(), key=lambda each: each[1].seq, reverse=True):
        after = [each.place for each in children(connection, space, place, after=0, limit=ALL)]
        others = [each for each in after if each not in going]
        if place in named or not stays.isdisjoint(after) or any(is_living(connection, space, each) for each in others):
            stays.add(place)
    return [place for place in going if place not in stays]


def free_end(connection: Connection, space: int, places: Sequence[Place], name: bytes) -> list[Place]:
    """The last turns of a name that nothing else needs, newest first.

    Stops at the first turn that is also part of another name's thread, of a former position of another name, or of a
    branch that never belonged to this name.
    """
    return [*takewhile(lambda each: not _leads_on(connection, space, each, name), places)]


def _turns_leading(connection: Connection, space: int, ends: Sequence[Place]) -> dict[Place, StoredTurn]:
    if not ends:
        return {}
    segments = arrange(ends, read_links_of(connection, space, ends))
    return {turn.place: turn for turns in turns_of_ranges(connection, space, segments) for turn in turns}


def _foreign_names(connection: Connection, space: int, places: Collection[Place], own: bytes | None) -> set[Place]:
    """The places that a name other than ``own`` points to, or once pointed to."""
    tops: dict[int, int] = {}
    for chain, pos in places:
        tops[chain] = max(pos, tops.get(chain, -1))
    now = names_of_segments(connection, space, [Segment(chain, 0, top) for chain, top in tops.items()])
    found = {place for place, names in now.items() if any(name != own for name in names)}
    logged = names_logged(connection, space, starmap(Place, tops.items()))
    # An erasure renames a name to ``erased-N``; the log of such a name is no reason for turns to stay.
    gone = named_by_erasures(connection, space, {name for name, _ in logged})
    found |= {place for name, place in logged if name != own and name not in gone}
    return found & set(places)


def _leads_on(connection: Connection, space: int, place: Place, name: bytes) -> bool:
    if any(other != name for other in names_in(connection, space, place, 2)):
        return True
    logged = names_logged(connection, space, [Place(place.chain, ALL)])
    gone = named_by_erasures(connection, space, {name for name, _ in logged})
    logged = [each for each in logged if each[0] not in gone]
    if any(other != name and at.pos >= place.pos for other, at in logged):
        return True
    reached = max((at.pos for other, at in logged if other == name), default=-1)
    return any(
        not (each.chain == place.chain and each.pos <= reached) and is_living(connection, space, each.place)
        for each in children(connection, space, place, after=0, limit=ALL)
    )
