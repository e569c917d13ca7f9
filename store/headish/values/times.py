"""Times as people read them: one rule for lists, pages and descriptions of turns."""

from __future__ import annotations

from datetime import datetime


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
