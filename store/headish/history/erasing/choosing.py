"""Choose the turns that an erasure empties: the named ones, their whole threads, or only the turns of their threads
that lead nowhere else."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import starmap
from typing import NamedTuple

from headish.content.encoding import encode_payload
from headish.content.hashes import hash_payload
from headish.database.query import Connection
from headish.history.reading.decode import read_mapping
from headish.history.reading.order import arrange, segments_to
from headish.rows.threads.names import names_of_segments
from headish.rows.threads.places import last_of_chains
from headish.rows.threads.ranges import ids_of_ranges
from headish.rows.threads.walks import read_links_of
from headish.rows.turns import StoredTurn
from headish.rows.upkeep.erasures import (
    Erasable,
    count_defined,
    erasable,
    links_into,
    living_among,
    names_logged,
    places_saying,
)
from headish.rows.upkeep.receipts import named_by_erasures, read_receipt
from headish.values.blocks import Text
from headish.values.ids import TurnId, time_of
from headish.values.limits import INLINE_BYTES
from headish.values.names import stored_name
from headish.values.places import Place, Segment
from headish.values.results.erasures import Kept
from headish.values.times import milliseconds_of
from headish.values.turns import said_of

WORDLESS = frozenset(map(hash_payload, (b"", encode_payload(()), encode_payload((Text(""),)))))
"""The addresses of payloads that say nothing. They are never barred: every overlay without words has such a payload."""
KEPT_SHOWN = 20
"""The most reasons why turns stay that a preview gives."""


class Wish(NamedTuple):
    """What to erase. ``scope`` is ``turn``, ``thread`` or ``branch``; ``said_before`` is in Unix milliseconds.
    ``names`` also erases bookmarks and records of conversations of which nothing is left."""

    scope: str = "turn"
    said_before: int | None = None
    meta: bool = False
    content: bool = False
    repeats: bool = False
    names: bool = False


class Chosen(NamedTuple):
    """The turns to erase, in walk order. ``named`` are all turns that the wish names, ``barring`` those whose content
    will be barred; both include turns that were erased before, which ``already`` counts.

    ``kept_turns`` counts the turns of the thread that stay, ``kept`` gives reasons.
    """

    turns: list[Erasable]
    barring: list[Erasable]
    named: list[Erasable]
    already: int = 0
    kept_turns: int = 0
    kept: tuple[Kept, ...] = ()


def choose(connection: Connection, space: int, ends: Sequence[Place], wish: Wish) -> Chosen:
    """Choose the turns that a wish means. Cost: two statements, and one for each 500 turns; for a branch about ten
    more, which look at each chain.

    Raises: CorruptTurn if a turn of the thread is missing.
    """
    links = read_links_of(connection, space, ends) if wish.scope != "turn" else {}
    segments = [Segment(chain, pos, pos) for chain, pos in ends]
    why: dict[Place, str] = {}
    kept_count = 0
    if wish.scope != "turn":
        segments = arrange(ends, links)
    if wish.scope == "branch":
        why = _reasons_to_stay(connection, space, ends, segments)
        segments, kept_count = _cut(segments, arrange(list(why), links))
    turns = erasable(connection, space, segments)
    if wish.said_before is not None:
        turns = [each for each in turns if said_at(each.turn) < wish.said_before]
    kept_shown = _kept(connection, space, why)
    return sift(connection, space, turns, wish)._replace(kept_turns=kept_count, kept=kept_shown)


def sift(connection: Connection, space: int, found: Sequence[Erasable], wish: Wish) -> Chosen:
    """Keep only those of the turns that still contain something to erase."""
    lost_meta: dict[int, bool] = {}

    def is_done(turn: StoredTurn) -> bool:
        if turn.erased is None:
            return False
        if not wish.meta:
            return True
        if turn.erased not in lost_meta:
            receipt = read_receipt(connection, space, turn.erased)
            lost_meta[turn.erased] = receipt is not None and receipt.meta
        return lost_meta[turn.erased]

    # A bar is for content, so it counts for turns that were emptied before, too: their hashes are still known.
    going = [each for each in found if not is_done(each.turn)]
    barring = [each for each in found if wish.content and each.turn.hash not in WORDLESS]
    return Chosen(going, barring, list(found), already=len(found) - len(going))


def with_equals(connection: Connection, space: int, chosen: Chosen) -> Chosen:
    """Add the turns with equal payloads if content is to be barred, because barred content goes everywhere.

    Cost: as ``places_saying``, and one statement for each 500 of them.
    """
    if not chosen.barring:
        return chosen
    chosen_places = {each.turn.place for each in chosen.turns}
    equal = places_saying(connection, space, [each.turn.hash for each in chosen.barring])
    more = [Segment(place.chain, place.pos, place.pos) for place, _ in equal if place not in chosen_places]
    sized = erasable(connection, space, more)
    return chosen._replace(turns=[*chosen.turns, *sized], barring=[*chosen.barring, *sized])


def barrable(connection: Connection, space: int, bars: Mapping[bytes, int]) -> dict[bytes, int]:
    """Of hashes to bar, with the sizes of their payloads, those that may be: not what says nothing, and not the large
    payload of a definition, which would lose its value. Cost: one statement for each 64 large payloads."""
    defined = count_defined(connection, space, [hash for hash, size in bars.items() if size > INLINE_BYTES])
    return {hash: size for hash, size in bars.items() if hash not in defined and hash not in WORDLESS}


def names_gone(
    connection: Connection, space: int, ends: Sequence[Place], chosen: Chosen, wish: Wish
) -> tuple[str, ...]:
    """The bookmarks whose conversations go: no turn that leads to them is left, or only turns that other branches need
    (scope ``branch``). Cost: a walk for each bookmark at the turns."""
    going = {each.turn.id for each in chosen.turns}
    places = {each.turn.place for each in chosen.named}
    names_at = names_of_segments(connection, space, [Segment(chain, pos, pos) for chain, pos in places])
    gone: set[str] = set()
    for place in places & names_at.keys():
        is_own = wish.scope == "branch" and wish.said_before is None and place in ends
        if is_own or _is_whole(connection, space, place, going):
            gone.update(map(stored_name, names_at[place]))
    return tuple(sorted(gone))


def names_without_turns(connection: Connection, space: int, places: Collection[Place]) -> list[bytes]:
    """The bookmarks at places whose whole threads are erased, in order. Cost: a walk for each."""
    names_at = names_of_segments(connection, space, [Segment(chain, pos, pos) for chain, pos in places])
    gone = (names_at[place] for place in set(places) & names_at.keys() if _is_whole(connection, space, place, ()))
    return sorted({name for names in gone for name in names})


def _is_whole(connection: Connection, space: int, place: Place, going: Collection[TurnId]) -> bool:
    """Whether every turn that leads to a place is erased, or will be (``going``)."""
    segments = segments_to(connection, space, place)
    return all(erased is not None or id in going for id, erased in ids_of_ranges(connection, space, segments))


def said_at(turn: StoredTurn) -> int:
    """The time when a turn was said, in Unix milliseconds; without one, the time when it was stored."""
    milliseconds = said_of(read_mapping(turn, "system"))
    return milliseconds_of(time_of(turn.id)) if milliseconds is None else milliseconds


def _reasons_to_stay(
    connection: Connection, space: int, ends: Sequence[Place], segments: Sequence[Segment]
) -> dict[Place, str]:
    """The turns of a thread that something else needs, each with the reason: another branch, a bookmark, or a past
    position of a bookmark. These are no reasons: past positions of the bookmarks at the ends, past positions of erased
    names, and branches of which nothing is left.
    """
    tops: dict[int, int] = {}
    for chain, _, high in segments:
        tops[chain] = max(high, tops.get(chain, -1))
    own = {
        name
        for place, names in names_of_segments(connection, space, [Segment(c, p, p) for c, p in ends]).items()
        if place in ends
        for name in names
    }
    why: dict[Place, str] = {}
    logged = names_logged(connection, space, starmap(Place, tops.items()))
    gone = named_by_erasures(connection, space, {name for name, _ in logged})
    for name, place in logged:
        if name not in own | gone:
            # Otherwise ``undo`` would move that name back to an erased turn.
            why[place] = f"the history of the bookmark {stored_name(name)} leads there"
    why |= _continued(connection, space, tops)
    now = names_of_segments(connection, space, [Segment(chain, 0, top) for chain, top in tops.items()])
    for place, names in now.items():
        others = [stored_name(name) for name in names if name not in own]
        if others and place.pos <= tops.get(place.chain, -1):
            why[place] = f"the bookmark {others[0]} points there"
    return why


def _continued(connection: Connection, space: int, tops: Mapping[int, int]) -> dict[Place, str]:
    """The turns of chains, up to ``tops``, that a turn outside of them continues, with the reasons. Branches that are
    erased already do not count."""
    links = links_into(connection, space, starmap(Place, tops.items()))
    branches = [(place, Place(child, 0)) for place, child in links if child not in tops]
    onward = [
        (Place(chain, tops[chain]), Place(chain, tops[chain] + 1))
        for chain, last in last_of_chains(connection, space, tops)
        if last > tops[chain]
    ]
    living = living_among(connection, space, [child for _, child in (*branches, *onward)])
    why = {place: "another branch continues it" for place, child in branches if child in living}
    return why | {place: "another turn continues it" for place, child in onward if child in living}


def _cut(segments: Sequence[Segment], kept: Iterable[Segment]) -> tuple[list[Segment], int]:
    """The ranges without what is kept, and the number of turns that are kept."""
    # A kept turn keeps everything that leads to it, so of each chain its beginning stays.
    below: dict[int, int] = {}
    for chain, _, high in kept:
        below[chain] = max(high + 1, below.get(chain, 0))
    remaining = [Segment(chain, max(low, below.get(chain, 0)), high) for chain, low, high in segments]
    going = [each for each in remaining if each.low <= each.high]
    total = sum(high - low + 1 for _, low, high in segments)
    return going, total - sum(high - low + 1 for _, low, high in going)


def _kept(connection: Connection, space: int, why: Mapping[Place, str]) -> tuple[Kept, ...]:
    # A thread with a thousand branches has a thousand reasons: a preview must stay readable.
    places = sorted(why, reverse=True)[:KEPT_SHOWN]
    turns = erasable(connection, space, [Segment(chain, pos, pos) for chain, pos in places])
    return tuple(Kept(each.turn.id, why[each.turn.place]) for each in turns)
