"""From messages of many blocks to frames of one: the flattening that every 2.x transcript needs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from msgspec.structs import replace

from headish.blocks import ContentBlock, Text, ToolUse
from headish.errors import InvalidArgument
from headish.model import ContextWindow, Message
from headish.transcripts.frames import DROPPABLE, WRITERS, Frame, Step


def flatten(window: ContextWindow, drop: Collection[str] = ()) -> Iterator[Frame]:
    """The frames of a window, in order.

    Raises: Unrepresentable where a block does not fit a frame; InvalidArgument for an unknown ``drop``.
    """
    unknown = sorted(set(drop) - set(DROPPABLE))
    if unknown:
        raise InvalidArgument(f"nothing named {unknown[0]!r} can be dropped; known are {', '.join(DROPPABLE)}")
    call_names: dict[str, str] = {}
    for message in window.messages:
        yield from _flatten_message(message, drop, call_names)


def _flatten_message(message: Message, drop: Collection[str], call_names: dict[str, str]) -> Iterator[Frame]:
    frames: list[Frame] = []
    runs = _runs(message.content) or [(Text(""),)]
    for index, (block, *more) in enumerate(runs):
        before_call = index + 1 < len(runs) and isinstance(runs[index + 1][0], ToolUse)
        step = Step(message, drop, before_call, call_names)
        frame = WRITERS[type(block)](block, step)
        if isinstance(block, ToolUse) and block.id is not None:
            call_names[block.id] = block.name
        if frame is not None:
            frames.append(replace(frame, body=(*frame.body, *more)) if more else frame)
    yield from frames[:-1]
    if frames:
        stop = message.attributes.stop
        yield frames[-1] if stop is None else replace(frames[-1], stop=stop)


def _runs(blocks: Sequence[ContentBlock]) -> list[tuple[ContentBlock, ...]]:
    """Each block alone; but texts of which one is literal stood in one frame, and do again."""
    runs: list[tuple[ContentBlock, ...]] = []
    for block in blocks:
        before = runs[-1][-1] if runs else None
        if isinstance(block, Text) and isinstance(before, Text) and (block.literal or before.literal):
            runs[-1] = (*runs[-1], block)
        else:
            runs.append((block,))
    return runs
