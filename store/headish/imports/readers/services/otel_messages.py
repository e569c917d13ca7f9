"""Read the messages of a model call from a span, in whichever convention the span uses.

- GenAI since 1.37: ``gen_ai.input.messages``, ``gen_ai.output.messages`` and ``gen_ai.system_instructions``, as values
  or as a text that holds JSON.
- GenAI before: events ``gen_ai.user.message``, ``gen_ai.choice`` and the like.
- OpenLLMetry: ``gen_ai.prompt.<i>.role``, ``gen_ai.completion.<i>.content`` …
- OpenInference: ``llm.input_messages.<i>.message.role`` …
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from headish.imports.readers.shared import make
from headish.imports.readers.shared.make import Block
from headish.values import shapes
from headish.values.shapes import heal

PROVIDER = "otel"
Attributes = Mapping[str, Any]
_ROLES = {
    "system": "system", "developer": "developer", "user": "user", "human": "user", "assistant": "assistant",
    "model": "assistant", "ai": "assistant", "tool": "tool", "function": "tool",
}  # fmt: skip
_DEPTH = 64
_PLACES = 10_000
"""The most messages that numbered attributes of a span may hold."""
_EVENT = re.compile(r"gen_ai\.(system|user|assistant|tool)\.message")


class SpanMessage(NamedTuple):
    """A message: ``reply`` is what the provider said beside it."""

    role: str
    blocks: list[Block]
    speaker: str | None = None
    reply: dict[str, Any] = {}


class SpanReading(NamedTuple):
    """A span: the messages that the model was asked with, its answers (several, if it was asked for several), what the
    provider said beside them, and what was kept unread."""

    asked: list[SpanMessage]
    answered: list[SpanMessage]
    reply: dict[str, Any]
    unread: list[str]


def read_span(span: Mapping[str, Any], attributes: Attributes) -> SpanReading:
    """Read a span by the first convention that gives a message."""
    unread: list[str] = []
    # A program that moves from one convention to the next writes both, and reading both would repeat each message.
    for convention in (_by_attributes, _by_events, _by_openllmetry, _by_openinference):
        asked, answered = convention(span, attributes)
        questions = [message for each in asked if (message := _said(each, unread)) is not None]
        answers = [message for each in answered if (message := _said(each, unread, "assistant")) is not None]
        if questions or answers:
            return SpanReading(questions, answers, _reply(attributes), unread)
    return SpanReading([], [], {}, [])


def attributes_of(listed: Any) -> dict[str, Any]:
    """Return attributes as values: from OTLP's list of typed ones, or a plain object."""
    if isinstance(listed, Mapping):
        return {str(key): heal(value) for key, value in listed.items()}
    return {key: heal(_value(value, 0)) for key, value in _pairs(shapes.listed(listed))}


def _pairs(listed: list[Any]) -> Iterator[tuple[str, Any]]:
    entries = (each for each in listed if isinstance(each, Mapping) and isinstance(each.get("key"), str))
    return ((each["key"], each.get("value")) for each in entries)


def _value(typed: Any, depth: int) -> Any:
    """Return the value of one of OTLP's typed values."""
    if not isinstance(typed, Mapping) or depth > _DEPTH:
        return typed if not isinstance(typed, Mapping | list) else None
    for name in ("stringValue", "boolValue", "doubleValue", "bytesValue"):
        if name in typed:
            return typed[name]
    if "intValue" in typed:
        # OTLP's JSON writes 64-bit integers as text.
        try:
            return int(typed["intValue"])
        except (TypeError, ValueError):
            return typed["intValue"]
    listed = shapes.listed(shapes.record(typed.get("arrayValue", typed.get("kvlistValue"))).get("values"))
    if "arrayValue" in typed:
        return [_value(each, depth + 1) for each in listed]
    if "kvlistValue" in typed:
        return {key: _value(value, depth + 1) for key, value in _pairs(listed)}
    return None


Both = tuple[Sequence[Any], Sequence[Any]]


def _by_attributes(span: Mapping[str, Any], attributes: Attributes) -> Both:
    system = _loaded(attributes.get("gen_ai.system_instructions"))
    asked = shapes.listed(_loaded(attributes.get("gen_ai.input.messages")))
    parts = [system] if isinstance(system, str | Mapping) else shapes.listed(system)
    first = [{"role": "system", "parts": parts}] if parts else []
    return [*first, *asked], shapes.listed(_loaded(attributes.get("gen_ai.output.messages")))


