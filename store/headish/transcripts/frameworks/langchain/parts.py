"""Map the content of LangChain's messages: each part becomes one block, and its spelling is kept beside it.

A part is a text, one of LangChain's own, or one of the API of the model. So one picture has several spellings: a table
names them, each with its reader and its writer. A part is read by the first spelling that makes a readable block of it
and writes the part back. A part that no spelling writes back is kept whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial as bind
from typing import Any, NamedTuple

from headish.content import strictjson
from headish.content.encoding import read_block
from headish.content.forms import chat
from headish.content.forms.anthropic import ANTHROPIC
from headish.content.forms.layout import apply, find_difference, is_nothing
from headish.content.forms.media import url_of, write_chat_media
from headish.content.forms.parts import WHAT, Form, Losses, NeutralEntry, Part, joined, opaque_of, without
from headish.content.forms.responses import RESPONSES
from headish.content.forms.table import tell_content, tell_form
from headish.errors import HeadishError
from headish.transcripts.frameworks.langchain.own import (
    OWN_READERS,
    OWN_WRITERS,
    PROVIDER,
    TRANSPORT,
    Reader,
    Writer,
    is_own,
    of_kind,
)
from headish.values.blocks import ContentBlock, Document, ProviderBlock, Text, to_mapping

NEUTRAL = "neutral"
"""The spelling of a part that is the block's own JSON."""
TEXTS = "texts"
"""The spelling of a text that is a bare string instead of a part."""
KEPT = "kept"
"""The spelling of a part that is kept whole."""


class ReadPart(NamedTuple):
    """A part as a block, its spelling, and the layout in which it differs from what the spelling writes."""

    block: ContentBlock
    spelling: str
    layout: Part | None = None


def read_parts(parts: Sequence[Any], inputs: Mapping[str, Any]) -> list[ReadPart]:
    """Read content, one block for each part. ``inputs`` are the arguments of the message's calls, by id: the part of a
    call that was streamed has none.

    Raises: InvalidContent, TooDeep for what no database can hold.
    """
    strictjson.check(list(parts), WHAT)
    form = tell_content([part for part in parts if not is_own(part)])
    return [_read_part(part, None if form is None else form.name, inputs) for part in parts]


def write_part(block: ContentBlock, spelling: str, layout: Part | None = None) -> Any:
    """Write a block as the part that it was. Raises: KeyError for an unknown spelling; ValueError, InvalidContent for a
    block or a layout that does not fit."""
    part = _WRITERS[spelling](block)
    return part if layout is None else apply(layout, part)


def _read_part(part: Any, told: str | None, inputs: Mapping[str, Any]) -> ReadPart:
    if isinstance(part, str):
        return ReadPart(read_block(part), TEXTS)
    if not isinstance(part, Mapping):
        return _keep({"type": "unknown", "value": part})
    first: ReadPart | None = None
    for spelling in _spellings(part, told):
        read = _try(part, spelling, inputs)
        if read is not None and not isinstance(read.block, ProviderBlock):
            return read
        first = first or read
    return first or _keep(part)


def _keep(part: Mapping[str, Any]) -> ReadPart:
    data = without(part, TRANSPORT)
    block = read_block({"type": "provider", "provider": PROVIDER, "data": data})
    return ReadPart(block, KEPT, find_difference(data, part, TRANSPORT).layout)


def _try(part: Mapping[str, Any], spelling: str, inputs: Mapping[str, Any]) -> ReadPart | None:
    """Read a part by one spelling; None if that spelling does not write it back."""
    try:
        block = _READERS[spelling](_filled(part, inputs))
        if block is None:
            return None
        difference = find_difference(write_part(block, spelling), part, _transport(spelling))
    except (HeadishError, LookupError, TypeError, ValueError):
        # The part is of another spelling, so any of its values may be of another shape.
        return None
    return ReadPart(block, spelling, difference.layout) if difference.said is None else None


def _filled(part: Mapping[str, Any], inputs: Mapping[str, Any]) -> Mapping[str, Any]:
    if part.get("type") != "tool_use" or not isinstance(part.get("id"), str) or not is_nothing(part.get("input")):
        return part
    # The arguments of a call that was streamed are only beside the content.
    return {**part, "input": inputs.get(part["id"], part.get("input"))}


def _transport(spelling: str) -> frozenset[str]:
    """The keys that say how a part travels. In items of Responses, these include where the server keeps an item."""
    return TRANSPORT | RESPONSES.transport if spelling in ("responses", "items") else TRANSPORT


