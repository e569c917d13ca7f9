"""The headish command.

Such a process lives for less than a tenth of a second. Python's collector would spend a fifth of it on looking through
modules, which stay, and on taking them apart when all is done.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Import modules without the collector. If any were imported, no later collection looks at what there is now."""
    was_on, known = gc.isenabled(), len(sys.modules)
    gc.disable()
    try:
        yield
    finally:
        if len(sys.modules) > known:
            gc.freeze()
        if was_on:
            gc.enable()
