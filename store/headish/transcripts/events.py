"""Build messages from display events, complete or not, for a store to keep.

A message whose ``done`` never came, or whose rendering was cancelled, is kept with ``stop`` ``none``.

Source: OpenChatML 2.2 §9, 2.0 §9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from msgspec import Struct

from headish.errors import InvalidInterchange, shown
from headish.transcripts.shared.transcript import make_message
from headish.transcripts.stream import Event
from headish.values.blocks import Text, Thinking
from headish.values.checks.doors import door
from headish.values.messages import Message

TARGET = "stream of events"
DELTA, REASONING = "response.delta", "response.reasoning_text.delta"
DONE, REASONING_DONE, CANCEL = "response.done", "response.reasoning_text.done", "response.cancel"
SUMMARY = "response.reasoning_summary_text"
IGNORED = ("response.delta.flush", "tool.cancel", f"{SUMMARY}.delta", f"{SUMMARY}.done")
"""Events that are not part of a message: a hint for the display, one for routing, and summaries of reasoning."""


class _Open(Struct):
    """A message whose events are being read."""

    kind: str
    texts: list[str]
    stop: str | None = None


@door()
def from_events(events: Iterable[Event | Mapping[str, Any]]) -> tuple[Message, ...]:
    """The assistant's messages that events tell of, in order; one without text is left out.

    Raises: InvalidInterchange (E-MAP-INPUT) for an event of an unknown type, or text after an end.
    """
    opened: dict[int, _Open] = {}
    for event in events:
        kind, number, text, stop = _read(event)
        if kind in IGNORED:
            continue
        # A cancellation without an index means the message that is being shown: the newest.
        if kind == CANCEL and number is None:
            number = max(opened, default=0)
        if number is None:
            raise InvalidInterchange(TARGET, f"{kind} without the index of its message")
        _HANDLERS[kind](opened, number, text, stop)
    return tuple(_close(message) for _, message in sorted(opened.items()) if message.texts)


def _read(event: Event | Mapping[str, Any]) -> tuple[str, int | None, str, str | None]:
    if isinstance(event, Event):
        return event.type, event.message, event.text or "", event.stop
    if not isinstance(event, Mapping):
        raise InvalidInterchange(TARGET, f"an event is a mapping, not {shown(event)}")
    kind, number, text, stop = (event.get(key) for key in ("type", "message", "text", "stop"))
    if not isinstance(kind, str) or (kind not in _HANDLERS and kind not in IGNORED):
        raise InvalidInterchange(TARGET, f"an event of type {shown(kind)}")
    if not isinstance(number, int | None) or not isinstance(text, str | None) or not isinstance(stop, str | None):
        raise InvalidInterchange(TARGET, f"{kind} whose message, text or stop is of another type")
    return kind, number, text or "", stop


def _append(kind: str, told: dict[int, _Open], number: int, text: str, _stop: str | None) -> None:
    message = told.setdefault(number, _Open(kind, []))
    if message.stop is not None or message.kind != kind:
        raise InvalidInterchange(TARGET, f"text of message {number} behind its end")
    message.texts.append(text)


def _end(told: dict[int, _Open], number: int, _text: str, stop: str | None) -> None:
    # Hidden messages end as well, and none of their text was shown.
    if number in told:
        told[number].stop = stop or "end"


def _cancel(told: dict[int, _Open], number: int, _text: str, _stop: str | None) -> None:
    if number in told and told[number].stop is None:
        told[number].stop = "none"


def _nothing(*_: object) -> None:
    """Ignore the end of reasoning: the end of its message follows and says the same."""


def _close(message: _Open) -> Message:
    text, stop = "".join(message.texts), message.stop or "none"
    if message.kind == "thinking":
        return make_message("assistant", [Thinking(text)], channel="analysis", stop=stop)
    return make_message("assistant", [Text(text)], channel="final", stop=stop)


_HANDLERS: dict[str, Callable[[dict[int, _Open], int, str, str | None], None]] = {
    DELTA: partial(_append, "text"),
    REASONING: partial(_append, "thinking"),
    DONE: _end,
    REASONING_DONE: _nothing,
    CANCEL: _cancel,
}
