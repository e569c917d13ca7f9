"""Reads the answers of ``POST /v1/messages``: a message, or the events of its stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from headish.providers.anthropic.vocabulary import (
    BEDROCK_METRICS,
    BLOCK_EVENT,
    BLOCKS,
    DELTA_EVENT,
    DELTAS,
    DETAILS,
    EVENTS,
    USAGE_DETAILS,
    within,
)
from headish.providers.shared.leftovers import KnownKeys
from headish.providers.shared.reply import OpenBlock, ReplyReader
from headish.providers.shared.shapes import json_text, words
from headish.providers.shared.values import Delta, Reply
from headish.values.shapes import chosen, listed, name, number, present, record, text

STOPS = {
    word: word
    for word in ("end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "compaction", "refusal",
                 "model_context_window_exceeded")
}  # fmt: skip
"""headish uses Anthropic's words for all providers."""
PROMPT_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
WORDS = (
    words("delta.text", event="content_block_delta", holder="text_delta"),
    words("delta.thinking", event="content_block_delta", holder="thinking_delta"),
    words("content_block.text", event="content_block_start", holder="text"),
    words("content_block.thinking", event="content_block_start", holder="thinking"),
    words("content.*.text", holder="text"),
    words("content.*.thinking", holder="thinking"),
)