def _by_events(span: Mapping[str, Any], attributes: Attributes) -> Both:
    asked: list[Any] = []
    answered: list[Any] = []
    for event in shapes.listed(span.get("events")):
        name = shapes.record(event).get("name")
        if not isinstance(name, str):
            continue
        facts = {**attributes_of(event.get("attributes")), **shapes.record(_loaded(event.get("body")))}
        found = _EVENT.fullmatch(name)
        if found is not None:
            asked.append({"role": found[1], **facts})
        elif name == "gen_ai.choice":
            answered.append({**facts, **shapes.record(_loaded(facts.get("message")))})
        elif name == "gen_ai.client.inference.operation.details":
            inner = _by_attributes(span, facts)
            asked, answered = [*asked, *inner[0]], [*answered, *inner[1]]
    return asked, answered


def _by_openllmetry(span: Mapping[str, Any], attributes: Attributes) -> Both:
    return _numbered(attributes, "gen_ai.prompt."), _numbered(attributes, "gen_ai.completion.")


def _by_openinference(span: Mapping[str, Any], attributes: Attributes) -> Both:
    asked = [_unwrapped(each, "message") for each in _numbered(attributes, "llm.input_messages.")]
    return asked, [_unwrapped(each, "message") for each in _numbered(attributes, "llm.output_messages.")]


def _numbered(attributes: Attributes, prefix: str) -> list[Any]:
    """Return ``PREFIX0.a.b``, ``PREFIX1.a`` … as a list of objects."""
    tree: dict[str, Any] = {}
    for key in sorted(each for each in attributes if each.startswith(prefix)):
        steps = key[len(prefix) :].split(".")
        place = tree
        for step in steps[:-1] if len(steps) < _DEPTH else ():
            inner = place.setdefault(step, {})
            place = inner if isinstance(inner, dict) else {}
        place[steps[-1]] = attributes[key]
    return shapes.listed(_as_list(tree))


def _as_list(value: Any) -> Any:
    """Convert objects whose keys are numbers to lists, at any depth."""
    if not isinstance(value, dict):
        return value
    items = {key: _as_list(each) for key, each in value.items()}
    # Short numbers only: ``int`` refuses a text of more than 4,300 digits.
    if items and len(items) <= _PLACES and all(key.isascii() and key.isdigit() and len(key) < 10 for key in items):
        return [items[key] for key in sorted(items, key=int)]
    return items


def _said(message: Any, unread: list[str], usual: str = "user") -> SpanMessage | None:
    """Read a message of any convention; None for one that says nothing."""
    if not isinstance(message, Mapping):
        message = {"role": usual, "content": message} if isinstance(message, str) else {}
    role = _ROLES.get(str(message.get("role", usual)), usual)
    parts = message.get("parts")
    if not isinstance(parts, list):
        content = _loaded(message.get("content", message.get("contents")), only_lists=True)
        parts = content if isinstance(content, list) else [] if content in (None, "") else [content]
        if role == "tool":
            id = message.get("id", message.get("tool_call_id"))
            parts = [{"type": "tool_call_response", "id": id, "name": message.get("name"), "result": _one(parts)}]
    blocks = [block for part in parts for block in _part(part, unread)]
    blocks += [_call(_unwrapped(each, "tool_call")) for each in shapes.listed(_loaded(message.get("tool_calls")))]
    # In Anthropic's API a user's message carries results, and spans log what was sent.
    if all(block["type"] == "tool_result" for block in blocks) and blocks:
        role = "tool"
    stop = message.get("finish_reason")
    speaker = message.get("name") if role in ("user", "assistant") else None
    reply = {"stop": stop} if isinstance(stop, str) and stop else {}
    return SpanMessage(role, blocks, speaker if isinstance(speaker, str) else None, reply) if blocks else None


def _part(part: Any, unread: list[str]) -> list[Block]:
    if isinstance(part, str):
        return [make.text(part)] if part else []
    held = _unwrapped(part, "message_content")
    read = _PARTS.get(str(held.get("type"))) if isinstance(held, Mapping) else None
    block = read(held) if read is not None else None
    if block is not None:
        return [block] if block.get("text") != "" else []
    unread.append(f"part of type {held.get('type') if isinstance(held, Mapping) else type(held).__name__!s:.60}")
    return [make.own(PROVIDER, held)]


def _read_text(part: Attributes) -> Block | None:
    text = part.get("content", part.get("text"))
    return make.text(text) if isinstance(text, str) else None


