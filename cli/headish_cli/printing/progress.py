"""Draw progress bars on standard error while something takes long, if it is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

FEW = 10_000
"""Fewer turns than this are done before a person would see a bar."""


@contextmanager
def counting_turns(what: str, total: int | None = None) -> Iterator[Callable[[int], None] | None]:
    """Draw a bar of turns on a terminal, if there are many turns or their number is unknown."""
    if not sys.stderr.isatty() or (total is not None and total < FEW):
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    # transient: the bar is gone when the result is printed.
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.advance(task, done)
