"""The plainest append: one turn that continues a name which this store itself moved last.

A store remembers where it left its names, and how the space's counter stood then. Whatever anybody writes into the
space changes the counter. So one conditional UPDATE of its row, which looks at the name as well, locks the space and
proves that everything remembered still holds: nothing is read before the rows are written. Where it proves nothing,
nothing was changed, and the careful way (``append``) runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from headish.content.drafts import Draft
from headish.database.query import Connection, Statement
from headish.history.writing.append import Appended, Written, make_stored
from headish.rows.bookmarks import Named, NameMove, move_on
from headish.rows.counters import SpaceNumbers, take_next
from headish.rows.payloads import payload_statements, split_payload
from headish.rows.turns import add_turn
from headish.values.grammar import Headish
from headish.values.ids import Mint, TurnId
from headish.values.limits import INLINE_BYTES
from headish.values.places import Place

NAMES = 64
"""How many names a store remembers; the one that moved longest ago is forgotten first."""


class Left(Struct, frozen=True, gc=False):
    """The place at which a name was left: the last turn of a chain, which nothing continues."""

    named: Named
    id: TurnId
    digest: bytes


class Remembered(Struct, frozen=True, gc=False):
    """What a store knows of a space as long as its counter says ``numbers``."""

    numbers: SpaceNumbers
    names: Mapping[bytes, Left]


NOTHING = Remembered(SpaceNumbers(-1, -1), {})


def is_plain(draft: Draft) -> bytes | None:
    """The name that a draft continues and moves, if that is all it asks for and its row holds its payload."""
    return None if len(draft.payload) > INLINE_BYTES else is_line([draft], 0)


def is_line(drafts: Sequence[Draft], first_index: int) -> bytes | None:
    """The name that the first draft continues and that moves along, if each other draft continues the one before it by
    its index, and the drafts have no further options. ``first_index`` is the index of the first."""
    reference = drafts[0].continues[0] if drafts[0].continues else None
    bookmark = reference.bookmark if isinstance(reference, Headish) else None
    if bookmark is None:
        return None
    name = bookmark.encode()
    for index, draft in enumerate(drafts, first_index - 1):
        # Each of these needs something to be read or written that the conditional UPDATE does not prove.
        if draft.respond or draft.expect is not None or draft.facts.is_looked_up or not draft.moves:
            return None
        if draft.continues != (index if index >= first_index else reference,) or draft.bookmark not in (None, name):
            return None
    return name


def append_remembered(
    space: int, draft: Draft, name: bytes, known: Remembered, connection: Connection, mint: Mint
) -> Written | None:
    """Append a plain draft to a remembered name, as all that its transaction does. None, and nothing is changed, where
    the counter has moved on.

    Cost: four statements; a server gets them, and the commit, as one message.
    """
    left, numbers = known.names[name], known.numbers
    place = Place(left.named.place.chain, left.named.place.pos + 1)
    stored = make_stored(draft, place, numbers.seq + 1, mint(), [left.digest], (left.id,), name)
    moved, move, log = move_on(
        space, name, NameMove(place, stored.digest, True, stored.seq, recent=draft.facts.said_at), left.named
    )
    at = (name, *left.named.place, left.named.move, left.named.running)
    proof = take_next(space, numbers, len(draft.payload), at)
    after = SpaceNumbers(numbers.seq + 1, numbers.change)
    written = Written([Appended(stored, (left.id,))], numbers, after, {name: moved}, frozenset([left.named.place]))
    return connection.run_whole(written, proof, add_turn(space, stored, draft.payload), move, log)


def append_all_remembered(
    space: int, drafts: Sequence[Draft], name: bytes, known: Remembered, connection: Connection, mint: Mint
) -> Written | None:
    """``append_remembered`` for several drafts, each of which continues the one before and has no further options. The
    name moves with the last. The transaction may go on afterwards.

    Cost: three statements, and one for each draft and each large payload.
    """
    left, numbers = known.names[name], known.numbers
    built, rows = _build_line(space, drafts, name, left, numbers.seq, mint)
    end = built[-1].turn
    step = NameMove(end.place, end.digest, True, end.seq, recent=drafts[-1].facts.said_at)
    moved, move, log = move_on(space, name, step, left.named)
    at = (name, *left.named.place, left.named.move, left.named.running)
    proof = take_next(space, numbers, sum([len(draft.payload) for draft in drafts]), at, len(drafts))
    large = payload_statements(space, {draft.said.hash: draft.payload for draft in drafts})
    if not connection.run_proven(proof, *large, *rows, move, log):
        return None
    after = SpaceNumbers(end.seq, numbers.change)
    return Written(built, numbers, after, {name: moved}, frozenset([left.named.place]))


def _build_line(
    space: int, drafts: Sequence[Draft], name: bytes, left: Left, seq: int, mint: Mint
) -> tuple[list[Appended], list[Statement]]:
    """The turns of a line and the statements that store them, in one pass: id, digest, seal and row of each."""
    built, rows = list[Appended](), list[Statement]()
    digest, parent, (chain, pos) = left.digest, left.id, left.named.place
    for number, draft in enumerate(drafts, 1):
        head = name if number == len(drafts) else None
        continues = (parent,)
        turn = make_stored(draft, Place(chain, pos + number), seq + number, mint(), (digest,), continues, head)
        built.append(Appended(turn, continues))
        rows.append(add_turn(space, turn, split_payload(draft.payload)))
        digest, parent = turn.digest, turn.id
    return built, rows


def remember(known: Remembered, written: Written) -> Remembered:
    """What a store knows once a write of its own is committed.

    What it knew stays, less the names whose turns were continued, unless somebody else wrote in between.
    """
    # Somebody else wrote in between, and may have moved any name.
    kept = known.names if known.numbers == written.before else {}
    # A turn that something else continues may no longer be the last of its chain.
    names = {name: left for name, left in kept.items() if left.named.place not in written.continued}
    last = written.built[-1].turn
    for name, named in written.moved.items():
        # Out and in again: the order of the dict is that of the last moves, and the oldest is forgotten.
        names.pop(name, None)
        names[name] = Left(named, last.id, last.digest)
    if len(names) > NAMES:
        del names[next(iter(names))]
    return Remembered(written.after, names)
