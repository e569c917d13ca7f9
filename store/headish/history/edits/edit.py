"""Edit: store a turn beside another one and, if the caller asks for it, copy the rest of the branch after it.

All of it happens in the caller's transaction, in bounded portions: no edit is ever half done, and only a portion of a
long branch is in memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from headish.content.drafts import Draft
from headish.database.query import Connection
from headish.errors import CorruptTurn, InvalidArgument
from headish.history.edits.branches import Rest, Target, find_rest, find_target, read_rest
from headish.history.edits.drafts import EditedContent, copied_draft, edited_draft
from headish.history.reading.decode import read_payload
from headish.history.reading.find import parents_of
from headish.history.writing.append import Appended, append
from headish.history.writing.planning import BatchPlace, Earlier, check_expected
from headish.rows.conversations import find_first
from headish.rows.payloads import LOOKED_UP
from headish.rows.turns import StoredTurn, places_by_digest, stored_at, turn_by_seq
from headish.values.grammar import Headish
from headish.values.ids import Mint, TurnId
from headish.values.limits import BATCH_BYTES, BATCH_TURNS
from headish.values.names import Absent, stored_name
from headish.values.places import Place
from headish.values.results.plain import PlainResult
from headish.values.turns import OVERLAY, PREAMBLE, Turn

_DIGEST = re.compile(rb'(?<=")[0-9a-f]{64}(?=")')


class Edited(PlainResult, frozen=True):
    """The result of an edit: the new ``turn``, the ``bookmark`` that moved, if one did, the id at the end of the edited
    branch (``tip``), and the number of turns ``kept`` after the new one."""

    turn: Turn
    bookmark: str | None
    tip: TurnId
    kept: int


class PlannedEdit(NamedTuple):
    """The arguments of an edit."""

    headish: Headish
    wanted: EditedContent
    keep: bool
    expect: TurnId | Absent | None
    author: str | None
    limit_bytes: int


class Done(NamedTuple):
    """The stored turns of an edit: the edited one, the last one of its branch, the name that moved there, and the
    number of copies."""

    edited: Appended
    tip: TurnId
    name: bytes | None
    kept: int


def edit_turn(connection: Connection, space: int, asked: PlannedEdit, mint: Mint) -> Done:
    """Store an edit. The space is locked.

    The bookmark that the headish begins with moves to the end of the edited branch, once.
    Cost: about twelve statements; for each turn that is kept, one to read it and that of ``append``.
    Raises: UnknownTurn, TurnErased, BookmarkMoved, InvalidArgument, TooLarge, BarredContent, CorruptTurn.
    """
    target = find_target(connection, space, asked.headish)
    _check_expected(connection, space, target, asked)
    rest = find_rest(connection, space, target) if asked.keep else Rest([], {})
    earlier: list[Earlier] = []
    drafts = _named(_drafts(connection, space, target, rest, asked, earlier), target.name, rest.size)
    edited, tip, count = None, None, 0
    for batch in _in_batches(drafts):
        stream = BatchPlace(count, earlier)
        appended = append(connection, space, batch, mint, stream=stream, carries_names=False).built
        earlier.append(Earlier(count, appended[0].turn.seq))
        edited, tip, count = edited or appended[0], appended[-1], count + len(batch)
    assert edited is not None  # the edited turn itself is always stored
    assert tip is not None
    return Done(edited, tip.turn.id, target.name, count - 1)


def _check_expected(connection: Connection, space: int, target: Target, asked: PlannedEdit) -> None:
    if asked.expect is None:
        return
    if target.name is None or target.tip is None:
        raise InvalidArgument("expect needs a bookmark: edit a turn of its branch by NAME or NAME~n")
    check_expected(target.name, asked.expect, stored_at(connection, space, target.tip).id)


def _drafts(
    connection: Connection, space: int, target: Target, rest: Rest, asked: PlannedEdit, earlier: Sequence[Earlier]
) -> Iterator[Draft | None]:
    """The edited turn, then a copy of each turn after it, parents before children. A None means: store what came before
    first.

    ``earlier`` are the batches that are stored already; it grows while this runs.
    """
    turn = target.turn
    before = parents_of(connection, space, turn)
    payload = read_payload(connection, space, turn)
    yield edited_draft(turn, payload, asked.wanted, before, author=asked.author, limit_bytes=asked.limit_bytes)
    copies = _Copies(turn.place, rest)
    begins = turn.role in PREAMBLE and (not before or find_first(connection, space, before[0]) is None)
    for stored in read_rest(connection, space, rest):
        # After an edited system turn, the copy of the conversation's first turn supersedes the original: otherwise it
        # would be another conversation.
        is_first, begins = begins and stored.role not in PREAMBLE, begins and stored.role in PREAMBLE
        attributes = None
        if stored.type == OVERLAY:
            yield None  # an overlay names turns by digest, and the digests of copies are known once they are stored
            attributes = _cover_copies(
                connection, space, stored.attributes, partial(copies.seq_of, earlier[0].first_seq)
            )
        yield copied_draft(
            stored,
            read_payload(connection, space, stored),
            copies.continues(stored),
            author=asked.author,
            is_version=is_first,
            attributes=attributes,
        )


def _named(drafts: Iterator[Draft | None], name: bytes | None, kept: int) -> Iterator[Draft | None]:
    """Give the last draft the name to move, so that a single move of it undoes the edit."""
    index = 0
    for draft in drafts:
        is_last = name is not None and index == kept
        yield replace(draft, bookmark=name, force=True) if draft is not None and is_last else draft
        index += draft is not None


def _in_batches(drafts: Iterator[Draft | None]) -> Iterator[list[Draft]]:
    """Group the drafts into batches as ``add_turns`` does; a None ends a batch."""
    batch: list[Draft] = []
    size_bytes = 0
    for draft in drafts:
        if batch and (draft is None or len(batch) == BATCH_TURNS or size_bytes >= BATCH_BYTES):
            yield batch
            batch, size_bytes = [], 0
        if draft is not None:
            batch.append(draft)
            size_bytes += draft.size_bytes
    yield batch


class _Copies:
    """Finds the copies of the turns that a turn of the rest continues. Turns that did not grow from the edited turn
    have no copies: they are continued themselves."""

    def __init__(self, edited: Place, rest: Rest) -> None:
        self._edited, self._links = edited, rest.links
        self._ranges: dict[int, list[tuple[int, int, int]]] = {}
        index = 1  # the edited turn is the first item
        for chain, low, high in rest.segments:
            self._ranges.setdefault(chain, []).append((low, high, index))
            index += high - low + 1

    def continues(self, stored: StoredTurn) -> list[Place | int]:
        """The parents of the copy of a turn, in order: indexes of copies, or places."""
        before = [Place(stored.chain, stored.pos - 1)] if stored.pos else self._links.get(stored.chain, ())
        if not before:
            raise CorruptTurn(stored.id, "it continues nothing, but stands behind a turn")
        return [self._copy_of(place) for place in before]

    def seq_of(self, first_seq: int, place: Place) -> int | None:
        """The commit number of the copy of a turn; None if it has no copy. The copies' numbers follow one another."""
        item = self._copy_of(place)
        return first_seq + item if isinstance(item, int) else None

    def _copy_of(self, place: Place) -> Place | int:
        if place == self._edited:
            return 0
        ranges = self._ranges.get(place.chain, ())
        return next((index + place.pos - low for low, high, index in ranges if low <= place.pos <= high), place)


def name_of(done: Done) -> str | None:
    """The name that moved with an edit; None if none did."""
    return None if done.name is None else stored_name(done.name)


def _cover_copies(
    connection: Connection, space: int, attributes: bytes | None, seq_of: Callable[[Place], int | None]
) -> bytes | None:
    """The attributes of an overlay with the digests of copies in place of those of their originals. ``seq_of``
    gives the commit number of the copy of the turn at a place, None if it has none; then the digest stays.

    Cost: one statement for each 64 covered turns, and one for each copy.
    """
    if attributes is None:
        return None
    # Replaced in the stored bytes, so that all other attributes stay exactly as they are.
    digests = [bytes.fromhex(each.decode()) for each in dict.fromkeys(_DIGEST.findall(attributes))]
    renamed: dict[bytes, bytes] = {}
    for start in range(0, len(digests), LOOKED_UP):
        for at in places_by_digest(connection, space, digests[start : start + LOOKED_UP]):
            seq = seq_of(at.place)
            copy = None if seq is None else turn_by_seq(connection, space, seq)
            if copy is not None:
                renamed[at.digest.hex().encode()] = copy.digest.hex().encode()
    return _DIGEST.sub(lambda match: renamed.get(match[0], match[0]), attributes)
