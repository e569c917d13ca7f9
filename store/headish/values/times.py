"""Times: as they are stored, in Unix milliseconds, and as people read them in lists, pages and descriptions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def milliseconds_of(moment: datetime) -> int:
    """A time with a zone in Unix milliseconds, rounded down: exact, because it never becomes a float."""
    return (moment - EPOCH) // _MILLISECOND


def from_milliseconds(milliseconds: int) -> datetime:
    """The time of Unix milliseconds, in UTC. Raises: OverflowError past the year 9999."""
    return EPOCH + milliseconds * _MILLISECOND


def local_time(moment: datetime, precision: str = "minutes") -> str:
    """A time in the zone of this machine, with its offset: ``2026-01-01 12:00Z``, ``2026-07-01 14:00+02``.

    ``precision`` is minutes, seconds or milliseconds. The text is ISO 8601 with a space between date and time.
    """
    local = moment.astimezone()
    written = local.replace(tzinfo=None).isoformat(" ", precision)
    offset = local.strftime("%z")
    if offset in ("+0000", "-0000"):
        return f"{written}Z"
    return f"{written}{offset[:3]}" + (f":{offset[3:5]}" if offset[3:5] != "00" else "")
