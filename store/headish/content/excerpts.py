"""The first words of a turn, for a list that people read."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from headish.content.encoding import decode_payload
from headish.errors import InvalidContent
from headish.values.blocks import (
    ContentBlock,
    Document,
    Erased,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    join_texts,
    kind_of,
)

WORDS_CHARACTERS = 200
"""The most characters of a turn that a list shows."""
_BEGINNING = rb'\[\{"type":"text","text":("(?:[^"\\]|\\.)*)'
_KIND = rb'\[\{"type":"(\w+)"'
_WORDS_OF_KINDS = {b"tool_use": "call", b"tool_result": "result"}
_decode_text = msgspec.json.Decoder(str).decode


def first_words(payload: bytes) -> str:
    """The first characters of a payload's text, in one line.

    Raises: InvalidContent.
    """
    return one_line(join_texts(decode_payload(payload)))


def first_words_or_kinds(payload: bytes) -> str:
    """As ``first_words``; for blocks without text, a word for what they are: ``(call read_file)``."""
    blocks = decode_payload(payload)
    return one_line(join_texts(blocks) or in_short(blocks))


def in_short(blocks: Iterable[ContentBlock]) -> str:
    """A message on one line: its text, and a word for each block that is not text."""
    return " ".join(" ".join(map(_in_short, blocks)).split())


def words_of_payload(payload: bytes) -> str:
    """As ``first_words``; empty if the payload does not decode. For descriptions, which must not fail."""
    try:
        return first_words(payload)
    except InvalidContent:
        return ""


def words_of_beginning(payload: bytes) -> str:
    """As ``first_words_or_kinds``, from the beginning of a payload alone."""
    match = re.match(_BEGINNING, payload)
    if match is None:
        kind = re.match(_KIND, payload)
        return "" if kind is None else f"({_WORDS_OF_KINDS.get(kind[1], kind[1].decode())} …)"
    # The end may be in the middle of a character or of an escape. The longest is a surrogate pair: two escapes of six
    # bytes, of which up to eleven may be there.
    for missing in range(12):
        try:
            return one_line(_decode_text(match[1][: len(match[1]) - missing] + b'"'))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
    return ""


def one_line(text: str) -> str:
    """The first characters of a text, its blanks and line breaks as single blanks."""
    # Cut before splitting, since a text may be a book; four times as long, since blanks collapse.
    return " ".join(text[: 4 * WORDS_CHARACTERS].split())[:WORDS_CHARACTERS]


def _in_short(block: ContentBlock) -> str:
    match block:
        case Text(text=text):
            return text
        case Thinking():
            return "(thinking)"
        case Document(source=source, name=name):
            return f"(document {name or source.media_type})"
        case ToolUse(name=name):
            return f"(call {name})"
        case ToolResult(name=name, content=content):
            return f"(result{' of ' + name if name else ''}) {in_short(content)}"
        case Erased():
            return f"({block})"
        case _:
            return f"({kind_of(block)})"
