"""Answers made of chat completion chunks, as openai, cerebras and the servers that speak like them send them.

A whole completion is read as one chunk, because its message has the fields of a delta. Servers differ in what they
leave out or send twice. So the reader tells calls apart by their ids and arguments, not by their index alone, and takes
reasoning under both its names.

Unknown values are kept whole and in order. Those of a chunk, a choice or the usage are details. Those of the message go
back to the provider: keys of the message as one block after the others, keys of a call or a part beside it, parts and
calls of other types as ``provider`` blocks.

Source: the types of the official SDKs, openai 3.54.0 and cerebras-cloud-sdk 1.91.0, read on 2026-11-21; the behaviour
of other servers from their issues (ollama 4357 and 7881, vllm 27572).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from headish.content import strictjson
from headish.content.recordings import AUDIO, TRANSCRIPT, recording_of
from headish.providers.chat.content import MESSAGE, TOOL_CALL, ContentReader
from headish.providers.shared.leftovers import joined, keys, rest_of, says
from headish.providers.shared.reply import OpenBlock
from headish.providers.shared.shapes import words
from headish.providers.shared.values import Delta
from headish.values.blocks import ContentBlock, ProviderBlock
from headish.values.shapes import listed, name, number, record, text

STOPS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
}
_FRAME = frozenset(("choices", "created", "error", "id", "model", "object", "obfuscation", "type", "usage"))
"""Keys of a chunk that are read, or do not describe the answer. All others are kept with it."""
_CHOICE = frozenset(("delta", "finish_reason", "index", "logprobs", "message", "reasoning_logprobs"))
_DELTA = frozenset(
    ("annotations", "content", "function_call", "reasoning", "reasoning_content", "refusal", "role", "tokens",
     "tool_calls")
)  # fmt: skip
_USAGE = keys(
    "prompt_tokens", "completion_tokens", "total_tokens",
    prompt_tokens_details=keys("cached_tokens", "cache_write_tokens"),
    completion_tokens_details=keys("reasoning_tokens"),
)  # fmt: skip
_CALL = frozenset(("custom", "function", "id", "index", "type"))
WORDS = tuple(
    words(f"choices.*.{place}.{key}", holder=holder)
    for place in ("delta", "message")
    for key, holder in (
        ("content", None), ("reasoning", None), ("reasoning_content", None), ("refusal", None),
        ("audio.transcript", None),
        ("content.*.text", "text"), ("content.*.thinking", "thinking"), ("content.*.thinking.*.text", "text"),
    )
)  # fmt: skip


class ChatReader(ContentReader):
    """Reads one answer of chat completion chunks."""

    stops = STOPS
    words = WORDS

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._at: dict[int, OpenBlock] = {}
        """The calls by their index; if several share one, the newest."""
        self._by_id: dict[str, OpenBlock] = {}
        self._ids: dict[int, str] = {}
        """The ids that came from the provider, by the block's index: not those that headish made."""
        self._call: OpenBlock | None = None
        self._others: dict[int, OpenBlock] = {}
        """The calls of unknown types, by their index."""
        self._sound: OpenBlock | None = None
        self._transcript: OpenBlock | None = None
        self._message: dict[str, list[Any]] = {}
        """The pieces of unknown keys of the message, by key."""
        self._choices: dict[int, list[Any]] = {}
        """The pieces of the further choices, by index."""

    def feed(self, event: Mapping[str, Any]) -> list[Delta]:
        if event.get("object") == "error" or (event.get("type") == "error" and not event.get("error")):
            return self.fail(event)
        if event.get("error"):
            self.fail(event["error"])
        elif not ("choices" in event or "usage" in event or text(event.get("object")).startswith("chat.completion")):
            return self.keep_unknown(event, f"an event of type {event.get('type') or event.get('object')!r}")
        # The first id and model count; servers repeat them in every chunk.
        if self.id is None or self.model is None:
            self.id = self.id or name(event.get("id"))
            self.model = self.model or name(event.get("model"))
        if not event.keys() <= _FRAME:
            self._keep_details({key: value for key, value in event.items() if key not in _FRAME}, self.details)
        shown: list[Delta] = []
        for choice in listed(event.get("choices")):
            shown += self._read_choice(record(choice) or {"message": choice})
        usage = event.get("usage")
        if usage:
            self._count(record(usage))
            if event.get("choices") == []:
                self._end()  # a chunk with the usage alone is the last, even if no finish_reason came before
        return shown

    @classmethod
    def is_response(cls, record: Mapping[str, Any]) -> bool:
        return record.get("object") == "chat.completion"

    @classmethod
    def events_of(cls, response: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        yield response
        if response.get("usage"):
            yield {"choices": [], "usage": response["usage"]}

    def _read_choice(self, choice: Mapping[str, Any]) -> list[Delta]:
        index = number(choice.get("index")) or 0
        if index > 0:
            message = record(choice.get("delta")) or choice.get("message")
            others = {key: value for key, value in choice.items() if key not in ("delta", "message")}
            self._choices.setdefault(index, []).append({**others, "message": message})
            self.note("choices behind the first are kept beside the answer")
            return []
        delta = choice.get("delta")
        if not delta and not (self.blocks and "delta" in choice):  # beside an empty delta, it repeats the pieces
            delta = choice.get("message")
        shown = self._read_delta(delta) if type(delta) is dict or isinstance(delta, Mapping) else []
        if delta and not shown and not isinstance(delta, Mapping):
            self.keep_unknown({"choices": [choice]}, "a delta that is not an object")
        for key in ("logprobs", "reasoning_logprobs"):
            if choice.get(key):
                self._keep_probabilities(key, record(choice[key]))
        if not choice.keys() <= _CHOICE:
            more = {key: value for key, value in choice.items() if key not in _CHOICE}
            self._keep_details(more, self.details.setdefault("choice", {}))
        self.stop = name(choice.get("finish_reason")) or self.stop
        if self.stop is not None:
            self._end()
        return shown

    def _keep_details(self, said: Mapping[str, Any], details: dict[str, Any]) -> None:
        for key, value in said.items():
            if says(value):
                self.keep_detail(str(key), value, details)

    def _end(self) -> None:
        # An answer that a failure cut off is not complete.
        self.done = self.done or self.error is None

    def _read_delta(self, delta: Mapping[str, Any]) -> list[Delta]:
        """The pieces of a delta, in the order in which a model makes them."""
        if len(delta) == 1 and type(content := delta.get("content")) is str:
            return self.say(content)  # the fast path: nearly every delta is a piece of text and nothing else
        thought = self._read_thought(delta)
        shown = self.current("thinking").delta(thought) if thought else []
        content = delta.get("content")
        shown += self.say(content) if isinstance(content, str) else self.read_parts(content) if content else []
        shown += self.read_refusal(text(delta.get("refusal")))
        if isinstance(delta.get(AUDIO), Mapping):
            shown += self._hear(delta[AUDIO])
        legacy = delta.get("function_call")
        for call in [*([{"function": legacy}] if legacy else []), *listed(delta.get("tool_calls"))]:
            shown += self._read_call(record(call) or ({"value": call} if call else {}))
        annotations = listed(delta.get("annotations"))
        if annotations:
            # They belong to the text, and may come after its last piece.
            self.text_block = self.text_block or self.open("text")
            self.text_block.opaque.setdefault("annotations", []).extend(annotations)
        if not delta.keys() <= _DELTA:
            for key, value in delta.items():
                if key not in _DELTA and says(value) and not (key == AUDIO and isinstance(value, Mapping)):
                    self._message.setdefault(str(key), []).append(value)
        return shown

    def _hear(self, audio: Mapping[str, Any]) -> list[Delta]:
        """Read a piece of speech: of its words, which become a text before the recording, and of its sound."""
        words, data = audio.get(TRANSCRIPT), audio.get("data")
        if isinstance(words, str) and self._transcript is None:
            self._transcript = self.open("text", finished=True)
        if self._sound is None:
            self._sound = self.open("sound", data={})
        others = {
            key: value for key, value in audio.items() if says(value) and not (key == "data" and isinstance(data, str))
        }
        if isinstance(words, str):
            others.pop(TRANSCRIPT, None)
        self._sound.data |= others
        self._sound.pieces += [data] if isinstance(data, str) and data else []
        if not isinstance(words, str) or not words or self._transcript is None:
            return []
        self._transcript.opaque[TRANSCRIPT] = True
        return self._transcript.delta(words)

    def _read_thought(self, delta: Mapping[str, Any]) -> str:
        """The reasoning of a delta. Some servers send it under both keys; if the two differ, both are kept."""
        thought, other = text(delta.get("reasoning_content")), text(delta.get("reasoning"))
        if thought and other and thought != other:
            self._message.setdefault("reasoning", []).append(other)
        return thought or other

    def close_sound(self, block: OpenBlock) -> ContentBlock | None:
        """The recording; without its sound, its other keys as a block of the provider."""
        recording = recording_of(block.pieces, block.data, self.provider)
        data = {"data": "".join(block.pieces)} if block.pieces else {}
        audio = {**block.data, **data}
        return recording or (ProviderBlock(self.provider, {MESSAGE: {AUDIO: audio}}) if audio else None)

    def blocks_behind(self) -> list[OpenBlock]:
        if not self._message:
            return []
        message = {key: joined(pieces) for key, pieces in self._message.items()}
        return [OpenBlock("provider", len(self.blocks), data={MESSAGE: message})]

    def details_behind(self) -> dict[str, Any]:
        return {"choices": [joined(pieces) for pieces in self._choices.values()]} if self._choices else {}

    def _read_call(self, call: Mapping[str, Any]) -> list[Delta]:
        kind, index = call.get("type"), number(call.get("index"))
        custom = record(call.get("custom"))
        # A custom call's text is read as the arguments of a function, and marked below.
        function = record(call.get("function")) or {
            {"input": "arguments"}.get(key, key): value for key, value in custom.items()
        }
        other = None if index is None else self._others.get(index)
        if not function and (kind not in (None, "function", "custom") or other is not None or "value" in call):
            return self._keep_call(call, other, index)
        called, id, arguments = text(function.get("name")), name(call.get("id")), function.get("arguments")
        block = self._find(index, id, called)
        beside = {key: value for key, value in call.items() if key not in _CALL}
        more = {key: value for key, value in function.items() if key not in ("name", "arguments")}
        if block is None and not (called or id or arguments or beside or more):
            return []  # an empty piece begins no call
        shown: list[Delta] = []
        if block is None or self._is_another(block, id, called, arguments):
            block, shown = self.open_call(called, id)
        elif called and not block.name:
            block.name = self._tool_names.get(called, called)
            shown = [Delta("tool_use", name=block.name, id=id or block.id, index=block.index)]
        self._remember(block, index, id)
        if kind == "custom" or custom:
            block.opaque["type"], block.is_text = "custom", True
        block.keep(beside | ({"custom" if custom else "function": more} if more else {}))
        return shown + _add_arguments(block, arguments)

    def _keep_call(self, call: Mapping[str, Any], begun: OpenBlock | None, index: int | None) -> list[Delta]:
        """Keep a piece of a call of an unknown type; the pieces are joined at the end."""
        id = call.get("id")
        if begun is None or (begun.id and id and id != begun.id):
            begun = self.open("provider", data={}, id=name(id))
            if index is not None:
                self._others[index] = begun
        begun.keep({TOOL_CALL: dict(call)})
        return []

    def _find(self, index: int | None, id: str | None, called: str) -> OpenBlock | None:
        """The call that a piece continues, by its index. Without an index, by its id, or the last one if the piece has
        neither id nor name."""
        if index is not None:
            return self._at.get(index)
        if id is not None:
            return self._by_id.get(id)
        return None if called else self._call

    def _is_another(self, block: OpenBlock, id: str | None, called: str, given: object) -> bool:
        """Whether a piece begins another call although its index was used: it has another id, or its arguments begin
        anew after complete ones."""
        # Some servers give every call the same index, or send no ids (see the sources above).
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

    def _keep_probabilities(self, key: str, found: Mapping[str, Any]) -> None:
        by_kind = self.details.setdefault(key, {})
        for kind, items in found.items():
            if isinstance(items, list):
                by_kind.setdefault(kind, []).extend(items) if isinstance(by_kind.get(kind, []), list) else None
            elif items is not None:
                self.keep_detail(kind, items, by_kind)

    def _count(self, usage: Mapping[str, Any]) -> None:
        """Take the token counts."""
        # OpenAI counts cache reads and writes among the prompt's tokens; ours are disjoint.
        details, generated = record(usage.get("prompt_tokens_details")), record(usage.get("completion_tokens_details"))
        prompt = number(usage.get("prompt_tokens"))
        cached, cache_written = number(details.get("cached_tokens")), number(details.get("cache_write_tokens"))
        self.count(
            input_tokens=None if prompt is None else prompt - (cached or 0) - (cache_written or 0),
            output_tokens=number(usage.get("completion_tokens")),
            cache_creation_input_tokens=cache_written,
            cache_read_input_tokens=cached,
            reasoning_tokens=number(generated.get("reasoning_tokens")),
            input_audio_tokens=number(details.get("audio_tokens")) or None,
            output_audio_tokens=number(generated.get("audio_tokens")) or None,
        )
        more = rest_of({key: _without_zeros(value) for key, value in usage.items()}, _USAGE)
        if more:
            self.keep_detail("usage", more)


def _without_zeros(value: Any) -> Any:
    """The counts that are not zero. Providers list many zeros, which need not be kept."""
    if isinstance(value, Mapping):
        return {key: each for key, each in value.items() if each}
    return value or None


def _add_arguments(block: OpenBlock, given: object) -> list[Delta]:
    """Add a piece of the arguments, or all of them if the server sends them as a value; return what to show."""
    if given is None or isinstance(given, str):
        return block.delta(given or "")
    block.input = given
    try:
        return [Delta("tool_use", strictjson.encode(given).decode(), index=block.index)]
    except (TypeError, ValueError, OverflowError, RecursionError):
        return []  # ``finish`` repairs such values, with a note
