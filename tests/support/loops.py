"""Many small cases in one test: each is tried, and all that fail are named. A case of its own costs milliseconds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def failing(cases: Iterable[Any], check: Callable[..., object]) -> dict[str, str]:
    """What each case that fails says, by the case. A tuple holds the arguments of ``check``."""
    tried = list(cases)
    assert tried, "there is nothing to try"
    failed: dict[str, str] = {}
    for case in tried:
        try:
            check(*case if isinstance(case, tuple) else (case,))
        except (Exception, pytest.fail.Exception) as error:  # the second is what `pytest.raises` raises
            failed[str(case)] = f"{type(error).__name__}: {error}"
    return failed
