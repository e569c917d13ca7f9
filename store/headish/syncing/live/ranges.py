"""Find the turns that only one of two stores has, without a cursor: compare ranges of ids, and cut those that differ.

Two ranges are equal if the counts of their turns and the sums of their seals are. One that differs is cut into
``CUT_IN`` parts, until ``LEFT`` turns or fewer are left, which are listed. Ids begin with their time, so new turns are
neighbours, and a few ranges contain them. Nothing about ranges is stored: a range is read when the other side asks.
(Range-based set reconciliation, A. Meyer, 2023; negentropy of Nostr is another use of it.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from blake3 import blake3

from headish.bundles.live import (
    CUT_IN,
    LEFT,
    LISTED_AT_ONCE,
    MARK_BYTES,
    RANGES_AT_ONCE,
    SUM_BYTES,
    IdRange,
    RangeAnswer,
    TurnMark,
)
from headish.database.backend import Backend
from headish.database.query import Connection
from headish.errors import ForeignConflict, InvalidBundle
from headish.rows.elsewhere.sealed import SealedTurn, sealed_among
from headish.values.ids import as_turn_id

FIRST, LAST = "", "f5lxx1zz5pnorynqglhzmsp33"
"""The text below every id, and the largest id."""
DIFFERENT_LIMIT = 100_000
"""If more turns differ, all turns are listed in commit order instead: that needs no memory for the difference."""
_MODULUS = 2**256
AskAbout = Callable[[Sequence[IdRange]], Sequence[RangeAnswer]]
"""Asks the other store about ranges, and returns an answer for each."""


class Different(NamedTuple):
    """The commit numbers, in order, of turns that only one side has: ``there`` of the other store's, ``here`` of this
    store's."""

    there: list[int]
    here: list[int]


def measure(turns: Iterable[SealedTurn], low: str, high: str) -> IdRange:
    """Measure a range: the count of its turns, and a hash of the sum of their seals modulo 2^256."""
    # A sum does not depend on the order, and takes no memory; the hash makes it short.
    count = total = 0
    for turn in turns:
        count += 1
        total += int.from_bytes(turn.seal, "big")
    data = (total % _MODULUS).to_bytes(32, "big") + count.to_bytes(8, "big")
    return IdRange(low, high, count, blake3(data).digest(length=SUM_BYTES))


def measure_range(connection: Connection, space: int, low: str, high: str) -> IdRange:
    """Measure a range of this space. Cost: reads the id and the seal of each turn in it."""
    return measure(sealed_among(connection, space, low, high), low, high)


