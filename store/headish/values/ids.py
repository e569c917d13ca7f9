"""Turn ids: SCRU128 in 25 base-36 digits, written in lower case (rule I2, minted ids; rule R11, names for turns).

An id is minted inside the write transaction and never below the writer's last one, even if the clock
went back: the generator then continues from its last time instead of starting lower.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, NewType

from headish.errors import CorruptTurn, InvalidArgument, shown

if TYPE_CHECKING:
    from scru128 import Scru128Generator

TurnId = NewType("TurnId", str)
"""25 lower-case base-36 digits. Their order as texts is that of their numbers."""

ID_DIGITS = 25
_ID = re.compile(r"[0-9a-z]{25}", re.ASCII)
_SOME_DIGITS = re.compile(r"[0-9a-z]*", re.ASCII)
_LARGEST = "f5lxx1zz5pnorynqglhzmsp33"  # 2**128 - 1
_ANY_ROLLBACK = 2**48 - 1  # milliseconds: all that an id has bits for
BELOW_TIME = 80  # the bits of an id below its time: counters and random ones
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_PAIRS = [first + second for first in _DIGITS for second in _DIGITS]
_AT_ONCE = 128
_SIX_DIGITS, _TWELVE_DIGITS = 36**6, 36**12


def is_id_shaped(text: str) -> bool:
    """Whether the text is 25 base-36 digits, in either case: no bookmark may look so."""
    return _ID.fullmatch(text.lower()) is not None


def as_turn_id(text: str) -> TurnId | None:
    """The id in lower case, or None if the text is not a SCRU128 id."""
    lowered = text.lower()
    if _ID.fullmatch(lowered) is None or lowered > _LARGEST:
        return None
    return TurnId(lowered)


def is_turn_id(text: str) -> bool:
    """Whether the text is a SCRU128 id as it is written, in lower case."""
    return _ID.fullmatch(text) is not None and text <= _LARGEST


def are_turn_ids(texts: Sequence[str]) -> bool:
    """Whether each of the texts is a SCRU128 id as it is written. Cost: a tenth of asking for each."""
    joined = "".join(texts)
    return (
        {ID_DIGITS}.issuperset(map(len, texts))
        and _SOME_DIGITS.fullmatch(joined) is not None
        and max(texts, default="") <= _LARGEST
    )


def known_id(given: object, called: str) -> TurnId:
    """Read a whole id; ``called`` names the things that are looked up by it. Raises: InvalidArgument."""
    turn_id = as_turn_id(given) if isinstance(given, str) else None
    if turn_id is None:
        raise InvalidArgument(f"{called} are looked up by whole ids, not by {shown(given)}")
    return turn_id


def time_of(turn_id: TurnId) -> datetime:
    """The time a stored id was minted at, in UTC, to the millisecond: the id's first 48 bits.

    Raises: CorruptTurn if it is not an id, or its year cannot be written.
    """
    try:
        milliseconds = int(as_turn_id(turn_id) or "", 36) >> BELOW_TIME
        return datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (AttributeError, TypeError, ValueError, OverflowError):
        raise CorruptTurn(str(turn_id), "its id says no time") from None


def first_id_at(milliseconds: int) -> TurnId:
    """The lowest id of a Unix time; the lowest of all for a time before 1970."""
    return write_id(max(milliseconds, 0) << BELOW_TIME)


def write_id(number: int) -> TurnId:
    """Write a number of 128 bits as an id of 25 digits. Cost: a sixth of ``scru128``, which goes digit by digit."""
    high, low = divmod(number, _TWELVE_DIGITS)
    return TurnId(_write_high(high) + _write_twelve(low))


@lru_cache(maxsize=8)  # ids of one millisecond begin with the same digits
def _write_high(high: int) -> str:
    """The first 13 digits."""
    first, rest = divmod(high, _TWELVE_DIGITS)
    return _DIGITS[first] + _write_twelve(rest)


def _write_twelve(number: int) -> str:
    """Write 12 digits, two at a time, in two halves: small numbers are divided faster."""
    high, low = divmod(number, _SIX_DIGITS)
    return (
        f"{_PAIRS[high // 1296**2]}{_PAIRS[high // 1296 % 1296]}{_PAIRS[high % 1296]}"
        f"{_PAIRS[low // 1296**2]}{_PAIRS[low // 1296 % 1296]}{_PAIRS[low % 1296]}"
    )


Mint = Callable[[], TurnId]
"""Makes the next id."""


class IdMint:
    """Mints the ids of one writer, each above the one before; safe to share between threads, and across ``fork()``."""

    def __init__(self) -> None:
        self._renew()

    def _renew(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()  # a thread that is not in the child may have held the parent's
        self._generator: Scru128Generator | None = None

    def mint(self) -> TurnId:
        """The next id."""
        if os.getpid() != self._process:  # a forked child: with the parent's state it would mint the same ids
            self._renew()
        with self._lock:
            milliseconds = time.time_ns() // 1_000_000
            minted = self._open_generator().generate_or_abort_core(milliseconds, _ANY_ROLLBACK)
        # With this allowance the generator never aborts, however far the clock went back.
        assert minted is not None
        return write_id(int(minted))

    def _open_generator(self) -> Scru128Generator:
        if self._generator is None:
            from scru128 import Scru128Generator  # late: most commands only read, and it imports ``secrets``

            self._generator = Scru128Generator(rng=_Chance())
        return self._generator


class _Chance:
    """Random numbers of at most 32 bits from the system, fetched many at a time: an id takes one or two of them, and
    asking the system for each would take a third of an id's time. For one thread at a time."""

    def __init__(self) -> None:
        self._numbers: list[int] = []

    def getrandbits(self, bits: int) -> int:
        if not self._numbers:
            from array import array  # late, as scru128: most commands only read

            self._numbers += array("I", os.urandom(_AT_ONCE * array("I").itemsize))
        return self._numbers.pop() % (1 << bits)


class KeptIds:
    """The ids of one write. If the write runs again because its outcome is unknown, it gets the same ids, so it stores
    nothing twice."""

    def __init__(self, mint: Mint) -> None:
        self._mint, self._next = mint, 0
        self.ids: list[TurnId] = []
        """All ids that were given out, in order."""

    def rewind(self) -> None:
        """Begin again with the first id, because the write does."""
        self._next = 0

    def __call__(self) -> TurnId:
        if self._next == len(self.ids):
            self.ids.append(self._mint())
        self._next += 1
        return self.ids[self._next - 1]
