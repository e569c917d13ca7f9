"""The base of all parsers of transcripts: they take chunks, and give messages and events.

Reading a whole text loops over the incremental parser, so there is one parser for each family of formats.
"""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from headish.errors import InvalidTranscript
from headish.transcripts.shared.source import SourceText
from headish.transcripts.shared.transcript import Header, Transcript
from headish.values.messages import Message


class MessageOpened(NamedTuple):
    """A message begins. Its header decides who may see it."""

    number: int
    header: Header


class MessagePiece(NamedTuple):
    """Text of the message that is open, as it came."""

    text: str


class MessageClosed(NamedTuple):
    """A message is complete."""

    number: int
    message: Message


ParserEvent = MessageOpened | MessagePiece | MessageClosed


class Parser(ABC):
    """An incremental parser. ``messages`` and ``events`` are those since they were last taken; messages are complete.

    ``count`` is the number of all complete messages so far, taken ones included.
    """

    _state: Callable[[], bool]
    """Reads on by about one token. False if more input is needed."""

    def __init__(self, format: str) -> None:
        self._source = SourceText(format)
        self.messages: list[Message] = []
        self.count = 0
        self.events: list[ParserEvent] = []
        self._decode = codecs.getincrementaldecoder("utf-8")().decode
        self._is_first = True

    def feed(self, chunk: str | bytes) -> None:
        """Read more of the text. Raises: InvalidTranscript."""
        text, broken = (chunk, None) if isinstance(chunk, str) else self._decode_bytes(chunk)
        if self._is_first and text:
            # A byte order mark at the very start is dropped; elsewhere it is text.
            self._is_first, text = False, text.removeprefix("\ufeff")
        surrogate = _first_surrogate(text)
        # What comes before a bad character is read first, so that any chunking gives the same messages and error.
        self._source.add(text if surrogate is None else text[:surrogate])
        while self._state():
            pass
        if surrogate is not None or broken is not None:
            reason = broken or "a lone surrogate has no UTF-8"
            raise self._source.error("E-PARSE-ENCODING", reason, len(self._source.text))

    @property
    def format(self) -> str:
        """The format that the text really is: a header's version picks the grammar of a 2.x file."""
        return self._source.format

    def take_messages(self) -> list[Message]:
        """Take the messages that are complete; ``finish`` gives only those that were not taken."""
        messages, self.messages = self.messages, []
        return messages

    def take_events(self) -> list[ParserEvent]:
        """Take the events since the last time."""
        events, self.events = self.events, []
        return events

    def end_input(self) -> None:
        """Tell the parser that no more bytes come. Raises: InvalidTranscript for a character that was cut off."""
        try:
            self._decode(b"", True)
        except UnicodeDecodeError:
            raise self._source.error(
                "E-PARSE-ENCODING", "the text ends inside a character", len(self._source.text)
            ) from None

    def _add_message(self, message: Message) -> None:
        self.messages.append(message)
        self.events.append(MessageClosed(self.count, message))
        self.count += 1

    def _go(self, state: Callable[[], bool]) -> bool:
        self._state = state
        return True

    def finish(self, *, partial: bool = False) -> Transcript:
        """The transcript, when no more input comes. Raises: InvalidTranscript (E-STREAM-TRUNCATED)."""
        pending, tail = None, None
        try:
            pending = self._finish()
        except InvalidTranscript as error:
            # Any other error is one of what came, and stays an error.
            if not partial or error.code != "E-STREAM-TRUNCATED":
                raise
            tail = self._finish_partially()
        return replace(self._around(), messages=tuple(self.messages), pending=pending, tail=tail, format=self.format)

    @abstractmethod
    def _finish(self) -> Message | None:
        """The open header at the end, if there is one. Raises: InvalidTranscript if a message is cut off."""

    @abstractmethod
    def _finish_partially(self) -> str | None:
        """Close the message that was cut off, or return the raw rest if even its header is incomplete."""

    def _around(self) -> Transcript:
        """The parts of the text around the messages, as a transcript without messages."""
        return Transcript()

    def _decode_bytes(self, chunk: bytes) -> tuple[str, str | None]:
        """The text of a chunk up to the first bad byte, and what is wrong there."""
        try:
            return self._decode(chunk), None
        except UnicodeDecodeError as error:
            # ``object`` also holds the bytes of a character that the chunk before left incomplete.
            held = error.object[: error.start]
            return held.decode(), f"this is not UTF-8 ({error.reason})"


def _first_surrogate(text: str) -> int | None:
    if text.isascii():
        return None
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return error.start
    return None
