"""Map LangChain's own parts of content to blocks and back: reasoning, calls, and media in both its shapes.

A reader returns None, or raises LookupError, TypeError, ValueError or a HeadishError, if the part has another spelling.

Source: ``langchain_core.messages.content`` and ``block_translators``, langchain-core 1.7.2, read on 2026-11-22.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from functools import partial as bind
from typing import Any, TypeAlias, TypeVar

from headish.content.encoding import read_block
from headish.content.forms import chat
from headish.content.forms.anthropic import ANTHROPIC
from headish.content.forms.calls import said_arguments
from headish.content.forms.layout import is_nothing
from headish.content.forms.parts import Part, arguments_of, joined, keep, make_call, opaque_of, without
from headish.content.media import decode_text
from headish.values import shapes
from headish.values.blocks import (
    Base64Source,
    Block,
    ContentBlock,
    Document,
    FileSource,
    MediaSource,
    Text,
    Thinking,
    ToolUse,
    UrlSource,
    kind_of,
    to_mapping,
)

PROVIDER = "langchain"
TRANSPORT = chat.TRANSPORT | ANTHROPIC.transport
"""Keys that say how a part travels: they stay outside the digest."""
MEDIA = {
    "image": "image/*", "audio": "audio/*", "video": "video/*", "file": "application/octet-stream",
    "text-plain": "text/plain",
}  # fmt: skip
"""LangChain's own kinds of media, each with the media type of a part that names none."""
Kind = TypeVar("Kind", bound=Block)
Reader: TypeAlias = Callable[[Mapping[str, Any]], ContentBlock | None]
Writer: TypeAlias = Callable[[Any], Any]


def is_own(part: Any) -> bool:
    """Whether a part is LangChain's own, not an API's."""
    if not isinstance(part, Mapping):
        return True
    kind = part.get("type")
    # Anthropic's media have a ``source``, Chat's a key that is named like the type.
    if kind in MEDIA:
        return "source" not in part and kind not in part
    return kind in ("tool_call", "invalid_tool_call") or (kind == "reasoning" and "reasoning" in part)


def of_kind(block: ContentBlock, kind: type[Kind]) -> Kind:
    """Check that a block is of the kind that its spelling writes, and return it. Raises: ValueError."""
    if not isinstance(block, kind):
        raise ValueError(f"a block of type {kind_of(block)} is in the place of {kind.__name__}")
    return block


def _read_said(part: Mapping[str, Any]) -> ContentBlock | None:
    return Text(part["text"], opaque=_beside(part, "text")) if isinstance(part["text"], str) else None


def _write_said(block: ContentBlock) -> Part:
    block = of_kind(block, Text)
    return joined({"type": "text", "text": block.text}, opaque_of(block, PROVIDER))


def _read_reasoning(part: Mapping[str, Any]) -> ContentBlock | None:
    text = part["reasoning"]
    return Thinking(text, provider=PROVIDER, opaque=_beside(part, "reasoning")) if isinstance(text, str) else None


def _write_reasoning(block: ContentBlock) -> Part:
    block = of_kind(block, Thinking)
    return joined({"type": "reasoning", "reasoning": block.text}, opaque_of(block, PROVIDER))


def _read_thinking(part: Mapping[str, Any]) -> ContentBlock | None:
    """Reasoning of Anthropic's shape without a signature, so its provider is unknown."""
    return read_block(without(part, TRANSPORT)) if "text" not in part else None


def _write_thinking(block: ContentBlock) -> Part:
    fields = to_mapping(block)
    text = fields.pop("text")
    return {**fields, "thinking": text}


def _read_call(part: Mapping[str, Any]) -> ContentBlock | None:
    return read_call(part, _beside(part, "id", "name", "args"))


def read_call(call: Mapping[str, Any], opaque: Mapping[str, Any] = {}) -> ToolUse:
    """Read a call. Arguments that no parser could read are a text. Raises: InvalidContent."""
    return make_call(
        shapes.text(call.get("name")), shapes.name(call.get("id")), opaque, "$", **said_arguments(call.get("args"))
    )


def _write_call(block: ContentBlock) -> Part:
    block = of_kind(block, ToolUse)
    return joined({**_named(block, "tool_call"), "args": block.input}, opaque_of(block, PROVIDER))


def _write_invalid(block: ContentBlock) -> Part:
    block = of_kind(block, ToolUse)
    return joined({**_named(block, "invalid_tool_call"), "args": arguments_of(block)}, opaque_of(block, PROVIDER))


