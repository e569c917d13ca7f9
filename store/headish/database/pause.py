"""Sleep for a random time, so that callers that wait for the same thing do not retry at the same moment."""

from __future__ import annotations

import time


def pause(least_seconds: float, most_seconds: float) -> None:
    """Sleep for a random time between the two."""
    import random  # late: most transactions wait for nobody

    time.sleep(random.uniform(least_seconds, most_seconds))  # noqa: S311 - no secret
