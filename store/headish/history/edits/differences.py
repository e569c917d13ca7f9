"""Compare two branches from their fork on, turn by turn, then word by word.

The common part of both threads is set aside by the links alone. In the rest, turns with the same content count as the
same turn, whatever they continue; so do the copies after an edit that kept the branch.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import chain
from typing import Any, Literal

import msgspec
from msgspec import Struct

from headish.content import strictjson
from headish.content.hashes import hash_payload
from headish.database.query import Connection
from headish.errors import InvalidArgument
from headish.history.edits.ranges import BOTH, Range, find_range
from headish.history.edits.words import Alike, Piece, align, count_words, diff_words
from headish.history.reading.decode import Resolver, complete_turns, read_attributes, read_blocks, read_mapping
from headish.history.reading.find import find_place
from headish.history.reading.order import segments_to, without
from headish.history.reading.walk import read_backwards, read_checked
from headish.history.windows.states import describe
from headish.rows.turns import StoredTurn, stored_at
from headish.values.blocks import (
    Base64Source,
    ContentBlock,
    Document,
    Erased,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    to_mapping,
)
from headish.values.grammar import Headish
from headish.values.ids import TurnId
from headish.values.places import Place, Segment
from headish.values.results.plain import PlainResult
from headish.values.turns import DOCUMENT, OVERLAY, Turn

Kind = Literal["same", "changed", "removed", "added"]


class Change(Struct, frozen=True):
    """A turn of one or both branches: ``before`` is in the first, ``after`` in the second, None if the branch has none.

    ``pieces`` are its words; empty if both say the same.
    """

    kind: Kind
    before: Turn | None
    after: Turn | None
    pieces: tuple[Piece, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """``{kind, role, before, after, pieces: [{kind, text}]}``; ``before`` and ``after`` are ids, or None."""
        turn = self.after or self.before
        return {
            "kind": self.kind,
            "role": turn and turn.meta.role,
            "before": self.before and self.before.id,
            "after": self.after and self.after.id,
            "pieces": [piece.to_dict() for piece in self.pieces],
        }


class Stat(PlainResult, frozen=True):
    """How much differs: the numbers of turns by kind, and of words removed and added."""

    same: int
    changed: int
    removed: int
    added: int
    words_removed: int
    words_added: int


class Diff(Struct, frozen=True):
    """Two branches from their fork on. ``fork`` is the last turn before they part, None if they share none.

    ``changes`` are in the order of the branches; if turns replace others, those of the first branch come first.
    """

    fork: TurnId | None
    changes: tuple[Change, ...]

    @property
    def stat(self) -> Stat:
        """The amount of the difference."""
        kinds = [change.kind for change in self.changes]
        pieces = [piece for change in self.changes for piece in change.pieces]
        return Stat(
            same=kinds.count("same"),
            changed=kinds.count("changed"),
            removed=kinds.count("removed"),
            added=kinds.count("added"),
            words_removed=count_words(piece.text for piece in pieces if piece.kind == "removed"),
            words_added=count_words(piece.text for piece in pieces if piece.kind == "added"),
        )

    def to_dict(self) -> dict[str, Any]:
        """``{fork, changes, stat}`` as plain data."""
        changes = [change.to_dict() for change in self.changes]
        return {"fork": self.fork, "changes": changes, "stat": self.stat.to_dict()}


def diff_branches(
    connection: Connection, space: int, first: Range, second: Headish | None, resolve_options: Resolver
) -> Diff:
    """Compare two headishes, or without ``second`` the two sides of the range ``first``.

    Cost: as ``log`` of both branches from their fork on, and one statement for each ``AT_ONCE`` turns that differ.
    Raises: UnknownTurn, Ambiguous, CorruptTurn; InvalidArgument if there are not exactly two sides.
    """
    before, after = _sides(connection, space, first, second)
    walks = [segments_to(connection, space, place) for place in (before, after)]
    one, other = (
        list(read_backwards(connection, space, without(walk, walks[1 - index])))[::-1]
        for index, walk in enumerate(walks)
    )
    fork = _fork(*walks)
    changes = _changes(connection, space, one, other, resolve_options)
    return Diff(None if fork is None else stored_at(connection, space, fork).id, tuple(changes))


def _sides(connection: Connection, space: int, first: Range, second: Headish | None) -> tuple[Place, Place]:
    if first.between == BOTH:
        raise InvalidArgument("two branches are compared from their fork on in any case: write A..B, or A and B")
    left, right = find_range(connection, space, first)
    if second is None:
        if left is None:
            raise InvalidArgument("two branches are compared: give A and B, or A..B")
        return left, right
    if left is not None:
        raise InvalidArgument(f"{first.text!r} names both branches already")
    return right, find_place(connection, space, second)


def _fork(one: Sequence[Segment], other: Sequence[Segment]) -> Place | None:
    """The last turn of the second walk before it leaves the first; None if they share none."""
    reached: dict[int, int] = {}
    for segment in one:
        reached[segment.chain] = max(segment.high, reached.get(segment.chain, -1))
    fork: Place | None = None
    for chain_number, low, high in other:
        shared = min(high, reached.get(chain_number, -1))
        fork = Place(chain_number, shared) if shared >= low else fork
        if shared < high:
            break
    return fork


def _changes(
    connection: Connection,
    space: int,
    one: Sequence[StoredTurn],
    other: Sequence[StoredTurn],
    resolve_options: Resolver,
) -> Iterator[Change]:
    turns = (
        complete_turns(connection, space, one, resolve_options),
        complete_turns(connection, space, other, resolve_options),
    )

    aligned = align([_said(each) for each in one], [_said(each) for each in other])
    stretches = list(chain.from_iterable(_paired(each, one, other) for each in aligned))
    differing = [
        stored.place
        for _, low, high, other_low, other_high in (each for each in stretches if not each.is_same)
        for stored in (*one[low:high], *other[other_low:other_high])
    ]
    payloads = {each.place: each.payload for each in read_checked(connection, space, differing)}

    def words(stored: StoredTurn) -> str:
        payload = payloads[stored.place]
        return f"({payload})" if isinstance(payload, Erased) else in_words(stored, payload)

    for stretch in stretches:
        _, low, high, other_low, other_high = stretch
        # Both sides are equally long, or one is empty: the turns that `zip` skips then are reported below.
        for index, other_index in zip(range(low, high), range(other_low, other_high), strict=False):
            before, after = turns[0][index], turns[1][other_index]
            if stretch.is_same:
                yield Change("same", before, after)
            else:
                yield Change("changed", before, after, diff_words(words(one[index]), words(other[other_index])))
        if high - low != other_high - other_low:
            for index in range(low, high):
                yield Change("removed", turns[0][index], None, (Piece("removed", words(one[index])),))
            for index in range(other_low, other_high):
                yield Change("added", None, turns[1][index], (Piece("added", words(other[index])),))


def _paired(stretch: Alike, one: Sequence[StoredTurn], other: Sequence[StoredTurn]) -> Iterator[Alike]:
    """Split a replaced stretch so that turns of the same role are compared with each other; the rest are removals and
    additions."""
    if stretch.is_same:
        yield stretch
        return
    _, low, high, other_low, other_high = stretch
    roles = [each.role for each in one[low:high]], [each.role for each in other[other_low:other_high]]
    for is_same, start, end, other_start, other_end in align(*roles):
        if is_same:
            yield Alike(False, low + start, low + end, other_low + other_start, other_low + other_end)
        else:
            yield Alike(False, low + start, low + end, other_low + other_start, other_low + other_start)
            yield Alike(False, low + end, low + end, other_low + other_start, other_low + other_end)


def _said(stored: StoredTurn) -> Hashable:
    """A key that is equal for turns that say the same."""
    name = read_mapping(stored, "system").get("document_name") if stored.type == DOCUMENT else None
    return stored.role, stored.type, stored.content_type, name, stored.attributes, stored.hash


def in_words(stored: StoredTurn, payload: bytes) -> str:
    """The content of a turn as text to compare: texts as they are, other blocks with their kind in brackets before
    them. An overlay begins with what it does.

    Raises: CorruptTurn.
    """
    if stored.type == DOCUMENT and (stored.content_type or "").startswith("text/"):
        try:
            return payload.decode()
        except UnicodeDecodeError:
            pass  # its content type is wrong: shown as a document
    texts = [_block_in_words(block) for block in read_blocks(stored, payload)]
    overlay = read_attributes(stored).overlay if stored.type == OVERLAY else None
    return "\n".join(texts if overlay is None else [f"({describe(overlay)})", *texts])


def _block_in_words(block: ContentBlock) -> str:
    match block:
        case Text(text=text):
            return text
        case Thinking(text=text):
            return f"(reasoning) {text}"
        case ToolUse(name=name, input=tool_input, raw=raw):
            return f"(call {name}) {strictjson.encode(tool_input).decode() if raw is None else raw}"
        case ToolResult(name=name, content=content):
            inner = "\n".join(_block_in_words(each) for each in content)
            return f"(result{' of ' + name if name else ''}) {inner}"
        case Document(source=source, name=name):
            # Documents are compared by a hash: their bytes are not words.
            address = source.data.encode() if isinstance(source, Base64Source) else msgspec.json.encode(source)
            return f"(document {name or source.media_type or 'elsewhere'}, {hash_payload(address).hex()[:16]})"
        case _:
            return f"({strictjson.encode(to_mapping(block)).decode()})"
