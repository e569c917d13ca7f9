"""Content blocks as parts of a request: what all providers agree on.

A block becomes one of the provider's parts, or is left out with a note. If it can neither be sent nor be left out, it
is collected in ``refusals``: a request raises the first, ``lint`` lists them all. A provider's own writer is a subclass
that makes the parts; this module decides which block is allowed where.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, ClassVar, TypeVar

from msgspec import UNSET
from msgspec.structs import replace

from headish.content.forms.customs import INPUT, is_custom, kind_kept
from headish.content.forms.limits import MEDIA, refusal
from headish.content.forms.media import kind_of_media
from headish.content.forms.parts import FORM
from headish.content.media import NotDecodable, decode_bytes, decode_text, is_text, media_type_of
from headish.errors import Unsupported
from headish.providers.shared.copies import custom_text, owned
from headish.providers.shared.tools import ToolNames
from headish.values.blocks import (
    Base64Source,
    ContentBlock,
    Document,
    Erased,
    Mark,
    Other,
    ProviderBlock,
    Text,
    Thinking,
    ToolDefinitions,
    ToolResult,
    ToolUse,
    kind_of,
)
from headish.values.messages import Message, Note

Part = dict[str, Any]
Answer = TypeVar("Answer")
Beside = TypeVar("Beside", Text, Thinking, Document, ToolUse, ToolResult)
Piece = str | Document | Part
"""A part of a result: text, a document, or a part of the provider's own."""
SVG = "image/svg+xml"
"""Sent as text: no API takes it as a picture, and models can read its source."""


