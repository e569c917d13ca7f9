"""Pair calls and their replies, among the messages that are exactly one block (OpenChatML 2.2 §8.2).

A reply with an id answers the first call with that id. A reply without an id answers the earliest unanswered call
without an id: one of its name or, if it has no name, any. Harmony has no ids at all, so a missing id is no error.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence

from headish.values.blocks import ToolResult, ToolUse
from headish.values.messages import Message


def only_block(message: Message) -> object:
    """The block of a message that has exactly one; None for any other message."""
    return message.content[0] if len(message.content) == 1 else None


def pair_replies(messages: Sequence[Message]) -> dict[int, int]:
    """Map each reply to the call that it answers, by the indexes of their messages; orphans are left out.

    Two replies may answer one call: the second is a duplicate.
    """
    return pair_blocks([only_block(message) for message in messages])


def pair_blocks(blocks: Sequence[object]) -> dict[int, int]:
    """``pair_replies`` for blocks in order, whatever messages they are in. Other kinds of blocks are skipped."""
    by_id: dict[str, int] = {}
    # A call without an id waits in both queues: for a reply that names its tool, and for one that names none.
    nameless: deque[int] = deque()
    by_name: defaultdict[str, deque[int]] = defaultdict(deque)
    answered: set[int] = set()
    pairs: dict[int, int] = {}
    for index, block in enumerate(blocks):
        if isinstance(block, ToolUse):
            if block.id is not None:
                by_id.setdefault(block.id, index)
            else:
                by_name[block.name].append(index)
                nameless.append(index)
        elif isinstance(block, ToolResult):
            if block.tool_use_id is not None:
                call = by_id.get(block.tool_use_id)
            else:
                call = _next(nameless if block.name is None else by_name[block.name], answered)
            if call is not None:
                pairs[index] = call
                answered.add(call)
    return pairs


def _next(calls: deque[int], answered: set[int]) -> int | None:
    """The earliest call that has no reply yet."""
    while calls:
        call = calls.popleft()
        if call not in answered:
            return call
    return None
