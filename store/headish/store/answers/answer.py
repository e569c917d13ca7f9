"""One question and its answer: events come over HTTP, go into the journal, and come out as deltas.

However the answer ends (a lost connection, a provider's error, an answer that is none, Ctrl-C), what arrived becomes a
turn: ``finish`` stores it.
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

    ``failure`` is what ended it before its end, where it was not the provider who said so.
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
        """End the provider's request at once, from any thread, while another one iterates; and for good.

        Iterating ends after what had arrived, with ``failure`` a CallCancelled, and ``finish`` stores it as an
        incomplete turn. An answer that had ended before is whole.
        """
        self._call.cancel()

    def finish(self) -> Turn:
        """Store what arrived as one turn, and say which. ``turn.meta.reply`` says how it ended."""
        try:
            return self._capture.finish()
        finally:
            self._call.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()
