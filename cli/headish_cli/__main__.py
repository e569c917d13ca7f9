"""The process of a command: what the installed script and ``python -m headish_cli`` run."""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Callable

from headish_cli import uncollected

_INTERRUPTED = 130
"""As ``options.INTERRUPTED``, which may not be loaded yet."""
_YOUNG_OBJECTS = 10_000
"""After how many new objects the collector looks for those that nothing refers to."""


def main(program: str | None = None) -> None:
    """Run the command and leave the process with its exit code."""
    try:
        _load()(prog_name=program)
    except KeyboardInterrupt:  # Ctrl-C before the command has begun, or after it has ended
        sys.exit(_INTERRUPTED)


def _load() -> Callable[..., None]:
    with uncollected():
        from headish_cli.main import main as command
    # Most commands end before so many are made: what they import meanwhile is not looked through again and again.
    gc.set_threshold(_YOUNG_OBJECTS)
    atexit.register(gc.freeze)  # the system takes the memory back as a whole
    return command


if __name__ == "__main__":
    main("headish")
