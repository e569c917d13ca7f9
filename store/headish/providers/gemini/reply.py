"""Reads the answers of ``:generateContent``: a response, or the chunks of its stream, which are responses themselves.

A chunk has whole parts. Texts of one kind in a row are pieces of one text; a part with more than text in it ends that.
Source: ``types.GenerateContentResponse`` of google-genai 3.4.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from headish.content.forms.layout import camel as camel_key
from headish.content.recordings import RAW, join_data
from headish.providers.gemini.streamed import KEYS as STREAMED
from headish.providers.gemini.streamed import PIECE, StreamedCall
from headish.providers.shared.leftovers import grown, joined, keys, rest_of
from headish.providers.shared.reply import OpenBlock, ReplyReader
from headish.providers.shared.shapes import json_text, words
from headish.providers.shared.values import Delta, Reply
from headish.values.blocks import Base64Source, ContentBlock, Document, ProviderBlock
from headish.values.shapes import chosen, listed, name, number, present, record, text

_REFUSALS = (
    "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "ESCALATION", "MODEL_ARMOR",
)  # fmt: skip
STOPS = {"STOP": "end_turn", "MAX_TOKENS": "max_tokens", "CONTINUATION": "pause_turn"} | dict.fromkeys(
    _REFUSALS, "refusal"
)
"""All others (``MALFORMED_FUNCTION_CALL``, ``OTHER`` …) are errors; Gemini's explanation is in the details."""
UNFINISHED = "FINISH_REASON_UNSPECIFIED"
"""The finish reason that stands for none."""
_RESPONSE = frozenset(("candidates", "error", "modelVersion", "promptFeedback", "responseId", "usageMetadata"))
"""The keys of a response that are read; all others are kept as details."""
_SDK = frozenset(("automaticFunctionCallingHistory", "parsed", "sdkHttpResponse"))
"""Keys that objects of the SDK add."""
_CANDIDATE = frozenset(("content", "finishReason", "index"))
_CALL = frozenset(("id", "name", "args")) | STREAMED
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
"""Keys that a block of Gemini's own may not have: sent back, they would be further calls and results, beside those of
the thread."""
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
        self._streamed: StreamedCall | None = None
        """The last call whose arguments come in pieces."""

    def feed(self, event: Mapping[str, Any]) -> list[Delta]:
        response = camel(event)
        if not response.keys() & _RESPONSE:
            return self.keep_unknown(
                event, f"an event with the keys {', '.join(response)}" if response else "an empty event"
            )
        self.id = self.id or name(response.get("responseId"))
        self.model = name(response.get("modelVersion")) or self.model
        if "usageMetadata" in response:
            self._count(camel(response["usageMetadata"]))
        if not response.keys() <= _RESPONSE:
            self._keep(response, _RESPONSE | _SDK)
        if response.get("promptFeedback") is not None:
            self._take_feedback(response["promptFeedback"])
        deltas: list[Delta] = []
        for position, candidate in enumerate(listed(response.get("candidates"))):
            deltas += self._take_candidate(candidate, position)
        if response.get("error") is not None:
            self._fail(response["error"])
        return deltas

    @classmethod
    def is_response(cls, record: Mapping[str, Any]) -> bool:
        return False  # a response and a chunk of its stream are the same

    @classmethod
    def events_of(cls, response: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        yield response

    def finish(self) -> Reply:
        if self._streamed is not None:
            self._streamed.cut()
        return super().finish()

    def details_behind(self) -> dict[str, Any]:
        return {"candidates": [joined(pieces) for pieces in self._others.values()]} if self._others else {}

    def _take_candidate(self, value: object, position: int) -> list[Delta]:
        if type(value) is not dict and not isinstance(value, Mapping):
            return self.keep_unknown({"candidate": value}, "a candidate that is not an object")
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
            # The fast path: nearly every part of a stream is a piece of text and nothing else.
            return self.current("text").delta(value["text"]) if value["text"] else []
        if not isinstance(value, Mapping):
            return self.keep_unknown({"part": value}, "a part that is not an object")
        said = camel(value)
        part = present(**said)
        call = camel(part.get("functionCall"))
        if name(call.get("name")):
            return self._take_call(call, part)
        if self._streamed is not None and isinstance(said.get("functionCall"), Mapping):  # an empty one ends a call
            return self._grow_call(self._streamed, call, part)
        if isinstance(part.get("text"), str):
            return self._take_text(part)
        inline = camel(part.get("inlineData"))
        if text(inline.get("mimeType")).lower().startswith("audio/") and text(inline.get("data")):
            return self._take_sound(inline, part)
        if part.keys() & _NEVER_OWN:
            return self.keep_unknown({"part": value}, "a part that is neither a text nor a call")
        return self._take_own(part) if part.keys() - {"thought"} else []  # the flag alone is an empty part

    def _take_text(self, part: Mapping[str, Any]) -> list[Delta]:
        beside = {key: each for key, each in part.items() if key not in ("text", "thought")}
        words = text(part["text"])
        if not words and not beside:
            return []
        kind = "thinking" if part.get("thought") is True else "text"
        # A signature without text came as a part of its own, and goes back as one. With text, it ends the block.
        block = self.current(kind) if words else self.open(kind)
        if kind == "thinking":
            block.signature = name(beside.pop("thoughtSignature", None))
        block.opaque |= beside
        block.finished = bool(beside or block.signature)
        return block.delta(words)

    def _take_call(self, call: Mapping[str, Any], part: Mapping[str, Any]) -> list[Delta]:
        block, [begun] = self.open_call(call["name"], call.get("id"))
        block.opaque |= present(id=name(call.get("id")))  # marks an id as Gemini's: made ids do not go back
        block.opaque |= {key: each for key, each in part.items() if key != "functionCall"}
        block.opaque |= present(functionCall={key: each for key, each in call.items() if key not in _CALL})
        if self._streamed is not None:
            self._streamed.cut()
        arguments = {} if call.get("args") is None else call["args"]
        if (call.get("partialArgs") or call.get("willContinue") is True) and isinstance(arguments, Mapping):
            self._streamed = StreamedCall(block, arguments)
            return [begun, *self._grow_call(self._streamed, chosen(call, STREAMED), {})]
        block.input, block.finished = arguments, True
        return [msgspec.structs.replace(begun, content=json_text(block.input))]

    def _grow_call(self, streamed: StreamedCall, call: Mapping[str, Any], part: Mapping[str, Any]) -> list[Delta]:
        """Take pieces of the arguments of a call. They are shown at its end, because only then they are JSON."""
        block, given = streamed.block, call.get("partialArgs")
        listed_pieces = given if isinstance(given, list | tuple) else [] if given is None else [given]
        pieces = [camel(each) for each in listed_pieces]
        self.keep_rest({**call, "partialArgs": pieces}, PIECE)
        if not all(streamed.add(piece) for piece in pieces):
            block.odd = True
            self.keep_unknown({"part": {"functionCall": dict(call)}}, "a piece of a call")
        block.opaque |= {key: each for key, each in part.items() if key != "functionCall"}
        if call.get("willContinue") is True or block.finished or block.odd or not streamed.close():
            return []
        return [Delta("tool_use", json_text(block.input), index=block.index)]

    def _take_sound(self, inline: Mapping[str, Any], part: Mapping[str, Any]) -> list[Delta]:
        """Read a recording. Raw samples come in pieces, which are joined; any other recording is whole."""
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
        if not data:  # not base64, so no document: kept as Gemini's own, to go back as it came
            inline = {"mimeType": block.name, "data": "".join(block.pieces)}
            return ProviderBlock(self.provider, {**block.opaque, "inlineData": inline})
        return Document(Base64Source(block.name, data), opaque={self.provider: block.opaque} if block.opaque else {})

    def _take_own(self, part: Mapping[str, Any]) -> list[Delta]:
        """Keep a part that only Gemini understands: a picture, code that ran, a call of the server's own tools."""
        block = self.open("provider", data=dict(part), finished=True)
        call = camel(part.get("toolCall"))
        if not call:
            return []
        called = text(call.get("toolType"))
        arguments = json_text(call.get("args") or {})
        shown = Delta("server_tool_use", arguments, name=called, id=name(call.get("id")), index=block.index)
        return [shown]

    def _take_feedback(self, value: object) -> None:
        """Take the feedback on the prompt. If the prompt was blocked, no candidate comes, and the answer is at its
        end."""
        feedback = camel(value)
        self.details |= present(promptFeedback=feedback)
        blocked = name(feedback.get("blockReason"))
        if blocked is not None:
            self.stop, self.done, self.refused = blocked, True, True

    def _fail(self, error: object) -> None:
        problem = record(error)
        word = next((key for key in ("status", "code") if problem.get(key)), None)
        rest = {key: value for key, value in problem.items() if key != word}
        self.fail({"type": None if word is None else problem[word], **rest} if problem else error)

    def _count(self, usage: Mapping[str, Any]) -> None:
        """Take the token counts. Those of each chunk are for the whole answer so far, so the last ones count.

        ``promptTokenCount`` includes cache reads, ``candidatesTokenCount`` does not include thoughts; the prompts of
        the server's own tools count as input.
        """
        if not usage:
            return
        more = rest_of(usage, _USAGE)
        if more is not None:
            self.keep_detail("usageMetadata", more)
        prompt, cached, tools, answered, thought = (number(usage.get(key)) for key in _COUNTS)
        if all(count is None for count in (prompt, cached, tools, answered, thought)):
            return
        self.usage = {}
        self.count(
            input_tokens=None if prompt is None else prompt - (cached or 0) + (tools or 0),
            output_tokens=None if answered is None and thought is None else (answered or 0) + (thought or 0),
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
    """The number of sound tokens in a list of counts by kind; None if there are none."""
    of_sound = (record(each) for each in listed(details) if record(each).get("modality") == "AUDIO")
    return sum(number(each.get("tokenCount")) or 0 for each in of_sound) or None


def camel(value: object) -> Mapping[str, Any]:
    """A record with its keys in the API's spelling; some clients write them with underscores."""
    fields = record(value)
    if fields.keys() <= _SEEN:
        return fields  # the API's own spelling: no copy
    return {camel_key(str(key)): each for key, each in fields.items()}


_SEEN = _RESPONSE | _CANDIDATE | _CONTENT_KEYS | _USAGE.all
"""The keys of nearly every chunk, none of which has an underscore."""


_COUNTS = (
    "promptTokenCount", "cachedContentTokenCount", "toolUsePromptTokenCount", "candidatesTokenCount",
    "thoughtsTokenCount",
)  # fmt: skip
