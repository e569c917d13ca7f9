"""Events for display while a transcript arrives: what an end user may see, as soon as it is certain.

``response.delta`` carries visible text, never retracted and never part of a token or of hidden reasoning; the deltas of
a message join to its text in ``visible``. ``response.done`` comes at the end of every message, hidden ones too.
``response.reasoning_text.delta`` and ``.done`` carry analysis, only with ``reasoning=True``. A message of OpenChatML
0.1 shows only when it is complete.

Source: OpenChatML 2.2 §9, 2.0 §9.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from headish.transcripts.detection import detect, detect_beginning
from headish.transcripts.formats import open_parser
from headish.transcripts.openchatml.frames import is_call
from headish.transcripts.shared.parser import MessageClosed, MessageOpened, MessagePiece, ParserEvent
from headish.transcripts.shared.transcript import KINDS, Transcript, stop_of
from headish.transcripts.views import may_be_seen, visible_text
from headish.values.checks.doors import door

_STARTS = {f"<|start_{kind}|>": f"<|end_{kind}|>" for kind in KINDS}
_START = re.compile("|".join(map(re.escape, _STARTS)))
_LONGEST = max(len(marker) for marker in (*_STARTS, *_STARTS.values()))


class Event(Struct, frozen=True, omit_defaults=True):
    """One event. ``message`` is the index of its message: events of two messages are never mixed."""

    type: str
    message: int
    text: str | None = None
    stop: str | None = None


class TranscriptStream:
    """A transcript that arrives in chunks. After ``finish``, ``rest`` holds the events that came only then.

    Without a ``format`` it is detected (never ``harmony``), and no event comes before it is certain.
    """

    def __init__(self, format: str | None = None, *, reasoning: bool = False, **settings: Any) -> None:
        self._settings = settings
        self._waiting: list[bytes] = []
        self._parser = None if format is None else open_parser(format, **settings)
        self._reasoning = reasoning
        self._is_cancelled = False
        self._index = 0
        self._shown: _Shown | None = None
        self._kind = "response.delta"
        self.rest: list[Event] = []

    @door()
    def feed(self, chunk: str | bytes) -> list[Event]:
        """Read more of the text, and return the events that may be shown. Raises: InvalidTranscript."""
        if self._is_cancelled:
            return []
        if self._parser is None:
            # A lone surrogate passes here: the parser refuses it, with line and column.
            self._waiting.append(chunk.encode(errors="surrogatepass") if isinstance(chunk, str) else chunk)
            format = detect_beginning(b"".join(self._waiting))
            return [] if format is None else self._begin(format)
        self._parser.feed(chunk)
        return self._translate(self._parser.take_events())

    def finish(self, *, partial: bool = False) -> Transcript:
        """The whole transcript. Raises: InvalidTranscript (E-STREAM-TRUNCATED) unless ``partial``."""
        # The text was too short to be certain of its format; now it is complete.
        early = [] if self._parser is not None else self._begin(detect(b"".join(self._waiting)))
        assert self._parser is not None
        self._parser.end_input()
        transcript = self._parser.finish(partial=partial or self._is_cancelled)
        self.rest = early + self._translate(self._parser.take_events())
        return transcript

    def cancel(self) -> list[Event]:
        """Stop rendering (``response.cancel``): later text is not read, and ``finish`` keeps what came so far.

        The message that was cut off has ``stop`` ``none``.
        """
        self._is_cancelled = True
        return [Event("response.cancel", self._index)]

    def flush(self) -> list[Event]:
        """The hint that a paragraph or segment ends here (``response.delta.flush``), if a message is being shown."""
        return [] if self._shown is None else [Event("response.delta.flush", self._index)]

    @property
    def format(self) -> str | None:
        """The format that the text really is, None while that is not known."""
        return None if self._parser is None else self._parser.format

    def _begin(self, format: str) -> list[Event]:
        self._parser = open_parser(format, **self._settings)
        text, self._waiting = b"".join(self._waiting), []
        return self.feed(text)

    def _translate(self, happened: list[ParserEvent]) -> list[Event]:
        events: list[Event] = []
        for each in happened:
            if isinstance(each, MessageOpened):
                self._open(each)
            elif isinstance(each, MessagePiece):
                self._delta(events, self._shown.add(each.text) if self._shown else "")
            else:
                self._close(events, each)
        return events

    def _open(self, opened: MessageOpened) -> None:
        header, self._index = opened.header, opened.number
        calls = is_call(header)
        thinks = header.role == "assistant" and header.channel == "analysis" and not calls
        self._shown = None
        # Its parser gives no pieces: only a complete body tells which tokens enclose reasoning.
        if self.format == "v0.1":
            return
        if thinks and self._reasoning:
            self._shown, self._kind = _Shown(cuts=False), "response.reasoning_text.delta"
        elif not calls and may_be_seen(header.role, header.channel, header.intent):
            # Reasoning can slip into answers only: a user's words are shown as they are.
            self._shown, self._kind = _Shown(cuts=header.role == "assistant"), "response.delta"

    def _close(self, events: list[Event], closed: MessageClosed) -> None:
        if self.format == "v0.1":
            self._kind = "response.delta"
            self._delta(events, visible_text(closed.message))
        elif self._shown is not None:
            self._delta(events, self._shown.end())
        if self._shown is not None and self._kind != "response.delta":
            events.append(Event("response.reasoning_text.done", closed.number))
        events.append(Event("response.done", closed.number, stop=stop_of(closed.message)))
        self._shown = None

    def _delta(self, events: list[Event], text: str) -> None:
        if text:
            events.append(Event(self._kind, self._index, text))


class _Shown:
    """The text of one message without hidden spans, passed on as soon as it is certain."""

    def __init__(self, *, cuts: bool) -> None:
        self._cuts = cuts
        self._held = ""
        self._until: str | None = None

    def add(self, text: str) -> str:
        if not self._cuts:
            return text
        text, at = self._held + text, 0
        shown: list[str] = []
        while True:
            until = self._until
            if until is None:
                marker = _START.search(text, at)
                # What may become a marker is held back: shown text cannot be taken back.
                end = marker.start() if marker else _sure(text, at, tuple(_STARTS))
                shown.append(text[at:end])
                at = end
                if marker is None:
                    break
                self._until, at = _STARTS[marker.group()], marker.end()
            else:
                end = text.find(until, at)
                if end < 0:
                    at = _sure(text, at, (until,))
                    break
                self._until, at = None, end + len(until)
        self._held = text[at:]
        return "".join(shown)

    def end(self) -> str:
        held, self._held = self._held, ""
        return held if self._until is None else ""


def _sure(text: str, begin: int, markers: tuple[str, ...]) -> int:
    """The end of the part of a text from ``begin`` on that cannot belong to a marker which is still arriving."""
    first = max(begin, len(text) - _LONGEST + 1)
    held = (at for at in range(first, len(text)) if any(marker.startswith(text[at:]) for marker in markers))
    return next(held, len(text))
