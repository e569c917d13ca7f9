"""Times of other programs, as ``plausible_time`` takes them."""

from __future__ import annotations

from typing import Any


def milliseconds(time: Any) -> Any:
    """Unix seconds, milliseconds, microseconds or nanoseconds, told by their size, as milliseconds; anything else as it
    is, to be read as a text or left out and counted."""
    if isinstance(time, bool) or not isinstance(time, int | float) or not abs(time) < 1e21:
        return time
    for limit, factor in ((1e11, 1000.0), (1e14, 1.0), (1e17, 1e-3)):
        if abs(time) < limit:
            return round(time * factor)
    return round(time / 1_000_000)
