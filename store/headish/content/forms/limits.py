"""The media that each API takes: types, sources, sizes and counts, each with its source and the date it was read.

A request names and refuses what is not in the table before anything is sent. Sizes are those of the decoded bytes.
Where models of one API differ, the table has the largest, since the API itself knows the model. A number is unconfirmed
if the stored copy of the page that was read does not show it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from headish.content.forms.media import kind_of_media
from headish.content.media import IMAGES, PDF, media_type_of
from headish.values.blocks import Base64Source, Document, FileSource, TurnSource, UrlSource

MB = 1024 * 1024
_OFFICE = "application/vnd.openxmlformats-officedocument"
OFFICE = (
    "application/msword", f"{_OFFICE}.wordprocessingml.document", "application/rtf",
    "application/vnd.oasis.opendocument.text", "application/vnd.ms-powerpoint",
    f"{_OFFICE}.presentationml.presentation", "application/vnd.ms-excel", f"{_OFFICE}.spreadsheetml.sheet",
)  # fmt: skip
GEMINI_AUDIO = ("audio/wav", "audio/mp3", "audio/mpeg", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac")
GEMINI_VIDEO = (
    "video/mp4", "video/mpeg", "video/quicktime", "video/mov", "video/avi", "video/x-flv", "video/mpg", "video/webm",
    "video/wmv", "video/3gpp",
)  # fmt: skip


class Media(NamedTuple):
    """The media that one API takes.

    ``types`` are the types that it takes as bytes. ``urls`` and ``files`` are the kinds of media (``image`` …) or types
    that it takes from a URL, or as a file that it keeps. ``limit_bytes`` is the limit of one document, by kind,
    ``total_bytes`` that of all documents in a request, ``image_limit`` the number of images.
    """

    types: tuple[str, ...]
    urls: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    limit_bytes: Mapping[str, int] = {}
    total_bytes: int | None = None
    image_limit: int | None = None
    source: str = ""
    read: str = ""


MEDIA: dict[str, Media] = {
    "anthropic": Media(
        (*IMAGES, PDF), ("image", PDF), ("image", "document"), {"image": 5 * MB}, 32 * MB, 600,
        "https://platform.claude.com/docs/en/build-with-claude/vision", "2026-11-22",
    ),
    "openai": Media(
        (*IMAGES, PDF, "audio/wav", "audio/x-wav", "audio/mpeg", "audio/mp3"), ("image",), ("document",),
        {"document": 50 * MB}, 50 * MB, 500,
        "https://developers.openai.com/api/docs/guides/images-vision", "2026-11-22; file size unconfirmed",
    ),
    "openai_responses": Media(
        (*IMAGES, PDF, *OFFICE), ("image", "document"), ("image", "document"), {"document": 50 * MB}, 50 * MB, 500,
        "https://developers.openai.com/api/docs/guides/file-inputs", "2026-11-22; file size unconfirmed",
    ),
    "gemini": Media(
        ("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif", PDF, *GEMINI_AUDIO, *GEMINI_VIDEO),
        ("image", "document", "audio", "video"), ("image", "document", "audio", "video"), {"document": 50 * MB},
        100 * MB, 3600, "https://ai.google.dev/gemini-api/docs/file-input-methods", "2026-11-22; sizes unconfirmed",
    ),
    "cohere": Media(
        IMAGES, ("image",), (), {}, 20 * MB, 20, "https://docs.cohere.com/docs/image-inputs",
        "2026-11-22; size unconfirmed",
    ),
    "cerebras": Media(
        ("image/jpeg", "image/png"), (), (), {}, None, None,
        "the types of cerebras-cloud-sdk 1.91.0", "2026-11-22",
    ),
}  # fmt: skip
"""The table, by provider. No row has text documents, since every API takes them as text."""


def refusal(provider: str, document: Document, size_bytes: int = 0) -> str | None:
    """Why an API does not take a document that is not text; None if it does. ``size_bytes``: how large it is."""
    accepted, kind, media_type = MEDIA[provider], kind_of_media(document), media_type_of(document)
    source = document.source
    if isinstance(source, TurnSource):
        return f"a document that is the turn {source.turn[:80]}, whose bytes only its store has"
    if isinstance(source, UrlSource):
        return None if {kind, media_type} & {*accepted.urls} else f"a document at a URL ({media_type or kind})"
    if isinstance(source, FileSource):
        if source.provider not in (None, provider):
            return f"a file that {source.provider} keeps ({source.file_id[:80]})"
        return None if {kind, media_type} & {*accepted.files} else f"a file of its own ({media_type or kind})"
    assert isinstance(source, Base64Source)
    limit_bytes = accepted.limit_bytes.get(kind)
    if media_type not in accepted.types:
        return f"a document of type {media_type or 'unknown'}"
    if limit_bytes is not None and size_bytes > limit_bytes:
        return f"a document of type {media_type} of {size_bytes:,} bytes: {limit_bytes:,} fit"
    return None
