"""Times: stored as Unix milliseconds, shown to people in lists and pages, and read as people write them.

A time that people write without an offset is UTC. Inside ``local_times()``, which the command uses, it is in the zone
of this machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock

from headish.errors import InvalidArgument, shown

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
FORMS = "RFC 3339, a date, today, yesterday, now, or like '2 hours ago'"
"""The times that people may write, in the words of errors."""
_is_local: ContextVar[bool] = ContextVar("_is_local", default=False)
# Compiled at first use: few commands are given a time.
_AGO = r"(\d{1,9}|an?)[ ._-](second|minute|hour|day|week)s?[ ._-]ago"
_DAY = r"(today|yesterday|\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d)?))?"


def milliseconds_of(moment: datetime) -> int:
    """A time with a zone in Unix milliseconds, rounded down: exact, because it never becomes a float."""
    return (moment - EPOCH) // _MILLISECOND


def bound_of(moment: datetime) -> int:
    """The first whole millisecond that is not before a time with a zone: a stored time is before one if it is before
    the other."""
    return -((EPOCH - moment) // _MILLISECOND)


def from_milliseconds(milliseconds: int) -> datetime:
    """The time of Unix milliseconds, in UTC. Raises: OverflowError past the year 9999."""
    return EPOCH + milliseconds * _MILLISECOND


def local_time(moment: datetime, precision: str = "minutes") -> str:
    """A time in the zone of this machine, with its offset: ``2026-01-01 12:00Z``, ``2026-07-01 14:00+02``.

    ``precision`` is minutes, seconds or milliseconds. The text is ISO 8601 with a space between date and time.
    """
    local = moment.astimezone()
    text = local.replace(tzinfo=None).isoformat(" ", precision)
    offset = local.strftime("%z")
    if offset in ("+0000", "-0000"):
        return f"{text}Z"
    return f"{text}{offset[:3]}" + (f":{offset[3:5]}" if offset[3:5] != "00" else "")


@contextmanager
def local_times() -> Iterator[None]:
    """Inside this context, a time that is written without an offset is in this machine's zone."""
    before = _is_local.set(True)
    try:
        yield
    finally:
        _is_local.reset(before)


def parse_time(text: str, *, ends: bool = False) -> datetime:
    """A time as people write it, in UTC: RFC 3339, a date with or without a time of day, ``now``, ``today``,
    ``yesterday``, ``yesterday 18:30``, ``2 hours ago``.

    A day alone is its beginning, or with ``ends`` the first moment after it. The blanks of ``2 hours ago`` may be dots,
    so that no shell needs quotes.
    Raises: ValueError for anything else, and for a time outside the years 1 to 9999.
    """
    words = " ".join(text.split()).lower()
    try:
        return _read_ago(words) or _read_day(words, ends) or _with_zone(datetime.fromisoformat(text.strip()))
    except (ValueError, OverflowError, OSError):  # the last two for a year that the system's zones do not reach
        raise ValueError(f"{shown(text)} is not a time: it is written as {FORMS}") from None


def read_moment(given: object, name: str, *, ends: bool = False) -> datetime | None:
    """Read a time that a caller gave: a datetime with a zone, or text as ``parse_time`` reads it. None stays None.

    Raises: InvalidArgument.
    """
    if given is None:
        return None
    if isinstance(given, datetime) and given.tzinfo is not None and given.utcoffset() is not None:
        return given
    if not isinstance(given, str):
        raise InvalidArgument(f"{name} takes a datetime with a zone, or a time as text, not {shown(given)}")
    try:
        return parse_time(given, ends=ends)
    except ValueError as error:
        raise InvalidArgument(f"{name}: {error}") from None


def _read_ago(words: str) -> datetime | None:
    if words == "now":
        return datetime.now(UTC)
    match = re.fullmatch(_AGO, words, re.ASCII)
    if match is None:
        return None
    count = int(match[1]) if match[1].isdigit() else 1
    return datetime.now(UTC) - timedelta(**{f"{match[2]}s": count})


def _read_day(words: str, ends: bool) -> datetime | None:
    # The T of RFC 3339 was lowered with the rest; a word such as ``today`` keeps its t.
    match = re.fullmatch(_DAY, words.replace("t", "T") if words[:1].isdigit() else words, re.ASCII)
    if match is None:
        return None
    today = (datetime.now() if _is_local.get() else datetime.now(UTC)).date()
    days = {"today": today, "yesterday": today - timedelta(days=1)}
    day = days[match[1]] if match[1] in days else date.fromisoformat(match[1])
    if match[2]:
        return _with_zone(datetime.combine(day, clock.fromisoformat(match[2])))
    return _with_zone(datetime.combine(day + timedelta(days=int(ends)), clock()))


def _with_zone(moment: datetime) -> datetime:
    if moment.tzinfo is None and not _is_local.get():
        return moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC)
