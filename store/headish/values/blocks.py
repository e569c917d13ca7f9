"""Content blocks: what a message is made of (rule R8, block kinds), one frozen struct per kind.

Invariant (rule I9, kept as given; rule R9, one encoding): reading a block and writing it gives the same bytes. Keys
that a kind does not know are kept in ``extra``, in order, after the known ones; a block of an unknown kind is kept
whole in ``Other``.

The struct's fields, in order, are the declared order of the payload encoding: add new ones at the end.
"""

# No ``from __future__ import annotations``: to make its decoder, msgspec would compile each annotation's text, in every
# process that reads a turn (0.015 of ``headish log``).
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct

# No JSON object meets this condition. So the fast decoder refuses a block that has a key named "extra", and the careful
# one keeps the key as what it is, an unknown one.
Extra = Annotated[dict[str, Any], Meta(min_length=1, max_length=0)]


# Values make no cycles, so the garbage collector need not visit them (``gc=False``): a long thread is read in two
# thirds of the time.
class Block(Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True, tag_field="type"):
    """The base of the known kinds."""


Opaque = dict[str, Any]
"""What providers keep beside a block (signatures, citations), by provider: sent back to its maker alone."""


class Text(Block, frozen=True, tag="text"):
    """Text, exactly as given. ``literal``: it came from a literal block of OpenChatML 2.2."""

    text: str
    literal: bool = False
    opaque: Opaque = {}
    extra: Extra = {}


class Thinking(Block, frozen=True, tag="thinking"):
    """Private reasoning. ``provider`` made it; only that provider gets ``signature`` back."""

    text: str
    kind: str | None = None
    signature: str | None = None
    provider: str | None = None
    opaque: Opaque = {}
    extra: Extra = {}


class Base64Source(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="type", tag="base64"):
    """The bytes of a document: ``data`` is standard base64, ``media_type`` says what they are."""

    media_type: str
    data: str
    extra: Extra = {}


class UrlSource(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="type", tag="url"):
    """A document that lies at a URL. ``media_type`` may be a range such as ``image/*``, where no more is known."""

    url: str
    media_type: str | None = None
    extra: Extra = {}


class FileSource(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="type", tag="file"):
    """A document that a provider keeps under an id of its own; no other provider can read it."""

    file_id: str
    provider: str | None = None
    media_type: str | None = None
    extra: Extra = {}


class TurnSource(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="type", tag="turn"):
    """A document that is a turn of the same space, by its id; a request reads its bytes."""

    turn: str
    media_type: str | None = None
    extra: Extra = {}


MediaSource = Base64Source | UrlSource | FileSource | TurnSource
SOURCES: dict[str, type[MediaSource]] = {
    "base64": Base64Source,
    "url": UrlSource,
    "file": FileSource,
    "turn": TurnSource,
}
"""The kinds of a document's source, by their ``type``."""


class Document(Block, frozen=True, tag="document"):
    """A document inside a message: an image, a PDF, a recording, a film, a text."""

    source: MediaSource
    name: str | None = None
    opaque: Opaque = {}
    extra: Extra = {}


class ToolUse(Block, frozen=True, tag="tool_use"):
    """A call. ``raw`` is the exact text of its arguments, if ``input`` would not give it back.

    ``input`` is absent (UNSET) only if ``raw`` is not JSON. ``partial``: the answer was cut off inside the call, so it
    is neither run nor sent.
    """

    name: str
    id: str | None = None
    input: Any = UNSET
    raw: str | None = None
    closed: bool = False
    envelope: str | None = None
    partial: bool = False
    opaque: Opaque = {}
    extra: Extra = {}


class ToolResult(Block, frozen=True, tag="tool_result"):
    """The answer to a call, found by ``tool_use_id``, else by ``name`` and order."""

    tool_use_id: str | None = None
    name: str | None = None
    content: "tuple[Inner, ...]" = ()
    is_error: bool | None = None
    status: str | None = None
    closed: bool = False
    envelope: str | None = None
    opaque: Opaque = {}
    extra: Extra = {}


