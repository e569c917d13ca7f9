"""Media as each API spells them: a document block as a part, and a part as a document block.

Requests and forms write media with the same functions; nothing else knows how an API spells a picture. Whether an API
takes one at all is in ``limits``.

Source: the types of the official SDKs, openai 3.54.0, anthropic 2.12.0, google-genai 3.4.0 and cohere 7.3.1, read on
2026-11-22; ``video_url`` and ``audio_url`` as vLLM and its like take them.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from headish.content.media import PDF, NotDecodable, decode_text, media_type_of
from headish.content.recordings import RAW
from headish.values import shapes
from headish.values.blocks import Base64Source, Document, FileSource, MediaSource, UrlSource

Part = dict[str, Any]
_DATA_URL = re.compile(r"data:([a-z0-9.+-]+/[a-z0-9.+-]+);base64,([A-Za-z0-9+/]*={0,2})")
_AUDIO = {"wav": "audio/wav", "mp3": "audio/mpeg", "flac": "audio/flac", "ogg": "audio/ogg", "aac": "audio/aac"}
AUDIO_FORMATS = {media_type: format for format, media_type in _AUDIO.items()} | {
    "audio/x-wav": "wav", "audio/mp3": "mp3",
}  # fmt: skip
"""Chat's names for the types of recordings."""
_ENDINGS = {PDF: ".pdf", "text/plain": ".txt"}
_GEMINI_FILES = ("https://generativelanguage.googleapis.com/", "gs://")
"""The addresses of Gemini's own files."""


def kind_of_media(document: Document) -> str:
    """``image``, ``audio``, ``video`` or ``document``."""
    kind = media_type_of(document).partition("/")[0]
    return kind if kind in ("image", "audio", "video") else "document"


def at_url(url: str, media_type: str | None) -> MediaSource:
    """The source of a URL. A data URL becomes the data that it holds."""
    match = _DATA_URL.fullmatch(url)
    return UrlSource(url, media_type) if match is None else Base64Source(match[1], match[2])


def url_of(source: MediaSource) -> str | None:
    """A source as a URL, bytes as a data URL; None if it has no URL."""
    if isinstance(source, Base64Source):
        return f"data:{source.media_type.partition(';')[0].strip().lower()};base64,{source.data}"
    return source.url if isinstance(source, UrlSource) else None


# Chat Completions, and those that speak like it.


def read_chat_media(part: Mapping[str, Any], provider: str) -> Document | None:
    """The document of a part; None if the part is not a valid document."""
    kind = part.get("type")
    held = part.get(kind) if isinstance(kind, str) else None
    if kind in ("image_url", "video_url", "audio_url"):
        url = held if isinstance(held, str) else shapes.record(held).get("url")
        # The first five letters of each of these are its kind.
        return Document(at_url(url, f"{kind[:5]}/*")) if isinstance(url, str) and url else None
    if not isinstance(held, Mapping):
        return None
    data, format = held.get("data"), held.get("format")
    if kind == "input_audio" and isinstance(data, str) and isinstance(format, str):
        return Document(Base64Source(_AUDIO.get(format, f"audio/{format}"), data))
    return _read_file(held, provider) if kind == "file" else None


def _read_file(held: Mapping[str, Any], provider: str) -> Document | None:
    name = shapes.name(held.get("filename"))
    data, id, url = held.get("file_data"), held.get("file_id"), held.get("file_url")
    if isinstance(data, str) and (match := _DATA_URL.fullmatch(data)) is not None:
        return Document(Base64Source(match[1], match[2]), name)
    if isinstance(id, str) and id:
        return Document(FileSource(id, provider), name)
    return Document(UrlSource(url), name) if isinstance(url, str) and url else None


def write_chat_media(document: Document) -> Part:
    """A document as a part of a chat message."""
    source, media_type = document.source, media_type_of(document)
    if isinstance(source, FileSource):
        return {"type": "file", "file": {"file_id": source.file_id} | _named("filename", document)}
    if isinstance(source, Base64Source) and media_type.startswith("audio/"):
        format = AUDIO_FORMATS.get(media_type, media_type.partition("/")[2])
        return {"type": "input_audio", "input_audio": {"data": source.data, "format": format}}
    kind = kind_of_media(document)
    if kind == "document":
        name = document.name or f"document{_ENDINGS.get(media_type, '')}"
        return {"type": "file", "file": {"filename": name, "file_data": url_of(source)}}
    return {"type": f"{kind}_url", f"{kind}_url": {"url": url_of(source)}}


# Responses.


def read_responses_media(part: Mapping[str, Any], provider: str) -> Document | None:
    """As ``read_chat_media``."""
    kind, id = part.get("type"), part.get("file_id")
    if kind == "input_image":
        url = part.get("image_url")
        if isinstance(url, str) and url:
            return Document(at_url(url, "image/*"))
        return Document(FileSource(id, provider, "image/*")) if isinstance(id, str) and id else None
    if kind == "input_audio":
        return read_chat_media(part, provider)
    return _read_file(part, provider) if kind == "input_file" else None


