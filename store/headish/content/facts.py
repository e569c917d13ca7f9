"""Facts that a turn's seal covers beside its content: time, key and author (rule R36, sealed facts).

These are keys of ``system``. None of them enters the digest: equal words stay equal, whenever and by whomever they were
said.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from headish.errors import InvalidArgument, shown
from headish.values.ids import TurnId, as_turn_id
from headish.values.limits import KEY_LIMIT_BYTES
from headish.values.times import milliseconds_of

DAY_MILLISECONDS = 24 * 60 * 60 * 1000


class Facts(Struct, frozen=True, gc=False):
    """The facts of one turn; those that were not given are None.

    ``said_at`` is in Unix milliseconds, ``key`` in UTF-8. The turn replaces the one that it ``supersedes``, and repeats
    the one that it is a ``copy_of``. If it ``grew``, it says all that the replaced one said, and more.
    """

    said_at: int | None = None
    key: bytes | None = None
    author: str | None = None
    supersedes: TurnId | None = None
    copy_of: TurnId | None = None
    grew: bool | None = None

    @property
    def is_looked_up(self) -> bool:
        """Whether a key or another turn is looked up before the turn is stored."""
        return self.key is not None or self.supersedes is not None or self.copy_of is not None

    def to_system(self) -> dict[str, Any]:
        """The facts as keys of ``system``; those that were not given are absent."""
        values = {name: value for name, value in asdict(self).items() if value is not None}
        return values if self.key is None else {**values, "key": self.key.decode()}


NO_FACTS = Facts()


def read_facts(turn: Mapping[str, Any], author: str | None = None) -> Facts:
    """The facts among the options of a turn. ``author`` is the store's. Raises: InvalidArgument."""
    if author is None and _GIVEN.isdisjoint(turn):  # nearly every turn
        return NO_FACTS
    values = {name: reader(turn[name]) for name, reader in _READERS.items() if turn.get(name) is not None}
    return Facts(**values, author=author)


def read_said_at(given: object) -> int:
    """A time with a zone, or Unix milliseconds, as Unix milliseconds (rule R29, two times).

    Raises: InvalidArgument for another value, a time without a zone, and one that is out of bounds.
    """
    if isinstance(given, datetime):
        if given.tzinfo is None or given.utcoffset() is None:
            raise InvalidArgument(f"said_at needs a time zone, and {given.isoformat()} has none")
        given = milliseconds_of(given)
    elif type(given) is not int:  # by the type itself: True is not a time
        raise InvalidArgument(f"said_at takes a datetime with a zone or Unix milliseconds, not {shown(given)}")
    if not is_plausible(given):
        raise InvalidArgument(f"said_at lies between 1970 and tomorrow; {shown(given)} milliseconds do not")
    return given


def read_key(given: object) -> bytes:
    """A key as it is stored (rule R35, keys). Raises: InvalidArgument."""
    return read_short("key", given).encode()


def read_short(name: str, given: object) -> str:
    """A text of one or more characters, none of which is NUL or a lone surrogate. Raises: InvalidArgument."""
    if not isinstance(given, str):
        raise InvalidArgument(f"{name} takes text, not {shown(given)}")
    if given.isascii() and 0 < len(given) <= KEY_LIMIT_BYTES and "\0" not in given:  # nearly every key
        return given
    encoded = given.encode(errors="surrogatepass")
    if not 0 < len(encoded) <= KEY_LIMIT_BYTES:
        raise InvalidArgument(f"{name} takes 1 to {KEY_LIMIT_BYTES} bytes, not {len(encoded)}")
    # ``replace`` writes a lone surrogate as a question mark, so the two differ only where there is one.
    if "\0" in given or encoded != given.encode(errors="replace"):
        raise InvalidArgument(f"{name} holds no NUL and no lone surrogate")
    return given


def plausible_time(given: object) -> int | None:
    """Read a time of a file, as ``read_said_at`` takes it or in RFC 3339; None if ``add_turn`` would refuse it.

    An import leaves such a time out, and counts it.
    """
    try:
        return read_said_at(datetime.fromisoformat(given) if isinstance(given, str) else given)
    except (InvalidArgument, ValueError):
        return None


def is_plausible(milliseconds: int) -> bool:
    """Whether something can have been said then: not before 1970, and not more than a day ahead of this clock."""
    return 0 <= milliseconds <= time.time_ns() // 1_000_000 + DAY_MILLISECONDS


def _read_turn(name: str) -> Callable[[object], TurnId]:
    def read(given: object) -> TurnId:
        turn_id = as_turn_id(given) if isinstance(given, str) else None
        if turn_id is None:
            raise InvalidArgument(f"{name} takes the 25 digits of a turn id, not {shown(given)}")
        return turn_id

    return read


_READERS: dict[str, Callable[[object], Any]] = {
    "said_at": read_said_at,
    "key": read_key,
    "supersedes": _read_turn("supersedes"),
    "copy_of": _read_turn("copy_of"),
}
_GIVEN = frozenset(_READERS)
