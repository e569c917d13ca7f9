"""Counting calls instead of seconds: what other work on the machine does not disturb. Used for hostile input."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def calls(work: Callable[[], object], called: str = "") -> int:
    """How many calls and returns a work makes; of functions of one name, how many calls."""
    count = 0

    def counted(frame: Any, event: str, function: Any) -> None:
        nonlocal count
        if not called:
            count += 1
        elif event in ("call", "c_call"):
            count += called == (frame.f_code.co_name if event == "call" else getattr(function, "__name__", ""))

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count