def write_responses_media(document: Document, file_name: str | None = None) -> Part:
    """A document as a part of a Responses item; ``file_name``, if the API wants another name than the document's."""
    source = document.source
    if kind_of_media(document) == "audio":
        return write_chat_media(document)
    if kind_of_media(document) == "image":
        image: Part = {"type": "input_image", "detail": "auto"}
        return image | (
            {"file_id": source.file_id} if isinstance(source, FileSource) else {"image_url": url_of(source)}
        )
    if isinstance(source, FileSource):
        return {"type": "input_file", "file_id": source.file_id} | _named("filename", document)
    if isinstance(source, UrlSource):
        return {"type": "input_file", "file_url": source.url} | _named("filename", document)
    return {"type": "input_file", "filename": file_name or document.name or "document", "file_data": url_of(source)}


# Anthropic.


def read_anthropic_media(part: Mapping[str, Any], provider: str) -> Document | None:
    """As ``read_chat_media``. None for a document that is a list of blocks."""
    source, is_image = part.get("source"), part.get("type") == "image"
    if part.get("type") not in ("image", "document") or not isinstance(source, Mapping):
        return None
    name = None if is_image else shapes.name(part.get("title"))
    media_source = _read_anthropic_source(source, is_image, provider)
    return None if media_source is None else Document(media_source, name)


def _read_anthropic_source(source: Mapping[str, Any], is_image: bool, provider: str) -> MediaSource | None:
    kind, media_type, data = source.get("type"), source.get("media_type"), source.get("data")
    if kind in ("base64", "text") and isinstance(media_type, str) and isinstance(data, str):
        return Base64Source(media_type, b64encode(data.encode()).decode() if kind == "text" else data)
    if kind == "url" and isinstance(source.get("url"), str):
        return UrlSource(source["url"], "image/*" if is_image else PDF)
    if kind == "file" and isinstance(source.get("file_id"), str):
        return FileSource(source["file_id"], provider, "image/*" if is_image else None)
    return None


def write_anthropic_media(document: Document) -> Part:
    """A document as a block of Anthropic's."""
    source, media_type = document.source, media_type_of(document)
    source_part: Part
    if isinstance(source, UrlSource):
        source_part = {"type": "url", "url": source.url}
    elif isinstance(source, FileSource):
        source_part = {"type": "file", "file_id": source.file_id}
    else:
        source_part = {"type": "base64", "media_type": media_type, "data": getattr(source, "data", "")}
    if kind_of_media(document) == "image":
        return {"type": "image", "source": source_part}
    return {"type": "document", "source": source_part} | _named("title", document)


def write_anthropic_text(document: Document) -> Part:
    """A text document as a document of Anthropic's, which keeps its name. Raises: NotDecodable."""
    source = {"type": "text", "media_type": "text/plain", "data": decode_text(document)}
    return {"type": "document", "source": source} | _named("title", document)


def is_anthropic_text(document: Document) -> bool:
    """Whether a text source of Anthropic's gives the document's bytes back exactly."""
    if not isinstance(document.source, Base64Source) or document.source.media_type != "text/plain":
        return False
    try:
        return b64encode(decode_text(document).encode()).decode() == document.source.data
    except NotDecodable:
        return False


# Gemini.


def read_gemini_media(part: Mapping[str, Any], provider: str) -> Document | None:
    """As ``read_chat_media``; keys are in camel case."""
    inline, file = part.get("inlineData"), part.get("fileData")
    if isinstance(inline, Mapping) and isinstance(inline.get("data"), str) and isinstance(inline.get("mimeType"), str):
        return Document(Base64Source(inline["mimeType"], inline["data"]), shapes.name(inline.get("displayName")))
    if isinstance(file, Mapping) and isinstance(file.get("fileUri"), str) and file["fileUri"]:
        uri, media_type = file["fileUri"], shapes.name(file.get("mimeType"))
        is_own = uri.startswith(_GEMINI_FILES) or "://" not in uri  # ``files/abc`` is a name, not an address
        source: MediaSource = FileSource(uri, provider, media_type) if is_own else UrlSource(uri, media_type)
        return Document(source, shapes.name(file.get("displayName")))
    return None


def write_gemini_media(document: Document) -> Part:
    """A document as a part of Gemini's."""
    source = document.source
    if isinstance(source, Base64Source):
        # The parameters of raw samples say how to play them.
        media_type = source.media_type if media_type_of(document) in RAW else media_type_of(document)
        return {"inlineData": {"mimeType": media_type, "data": source.data}}
    uri = source.url if isinstance(source, UrlSource) else getattr(source, "file_id", "")
    mime_type = source.media_type
    # ``image/*`` is a kind for a part that named no type, and no type itself.
    return {
        "fileData": {"fileUri": uri} | ({"mimeType": mime_type} if mime_type and not mime_type.endswith("/*") else {})
    }


def _named(key: str, document: Document) -> Part:
    return {key: document.name} if document.name else {}
