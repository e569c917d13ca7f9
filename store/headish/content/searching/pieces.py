"""The texts of a message that can be searched, each with its field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from headish.content.media import NotDecodable, decode_text, is_text
from headish.values.blocks import ContentBlock, Document, Text, Thinking, ToolResult, ToolUse

FIELDS = ("text", "reasoning", "calls", "results", "documents")
"""Where a search looks: what was said, what a model thought, names and arguments of calls, what tools answered, names
and texts of documents."""

SHOWN = ("text", "calls", "results", "documents")
"""Where a search looks by default: reasoning is private."""


class FieldText(NamedTuple):
    """A text of a turn, and the field that it belongs to."""

    field: str
    text: str


def pieces_of(blocks: Iterable[ContentBlock]) -> list[FieldText]:
    """The texts of a message. All text blocks together are one text, since some providers cut one text into several."""
    listed = list(blocks)
    if len(listed) == 1 and type(listed[0]) is Text:  # most turns
        return [FieldText("text", listed[0].text)]
    # By the type itself: ``isinstance`` takes five times as long for a struct.
    text = "".join([block.text for block in listed if type(block) is Text])
    pieces = [FieldText("text", text)] if text else []
    for block in listed:
        if type(block) is Thinking:
            pieces.append(FieldText("reasoning", block.text))
        elif type(block) is ToolUse:
            arguments = block.raw if block.raw is not None else "\n".join(_texts_of(block.input))
            pieces.append(FieldText("calls", f"{block.name}\n{arguments}"))
        elif type(block) is ToolResult:
            inner = "\n".join(piece.text for piece in pieces_of(block.content))
            pieces.append(FieldText("results", f"{block.name}\n{inner}" if block.name else inner))
        elif type(block) is Document:
            pieces += document_pieces(block.name, _text_of(block))
    return pieces


def document_pieces(name: str | None, text: str | None) -> list[FieldText]:
    """The name and the text of a document."""
    return [FieldText("documents", each) for each in (name, text) if each]


def tools_of(blocks: Iterable[ContentBlock]) -> set[str]:
    """The names of the tools that a message calls, or has results of."""
    return {block.name for block in blocks if (type(block) is ToolUse or type(block) is ToolResult) and block.name}


def unnamed_in(blocks: Iterable[ContentBlock]) -> set[str]:
    """The ids of the calls whose results do not name their tool."""
    return {block.tool_use_id for block in blocks if type(block) is ToolResult and block.tool_use_id and not block.name}


def _text_of(document: Document) -> str | None:
    try:
        return decode_text(document) if is_text(document) else None
    except NotDecodable:
        return None  # its bytes are not the text that they claim to be, or are elsewhere


def _texts_of(value: Any) -> Iterator[str]:
    """Yield the keys and values of arguments, each as a text: in JSON, escapes would run into the words."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            for key, inner in reversed(each.items()):
                waiting += [inner, key]
        elif isinstance(each, list):
            waiting += reversed(each)
        elif isinstance(each, str):
            yield each
        elif isinstance(each, int | float) and not isinstance(each, bool):
            yield str(each)
