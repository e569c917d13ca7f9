"""The headish command.

The process of a command lives for less than a tenth of a second. Python's garbage collector would spend a fifth of that
on scanning modules, which stay loaded anyway, and on freeing them at the end.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Turn the collector off during imports. If any took place, exempt all present objects from later collections."""
    was_on, modules_before = gc.isenabled(), len(sys.modules)
    gc.disable()
    try:
        yield
    finally:
        if len(sys.modules) > modules_before:  # not at each call: freezing again would keep garbage, too
            gc.freeze()
        if was_on:
            gc.enable()
