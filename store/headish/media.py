"""What a document block holds, for everybody who emits one: text, an image, a PDF, or something else."""

from __future__ import annotations

import binascii
from base64 import b64decode

from headish.blocks import Document

IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
PDF = "application/pdf"
_TEXTS = ("application/json", "application/xml", "application/yaml", "application/toml", "application/x-ndjson")


class NotDecodable(ValueError):
    """The document's bytes are not what its source says; the message says why."""


def media_type_of(document: Document) -> str:
    """The media type without parameters, in lower case."""
    return document.source.media_type.partition(";")[0].strip().lower()


def is_text(document: Document) -> bool:
    """Whether the document is text that can stand in a message: ``text/*``, JSON, XML and their kin."""
    media_type = media_type_of(document)
    return media_type.startswith("text/") or media_type in _TEXTS or media_type.endswith(("+json", "+xml"))


def decode_bytes(document: Document) -> bytes:
    """The document's bytes. Raises: NotDecodable where ``data`` is no base64."""
    try:
        return b64decode(document.source.data, validate=True)
    except (binascii.Error, ValueError):
        raise NotDecodable("a document whose data is not base64") from None


def decode_text(document: Document) -> str:
    """The text of a text document, without a byte order mark. Raises: NotDecodable where it is not UTF-8."""
    try:
        return decode_bytes(document).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise NotDecodable(f"a {media_type_of(document)} document that is not UTF-8") from None
