"""Guess how many tokens a message has, from its bytes and the kind of text.

The ratios are those of o200k for chats, programs and JSON (measured: 4.8 bytes in a token of English, 4.1 of Python,
2.1 to 3 of JSON, 4.8 of Chinese), a little on the safe side. Other tokenizers differ by up to half, which ``fitting``
corrects. Nothing here loads a vocabulary.
"""

from __future__ import annotations

import json
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import UNSET

from headish.content.forms.parts import is_of_form
from headish.errors import InvalidArgument, shown
from headish.values.blocks import (
    Base64Source,
    ContentBlock,
    Document,
    ProviderBlock,
    Text,
    Thinking,
    ToolDefinitions,
    ToolResult,
    ToolUse,
    to_mapping,
)
from headish.values.messages import Message

Count = Callable[[str], int]
"""Counts the tokens of a text."""
ASCII_BYTES, DIGIT_BYTES, WIDE_BYTES, JSON_BYTES = 4.4, 1.5, 4.0, 2.6
"""Bytes in a token of ASCII text, of its digits, of other text, and of JSON."""
MESSAGE_TOKENS = 4
"""The tokens that a provider adds to each message: its role and its delimiters."""
IMAGE_TOKENS, DOCUMENT_TOKENS = 1500, 2000
"""The tokens of an image at the size to which providers scale it down; the least of any other document that is not
text."""
PAGE_BYTES, SOUND_BYTES = 30_000, 500
"""The bytes of a PDF that count as a page, and of sound that count as a token; both are guesses."""


def estimate(message: Message) -> float:
    """The tokens of a message, guessed by its bytes. Half of all texts are off by less than 9 %, one in ten by more
    than 24 %."""
    return MESSAGE_TOKENS + sum(map(_estimate_block, message.content))


def estimate_tools(tools: Iterable[Mapping[str, Any]]) -> float:
    """The tokens of tool definitions, guessed by their bytes."""
    listed = list(tools)
    return estimate_text(json.dumps(listed, default=str, ensure_ascii=False)) if listed else 0.0


def estimate_text(text: str) -> float:
    """The tokens of a text, guessed by its bytes."""
    # The first character decides whether it is JSON: parsing would cost more than the estimate is worth.
    if text[:1] in ("{", "["):
        return len(text.encode(errors="replace")) / JSON_BYTES
    narrow = text.encode("ascii", "ignore")
    wide = 0 if text.isascii() else len(text.encode(errors="replace")) - len(narrow)
    digits = len(narrow) - len(narrow.translate(None, b"0123456789"))
    return (len(narrow) - digits) / ASCII_BYTES + digits / DIGIT_BYTES + wide / WIDE_BYTES


def count_message(message: Message, count: Count) -> float:
    """The tokens of a message, counted by a function for texts; blocks that are not text are guessed.

    Raises: InvalidArgument if the function does not return a number of tokens.
    """
    return MESSAGE_TOKENS + sum(_count_block(block, count) for block in message.content)


def count_tools(tools: Iterable[Mapping[str, Any]], count: Count) -> float:
    """The tokens of tool definitions, counted by a function. Raises: as ``count_message``."""
    listed = list(tools)
    return _call(count, json.dumps(listed, default=str, ensure_ascii=False)) if listed else 0.0


def _estimate_block(block: ContentBlock) -> float:
    if type(block) is Text:
        return estimate_text(block.text)
    if isinstance(block, Document):
        return _estimate_document(block, estimate_text)
    if isinstance(block, ToolResult):
        return estimate_text(block.name or "") + sum(map(_estimate_block, block.content))
    return sum(map(estimate_text, _texts(block)))


def _count_block(block: ContentBlock, count: Count) -> float:
    if isinstance(block, Document):
        return _estimate_document(block, lambda text: _call(count, text))
    if isinstance(block, ToolResult):
        return _call(count, block.name or "") + sum(_count_block(inner, count) for inner in block.content)
    return sum(_call(count, text) for text in _texts(block))


def _call(count: Count, text: str) -> int:
    tokens = count(text)
    if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 0:
        raise InvalidArgument(f"count gives the number of tokens of a text, not {shown(tokens)}")
    return tokens


def _texts(block: ContentBlock) -> list[str]:
    """The texts of a block that are sent to a provider."""
    match block:
        case Text(text=text) | Thinking(text=text):
            return [text]
        case ToolUse(name=name, raw=raw, input=tool_input):
            return [name, raw if raw is not None or tool_input is UNSET else json.dumps(tool_input, ensure_ascii=False)]  # type: ignore[list-item]
        case ToolDefinitions(raw=raw):
            return [raw]
        case ProviderBlock() if is_of_form(block):
            return []  # it is not sent
        case ProviderBlock(data=data):
            return [json.dumps(data, ensure_ascii=False, default=str)]
        case _:
            return [json.dumps(to_mapping(block), ensure_ascii=False, default=str)]


def _estimate_document(document: Document, of_text: Callable[[str], float]) -> float:
    source = document.source
    if not isinstance(source, Base64Source):
        return IMAGE_TOKENS if (source.media_type or "").startswith("image/") else DOCUMENT_TOKENS
    kind, size = source.media_type, 3 * len(source.data) / 4
    if kind.startswith("text/") or kind.endswith(("json", "xml")):
        return of_text(_decode(source))
    if kind.startswith("image/"):
        return IMAGE_TOKENS
    if kind.startswith("audio/"):
        return max(DOCUMENT_TOKENS / 10, size / SOUND_BYTES)
    return max(DOCUMENT_TOKENS, DOCUMENT_TOKENS * size / PAGE_BYTES)


def _decode(source: Base64Source) -> str:
    try:
        return b64decode(source.data).decode(errors="replace")
    except (NotBase64, ValueError):
        return source.data