class AnthropicReader(ReplyReader):
    """Reads one answer of Anthropic's Messages API."""

    provider = "anthropic"
    stops = STOPS
    words = WORDS

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._at: dict[int, OpenBlock] = {}
        """The blocks by the index in the provider's events."""
        self._closed_again: dict[int, OpenBlock] = {}
        """Blocks that ended more than once. Their input is read once more in ``finish``, not at each end, which would
        take quadratic time."""

    def feed(self, event: Mapping[str, Any]) -> list[Delta]:
        kind = event.get("type")
        handle = _HANDLERS.get(kind) if isinstance(kind, str) else None
        if handle is not None:
            if kind in EVENTS and not _is_plain(event, EVENTS[kind]):
                self.keep_rest(event, EVENTS[kind])
            return handle(self, event)
        if kind is None and event.get("error"):
            return self._error(event)  # gateways send errors without a type
        return self.keep_unknown(event, f"an event of type {kind!r}")

    @classmethod
    def events_of(cls, response: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        if response.get("type") == "error" or not cls.is_response(response):
            yield response
            return
        yield {"type": "message_start", "message": {**response, "content": [], "stop_reason": None}}
        for index, block in enumerate(listed(response.get("content"))):
            yield {"type": "content_block_start", "index": index, "content_block": block}
            yield {"type": "content_block_stop", "index": index}
        delta = {key: response[key] for key in ("stop_reason", *DETAILS) if key in response}
        yield {"type": "message_delta", "delta": delta, "usage": response.get("usage")}
        if name(response.get("stop_reason")):  # a response without one is incomplete, as a stream without this event
            yield {"type": "message_stop"}

    @classmethod
    def is_response(cls, record: Mapping[str, Any]) -> bool:
        return record.get("type") in ("message", "error") or (record.get("type") is None and "content" in record)

    def finish(self) -> Reply:
        for block in self._closed_again.values():
            self._read_input(block)
        for block in self.blocks:
            if block.kind == "provider" and not block.finished:
                self._read_input(block)  # a cut-off call of the server keeps the arguments that arrived
            if block.kind == "thinking" and block.odd:
                block.opaque["partial"] = True
        return super().finish()

    def _start(self, event: Mapping[str, Any]) -> list[Delta]:
        message = record(event.get("message"))
        self.id, self.model = name(message.get("id")) or self.id, name(message.get("model")) or self.model
        self.details |= chosen(message, ("diagnostics", *DETAILS))
        self._count(message)
        return []

    def _open(self, event: Mapping[str, Any]) -> list[Delta]:
        block = record(event.get("content_block"))
        kind, index = text(block.get("type")), number(event.get("index")) or 0
        known = BLOCKS.get(kind)
        if not (event.keys() <= BLOCK_EVENT.all and (known is None or _is_plain(block, known))):
            self.keep_rest(event, within(BLOCK_EVENT, "content_block", known))
        opened, deltas = _OPENERS.get(kind, AnthropicReader._open_own)(self, block)
        self._at[index] = opened
        return deltas

    def _open_text(self, block: Mapping[str, Any]) -> tuple[OpenBlock, list[Delta]]:
        opened = self.open("text")
        if block.get("citations"):
            opened.opaque |= present(citations=listed(block["citations"]))
        return opened, opened.delta(block.get("text"))

    def _open_thinking(self, block: Mapping[str, Any]) -> tuple[OpenBlock, list[Delta]]:
        opened = self.open("thinking", signature=name(block.get("signature")))
        return opened, opened.delta(block.get("thinking"))

    def _open_call(self, block: Mapping[str, Any]) -> tuple[OpenBlock, list[Delta]]:
        opened, deltas = self.open_call(block.get("name"), block.get("id"))
        caller = record(block.get("caller"))
        if caller != {"type": "direct"}:  # that is the default, and says no more than no caller
            opened.opaque |= present(caller=dict(caller))
        opened.opaque |= present(toolset_name=block.get("toolset_name"))
        input = block.get("input")
        if input is not None and input != {}:
            opened.input = input
            deltas.append(Delta("tool_use", json_text(input), index=opened.index))
        return opened, deltas

    def _open_own(self, block: Mapping[str, Any]) -> tuple[OpenBlock, list[Delta]]:
        """Begin a block that only Anthropic understands. A call of the server's own tools is shown like any other."""
        opened = self.open("provider", data=dict(block))
        if block.get("type") != "server_tool_use":
            return opened, []
        called = Delta("server_tool_use", name=text(block.get("name")), id=name(block.get("id")), index=opened.index)
        return opened, [called]

    def _grow(self, event: Mapping[str, Any]) -> list[Delta]:
        delta = record(event.get("delta"))
        kind, index = text(delta.get("type")), number(event.get("index")) or 0
        block, known = self._at.get(index), DELTAS.get(kind)
        is_odd = not (event.keys() <= DELTA_EVENT.all and (known is None or _is_plain(delta, known)))
        is_odd = is_odd and self.keep_rest(event, within(DELTA_EVENT, "delta", known))
        growth = _GROWTH.get(kind)
        if growth is None or (block is not None and block.kind not in growth[1]):
            if block is not None:
                block.odd = True  # incomplete: it must not go back as if it were whole
            of = "" if growth is None else " for a block of another"
            return self.keep_unknown(event, f"a delta of type {delta.get('type')!r}{of}")
        grow, kinds = growth
        deltas = [] if block is not None else self._open_lost(index, kinds[0])
        block = self._at[index]
        block.odd = block.odd or (is_odd and block.kind in ("provider", "thinking"))
        return deltas + grow(self, block, delta)

    def _open_lost(self, index: int, kind: str) -> list[Delta]:
        """Begin a block whose start never came, of the kind that its first delta shows."""
        if kind == "tool_use":
            self._at[index], deltas = self.open_call(None, None)
            return deltas
        self._at[index] = self.open(kind, data={"type": "compaction"} if kind == "provider" else None)
        return []

    def _add_text(self, block: OpenBlock, delta: Mapping[str, Any]) -> list[Delta]:
        return block.delta(delta.get("text"))

    def _add_thinking(self, block: OpenBlock, delta: Mapping[str, Any]) -> list[Delta]:
        return block.delta(delta.get("thinking"))

    def _add_json(self, block: OpenBlock, delta: Mapping[str, Any]) -> list[Delta]:
        piece = text(delta.get("partial_json"))
        shown = block.delta(piece)
        server = block.kind == "provider"
        return [Delta("server_tool_use", piece, index=block.index)] if server and piece else shown

    def _add_signature(self, block: OpenBlock, delta: Mapping[str, Any]) -> list[Delta]:
        block.signature = name(delta.get("signature")) or block.signature
        return []

    def _add_citation(self, block: OpenBlock, delta: Mapping[str, Any]) -> list[Delta]:
        block.opaque.setdefault("citations", []).append(delta.get("citation"))
        return []

    def _add_compaction(self, block: OpenBlock, delta: Mapping[str, Any]) -> list[Delta]:
        """Take the summary of a compaction: one delta has all of it."""
        block.data |= {key: value for key, value in delta.items() if key != "type" and value is not None}
        block.odd = block.odd or block.data.get("type") != "compaction"
        return []

    def _close_block(self, event: Mapping[str, Any]) -> list[Delta]:
        block = self._at.get(number(event.get("index")) or 0)
        if block is not None and block.finished:
            self._closed_again[block.index] = block
        elif block is not None:
            block.finished = True
            self._read_input(block)
        return []

    def _read_input(self, block: OpenBlock) -> None:
        """Read the arguments that a stream sends as text; a whole response has them as a value."""
        if not block.pieces or block.kind not in ("tool_use", "provider"):
            return
        try:
            value = msgspec.json.decode("".join(block.pieces))
        except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):  # the last: a sender cut a character in two
            if block.kind == "provider":
                block.data["input"] = {"invalid_json": "".join(block.pieces)}  # a block of the provider has no ``raw``
            return
        before = block.data.get("input") if block.kind == "provider" else block.input
        if before is not msgspec.UNSET and before and before != value:
            self.keep_unknown({"input": before}, "the input that a call began with")
        if block.kind == "provider":
            block.data["input"] = value
        else:
            block.input = value

    def _end(self, event: Mapping[str, Any]) -> list[Delta]:
        delta = record(event.get("delta"))
        self.stop = name(delta.get("stop_reason")) or self.stop
        self.details |= chosen(event, DETAILS) | chosen(delta, DETAILS)
        self._count(event)
        return []

    def _stop(self, event: Mapping[str, Any]) -> list[Delta]:
        self.done = True
        if BEDROCK_METRICS in event:
            self.details |= chosen(event, (BEDROCK_METRICS,))
        return []

    def _error(self, event: Mapping[str, Any]) -> list[Delta]:
        return self.fail(event.get("error"))

    def _count(self, holder: Mapping[str, Any]) -> None:
        """Take the token counts. Anthropic's are disjoint, and those of a later event include the earlier ones."""
        usage = record(holder.get("usage"))
        of_prompt = tuple(map(usage.get, PROMPT_COUNTS))
        if self.usage and 0 in of_prompt and not any(of_prompt):
            # No prompt is empty: some gateways repeat its counts as zeros at the end of a stream.
            usage = {key: value for key, value in usage.items() if key not in PROMPT_COUNTS}
        self.details |= chosen(usage, USAGE_DETAILS)
        hour = number(record(usage.get("cache_creation")).get("ephemeral_1h_input_tokens"))
        self.count(
            input_tokens=number(usage.get("input_tokens")),
            output_tokens=number(usage.get("output_tokens")),
            cache_creation_input_tokens=number(usage.get("cache_creation_input_tokens")),
            cache_read_input_tokens=number(usage.get("cache_read_input_tokens")),
            reasoning_tokens=number(record(usage.get("output_tokens_details")).get("thinking_tokens")),
            cache_creation_1h_input_tokens=hour or None,
        )