class ProviderBlock(Block, frozen=True, tag="provider"):
    """What only ``provider`` understands: kept as it came, and sent back to that provider only.

    ``partial``: the answer was cut off inside it, so it is not sent back either.
    """

    provider: str
    data: Any
    partial: bool = False
    extra: Extra = {}


class Mark(Block, frozen=True, tag="mark"):
    """A control token of a transcript, kept in place."""

    token: str
    extra: Extra = {}


class ToolDefinitions(Block, frozen=True, tag="tools"):
    """A list of tool definitions in a transcript; ``raw`` is its exact text."""

    raw: str
    closed: bool = False
    extra: Extra = {}


class Other(Struct, frozen=True):
    """A block of an unknown kind; ``data`` is all of it, ``type`` included."""

    type: str
    data: Mapping[str, Any]


class Erased(Struct, frozen=True, tag_field="type", tag="erased"):
    """What readers find in place of the content of an erased turn. Nobody can store one.

    ``number`` is that of the erasure, ``reason`` what was said of it.
    """

    number: int
    time: datetime
    reason: str

    def __str__(self) -> str:
        return f"erased on {self.time:%Y-%m-%d}: {self.reason}"


KnownBlock = Text | Thinking | Document | ToolUse | ToolResult | ProviderBlock | Mark | ToolDefinitions
ContentBlock = KnownBlock | Other | Erased

if TYPE_CHECKING:
    Inner = ContentBlock
else:
    # The fast decoder cannot read ``Other``; the careful one builds it (content/encoding.py).
    Inner = KnownBlock

KINDS: dict[str, type[KnownBlock]] = {
    "text": Text,
    "thinking": Thinking,
    "document": Document,
    "tool_use": ToolUse,
    "tool_result": ToolResult,
    "provider": ProviderBlock,
    "mark": Mark,
    "tools": ToolDefinitions,
}


def to_mapping(block: ContentBlock | Block) -> dict[str, Any]:
    """A block as plain data, in the payload's key order."""
    if isinstance(block, Erased):
        return {"type": "erased", "number": block.number, "time": block.time.isoformat(), "reason": block.reason}
    if isinstance(block, Other):
        return dict(block.data)
    if isinstance(block, ToolResult):  # each block in it may have unknown keys of its own
        inner = [to_mapping(item) for item in block.content]
        mapping = _flatten(msgspec.structs.replace(block, content=()), block.extra)
        return _with_content(mapping, inner) if inner else mapping
    mapping = _flatten(block, getattr(block, "extra", {}))
    source = getattr(block, "source", None)
    if isinstance(source, MediaSource) and source.extra:
        mapping["source"] = _flatten(source, source.extra)
    return mapping


def kind_of(block: ContentBlock) -> str:
    """The ``type`` of a block in its JSON."""
    return block.type if isinstance(block, Other) else str(block.__struct_config__.tag)


def erased_in(blocks: Iterable[ContentBlock]) -> Erased | None:
    """The mark of an erased message; None in any other."""
    return next((block for block in blocks if isinstance(block, Erased)), None)


def join_texts(blocks: Iterable[ContentBlock]) -> str:
    """The text blocks joined as they stand, without anything between them: some providers cut one text into several.

    Reasoning, calls, results and documents are not part of the text.
    """
    return "".join(block.text for block in blocks if isinstance(block, Text))


def _flatten(struct: Struct, extra: Mapping[str, Any]) -> dict[str, Any]:
    mapping: dict[str, Any] = msgspec.to_builtins(struct)
    if extra:  # in JSON the unknown keys are beside the known ones, not under a key of their own
        del mapping["extra"]
        mapping.update(extra)
    return mapping


def _with_content(mapping: dict[str, Any], inner: list[dict[str, Any]]) -> dict[str, Any]:
    """``content`` in its declared place: after ``tool_use_id`` and ``name``."""
    head: dict[str, Any] = {key: mapping.pop(key) for key in ("type", "tool_use_id", "name") if key in mapping}
    return head | {"content": inner} | mapping
