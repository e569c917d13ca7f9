"""An answer while it arrives: shown piece by piece, journalled, and in the end one turn.

Whatever happens in between (an error, a cancelled stream, a lost connection), what arrived is stored: as an incomplete
turn, if the end never came.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Self

import msgspec

from headish.errors import TooLarge
from headish.providers.shared.shapes import healed
from headish.providers.shared.values import Delta, Reply
from headish.providers.stream import as_mapping
from headish.store.answers.journal import About, Journal
from headish.store.answers.reading import open_stream
from headish.values.ids import TurnId
from headish.values.turns import Turn


def _encode_halves(event: Any) -> bytes:
    """The JSON of an event with half of a surrogate pair, which stays an escape: whoever recovers the answer joins it
    with the other half."""
    try:
        return json.dumps(event, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        return msgspec.json.encode(healed(event))


class Capture:
    """An answer while it arrives: ``read`` the stream of a provider, or ``feed`` each event, then ``finish``.

    As a context manager it finishes by itself, and stores what arrived even if an exception ends the block::

        request = store.request("main", "openai", model="gpt-5")
        with store.capture(request, "openai") as capture:
            for delta in capture.read(client.chat.completions.create(**request.body)):
                print(delta.content, end="")
        turn = capture.finish()
    """

    def __init__(
        self, about: About, journal: Journal, store: Callable[[About, Reply, TurnId], Turn], limit_bytes: int
    ) -> None:
        self._about, self._journal, self._store, self._limit_bytes = about, journal, store, limit_bytes
        self._stream = open_stream(about)
        self._size_bytes = 0
        self._turn: Turn | None = None
        self.reply: Reply | None = None
        """The reply that the turn was made from, once it is stored."""

    @property
    def ended(self) -> bool:
        """Whether the provider has ended the answer."""
        return self._stream.ended

    def feed(self, event: Mapping[str, Any] | Any) -> list[Delta]:
        """Take an event (a mapping, or an object of the provider's SDK), and return what to show of it.

        Raises: InvalidArgument if it is not an event; TooLarge if the answer outgrows what a turn can hold. ``finish``
        stores what came before.
        """
        event = as_mapping(event)
        try:
            encoded = msgspec.json.encode(event)
        except UnicodeEncodeError:  # half of a surrogate pair; the next event may bring the other half
            encoded = _encode_halves(event)
        except (TypeError, ValueError, RecursionError):
            event = healed(event)
            encoded = msgspec.json.encode(event)
        # Counted before the journal keeps it: an answer without an end must not fill the disk.
        self._size_bytes += len(encoded)
        if self._size_bytes > self._limit_bytes:
            raise TooLarge("an answer", self._size_bytes, self._limit_bytes)
        # Before the event is read: if the reader fails on it, it can still be recovered.
        self._journal.add(encoded)
        return self._stream.feed(event)

    def read(self, events: Iterable[Any]) -> Iterator[Delta]:
        """Take the events of a stream, such as that of a provider's SDK, and yield what to show of each as it arrives.

        Raises: as ``feed``; what the stream raises.
        """
        for event in events:
            yield from self.feed(event)

    def fail(self, message: str) -> None:
        """Report why the answer ended early, if the provider did not say it."""
        if not self._stream.ended:
            self._stream.fail(message)

    def finish(self) -> Turn:
        """Store the answer as one turn, and return it; a second call returns the same turn. The request's bookmark
        moves along if it still points where it did; else the turn is a branch without a name (``meta.bookmark`` is
        None).

        If storing fails, the journal stays: call again, or leave the stream to ``store.streams.recover``.
        """
        if self._turn is None:
            reply = self._stream.finish()
            try:
                self._turn = self._store(self._about, reply, self._journal.id)
            except BaseException:
                self._journal.keep()  # whoever recovers the stream finds all of it
                raise
            self._journal.close()
            self.reply = reply
        return self._turn

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()
