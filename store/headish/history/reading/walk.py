"""Walk threads: the turns that lead to a turn, each once, parents before children, depth first along ``continues``
(rule I7, parents first)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from headish.content.hashes import begin_digest, digest_from, hash_payload
from headish.database.query import Connection, Row
from headish.errors import CorruptTurn
from headish.history.reading.decode import (
    Resolver,
    complete_turns,
    read_attributes,
    read_blocks,
    read_cached,
    read_mapping,
)
from headish.history.reading.order import arrange, last_turns, segments_to
from headish.history.reading.verified import PROVEN
from headish.rows.keys import superseding_some
from headish.rows.threads.places import AT_ONCE, grown_from
from headish.rows.threads.ranges import Whole, check_gapless, read_ranges, turns_of_ranges, whole_range
from headish.rows.threads.walks import (
    Chains,
    PlacedTurn,
    Walked,
    read_inherited,
    read_links_of,
    read_places,
    read_thread,
    read_threads,
    read_tree,
    read_tree_links,
)
from headish.rows.turns import StoredTurn, links_of, turn_by_id
from headish.values.blocks import Erased
from headish.values.ids import TurnId, as_turn_id
from headish.values.messages import Message
from headish.values.places import Place, Segment
from headish.values.turns import BLOCKS_TYPE, DOCUMENT, Turn

W = TypeVar("W", bound=Walked)


def walk(
    connection: Connection, space: int, ends: Sequence[Place], links: Mapping[int, Sequence[Place]] | None = None
) -> list[Walked]:
    """The turns that lead to the ends, in walk order; several ends count as if one turn continued them all.
    ``links`` is the result of ``read_links_of`` for the ends, if the caller has it.

    Cost: two statements, three if the thread has forks, however long it is; several ends take two per ``LOOKED_UP``
    ends, and turns that they share are read once. The database takes one step per fork.
    Raises: CorruptTurn if a payload disagrees with its address or a turn of the thread is missing.
    """
    ends = list(dict.fromkeys(ends))
    if links is None:
        links = read_links_of(connection, space, ends)
    if len(ends) == 1:
        # Without links the thread is one chain: a range read, which needs no recursion.
        threads: Iterable[Chains] = [read_thread(connection, space, ends[0], linear=not links)]
    else:
        threads = read_threads(connection, space, ends)
    chains: Chains = {}
    for chain, members in (each for thread in threads for each in thread.items()):
        # Two statements may bring parts of one chain, for ends at different positions: the longer part contains the
        # other.
        if len(members) > len(chains.get(chain, ())):
            chains[chain] = _marked(connection, space, members, partial(Place, chain))
    segments = arrange(ends, links)
    walked = [each for segment in segments for each in _cut(chains, segment)]
    prove(chains, segments, links)
    return walked


def prove(
    chains: Mapping[int, Sequence[Walked]], segments: Iterable[Segment], links: Mapping[int, Sequence[Place]]
) -> None:
    """Verify the turns: hash each payload, and derive each digest again. This proves that role, attributes, payload and
    links are as they were stored.

    Cost: two BLAKE3 per turn; for a turn that this process has verified before, one comparison of its whole row.
    Raises: CorruptTurn.
    """
    proven: dict[bytes, tuple[Walked, tuple[bytes, ...]]] = {}
    size_bytes = 0
    for chain, low, high in segments:
        members = chains[chain]
        # A range that does not begin a chain follows the turn before it; that turn is in an earlier range of the walk.
        if low:
            parents: tuple[bytes, ...] = (members[low - 1].digest,)
        else:
            parents = tuple(chains[parent.chain][parent.pos].digest for parent in links.get(chain, ()))
        turns = members[low : high + 1]
        for turn, remembered in zip(turns, PROVEN.get_all([turn.digest for turn in turns]), strict=True):
            # An erased turn may lack data that its digest covers; ``verify`` checks it against its receipt.
            if remembered != (turn, parents) and not isinstance(turn.payload, Erased):
                prove_turn(turn, parents)
                proven[turn.digest] = (turn, parents)
                size_bytes += len(turn.payload)
            parents = (turn.digest,)
    PROVEN.put_all(proven, size_bytes)


def prove_turn(turn: Walked, parents: tuple[bytes, ...]) -> None:
    """Compare a turn's payload with its hash, and its digest with what it covers. Raises: CorruptTurn."""
    if hash_payload(turn.payload) != turn.hash:  # type: ignore[arg-type]  # nothing was erased of it
        raise CorruptTurn(turn.id, "its payload disagrees with its hash")
    beginning = begin_digest(
        turn.role, turn.type, turn.content_type or BLOCKS_TYPE, _document_name(turn) if turn.type else None
    )
    if digest_from(beginning, turn.attributes or b"", turn.hash, parents) != turn.digest:
        raise CorruptTurn(turn.id, "its role, attributes, payload or links are not those of its digest")


