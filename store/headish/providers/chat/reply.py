"""Answers made of chat completion chunks: what openai, cerebras and the servers that speak like them share.

A whole completion is read as one chunk, since its message has the fields of a delta. Servers differ in what they leave
out or send twice, so calls are told apart by what they say and not by their index alone, reasoning is taken under both
its names, and what a chunk says beside the answer is kept by its own name.

Source: the types of the official SDKs, openai 3.54.0 and cerebras-cloud-sdk 1.91.0, read on 2026-11-21; the servers'
ways as their issues have them (ollama 4357 and 7881, vllm 27572).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from headish.content import strictjson
from headish.providers.shared.reply import OpenBlock, ReplyReader
from headish.providers.shared.shapes import listed, name, number, present, record, text
from headish.providers.shared.values import Delta
from headish.providers.shared.words import words

STOPS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
}
_FRAME = frozenset(("choices", "created", "error", "id", "model", "object", "obfuscation", "type", "usage"))
"""Keys of a chunk that are read or say nothing of the answer; all others are kept with it."""
_DELTA = frozenset(
    ("annotations", "content", "function_call", "reasoning", "reasoning_content", "refusal", "role", "tokens",
     "tool_calls")
)  # fmt: skip
WORDS = tuple(
    words(f"choices.*.{place}.{key}", holder=holder)
    for place in ("delta", "message")
    for key, holder in (
        ("content", None), ("reasoning", None), ("reasoning_content", None), ("refusal", None),
        ("content.*.text", "text"), ("content.*.thinking", "thinking"), ("content.*.thinking.*.text", "text"),
    )
)  # fmt: skip


class ChatReader(ReplyReader):
    """Reads one answer of chat completion chunks."""

    stops = STOPS
    words = WORDS

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._at: dict[int, OpenBlock] = {}
        """The calls by their index; of several with one index, the newest."""
        self._by_id: dict[str, OpenBlock] = {}
        self._ids: dict[int, str] = {}
        """The ids that the provider gave, by the block's index."""
        self._call: OpenBlock | None = None
        self._text: OpenBlock | None = None
        self._refusal: OpenBlock | None = None
        self._odd: set[str] = set()

    def feed(self, event: Mapping[str, Any]) -> list[Delta]:
        if event.get("object") == "error":
            return self.fail(event)
        if event.get("error"):
            self.fail(event["error"])
        elif not (event.keys() & {"choices", "usage"} or text(event.get("object")).startswith("chat.completion")):
            return self.keep_unknown(event, f"an event of type {event.get('type') or event.get('object')!r}")
        self.id = self.id or name(event.get("id"))
        self.model = self.model or name(event.get("model"))
        if not event.keys() <= _FRAME:
            self.details |= present(**{str(key): value for key, value in event.items() if key not in _FRAME})
        shown = [delta for choice in listed(event.get("choices")) for delta in self._read_choice(record(choice), event)]
        if event.get("usage"):
            self._count(record(event["usage"]))
        if event.get("usage") and event.get("choices") == []:
            self._end()  # the last chunk of all, where somebody forgot to say why the answer ended
        return shown

    @classmethod
    def is_response(cls, record: Mapping[str, Any]) -> bool:
        return record.get("object") == "chat.completion"

    @classmethod
    def events_of(cls, response: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        yield response
        if response.get("usage"):
            yield {"choices": [], "usage": response["usage"]}

    def _read_choice(self, choice: Mapping[str, Any], event: Mapping[str, Any]) -> list[Delta]:
        if (number(choice.get("index")) or 0) > 0:
            return self._keep_odd(event, "another choice")
        delta = record(choice.get("delta")) or record(choice.get("message"))
        shown = self._read_delta(delta, event)
        for key in ("logprobs", "reasoning_logprobs"):
            if choice.get(key):
                self._keep_probabilities(key, record(choice[key]))
        self.stop = name(choice.get("finish_reason")) or self.stop
        if self.stop is not None:
            self._end()
        return shown

    def _end(self) -> None:
        # What a failure cut off is not at its end.
        self.done = self.done or self.error is None

    def _read_delta(self, delta: Mapping[str, Any], event: Mapping[str, Any]) -> list[Delta]:
        """The pieces of a delta, in the order in which a model makes them."""
        thought = text(delta.get("reasoning_content")) or text(delta.get("reasoning"))
        shown = self.current("thinking").delta(thought) if thought else []
        said = delta.get("content")
        if isinstance(said, str):
            shown += self._say(said)
        elif said:
            self._keep_odd(event, "content that is no text")
        shown += self._read_refusal(text(delta.get("refusal")))
        legacy = delta.get("function_call")
        for call in [*([{"function": legacy}] if legacy else []), *listed(delta.get("tool_calls"))]:
            shown += self._read_call(record(call), event)
        annotations = listed(delta.get("annotations"))
        if annotations:
            self._text = self._text or self.open("text")
            self._text.opaque.setdefault("annotations", []).extend(annotations)
        for key in delta:
            if key not in _DELTA and delta[key]:
                self._keep_odd(event, f"a delta with {key}")
        return shown

    def _say(self, piece: str) -> list[Delta]:
        if not piece:
            return []
        self._text = self.current("text")
        return self._text.delta(piece)

    def _read_refusal(self, piece: str) -> list[Delta]:
        """A refusal is a text of its own, which no other text goes on."""
        if not piece:
            return []
        self.refused = True
        if self._refusal is None:
            self._refusal = self.open("text", finished=True)
        return self._refusal.delta(piece)

    def _read_call(self, call: Mapping[str, Any], event: Mapping[str, Any]) -> list[Delta]:
        function = record(call.get("function"))
        if not function and call.get("type") not in (None, "function"):
            return self._keep_odd(event, f"a tool call of type {call.get('type')!r}")
        called, id, given = text(function.get("name")), name(call.get("id")), function.get("arguments")
        index = number(call.get("index"))
        block = self._find(index, id, called)
        if block is None and not (called or id or given):
            return []  # nothing of a call yet
        shown: list[Delta] = []
        if block is None or self._is_another(block, id, called, given):
            block, shown = self.open_call(called, id)
        elif called and not block.name:
            block.name = self._tool_names.get(called, called)
            shown = [Delta("tool_use", name=block.name, id=id or block.id, index=block.index)]
        self._remember(block, index, id)
        return shown + _add_arguments(block, given)

    def _find(self, index: int | None, id: str | None, called: str) -> OpenBlock | None:
        """The call that a piece goes on; without an index that with its id, or the last one if it names none."""
        if index is not None:
            return self._at.get(index)
        if id is not None:
            return self._by_id.get(id)
        return None if called else self._call

    def _is_another(self, block: OpenBlock, id: str | None, called: str, given: object) -> bool:
        """Whether a piece begins another call, though its index was used: it has another id, or begins anew."""
        before = self._ids.get(block.index)
        if before is not None and id is not None:
            return before != id
        whole = block.input is not msgspec.UNSET or bool(block.pieces and block.pieces[-1].rstrip().endswith("}"))
        begins = isinstance(given, Mapping) or text(given).lstrip().startswith("{")
        return bool(called and block.name) and whole and begins

    def _remember(self, block: OpenBlock, index: int | None, id: str | None) -> None:
        self._call = block
        if index is not None:
            self._at[index] = block
        if id is not None and block.index not in self._ids:
            self._ids[block.index] = block.id = id
            self._by_id[id] = block

    def _keep_odd(self, event: Mapping[str, Any], what: str) -> list[Delta]:
        """What nobody knows inside a chunk: the first of its kind is kept with the answer, the others are counted."""
        if what in self._odd:
            self._unknown_count += 1
            return []
        self._odd.add(what)
        return self.keep_unknown(event, what)

    def _keep_probabilities(self, key: str, found: Mapping[str, Any]) -> None:
        for kind, items in found.items():
            if listed(items):
                self.details.setdefault(key, {}).setdefault(kind, []).extend(listed(items))

    def _count(self, usage: Mapping[str, Any]) -> None:
        """OpenAI counts what was read from the cache and written to it among the prompt's tokens."""
        details = record(usage.get("prompt_tokens_details"))
        prompt = number(usage.get("prompt_tokens"))
        read, written = number(details.get("cached_tokens")), number(details.get("cache_write_tokens"))
        self.count(
            input_tokens=None if prompt is None else prompt - (read or 0) - (written or 0),
            output_tokens=number(usage.get("completion_tokens")),
            cache_creation_input_tokens=written,
            cache_read_input_tokens=read,
            reasoning_tokens=number(record(usage.get("completion_tokens_details")).get("reasoning_tokens")),
        )


def _add_arguments(block: OpenBlock, given: object) -> list[Delta]:
    """A piece of the arguments, or where a server sends them as a value, all of them."""
    if given is None or isinstance(given, str):
        return block.delta(given or "")
    block.input = given
    try:
        return [Delta("tool_use", strictjson.encode(given).decode(), index=block.index)]
    except (TypeError, ValueError, OverflowError, RecursionError):
        return []  # ``finish`` mends it
