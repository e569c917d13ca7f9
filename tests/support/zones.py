"""The zone of the machine, as a test wants it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest

ZONES = (("UTC0", "Z", 0), ("XYZ-02", "+02", 2), ("XYZ+03:30", "-03:30", -3.5))
"""A zone as POSIX writes it, its offset as headish does, and the hours to add to UTC."""
needs_zones = pytest.mark.skipif(
    not hasattr(time, "tzset"), reason="the zone cannot be set here; run this on a POSIX system"
)


@contextmanager
def in_zone(zone: str) -> Iterator[None]:
    """Local time is that of the zone meanwhile."""
    try:
        with patch.dict(os.environ, {"TZ": zone}):
            time.tzset()
            yield
    finally:
        time.tzset()
