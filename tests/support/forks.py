"""Forks of the test's own process, and threads that are at work when it forks.

Used by tests/concurrency and tests/integrations.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

SECONDS = 60


class Child:
    """A forked child that does some work; ``end`` waits for it."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._process = os.fork()
        if self._process == 0:
            code = 1
            signal.alarm(SECONDS)  # a child that hangs ends, and the test fails
            try:
                work()
                code = 0
            finally:
                os._exit(code)

    def end(self) -> None:
        assert os.waitpid(self._process, 0)[1] == 0


class Halt:
    """A place where a thread of this process waits until the process has forked."""

    def __init__(self) -> None:
        self._parent, self._begun, self._forked = os.getpid(), threading.Event(), threading.Event()

    def wait(self) -> None:
        """Wait here, unless it is the child that comes by."""
        if os.getpid() == self._parent:
            self._begun.set()
            assert self._forked.wait(SECONDS)

    def fork(self, work: Callable[[], object], of_the_child: Callable[[], object]) -> None:
        """Fork while a thread is at this place in its work; the child must end its own."""
        thread = threading.Thread(target=work)
        thread.start()
        assert self._begun.wait(SECONDS)
        child = Child(of_the_child)
        self._forked.set()
        thread.join(SECONDS)
        child.end()
