"""The process of a command: what the installed script and ``python -m headish_cli`` run.

Such a process lives for less than a tenth of a second. Python's collector would spend a fifth of it on looking through
modules, which stay, and on taking them apart when all is done.
"""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Callable

_INTERRUPTED = 130
"""As ``options.INTERRUPTED``, which may not be loaded yet."""


def main(program: str | None = None) -> None:
    """Run the command and leave the process with its exit code."""
    try:
        _load()(prog_name=program)
    except KeyboardInterrupt:  # Ctrl-C before the command has begun, or after it has ended
        sys.exit(_INTERRUPTED)


def _load() -> Callable[..., None]:
    gc.disable()
    from headish_cli.main import main as command

    gc.freeze()  # what was made so far are modules: no collection looks at them again
    gc.enable()
    atexit.register(gc.freeze)  # the system takes the memory back as a whole
    return command


if __name__ == "__main__":
    main("headish")
