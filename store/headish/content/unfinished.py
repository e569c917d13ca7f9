"""What a cut-off answer leaves behind, and what of it a window shows.

Text and finished blocks stay; a call or a provider's block that was cut off in the middle goes, and a note says so
(R21). The store keeps all of it.
"""

from __future__ import annotations

from msgspec.structs import replace

from headish.values.blocks import ContentBlock, ProviderBlock, ToolUse
from headish.values.messages import ContextWindow, Message, Note


def without_partial(window: ContextWindow) -> ContextWindow:
    """The window without the blocks that were cut off; itself, where there are none."""
    if not any(_has_partial(message) for message in window.messages):
        return window
    notes: list[Note] = []
    messages = tuple(_finished(message, notes) for message in window.messages)
    return replace(window, messages=messages, notes=(*window.notes, *notes))


def _has_partial(message: Message) -> bool:
    # A plain loop: every message of every request passes here.
    for block in message.content:  # noqa: SIM110
        if _is_partial(block):
            return True
    return False


def _finished(message: Message, notes: list[Note]) -> Message:
    if not _has_partial(message):
        return message
    for block in message.content:
        if isinstance(block, ToolUse | ProviderBlock) and block.partial:
            what = f"a call of {block.name}" if isinstance(block, ToolUse) else f"a block of {block.provider}"
            notes.append(Note(f"{what} that was cut off is left out", message.turn))
    return replace(message, content=tuple(block for block in message.content if not _is_partial(block)))


def _is_partial(block: ContentBlock) -> bool:
    return type(block) in _CUTTABLE and block.partial  # type: ignore[union-attr]


_CUTTABLE = (ToolUse, ProviderBlock)