class BlockMapper(ABC):
    """Maps the blocks of one request. Class attributes say what the provider takes; the hooks below make the parts."""

    provider: ClassVar[str]
    tool_name: ClassVar[re.Pattern[str]] = re.compile(r"[a-zA-Z0-9_-]+")
    tool_name_limit: ClassVar[int] = 64

    def __init__(self) -> None:
        self.names = ToolNames(self.tool_name, self.tool_name_limit)
        self.notes: list[Note] = []
        self.refusals: list[Unsupported] = []
        self.foreign: Counter[str] = Counter()
        """For each other provider, the number of blocks that carry opaque data of it, which is not sent."""
        self._asked: tuple[Message, Any] | None = None
        self.images = self.media_bytes = 0
        """The number of images in the request, and the bytes of its media."""

    def parts(self, message: Message) -> list[Part]:
        """The parts of a message, in order, without those that are left out."""
        if len(message.content) == 1:  # the fast path of nearly all messages
            [block] = message.content
            part = _MAPPERS[type(block)](self, block, message)
            return [] if part is None else [part]
        mapped = [_MAPPERS[type(block)](self, block, message) for block in message.content]
        return [part for part in mapped if part is not None]

    def note(self, what: str, message: Message | None = None) -> None:
        """Note that something is not sent as it is stored."""
        self.notes.append(Note(what, message.turn if message else None))

    def refuse(self, what: str, message: Message | None = None) -> Part | None:
        """Record that something can neither be sent nor be left out. Returns None, so that a mapper can return it."""
        self.refusals.append(Unsupported(self.provider, what, turn=message.turn if message else None))
        return None

    def left_out(self, what: str, message: Message) -> Part | None:
        """Note that something is left out. Returns None, as ``refuse`` does."""
        self.note(f"{what} is left out", message)
        return None

    def asked_once(self, message: Message, ask: Callable[[Message], Answer]) -> Answer:
        """Call ``ask`` once for a message, not once for each of its blocks, and return its answer."""
        if self._asked is None or self._asked[0] is not message:
            self._asked = message, ask(message)
        answer: Answer = self._asked[1]
        return answer

    # Hooks of a provider's writer. Each returns plain JSON data, or None after a note.

    @abstractmethod
    def text_part(self, text: str, block: Text | None, message: Message) -> Part | None:
        """A text that is not blank; ``block`` is None if it was a document."""

    @abstractmethod
    def media_part(self, media_type: str, block: Document) -> Part:
        """A document that the provider takes; its data, if it has any, is proper base64."""

    @abstractmethod
    def call_part(self, block: ToolUse, message: Message) -> Part:
        """A call of the assistant; its id is set."""

    @abstractmethod
    def result_part(self, block: ToolResult, pieces: Sequence[Piece], message: Message) -> Part:
        """A result with its call's id and name. Pieces are texts that are not blank, documents that the provider takes,
        and parts of its own."""

    @abstractmethod
    def thinking_part(self, block: Thinking, message: Message) -> Part | None:
        """The provider's own reasoning."""

    @abstractmethod
    def own_part(self, block: ProviderBlock, data: Mapping[str, Any], message: Message) -> Part | None:
        """A block that only the provider understands, because it made it."""

    def blank_part(self, block: Text | None, message: Message) -> Part | None:
        """A blank text, which providers refuse."""
        return self.left_out("a blank text", message)

    def spoken_part(self, block: Document, message: Message) -> Part | None:
        """A recording of a model's speech. Its words are a text block beside it, if there is a transcript."""
        return self.left_out("the sound of an answer", message)

    def named_text(self, text: str, block: Document, message: Message) -> Part | None:
        """A text document as a part of its own, which keeps its name and the provider's opaque data; None if it goes
        out as plain text."""
        return None

    def result_piece(self, block: ProviderBlock, message: Message) -> Part | None:
        """A block inside a result that only the provider understands."""
        return self.left_out(f"a block of {block.provider} inside a result", message)

    def keeps_name(self, media_type: str) -> bool:
        """Whether the provider has a place for the name of such a document."""
        return False

    # The rules: which block is allowed where.

    def text(self, block: Text, message: Message) -> Part | None:
        if message.role is None:
            return self.refuse("a bare sequence, which has no role", message)
        if message.role == "tool":
            return self.refuse("text of a tool that is not a tool result", message)
        # A transcript's analysis is reasoning. Sent as text, it would become part of the answer.
        if message.role == "assistant" and message.attributes.channel == "analysis":
            return self.left_out("reasoning without a signature", message)
        return self._said(block.text, self._owned(block) if block.opaque else block, message)

    def thinking(self, block: Thinking, message: Message) -> Part | None:
        if message.role != "assistant":
            return self.refuse(f"reasoning of role {message.role}", message)
        # A signature is valid at its maker alone, and Anthropic refuses reasoning without one. Servers that share this
        # provider are told apart by their dialect (``openai/spelling.goes_back``, ADR 0119).
        if block.provider != self.provider:
            return self.left_out("another provider's reasoning" if block.provider else "unsigned reasoning", message)
        return self.thinking_part(self._owned(block) if block.opaque else block, message)

    def own(self, block: ProviderBlock, message: Message) -> Part | None:
        if block.provider != self.provider:
            kind = block.data.get("type") if isinstance(block.data, Mapping) else None
            suffix = f" ({kind[:80]})" if isinstance(kind, str) else ""
            return self.left_out(f"a block of {block.provider}{suffix}", message)
        if isinstance(block.data, Mapping) and block.data.keys() == {FORM}:
            return self.left_out("what a message says where its form has no place for it", message)
        if not isinstance(block.data, Mapping) or message.role not in ("user", "assistant"):
            return self.refuse("a block of its own that is not an object, or stands outside the conversation", message)
        return self.own_part(block, owned(block.data), message)

    def call(self, block: ToolUse, message: Message) -> Part | None:
        if message.role != "assistant":
            return self.refuse(f"a tool call of role {message.role}", message)
        return self.call_part(self._owned(block) if block.opaque else block, message)

    def arguments(self, block: ToolUse, message: Message) -> Mapping[str, Any]:
        """The arguments of a call as an object. Any other value is wrapped in one, with a note."""
        if is_custom(block):
            return {INPUT: custom_text(block)}
        if isinstance(block.input, Mapping):
            return block.input
        self.note(f"the arguments of {block.name[:80]} are not a JSON object: wrapped in one", message)
        return {"invalid_json": block.raw} if block.input is UNSET else {"value": block.input}

    def result(self, block: ToolResult, message: Message) -> Part | None:
        if message.role != "tool":  # of a result inside one that answers no call and goes out as text
            return self.refuse(f"a block of type {kind_of(block)!r} inside a tool result", message)
        if block.status is not None:
            self.note(f"the status {block.status[:80]!r} of a result is not sent", message)
        if block.opaque:
            block = self._owned(block)
        pieces: list[Piece] = []
        for inner in block.content:
            piece = inner.text if type(inner) is Text and not inner.opaque else self._piece(inner, message)
            if type(piece) is str and (not piece or piece.isspace()):
                self.left_out("a blank text", message)
            elif piece is not None:
                pieces.append(piece)
        return self.result_part(block, pieces, message)

    def document(self, block: Document, message: Message) -> Part | None:
        if message.role == "assistant" and kind_of_media(block) == "audio":
            return self.spoken_part(block, message)
        if message.role not in ("user", "tool") and not is_text(block):
            return self.refuse(f"a document of type {media_type_of(block)} of role {message.role}", message)
        piece = self._read_document(self._owned(block) if block.opaque else block, message)
        if isinstance(piece, str):
            return self._said(piece, None, message)
        return self.media_part(media_type_of(piece), piece) if isinstance(piece, Document) else piece

    def unknown(self, block: ContentBlock, message: Message) -> Part | None:
        return self.refuse(f"a block of type {kind_of(block)!r}", message)

    def piece_part(self, piece: Piece, text_type: str) -> Part:
        """A piece of a result as a part."""
        if isinstance(piece, str):
            return {"type": text_type, "text": piece}
        return self.media_part(media_type_of(piece), piece) if isinstance(piece, Document) else piece

    def _said(self, text: str, block: Text | None, message: Message) -> Part | None:
        blank = not text or text.isspace()
        return self.blank_part(block, message) if blank else self.text_part(text, block, message)

    def _piece(self, block: ContentBlock, message: Message) -> Piece | None:
        if isinstance(block, Text):
            self.foreign.update(list(block.opaque))  # no API has a place for opaque data of a text inside a result
            return block.text
        if isinstance(block, Document):
            return self._read_document(self._owned(block) if block.opaque else block, message)
        if isinstance(block, ProviderBlock):
            if block.provider != self.provider:
                return self.left_out(f"a block of {block.provider} inside a result", message)
            return self.result_piece(replace(block, data=owned(block.data)), message)
        self.refuse(f"a block of type {kind_of(block)!r} inside a tool result", message)
        return None

    def _read_document(self, block: Document, message: Message) -> Piece | None:
        """A text document as its text, under its name; any other document unchanged, if the provider takes it."""
        media_type, is_held = media_type_of(block), isinstance(block.source, Base64Source)
        try:
            if is_held and is_text(block):
                return self._read_text(block, message)
            is_measured = is_held and media_type in MEDIA[self.provider].types
            refused = self._measure(block, media_type) if is_measured else refusal(self.provider, block)
        except NotDecodable as error:
            refused = str(error)
        if refused is not None:
            self.refuse(refused, message)
            return None
        self.images += kind_of_media(block) == "image"
        if block.name is not None and not self.keeps_name(media_type):
            self.note(f"the name of the document {block.name[:80]!r} has no place", message)
        return block

    def _measure(self, block: Document, media_type: str) -> str | None:
        """Why a document of an accepted type is refused for its size; None if it fits. Raises: NotDecodable."""
        size_bytes = len(decode_bytes(block))
        self.media_bytes += size_bytes
        return refusal(self.provider, block, size_bytes) if size_bytes else f"an empty document of type {media_type}"

    def _read_text(self, block: Document, message: Message) -> Piece:
        """The text of a document. Its name goes into a tag around it: no API has a place for it beside a text."""
        text = decode_text(block)
        part = self.named_text(text, block, message)
        if part is not None:
            return part
        if media_type_of(block) == SVG:
            self.note("an SVG picture goes out as its text", message)
        if block.name is None or not text.strip():
            return text
        return f'<document name="{escape(block.name)}">\n{text}\n</document>'

    def check_media(self) -> None:
        """Refuse a request with more media than the provider takes."""
        limits = MEDIA[self.provider]
        if limits.image_limit is not None and self.images > limits.image_limit:
            self.refuse(f"{self.images} images: {limits.image_limit} fit")
        if limits.total_bytes is not None and self.media_bytes > limits.total_bytes:
            self.refuse(f"documents of {self.media_bytes:,} bytes: {limits.total_bytes:,} fit")

    def _owned(self, block: Beside) -> Beside:
        """A block with a copy of this provider's opaque data. That of other providers is counted and left out."""
        self.foreign.update(each for each in block.opaque if each != self.provider)
        own = block.opaque.get(self.provider)
        own_data = {} if own is None else {self.provider: owned(own)}
        return replace(block, opaque=(kind_kept(block) if isinstance(block, ToolUse) else {}) | own_data)


_MAPPERS: dict[type, Callable[[BlockMapper, Any, Message], Part | None]] = {
    Text: BlockMapper.text,
    Thinking: BlockMapper.thinking,
    ProviderBlock: BlockMapper.own,
    ToolUse: BlockMapper.call,
    ToolResult: BlockMapper.result,
    Document: BlockMapper.document,
    Mark: BlockMapper.unknown,
    ToolDefinitions: BlockMapper.unknown,
    Other: BlockMapper.unknown,
    Erased: BlockMapper.unknown,
}
