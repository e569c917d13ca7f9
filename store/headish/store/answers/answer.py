"""One question and its answer: events come over HTTP, go into the journal, and come out as deltas.

However the answer ends (a lost connection, a provider's error, an invalid answer, Ctrl-C), what arrived becomes a turn:
``finish`` stores it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

from headish.calls import Call
from headish.errors import CallCancelled, CallError, HeadishError, InvalidReply, TooLarge
from headish.providers import Delta, Request
from headish.store.answers.capture import Capture
from headish.values.turns import Turn


class Answer:
    """An answer that has begun: iterate over its deltas, then ``finish``. As a context manager it finishes by itself.

    ``failure`` is the error that cut it off, unless the provider itself reported one.
    """

    def __init__(self, request: Request, call: Call, capture: Capture) -> None:
        self.request = request
        self.failure: HeadishError | None = None
        self._call, self._capture = call, capture

    def __iter__(self) -> Iterator[Delta]:
        try:
            for event in self._call:
                yield from self._capture.feed(event)
        except CallCancelled as error:
            self.failure = error  # the reply is incomplete, as after Ctrl-C; nothing failed
        except (CallError, InvalidReply, TooLarge) as error:
            self.failure = error
            self._capture.fail(str(error))

    def cancel(self) -> None:
        """End the provider's request at once and for good; any thread may do so while another one iterates.

        The iteration ends after what had arrived. ``failure`` is then a CallCancelled, and ``finish`` stores an
        incomplete turn. An answer that had ended before is whole.
        """
        self._call.cancel()

    def finish(self) -> Turn:
        """Store what arrived as one turn, and return it. ``turn.meta.reply`` says how it ended."""
        try:
            return self._capture.finish()
        finally:
            self._call.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()
