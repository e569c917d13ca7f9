"""LangChain's own parts of content as blocks, and back: reasoning, calls, and media as it has them and as it had them.

A reader gives None, or raises LookupError, TypeError, ValueError or a HeadishError, for a part that is another's.

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
"""LangChain's own media, and the type of those that name none."""
Kind = TypeVar("Kind", bound=Block)
Reader: TypeAlias = Callable[[Mapping[str, Any]], ContentBlock | None]
Writer: TypeAlias = Callable[[Any], Any]


def is_own(part: Any) -> bool:
    """Whether a part is of LangChain's own making, and no API's."""
    if not isinstance(part, Mapping):
        return True
    kind = part.get("type")
    if kind in MEDIA:
        return "source" not in part and kind not in part
    return kind in ("tool_call", "invalid_tool_call") or (kind == "reasoning" and "reasoning" in part)


def of_kind(block: ContentBlock, kind: type[Kind]) -> Kind:
    """The block, which is of a kind. Raises: ValueError for another one: it is not what the part was read as."""
    if not isinstance(block, kind):
        raise ValueError(f"a block of type {kind_of(block)} is in the place of {kind.__name__}")
    return block


def _read_said(part: Mapping[str, Any]) -> ContentBlock | None:
    return Text(part["text"], opaque=_beside(part, "text")) if isinstance(part["text"], str) else None


def _write_said(block: ContentBlock) -> Part:
    block = of_kind(block, Text)
    return joined({"type": "text", "text": block.text}, opaque_of(block, PROVIDER))


def _read_reasoning(part: Mapping[str, Any]) -> ContentBlock | None:
    said = part["reasoning"]
    return Thinking(said, provider=PROVIDER, opaque=_beside(part, "reasoning")) if isinstance(said, str) else None


def _write_reasoning(block: ContentBlock) -> Part:
    block = of_kind(block, Thinking)
    return joined({"type": "reasoning", "reasoning": block.text}, opaque_of(block, PROVIDER))


def _read_thinking(part: Mapping[str, Any]) -> ContentBlock | None:
    """Reasoning of Anthropic's shape that nobody has signed: whose it is is not known."""
    return read_block(without(part, TRANSPORT)) if "text" not in part else None


def _write_thinking(block: ContentBlock) -> Part:
    said = to_mapping(block)
    text = said.pop("text")
    return {**said, "thinking": text}


def _read_call(part: Mapping[str, Any]) -> ContentBlock | None:
    return read_call(part, _beside(part, "id", "name", "args"))


def read_call(call: Mapping[str, Any], opaque: Mapping[str, Any] = {}) -> ToolUse:
    """A call; the arguments of one that no parser took are a text. Raises: InvalidContent."""
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
    """A call in Anthropic's words, with what a client has noted while it came in."""
    call = {"id": part.get("id"), "name": part.get("name"), "args": part.get("input")}
    return read_call(call, _beside(part, "id", "name", "input"))


def _write_use(block: ContentBlock) -> Part:
    block = of_kind(block, ToolUse)
    given = {"input": block.input} if block.raw is None else {"input": block.raw}
    return joined({**_named(block, "tool_use"), **given}, opaque_of(block, PROVIDER))


def _named(block: ToolUse, kind: str) -> Part:
    return {"type": kind, **({} if block.id is None else {"id": block.id}), "name": block.name}


def _read_media(part: Mapping[str, Any]) -> ContentBlock | None:
    """A picture, a recording, a film or a file: as LangChain has them now, and as it had them with ``source_type``."""
    usual, given = MEDIA[part["type"]], part.get("mime_type")
    media_type = given if isinstance(given, str) and given else usual
    key = _key_of_source(part)
    if key is None or not isinstance(part.get(key), str):
        return None
    rest = _beside(part, "mime_type", key)
    source = _SOURCES[key](part[key], media_type)
    if isinstance(source, FileSource) and media_type == MEDIA["file"]:
        source = FileSource(source.file_id)  # whoever keeps it knows
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
    """What a file is called: clients put that into several places."""
    extras, metadata = part.get("extras"), part.get("metadata")
    places = [part, *(each for each in (extras, metadata) if isinstance(each, Mapping))]
    named = (each.get(key) for each in places for key in ("filename", "name", "title"))
    return next((name for name in named if isinstance(name, str) and name), None)


def _write_media(kind: str, is_text: bool, block: ContentBlock) -> Part:
    block = of_kind(block, Document)
    source, own = block.source, opaque_of(block, PROVIDER)
    is_old, is_text = "source_type" in own, is_text or own.get("source_type") == "text"
    said: Part = {}
    if isinstance(source, Base64Source):
        said = {"text": decode_text(block)} if is_text else {"data" if is_old else "base64": source.data}
    elif isinstance(source, FileSource):
        said = {"id" if is_old else "file_id": source.file_id}
    elif isinstance(source, UrlSource):
        said = {"url": source.url}
    return joined({"type": kind, **said, "mime_type": source.media_type}, own)


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
"""Readers by the spelling: the type of a part, but for plain text that is spelled as a file."""
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
"""Writers by the spelling."""
