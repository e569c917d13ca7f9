"""Which turns only one of two stores has, where no cursor says so: ranges of ids are compared, and cut where they
differ.

A range is told by how many turns it holds and by the sum of their seals. One that differs is cut in ``CUT_IN``, until
``LEFT`` turns or fewer are left, which are listed. Ids begin with their time, so what is new lies together, and a few
ranges hold it. Nothing of this is kept: a range is read when somebody asks. (Range-based set reconciliation, A. Meyer,
2023; negentropy of Nostr is another use of it.)
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
"""Below every id, and the largest one."""
DIFFERENT_LIMIT = 100_000
"""Where more turns differ, all are listed in commit order: that takes no memory."""
_MODULUS = 2**256
AskAbout = Callable[[Sequence[IdRange]], Sequence[RangeAnswer]]
"""Asks the other store about ranges; an answer for each."""


class Different(NamedTuple):
    """The commit numbers of turns that only one side has: ``there`` those of the other one, ``here`` one's own. Each in
    order."""

    there: list[int]
    here: list[int]


def measure(turns: Iterable[SealedTurn], low: str, high: str) -> IdRange:
    """What tells a range from another: the count of its turns, and a hash of the sum of their seals modulo 2^256."""
    count = total = 0
    for turn in turns:
        count += 1
        total += int.from_bytes(turn.seal, "big")
    data = (total % _MODULUS).to_bytes(32, "big") + count.to_bytes(8, "big")
    return IdRange(low, high, count, blake3(data).digest(length=SUM_BYTES))


def measure_range(connection: Connection, space: int, low: str, high: str) -> IdRange:
    """A range as it is here. Cost: reads the id and the seal of each turn in it."""
    return measure(sealed_among(connection, space, low, high), low, high)


def cut_range(connection: Connection, space: int, whole: IdRange) -> list[IdRange]:
    """The parts of a range that holds ``whole.count`` turns here, each with about as many; together they are the range.

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
    """A turn as the other store is told of it."""
    return TurnMark(turn.seq, turn.id, bytes(turn.seal[:MARK_BYTES]))


def check_mark(turn: SealedTurn, mark: bytes) -> None:
    """Whether a turn is the one that the other store has by its id. Raises: ForeignConflict."""
    if turn.seal[:MARK_BYTES] != mark:
        raise ForeignConflict(turn.id)


def answer_ranges(backend: Backend, space: int, asked: Sequence[IdRange]) -> list[RangeAnswer]:
    """How ranges of the other store stand to those here. A range of which it has nothing is listed, too, as far as a
    list goes. Cost: reads each turn of a range, once or twice; a transaction for each range."""
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
    """Whether ranges are in order and share no turn: so no question has the whole space read again and again.

    Raises: InvalidBundle.
    """
    at = FIRST
    for each in ranges:
        bounds = [bound for bound in (each.low, each.high) if bound != FIRST]
        if not at <= each.low < each.high or any(as_turn_id(bound) != bound for bound in bounds):
            raise InvalidBundle(name, "it asks about ranges that are none, or in no order")
        at = each.high


def find_different(backend: Backend, space: int, ask: AskAbout, name: str) -> Different | None:
    """The turns that only one side has; None where those are more than ``DIFFERENT_LIMIT``.

    Cost: reads the id and the seal of each turn of the space, and those of ranges that differ again at each cut.
    Raises: ForeignConflict, InvalidBundle.
    """
    found = Different([], [])
    asked = [backend.read(lambda connection: measure_range(connection, space, FIRST, LAST))]
    while asked:
        part, asked = asked[:RANGES_AT_ONCE], asked[RANGES_AT_ONCE:]
        answers = ask(part)
        if len(answers) != len(part):
            raise InvalidBundle(name, "it answers other ranges than it was asked about")
        for range, answer in zip(part, answers, strict=True):
            if answer.cut:
                _check_cut(range, answer.cut, name)
                asked += backend.read(partial(_go_on, space=space, parts=answer.cut, found=found))
            elif not answer.same:
                _check_listed(range, answer.turns, name)
                backend.read(partial(_compare, space=space, range=range, there=answer.turns, found=found))
            if len(found.there) + len(found.here) + len(asked) > DIFFERENT_LIMIT:
                return None
        asked.sort(key=lambda each: each.low)
    return Different(sorted(set(found.there)), sorted(set(found.here)))


def _check_cut(whole: IdRange, parts: Sequence[IdRange], name: str) -> None:
    """Whether the parts are the whole, and each is less: else there would be no end of questions."""
    bounds = [whole.low, *(each.high for each in parts)]
    is_joined = all(part.low == low for part, low in zip(parts, bounds, strict=False))
    if len(parts) < 2 or not is_joined or bounds[-1] != whole.high:
        raise InvalidBundle(name, "it cuts a range in parts that are not that range")
    check_ranges(parts, name)


def _check_listed(range: IdRange, turns: Sequence[TurnMark], name: str) -> None:
    if any(not range.low < each.id <= range.high or as_turn_id(each.id) != each.id for each in turns):
        raise InvalidBundle(name, "it lists turns that are not in the range")


def _go_on(connection: Connection, space: int, parts: Sequence[IdRange], found: Different) -> list[IdRange]:
    """What is asked next about the parts of a range there: those that differ here, cut where they hold many turns."""
    asked: list[IdRange] = []
    for there in parts:
        here = measure_range(connection, space, there.low, there.high)
        if here == there:
            continue
        if not there.count:
            _compare(connection, space, here, (), found)
        elif here.count <= LEFT:
            asked.append(here)
        else:
            asked += cut_range(connection, space, here)
    return asked


def _compare(connection: Connection, space: int, range: IdRange, there: Sequence[TurnMark], found: Different) -> None:
    """Take note of the turns of a range that only one side has, as far as they are not too many."""
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
