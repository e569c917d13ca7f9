"""Copies of the window's values for a body. Each value is copied, and proved to be JSON, where it enters.

So the body shares nothing with the window, and messages that hold only text need no copy at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import msgspec

from headish.content import strictjson
from headish.errors import InvalidContent
from headish.values.blocks import ToolUse

WHAT = "a request"


def owned(value: Any) -> Any:
    """A copy in dicts and lists. Raises: InvalidContent or TooDeep for a value that JSON would not give back."""
    return _read_back(value)[1]


def encoded(value: Any) -> str:
    """The one JSON text of a value. Raises: as ``owned``."""
    return _read_back(value)[0].decode()


def prove(value: Any) -> bytes:
    """The JSON of a body whose values are copies already: only its texts still need a check. Raises: InvalidContent."""
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        _refuse(error)


def _read_back(value: Any) -> tuple[bytes, Any]:
    """The JSON of a value, and the copy that it gives back."""
    try:
        data = strictjson.encode(value)
        copied = msgspec.json.decode(data)
        is_equal = copied == value  # much faster than a step of Python for each value, and nearly always true
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        _refuse(error)
    if not is_equal:
        strictjson.check(value, WHAT)  # a tuple is as good as a list, but no number may become null
    return data, copied


def _refuse(error: Exception) -> NoReturn:
    is_half = isinstance(error, UnicodeEncodeError)
    raise InvalidContent(WHAT, "a lone surrogate has no UTF-8" if is_half else str(error)) from None


def custom_text(call: ToolUse) -> str:
    """The input of a custom tool's call. Raises: InvalidContent for a value that is not JSON."""
    return call.raw if call.raw is not None else encoded(call.input)


def arguments_text(call: ToolUse, arguments: Mapping[str, Any]) -> str:
    """Arguments as JSON text: exactly what the provider wrote, if that was kept and is an object."""
    if call.raw is not None and arguments is call.input:
        return call.raw
    return encoded(arguments)
