"""The first words of a turn, for a list that people read."""

from __future__ import annotations

import re

import msgspec

from headish.content.encoding import decode_payload
from headish.errors import InvalidContent
from headish.values.blocks import join_texts

WORDS_CHARACTERS = 200
"""So much of a turn a list has at the most."""
_BEGINNING = re.compile(rb'\[\{"type":"text","text":("(?:[^"\\]|\\.)*)')
_decode_text = msgspec.json.Decoder(str).decode


def first_words(payload: bytes) -> str:
    """What a payload of blocks says as text, in one line, its first characters.

    Raises: InvalidContent.
    """
    return one_line(join_texts(decode_payload(payload)))


def words_of_payload(payload: bytes) -> str:
    """As ``first_words``; empty where the payload does not decode. For descriptions, which must not fail."""
    try:
        return first_words(payload)
    except InvalidContent:
        return ""


def words_of_beginning(payload: bytes) -> str:
    """As ``first_words``, of a payload of which only the beginning is there; empty where it begins with no text."""
    found = _BEGINNING.match(payload)
    if found is None:
        return ""
    # The end may be in the middle of a character or of an escape.
    for missing in range(12):
        try:
            return one_line(_decode_text(found[1][: len(found[1]) - missing] + b'"'))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
    return ""


def one_line(text: str) -> str:
    """The first characters of a text, its blanks and line breaks as single blanks."""
    return " ".join(text[: 4 * WORDS_CHARACTERS].split())[:WORDS_CHARACTERS]
