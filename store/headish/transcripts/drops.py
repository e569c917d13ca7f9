"""The losses that a caller allows, by name, on the way into a format."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeVar

from msgspec.structs import replace

from headish.errors import InvalidArgument, Unrepresentable, shown
from headish.transcripts.shared.jsontext import says_error
from headish.transcripts.shared.native import DROPPABLE as LEFT_OUT
from headish.transcripts.shared.transcript import Transcript, usual_stop
from headish.values.blocks import ContentBlock, Mark, Text, Thinking, ToolDefinitions, ToolResult, ToolUse, join_texts
from headish.values.messages import Message

T = TypeVar("T")

_ATTRIBUTES = {
    "name": "speaker", "channel": "channel", "to": "recipient", "intent": "intent", "content_type": "content_type",
    "constrain": "constrain", "stop": "stop",
}  # fmt: skip
DROPPABLE = tuple(sorted({
    "erased", "header", "pending", "tail", "thinking", "call_id", "extra", "literal", "kind", *_ATTRIBUTES, *LEFT_OUT,
}))  # fmt: skip
"""The words of ``drop``."""


def drop_words(drop: Collection[str]) -> frozenset[str]:
    """The words of ``drop``; a single one may be given as text. Raises: InvalidArgument for an unknown word."""
    words = frozenset([drop] if isinstance(drop, str) else drop)
    unknown = sorted(words - set(DROPPABLE))
    if unknown:
        raise InvalidArgument(f"nothing named {shown(unknown[0])} can be dropped; known are {', '.join(DROPPABLE)}")
    return words


def name_all(write: Callable[[frozenset[str]], T], drop: Collection[str]) -> T:
    """Return what ``write`` makes with the words of ``drop``. If it refuses, one refusal names every word needed.

    Cost: one run of ``write`` if it refuses nothing; else two more runs for each word that is missing.
    Raises: Unrepresentable; the one that no word gives up, if there is one.
    """
    given = drop_words(drop)
    losses: list[Unrepresentable] = []
    while True:
        words = given | {loss.drop for loss in losses if loss.drop}
        try:
            result = write(words)
        except Unrepresentable as error:
            # A word that was given and did not help would be tried forever.
            if error.drop is None or error.drop in words:
                raise
            losses.append(error)
            continue
        if not losses:
            return result
        raise _together(_needed(write, given, losses))


def _needed(
    write: Callable[[frozenset[str]], T], given: frozenset[str], losses: list[Unrepresentable]
) -> list[Unrepresentable]:
    """Leave out losses that another one covers: who drops reasoning need not drop its signature."""
    needed = list(losses)
    for loss in losses:
        rest = [each for each in needed if each is not loss]
        try:
            write(given | {each.drop for each in rest if each.drop})
        except Unrepresentable:
            continue
        needed = rest
    return needed


def _together(losses: list[Unrepresentable]) -> Unrepresentable:
    first, *more = losses
    return type(first)(first.target, first.what, turn=first.turn, drop=first.drop, more=more)


def give_up(transcript: Transcript, drop: Collection[str]) -> Transcript:
    """The transcript without what ``drop`` names. Raises: InvalidArgument for an unknown word."""
    drop = drop_words(drop)
    remaining = [message for message in transcript.messages if "thinking" not in drop or not _is_thought(message)]
    messages = tuple(_without(message, drop) for message in remaining)
    if "header" in drop:
        transcript = replace(transcript, header=None, header_raw=None)
    if "pending" in drop:
        transcript = replace(transcript, pending=None)
    if "tail" in drop:
        transcript = replace(transcript, tail=None)
    if transcript.pending is not None:
        transcript = replace(transcript, pending=_without(transcript.pending, drop))
    return replace(transcript, messages=messages)


def _is_thought(message: Message) -> bool:
    """Whether a message holds reasoning and nothing else."""
    return bool(message.content) and all(isinstance(block, Thinking) for block in message.content)


def _without(message: Message, drop: Collection[str]) -> Message:
    gone: dict[str, Any] = {field: None for word, field in _ATTRIBUTES.items() if word in drop}
    gone |= {"call_id": None} if "call_id" in drop else {}
    gone |= {"extra": {}} if "extra" in drop else {}
    content = tuple(_less(block, drop) for block in message.content)
    if "thinking" in drop:
        content = tuple(block for block in content if not isinstance(block, Thinking))
    left_out = tuple(kind for word, kind in _KINDS.items() if word in drop)
    # Texts around such a block become neighbours, which normal form joins.
    if any(isinstance(block, left_out) for block in content):
        content = merge_texts([block for block in content if not isinstance(block, left_out)])
    if "literal" in drop:
        content = merge_texts(content)
    changed = replace(message, attributes=replace(message.attributes, **gone), content=content)
    # Without some blocks another stop may be the usual one, which normal form leaves out.
    if changed.attributes.stop == usual_stop(changed):
        return replace(changed, attributes=replace(changed.attributes, stop=None))
    return changed


def merge_texts(blocks: Collection[ContentBlock]) -> tuple[ContentBlock, ...]:
    """The blocks with literal texts made plain, and adjacent texts joined."""
    merged: list[ContentBlock] = []
    for block in blocks:
        before = merged[-1] if merged else None
        if isinstance(block, Text) and isinstance(before, Text):
            merged[-1] = Text(before.text + block.text)
        else:
            merged.append(Text(block.text) if isinstance(block, Text) else block)
    return tuple(merged)


def _less(block: ContentBlock, drop: Collection[str]) -> ContentBlock:
    less = _LESS.get(type(block))
    return block if less is None else less(block, drop)


def _less_call(block: ToolUse, drop: Collection[str]) -> ToolUse:
    return replace(block, id=None) if "call_id" in drop else block


def _less_result(block: ToolResult, drop: Collection[str]) -> ToolResult:
    gone: dict[str, Any] = {"status": None} if "status" in drop else {}
    # A flag that the text itself shows stays: without it, a writer would have to refuse the text.
    gone |= {"is_error": None} if "is_error" in drop and not says_error(join_texts(block.content)) else {}
    gone |= {"tool_use_id": None} if "call_id" in drop else {}
    gone |= {"content": merge_texts(block.content)} if "literal" in drop else {}
    return replace(block, **gone)


def _less_thinking(block: Thinking, drop: Collection[str]) -> Thinking:
    block = replace(block, signature=None, provider=None) if "signature" in drop else block
    return replace(block, kind=None) if "kind" in drop else block


_KINDS: dict[str, type] = {"mark": Mark, "tools": ToolDefinitions}
_LESS: dict[type, Callable[[Any, Collection[str]], ContentBlock]] = {
    ToolUse: _less_call,
    ToolResult: _less_result,
    Thinking: _less_thinking,
}
