"""Turn the blocks of a program's or a provider's messages into those that a transcript can hold.

Text documents become text, and a result becomes one text under the name of its tool. Parts that no transcript can carry
(another provider's block, half a call, a signature) are refused, unless ``drop`` has the word that leaves them out.

openchatml/flatten.py and plain.py then put these blocks into the frames or messages of a format.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct

from headish.content.media import NotDecodable, decode_text, is_text
from headish.errors import Unrepresentable
from headish.transcripts.shared.transcript import KINDS, arguments_of, make_call
from headish.values.blocks import (
    ContentBlock,
    Document,
    Mark,
    Other,
    ProviderBlock,
    Text,
    Thinking,
    ToolDefinitions,
    ToolResult,
    ToolUse,
)
from headish.values.messages import Message

DROPPABLE = ("document", "is_error", "mark", "partial", "provider", "signature", "status", "tools", "unknown")
"""The words of ``drop`` that this module knows."""
Run = tuple[ContentBlock, ...]


class Taker(Struct, frozen=True):
    """The blocks of a program that a format takes.

    ``keeps``: kinds of blocks that are this format's own. ``thoughts``: the kinds of reasoning that it can write; its
    writer refuses all others, whatever signature they have.
    """

    title: str
    keeps: tuple[type, ...] = ()
    thoughts: Collection[str | None] = (None, *KINDS)


class BlockStep(Struct, frozen=True):
    """What decides how a block is converted, in addition to the block itself."""

    message: Message
    taker: Taker
    drop: Collection[str]
    call_names: Mapping[str, str]

    def refuse(self, what: str, drop: str | None = None) -> Unrepresentable:
        """Make the error that this format cannot carry ``what`` of this message."""
        return Unrepresentable(self.taker.title, what, turn=self.message.turn, drop=drop)


def take_runs(step: BlockStep) -> list[Run]:
    """The blocks of a message as a transcript holds them, each in a run of its own.

    Adjacent texts of which one is literal share a run: they came from one frame and go into one.
    Raises: Unrepresentable, with the word for ``drop`` where there is one.
    """
    runs: list[Run] = []
    for run in _runs(step.message.content):
        _check_opaque(run, step)
        block = run[0]
        converted = _TAKERS[type(block)](block, step)
        if converted is not None:
            runs.append(run if isinstance(block, Text) else (converted,))
    return runs


def note_calls(message: Message, call_names: dict[str, str]) -> None:
    """Remember which tool each call names, for results that name only the call."""
    for block in message.content:
        if isinstance(block, ToolUse) and block.id is not None:
            call_names[block.id] = block.name


def _runs(blocks: Sequence[ContentBlock]) -> list[Run]:
    runs: list[Run] = []
    for block in blocks:
        before = runs[-1][-1] if runs else None
        if isinstance(block, Text) and isinstance(before, Text) and (block.literal or before.literal):
            runs[-1] = (*runs[-1], block)
        else:
            runs.append((block,))
    return runs


def _check_opaque(run: Run, step: BlockStep) -> None:
    """Refuse what only a provider understands: no transcript can carry it, so it would be lost silently."""
    # Reasoning that is dropped, or refused for its kind, needs no word for its signature.
    if "signature" in step.drop or (isinstance(run[0], Thinking) and not _takes_thought(run[0], step)):
        return
    if any(getattr(block, "opaque", None) for block in run):
        raise step.refuse("what a provider keeps beside its words (a signature, citations)", "signature")


def _takes_thought(block: Thinking, step: BlockStep) -> bool:
    return block.kind in step.taker.thoughts and "thinking" not in step.drop


def _take_thought(block: Thinking, step: BlockStep) -> Thinking | None:
    if "thinking" in step.drop:
        return None
    if step.message.role != "assistant":
        raise step.refuse(f"reasoning of role {step.message.role}", "thinking")
    signed = block.signature is not None or block.provider is not None
    if signed and "signature" not in step.drop and _takes_thought(block, step):
        raise step.refuse("the signature of a provider's reasoning", "signature")
    return Thinking(block.text, block.kind)


def _take_call(block: ToolUse, step: BlockStep) -> ToolUse | None:
    if step.message.role != "assistant":
        raise step.refuse(f"a tool call of role {step.message.role}")
    if block.partial:
        if "partial" not in step.drop:
            raise step.refuse("a call that was cut off", "partial")
        return None
    return make_call(block.name, arguments_of(block), id=block.id)


def _take_result(block: ToolResult, step: BlockStep) -> ToolResult:
    if step.message.role not in ("user", "tool"):
        raise step.refuse(f"a tool result of role {step.message.role}")
    # A transcript's result is one text.
    body = "\n".join(text for part in block.content if (text := _result_text(part, step)) is not None)
    name = block.name or step.call_names.get(block.tool_use_id or "")
    is_error = None if "is_error" in step.drop else block.is_error
    status = None if "status" in step.drop else block.status
    content = (Text(body),) if body else ()
    return ToolResult(block.tool_use_id, name, content, is_error=is_error, status=status)


def _result_text(part: ContentBlock, step: BlockStep) -> str | None:
    if isinstance(part, Text):
        return part.text
    if isinstance(part, Document):
        return _document_text(part, step)
    if "unknown" in step.drop:
        return None
    raise step.refuse("a tool result that holds more than text", "unknown")


def _take_document(block: Document, step: BlockStep) -> Text | None:
    text = _document_text(block, step)
    return None if text is None else Text(text)


def _document_text(block: Document, step: BlockStep) -> str | None:
    if is_text(block):
        try:
            return decode_text(block)
        except NotDecodable as error:
            raise step.refuse(str(error)) from None
    if "document" in step.drop:
        return None
    raise step.refuse(f"a document of type {block.source.media_type or 'unknown'}", "document")


def _take_or_drop(word: str, what: str) -> Callable[[Any, BlockStep], ContentBlock | None]:
    def take(block: ContentBlock, step: BlockStep) -> ContentBlock | None:
        if word in step.drop:
            return None
        if type(block) in step.taker.keeps:
            return block
        detail = block.type if isinstance(block, Other) else ""
        raise step.refuse(f"{what} {detail}".strip(), word)

    return take


_TAKERS: dict[type, Callable[[Any, BlockStep], ContentBlock | None]] = {
    Text: lambda block, _: block,
    Thinking: _take_thought,
    ToolUse: _take_call,
    ToolResult: _take_result,
    Document: _take_document,
    ProviderBlock: _take_or_drop("provider", "a provider's own block"),
    Mark: _take_or_drop("mark", "a control token kept from another format"),
    ToolDefinitions: _take_or_drop("tools", "a list of tool definitions"),
    Other: _take_or_drop("unknown", "a block of the unknown kind"),
}
