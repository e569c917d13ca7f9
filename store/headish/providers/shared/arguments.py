"""The arguments of calls, between a thread that keeps what was written and providers that want an object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from msgspec import UNSET

from headish.content.forms.customs import INPUT, is_custom
from headish.providers.shared.owned import encoded
from headish.values.blocks import ToolUse


class Arguments(NamedTuple):
    """Arguments as an object, and whether they were one."""

    object: Mapping[str, Any]
    fits: bool


def arguments_object(call: ToolUse) -> Arguments:
    """The arguments of a call; what is no JSON object is wrapped in one."""
    if is_custom(call):
        return Arguments({INPUT: custom_text(call)}, True)
    if isinstance(call.input, Mapping):
        return Arguments(call.input, True)
    return Arguments({"invalid_json": call.raw} if call.input is UNSET else {"value": call.input}, False)


def custom_text(call: ToolUse) -> str:
    """What a custom tool was called with. Raises: InvalidContent for what is no JSON."""
    return call.raw if call.raw is not None else encoded(call.input)


def arguments_text(call: ToolUse, arguments: Mapping[str, Any]) -> str:
    """Arguments as JSON text: the very text that the provider wrote, where it was kept and is an object."""
    if call.raw is not None and arguments is call.input:
        return call.raw
    return encoded(arguments)
