"""Messages of OpenAI's Chat Completions, and of the many APIs that are like it.

Unknown things are kept where the reader of answers keeps them: keys of a message in one block after the others, keys of
a part or a call beside it, parts of other types as provider blocks.

Source: the types of the official SDK, openai 3.54.0, read on 2026-11-22; ``reasoning_content``, ``reasoning`` and
``reasoning_details`` as DeepSeek, vLLM and OpenRouter have them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from headish.content.forms.calls import CHAT_CALL, CHAT_RESULT, FUNCTION, chat_call, read_call, read_result
from headish.content.forms.customs import text_of
from headish.content.forms.layout import is_nothing
from headish.content.forms.media import read_chat_media, write_chat_media
from headish.content.forms.parts import (
    Form,
    Losses,
    NeutralEntry,
    Part,
    arguments_of,
    content_of,
    joined,
    keep,
    list_at,
    make_call,
    object_at,
    only_text,
    opaque_of,
    parts_at,
    refuse,
    rest_of,
    without,
)
from headish.content.recordings import AUDIO, is_transcript, read_spoken, said_aloud, write_spoken
from headish.values.blocks import ContentBlock, Document, ProviderBlock, Text, Thinking, ToolResult, ToolUse
from headish.values.checks.attributes import is_header_value

PROVIDER = "openai"
MESSAGE, PART, TOOL_CALL = "message", "part", "tool_call"
"""The place of a provider block: keys of the message, a part of its content, or one of its calls. Keys that are kept
beside a text or reasoning that came as a part are under ``PART``, too."""
TRANSPORT = frozenset(("cache_control", "index", "prompt_cache_breakpoint"))
ROLES = ("system", "developer", "user", "assistant")
_REASONING = ("reasoning_content", "reasoning")
_KNOWN = frozenset(("role", "content", "name"))
_ASSISTANT = _KNOWN | {"tool_calls", "function_call", "refusal", "annotations"}


def read(entry: Mapping[str, Any]) -> NeutralEntry:
    """One message. Raises: InvalidContent."""
    role = entry.get("role")
    if role in ("tool", "function"):
        read_parts = partial(read_content, provider=PROVIDER)
        return NeutralEntry("tool", (read_result(entry, CHAT_RESULT, read_parts, PROVIDER, TRANSPORT),))
    if role not in ROLES:
        raise refuse(f"a chat message has no role {role!r:.80}", "$.role")
    name = entry.get("name")
    # A name that no attribute may hold is kept as an unknown key.
    speaker = name if isinstance(name, str) and is_header_value(name) else None
    blocks = _read_answer(entry) if role == "assistant" else read_content(entry.get("content"), PROVIDER)
    known = _ASSISTANT if role == "assistant" else _KNOWN
    spoken = read_spoken(entry.get(AUDIO), PROVIDER) if role == "assistant" else []
    if spoken:
        blocks, known = [*blocks, *spoken], known | {AUDIO}
    further = {key: value for key, value in entry.items() if key not in known | TRANSPORT and not is_nothing(value)}
    if role == "assistant":
        further = without(further, _reasoning_keys(entry))
    if speaker is None and not is_nothing(name):
        further["name"] = name
    if further:
        blocks.append(ProviderBlock(PROVIDER, {MESSAGE: further}))
    return NeutralEntry(str(role), tuple(blocks), speaker)


def read_content(content: Any, provider: str, path: str = "$.content", *, media: bool = True) -> list[ContentBlock]:
    """The blocks of content that is a text, a list of parts, or nothing. ``media``: whether a part may become a
    document. In an answer it may not: only the answer's maker takes it back."""
    return parts_at(content, path, partial(_read_part, provider=provider, media=media))


def _read_part(part: Any, path: str, provider: str, media: bool) -> ContentBlock:
    if isinstance(part, str):
        return Text(part)
    fields = object_at(part, path)
    if fields.get("type") == "text" and isinstance(fields.get("text"), str):
        return Text(fields["text"], opaque=_beside(fields, {"type": "text", "text": fields["text"]}, provider))
    document = read_chat_media(fields, provider) if media else None
    if document is not None:
        return Document(document.source, document.name, _beside(fields, write_chat_media(document), provider, "type"))
    text = fields.get("thinking")
    if fields.get("type") == "thinking" and isinstance(text, str):
        return Thinking(text, provider=provider, opaque={provider: {PART: without(fields, ("thinking", *TRANSPORT))}})
    return ProviderBlock(provider, {PART: without(fields, TRANSPORT)})


