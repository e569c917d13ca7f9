"""Ids: their numbers, and their 25 digits, as the reference implementation of SCRU128 makes and writes them."""

from __future__ import annotations

import random
from collections.abc import Sequence

from hypothesis import example, given
from hypothesis import strategies as st
from scru128 import Scru128Generator, Scru128Id

from headish.values.ids import Generator, IdMint, as_turn_id, write_id

LARGEST = 2**128 - 1
ANY_ROLLBACK = 2**48 - 1
DAY = 24 * 3600 * 1000
FULL = 2**24 - 1


@given(st.integers(0, LARGEST))
@example(0)
@example(36**12 - 1)
@example(36**12)
@example(LARGEST)
def test_a_number_is_written_as_the_reference_writes_it(number: int) -> None:
    assert write_id(number) == str(Scru128Id(number)).lower()


def test_a_writer_mints_rising_ids_whose_chance_part_differs() -> None:
    mint = IdMint()
    ids = [mint.mint() for _ in range(1000)]
    assert ids == sorted(set(ids))
    assert all(as_turn_id(each) == each for each in ids)
    assert len({Scru128Id.from_str(each).entropy for each in ids}) > 990


class Drawn:
    """The same chance for both implementations, each with a copy of its own: a seed, or the largest number always."""

    def __init__(self, seed: int, *, largest: bool = False) -> None:
        self._random, self._largest = random.Random(seed), largest

    def __call__(self) -> int:
        drawn = self._random.getrandbits(32)
        return 2**32 - 1 if self._largest else drawn

    def getrandbits(self, bits: int) -> int:
        return self() % (1 << bits)


def both(times: Sequence[int], seed: int, *, largest: bool = False) -> tuple[list[int], list[int]]:
    """The numbers that headish makes at these times, and those of the reference."""
    ours, theirs = Generator(Drawn(seed, largest=largest)), Scru128Generator(rng=Drawn(seed, largest=largest))
    made = [theirs.generate_or_abort_core(each, ANY_ROLLBACK) for each in times]
    return [ours.next(each) for each in times], [int(each) for each in made if each is not None]


@given(st.lists(st.integers(1, 3_000) | st.integers(DAY, 2 * DAY), min_size=1, max_size=60), st.integers(0, 2**32))
@example([1, 1, 1, 1000, 1001, 1002, 2001, 5, 2002], 0)
def test_numbers_are_those_of_the_reference_whatever_the_clock_does(times: list[int], seed: int) -> None:
    ours, theirs = both(times, seed)
    assert ours == theirs
    assert ours == sorted(set(ours))


def test_full_counters_carry_over_as_in_the_reference() -> None:
    ours, theirs = both([7] * 5 + [8, 8], 0, largest=True)
    assert ours == theirs == sorted(set(ours))
    counters = [(each.timestamp, each.counter_hi, each.counter_lo) for each in map(Scru128Id, ours)]
    # Both are full at once, so the second number is of the next millisecond, and there the lower one is full again.
    assert counters[:4] == [(7, FULL, FULL), (8, 0, FULL), (8, 1, 0), (8, 1, 1)]
