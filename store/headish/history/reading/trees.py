"""Trees: a thread with all its branches, as values that can be drawn; and stretches of a single thread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, starmap
from typing import NamedTuple

from msgspec.structs import astuple

from headish.database.query import Connection
from headish.errors import UnknownTurn
from headish.history.reading.decode import read_attributes, read_blocks, read_mapping, whole_parents
from headish.history.reading.order import arrange, places_before, places_of
from headish.history.reading.versions import (
    Version,
    VersionLink,
    find_firsts,
    hidden_in,
    number_tree,
    number_versions,
    outgrown_among,
    outgrown_by,
)
from headish.history.reading.walk import (
    missing,
    prove_turn,
    read_checked,
    superseded_of,
    walk_backwards,
    walk_part,
    walk_tree,
)
from headish.rows.conversations import newest_in
from headish.rows.threads.forks import parents_at
from headish.rows.threads.names import names_of_segments, names_of_tree
from headish.rows.threads.places import count_continuing, grown_from, parents_of_turns
from headish.rows.threads.walks import PlacedTurn, Walked, read_links
from headish.rows.turns import turn_at, turn_by_id
from headish.values.blocks import Erased
from headish.values.ids import TurnId
from headish.values.names import stored_name
from headish.values.places import Place, Segment
from headish.values.results.threads import Stretch
from headish.values.turns import TreeTurn, reply_of, said_of

_NO_LIMIT = 2**31
Names = dict[Place, list[bytes]]
"""The names at each place."""


def read_whole_tree(connection: Connection, space: int, place: Place, *, halves: bool = False) -> list[TreeTurn]:
    """All turns of the tree that a place belongs to, with their names, in commit order; with ``halves``, halves of
    answers that grew later, too.

    Cost: three statements, and three more for each tree of another root that it joins.
    Raises: CorruptTurn.
    """
    tree = walk_tree(connection, space, place)
    names: Names = {}
    for joined in tree.joined:
        names |= names_of_tree(connection, space, joined)
    ids = {each.place: each.id for each in tree.turns}
    continues = {each.id: _continues(each, tree.links, ids) for each in tree.turns}
    outgrown = set() if halves else {half for each in tree.turns if (half := outgrown_by(each)) is not None}
    turns = _without_halves(tree.turns, continues, outgrown)
    return _build(turns, continues, names, {}, number_tree(turns, continues))


def read_part(connection: Connection, space: int, place: Place, limit: int, *, halves: bool = False) -> list[TreeTurn]:
    """The part of a tree that ``walk_part`` selects, with the names of its turns, in commit order.

    Cost: that of ``walk_part`` and ``draw_part``, and a statement for each ``AT_ONCE`` turns. Raises: CorruptTurn.
    """
    return _draw_walked(connection, space, walk_part(connection, space, place, limit), halves)


def draw_part(
    connection: Connection,
    space: int,
    walked: Sequence[PlacedTurn],
    continues: dict[TurnId, tuple[TurnId, ...]],
    *,
    halves: bool = False,
    links: Mapping[int, Sequence[Place]] | None = None,
) -> list[TreeTurn]:
    """Draw the given turns as a part of a tree, with their names, in the given order. ``links`` are those of their
    chains, if the caller has read them.

    Cost: two statements for each ``AT_ONCE`` turns, and those of ``number_versions``. Raises: CorruptTurn.
    """
    places = [each.place for each in walked]
    counts = count_continuing(connection, space, places)
    names = names_of_segments(connection, space, [Segment(chain, pos, pos) for chain, pos in places])
    outgrown = set() if halves else outgrown_among(connection, space, continues)
    shown = _without_halves(walked, continues, outgrown)
    places_of = {each.id: each.place for each in shown}
    # The database counts hidden halves, too: without this a reader would be told of more turns than any list shows.
    for left_out in continues.keys() - places_of.keys():
        for parent in (places_of[each] for each in continues[left_out] if each in places_of):
            counts[parent] -= 1
    return _build(shown, continues, names, counts, _number(connection, space, shown, links))


def read_conversation_part(
    connection: Connection, space: int, place: Place, limit: int, *, halves: bool = False
) -> list[TreeTurn] | None:
    """The conversation that a place belongs to, as a part of its tree: the turns that lead to its first turn, and all
    that grew from it, without other conversations that begin with the same system turns. In commit order.

    None if it does not begin with a system turn (then the whole tree is this conversation), or has more turns than
    ``limit``.
    Cost: that of ``find_firsts``; one statement for each version of the first turn, two or three for what leads to it,
    and that of ``draw_part``. Raises: CorruptTurn.
    """
    firsts = find_firsts(connection, space, place)
    if not any(parents_at(connection, space, [each.place for each in firsts]).values()):
        return None
    grown = dict.fromkeys(each for first in firsts for each in grown_from(connection, space, first.place, limit + 1))
    if len(grown) > limit:
        return None
    walked = [each.place for each in islice(walk_backwards(connection, space, list(grown)), limit + 1)]
    if len(walked) > limit:
        return None
    part = sorted(read_checked(connection, space, walked), key=lambda each: each.seq)
    return _draw_walked(connection, space, part, halves)


def read_conversation_tree(connection: Connection, space: int, place: Place) -> list[TreeTurn]:
    """Like ``read_whole_tree``, without other conversations that begin with the same system turns."""
    part = read_conversation_part(connection, space, place, _NO_LIMIT)
    return read_whole_tree(connection, space, place) if part is None else part


def _draw_walked(connection: Connection, space: int, walked: Sequence[PlacedTurn], halves: bool) -> list[TreeTurn]:
    parents = parents_of_turns(connection, space, [each.place for each in walked])
    continues = {each.id: whole_parents(each.id, parents.get(each.place, ())) for each in walked}
    return draw_part(connection, space, walked, continues, halves=halves)


class StretchRead(NamedTuple):
    """A stretch, the digests of its turns in hex, and the ranges of the walk in which overlays may cover one of
    them."""

    stretch: Stretch
    digests: frozenset[str]
    onwards: list[Segment]


def read_stretch(
    connection: Connection,
    space: int,
    end: Place,
    limit: int,
    *,
    around: tuple[TurnId, Place] | None = None,
    start: int | None = None,
    links: Mapping[int, Sequence[Place]] | None = None,
    beside: bool = True,
) -> StretchRead:
    """``limit`` turns of the walk to ``end``, in its order: from ``start`` on, with ``around`` in the middle, or the
    last ones. ``links`` is the result of ``read_links``, if the caller has it. With ``beside`` the turns have their
    names and the number of other turns that continue them.

    Every payload and every digest is verified.
    Cost: one or two statements for the links, and about ten for each ``AT_ONCE`` turns, however long the thread.
    Raises: UnknownTurn if ``around`` is not in the thread; CorruptTurn.
    """
    links = read_links(connection, space, end) if links is None else links
    segments = arrange([end], links)
    total = sum(high - low + 1 for _, low, high in segments)
    first = min(total, start) if start is not None else max(0, total - limit)
    if around is not None:
        first = min(first, max(0, _index_of(segments, *around) - limit // 2))
    places = _places_of(segments, first, limit)
    parents = {place: places_before(place, links) for place in places}
    turns = _read_proven(connection, space, parents)
    continues = {turns[place].id: tuple(turns[each].id for each in listed) for place, listed in parents.items()}
    shown = [turns[place] for place in places]
    if beside:
        drawn = draw_part(connection, space, shown, continues, halves=True, links=links)
    else:
        drawn = _build(shown, continues, {}, {}, _number(connection, space, shown, links))
    # ``end`` has been read already unless the stretch stops before it.
    last = turns.get(end) or turn_at(connection, space, end)
    if last is None:
        raise missing(end)
    # An overlay comes after everything that it covers, so earlier ranges need no look. But after a merge, a turn with
    # the digest of a covered one may come after the overlay: then the whole walk counts.
    is_merged = any(len(listed) > 1 for listed in links.values())
    onwards = segments if is_merged else _without_first(segments, first)
    digests = frozenset(each.digest.hex() for each in shown)
    return StretchRead(Stretch(tuple(drawn), first, total, last.id), digests, onwards)


def newest_end(connection: Connection, space: int, place: Place) -> Place:
    """The end of the newest branch after a place; the place itself if nothing continues it.

    Cost: two statements, which take one step for each fork after the place.
    """
    # Not the highest id: the older branch may have grown last, and turns from another store keep their ids.
    newest = newest_in(connection, space, place)
    turn = None if newest is None else turn_by_id(connection, space, newest)
    return place if turn is None else turn.place


def _index_of(segments: Iterable[Segment], turn_id: TurnId, place: Place) -> int:
    before = 0
    for chain, low, high in segments:
        if chain == place.chain and low <= place.pos <= high:
            return before + place.pos - low
        before += high - low + 1
    raise UnknownTurn(turn_id, "it is not in this thread")


def _places_of(segments: Iterable[Segment], start: int, limit: int) -> list[Place]:
    """At most ``limit`` places of a walk, from index ``start`` on."""
    places: list[Place] = []
    for chain, low, high in segments:
        length = high - low + 1
        if start < length and len(places) < limit:
            last = min(high, low + start + limit - len(places) - 1)
            places += [Place(chain, pos) for pos in range(low + start, last + 1)]
        start = max(0, start - length)
    return places


def _without_first(segments: Iterable[Segment], count: int) -> list[Segment]:
    """The ranges of a walk without its first ``count`` turns."""
    remaining: list[Segment] = []
    for chain, low, high in segments:
        if low + count <= high:
            remaining.append(Segment(chain, low + count, high))
        count = max(0, count - (high - low + 1))
    return remaining


def _read_proven(
    connection: Connection, space: int, parents: Mapping[Place, Sequence[Place]]
) -> dict[Place, PlacedTurn]:
    """The verified turns at places, and the turns that they continue. Raises: CorruptTurn."""
    needed = dict.fromkeys(each for place, listed in parents.items() for each in (place, *listed))
    turns = {each.place: each for each in read_checked(connection, space, needed)}
    for place in needed:
        if place not in turns:
            raise missing(place)
    for place, listed in parents.items():
        # An erased turn may lack data that its digest covers; ``verify`` checks it against its receipt.
        if not isinstance(turns[place].payload, Erased):
            prove_turn(turns[place], tuple(turns[each].digest for each in listed))
    return turns


def build_thread(
    connection: Connection,
    space: int,
    walked: Sequence[Walked],
    end: Place,
    links: dict[int, list[Place]],
    *,
    named: bool,
) -> list[TreeTurn]:
    """Draw the turns of a walk to ``end`` as a tree of their own; with ``named`` they have their names.

    Cost: that of ``number_versions``; with names one more statement for each ``AT_ONCE`` chains. Raises: CorruptTurn.
    """
    segments = arrange([end], links)
    rows = [(*astuple(turn), *place) for turn, place in zip(walked, places_of(segments), strict=True)]
    placed = [*starmap(PlacedTurn, rows)]
    names = names_of_segments(connection, space, segments) if named else {}
    ids = {each.place: each.id for each in placed}
    continues = {each.id: _continues(each, links, ids) for each in placed}
    return _build(placed, continues, names, {}, _number(connection, space, placed, links))


def _without_halves(
    turns: Sequence[PlacedTurn], continues: Mapping[TurnId, Sequence[TurnId]], outgrown: set[TurnId]
) -> Sequence[PlacedTurn]:
    if not outgrown:
        return turns
    hidden = hidden_in([each.id for each in turns], continues, outgrown)
    return [each for each in turns if each.id not in hidden]


def _number(
    connection: Connection, space: int, walked: Sequence[PlacedTurn], links: Mapping[int, Sequence[Place]] | None
) -> dict[TurnId, Version]:
    version_links = [VersionLink(each.id, each.place, superseded_of(each)) for each in walked]
    # A chain without links in its thread is a root: the empty entry spares a look-up.
    known_links = {} if links is None else {each.chain: links.get(each.chain, ()) for each in walked}
    return number_versions(connection, space, version_links, known_links)


def _build(
    walked: Sequence[PlacedTurn],
    continues: dict[TurnId, tuple[TurnId, ...]],
    names: Names,
    counts: dict[Place, int],
    versions: Mapping[TurnId, Version],
) -> list[TreeTurn]:
    """Make the values that callers get, in the given order. Raises: CorruptTurn if a payload does not decode."""
    children: dict[TurnId, list[TurnId]] = {each.id: [] for each in walked}
    for each in walked:
        for parent in continues[each.id]:
            if parent in children:  # a parent may be outside the part that is drawn
                children[parent].append(each.id)
    return [
        TreeTurn(
            id=turn.id,
            role=turn.role or None,
            content=read_blocks(turn, turn.payload),
            continues=continues[turn.id],
            children=tuple(children[turn.id]),
            bookmarks=tuple(stored_name(name) for name in names.get(turn.place, ())),
            attributes=read_attributes(turn),
            reply=reply_of(system),
            said=said_of(system),
            more=max(0, counts.get(turn.place, 0) - len(children[turn.id])),
            version=versions[turn.id].number if turn.id in versions else 1,
            versions=versions[turn.id].of if turn.id in versions else 1,
        )
        for turn, system in ((each, read_mapping(each, "system")) for each in walked)
    ]


def _continues(turn: PlacedTurn, links: dict[int, list[Place]], ids: dict[Place, TurnId]) -> tuple[TurnId, ...]:
    return whole_parents(turn.id, [ids.get(parent) for parent in places_before(turn.place, links)])