def _document_name(turn: Walked) -> str | None:
    if turn.type != DOCUMENT or turn.system is None:
        return None
    return read_mapping(turn, "system").get("document_name")


def walk_backwards(connection: Connection, space: int, ends: Sequence[Place]) -> Iterator[StoredTurn]:
    """The turns of a walk to the ends, last first, without payloads.

    Reads lazily, in portions that grow.
    """
    yield from read_backwards(connection, space, segments_to(connection, space, *ends))


def read_backwards(connection: Connection, space: int, segments: Sequence[Segment]) -> Iterator[StoredTurn]:
    """The turns of ranges, last first, without payloads. Reads lazily, in portions that grow."""
    for portion in _growing_portions(segments):
        for segment, turns in zip(portion, turns_of_ranges(connection, space, portion), strict=True):
            check_gapless(segment, turns)
            yield from reversed(turns)


def _growing_portions(segments: Sequence[Segment]) -> Iterator[list[Segment]]:
    """Cut the ranges, last first, into portions of a growing number of turns, and at most ``AT_ONCE`` ranges each."""
    room = size = _FIRST_PORTION
    portion: list[Segment] = []
    for chain, low, high in reversed(segments):
        while high >= low:
            piece = Segment(chain, max(low, high - room + 1), high)
            portion.append(piece)
            room, high = room - (piece.high - piece.low + 1), piece.low - 1
            if room <= 0 or len(portion) == AT_ONCE:
                yield portion
                room = size = min(4 * size, _LARGEST_PORTION)
                portion = []
    if portion:
        yield portion


def walk_inherited(connection: Connection, space: int, ends: Sequence[Place]) -> list[tuple[str, bytes]]:
    """``(turn id, inherited)`` of the turns that set options on the way to the ends, in walk order.

    Cost: one statement if no turn sets options, else two or three, all over the sparse index; several ends take two per
    ``AT_ONCE`` ends.
    """
    ends = list(dict.fromkeys(ends))
    # The links are read only if some turn sets options: most threads have none.
    rows = read_inherited(connection, space, ends)
    return order_inherited(ends, read_links_of(connection, space, ends), rows) if rows else []


def order_inherited(
    ends: Sequence[Place], links: Mapping[int, Sequence[Place]], rows: Iterable[Row]
) -> list[tuple[str, bytes]]:
    """Order the rows of ``read_inherited`` as ``walk_inherited`` does; ``links`` are those of the same ends."""
    by_chain: dict[int, dict[int, tuple[str, bytes]]] = {}
    for chain, pos, turn_id, inherited in rows:
        by_chain.setdefault(chain, {})[pos] = (turn_id, inherited)
    positions = {chain: sorted(members) for chain, members in by_chain.items()}
    return [
        by_chain[chain][pos]
        for chain, low, high in arrange(ends, links)
        for pos in _between(positions.get(chain, []), low, high)
    ]


class WalkedTree(msgspec.Struct, frozen=True, gc=False):
    """All turns of a tree in commit order, the links of its chains, and one place in each tree that it joins."""

    turns: list[PlacedTurn]
    links: dict[int, list[Place]]
    joined: list[Place]


