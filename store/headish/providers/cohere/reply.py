"""Reads the answers of Cohere's ``POST /v2/chat``: a message, or the events of its stream.

Two traps: a delta's ``content`` and ``tool_calls`` are objects, not lists; and all content has index 0, so only
``content-start`` marks the border between two blocks. A plan is the model's reasoning about its calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headish.content.forms.cohere import PLAN
from headish.providers.shared.leftovers import KnownKeys, keys
from headish.providers.shared.reply import OpenBlock, ReplyReader
from headish.providers.shared.shapes import json_text, words
from headish.providers.shared.values import Delta
from headish.values.shapes import listed, name, number, present, record, text

STOPS = {
    "COMPLETE": "end_turn",
    "STOP_SEQUENCE": "stop_sequence",
    "MAX_TOKENS": "max_tokens",
    "TOOL_CALL": "tool_use",
    "ERROR": "error",
    "TIMEOUT": "error",
}
FAILED = ("ERROR", "TIMEOUT")
"""The finish reasons of an answer that was cut off."""
WORDS = (
    *(words(f"delta.message.content.{key}", event=event)
      for event in ("content-start", "content-delta") for key in ("text", "thinking")),
    words("delta.message.tool_plan", event="tool-plan-delta"),
    words("message.content"),
    words("message.content.*.text", holder="text"),
    words("message.content.*.thinking", holder="thinking"),
    words("message.tool_plan"),
)  # fmt: skip


class CohereReader(ReplyReader):
    """Reads one answer of Cohere's chat API."""

    provider = "cohere"
    stops = STOPS
    words = WORDS

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._contents: list[OpenBlock] = []
        self._last: dict[str, OpenBlock] = {}
        """The last block of each kind of content."""
        self._content: OpenBlock | None = None
        """The block of content that still grows."""
        self._plan: OpenBlock | None = None
        self._at: dict[int, OpenBlock] = {}
        """The calls by their index; if several share one, the newest."""

    def feed(self, event: Mapping[str, Any]) -> list[Delta]:
        kind = event.get("type")
        handle = _EVENTS.get(kind) if isinstance(kind, str) else None
        if handle is not None:
            if kind != "content-start":  # its reader looks at the type first, and keeps unknown content whole
                self.keep_rest(event, _KNOWN[str(kind)])
            several = _singly(event)
            return [delta for each in several for delta in handle(self, each)] if several else handle(self, event)
        if event.get("error") or name(event.get("message")):
            return self.fail(event.get("error") or event)
        return self.keep_unknown(event, f"an event of type {kind!r}")

    @classmethod
    def events_of(cls, response: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        if "finish_reason" not in response and not isinstance(response.get("message"), Mapping):
            yield response
            return
        message = record(response.get("message"))
        more = {key: value for key, value in response.items() if key not in _RESPONSE.all}
        beside = {key: value for key, value in message.items() if key not in _MESSAGE.all}
        yield {**more, "type": "message-start", "id": response.get("id"), "delta": {"message": beside}}
        content = message.get("content")
        for index, block in enumerate(
            [{"type": "text", "text": content}] if isinstance(content, str) else listed(content)
        ):
            yield {"type": "content-start", "index": index, "delta": {"message": {"content": block}}}
            yield {"type": "content-end", "index": index}
        yield {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": message.get("tool_plan")}}}
        for index, call in enumerate(listed(message.get("tool_calls"))):
            yield {"type": "tool-call-start", "index": index, "delta": {"message": {"tool_calls": call}}}
            yield {"type": "tool-call-end", "index": index}
        for citation in listed(message.get("citations")):
            yield {"type": "citation-start", "delta": {"message": {"citations": citation}}}
        if name(response.get("finish_reason")):
            ended = {key: response[key] for key in _END if key in response}
            yield {"type": "message-end", "delta": ended}

    def _start(self, event: Mapping[str, Any]) -> list[Delta]:
        self.id = name(event.get("id"))
        return []

    def _open(self, event: Mapping[str, Any]) -> list[Delta]:
        block = _only(event, "content")
        kind = text(block.get("type")) or ("thinking" if "thinking" in block else "text")
        self._content = None
        if kind not in ("text", "thinking"):
            return self.keep_unknown(event, f"content of type {kind!r}")
        self.keep_rest(event, _CONTENT)
        return self._begin(kind).delta(text(block.get(kind)))

    def _begin(self, kind: str) -> OpenBlock:
        self._content = self._last[kind] = self.open(kind)
        self._contents.append(self._content)
        return self._content

    def _grow(self, event: Mapping[str, Any]) -> list[Delta]:
        piece = _only(event, "content")
        if event.get("logprobs"):
            self.details.setdefault("logprobs", []).append(event["logprobs"])
        thought, words = text(piece.get("thinking")), text(piece.get("text"))
        shown = self._growing("thinking").delta(thought) if thought else []
        return shown + self._growing("text").delta(words) if words else shown

    def _growing(self, kind: str) -> OpenBlock:
        """The block that a piece continues; a new one if the start of it was lost."""
        block = self._content
        return block if block is not None and block.kind == kind else self._begin(kind)

    def _close_content(self, event: Mapping[str, Any]) -> list[Delta]:
        if self._content is not None:
            self._content.finished = True
        self._content = None
        return []

    def _grow_plan(self, event: Mapping[str, Any]) -> list[Delta]:
        piece = text(record(record(event.get("delta")).get("message")).get("tool_plan"))
        if not piece:
            return []
        if self._plan is None:
            self._plan = self.open("thinking", opaque=dict(PLAN), finished=True)
        return self._plan.delta(piece)

    def _open_call(self, event: Mapping[str, Any]) -> list[Delta]:
        call = _only(event, "tool_calls")
        function = record(call.get("function"))
        block, shown = self.open_call(function.get("name"), call.get("id"))
        self._at[number(event.get("index")) or 0] = block
        arguments = function.get("arguments")
        if isinstance(arguments, Mapping):  # some servers send the arguments as an object, not as text
            block.input = arguments
            return [*shown, Delta("tool_use", json_text(arguments), index=block.index)]
        return shown + block.delta(text(arguments))

    def _grow_call(self, event: Mapping[str, Any]) -> list[Delta]:
        piece = text(record(_only(event, "tool_calls").get("function")).get("arguments"))
        index = number(event.get("index")) or 0
        shown: list[Delta] = []
        if index not in self._at:
            self._at[index], shown = self.open_call(None, None)  # its start was lost
        return shown + self._at[index].delta(piece)

    def _close_call_at(self, event: Mapping[str, Any]) -> list[Delta]:
        block = self._at.get(number(event.get("index")) or 0)
        if block is not None:
            block.finished = True
        return []

    def _cite(self, event: Mapping[str, Any]) -> list[Delta]:
        citation = _only(event, "citations")
        if citation:
            self._cited(citation).opaque.setdefault("citations", []).append(citation)
        return []

    def _cited(self, citation: Mapping[str, Any]) -> OpenBlock:
        """The block that a citation is about: the one at its index if that is of the right kind, else the last of that
        kind."""
        if citation.get("type") == "PLAN" and self._plan is not None:
            return self._plan
        kind = "thinking" if citation.get("type") == "THINKING_CONTENT" else "text"
        index = number(citation.get("content_index"))
        if index is not None and 0 <= index < len(self._contents) and self._contents[index].kind == kind:
            return self._contents[index]
        return self._last.get(kind) or self._begin(kind)

    def _end(self, event: Mapping[str, Any]) -> list[Delta]:
        delta = record(event.get("delta"))
        self.stop = name(delta.get("finish_reason"))
        self._count(record(delta.get("usage")))
        self.details |= present(logprobs=listed(delta.get("logprobs")))
        if delta.get("error"):
            self.fail(delta["error"])
        elif self.stop in FAILED:
            self.fail({"type": self.stop, "message": f"the answer ended with {self.stop}"})
        self.done = self.error is None  # an answer that failed is incomplete, even if its last event came
        return []

    def _count(self, usage: Mapping[str, Any]) -> None:
        """Take the token counts. ``tokens`` are those that the model saw and made; ``billed_units`` are for the
        bill, and go to the details."""
        tokens, cached = record(usage.get("tokens")), number(usage.get("cached_tokens"))
        prompt = number(tokens.get("input_tokens"))
        self.count(
            input_tokens=None if prompt is None else prompt - (cached or 0),
            output_tokens=number(tokens.get("output_tokens")),
            cache_read_input_tokens=cached,
        )
        self.details |= present(billed_units=usage.get("billed_units"), image_tokens=tokens.get("image_tokens"))

    def _debug(self, event: Mapping[str, Any]) -> list[Delta]:
        self.details |= present(prompt=event.get("prompt"))
        return []


def _singly(event: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Split an event with a list of objects, as some servers send them, into one event each; empty without one."""
    message = record(record(event.get("delta")).get("message"))
    for key, items in message.items():
        if isinstance(items, list) and len(items) > 1 and key in _MESSAGE.all:
            return [*_apart(event, message, key)]
    return []


def _apart(event: Mapping[str, Any], message: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    first, *others = message[key]
    yield {**event, "delta": {"message": {**message, key: first}}}
    # Only the first keeps the unknown keys. Repeated with each, many keys times many objects would have no bound.
    place = {each: event[each] for each in _READ if each in event}
    beside = {each: value for each, value in message.items() if each in _MESSAGE.all}
    for item in others:
        yield {**place, "delta": {"message": {**beside, key: item}}}


def _only(event: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The one object under a key of a delta's message, whether the value is an object or a list."""
    value = record(record(event.get("delta")).get("message")).get(key)
    if type(value) is dict:
        return value
    items = listed(value)
    return record(items[0] if items else value)


_EVENTS = {
    "message-start": CohereReader._start,
    "content-start": CohereReader._open,
    "content-delta": CohereReader._grow,
    "content-end": CohereReader._close_content,
    "tool-plan-delta": CohereReader._grow_plan,
    "tool-call-start": CohereReader._open_call,
    "tool-call-delta": CohereReader._grow_call,
    "tool-call-end": CohereReader._close_call_at,
    "citation-start": CohereReader._cite,
    "citation-end": CohereReader.ignore,
    "message-end": CohereReader._end,
    "debug": CohereReader._debug,
}
_READ = ("type", "index")
"""Keys that give the place of an event."""
_MESSAGE = keys("role", "content", "tool_plan", "tool_calls", "citations")
_END = ("finish_reason", "usage", "error", "logprobs")
_RESPONSE = keys("id", "message", *_END)
_TOKENS = keys("image_tokens", "input_tokens", "output_tokens")
_FUNCTION = keys("name", "arguments")


def _table(*names: str, **message: KnownKeys) -> KnownKeys:
    """The table of an event whose message has these keys."""
    return keys("type", "index", *names, delta=keys(message=keys(**message)))


_CONTENT = _table("logprobs", content=keys("type", "text", "thinking"))
_CALL = _table(tool_calls=keys("id", "type", function=_FUNCTION))
_KNOWN: dict[str, KnownKeys] = {
    "message-start": keys(
        "type", "id", delta=keys(message=keys("role", "tool_plan", content=keys(), tool_calls=keys(), citations=keys()))
    ),
    "content-start": _CONTENT,
    "content-delta": _CONTENT,
    "content-end": _table(),
    "tool-plan-delta": keys("type", delta=keys(message=keys("tool_plan"))),
    "tool-call-start": _CALL,
    "tool-call-delta": _CALL,
    "tool-call-end": _table(),
    "citation-start": keys("type", "index", delta=keys(message=keys("citations"))),
    "citation-end": _table(),
    "message-end": keys(
        "type", "id",
        delta=keys("finish_reason", "error", "logprobs", usage=keys("billed_units", "cached_tokens", tokens=_TOKENS)),
    ),
    "debug": keys("type", "prompt"),
}  # fmt: skip
"""The keys of the events that are read; all others are kept beside the answer."""
