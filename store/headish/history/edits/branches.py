"""Find what an edit affects: the turn, the name that moves along, and the rest of the branch after the turn.

A branch consists of ranges of chains, as a walk does, so finding the rest of a long branch reads only its links.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from headish.database.query import Connection
from headish.errors import CorruptTurn, InvalidArgument
from headish.history.reading.find import find_turn
from headish.history.reading.order import arrange
from headish.rows.bookmarks import find_bookmark
from headish.rows.threads.places import count_continuing, last_of_chains
from headish.rows.threads.ranges import whole_range
from headish.rows.threads.walks import read_links, read_tree_links
from headish.rows.turns import StoredTurn, parent_at
from headish.values.grammar import NEWEST, Headish
from headish.values.ids import TurnId
from headish.values.places import Place, Segment

PORTION = 500
"""The number of rows of a branch that are read at once."""
HEADS_SHOWN = 5


class Target(NamedTuple):
    """The turn to edit. ``name`` is the bookmark that its headish begins with, ``tip`` the place where it points."""

    turn: StoredTurn
    name: bytes | None
    tip: Place | None


class Rest(NamedTuple):
    """The turns after a turn on a branch: their ranges in walk order, and the links of the chains that lead to the
    end of the branch."""

    segments: list[Segment]
    links: Mapping[int, Sequence[Place]]

    @property
    def size(self) -> int:
        """The number of turns."""
        return sum(high - low + 1 for _, low, high in self.segments)


def find_target(connection: Connection, space: int, headish: Headish) -> Target:
    """The turn that a headish names, and the bookmark whose branch is meant: that of ``NAME`` and ``NAME~n``.

    An id, ``@`` and a past position (``NAME@{1}``) mean no bookmark's branch. Raises: UnknownTurn, Ambiguous.
    """
    turn = find_turn(connection, space, headish)
    if headish.name is None or headish.name == NEWEST or headish.past is not None:
        return Target(turn, None, None)
    name = headish.name.encode()
    tip = find_bookmark(connection, space, name)
    return Target(turn, None if tip is None else name, tip)


def find_rest(connection: Connection, space: int, target: Target) -> Rest:
    """The turns after the edited one up to the end of its branch, in walk order.

    On a bookmark's branch these are the turns of its thread that the turn leads to. Without a bookmark they are all
    that grew from the turn, which must have a single end.
    Cost: three statements; without a bookmark two more, and one or two for each chain that grew from the turn.
    Raises: InvalidArgument if several branches follow.
    """
    start = target.turn.place
    tip = _only_end(connection, space, target.turn) if target.tip is None else target.tip
    links = read_links(connection, space, tip)
    return Rest(list(_behind(start, arrange([tip], links), links)), links)


def read_rest(connection: Connection, space: int, rest: Rest) -> Iterator[StoredTurn]:
    """The turns of a rest, read lazily. Raises: CorruptTurn if one is missing."""
    for chain, first, last in rest.segments:
        for low in range(first, last + 1, PORTION):
            portion = Segment(chain, low, min(last, low + PORTION - 1))
            # An edit that skipped a missing turn would copy a branch that nobody wrote.
            yield from whole_range(connection, space, portion)


def _behind(start: Place, segments: Sequence[Segment], links: Mapping[int, Sequence[Place]]) -> Iterator[Segment]:
    """The parts of the ranges that grew from a place, without the place itself.

    The turns of a chain continue one another, so in each chain these are the turns from some position on: ``begins``
    has it.
    """
    begins = {start.chain: start.pos}
    for chain, low, high in segments:
        if chain not in begins and any(_is_from(parent, begins) for parent in links.get(chain, ())):
            begins[chain] = 0
        if chain in begins:
            first = max(low, begins[chain] + (chain == start.chain))
            if first <= high:
                yield Segment(chain, first, high)


def _is_from(parent: Place, begins: Mapping[int, int]) -> bool:
    return parent.chain in begins and parent.pos >= begins[parent.chain]


def _only_end(connection: Connection, space: int, turn: StoredTurn) -> Place:
    """The only end of what grew from a turn. Raises: InvalidArgument if there are several."""
    ends = _ends(connection, space, turn.place)
    if len(ends) == 1:
        return ends[0]
    ids = [_id_at(connection, space, place) for place in ends[:HEADS_SHOWN]]
    more = " …" if len(ends) > HEADS_SHOWN else ""
    raise InvalidArgument(
        f"{len(ends)} branches follow turn {turn.id}, and only one can be kept: set a bookmark to the end of one"
        f" ({', '.join(ids)}{more}), and edit NAME~n"
    )


def _ends(connection: Connection, space: int, start: Place) -> list[Place]:
    """The turns that grew from a place and that nothing continues, by place.

    Cost: three statements, and two more for each further 1,024 branches.
    """
    grown = {start.chain: start.pos}
    # In ascending order, because a chain has a higher number than the chains that it continues.
    links = read_tree_links(connection, space, start)
    for chain in sorted(links):
        if any(_is_from(parent, grown) for parent in links[chain]):
            grown[chain] = 0
    last = last_of_chains(connection, space, grown)
    counts = count_continuing(connection, space, last)
    return [place for place in last if not counts.get(place)]


def _id_at(connection: Connection, space: int, place: Place) -> TurnId:
    found = parent_at(connection, space, place)
    if found is None:
        raise CorruptTurn(f"{place.chain}/{place.pos}", "it is missing")
    return found.id
