"""A live remote in this process: the other end answers in a thread, over pipes that count and can be cut."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from headish import Store
from headish.errors import HeadishError, RemoteUnavailable
from headish.remotes.commands import Pipes
from headish.store.keeping.sharing import live

Answer = Callable[[int, int], object]
"""What answers, over the descriptors that it reads from and writes to."""


class CountedPipes(Pipes):
    """Pipes that count what goes through them, and end after so many bytes of a direction."""

    def __init__(self, name: str, reads: int, writes: int, cut_out: int | None, cut_back: int | None) -> None:
        super().__init__(name, reads, writes)
        self.out = self.back = self.round_trips = 0
        self._cut_out, self._cut_back, self._has_asked = cut_out, cut_back, False

    def read(self, length: int) -> bytes:
        self.round_trips += self._has_asked
        self._has_asked = False
        wanted = length if self._cut_back is None else min(length, self._cut_back - self.back)
        data = super().read(wanted)
        self.back += len(data)
        self.ended = self.ended or len(data) < length
        return data

    def write(self, data: bytes) -> None:
        self._has_asked = True
        wanted = data if self._cut_out is None else data[: max(0, self._cut_out - self.out)]
        super().write(wanted)
        self.out += len(data)
        if len(wanted) < len(data):
            # As if this side had been cut off there. The number stays ours until the line ends: closed here and there
            # again, it could be somebody else's by then.
            with open(os.devnull, "wb") as nowhere:
                os.dup2(nowhere.fileno(), self._writes)
            raise RemoteUnavailable(self.name, "it was cut off")


class Line:
    """What stands in for a command: made for each conversation, it has the other end answer. ``error`` is what the last
    one ended with there."""

    def __init__(self, answer: Answer, cut_out: int | None = None, cut_back: int | None = None) -> None:
        self._answer, self._cuts = answer, (cut_out, cut_back)
        self.has_ended = False
        self.error: BaseException | None = None
        self.pipes: CountedPipes

    def __call__(self, url: str, arguments: list[str]) -> Line:
        there, here = os.pipe(), os.pipe()
        self._ends = {there[1], here[0]}
        self.pipes = CountedPipes(url, here[0], there[1], *self._cuts)
        self._thread = threading.Thread(target=self._run, args=(there[0], here[1]))
        self._thread.start()
        return self

    def _run(self, reads: int, writes: int) -> None:
        self.error = None
        try:
            self._answer(reads, writes)
        except HeadishError as error:
            self.error = error
        finally:
            for each in (reads, writes):
                with suppress(OSError):
                    os.close(each)

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._ends:
            with suppress(OSError):
                os.close(each)
        self._thread.join()

    def why(self, reason: str) -> str:
        return reason


@contextmanager
def line_to(there: Store | Answer, **options: Any) -> Iterator[Line]:
    """Every live remote is a store of this process, or what answers in its place; ``names`` and ``trust`` are those of
    the one that answers."""
    cuts = {each: options.pop(each) for each in ("cut_out", "cut_back") if each in options}
    answer = there
    if isinstance(there, Store):
        store = there

        def answer(reads: int, writes: int) -> object:
            return store.remotes.answer(reads, writes, **options)

    line = Line(answer, **cuts)  # type: ignore[arg-type]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(live, "Command", line)
        yield line
