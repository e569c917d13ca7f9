"""Messages of Cohere's chat API: like those of Chat, with plans, citations and documents in results.

Source: the types of the official SDK, cohere 7.3.1 (``ChatMessageV2``), read on 2026-11-22.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headish.content import strictjson
from headish.content.forms.calls import CHAT_CALL, FUNCTION, BlockKeys, chat_call, chat_result, read_call, read_result
from headish.content.forms.layout import is_nothing
from headish.content.forms.media import kind_of_media, read_chat_media, write_chat_media
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
    object_at,
    only_text,
    opaque_of,
    parts_at,
    refuse,
    rest_of,
    text_at,
)
from headish.content.media import media_type_of
from headish.values.blocks import ContentBlock, Document, FileSource, ProviderBlock, Text, Thinking, ToolResult, ToolUse

PROVIDER = "cohere"
TRANSPORT: frozenset[str] = frozenset()
ROLES = ("system", "user", "assistant")
PLAN: Mapping[str, Any] = {"tool_plan": True}
"""The mark beside reasoning that came as a plan, so that it goes back as one."""
_RESULT = BlockKeys("tool_call_id", "content", ("role", "tool_calls", "tool_plan"))
_DOCUMENT, _PART, _MESSAGE = "document", "part", "message"


def read(entry: Mapping[str, Any]) -> NeutralEntry:
    """One message. Raises: InvalidContent."""
    role = entry.get("role")
    if role == "tool":
        return NeutralEntry("tool", (read_result(entry, _RESULT, _read_content, PROVIDER, TRANSPORT),))
    if role not in ROLES:
        raise refuse(f"a message of Cohere's has no role {role!r:.80}", "$.role")
    blocks = _read_content(entry.get("content"))
    if not is_nothing(entry.get("tool_plan")):
        plan = text_at(entry["tool_plan"], "$.tool_plan")
        blocks.append(Thinking(plan, provider=PROVIDER, opaque=keep(PROVIDER, PLAN)))
    calls = entry.get("tool_calls")
    for at, call in enumerate(list_at(calls, "$.tool_calls") if calls is not None else ()):
        blocks.append(_read_call(object_at(call, f"$.tool_calls[{at}]"), f"$.tool_calls[{at}]"))
    rest = rest_of(entry, _RESULT.all, TRANSPORT)
    if isinstance(rest.get("citations"), list) and _cite(blocks, rest["citations"]):
        del rest["citations"]
    if rest:
        blocks.append(ProviderBlock(PROVIDER, {_MESSAGE: rest}))
    return NeutralEntry(str(role), tuple(blocks))


def _cite(blocks: list[ContentBlock], citations: list[Any]) -> bool:
    """Put citations beside the text that they cite, if all cite the same one. Returns whether they do."""
    at = next((at for at, block in enumerate(blocks) if isinstance(block, Text) and not block.opaque), None)
    indexes = {each.get("content_index") or 0 for each in citations if isinstance(each, Mapping)}
    if at is None or indexes != {at} or not all(isinstance(each, Mapping) for each in citations):
        return False
    text = blocks[at]
    assert isinstance(text, Text)
    blocks[at] = Text(text.text, opaque={PROVIDER: {"citations": citations}})
    return True


def _read_content(content: Any) -> list[ContentBlock]:
    return parts_at(content, "$.content", _read_part)


def _read_part(given: Any, path: str) -> ContentBlock:
    part = object_at(given, path)
    kind = part.get("type")
    if kind == "text" and isinstance(part.get("text"), str):
        return Text(part["text"], opaque=_beside(part, "text"))
    if kind == "thinking" and isinstance(part.get("thinking"), str):
        return Thinking(part["thinking"], provider=PROVIDER, opaque=_beside(part, "thinking"))
    media = read_chat_media(part, PROVIDER) if kind == "image_url" else None
    if media is not None:
        rest = rest_of(part, write_chat_media(media), TRANSPORT)
        return Document(media.source, media.name, keep(PROVIDER, {_PART: rest} if rest else {}))
    held = part.get(_DOCUMENT)
    if kind == _DOCUMENT and isinstance(held, Mapping) and isinstance(held.get("data"), Mapping):
        rest = rest_of(part, {"type": "", _DOCUMENT: {"data": None}}, TRANSPORT)
        return Text(strictjson.encode(held["data"]).decode(), opaque={PROVIDER: {_DOCUMENT: rest}})
    return ProviderBlock(PROVIDER, {_PART: dict(part)})


def _beside(part: Mapping[str, Any], key: str) -> dict[str, Any]:
    rest = rest_of(part, {"type": "", key: ""}, TRANSPORT)
    return keep(PROVIDER, {_PART: rest} if rest else {})


def _read_call(call: Mapping[str, Any], path: str) -> ContentBlock:
    function = call.get("function")
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        return ProviderBlock(PROVIDER, {"tool_call": dict(call)})
    rest = rest_of(call, {**dict.fromkeys(CHAT_CALL), "function": FUNCTION.all}, TRANSPORT)
    return read_call(function, FUNCTION, call.get("id"), keep(PROVIDER, rest), path)


# Writing.


def write(said: NeutralEntry, losses: Losses) -> list[Part]:
    """Write a turn as messages: one for each result, then one for the rest."""
    blocks = [each for each in losses.own(said.blocks) if not isinstance(each, Document) or _takes(each, losses)]
    results = [_write_result(block, losses) for block in blocks if isinstance(block, ToolResult)]
    rest = [block for block in blocks if not isinstance(block, ToolResult)]
    if results and not rest:
        return results
    role = {"developer": "system", "tool": "user"}.get(said.role, said.role)
    return [*results, _write_message(role, rest)]


def _takes(document: Document, losses: Losses) -> bool:
    """Whether to write a document: the API has a part for a picture alone, by its bytes or its address. Notes one that
    is left out."""
    is_picture = kind_of_media(document) == "image" and not isinstance(document.source, FileSource)
    if is_picture or not losses.is_foreign:
        return True
    if losses.takes(document):
        losses.leave_out(f"a document of type {media_type_of(document) or 'unknown'}", "document")
    return False


def _write_message(role: str, blocks: Sequence[ContentBlock]) -> Part:
    entry: Part = {"role": role}
    parts: list[Part] = []
    calls: list[Part] = []
    for block in blocks:
        own = opaque_of(block, PROVIDER)
        if isinstance(block, Thinking) and own.get("tool_plan") is True:
            entry["tool_plan"] = entry.get("tool_plan", "") + block.text
        elif isinstance(block, ToolUse):
            calls.append(_write_call(block))
        elif isinstance(block, ProviderBlock) and isinstance(block.data, Mapping) and _PART not in block.data:
            calls += [block.data["tool_call"]] if "tool_call" in block.data else []
            entry = joined(entry, block.data.get(_MESSAGE))
        else:
            parts.append(_write_part(block))
            entry |= {"citations": [*entry.get("citations", ()), *own["citations"]]} if "citations" in own else {}
    content = content_of(parts)
    return (
        entry
        | ({"content": content} if parts or not (calls or "tool_plan" in entry) else {})
        | ({"tool_calls": calls} if calls else {})
    )


def _write_part(block: ContentBlock) -> Part:
    own = opaque_of(block, PROVIDER)
    if isinstance(block, Document):
        return joined(write_chat_media(block), own.get(_PART))
    if isinstance(block, Thinking):
        return joined({"type": "thinking", "thinking": block.text}, own.get(_PART))
    if isinstance(block, ProviderBlock):
        return dict(block.data.get(_PART, block.data))
    assert isinstance(block, Text)
    if _DOCUMENT in own:
        data = strictjson.decode(block.text, "a document")
        return joined({"type": _DOCUMENT, _DOCUMENT: {"data": data}}, own[_DOCUMENT])
    return joined({"type": "text", "text": block.text}, own.get(_PART))


def _write_call(block: ToolUse) -> Part:
    return joined(chat_call(block.id, block.name, arguments_of(block)), opaque_of(block, PROVIDER))


def _write_result(block: ToolResult, losses: Losses) -> Part:
    held = only_text(block, losses) if losses.is_foreign else block.content
    parts = [_write_part(each) for each in losses.inside(held)]
    if block.is_error:  # the API has no flag for errors
        parts.insert(0, {"type": "text", "text": "Error:"})
    return joined(chat_result(block.tool_use_id, content_of(parts)), opaque_of(block, PROVIDER))


COHERE = Form("cohere", PROVIDER, "messages", None, TRANSPORT, read, write)
