"""What many turns say, read together; and the turns of a log: by role, by time, or by their text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from headish.database.query import Connection
from headish.errors import UnknownTurn
from headish.history.reading.decode import check_payload, read_blocks, read_mapping, read_shown
from headish.rows.keys import turns_by_ids
from headish.rows.payloads import LOOKED_UP, small_payloads_of
from headish.rows.turns import StoredTurn
from headish.values.blocks import ContentBlock, join_texts
from headish.values.ids import TurnId
from headish.values.turns import said_at_of

if TYPE_CHECKING:
    from headish.rows.searching.matches import LargePayloads

BYTES_AT_ONCE = 4 * 1024 * 1024
"""The most bytes of large payloads that one statement reads, unless the first alone is larger."""


class Selection(Struct, frozen=True):
    """The conditions that a turn must meet; None accepts any. ``grep`` is a casefolded text that it must contain."""

    role: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    grep: str | None = None

    @property
    def is_all(self) -> bool:
        """Whether every turn is wanted."""
        return self == Selection()


def select_turns(
    connection: Connection, space: int, turns: Iterable[StoredTurn], wanted: Selection
) -> Iterator[StoredTurn]:
    """The turns that meet the conditions, in their order. A payload is read only if its text matters.

    Raises: CorruptTurn.
    """
    chosen = (each for each in turns if _is_wanted(each, wanted))
    if wanted.grep is None:
        yield from chosen
        return
    for stored, payload in with_payloads(connection, space, chosen):
        if payload is not None and wanted.grep in join_texts(read_blocks(stored, payload)).casefold():
            yield stored


def _is_wanted(stored: StoredTurn, wanted: Selection) -> bool:
    if wanted.role is not None and stored.role != wanted.role:
        return False
    if wanted.since is None and wanted.until is None:
        return True
    said_at = said_at_of(read_mapping(stored, "system"), stored.id)
    return (wanted.since is None or said_at >= wanted.since) and (wanted.until is None or said_at < wanted.until)


def read_contents(connection: Connection, space: int, ids: Iterable[TurnId]) -> dict[TurnId, tuple[ContentBlock, ...]]:
    """The blocks of the first of some turns: ``LOOKED_UP`` of them, or fewer whose payloads have ``BYTES_AT_ONCE``. An
    erased turn has the mark of its erasure.

    Cost: two statements, one more for large payloads, and one for each erased turn.
    Raises: UnknownTurn, CorruptTurn.
    """
    wanted = [*islice(dict.fromkeys(ids), LOOKED_UP)]
    found = turns_by_ids(connection, space, wanted)
    for each in wanted:
        if each not in found:
            raise UnknownTurn(each)
    contents: dict[TurnId, tuple[ContentBlock, ...]] = {}
    room = BYTES_AT_ONCE
    for stored, payload in with_payloads(connection, space, (found[each] for each in wanted)):
        if payload is None:
            contents[stored.id] = read_shown(connection, space, stored)
            continue
        contents[stored.id] = read_blocks(stored, payload)
        room -= len(payload)
        if room <= 0:
            break
    return contents


def with_payloads(
    connection: Connection, space: int, turns: Iterable[StoredTurn]
) -> Iterator[tuple[StoredTurn, bytes | None]]:
    """Each turn with its payload, checked against its hash; None for an erased one. Memory holds the payloads of
    ``LOOKED_UP`` turns, of large ones ``BYTES_AT_ONCE``, or one.

    Cost: one statement for each ``LOOKED_UP`` turns, and for each ``BYTES_AT_ONCE`` of large payloads.
    Raises: CorruptTurn.
    """
    remaining = iter(turns)
    while portion := [*islice(remaining, LOOKED_UP)]:
        living = [each for each in portion if each.erased is None]
        small = small_payloads_of(connection, space, [each.id for each in living])
        wanted = [each.seq for each in living if each.id not in small]
        large = _read_large(connection, space, wanted) if wanted else None
        for each in portion:
            payload = small.get(each.id)
            if payload is None and large is not None and each.erased is None:
                payload = large.take(each.seq)
            yield each, None if each.erased is not None else check_payload(each, payload)


def _read_large(connection: Connection, space: int, wanted: Sequence[int]) -> LargePayloads:
    from headish.rows.searching.matches import LargePayloads  # late: most turns of a log are small

    return LargePayloads(connection, space, wanted, BYTES_AT_ONCE)
