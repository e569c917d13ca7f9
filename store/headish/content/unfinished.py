"""The blocks that a cut-off answer leaves behind, and which of them a window shows.

Text and finished blocks stay. A call or a provider's block that was cut off in the middle is left out, and a note says
so (rule R21, cut-off calls). The store keeps all of it.

Two marks say that a call was cut off: ``partial`` on the block, which a reply gets while it arrives, and ``stop``
``none`` on its message, which a transcript gets where it ends early. Half of a call can be a whole JSON object, so the
arguments themselves prove nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from headish.values.blocks import ContentBlock, ProviderBlock, ToolUse
from headish.values.messages import ContextWindow, Message, Note


def without_partial(window: ContextWindow) -> ContextWindow:
    """The window without the blocks that were cut off; the same window if there are none."""
    if not _any_partial(window.messages):
        return window
    notes: list[Note] = []
    messages = tuple(_finished(message, notes) for message in window.messages)
    return replace(window, messages=messages, notes=(*window.notes, *notes))


def is_cut_off(block: ContentBlock, message: Message) -> bool:
    """Whether a call or a provider's block is only the beginning of one.

    In a message without its end, that is the last block: those before it were complete when it began.
    """
    if type(block) in _CUTTABLE and block.partial:  # type: ignore[union-attr]
        return True
    return message.attributes.stop == "none" and isinstance(block, ToolUse) and block is message.content[-1]


def _any_partial(messages: Iterable[Message]) -> bool:
    # Plain loops: every message of every request passes here.
    for message in messages:
        for block in message.content:
            if type(block) in _CUTTABLE and is_cut_off(block, message):
                return True
    return False


def _finished(message: Message, notes: list[Note]) -> Message:
    if not _any_partial((message,)):
        return message
    for block in message.content:
        if isinstance(block, ToolUse | ProviderBlock) and is_cut_off(block, message):
            what = f"a call of {block.name}" if isinstance(block, ToolUse) else f"a block of {block.provider}"
            notes.append(Note(f"{what} that was cut off is left out", message.turn))
    return replace(message, content=tuple(block for block in message.content if not is_cut_off(block, message)))


_CUTTABLE = (ToolUse, ProviderBlock)
