"""Reads what ``:generateContent`` answers: a response, or the chunks of its stream, which are responses themselves.

A chunk holds whole parts. Texts of one kind in a row are pieces of one text; a part with more than text ends it.
Source: ``types.GenerateContentResponse`` of google-genai 3.4.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from headish.content.forms.layout import camel as camel_key
from headish.content.recordings import RAW, join_data
from headish.providers.shared.leftovers import joined, keys, rest_of
from headish.providers.shared.reply import OpenBlock, ReplyReader
from headish.providers.shared.shapes import json_text, words
from headish.providers.shared.values import Delta
from headish.values.blocks import Base64Source, ContentBlock, Document, ProviderBlock
from headish.values.shapes import listed, name, number, present, record, text

_REFUSALS = (
    "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "ESCALATION", "MODEL_ARMOR",
)  # fmt: skip
STOPS = {"STOP": "end_turn", "MAX_TOKENS": "max_tokens", "CONTINUATION": "pause_turn"} | dict.fromkeys(
    _REFUSALS, "refusal"
)
"""All others (``MALFORMED_FUNCTION_CALL``, ``OTHER`` …) are errors; what Gemini says of them is in the details."""
UNFINISHED = "FINISH_REASON_UNSPECIFIED"
"""The word for no word."""
_RESPONSE = frozenset(("candidates", "error", "modelVersion", "promptFeedback", "responseId", "usageMetadata"))
"""The keys of a response that are read; all others are kept as details."""
_SDK = frozenset(("automaticFunctionCallingHistory", "parsed", "sdkHttpResponse"))
"""Keys that the SDK's own objects add."""
_CANDIDATE = frozenset(("content", "finishReason", "index"))
_CALL = frozenset(("id", "name", "args"))
_CONTENT = keys(content=keys("parts", "role"))
_CONTENT_KEYS = _CONTENT.inner["content"].all
_MODALITY = keys("modality", "tokenCount")
_USAGE = keys(
    "cachedContentTokenCount", "candidatesTokenCount", "promptTokenCount", "thoughtsTokenCount",
    "toolUsePromptTokenCount", "totalTokenCount", "trafficType",
    cacheTokensDetails=_MODALITY, candidatesTokensDetails=_MODALITY, promptTokensDetails=_MODALITY,
    toolUsePromptTokensDetails=_MODALITY,
)  # fmt: skip
_NEVER_OWN = frozenset(("text", "functionCall", "functionResponse"))
"""What a part of Gemini's own may not hold: sent back, it would stand beside the calls and results of the thread."""
_GROWING = frozenset(("citationMetadata", "groundingMetadata", "logprobsResult", "urlContextMetadata"))
"""Details whose lists may come in pieces."""
WORDS = (words("candidates.*.content.parts.*.text"),)


