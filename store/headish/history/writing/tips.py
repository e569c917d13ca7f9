"""The simplest append: a turn that continues an end that this store itself wrote.

A store remembers the ends that it wrote: the last turn of a chain, and the name that moved with it, if one did. It also
remembers the space's counter. Every write into the space changes the counter. So one conditional UPDATE of its row,
which also compares the name or the turn, locks the space and proves that everything remembered is still true: nothing
is read before the rows are written. If the UPDATE changes no row, nothing was written, and the careful way (``append``)
runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from headish.content.drafts import Draft
from headish.database.query import Connection, Statement
from headish.history.writing.append import Appended, Written, make_stored
from headish.rows.adding import add_turn
from headish.rows.bookmarks import Named, NameMove, move_on
from headish.rows.counters import SpaceNumbers, take_behind, take_next
from headish.rows.payloads import payload_statements, split_payload
from headish.rows.turns import StoredTurn
from headish.values.grammar import Headish
from headish.values.ids import Mint, TurnId
from headish.values.limits import INLINE_BYTES
from headish.values.places import Place

End = bytes | TurnId
"""How a draft refers to an end: by its stored name, or by the id of its turn."""
NAMES, ENDS = 64, 16
"""The most names and ids that a store remembers; the one written longest ago is forgotten first."""


class Left(Struct, frozen=True, gc=False):
    """An end as this store left it: the last turn of a chain, which nothing continues, and its only name.

    ``named`` has the position of the name and the end of its log; None if the turn has no name.
    """

    place: Place
    id: TurnId
    digest: bytes
    name: bytes | None
    named: Named | None


class Remembered(Struct, frozen=True, gc=False):
    """The ends that a store remembers, by name and by turn id. Valid as long as the space's counter says
    ``numbers``."""

    numbers: SpaceNumbers
    names: Mapping[bytes, Left]
    ends: Mapping[TurnId, Left]


NOTHING = Remembered(SpaceNumbers(-1, -1), {}, {})


def is_plain(draft: Draft) -> End | None:
    """The end that a draft continues, if it asks for nothing else and its payload fits into its row; else None."""
    return None if len(draft.payload) > INLINE_BYTES else is_line([draft], 0)


def is_line(drafts: Sequence[Draft], first_index: int) -> End | None:
    """The end that the first draft continues, if each other draft continues the one before it by index, and none has
    further options; else None. ``first_index`` is the index of the first draft."""
    reference = drafts[0].continues[0] if drafts[0].continues else None
    if not isinstance(reference, Headish):
        return None
    bookmark = reference.bookmark
    name = None if bookmark is None else bookmark.encode()
    for index, draft in enumerate(drafts, first_index - 1):
        # Each of these options needs a read or a write that the conditional UPDATE does not cover.
        if draft.respond or draft.expect is not None or draft.facts.is_looked_up or not draft.moves:
            return None
        if draft.continues != (index if index >= first_index else reference,) or draft.bookmark not in (None, name):
            return None
    return name if name is not None or reference.steps or reference.past is not None else reference.id


def append_remembered(
    space: int, draft: Draft, left: Left, numbers: SpaceNumbers, connection: Connection, mint: Mint
) -> Written | None:
    """Append a plain draft to a remembered end, in a transaction of its own. Returns None, and changes nothing, if the
    counter has changed.

    Cost: four statements, two if the end has no name; a server gets them, and the commit, as one message.
    """
    place = Place(left.place.chain, left.place.pos + 1)
    turn = make_stored(draft, place, numbers.seq + 1, mint(), [left.digest], (left.id,), left.name)
    proof, moved, moves = _go_on(space, numbers, left, turn, place, draft, len(draft.payload))
    after = SpaceNumbers(turn.seq, numbers.change)
    written = Written([Appended(turn, (left.id,))], numbers, after, moved, frozenset([left.place]))
    return connection.run_whole(written, proof, add_turn(space, turn, draft.payload), *moves)


def append_all_remembered(
    space: int, drafts: Sequence[Draft], left: Left, numbers: SpaceNumbers, connection: Connection, mint: Mint
) -> Written | None:
    """``append_remembered`` for several drafts, each of which continues the one before and has no further options. The
    name moves to the last. The caller may go on with the transaction.

    Cost: three statements, and one for each draft and each large payload.
    """
    built, rows = _build_line(space, drafts, left, numbers.seq, mint)
    last = built[-1].turn
    given_bytes = sum([len(draft.payload) for draft in drafts])
    proof, moved, moves = _go_on(space, numbers, left, last, last.place, drafts[-1], given_bytes)
    large = payload_statements(space, {draft.said.hash: draft.payload for draft in drafts})
    if not connection.run_proven(proof, *large, *rows, *moves):
        return None
    return Written(built, numbers, SpaceNumbers(last.seq, numbers.change), moved, frozenset([left.place]))


def _go_on(
    space: int, numbers: SpaceNumbers, left: Left, last: StoredTurn, place: Place, draft: Draft, given_bytes: int
) -> tuple[Statement, dict[bytes, Named], tuple[Statement, ...]]:
    """The statement that proves that an end is unchanged, and takes the numbers up to the last turn; the position of
    the name afterwards; and the statements that move it."""
    count = last.seq - numbers.seq
    if left.name is None or left.named is None:
        end = (left.place.chain, left.place.pos, left.id, left.digest)
        return take_behind(space, numbers, given_bytes, end, count), {}, ()
    at = (left.name, left.place.chain, left.place.pos, left.named.move, left.named.running)
    proof = take_next(space, numbers, given_bytes, at, count)
    step = NameMove(place, last.digest, True, last.seq, recent=draft.facts.said_at)
    named, moves = move_on(space, left.name, step, left.named)
    return proof, {left.name: named}, moves


def _build_line(
    space: int, drafts: Sequence[Draft], left: Left, seq: int, mint: Mint
) -> tuple[list[Appended], list[Statement]]:
    """Make the turns of a line, and the statements that store them, in one pass."""
    built, rows = list[Appended](), list[Statement]()
    digest, parent, (chain, pos) = left.digest, left.id, left.place
    for number, draft in enumerate(drafts, 1):
        head = left.name if number == len(drafts) else None
        continues = (parent,)
        turn = make_stored(draft, Place(chain, pos + number), seq + number, mint(), (digest,), continues, head)
        built.append(Appended(turn, continues))
        rows.append(add_turn(space, turn, split_payload(draft.payload)))
        digest, parent = turn.digest, turn.id
    return built, rows


def remember(known: Remembered, written: Written) -> Remembered:
    """Update a store's memory of ends after a write of its own was committed.

    Ends that were continued are forgotten, and all earlier ones if somebody else wrote in between.
    """
    # If somebody else wrote in between, any name may have moved.
    kept = known if known.numbers == written.before else NOTHING
    # A turn that something else continues may no longer be the last of its chain.
    names = {name: end for name, end in kept.names.items() if end.place not in written.continued}
    ends = {id: end for id, end in kept.ends.items() if end.place not in written.continued}
    last = written.built[-1].turn
    if last.head is not None and (elsewhere := names.pop(last.head, None)) is not None:
        ends.pop(elsewhere.id, None)
    # A new turn has no name but the one that moved with it: setting another one onto it would change the counter.
    named = None if last.head is None else written.moved.get(last.head)
    if last.head is None or named is not None:
        # Put in last, so that the dict is in the order of the last moves, and the oldest is forgotten first.
        place = Place(last.chain, last.pos) if named is None else named.place
        ends[last.id] = end = Left(place, last.id, last.digest, last.head, named)
        if last.head is not None:
            names[last.head] = end
    if len(names) > NAMES:
        del names[next(iter(names))]
    if len(ends) > ENDS:
        del ends[next(iter(ends))]
    return Remembered(written.after, names, ends)
