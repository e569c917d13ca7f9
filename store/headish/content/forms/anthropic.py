"""Messages of Anthropic's API.

Blocks that only Anthropic understands, such as those of its server's tools, are kept whole as provider blocks.

Source: the types of the official SDK, anthropic 2.12.0 (``MessageParam``, ``BetaMessageParam``), read on 2026-11-22.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from headish.content.forms.calls import ANTHROPIC_CALL, ANTHROPIC_RESULT, anthropic_call, anthropic_result, read_result
from headish.content.forms.media import (
    is_anthropic_text,
    read_anthropic_media,
    write_anthropic_media,
    write_anthropic_text,
)
from headish.content.forms.parts import (
    Form,
    Losses,
    NeutralEntry,
    Part,
    content_of,
    input_of,
    joined,
    keep,
    make_call,
    object_at,
    opaque_of,
    parts_at,
    refuse,
    rest_of,
    text_at,
    without,
)
from headish.values.blocks import ContentBlock, Document, ProviderBlock, Text, Thinking, ToolResult, ToolUse

PROVIDER = "anthropic"
TRANSPORT = frozenset(("cache_control",))
ROLES = ("system", "user", "assistant")
_TEXT: Part = dict.fromkeys(("type", "text"))
_THINKING: Part = dict.fromkeys(("type", "thinking", "signature"))
"""The keys that are written of a block, as ``rest_of`` takes them."""


def read(entry: Mapping[str, Any]) -> NeutralEntry:
    """One message. Raises: InvalidContent."""
    role = entry.get("role")
    if role not in ROLES:
        raise refuse(f"a message of Anthropic's has no role {role!r:.80}", "$.role")
    return NeutralEntry(str(role), tuple(_read_content(entry.get("content"), "$.content", role != "assistant")))


def _read_content(content: Any, path: str, media: bool = True) -> list[ContentBlock]:
    """The blocks of a text, or of a list of blocks. ``media``: as in ``chat.read_content``."""
    return parts_at(content, path, partial(_read_block, media=media))


def _read_block(given: Any, path: str, media: bool) -> ContentBlock:
    block = object_at(given, path)
    kind = block.get("type")
    reader = _READERS.get(kind) if isinstance(kind, str) and (media or kind not in ("image", "document")) else None
    content_block = None if reader is None else reader(block, path)
    return ProviderBlock(PROVIDER, without(block, TRANSPORT)) if content_block is None else content_block


def _read_text(block: Mapping[str, Any], path: str) -> Text:
    text = text_at(block.get("text"), f"{path}.text")
    return Text(text, opaque=keep(PROVIDER, rest_of(block, _TEXT, TRANSPORT)))


def _read_media(block: Mapping[str, Any], path: str) -> Document | None:
    document = read_anthropic_media(block, PROVIDER)
    if document is None:
        return None
    rest = rest_of(block, _write_document(document), TRANSPORT)
    return Document(document.source, document.name, keep(PROVIDER, rest))


def _read_thinking(block: Mapping[str, Any], path: str) -> Thinking | None:
    text, signature = block.get("thinking"), block.get("signature")
    if not isinstance(text, str) or not isinstance(signature, str):
        return None  # without a signature the API takes no reasoning back, so it is kept whole
    rest = rest_of(block, _THINKING, TRANSPORT)
    return Thinking(text, signature=signature, provider=PROVIDER, opaque=keep(PROVIDER, rest))


def _read_call(block: Mapping[str, Any], path: str) -> ToolUse:
    rest = rest_of(block, ANTHROPIC_CALL.all, TRANSPORT)
    arguments = {} if block.get("input") is None else block["input"]
    caller = rest.get("caller")
    if caller == {"type": "direct"}:  # the same as no caller: the writer writes none
        del rest["caller"]
    return make_call(block.get("name"), block.get("id"), keep(PROVIDER, rest), path, input=arguments)


def _read_result(block: Mapping[str, Any], path: str) -> ToolResult:
    read_parts = partial(_read_content, path=f"{path}.content")
    return read_result(block, ANTHROPIC_RESULT, read_parts, PROVIDER, TRANSPORT, path)


_READERS: dict[str, Callable[[Mapping[str, Any], str], ContentBlock | None]] = {
    "text": _read_text,
    "image": _read_media,
    "document": _read_media,
    "thinking": _read_thinking,
    "tool_use": _read_call,
    "tool_result": _read_result,
}


# Writing.


def write(said: NeutralEntry, losses: Losses) -> list[Part]:
    """Write a turn as a message."""
    role = {"tool": "user", "developer": "system"}.get(said.role, said.role)
    parts = [_write_block(block, losses) for block in losses.own(said.blocks)]
    return [{"role": role, "content": content_of(parts)}]


def _write_block(block: ContentBlock, losses: Losses) -> Part:
    if type(block) is ProviderBlock:
        return dict(block.data) if isinstance(block.data, Mapping) else {}
    return joined(_write_known(block, losses), opaque_of(block, PROVIDER))


def _write_known(block: ContentBlock, losses: Losses) -> Part:
    # By the type itself: ``isinstance`` takes five times as long for a struct.
    if type(block) is Text:
        return {"type": "text", "text": block.text}
    if type(block) is Thinking:
        return {"type": "thinking", "thinking": block.text, "signature": block.signature or ""}
    if type(block) is Document:
        return _write_document(block)
    if type(block) is ToolUse:
        return anthropic_call(block.id, block.name, input_of(block))
    assert type(block) is ToolResult
    content = content_of([_write_block(each, losses) for each in losses.own(block.content)]) if block.content else None
    return anthropic_result(block.tool_use_id, content, block.is_error)


def _write_document(block: Document) -> Part:
    return write_anthropic_text(block) if is_anthropic_text(block) else write_anthropic_media(block)


ANTHROPIC = Form("anthropic", PROVIDER, "messages", "system", TRANSPORT, read, write)