def _beside(part: Mapping[str, Any], written: Part, provider: str, *less: str) -> dict[str, Any]:
    rest = rest_of(part, written, TRANSPORT)
    return {provider: {PART: {"type": part.get("type"), **rest} if not less else rest}} if rest else {}


def _reasoning_keys(entry: Mapping[str, Any]) -> list[str]:
    """The keys of the message's reasoning. A second one counts only if it says the same; else it is an unknown key."""
    keys = [key for key in _REASONING if isinstance(entry.get(key), str) and entry[key]]
    return keys if len({entry[key] for key in keys}) < 2 else keys[:1]


def _read_answer(entry: Mapping[str, Any]) -> list[ContentBlock]:
    """The blocks of an answer, in the order in which a model makes them."""
    blocks: list[ContentBlock] = [Thinking(str(entry[key]), provider=PROVIDER) for key in _reasoning_keys(entry)[:1]]
    calls, legacy, refusal = entry.get("tool_calls"), entry.get("function_call"), entry.get("refusal")
    content = entry.get("content")
    # Many servers write an empty text beside calls, which says nothing. But an answer with nothing else is an empty
    # text.
    if content != "" or not (calls or legacy or refusal or blocks):
        blocks += read_content(content, PROVIDER, media=False)
    if isinstance(refusal, str) and refusal:
        blocks.append(Text(refusal))
    if entry.get("annotations"):
        _annotate(blocks, entry["annotations"])
    for at, call in enumerate(list_at(calls, "$.tool_calls") if calls is not None else ()):
        blocks.append(_read_call(object_at(call, f"$.tool_calls[{at}]"), f"$.tool_calls[{at}]"))
    if legacy is not None:
        blocks.append(_read_function(object_at(legacy, "$.function_call"), None, {}, "$.function_call"))
    return blocks


def _annotate(blocks: list[ContentBlock], annotations: Any) -> None:
    """Put annotations beside the last text, as the reader of answers does."""
    at = next((at for at in reversed(range(len(blocks))) if isinstance(blocks[at], Text)), None)
    if at is None:
        blocks.append(Text("", opaque={PROVIDER: {"annotations": annotations}}))
        return
    text = blocks[at]
    assert isinstance(text, Text)
    blocks[at] = Text(text.text, opaque={PROVIDER: {**opaque_of(text, PROVIDER), "annotations": annotations}})


def _read_call(call: Mapping[str, Any], path: str) -> ContentBlock:
    function, custom = call.get("function"), call.get("custom")
    beside = rest_of(call, dict.fromkeys((*CHAT_CALL, "custom")), TRANSPORT)
    if isinstance(function, Mapping) and call.get("type") in ("function", None):
        return _read_function(function, call.get("id"), beside, path)
    if isinstance(custom, Mapping) and isinstance(custom.get("input"), str):
        more = rest_of(custom, {"name": "", "input": ""}, TRANSPORT)
        beside |= {"type": "custom"} | ({"custom": more} if more else {})
        return make_call(custom.get("name"), call.get("id"), keep(PROVIDER, beside), path, raw=custom["input"])
    return ProviderBlock(PROVIDER, {TOOL_CALL: without(call, TRANSPORT)})


def _read_function(function: Mapping[str, Any], id: Any, beside: Part, path: str) -> ToolUse:
    more = rest_of(function, FUNCTION.all, TRANSPORT)
    opaque = keep(PROVIDER, beside | ({"function": more} if more else {}))
    return read_call(function, FUNCTION, id, opaque, path)


# Writing.


def write(said: NeutralEntry, losses: Losses) -> list[Part]:
    """Write a turn as messages: one for each result, then one for the rest."""
    blocks = list(losses.own(said.blocks))
    results = [_write_result(block, losses) for block in blocks if isinstance(block, ToolResult)]
    rest = [block for block in blocks if not isinstance(block, ToolResult)]
    if said.role == "tool" and not rest:
        return results
    if said.role == "assistant":
        return [*results, _write_answer(rest, said, losses)]
    if results and not rest:
        return results
    role = said.role if said.role in ROLES else "user"
    parts = [part for block in rest if (part := _write_part(block, losses)) is not None]
    entry: Part = {"role": role, "content": content_of(parts)} | _name(said)
    return [*results, _message_keys(rest) | entry]


def _name(said: NeutralEntry) -> Part:
    return {"name": said.speaker} if said.speaker is not None else {}


