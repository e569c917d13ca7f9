"""Media: which type a document has, and what a document block holds.

A known extension of the name decides the type, otherwise the bytes do. puremagic judges the bytes and is imported only
then. The table of extensions is our own, because the system's tables differ between machines and a digest depends on
the type.
"""

from __future__ import annotations

import binascii
import mimetypes
from base64 import b64decode
from pathlib import PurePath

from headish.values.blocks import Base64Source, Document

IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
PDF = "application/pdf"
_TEXTS = ("application/json", "application/xml", "application/yaml", "application/toml", "application/x-ndjson")

EXTENSIONS = {
    ".pdf": "application/pdf",
    ".txt": "text/plain",
    ".md": "text/markdown",
    ".json": "application/json",
    ".csv": "text/csv",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
    ".gif": "image/gif",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
"""Source: gpt2099's documents (the schema reference's family) and RFC 7763, RFC 4180, RFC 8259."""

UNKNOWN = "application/octet-stream"
_SIGNATURES = {b"%PDF-": "application/pdf", b"\xff\xd8\xff": "image/jpeg"}
"""Beginnings that are certain, but so short that puremagic rates them as guesses."""

_SNIFFED_BYTES = 4096
_standard = mimetypes.MimeTypes(filenames=())
"""The standard library's own table, without the system's files."""


def guess_media_type(data: bytes, name: str | None = None) -> str:
    """The media type of a document; ``application/octet-stream`` if neither name nor bytes show it."""
    extension = PurePath(name or "").suffix.lower()
    by_name = EXTENSIONS.get(extension) or _standard.guess_type(f"x{extension}")[0]
    return by_name or _by_content(data)


class NotDecodable(ValueError):
    """The document's bytes are not what its source says; the message says why."""


def media_type_of(document: Document) -> str:
    """The media type without parameters, in lower case; empty where nobody said it."""
    return _without_parameters(document.source.media_type or "")


def is_text(document: Document) -> bool:
    """Whether the document is text that a message can hold: ``text/*``, JSON, XML and the like."""
    return is_text_type(document.source.media_type or "")


def is_text_type(media_type: str) -> bool:
    """As ``is_text``, of the media type alone."""
    kind = _without_parameters(media_type)
    return kind.startswith("text/") or kind in _TEXTS or kind.endswith(("+json", "+xml"))


def decode_bytes(document: Document) -> bytes:
    """The document's bytes. Raises: NotDecodable if they are elsewhere, or ``data`` is not base64."""
    if not isinstance(document.source, Base64Source):
        raise NotDecodable("a document whose bytes are elsewhere")
    try:
        return b64decode(document.source.data, validate=True)
    except (binascii.Error, ValueError):
        raise NotDecodable("a document whose data is not base64") from None


def decode_text(document: Document) -> str:
    """The text of a text document, without a byte order mark. Raises: NotDecodable if it is not UTF-8."""
    try:
        return decode_bytes(document).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise NotDecodable(f"a {media_type_of(document)} document that is not UTF-8") from None


def _without_parameters(media_type: str) -> str:
    return media_type.partition(";")[0].strip().lower()


def _by_content(data: bytes) -> str:
    import puremagic

    beginning = data[:_SNIFFED_BYTES]
    if not beginning:
        return "text/plain"
    signed = next((kind for signature, kind in _SIGNATURES.items() if beginning.startswith(signature)), None)
    if signed:
        return signed
    try:
        found = puremagic.magic_string(beginning)
    except (puremagic.PureError, ValueError):
        found = []
    certain = [match.mime_type for match in found if match.mime_type and match.confidence >= 0.5]
    return certain[0] if certain else _text_or_unknown(beginning)


def _text_or_unknown(beginning: bytes) -> str:
    """Bytes that are UTF-8 without NUL are text; the sniffed part may end inside a character."""
    try:
        text = beginning.decode()
    except UnicodeDecodeError as error:
        if error.start < len(beginning) - 3 or len(beginning) < _SNIFFED_BYTES:
            return UNKNOWN
        text = beginning[: error.start].decode()
    return UNKNOWN if "\x00" in text else "text/plain"
