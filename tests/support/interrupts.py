"""Signals whose handler raises at a random moment of a call, as Ctrl-C does.

Used by tests/concurrency, and by tests/soak for many more of them.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count

from headish import Store

LOCKS_LEAK = sys.version_info[:2] == (3, 14)
WHY_LOCKS_LEAK = (
    "Python 3.14 leaves a lock locked if a signal's handler raises between the lock and the body of its `with` "
    "(github.com/python/cpython/issues/148874); run this on another Python"
)


class Interrupted(BaseException):
    """What the signal's handler raises: no error that anybody catches."""


@contextmanager
def interrupting() -> Iterator[None]:
    """SIGALRM raises ``Interrupted`` inside the block. Python swallows one that it raises inside a destructor."""

    def interrupt(*_: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def is_free(store: Store) -> None:
    """Another connection can write at once: no transaction was left open."""
    path = store._backend.target
    with sqlite3.connect(path, timeout=0, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")


def interrupted_calls(store: Store, interrupts: int, seed: int, *, is_alone: bool = True) -> dict[str, str]:
    """Turns on ``main``, until so many calls were interrupted; the text of each acknowledged one, by its id."""
    chance, acknowledged, sent = random.Random(seed), dict[str, str](), 0
    numbers, is_file = count(), os.path.exists(store._backend.target)
    while sent < interrupts:
        try:
            signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.00005, 0.003))
            for _ in range(100):
                text = f"{seed} {next(numbers)}"  # once each: whoever finds it twice has found a defect
                acknowledged[store.add_turn(text, continues="main").id] = text
                store.get("main")
        except Interrupted:
            sent += 1
        finally:
            with suppress(Interrupted):
                signal.setitimer(signal.ITIMER_REAL, 0)
        if is_file and is_alone and sent % 10 == 0:
            is_free(store)
    return acknowledged