def _message_keys(blocks: Sequence[ContentBlock]) -> Part:
    """The keys of a message that provider blocks keep."""
    keys: Part = {}
    for block in blocks:
        if isinstance(block, ProviderBlock) and isinstance(block.data, Mapping):
            keys |= block.data[MESSAGE] if isinstance(block.data.get(MESSAGE), Mapping) else {}
    return keys


def _write_answer(blocks: Sequence[ContentBlock], said: NeutralEntry, losses: Losses) -> Part:
    calls: list[Part] = []
    entry: Part = {"role": "assistant", "content": None} | _name(said)
    parts: list[Part] = []
    words = next((block.text for block in blocks if isinstance(block, Text) and is_transcript(block, PROVIDER)), None)
    has_sound = any(said_aloud(block, PROVIDER) is not None for block in blocks)
    for block in blocks:
        aloud = said_aloud(block, PROVIDER)
        if isinstance(block, Document) and aloud is not None:
            entry[AUDIO] = write_spoken(block, words, aloud)
        elif has_sound and is_transcript(block, PROVIDER):
            continue
        elif isinstance(block, Thinking) and PART not in opaque_of(block, PROVIDER):
            entry["reasoning_content"] = entry.get("reasoning_content", "") + block.text
        elif isinstance(block, ToolUse):
            calls.append(_write_call(block))
        elif isinstance(block, ProviderBlock) and isinstance(block.data, Mapping) and TOOL_CALL in block.data:
            calls.append(block.data[TOOL_CALL])
        else:
            part = _write_part(block, losses)
            parts += [] if part is None else [part]
            annotations = opaque_of(block, PROVIDER).get("annotations")
            entry |= {} if annotations is None else {"annotations": annotations}
    # Only the older API has calls without an id: ``function_call``.
    if len(calls) == 1 and "id" not in calls[0] and calls[0].get("type") == "function" and "function" in calls[0]:
        entry["function_call"] = calls[0]["function"]
    elif calls:
        entry["tool_calls"] = calls
    return _message_keys(blocks) | entry | {"content": content_of(parts, None)}  # kept keys never win over written ones


def _write_call(block: ToolUse) -> Part:
    own = opaque_of(block, PROVIDER)
    beside = without(own, ("custom", "function", "type"))
    if own.get("type") == "custom":
        call: Part = {} if block.id is None else {"id": block.id}
        custom = joined({"name": block.name, "input": text_of(block)}, own.get("custom"))
        return joined({**call, "type": "custom", "custom": custom}, beside)
    written = chat_call(block.id, block.name, arguments_of(block))
    return joined(joined(written, {"function": own.get("function")}), beside)


def _write_result(block: ToolResult, losses: Losses) -> Part:
    # A result of this API is text. A message of its own that had more in it comes back as it was.
    held = [*losses.inside(only_text(block, losses) if losses.is_foreign else block.content)]
    content: Any = "\n".join(each.text for each in held if isinstance(each, Text))
    if len(held) > 1 or any(isinstance(each, Document) or opaque_of(each, PROVIDER) for each in held):
        content = [part for each in held if (part := _write_part(each, losses)) is not None]
    # A chat message has no flag for errors.
    if block.is_error:
        content = f"Error: {content}" if isinstance(content, str) else [{"type": "text", "text": "Error:"}, *content]
    entry: Part = {"role": "tool", "tool_call_id": block.tool_use_id} | ({"name": block.name} if block.name else {})
    # It answers a call of the older API, which had no id.
    if block.tool_use_id is None:
        entry = {"role": "function", "name": block.name}
    return joined({**entry, "content": content}, opaque_of(block, PROVIDER))


def _write_part(block: ContentBlock, losses: Losses) -> Part | None:
    own = opaque_of(block, PROVIDER).get(PART)
    if isinstance(block, Text):
        return joined({"type": "text", "text": block.text}, own)
    if isinstance(block, Document):
        return joined(write_chat_media(block), own) if losses.takes(block) else None
    if isinstance(block, Thinking):
        return joined({"type": "thinking", "thinking": block.text}, own)
    if isinstance(block, ProviderBlock) and isinstance(block.data, Mapping):
        part = block.data.get(PART)
        return dict(part) if isinstance(part, Mapping) else None
    raise losses.refuse("a call that is not the assistant's")


CHAT = Form("chat", PROVIDER, "messages", None, TRANSPORT, read, write)
