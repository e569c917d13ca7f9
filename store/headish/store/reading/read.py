"""Verbs that read one turn, and the handles of some. Each reads in one transaction."""

from __future__ import annotations

from collections.abc import Iterable

from headish.database.query import Connection
from headish.errors import InvalidArgument, shown
from headish.history.reading.decode import complete_turn, read_blocks, read_payload
from headish.history.reading.handles import make_handles
from headish.store.space import Space
from headish.values.blocks import ContentBlock, join_texts
from headish.values.checks.doors import door
from headish.values.ids import TurnId, as_turn_id, known_id
from headish.values.turns import Turn


def get(space: Space, headish: str) -> Turn:
    """The turn that a headish names."""
    return space._read_at(
        headish, lambda connection, stored: complete_turn(connection, space._number, stored, space._options_at)
    )


def find(space: Space, key: str) -> Turn | None:
    """The turn with a key, None if there is none. If ``KEY;2``, ``KEY;3`` … supersede it, the newest of them.

    Cost: two statements, and one more for each version. Raises: InvalidArgument if this cannot be a key.
    """
    from headish.content.facts import read_key
    from headish.history.writing.keys import find_by_key

    encoded = read_key(key)

    def work(connection: Connection) -> Turn | None:
        stored = find_by_key(connection, space._number, encoded)
        return None if stored is None else complete_turn(connection, space._number, stored, space._options_at)

    return space._read(work)


def payload(space: Space, headish: str) -> bytes:
    """The stored bytes of a turn, checked against its hash. Raises: CorruptTurn."""
    return space._read_at(headish, lambda connection, stored: read_payload(connection, space._number, stored))


def blocks(space: Space, headish: str) -> tuple[ContentBlock, ...]:
    """The content blocks of a turn. Raises: CorruptTurn."""
    return space._read_at(
        headish, lambda connection, stored: read_blocks(stored, read_payload(connection, space._number, stored))
    )


def text(space: Space, headish: str) -> str:
    """The text of a turn: its text blocks joined, never its reasoning or calls. Raises: CorruptTurn."""
    return join_texts(blocks(space, headish))


@door()
def contents(space: Space, ids: Iterable[TurnId]) -> dict[TurnId, tuple[ContentBlock, ...]]:
    """The content blocks of turns, by id, for lists; of an erased turn the mark of its erasure.

    The first 64 of the turns, or fewer if those say more than 4 MiB; one at least. Ask again for the others.
    Cost: two statements, one more for turns of more than 2 KiB, and one for each erased turn.
    Raises: UnknownTurn, CorruptTurn; InvalidArgument for anything but an id.
    """
    from headish.history.reading.contents import read_contents  # late: who reads single turns needs none of it

    return space._read_by(read_contents, [known_id(each, "contents") for each in ids])


@door()
def abbreviate(space: Space, ids: Iterable[TurnId]) -> dict[TurnId, str]:
    """The handle of each turn, for lists that a person reads: the shortest that is unique at this moment.

    docs/reference/headish.md says what a handle is. An id that is not stored is its own handle.
    Cost: two statements for each 64 turns, and one for each digest that several turns share.
    Raises: InvalidArgument for anything but an id.
    """
    return space._read_by(make_handles, [_known_id(each) for each in ids])


def _known_id(given: object) -> TurnId:
    id = as_turn_id(given) if isinstance(given, str) else None
    if id is None:
        raise InvalidArgument(f"a turn is abbreviated by its whole id, not by {shown(given)}")
    return id
