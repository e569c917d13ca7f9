"""Send long lists through the user's pager, if they go to a terminal.

The shell runs ``HEADISH_PAGER``, else ``PAGER``, else ``less``, as git does. Unless the user sets ``LESS``, ``less``
exits at once if everything fits on the screen (-F), keeps colours (-R) and does not clear the screen (-X).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import TextIOWrapper
from typing import IO, TYPE_CHECKING, TextIO, cast

import click

from headish_cli.options import GlobalOptions

if TYPE_CHECKING:
    from subprocess import Popen

DEFAULTS = {"LESS": "FRX", "LV": "-c"}
"""Environment variables for pagers; the user's own win. They are git's."""


class PagedStream(TextIOWrapper):
    """The input of a pager. It counts as a terminal, because it ends at one: colours, cut lines, escaped controls."""

    def isatty(self) -> bool:
        return True


@contextmanager
def paged(settings: GlobalOptions) -> Iterator[None]:
    """Send what is printed within through the pager, if a person reads it. Leaving the pager early is not an error.

    While the pager runs, Ctrl-C belongs to it, and the command waits until it ends.
    """
    command = None if settings.no_pager else pager_command()
    if command is None:
        yield
        return
    from subprocess import PIPE, Popen  # late: no pager runs in a pipe

    with ExitStack() as at_the_end:
        with _ctrl_c_held_back():
            process = Popen(command, shell=True, stdin=PIPE, env=DEFAULTS | os.environ)  # noqa: S602
            stream = PagedStream(cast(IO[bytes], process.stdin), "utf-8", errors="replace", line_buffering=True)
            # Before stdout changes hands: if anything fails from here on, the terminal still gets its stream back.
            at_the_end.callback(_end, process, stream, sys.stdout)
            sys.stdout = stream
        with suppress(BrokenPipeError):
            yield


def pager_command() -> str | None:
    """The pager's command line; None without a terminal, for ``cat`` or an empty setting, or if it is not installed."""
    if not (_is_terminal(sys.stdout) and _is_terminal(sys.stdin)) or os.environ.get("TERM", "dumb") == "dumb":
        return None
    import shlex  # late, as the others: without a terminal no pager runs
    import shutil

    # Not `or`: an empty variable switches the pager off.
    command = os.environ.get("HEADISH_PAGER", os.environ.get("PAGER", "less")).strip()
    try:
        words = shlex.split(command)
    except ValueError:
        raise click.UsageError(f"the pager cannot be read as a command: {command}") from None
    return command if words and words != ["cat"] and shutil.which(words[0]) else None


def _is_terminal(stream: object) -> bool:
    return stream is not None and cast(IO[str], stream).isatty()


@contextmanager
def _ctrl_c_held_back() -> Iterator[None]:
    """Hold Ctrl-C back while the pager starts: a person may press it before the call that starts it has returned.

    Raises: KeyboardInterrupt at the end, if Ctrl-C was pressed within.
    """
    import signal  # late, as the rest: it makes enumerations

    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # a process that ignores Ctrl-C wants its pager to ignore it as well
        yield
        return
    pressed: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


def _end(process: Popen[bytes], stream: PagedStream, terminal: TextIO) -> None:
    sys.stdout = terminal
    while True:
        try:
            with suppress(BrokenPipeError):
                stream.close()
            process.wait()
            return
        except KeyboardInterrupt:
            continue  # Ctrl-C was meant for the pager, which still runs