def cut_range(connection: Connection, space: int, whole: IdRange) -> list[IdRange]:
    """Cut a range with ``whole.count`` turns here into at most ``CUT_IN`` parts with about equally many turns, which
    cover the range.

    Cost: reads each of its turns.
    """
    size = -(-whole.count // CUT_IN)
    parts: list[IdRange] = []
    low, inside = whole.low, list[SealedTurn]()
    for turn in sealed_among(connection, space, whole.low, whole.high):
        if len(inside) >= size and len(parts) < CUT_IN - 1:
            parts.append(measure(inside, low, inside[-1].id))
            low, inside = inside[-1].id, []
        inside.append(turn)
    return [*parts, measure(inside, low, whole.high)]


def list_turn(turn: SealedTurn) -> TurnMark:
    """A turn as it is listed to the other store."""
    return TurnMark(turn.seq, turn.id, bytes(turn.seal[:MARK_BYTES]))


def check_mark(turn: SealedTurn, mark: bytes) -> None:
    """Check that a turn has the seal of the other store's turn with its id. Raises: ForeignConflict."""
    if turn.seal[:MARK_BYTES] != mark:
        raise ForeignConflict(turn.id)


def answer_ranges(backend: Backend, space: int, asked: Sequence[IdRange]) -> list[RangeAnswer]:
    """Answer how the other store's ranges relate to this store's.

    The turns of a range in which the other store has none are listed at once, up to the limit of a list.
    Cost: reads each turn of a range, once or twice; a transaction for each range.
    """
    answers: list[RangeAnswer] = []
    left = LISTED_AT_ONCE
    for each in asked:
        answer = backend.read(partial(_answer_range, space=space, asked=each, limit=LEFT if each.count else left))
        left = max(LEFT, left - len(answer.turns))
        answers.append(answer)
    return answers


def _answer_range(connection: Connection, space: int, asked: IdRange, limit: int) -> RangeAnswer:
    here = measure_range(connection, space, asked.low, asked.high)
    if here == asked:
        return RangeAnswer(same=True)
    if here.count <= limit:
        return RangeAnswer(turns=tuple(map(list_turn, sealed_among(connection, space, asked.low, asked.high))))
    return RangeAnswer(cut=tuple(cut_range(connection, space, here)))


def check_ranges(ranges: Sequence[IdRange], name: str) -> None:
    """Check that ranges are in order and do not overlap, so that no question makes this store read the whole space
    many times.

    Raises: InvalidBundle.
    """
    at = FIRST
    for each in ranges:
        bounds = [bound for bound in (each.low, each.high) if bound != FIRST]
        if not at <= each.low < each.high or any(as_turn_id(bound) != bound for bound in bounds):
            raise InvalidBundle(name, "it asks about ranges that are malformed or out of order")
        at = each.high


def find_different(backend: Backend, space: int, ask: AskAbout, name: str) -> Different | None:
    """Return the turns that only one side has, or None if they are more than ``DIFFERENT_LIMIT``.

    Cost: reads the id and the seal of each turn of the space, and those of ranges that differ again at each cut.
    Raises: ForeignConflict, InvalidBundle.
    """
    found = Different([], [])
    questions = [backend.read(lambda connection: measure_range(connection, space, FIRST, LAST))]
    while questions:
        part, questions = questions[:RANGES_AT_ONCE], questions[RANGES_AT_ONCE:]
        answers = ask(part)
        if len(answers) != len(part):
            raise InvalidBundle(name, "it answers other ranges than it was asked about")
        for range, answer in zip(part, answers, strict=True):
            if answer.cut:
                _check_cut(range, answer.cut, name)
                questions += backend.read(partial(_go_on, space=space, parts=answer.cut, found=found))
            elif not answer.same:
                _check_listed(range, answer.turns, name)
                backend.read(partial(_compare, space=space, range=range, there=answer.turns, found=found))
            if len(found.there) + len(found.here) + len(questions) > DIFFERENT_LIMIT:
                return None
        questions.sort(key=lambda each: each.low)  # the other store refuses ranges out of order
    return Different(sorted(set(found.there)), sorted(set(found.here)))


def _check_cut(whole: IdRange, parts: Sequence[IdRange], name: str) -> None:
    """Check that the parts cover the whole and that there are at least two: otherwise the questions would never end."""
    bounds = [whole.low, *(each.high for each in parts)]
    is_joined = all(part.low == low for part, low in zip(parts, bounds, strict=False))
    if len(parts) < 2 or not is_joined or bounds[-1] != whole.high:
        raise InvalidBundle(name, "it cuts a range in parts that are not that range")
    check_ranges(parts, name)


def _check_listed(range: IdRange, turns: Sequence[TurnMark], name: str) -> None:
    if any(not range.low < each.id <= range.high or as_turn_id(each.id) != each.id for each in turns):
        raise InvalidBundle(name, "it lists turns that are not in the range")


def _go_on(connection: Connection, space: int, parts: Sequence[IdRange], found: Different) -> list[IdRange]:
    """Return the next questions about the parts of a range there: those that differ here, cut if they have many turns
    here."""
    questions: list[IdRange] = []
    for there in parts:
        here = measure_range(connection, space, there.low, there.high)
        if here == there:
            continue
        if not there.count:  # all turns here are missing there, so there is nothing to ask
            _compare(connection, space, here, (), found)
        elif here.count <= LEFT:
            questions.append(here)
        else:
            questions += cut_range(connection, space, here)
    return questions


def _compare(connection: Connection, space: int, range: IdRange, there: Sequence[TurnMark], found: Different) -> None:
    """Add the turns of a range that only one side has to ``found``, until they are too many."""
    listed = {each.id: each for each in there}
    for turn in sealed_among(connection, space, range.low, range.high):
        other = listed.pop(turn.id, None)
        if other is None:
            found.here.append(turn.seq)
            if len(found.here) > DIFFERENT_LIMIT:
                return
        else:
            check_mark(turn, other.mark)
    found.there.extend(each.seq for each in listed.values())
