"""A process that erases, and is killed at a step of it: ``python -m support.erasers TARGET SPACE STEP [ID]``.

Used by tests/erasing. Without an id the whole space is erased.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from headish import Database, Store
from headish.database.postgresql import PostgreSQLBackend
from headish.database.sqlite import SQLiteBackend
from headish.history.erasing import collect, erase, spaces


def die(*_: Any, **__: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def then_die(work: Callable[..., Any]) -> Callable[..., Any]:
    """Do what was to be done, and be killed before anything else."""

    def run(*arguments: Any, **named: Any) -> None:
        work(*arguments, **named)
        die()

    return run


def prepare(step: str) -> None:
    """Have the process killed at a step."""
    if step == "before the receipt":
        erase.add_receipt = spaces.add_receipt = die
    elif step == "before the commit":
        erase.add_receipt = spaces.add_receipt = then_die(erase.add_receipt)
    elif step == "before the scrub":
        SQLiteBackend.scrub = PostgreSQLBackend.scrub = die  # type: ignore[assignment, method-assign]
    elif step == "in the scrub":
        SQLiteBackend._empty_log = die  # type: ignore[assignment, method-assign]
    elif step == "before the scrub's receipt":
        collect.note_scrubbed = die  # type: ignore[assignment]


STEPS = ("before the receipt", "before the commit", "before the scrub", "in the scrub", "before the scrub's receipt")

if __name__ == "__main__":
    target, space, step, *ids = sys.argv[1:]
    prepare(step)
    with Store.open(target, space=space) as store:
        if ids:
            store.erase(ids, reason="asked for")
        else:
            Database(store._database).spaces.erase(space, reason="asked for")
        Database(store._database).gc(scrub=True)
    die()
