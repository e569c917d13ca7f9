"""Content blocks of Anthropic's messages, as Claude Code and Claude.ai write them, in headish's own kinds.

A block that only Anthropic understands (redacted thinking, server tools, kinds that are new) is kept whole for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

ANTHROPIC = "anthropic"
Block = dict[str, Any]


def read_blocks(content: Any) -> list[Block]:
    """The blocks of a message. ``content`` is a text, or a list of blocks; nothing else says anything."""
    if isinstance(content, str):
        return [_text(content)] if content else []
    return [_read(block) for block in content] if isinstance(content, list) else []


def role_of(role: str, blocks: list[Block]) -> str:
    """``tool`` for a user's message that holds nothing but results, else the role that it has."""
    is_result = role == "user" and bool(blocks) and all(block["type"] == "tool_result" for block in blocks)
    return "tool" if is_result else role


def read_usage(usage: Any) -> dict[str, int]:
    """The counts of tokens, by headish's names, which are Anthropic's."""
    if not isinstance(usage, Mapping):
        return {}
    names = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return {name: usage[name] for name in names if type(usage.get(name)) is int}


def _read(block: Any) -> Block:
    if isinstance(block, str):
        return _text(block)
    if not isinstance(block, Mapping):
        return _own({"type": "unknown", "value": block})
    read = _READERS.get(str(block.get("type")), _own)
    return read(dict(block))


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _read_text(block: Block) -> Block:
    if not isinstance(block.get("text"), str):
        return _own(block)
    rest = {key: value for key, value in block.items() if key not in ("type", "text") and value not in (None, [])}
    return {**_text(block["text"]), **({"opaque": {ANTHROPIC: rest}} if rest else {})}


def _read_thinking(block: Block) -> Block:
    if not isinstance(block.get("thinking"), str):
        return _own(block)
    rest = {key: value for key, value in block.items() if key not in ("type", "thinking", "signature")}
    signed = {"signature": block["signature"]} if isinstance(block.get("signature"), str) else {}
    kept = {"opaque": {ANTHROPIC: rest}} if rest else {}
    return {"type": "thinking", "text": block["thinking"], **signed, "provider": ANTHROPIC, **kept}


def _read_call(block: Block) -> Block:
    if not isinstance(block.get("name"), str):
        return _own(block)
    rest = {key: value for key, value in block.items() if key not in ("type", "name", "id", "input")}
    call = {"type": "tool_use", "name": block["name"], "input": block.get("input", {})}
    named = {"id": block["id"]} if isinstance(block.get("id"), str) else {}
    return {**call, **named, **({"opaque": {ANTHROPIC: rest}} if rest else {})}


def _read_result(block: Block) -> Block:
    content = block.get("content")
    answers = block.get("tool_use_id")
    failed = block.get("is_error")
    rest = {key: value for key, value in block.items() if key not in _RESULT_KEYS}
    return {
        "type": "tool_result",
        **({"tool_use_id": answers} if isinstance(answers, str) else {}),
        **({"name": block["name"]} if isinstance(block.get("name"), str) else {}),
        "content": read_blocks(content if isinstance(content, str | list) else []),
        **({"is_error": failed} if isinstance(failed, bool) else {}),
        **rest,
    }


def _read_media(block: Block) -> Block:
    """An image is a document of its media type."""
    if not isinstance(block.get("source"), Mapping):
        return _own(block)
    return {**block, "type": "document"}


def _own(block: Block) -> Block:
    return {"type": "provider", "provider": ANTHROPIC, "data": block}


_RESULT_KEYS = ("type", "tool_use_id", "name", "content", "is_error")
_READERS: dict[str, Callable[[Block], Block]] = {
    "text": _read_text,
    "thinking": _read_thinking,
    "tool_use": _read_call,
    "tool_result": _read_result,
    "image": _read_media,
    "document": _read_media,
}