def _is_plain(value: Mapping[str, Any], known: KnownKeys) -> bool:
    """Whether the keys of a value alone show that a table knows all of it: true if no key of the table has one of its
    own. It is a cheap check, made for every event."""
    return value.keys() <= known.all and not known.inner


_HANDLERS = {
    "message_start": AnthropicReader._start,
    "content_block_start": AnthropicReader._open,
    "content_block_delta": AnthropicReader._grow,
    "content_block_stop": AnthropicReader._close_block,
    "message_delta": AnthropicReader._end,
    "message_stop": AnthropicReader._stop,
    "error": AnthropicReader._error,
    "ping": AnthropicReader.ignore,
}
_OPENERS = {
    "text": AnthropicReader._open_text,
    "thinking": AnthropicReader._open_thinking,
    "tool_use": AnthropicReader._open_call,
}
_GROWTH: dict[str, tuple[Callable[[AnthropicReader, OpenBlock, Mapping[str, Any]], list[Delta]], tuple[str, ...]]] = {
    "text_delta": (AnthropicReader._add_text, ("text",)),
    "thinking_delta": (AnthropicReader._add_thinking, ("thinking",)),
    "input_json_delta": (AnthropicReader._add_json, ("tool_use", "provider")),
    "signature_delta": (AnthropicReader._add_signature, ("thinking",)),
    "citations_delta": (AnthropicReader._add_citation, ("text",)),
    "compaction_delta": (AnthropicReader._add_compaction, ("provider",)),
}
"""For each type of delta, its reader and the kinds of blocks that it may grow. The first kind is assumed if the block's
start never came."""
