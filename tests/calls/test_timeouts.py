"""Times of a call, as they are given: only the whole call may have no limit."""

from __future__ import annotations

from threading import TIMEOUT_MAX
from typing import Any

import pytest

from headish.calls import Timeouts
from headish.errors import InvalidArgument

FIELDS = ("connect_seconds", "first_byte_seconds", "silence_seconds")


@pytest.mark.parametrize("name", [*FIELDS, "total_seconds"])
def test_a_time_is_a_number_of_seconds_above_0(name: str) -> None:
    for wrong in (0, -1, True, "5", float("nan"), float("inf"), TIMEOUT_MAX * 2, *([None] if name in FIELDS else [])):
        with pytest.raises(InvalidArgument, match=f"{name} is a number of seconds above 0"):
            Timeouts(**{name: wrong})
    for right in (0.001, 1, TIMEOUT_MAX):
        given: dict[str, Any] = {name: right}
        assert getattr(Timeouts(**given), name) == right


def test_the_whole_call_may_go_on_for_ever() -> None:
    assert Timeouts(total_seconds=None).total_seconds is None