class GeminiReader(ReplyReader):
    """Reads one answer of Gemini's ``generateContent``."""

    provider = "gemini"
    stops = STOPS
    words = WORDS

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._others: dict[int, list[Any]] = {}
        """The pieces of the further candidates, by index."""

    def feed(self, event: Mapping[str, Any]) -> list[Delta]:
        said = camel(event)
        if not said.keys() & _RESPONSE:
            return self.keep_unknown(event, f"an event with the keys {', '.join(said)}" if said else "an empty event")
        self.id = self.id or name(said.get("responseId"))
        self.model = name(said.get("modelVersion")) or self.model
        if "usageMetadata" in said:
            self._count(camel(said["usageMetadata"]))
        if not said.keys() <= _RESPONSE:
            self._keep(said, _RESPONSE | _SDK)
        if said.get("promptFeedback") is not None:
            self._take_feedback(said["promptFeedback"])
        deltas: list[Delta] = []
        for position, candidate in enumerate(listed(said.get("candidates"))):
            deltas += self._take_candidate(candidate, position)
        if said.get("error") is not None:
            self._fail(said["error"])
        return deltas

    @classmethod
    def is_response(cls, record: Mapping[str, Any]) -> bool:
        return False  # a response and a chunk of its stream are the same

    @classmethod
    def events_of(cls, response: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        yield response

    def details_behind(self) -> dict[str, Any]:
        return {"candidates": [joined(pieces) for pieces in self._others.values()]} if self._others else {}

    def _take_candidate(self, value: object, position: int) -> list[Delta]:
        if type(value) is not dict and not isinstance(value, Mapping):
            return self.keep_unknown({"candidate": value}, "a candidate that is no object")
        candidate = camel(value)
        index = number(candidate.get("index"))
        index = position if index is None else index
        if index != 0:
            self._others.setdefault(index, []).append(dict(candidate))
            self.note("candidates behind the first are kept beside the answer")
            return []
        content = camel(candidate.get("content"))
        if not content.keys() <= _CONTENT_KEYS:
            self.keep_rest({"content": content}, _CONTENT)
        parts = listed(content.get("parts"))
        deltas = self._take_part(parts[0]) if len(parts) == 1 else [d for part in parts for d in self._take_part(part)]
        if not candidate.keys() <= _CANDIDATE:
            self._keep(candidate, _CANDIDATE)
        reason = name(candidate.get("finishReason"))
        if reason is not None and reason != UNFINISHED:
            self.stop, self.done = reason, True
        return deltas

    def _take_part(self, value: object) -> list[Delta]:
        if type(value) is dict and len(value) == 1 and type(value.get("text")) is str:
            # Nearly every part of a stream: a piece of text, and nothing beside it.
            return self.current("text").delta(value["text"]) if value["text"] else []
        if not isinstance(value, Mapping):
            return self.keep_unknown({"part": value}, "a part that is no object")
        part = present(**camel(value))
        call = camel(part.get("functionCall"))
        if name(call.get("name")):
            return self._take_call(call, part)
        if isinstance(part.get("text"), str):
            return self._take_text(part)
        inline = camel(part.get("inlineData"))
        if text(inline.get("mimeType")).lower().startswith("audio/") and text(inline.get("data")):
            return self._take_sound(inline, part)
        if part.keys() & _NEVER_OWN:
            return self.keep_unknown({"part": value}, "a part that is neither a text nor a call")
        return self._take_own(part) if part.keys() - {"thought"} else []

    def _take_text(self, part: Mapping[str, Any]) -> list[Delta]:
        beside = {key: each for key, each in part.items() if key not in ("text", "thought")}
        said = text(part["text"])
        if not said and not beside:
            return []
        kind = "thinking" if part.get("thought") is True else "text"
        # A signature without a word is a part of its own and goes back as one; with words it ends those before it.
        block = self.current(kind) if said else self.open(kind)
        if kind == "thinking":
            block.signature = name(beside.pop("thoughtSignature", None))
        block.opaque |= beside
        block.finished = bool(beside or block.signature)
        return block.delta(said)

    def _take_call(self, call: Mapping[str, Any], part: Mapping[str, Any]) -> list[Delta]:
        block, [begun] = self.open_call(call["name"], call.get("id"))
        block.input = {} if call.get("args") is None else call["args"]
        block.finished = True
        block.opaque |= present(id=name(call.get("id")))  # marks an id that Gemini gave: only such a one goes back
        block.opaque |= {key: each for key, each in part.items() if key != "functionCall"}
        block.opaque |= present(functionCall={key: each for key, each in call.items() if key not in _CALL})
        return [msgspec.structs.replace(begun, content=json_text(block.input))]

    def _take_sound(self, inline: Mapping[str, Any], part: Mapping[str, Any]) -> list[Delta]:
        """A recording. A stream sends raw samples piece by piece."""
        kind, beside = inline["mimeType"], {key: each for key, each in part.items() if key != "inlineData"}
        further = {key: each for key, each in inline.items() if key not in ("mimeType", "data")}
        beside |= {"inlineData": further} if further else {}
        last = self.blocks[-1] if self.blocks else None
        if last is None or last.kind != "sound" or last.name != kind or not kind.lower().startswith(RAW):
            last = self.open("sound", name=kind)
        last.pieces.append(inline["data"])
        last.opaque |= beside
        return []

    def close_sound(self, block: OpenBlock) -> ContentBlock | None:
        data = join_data(block.pieces)
        if not data:  # no base64: whose it is may know what it is
            inline = {"mimeType": block.name, "data": "".join(block.pieces)}
            return ProviderBlock(self.provider, {**block.opaque, "inlineData": inline})
        return Document(Base64Source(block.name, data), opaque={self.provider: block.opaque} if block.opaque else {})

    def _take_own(self, part: Mapping[str, Any]) -> list[Delta]:
        """A part that only Gemini understands: a picture, code that ran, a call of the server's own tools."""
        block = self.open("provider", data=dict(part), finished=True)
        call = camel(part.get("toolCall"))
        if not call:
            return []
        called = text(call.get("toolType"))
        arguments = json_text(call.get("args") or {})
        shown = Delta("server_tool_use", arguments, name=called, id=name(call.get("id")), index=block.index)
        return [shown]

    def _take_feedback(self, value: object) -> None:
        """A prompt that was blocked: there is no candidate, and that is the last word."""
        feedback = camel(value)
        self.details |= present(promptFeedback=feedback)
        blocked = name(feedback.get("blockReason"))
        if blocked is not None:
            self.stop, self.done, self.refused = blocked, True, True

    def _fail(self, error: object) -> None:
        said = record(error)
        word = next((key for key in ("status", "code") if said.get(key)), None)
        rest = {key: value for key, value in said.items() if key != word}
        self.fail({"type": None if word is None else said[word], **rest} if said else error)

    def _count(self, usage: Mapping[str, Any]) -> None:
        """Each chunk's counts are those of the whole answer so far, so the last ones say all.

        ``promptTokenCount`` includes what was read from a cache, ``candidatesTokenCount`` leaves the thoughts out; what
        the server's own tools were told counts as input.
        """
        if not usage:
            return
        more = rest_of(usage, _USAGE)
        if more is not None:
            self.keep_detail("usageMetadata", more)
        prompt, cached, tools, said, thought = (number(usage.get(key)) for key in _COUNTS)
        if all(count is None for count in (prompt, cached, tools, said, thought)):
            return
        self.usage = {}
        self.count(
            input_tokens=None if prompt is None else prompt - (cached or 0) + (tools or 0),
            output_tokens=None if said is None and thought is None else (said or 0) + (thought or 0),
            cache_read_input_tokens=cached,
            reasoning_tokens=thought,
            input_audio_tokens=_sound(usage.get("promptTokensDetails")),
            output_audio_tokens=_sound(usage.get("candidatesTokensDetails")),
        )

    def _keep(self, said: Mapping[str, Any], read: frozenset[str]) -> None:
        if said.keys() <= read:
            return
        for key, value in present(**{key: each for key, each in said.items() if key not in read}).items():
            if key in _GROWING:
                self.details[key] = grown(self.details.get(key), value)
            else:
                self.keep_detail(key, value)


def _sound(details: object) -> int | None:
    """How many of the tokens that are listed by kind are sound."""
    of_sound = (record(each) for each in listed(details) if record(each).get("modality") == "AUDIO")
    return sum(number(each.get("tokenCount")) or 0 for each in of_sound) or None


def camel(value: object) -> Mapping[str, Any]:
    """A record under the API's names; some clients write them with underscores."""
    given = record(value)
    if given.keys() <= _SEEN:
        return given  # as the API itself writes it: nothing is copied
    return {camel_key(str(key)): each for key, each in given.items()}


_SEEN = _RESPONSE | _CANDIDATE | _CONTENT_KEYS | _USAGE.all
"""The keys of nearly every chunk, none of which has an underscore."""


def grown(before: Any, value: Any) -> Any:
    """A detail that came in pieces, its lists whole.

    A list that begins like the one before says all of it again; another one goes on from it.
    """
    if not isinstance(value, Mapping):
        return value
    merged: dict[str, Any] = before if isinstance(before, dict) else {}
    for key, each in value.items():
        known = merged.get(key)
        if isinstance(each, list) and isinstance(known, list) and each[: len(known)] != known:
            known += each
        elif each is not None:
            merged[key] = list(each) if isinstance(each, list) else each
    return merged


_COUNTS = (
    "promptTokenCount", "cachedContentTokenCount", "toolUsePromptTokenCount", "candidatesTokenCount",
    "thoughtsTokenCount",
)  # fmt: skip
