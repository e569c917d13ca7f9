"""Messages of LangChain as nodes: the fields of its message classes, whoever has kept them.

Content is a text, or a list of parts: LangChain's own, or those of the API that the model has. Calls stand beside the
content. What OpenAI's client has kept of them a second time, under ``additional_kwargs``, is left out.

Source: langchain-core 1.7.2, ``messages``, read and run 2026-11-22.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headish.content.encoding import read_block
from headish.content.forms.kept import read_kept
from headish.content.forms.table import tell_content
from headish.errors import HeadishError
from headish.imports.building import Node
from headish.imports.notes import Notes
from headish.values.blocks import ContentBlock, ProviderBlock, Text, Thinking, ToolResult, ToolUse

PROVIDER = "langchain"
ROLES = {
    "human": "user", "user": "user", "ai": "assistant", "assistant": "assistant", "system": "system",
    "developer": "developer", "tool": "tool", "function": "tool",
}  # fmt: skip
_OWN = (
    "type", "content", "id", "name", "tool_calls", "invalid_tool_calls", "tool_call_id", "usage_metadata", "status",
    "additional_kwargs", "response_metadata", "example", "tool_call_chunks", "chunk_position",
)  # fmt: skip
_REPEATED = ("tool_calls", "function_call", "reasoning_content", "__openai_role__")
_MEDIA = {"image": "image/*", "audio": "audio/*", "video": "video/*", "file": "application/octet-stream"}
Fields = Mapping[str, Any]


def kind_of_message(name: str, fields: Fields) -> str | None:
    """The kind of a message by its fields, else by its class; None for what is none."""
    kind = fields.get("type")
    kind = kind if isinstance(kind, str) and kind else name.removesuffix("Chunk").removesuffix("Message").lower()
    kind = kind.removesuffix("MessageChunk").lower() if kind not in ROLES else kind
    if kind == "chat":
        kind = str(fields.get("role"))
        return kind if kind in ROLES else "user"
    return kind if kind in ROLES and "content" in fields else None


def make_node(kind: str, fields: Fields, key: str | None, notes: Notes, where: str, **facts: Any) -> Node | None:
    """A message as a node; None, and noted as broken, where nothing can hold it."""
    additional, metadata = _mapping(fields.get("additional_kwargs")), _mapping(fields.get("response_metadata"))
    role = ROLES[kind]
    role = "developer" if role == "system" and additional.get("__openai_role__") == "developer" else role
    try:
        blocks = _blocks(role, fields, additional)
    except HeadishError as error:
        notes.break_off(where, str(error))
        return None
    rest = {key: value for key, value in fields.items() if key not in _OWN and value is not None}
    beside = {key: value for key, value in additional.items() if key not in _REPEATED and value not in (None, {}, [])}
    further = {"additional_kwargs": beside, "response_metadata": dict(metadata)}
    rest |= {name: value for name, value in further.items() if value}
    for name in rest:
        notes.keep(where, f"{name} of a message")
    named = fields.get("name")
    return Node(
        id=None, role=role, content=blocks or None, key=key, where=where, meta=rest,
        speaker=named if isinstance(named, str) and role in ("user", "assistant") and named else None,
        reply=_reply(fields, metadata) if role == "assistant" else None, **facts,
    )  # fmt: skip


def _blocks(role: str, fields: Fields, additional: Fields) -> list[ContentBlock]:
    said = read_content(fields.get("content"), role)
    if role == "tool":
        id, name = fields.get("tool_call_id"), fields.get("name")
        failed = {"error": True, "success": None}.get(str(fields.get("status")))
        named = name if isinstance(name, str) else None
        return [ToolResult(id if isinstance(id, str) else None, named, tuple(said), failed)]
    if role != "assistant":
        return said
    thought = additional.get("reasoning_content")
    if isinstance(thought, str) and thought and not any(isinstance(block, Thinking) for block in said):
        said = [Thinking(thought, provider=PROVIDER), *said]
    known = {block.id for block in said if isinstance(block, ToolUse)}
    calls = [*_listed(fields.get("tool_calls")), *_listed(fields.get("invalid_tool_calls"))]
    return [*said, *(_call(each) for each in calls if isinstance(each, Mapping) and each.get("id") not in known)]


def read_content(content: Any, role: str) -> list[ContentBlock]:
    """The blocks of content. Raises: InvalidContent, TooDeep."""
    if isinstance(content, str):
        return [Text(content)] if content else []
    parts = _listed(content)
    form = tell_content(parts)
    name = form.name if form is not None and form.name in ("responses", "anthropic") else "chat"
    speaker = "assistant" if role == "assistant" else "user"
    blocks: list[ContentBlock] = []
    for part in parts:
        own = _own_part(part)
        blocks += [own] if own is not None else read_kept(name, {"role": speaker, "content": [part]}).blocks
    return blocks


def _own_part(part: Any) -> ContentBlock | None:
    """A part as LangChain itself has it; None for an API's."""
    if not isinstance(part, Mapping):
        return Text(part) if isinstance(part, str) else ProviderBlock(PROVIDER, {"type": "unknown", "value": part})
    kind, thought = part.get("type"), part.get("reasoning")
    if kind == "reasoning" and isinstance(thought, str):
        return Thinking(thought, provider=PROVIDER, opaque=_rest(part, "type", "reasoning"))
    if kind in ("tool_call", "invalid_tool_call"):
        return _call(part)
    if kind in _MEDIA and any(isinstance(part.get(key), str) for key in ("base64", "url")) and "source" not in part:
        return _document(part, _MEDIA[kind])
    return None