def _read_use(part: Mapping[str, Any]) -> ContentBlock | None:
    """A call as Anthropic spells it, with what the client noted while it streamed in."""
    call = {"id": part.get("id"), "name": part.get("name"), "args": part.get("input")}
    return read_call(call, _beside(part, "id", "name", "input"))


def _write_use(block: ContentBlock) -> Part:
    block = of_kind(block, ToolUse)
    arguments = {"input": block.input} if block.raw is None else {"input": block.raw}
    return joined({**_named(block, "tool_use"), **arguments}, opaque_of(block, PROVIDER))


def _named(block: ToolUse, kind: str) -> Part:
    return {"type": kind, **({} if block.id is None else {"id": block.id}), "name": block.name}


def _read_media(part: Mapping[str, Any]) -> ContentBlock | None:
    """A picture, recording, video or file, in LangChain's present shape or in its older one with ``source_type``."""
    usual, given = MEDIA[part["type"]], part.get("mime_type")
    media_type = given if isinstance(given, str) and given else usual
    key = _key_of_source(part)
    if key is None or not isinstance(part.get(key), str):
        return None
    rest = _beside(part, "mime_type", key)
    source = _SOURCES[key](part[key], media_type)
    if isinstance(source, FileSource) and media_type == MEDIA["file"]:
        source = FileSource(source.file_id)  # the usual type says nothing, and the keeper of the file knows its own
    return Document(source, _name_of(part), rest)


def _key_of_source(part: Mapping[str, Any]) -> str | None:
    if "source_type" in part:
        return {"base64": "data", "url": "url", "id": "id", "text": "text"}.get(str(part["source_type"]))
    keys = ("text", "base64", "url", "file_id") if part["type"] == "text-plain" else ("base64", "url", "file_id")
    return next((key for key in keys if isinstance(part.get(key), str)), None)


def _base64_of(text: str, media_type: str) -> MediaSource:
    return Base64Source(media_type, b64encode(text.encode()).decode())


_SOURCES: dict[str, Callable[[str, str], MediaSource]] = {
    "base64": lambda data, media_type: Base64Source(media_type, data),
    "data": lambda data, media_type: Base64Source(media_type, data),
    "text": _base64_of,
    "url": UrlSource,
    "file_id": lambda id, media_type: FileSource(id, media_type=media_type),
    "id": lambda id, media_type: FileSource(id, media_type=media_type),
}


def _name_of(part: Mapping[str, Any]) -> str | None:
    """The name of a file; clients put it into several places."""
    extras, metadata = part.get("extras"), part.get("metadata")
    places = [part, *(each for each in (extras, metadata) if isinstance(each, Mapping))]
    names = (each.get(key) for each in places for key in ("filename", "name", "title"))
    return next((name for name in names if isinstance(name, str) and name), None)


def _write_media(kind: str, is_text: bool, block: ContentBlock) -> Part:
    block = of_kind(block, Document)
    source, own = block.source, opaque_of(block, PROVIDER)
    is_old, is_text = "source_type" in own, is_text or own.get("source_type") == "text"
    fields: Part = {}
    if isinstance(source, Base64Source):
        fields = {"text": decode_text(block)} if is_text else {"data" if is_old else "base64": source.data}
    elif isinstance(source, FileSource):
        fields = {"id" if is_old else "file_id": source.file_id}
    elif isinstance(source, UrlSource):
        fields = {"url": source.url}
    return joined({"type": kind, **fields, "mime_type": source.media_type}, own)


def _beside(part: Mapping[str, Any], *said: str) -> dict[str, Any]:
    rest = {key: each for key, each in without(part, ("type", *said, *TRANSPORT)).items() if not is_nothing(each)}
    return keep(PROVIDER, rest)


OWN_READERS: dict[str, Reader] = {
    "text": _read_said,
    "reasoning": _read_reasoning,
    "thinking": _read_thinking,
    "tool_call": _read_call,
    "invalid_tool_call": _read_call,
    "tool_use": _read_use,
    **dict.fromkeys((*MEDIA, "text-file"), _read_media),
}
"""Readers by spelling. A spelling is the type of the part, except ``text-file``: a ``text-plain`` part that holds a
file instead of the text."""
OWN_WRITERS: dict[str, Writer] = {
    "text": _write_said,
    "reasoning": _write_reasoning,
    "thinking": _write_thinking,
    "tool_call": _write_call,
    "invalid_tool_call": _write_invalid,
    "tool_use": _write_use,
    **{kind: bind(_write_media, kind, kind == "text-plain") for kind in MEDIA},
    "text-file": bind(_write_media, "text-plain", False),
}
"""Writers by spelling."""
