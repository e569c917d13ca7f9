"""The entry point of the installed script and of ``python -m headish_cli``."""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Callable

from headish_cli import uncollected

_INTERRUPTED = 130
"""The same as ``options.INTERRUPTED``, which may not be imported yet when Ctrl-C comes."""
_YOUNG_OBJECTS = 10_000
"""The collector runs after this many new objects."""


def main(program: str | None = None) -> None:
    """Run the command and leave the process with its exit code."""
    try:
        _load()(prog_name=program)
    except KeyboardInterrupt:  # Ctrl-C before the command has begun, or after it has ended
        sys.exit(_INTERRUPTED)
    finally:
        _end_at_ctrl_c()


def _end_at_ctrl_c() -> None:
    """From here on Ctrl-C ends the process without a word: the interpreter would tell a traceback and go on."""
    signal = sys.modules["_signal"]  # is always loaded; the module that wraps it takes 3 ms
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # one that is ignored stays so
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _load() -> Callable[..., None]:
    with uncollected():
        from headish_cli.main import main as command
    # Most commands end before they make this many objects, so the collector never scans what they import late.
    gc.set_threshold(_YOUNG_OBJECTS)
    atexit.register(gc.freeze)  # spares the last collection at exit: the system takes the memory back as a whole
    return command


if __name__ == "__main__":
    main("headish")