def _document(part: Fields, usual: str) -> ContentBlock:
    media_type = part.get("mime_type") if isinstance(part.get("mime_type"), str) else usual
    data, url = part.get("base64"), part.get("url")
    source = (
        {"type": "base64", "media_type": media_type, "data": data}
        if isinstance(data, str)
        else {"type": "url", "url": url, "media_type": media_type}
    )
    rest = _rest(part, "type", "mime_type", "base64", "url", "source_type")
    return read_block({"type": "document", "source": source, **({"opaque": rest} if rest else {})}, "$.content")


def _call(call: Fields) -> ContentBlock:
    """A call; the arguments of one that no parser took are a text."""
    name, id, given = call.get("name"), call.get("id"), call.get("args")
    arguments = {"raw": given} if isinstance(given, str) else {"input": {} if given is None else given}
    named = {"id": id} if isinstance(id, str) and id else {}
    return read_block({"type": "tool_use", "name": name if isinstance(name, str) else "", **named, **arguments}, "$")


def _reply(fields: Fields, metadata: Fields) -> dict[str, Any]:
    facts = {
        "provider": metadata.get("model_provider") or PROVIDER,
        "model": metadata.get("model_name") or metadata.get("model"),
        "stop": metadata.get("finish_reason") or metadata.get("stop_reason"),
    }
    reply: dict[str, Any] = {key: value for key, value in facts.items() if isinstance(value, str)}
    usage = _usage(_mapping(fields.get("usage_metadata")))
    return reply | ({"usage": usage} if usage else {})


def _usage(counts: Fields) -> dict[str, int]:
    """LangChain's input counts what came from a cache as well."""
    inside, outside = _mapping(counts.get("input_token_details")), _mapping(counts.get("output_token_details"))
    found = {
        "input_tokens": counts.get("input_tokens"), "output_tokens": counts.get("output_tokens"),
        "cache_creation_input_tokens": inside.get("cache_creation"),
        "cache_read_input_tokens": inside.get("cache_read"), "reasoning_tokens": outside.get("reasoning"),
    }  # fmt: skip
    usage = {key: value for key, value in found.items() if type(value) is int and value >= 0}
    cached = usage.get("cache_creation_input_tokens", 0) + usage.get("cache_read_input_tokens", 0)
    return usage | ({"input_tokens": max(0, usage["input_tokens"] - cached)} if "input_tokens" in usage else {})


def _rest(part: Fields, *own: str) -> dict[str, Any]:
    rest = {key: value for key, value in part.items() if key not in own and value not in (None, [], {})}
    return {PROVIDER: rest} if rest else {}


def _mapping(value: Any) -> Fields:
    return value if isinstance(value, Mapping) else {}


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()
