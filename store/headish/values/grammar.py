"""The grammar of a headish: text that names a turn.

::

    headish  =  base suffix*
    base     =  "@"                  the newest turn of the space
             |  id                   25 base-36 digits, in either case
             |  name                 a bookmark; else a handle, 6 letters from k to z or more (rule R25, handles), or
                                     an id prefix of at least 8 digits (rule R11, names for turns)
             |  handle ":" digits    a handle that several turns have, and the last digits of the id
    suffix   =  "~" [n]              n steps back along the first parent (default 1)
             |  "^" [n]              the n-th turn that it continues (default 1; ^0 is the turn itself)
             |  "@{" n "}"           where the bookmark was n moves ago; directly after its name
             |  "@{" time "}"        where the bookmark was at that time: RFC 3339, a date, yesterday, 2 hours ago
                                     (values/times.py; UTC if no offset is given)

Parsing looks nothing up: history/reading/find.py finds what the base names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache

from msgspec import Struct

from headish.errors import InvalidArgument, InvalidHeadish, shown
from headish.values.handles import Handle, as_handle, is_twin_shaped
from headish.values.ids import TurnId, as_turn_id
from headish.values.limits import HEADISH_LIMIT, PREFIX_MINIMUM
from headish.values.names import refusal
from headish.values.times import FORMS, parse_time

NEWEST = "@"
NO_RANGE = "only log and diff take a range A..B; verbs over several turns take the first and the last as two arguments"
_SPECIAL = frozenset("~^@{}")
# Compiled at first use: most headishes are bare names.
_BASE = r"[^~^@{}]+|@(?!\{)"
_SUFFIX = r"(?P<back>~[0-9]{0,9})|(?P<parent>\^[0-9]{0,9})|@\{(?P<past>[^{}]*)\}"
_PREFIX = rf"[0-9a-z]{{{PREFIX_MINIMUM},24}}"


class Back(Struct, frozen=True):
    """``~n``."""

    steps: int


class Parent(Struct, frozen=True):
    """``^n``."""

    number: int


class Headish(Struct, frozen=True):
    """A headish, taken apart. Exactly one of ``id`` and ``name`` is set; for the newest turn ``name`` is ``@``.

    ``past`` is how many moves ago, or when; ``steps`` are the suffixes after it, in order.
    """

    text: str
    id: TurnId | None = None
    name: str | None = None
    past: int | datetime | None = None
    steps: tuple[Back | Parent, ...] = ()

    @property
    def bookmark(self) -> str | None:
        """The name, if the headish is a bare name: only such a bookmark moves because it was named (rule R2, one name
        moves)."""
        bare = self.past is None and not self.steps and self.name != NEWEST
        return self.name if bare else None

    @property
    def prefix(self) -> str | None:
        """The name as an id prefix, if it could be one."""
        lowered = (self.name or "").lower()
        return lowered if re.fullmatch(_PREFIX, lowered, re.ASCII) else None

    @property
    def handle(self) -> Handle | None:
        """The name as a handle, if it could be one."""
        return as_handle(self.name or "")


def parse_headish(text: object) -> Headish:
    """Parse a headish.

    Raises: InvalidHeadish with what is wrong.
    """
    if not isinstance(text, str):
        raise InvalidHeadish(shown(text), "it must be text")
    if len(text) > HEADISH_LIMIT:
        raise InvalidHeadish(text, f"it is longer than {HEADISH_LIMIT} characters")
    text = str.__str__(text)  # the cache would give a caller's own class of text to those that ask for an equal one
    # Not cached: a time may count from now, or be in this machine's zone.
    return _parse.__wrapped__(text) if "@{" in text else _parse(text)


def parse_headishes(given: object) -> list[Headish]:
    """Parse one headish or several.

    Raises: InvalidHeadish; InvalidArgument for anything but text or a list of texts.
    """
    if isinstance(given, str):
        return [parse_headish(given)]
    if not isinstance(given, Iterable) or isinstance(given, Mapping | bytes | bytearray | memoryview):
        raise InvalidArgument(f"a headish is text, several are a list of texts; this is {shown(given)}")
    return [parse_headish(each) for each in given]


# A conversation continues the same few names again and again.
@lru_cache(maxsize=256)
def _parse(text: str) -> Headish:
    is_bare = bool(text) and _SPECIAL.isdisjoint(text)
    base = text if is_bare else _read_base(text)
    place = len(base)
    past: int | datetime | None = None
    steps: list[Back | Parent] = []
    while place < len(text):
        suffix = re.compile(_SUFFIX).match(text, place)
        if suffix is None and text.startswith("..", place):
            raise InvalidHeadish(text, NO_RANGE)
        if suffix is None:
            raise InvalidHeadish(text, f"{text[place:]!r} is not a suffix: use ~n, ^n, @{{n}} or @{{time}}")
        if suffix["past"] is not None:
            if past is not None or steps or base == NEWEST:
                raise InvalidHeadish(text, "@{…} must follow the name of a bookmark directly, and only once")
            past = _read_past(text, suffix["past"])
        else:
            steps.append(_read_step(suffix.group()))
        place = suffix.end()
    return _with_base(text, base, past, tuple(steps))


def _read_base(text: str) -> str:
    """The part before the suffixes."""
    match = re.match(_BASE, text)
    if match is None:
        alone = "@{…} stands behind the name of a bookmark, as in main@{1}"
        raise InvalidHeadish(text, alone if text[:2] == "@{" else "it must begin with an id, a bookmark or @")
    return match.group()


def _with_base(text: str, base: str, past: int | datetime | None, steps: tuple[Back | Parent, ...]) -> Headish:
    if base == NEWEST:
        return Headish(text, name=NEWEST, steps=steps)
    turn_id = as_turn_id(base)
    if turn_id is not None:
        if past is not None:
            raise InvalidHeadish(text, "only a bookmark has past positions, an id has none")
        return Headish(text, id=turn_id, steps=steps)
    reason = refusal(base)
    # A colon is not allowed in a name, but a handle with digits of an id has one.
    if reason is not None and not is_twin_shaped(base):
        raise InvalidHeadish(text, reason)
    return Headish(text, name=base, past=past, steps=steps)


def _read_step(suffix: str) -> Back | Parent:
    number = int(suffix[1:] or "1")
    return Back(number) if suffix[0] == "~" else Parent(number)


def _read_past(text: str, inside: str) -> int | datetime:
    if inside.isascii() and inside.isdigit() and len(inside) < 10:
        return int(inside)
    try:
        return parse_time(inside)
    except ValueError:
        raise InvalidHeadish(text, f"{inside!r} is neither a number of moves nor a time ({FORMS})") from None