def walk_tree(connection: Connection, space: int, place: Place) -> WalkedTree:
    """The tree that a place belongs to, with the trees that it joins, and the trees of other versions of its roots.

    Cost: three statements, and three more for each further tree.
    Raises: CorruptTurn.
    """
    links: dict[int, list[Place]] = {}
    walked: dict[Place, PlacedTurn] = {}
    places: list[Place] = []
    joined: Place | None = place
    while joined is not None:
        places.append(joined)
        links |= read_tree_links(connection, space, joined)
        turns = _checked(connection, space, read_tree(connection, space, joined))
        before = len(walked)
        walked |= {each.place: each for each in turns}
        # Without this a link to a missing turn would be followed forever.
        if len(walked) == before:
            raise CorruptTurn(f"{joined.chain}/{joined.pos}", "a turn that others continue is missing")
        joined = next((parent for parents in links.values() for parent in parents if parent not in walked), None)
        # Only when no link is left to follow: each other root costs three statements more.
        joined = joined or _other_root(connection, space, walked, links)
    return WalkedTree(sorted(walked.values(), key=lambda each: each.seq), links, places)


def _other_root(
    connection: Connection, space: int, walked: Mapping[Place, PlacedTurn], links: Mapping[int, Sequence[Place]]
) -> Place | None:
    """A turn not walked yet that supersedes one of the roots, or that a root supersedes; None if there is none. An
    edited first message is a version of the original, so both belong to one tree."""
    roots = [each for place, each in walked.items() if place.pos == 0 and place.chain not in links]
    places = [each.place for each in superseding_some(connection, space, [root.id for root in roots])]
    for root in roots:
        older = superseded_of(root)
        turn = None if older is None else turn_by_id(connection, space, older)
        places += [] if turn is None else [turn.place]
    return next((place for place in places if place not in walked), None)


def superseded_of(turn: Walked) -> TurnId | None:
    """The turn that ``turn`` supersedes, as its sealed ``system`` says."""
    # Most turns supersede nothing: the search for the key saves decoding the JSON of a whole tree.
    if turn.system is None or b'"supersedes"' not in turn.system:
        return None
    superseded = read_mapping(turn, "system").get("supersedes")
    return as_turn_id(superseded) if isinstance(superseded, str) else None


