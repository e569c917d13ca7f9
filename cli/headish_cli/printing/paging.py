"""Long lists go through the user's pager, if they go to a terminal at all.

``HEADISH_PAGER``, else ``PAGER``, else ``less``, is run by the shell, as git runs it. Without settings of its own,
``less`` shows what fits on the screen and ends (-F), keeps colours (-R) and leaves the screen as it is (-X).
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
"""What pagers are told where the user tells them nothing."""


class PagedStream(TextIOWrapper):
    """What a pager reads. It counts as a terminal, because it ends at one: colours, cut lines, written-out controls."""

    def isatty(self) -> bool:
        return True


@contextmanager
def paged(settings: GlobalOptions) -> Iterator[None]:
    """What is printed within goes through the pager where a person reads it. Leaving the pager early is no error.

    Ctrl-C is the pager's own while it runs: it is waited for until it ends.
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
            at_the_end.callback(_end, process, stream, sys.stdout)
            sys.stdout = stream
        with suppress(BrokenPipeError):
            yield


def pager_command() -> str | None:
    """The pager's command line, None where there is to be no pager, or none is found."""
    if not (_is_terminal(sys.stdout) and _is_terminal(sys.stdin)) or os.environ.get("TERM", "dumb") == "dumb":
        return None
    import shlex  # late, as the rest: no pager runs in a pipe
    import shutil

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
    """A pager may show something, and be answered by Ctrl-C, before the call that starts it has returned.

    Raises: KeyboardInterrupt at the end, if Ctrl-C was pressed within.
    """
    import signal  # late, as the rest: it makes enumerations

    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # whoever ignores it wants the pager to ignore it as well
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
            continue  # the pager took it
