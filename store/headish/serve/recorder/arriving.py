"""Show answers while they arrive: the words of a provider so far, for the page, as long as somebody watches.

All of it is apart from the record: a call that cannot be shown is stored like any other. What looks like a key is
hidden before anything is written, even if it comes in two pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from pathlib import Path

from headish.gateway.spool import SpooledCall
from headish.gateway.spool.arriving import (
    ANSWERS_LIMIT,
    ArrivingCall,
    ArrivingWriter,
    files_left,
    open_folder,
    read_watched,
)
from headish.providers.events import EventReader
from headish.providers.shared.values import Delta
from headish.providers.stream import Stream
from headish.serve.recorder.parts import HiddenParts, pieces_of
from headish.serve.recorder.replies import read_chat_event
from headish.serve.recorder.surfaces import find_surface


class ShownAnswers:
    """The answers that arrive, written to files for those who watch their spaces.

    ``describe`` gives the place of a call's answer, as far as its request tells; None if it has no place yet.
    """

    def __init__(self, folder: Path, describe: Callable[[SpooledCall], ArrivingCall | None]) -> None:
        self._folder, self._describe = folder, describe
        self._answers: dict[str, _ShownAnswer | None] = {}  # None for one that is not shown
        self._left = files_left(folder)
        self.watched: frozenset[str] = frozenset()

    def look(self) -> None:
        """Read which spaces are watched; if none is, remove all files. Call it before each look at the spool."""
        self.watched = read_watched(self._folder)
        if not self.watched:
            self.keep(())

    def keep(self, calls: Container[str]) -> None:
        """Remove the files of all calls except ``calls``, those that the reader of the spool holds at this look. A call
        that the look before stored goes only now, so that watchers have had time to read its last words."""
        for each in [each for each in (*self._answers, *self._left) if each not in calls]:
            self._remove(each)

    def show(self, call: SpooledCall) -> None:
        """Write the new part of a call's answer. If that fails, the call is no longer shown."""
        if not call.is_sent or call.head is None or not 200 <= call.head.status < 300:
            return
        if call.is_complete and call.id not in self._answers:  # it is stored in this look, or was before a restart
            return
        try:
            if call.id not in self._answers:
                self._answers[call.id] = self._open(call)
            answer = self._answers[call.id]
            if answer is not None:
                answer.take(call)
        except Exception:  # showing must not end the recorder; storing the call reports what is wrong with it
            self._remove(call.id)
            self._answers[call.id] = None

    def _remove(self, call: str) -> None:
        answer, leftover = self._answers.pop(call, None), self._left.pop(call, None)
        with suppress(OSError):
            if answer is not None:
                answer.writer.remove()
            elif leftover is not None:
                leftover.unlink(missing_ok=True)

    def _open(self, call: SpooledCall) -> _ShownAnswer | None:
        arriving_call = self._describe(call)
        if arriving_call is None or not self._make_room():
            return None
        self._left.pop(call.id, None)
        return _ShownAnswer(ArrivingWriter(open_folder(self._folder), arriving_call), call, arriving_call.model)

    def _make_room(self) -> bool:
        """Whether one more answer can be shown. An answer that has ended, but waits for its space, makes room."""
        answers = {id: answer for id, answer in self._answers.items() if answer is not None}
        if len(answers) < ANSWERS_LIMIT:
            return True
        for id, answer in answers.items():
            if not answer.writer.is_open:
                answer.writer.remove()
                self._answers[id] = None
                return True
        return False


class _ShownAnswer:
    """One answer: how far its events were read, and its file."""

    def __init__(self, writer: ArrivingWriter, call: SpooledCall, model: str | None) -> None:
        surface = find_surface(call.begin.method, call.begin.path)
        assert surface is not None
        self.writer = writer
        self._is_chat = surface.name == "ollama"
        self._events, self._parts = EventReader(), HiddenParts()
        self._stream = Stream(surface.provider, model=model, seed=call.id)
        self._taken = 0

    def take(self, call: SpooledCall) -> None:
        """Write the new part of the answer. Raises: OSError; InvalidReply if it is not an answer."""
        if not self.writer.is_open:
            return
        data, self._taken = call.response_from(self._taken), call.response_size
        pieces = self._parts.feed(pieces_of(self._read(data)))
        if call.is_complete:
            pieces += self._parts.finish()
        has_room = all(self.writer.append(piece) for piece in pieces)
        if call.is_complete or self._parts.is_full or not has_room:
            self.writer.close()

    def _read(self, came: bytes) -> Iterator[Delta]:
        events = self._events.feed(came)
        stream_events = [read_chat_event(event) for event in events] if self._is_chat else events
        return (delta for event in stream_events for delta in self._stream.feed(event))
