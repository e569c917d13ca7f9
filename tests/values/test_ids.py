"""Ids as text: 25 digits of base 36, as the reference implementation of SCRU128 writes them."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st
from scru128 import Scru128Id

from headish.values.ids import IdMint, as_turn_id, write_id

LARGEST = 2**128 - 1


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
