"""Read pages of the feed: turns and other changes in commit order; and the turns that a moved name brought.

A change records the ``seq`` that the space had then, so it comes after the turn with that number and before the next
one.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from headish.database.query import Connection
from headish.errors import CorruptRecord, CorruptTurn
from headish.history.feeds.cursors import Position, check_reached, find_reached, resume
from headish.history.reading.order import segments_to, without
from headish.rows.turns import StoredTurn
from headish.rows.upkeep.changes import Numbered, changes_between, turns_between
from headish.values.places import Place, Segment

PAGE = 500
"""The most turns, and the most other changes, that a page reads."""


class Step(NamedTuple):
    """One turn or change of the feed, and the place after it."""

    what: StoredTurn | Numbered
    behind: Position


class FeedPage(NamedTuple):
    """The steps of a page, the place where it ends, and whether the feed ends there at that moment."""

    steps: list[Step]
    end: Position
    is_last: bool


def read_page(connection: Connection, space: int, after: Position) -> FeedPage:
    """Read the next page after a place.

    Cost: one statement if nothing is new; otherwise at most nine.
    Raises: CursorLost, RemovedSpace; CorruptTurn or CorruptRecord if a number is missing.
    """
    reached = find_reached(connection, space)
    # Compare only the numbers first: a reader that is up to date pays one statement, and reads no row.
    check_reached(after, reached)
    if (after.seq, after.change) == (reached.seq, reached.change):
        return FeedPage([], after, True)
    # The numbers may belong to other rows since a restore. The witness tells, so that no change is skipped silently.
    resume(connection, space, after.cursor)
    seq, change = min(reached.seq, after.seq + PAGE), min(reached.change, after.change + PAGE)
    turns = _turns(connection, space, after.seq, seq) if seq > after.seq else []
    changes = _changes(connection, space, after.change, change) if change > after.change else []
    steps = _in_order(after, turns, changes)
    if seq < reached.seq:  # drop changes after the last turn of this page: turns of the next page may come before them
        steps = _cut(steps, (seq, LAST))
    # Likewise, turns after the last change of this page may come after changes of the next page.
    if change < reached.change:
        steps = _cut(steps, (changes[-1].seq, changes[-1].change))
    end = steps[-1].behind
    return FeedPage(steps, end, (end.seq, end.change) == (reached.seq, reached.change))


LAST = 2**63
"""A number after that of any change."""


def _in_order(after: Position, turns: list[StoredTurn], changes: list[Numbered]) -> list[Step]:
    """Merge by ``(seq, change)``; a turn comes before all changes with its number."""
    at, steps = after, list[Step]()
    unordered: list[StoredTurn | Numbered] = [*turns, *changes]
    for each in sorted(unordered, key=_order):
        if isinstance(each, StoredTurn):
            at = at._replace(seq=each.seq, seal=each.seal)
        else:
            at = at._replace(change=each.change, mark=each.mark)
        steps.append(Step(each, at))
    return steps


def _order(each: StoredTurn | Numbered) -> tuple[int, int]:
    return (each.seq, 0) if isinstance(each, StoredTurn) else (each.seq, each.change)


def _cut(steps: list[Step], last: tuple[int, int]) -> list[Step]:
    return [step for step in steps if _order(step.what) <= last]


def _turns(connection: Connection, space: int, low: int, high: int) -> list[StoredTurn]:
    turns = turns_between(connection, space, low, high)
    # A gap is damage: if the reader went on, it would never see the missing turn.
    missing = _first_missing([each.seq for each in turns], low, high)
    if missing is not None:
        raise CorruptTurn(f"with commit number {missing}", "it is missing")
    return turns


def _changes(connection: Connection, space: int, low: int, high: int) -> list[Numbered]:
    changes = changes_between(connection, space, low, high)
    missing = _first_missing([each.change for each in changes], low, high)
    if missing is not None:
        raise CorruptRecord(f"the change with the number {missing}", "it is missing, or there twice")
    for before, each in pairwise(changes):
        if each.seq < before.seq:  # turns and changes could not be merged into one order
            raise CorruptRecord(f"the change with the number {each.change}", "its commit number goes back")
    return changes


def _first_missing(numbers: list[int], low: int, high: int) -> int | None:
    """The first number after ``low`` that is missing in ``numbers``, which must run to ``high``; None if all are
    there."""
    expected = range(low + 1, high + 1)
    if numbers == list(expected):
        return None
    return next(
        (each for each, number in zip(expected, numbers, strict=False) if each != number), low + 1 + len(numbers)
    )


def find_brought(connection: Connection, space: int, old: Place | None, new: Place) -> list[Segment]:
    """The ranges of turns that a move brought, in walk order: those that lead to the new place of its name, but not to
    the old one; none if the name moved back.

    Cost: none if both places are in one chain, otherwise two statements for each place; the database takes one step per
    fork.
    """
    if old is not None and old.chain == new.chain:
        return [Segment(new.chain, old.pos + 1, new.pos)] if old.pos < new.pos else []
    return without(segments_to(connection, space, new), [] if old is None else segments_to(connection, space, old))