def _spellings(part: Mapping[str, Any], told: str | None) -> Iterator[str]:
    """The spellings that a part may have, the likeliest first."""
    kind = part.get("type")
    if not isinstance(kind, str):
        return
    if kind in _NEUTRAL:
        yield NEUTRAL
        # A client's notes on a call that was streamed are LangChain's own: no API takes them.
        is_api = "partial_json" not in part
        yield from [told] if told in _FORMS and is_api else ()
        yield from ["anthropic"] if kind == "tool_use" and is_api else ()
    if kind in _BY_TYPE:
        yield from _BY_TYPE[kind]
        return
    form = tell_content([part])
    if form is not None and form.name in _FORMS:
        yield form.name
    if tell_form([{"type": kind}]) is RESPONSES:
        yield "items"


# Blocks whose own JSON is the part.


def _read_neutral(part: Mapping[str, Any]) -> ContentBlock | None:
    data = without(part, TRANSPORT)
    return read_block(data) if data.keys() <= _NEUTRAL[part["type"]] else None


_NEUTRAL = {"text": {"type", "text"}, "tool_use": {"type", "id", "name", "input"}}


# Parts of the APIs.


def _read_chat(part: Mapping[str, Any]) -> ContentBlock | None:
    [block] = chat.read_content([part], chat.PROVIDER)
    return block if isinstance(block, Document) else None


def _write_chat(block: ContentBlock) -> Part:
    block = of_kind(block, Document)
    return joined(write_chat_media(block), opaque_of(block, chat.PROVIDER).get(chat.PART))


def _write_url(block: ContentBlock) -> Part:
    """A picture whose URL is a bare string."""
    block = of_kind(block, Document)
    part = _write_chat(block)
    return {**part, part["type"]: url_of(block.source)}


def _read_form(form: Form, part: Mapping[str, Any]) -> ContentBlock | None:
    # As a user's, whoever said it: people look at the pictures of an answer, too, so these are media.
    blocks = form.read({"role": "user", "content": [part]}).blocks
    return blocks[0] if len(blocks) == 1 else None


def _write_form(form: Form, block: ContentBlock) -> Part:
    [entry] = form.write(NeutralEntry("user", (block,)), Losses(form.name, form.provider))
    content = entry["content"]
    [part] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return dict(part)


def _read_item(part: Mapping[str, Any]) -> ContentBlock | None:
    """An item of Responses, which its client puts into the content of an answer."""
    if part["type"] == "reasoning" and not isinstance(part.get("summary"), list):
        return None  # the API takes no reasoning back without its summary
    entry = RESPONSES.read(part)
    return entry.blocks[0] if entry.role == "assistant" and len(entry.blocks) == 1 else None


def _write_item(block: ContentBlock) -> Part:
    [item] = RESPONSES.write(NeutralEntry("assistant", (block,)), Losses(RESPONSES.name, RESPONSES.provider))
    return dict(item)


def _write_kept(block: ContentBlock) -> Any:
    block = of_kind(block, ProviderBlock)
    return dict(block.data)


def _write_bare(block: ContentBlock) -> str:
    block = of_kind(block, Text)
    return block.text


_FORMS: dict[str, Form] = {"anthropic": ANTHROPIC, "responses": RESPONSES}
_BY_TYPE: dict[str, tuple[str, ...]] = {
    "text": ("text",),
    "tool_use": ("tool_use",),
    "thinking": ("anthropic", "thinking"),
    "server_tool_call": (),
    "server_tool_result": (),
    "reasoning": ("reasoning", "items"),
    "tool_call": ("tool_call",),
    "invalid_tool_call": ("invalid_tool_call",),
    "image": ("image", "anthropic"),
    "audio": ("audio",),
    "video": ("video",),
    "file": ("file", "media"),
    "text-plain": ("text-plain", "text-file"),
    "image_url": ("media", "url"),
    "video_url": ("media", "url"),
    "audio_url": ("media", "url"),
    "input_audio": ("media",),
    "document": ("anthropic",),
    "tool_result": ("anthropic",),
    "refusal": ("responses",),
}
"""The spellings of each type of part, in the order in which they are tried. Without any the part is kept whole."""
_READERS: dict[str, Reader] = {
    NEUTRAL: _read_neutral,
    **OWN_READERS,
    "media": _read_chat,
    "url": _read_chat,
    **{name: bind(_read_form, form) for name, form in _FORMS.items()},
    "items": _read_item,
}
_WRITERS: dict[str, Writer] = {
    NEUTRAL: to_mapping,
    TEXTS: _write_bare,
    KEPT: _write_kept,
    **OWN_WRITERS,
    "media": _write_chat,
    "url": _write_url,
    **{name: bind(_write_form, form) for name, form in _FORMS.items()},
    "items": _write_item,
}
