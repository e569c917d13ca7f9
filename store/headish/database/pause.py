"""Sleeps of a random length: whoever waits for the same thing does not ask for it at the same time again."""

from __future__ import annotations

import time


def pause(least_seconds: float, most_seconds: float) -> None:
    """Sleep for a random time between the two."""
    import random  # late: most transactions wait for nobody

    time.sleep(random.uniform(least_seconds, most_seconds))  # noqa: S311 - no secret
