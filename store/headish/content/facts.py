"""What a turn says of itself under its seal, beside what was said: when, under which key, by whom (rule R36, sealed
facts).

These are keys of ``system``. None of them enters the digest: equal words stay equal, whenever and by whomever they were
said.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from headish.errors import InvalidArgument
from headish.values.times import milliseconds_of

DAY_MILLISECONDS = 24 * 60 * 60 * 1000


class Facts(Struct, frozen=True):
    """The facts of one turn; those that were not given are None. ``said_at`` is in Unix milliseconds."""

    said_at: int | None = None

    def to_system(self) -> dict[str, Any]:
        """As keys of ``system``; absent where they were not given."""
        given = {"said_at": self.said_at}
        return {name: value for name, value in given.items() if value is not None}


def read_facts(turn: Mapping[str, Any]) -> Facts | None:
    """The facts among the options of a turn, None if there are none. Raises: InvalidArgument."""
    if _GIVEN.isdisjoint(turn):  # as of nearly every turn
        return None
    said_at = turn.get("said_at")
    return Facts(said_at=None if said_at is None else read_said_at(said_at))


def read_said_at(given: object) -> int:
    """A time with a zone, or Unix milliseconds, as Unix milliseconds (rule R29, two times).

    Raises: InvalidArgument for another value, a time without a zone, and one that is out of bounds.
    """
    if isinstance(given, datetime):
        if given.tzinfo is None or given.utcoffset() is None:
            raise InvalidArgument(f"said_at needs a time zone, and {given.isoformat()} has none")
        given = milliseconds_of(given)
    elif type(given) is not int:
        raise InvalidArgument(f"said_at takes a datetime with a zone or Unix milliseconds, not {given!r}")
    if not is_plausible(given):
        raise InvalidArgument(f"said_at lies between 1970 and tomorrow; {given} milliseconds do not")
    return given


def plausible_time(given: object) -> int | None:
    """A time that a file names, as ``read_said_at`` takes it or in RFC 3339; None where ``add_turn`` would refuse it.

    An import leaves such a time out, and counts it.
    """
    try:
        return read_said_at(datetime.fromisoformat(given) if isinstance(given, str) else given)
    except (InvalidArgument, ValueError):
        return None


def is_plausible(milliseconds: int) -> bool:
    """Whether something can have been said then: not before 1970, and not more than a day ahead of this clock."""
    return 0 <= milliseconds <= time.time_ns() // 1_000_000 + DAY_MILLISECONDS


_GIVEN = frozenset(Facts.__struct_fields__)
