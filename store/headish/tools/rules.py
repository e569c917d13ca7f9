"""Which calls may run: one rule for the ``Router`` and for ``Store.run_tools``."""

from __future__ import annotations

from headish.content.unfinished import is_cut_off
from headish.transcripts.openchatml.forms import FUNCTIONS, is_builtin
from headish.values.blocks import ToolUse
from headish.values.messages import Message

CUT_OFF = "it was cut off"


def refusal(call: ToolUse, message: Message | None) -> str | None:
    """Why a call may not run, None if it may: it was cut off, or it stands on a channel where tools are not called.

    Without its message, the call's own mark alone tells that it was cut off.
    """
    if call.partial:
        return CUT_OFF
    if message is None:
        return None
    # By value: a caller may have built the block anew.
    if any(block == call and is_cut_off(block, message) for block in message.content):
        return CUT_OFF
    return _wrong_channel(call, message.attributes.channel)


def _wrong_channel(call: ToolUse, channel: str | None) -> str | None:
    """Functions are called on ``commentary`` only, built-in tools also from ``analysis`` (OpenChatML 2.2 §8.3).

    A call that a provider made has no channel. One from a frame is told by its name: only frames write ``functions.``.
    """
    if channel == "commentary" or (channel == "analysis" and is_builtin(call.name)):
        return None
    if channel is None and not call.name.startswith(FUNCTIONS):
        return None
    where = f"on {channel}" if channel else "without a channel"
    return f"a function is called on commentary, not {where}"