def walk_part(connection: Connection, space: int, place: Place, limit: int) -> list[PlacedTurn]:
    """At most ``limit`` turns of the tree around a place, in commit order.

    Up to half of them lead to the place (the last of its walk); the rest grew from it, the nearest first.
    Cost: three statements, and one for each ``AT_ONCE`` turns; the database takes one step for each fork on the way to
    the place.
    Raises: CorruptTurn.
    """
    leading = [each.place for each in islice(walk_backwards(connection, space, [place]), max(1, limit // 2))]
    grown = grown_from(connection, space, place, limit - len(leading) + 1)
    return sorted(read_checked(connection, space, [*leading, *grown]), key=lambda each: each.seq)


def read_checked(connection: Connection, space: int, places: Iterable[Place]) -> list[PlacedTurn]:
    """The turns at places, in no particular order, each payload checked against its hash. Cost: one statement for each
    ``AT_ONCE`` places. Raises: CorruptTurn."""
    return _checked(connection, space, read_places(connection, space, places))


def walk_first_parents(connection: Connection, space: int, place: Place) -> Iterator[StoredTurn]:
    """The turn at a place, then its first parent, and so on to the root. Reads lazily, in portions that grow."""
    at: Place | None = place
    size = _FIRST_PORTION
    while at is not None:
        portion = Segment(at.chain, max(0, at.pos - size + 1), at.pos)
        yield from reversed(whole_range(connection, space, portion))
        parents = links_of(connection, space, at.chain) if portion.low == 0 else [Place(at.chain, portion.low - 1)]
        at, size = (parents[0] if parents else None), min(4 * size, _LARGEST_PORTION)


def walk_messages(
    connection: Connection, space: int, end: Place, limit: int | None, resolve_options: Resolver
) -> list[tuple[Turn, Message]]:
    """The last ``limit`` turns of a walk (all if None), in walk order, each with its whole message.

    Cost: one or two statements for the links, one for each ``AT_ONCE`` chains read, and one for the parents of each
    ``AT_ONCE`` turns.
    Raises: CorruptTurn.
    """
    segments = segments_to(connection, space, end)
    segments = segments if limit is None else last_turns(segments, limit)
    wholes = [
        whole
        for segment, members in zip(segments, read_ranges(connection, space, segments), strict=True)
        for whole in _checked_range(connection, space, segment, members)
    ]
    turns = complete_turns(connection, space, [whole.turn for whole in wholes], resolve_options)
    return [(turn, _message(whole)) for turn, whole in zip(turns, wholes, strict=True)]


def leads_to(connection: Connection, space: int, place: Place, end: Place) -> bool:
    """Whether the turn at ``place`` leads to ``end``, or is the same turn. Cost: at most two statements."""
    if place.chain == end.chain:
        return place.pos <= end.pos
    segments = segments_to(connection, space, end)
    return any(each.chain == place.chain and each.high >= place.pos for each in segments)


# Most readers stop after a screen of turns; for those that read on, each portion is four times as large. The largest
# bounds the memory of a reader of a long thread: even without payloads, rows may be long.
_FIRST_PORTION, _LARGEST_PORTION = 16, 512


def _cut(chains: Chains, segment: Segment) -> list[Walked]:
    chain, low, high = segment
    members = chains.get(chain, [])
    # A chain is read as far as one of the ranges reaches, so with a gap it is too short for that one.
    if len(members) <= high:
        raise missing(Place(chain, high))
    return members[low : high + 1]


def missing(place: Place) -> CorruptTurn:
    return CorruptTurn(f"{place.chain}/{place.pos}", "it or one before it in its chain is missing")


def _checked(connection: Connection, space: int, turns: list[PlacedTurn]) -> list[PlacedTurn]:
    """Check each payload against its hash, and put the mark of its erasure where one was erased.

    Raises: CorruptTurn.
    """
    for turn in turns:
        if turn.payload is not None and hash_payload(turn.payload) != turn.hash:  # type: ignore[arg-type]  # no marks yet
            raise CorruptTurn(turn.id, "its payload disagrees with its hash")
    return _marked(connection, space, turns, lambda index: turns[index].place)


def _marked(connection: Connection, space: int, turns: list[W], place_at: Callable[[int], Place]) -> list[W]:
    """Put the mark of its erasure in place of each missing payload. Raises: CorruptTurn if it was not erased."""
    empty = [index for index, turn in enumerate(turns) if turn.payload is None]
    marks = _erased_at(connection, space, [*map(place_at, empty)])
    for index in empty:
        turns[index] = replace(turns[index], payload=_mark(marks, place_at(index), turns[index].id))
    return turns


def _erased_at(connection: Connection, space: int, empty: Sequence[Place]) -> Mapping[Place, Erased]:
    """The marks of erasures at the places of missing payloads. Cost: nothing if ``empty`` is."""
    if not empty:
        return {}
    from headish.rows.upkeep.receipts import erased_at  # late: most threads have nothing erased

    return erased_at(connection, space, empty)


def _mark(marks: Mapping[Place, Erased], place: Place, turn_id: str) -> Erased:
    """The mark at a place. Raises: CorruptTurn if the payload is missing, but was not erased."""
    if place not in marks:
        raise CorruptTurn(turn_id, "its payload is missing")
    return marks[place]


def _between(positions: list[int], low: int, high: int) -> list[int]:
    return positions[bisect_left(positions, low) : bisect_right(positions, high)]


def _checked_range(connection: Connection, space: int, segment: Segment, wholes: list[Whole]) -> list[Whole]:
    check_gapless(segment, [whole.turn for whole in wholes])
    empty = [whole.turn.place for whole in wholes if whole.payload is None]
    marks = _erased_at(connection, space, empty)
    for whole in wholes:
        if isinstance(whole.payload, bytes) and hash_payload(whole.payload) != whole.turn.hash:
            raise CorruptTurn(whole.turn.id, "its payload disagrees with its hash")
    return [
        whole if whole.payload is not None else Whole(whole.turn, _mark(marks, whole.turn.place, whole.turn.id))
        for whole in wholes
    ]


def _message(whole: Whole) -> Message:
    turn, payload = whole.turn, whole.payload
    assert payload is not None  # checked
    return Message(
        role=turn.role or None,
        content=read_blocks(turn, payload),
        cache=read_cached(turn),
        attributes=read_attributes(turn),
        turn=turn.id,
    )