def _read_reasoning(part: Attributes) -> Block | None:
    text = shapes.first(part, ("content", "text", "thinking"), str)
    return None if text is None else make.thinking(text, PROVIDER)


def _call(part: Any) -> Block:
    held = shapes.record(part)
    function = held.get("function")
    inner = function if isinstance(function, Mapping) else held
    name, given, id = inner.get("name"), inner.get("arguments", inner.get("args", inner.get("input"))), held.get("id")
    return make.call(name, shapes.name(id), None if given == "" else given)


def _read_result(part: Attributes) -> Block:
    keys = ("response", "result", "content", "output")
    result = next((part[key] for key in keys if part.get(key) is not None), "")
    text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
    id = part.get("id", part.get("tool_use_id", part.get("tool_call_id")))
    return make.result(shapes.name(id), part.get("name"), [make.text(text)])


def _read_blob(part: Attributes) -> Block | None:
    data = part.get("content", part.get("data"))
    if not isinstance(data, str):
        return None
    return make.document(make.base64(_media_type(part) or "application/octet-stream", data))


def _read_uri(part: Attributes) -> Block | None:
    held = part.get("image_url", part.get("image"))
    inner = held.get("image", held) if isinstance(held, Mapping) else held
    url = part.get("uri", inner.get("url") if isinstance(inner, Mapping) else inner)
    if not isinstance(url, str) or not url:
        return None
    media_type = _media_type(part) or ("image/*" if "image" in str(part.get("type")) else None)
    return make.document(make.url(url, media_type))


def _read_file(part: Attributes) -> Block | None:
    id = shapes.name(part.get("file_id"))
    return None if id is None else make.document({"type": "file", "file_id": id})


def _media_type(part: Attributes) -> str | None:
    mime_type = part.get("mime_type")
    modality = part.get("modality")
    if isinstance(mime_type, str) and mime_type:
        return mime_type
    return f"{modality}/*" if modality in ("image", "audio", "video") else None


_PARTS: dict[str, Callable[[Attributes], Block | None]] = {
    "text": _read_text, "reasoning": _read_reasoning, "thinking": _read_reasoning, "tool_call": _call,
    "tool_use": _call, "tool_call_response": _read_result, "tool_result": _read_result, "blob": _read_blob,
    "uri": _read_uri, "image": _read_uri, "image_url": _read_uri, "file": _read_file,
}  # fmt: skip


def _reply(attributes: Attributes) -> dict[str, Any]:
    names = ("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system")
    models = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name")
    stops = attributes.get("gen_ai.response.finish_reasons")
    stop = stops[0] if isinstance(stops, list) and stops else None
    provider = _first(attributes, names) or PROVIDER
    return make.reply(provider, _usage(attributes), model=_first(attributes, models), stop=stop)


def _usage(attributes: Attributes) -> dict[str, int]:
    """Return the token counts; the input includes what came from a cache."""
    places = {
        "input_tokens": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"),
        "output_tokens": ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"),
        "cache_creation_input_tokens": ("gen_ai.usage.cache_creation.input_tokens",),
        "cache_read_input_tokens": ("gen_ai.usage.cache_read.input_tokens",),
        "reasoning_tokens": ("gen_ai.usage.reasoning.output_tokens",),
    }
    counts = {name: next((attributes[key] for key in keys if key in attributes), None) for name, keys in places.items()}
    return shapes.token_counts(counts)


def _first(attributes: Attributes, names: Sequence[str]) -> str | None:
    return next(
        (attributes[name] for name in names if isinstance(attributes.get(name), str) and attributes[name]), None
    )


def _loaded(value: Any, *, only_lists: bool = False) -> Any:
    """Return a value, or the JSON that a text holds; a text that is not JSON (or not a list) unchanged."""
    if not isinstance(value, str) or not value.lstrip().startswith("[" if only_lists else ("[", "{", '"')):
        return value
    try:
        loaded = json.loads(value)
    except (ValueError, RecursionError):
        return value
    # What a person said may be a JSON list, too: only a list of parts is taken for one.
    is_parts = isinstance(loaded, list) and all(isinstance(each, dict) and "type" in each for each in loaded)
    return heal(loaded) if is_parts or not only_lists else value


def _unwrapped(value: Any, key: str) -> Any:
    return value[key] if isinstance(value, Mapping) and isinstance(value.get(key), Mapping) else value


def _one(parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else parts or ""
