"""The order of a walk (rule I7, parents first), computed from links.

Turns are stored in chains: the turns of a chain continue one another, and only a chain's first turn has links. So a
walk is a list of ranges of chains, and ordering it takes one step per fork, not one per turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from headish.database.query import Connection
from headish.rows.threads.walks import read_links_of
from headish.values.places import Place, Segment


def segments_to(connection: Connection, space: int, *ends: Place) -> list[Segment]:
    """The ranges that lead to the ends, in walk order. Cost: one or two statements for one end, else one for each
    ``AT_ONCE`` ends."""
    return arrange(ends, read_links_of(connection, space, ends))


def arrange(ends: Iterable[Place], links: Mapping[int, Sequence[Place]]) -> list[Segment]:
    """The ranges that lead to the ends, in walk order.

    Order: depth first along the links as listed, each turn once, parents before children; several ends count as if
    one turn continued them all. ``links`` maps a chain to the parents of its first turn.
    Cost: linear in the links. Terminates even if damaged links form a circle.
    """
    # A stack of its own: a thread with thousands of forks would exceed Python's recursion limit.
    stack = list(ends)[::-1]
    walked: dict[int, int] = {}
    expanded: set[int] = set()
    segments: list[Segment] = []
    while stack:
        chain, pos = stack[-1]
        low = walked.get(chain, 0)
        # First the chain's parents, then the chain itself, once it is on top again. `expanded` also ends a circle of
        # damaged links.
        if low == 0 and chain not in expanded:
            expanded.add(chain)
            stack.extend(reversed(links.get(chain, ())))
            continue
        stack.pop()
        if low <= pos:
            segments.append(Segment(chain, low, pos))
            walked[chain] = pos + 1
    return segments


def places_of(segments: Iterable[Segment]) -> list[Place]:
    """The place of each turn of a walk."""
    return [Place(chain, pos) for chain, low, high in segments for pos in range(low, high + 1)]


def places_before(place: Place, links: Mapping[int, Sequence[Place]]) -> Sequence[Place]:
    """The parents of the turn at a place; ``links`` are those of its chain."""
    return [Place(place.chain, place.pos - 1)] if place.pos else links.get(place.chain, ())


def last_turns(segments: Sequence[Segment], count: int) -> list[Segment]:
    """The ranges of the last ``count`` turns of a walk, in walk order."""
    last: list[Segment] = []
    for chain, low, high in reversed(segments):
        if count <= 0:
            break
        last.append(Segment(chain, max(low, high - count + 1), high))
        count -= high - low + 1
    return last[::-1]


def without(segments: Iterable[Segment], others: Iterable[Segment]) -> list[Segment]:
    """The ranges of a walk without the turns of another walk."""
    # Every walk that touches a chain contains its beginning, so the highest position reached says all.
    reached: dict[int, int] = {}
    for chain, _, high in others:
        reached[chain] = max(high, reached.get(chain, -1))
    cut = (Segment(chain, max(low, reached.get(chain, -1) + 1), high) for chain, low, high in segments)
    return [segment for segment in cut if segment.low <= segment.high]
