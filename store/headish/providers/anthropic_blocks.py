"""Content blocks as Anthropic's Messages API takes them.

Source: the types of the official SDK, anthropic 2.11.0, read on 2026-11-20 (API version 2026-10-21).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import UNSET

from headish.blocks import (
    ContentBlock,
    Document,
    Mark,
    Other,
    ProviderBlock,
    Text,
    Thinking,
    ToolResult,
    Tools,
    ToolUse,
)
from headish.errors import Unsupported
from headish.media import IMAGES, PDF, NotDecodable, decode_bytes, decode_text, is_text, media_type_of
from headish.model import Message
from headish.providers.tools import ToolNames
from headish.providers.values import Note

PROVIDER = "anthropic"
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]+")
TOOL_NAME_LIMIT = 128
UNCACHEABLE = ("thinking", "redacted_thinking")
"""Blocks that take no ``cache_control``."""
Mapped = dict[str, Any] | None


class BlockWriter:
    """Maps the blocks of one request; ``notes`` collects what is not sent as it is stored."""

    def __init__(self) -> None:
        self.names = ToolNames(TOOL_NAME, TOOL_NAME_LIMIT)
        self.notes: list[Note] = []

    def write(self, message: Message) -> list[dict[str, Any]]:
        """The blocks of a message, those left out that the API refuses or that are another provider's.

        Raises: Unsupported for what can neither be sent nor be left out.
        """
        mapped = [_WRITERS[type(block)](self, block, message) for block in message.content]
        return [block for block in mapped if block is not None]

    def note(self, what: str, message: Message) -> None:
        self.notes.append(Note(what, message.turn))

    def text(self, block: Text, message: Message) -> Mapped:
        if message.role is None:
            raise refused("a bare sequence, which has no role", message)
        if message.role == "tool":
            raise refused("text of a tool that is no tool result", message)
        if message.role == "assistant" and message.attributes.channel == "analysis":
            return self._left_out("reasoning without a signature", message)
        return self._text(block.text, message)

    def _text(self, text: str, message: Message) -> Mapped:
        # "text content blocks must be non-empty", says the API of blank ones.
        return {"type": "text", "text": text} if text.strip() else self._left_out("a blank text", message)

    def thinking(self, block: Thinking, message: Message) -> Mapped:
        if message.role != "assistant":
            raise refused(f"reasoning of role {message.role}", message)
        if block.provider != PROVIDER:
            return self._left_out("another provider's reasoning" if block.provider else "unsigned reasoning", message)
        if block.signature is None:
            return self._left_out("reasoning without a signature", message)
        return {"type": "thinking", "thinking": block.text, "signature": block.signature}

    def provider(self, block: ProviderBlock, message: Message) -> Mapped:
        if block.provider != PROVIDER:
            return self._left_out(f"a block of {block.provider}", message)
        if not isinstance(block.data, Mapping) or message.role not in ("user", "assistant"):
            raise refused("a block of its own that is no object, or stands outside the conversation", message)
        return dict(block.data)

    def call(self, block: ToolUse, message: Message) -> Mapped:
        if message.role != "assistant":
            raise refused(f"a tool call of role {message.role}", message)
        return {
            "type": "tool_use",
            "id": block.id,
            "name": self.names.send(block.name),
            "input": self._arguments(block, message),
        }

    def _arguments(self, block: ToolUse, message: Message) -> Any:
        if isinstance(block.input, Mapping):
            return block.input
        self.note(f"the arguments of {block.name} are no JSON object: wrapped in one", message)
        return {"invalid_json": block.raw} if block.input is UNSET else {"value": block.input}

    def result(self, block: ToolResult, message: Message) -> Mapped:
        inner = [self._inner(each, message) for each in block.content]
        content = [each for each in inner if each is not None]
        result = {"type": "tool_result", "tool_use_id": block.tool_use_id} | ({"content": content} if content else {})
        return {**result, "is_error": True} if block.is_error else result

    def _inner(self, block: ContentBlock, message: Message) -> Mapped:
        if isinstance(block, Text):
            return self._text(block.text, message)
        if isinstance(block, Document):
            return self._document(block, message)
        raise refused(f"a tool result that holds a block of type {type_of(block)!r}", message)

    def document(self, block: Document, message: Message) -> Mapped:
        if message.role == "tool":
            raise refused("a document of a tool that is no tool result", message)
        if message.role != "user" and not is_text(block):
            raise refused(f"a document of type {media_type_of(block)} of role {message.role}", message)
        return self._document(block, message)

    def _document(self, block: Document, message: Message) -> Mapped:
        media_type = media_type_of(block)
        try:
            if is_text(block):
                if block.name is not None:
                    self.note(f"the name of the text document {block.name[:80]!r} has no place", message)
                return self._text(decode_text(block), message)
            if media_type not in (*IMAGES, PDF):
                raise refused(f"a document of type {media_type or 'unknown'}", message)
            decode_bytes(block)
        except NotDecodable as error:
            raise refused(str(error), message) from None
        source = {"type": "base64", "media_type": media_type, "data": block.source.data}
        if media_type == PDF:
            return {"type": "document", "source": source} | ({"title": block.name} if block.name else {})
        return {"type": "image", "source": source}

    def unknown(self, block: ContentBlock, message: Message) -> Mapped:
        raise refused(f"a block of type {type_of(block)!r}", message)

    def _left_out(self, what: str, message: Message) -> Mapped:
        self.note(f"{what} is left out", message)
        return None


def type_of(block: ContentBlock) -> str:
    """The block's type, as it is stored."""
    return block.type if isinstance(block, Other) else str(block.__struct_config__.tag)


def refused(what: str, message: Message) -> Unsupported:
    """The error for what can neither be sent nor be left out."""
    return Unsupported(PROVIDER, what, turn=message.turn)


_WRITERS: dict[type, Callable[[BlockWriter, Any, Message], Mapped]] = {
    Text: BlockWriter.text,
    Thinking: BlockWriter.thinking,
    ProviderBlock: BlockWriter.provider,
    ToolUse: BlockWriter.call,
    ToolResult: BlockWriter.result,
    Document: BlockWriter.document,
    Mark: BlockWriter.unknown,
    Tools: BlockWriter.unknown,
    Other: BlockWriter.unknown,
}
