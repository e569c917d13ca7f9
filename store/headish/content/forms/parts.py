"""Helpers that the forms share: convert parts to blocks, keep their extra fields, and check which blocks a form can
express."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from headish.content import strictjson
from headish.content.encoding import read_checked
from headish.content.forms.customs import INPUT, is_custom, text_of
from headish.content.forms.layout import is_nothing
from headish.content.forms.media import kind_of_media
from headish.errors import InvalidContent, Unmappable
from headish.values.blocks import (
    ContentBlock,
    Document,
    ProviderBlock,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    UrlSource,
    kind_of,
)

WHAT = "a message"
FORM = "form"
"""The key of a provider block that holds the said half of a difference, which no other block can hold."""
Part = dict[str, Any]
_SAID_BY_ALL = frozenset((Text, Document, ToolResult))


def without_form(blocks: Iterable[ContentBlock]) -> tuple[ContentBlock, ...]:
    """Blocks that were changed, without the difference of their form: it repeats their old words, or no longer fits."""
    return tuple(block for block in blocks if not is_of_form(block))


def is_of_form(block: ContentBlock) -> bool:
    """Whether a block only says how a form wrote the others."""
    return isinstance(block, ProviderBlock) and isinstance(block.data, Mapping) and block.data.keys() == {FORM}


class NeutralEntry(NamedTuple):
    """An entry of a client's list as it was read: its role, its blocks, and the speaker's name."""

    role: str
    blocks: tuple[ContentBlock, ...]
    speaker: str | None = None


class Form(NamedTuple):
    """One way in which an API's clients write messages.

    ``read`` reads one entry. ``write`` returns the entries that say the same. ``transport`` are the keys that say how
    an entry travels; they stay outside the digest. ``list_name`` is the key of the body's list, ``system_name`` that of
    the instructions before it.
    """

    name: str
    provider: str
    list_name: str
    system_name: str | None
    transport: frozenset[str]
    read: Callable[[Mapping[str, Any]], NeutralEntry]
    write: Callable[[NeutralEntry, Losses], list[Part]]


class Losses:
    """Collects what a form cannot say while a turn is written. Each loss names the word for ``drop`` that allows it.

    ``is_foreign``: the turn was not given in this form.
    """

    def __init__(self, target: str, provider: str, turn: str | None = None, *, is_foreign: bool = False) -> None:
        self.target, self.provider, self.turn, self.is_foreign = target, provider, turn, is_foreign
        self.losses: list[Unmappable] = []

    def leave_out(self, what: str, word: str) -> None:
        self.losses.append(Unmappable(self.target, what, turn=self.turn, drop=word))

    def refuse(self, what: str) -> Unmappable:
        return Unmappable(self.target, what, turn=self.turn)

    def own(self, blocks: Sequence[ContentBlock]) -> Iterator[ContentBlock]:
        """Yield the blocks that the form can say. Raises: Unmappable for one that can neither be said nor left out."""
        for block in blocks:
            # By the type itself: ``isinstance`` takes five times as long for a struct.
            if type(block) in _SAID_BY_ALL:  # nearly all
                yield block
            elif type(block) is ToolUse:
                if block.partial:
                    self.leave_out("a block that was cut off", "partial")
                else:
                    yield block
            elif type(block) is Thinking:
                if block.provider == self.provider:
                    yield block
                else:
                    self.leave_out(f"reasoning of {block.provider or 'another provider'}", "thinking")
            elif type(block) is ProviderBlock:
                if self._takes(block):
                    yield block
            else:
                raise self.refuse(f"a block of type {kind_of(block)!r}")

    def takes(self, document: Document) -> bool:
        """Whether to write a document as a part of Chat's or Cohere's, which hold a file but not its address. Notes one
        that is left out."""
        if not self.is_foreign or not isinstance(document.source, UrlSource) or kind_of_media(document) != "document":
            return True
        self.leave_out("a document at a URL", "document")
        return False

    def _takes(self, block: ProviderBlock) -> bool:
        """Whether to write a provider block: only this provider's, and none that just holds a form's difference. Notes
        what is left out."""
        is_of_form = isinstance(block.data, Mapping) and FORM in block.data
        if block.provider != self.provider:
            if not is_of_form:  # another form's difference holds nothing that the blocks need
                self.leave_out(f"a block of {block.provider}", "provider")
            return False
        if block.partial:
            self.leave_out("a block that was cut off", "partial")
            return False
        if not isinstance(block.data, Mapping):
            raise self.refuse(f"a block of {block.provider} that is not an object")
        return not is_of_form

    def inside(self, blocks: Sequence[ContentBlock]) -> Iterator[ContentBlock]:
        """Yield the blocks of a result that the form can say. Raises: Unmappable, also for a call or a result in it."""
        for block in self.own(blocks):
            if isinstance(block, ToolUse | ToolResult):
                raise self.refuse(f"a block of type {kind_of(block)!r} inside a tool result")
            if isinstance(block, ProviderBlock) and not isinstance(block.data.get("part", {}), Mapping):
                raise self.refuse(f"a part of {block.provider} that is not an object")
            yield block


def refuse(reason: str, path: str = "$") -> InvalidContent:
    return InvalidContent(WHAT, reason, path)


def object_at(value: Any, path: str) -> Mapping[str, Any]:
    """An object. Raises: InvalidContent."""
    if type(value) is not dict and not isinstance(value, Mapping):
        raise refuse(f"an object belongs there, not {type(value).__name__}", path)
    return value


def list_at(value: Any, path: str) -> list[Any]:
    """A list. Raises: InvalidContent."""
    if not isinstance(value, list):
        raise refuse(f"a list belongs there, not {type(value).__name__}", path)
    return value


def text_at(value: Any, path: str) -> str:
    """A text. Raises: InvalidContent."""
    if not isinstance(value, str):
        raise refuse(f"a text belongs there, not {type(value).__name__}", path)
    return value


def rest_of(part: Mapping[str, Any], written: Mapping[str, Any], transport: Collection[str]) -> Part:
    """The keys of a part that are neither written of its block nor ``transport``, at any depth. Empty ones are left
    out."""
    rest: Part = {}
    for key, value in part.items():
        if key in transport:
            continue
        if key not in written:
            if not is_nothing(value):
                rest[key] = value
        elif written[key] is not None and isinstance(value, Mapping) and isinstance(written[key], Mapping):
            inner = rest_of(value, written[key], transport)
            if inner:
                rest[key] = inner
    return rest


def joined(written: Mapping[str, Any], rest: Any) -> Part:
    """Add the kept keys of a part to what is written of its block. A kept key never replaces a written value."""
    part = dict(written)
    if not rest:  # nearly every part
        return part
    for key, value in rest.items() if isinstance(rest, Mapping) else ():
        if key not in part:
            part[key] = value
        elif isinstance(value, Mapping) and isinstance(part[key], Mapping):
            part[key] = joined(part[key], value)
    return part


def parts_at(content: Any, path: str, read: Callable[[Any, str], ContentBlock], **beside: Any) -> list[ContentBlock]:
    """The blocks of content that is a text, a list of parts, or nothing. ``read`` takes a part and its path;
    ``beside`` is kept with a text. Raises: InvalidContent."""
    if content is None:
        return []
    if isinstance(content, str):
        return [Text(content, **beside)]
    return [read(part, f"{path}[{at}]") for at, part in enumerate(list_at(content, path))]


def content_of(parts: list[Part], empty: Any = "") -> Any:
    """One plain text as a string, anything else as parts."""
    if len(parts) == 1 and parts[0].keys() == {"type", "text"}:
        return parts[0]["text"]
    return parts or empty


def without(part: Mapping[str, Any], keys: Collection[str]) -> Part:
    return {key: value for key, value in part.items() if key not in keys}


def opaque_of(block: ContentBlock, provider: str) -> Mapping[str, Any]:
    """The keys that are kept beside a block for the provider."""
    own = getattr(block, "opaque", {}).get(provider)
    return own if own is not None and isinstance(own, Mapping) else {}


def keep(provider: str, rest: Mapping[str, Any]) -> dict[str, Any]:
    """The ``opaque`` of a block that keeps ``rest`` for a provider."""
    return {provider: dict(rest)} if rest else {}


def make_call(name: Any, id: Any, opaque: Mapping[str, Any], path: str, **arguments: Any) -> ToolUse:
    """Make a call; ``raw`` is the text of its arguments, or ``input`` their value. The entry is known to be JSON in
    dicts and lists. Raises: InvalidContent."""
    call = {"type": "tool_use", "name": text_at(name, f"{path}.name"), **arguments}
    if id is not None:
        call["id"] = text_at(id, f"{path}.id")
    block = read_checked({**call, "opaque": opaque} if opaque else call, path)
    assert type(block) is ToolUse
    return block


def arguments_of(call: ToolUse) -> str:
    """The arguments of a call as the text that they were."""
    if is_custom(call):
        return strictjson.encode({INPUT: text_of(call)}).decode()
    return call.raw if call.raw is not None else strictjson.encode(call.input).decode()


def input_of(call: ToolUse) -> Any:
    """The arguments of a call as a value."""
    if is_custom(call):
        return {INPUT: text_of(call)}
    # An API that takes objects alone gets any other text under this key.
    return {"invalid_json": call.raw} if not isinstance(call.input, Mapping) and call.raw is not None else call.input


def only_text(result: ToolResult, losses: Losses) -> tuple[ContentBlock, ...]:
    """What a result holds without documents, for a form whose results are text. Notes the loss of anything else."""
    if any(not isinstance(block, Text) for block in result.content):
        losses.leave_out("what a result holds beside text", "document")
    return tuple(block for block in result.content if not isinstance(block, Document))
