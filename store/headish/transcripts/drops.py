"""Giving things up by name: what a caller says may be lost on the way into a format."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from msgspec.structs import replace

from headish.errors import InvalidArgument
from headish.transcripts.shared.transcript import Transcript, usual_stop
from headish.values.blocks import ContentBlock, Text, Thinking, ToolResult, ToolUse
from headish.values.messages import Message

_ATTRIBUTES = {
    "name": "speaker", "channel": "channel", "to": "recipient", "intent": "intent", "content_type": "content_type",
    "constrain": "constrain", "stop": "stop",
}  # fmt: skip
DROPPABLE = (
    "header", "pending", "tail", "thinking", "call_id", "extra", "literal", "signature", "is_error", "status", "kind",
    *_ATTRIBUTES,
)  # fmt: skip
"""The words of ``drop``."""


def give_up(transcript: Transcript, drop: Collection[str]) -> Transcript:
    """The transcript without what is given up. Raises: InvalidArgument for an unknown word."""
    unknown = sorted(set(drop) - set(DROPPABLE))
    if unknown:
        raise InvalidArgument(f"nothing named {unknown[0]!r} can be dropped; known are {', '.join(sorted(DROPPABLE))}")
    kept = [message for message in transcript.messages if "thinking" not in drop or not _is_thought(message)]
    messages = tuple(_without(message, drop) for message in kept)
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
    """Whether a message is reasoning alone."""
    return bool(message.content) and all(isinstance(block, Thinking) for block in message.content)


def _without(message: Message, drop: Collection[str]) -> Message:
    gone: dict[str, Any] = {field: None for word, field in _ATTRIBUTES.items() if word in drop}
    gone |= {"call_id": None} if "call_id" in drop else {}
    gone |= {"extra": {}} if "extra" in drop else {}
    content = tuple(_less(block, drop) for block in message.content)
    if "thinking" in drop:
        content = tuple(block for block in content if not isinstance(block, Thinking))
    if "literal" in drop:
        content = merge_texts(content)
    changed = replace(message, attributes=replace(message.attributes, **gone), content=content)
    if changed.attributes.stop == usual_stop(changed):
        return replace(changed, attributes=replace(changed.attributes, stop=None))
    return changed


def merge_texts(blocks: Collection[ContentBlock]) -> tuple[ContentBlock, ...]:
    """The blocks with literal texts made plain, and texts that stand side by side made one."""
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
    gone: dict[str, Any] = {word: None for word in ("is_error", "status") if word in drop}
    gone |= {"tool_use_id": None} if "call_id" in drop else {}
    gone |= {"content": merge_texts(block.content)} if "literal" in drop else {}
    return replace(block, **gone)


def _less_thinking(block: Thinking, drop: Collection[str]) -> Thinking:
    block = replace(block, signature=None, provider=None) if "signature" in drop else block
    return replace(block, kind=None) if "kind" in drop else block


_LESS: dict[type, Callable[[Any, Collection[str]], ContentBlock]] = {
    ToolUse: _less_call,
    ToolResult: _less_result,
    Thinking: _less_thinking,
}
