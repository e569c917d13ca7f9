"""Values of the window that go into a body: each is copied where it comes in, and proved to be JSON there.

So the body shares nothing with the window, and the messages that hold nothing but text need no copy at all.
"""

from __future__ import annotations

from typing import Any, NoReturn

import msgspec

from headish.content import strictjson
from headish.errors import InvalidContent

WHAT = "a request"


def owned(value: Any) -> Any:
    """A copy in dicts and lists. Raises: InvalidContent, TooDeep for what JSON would not give back."""
    return _read_back(value)[1]


def encoded(value: Any) -> str:
    """The one JSON text of a value. Raises: as ``owned``."""
    return _read_back(value)[0].decode()


def prove(value: Any) -> bytes:
    """The JSON of a body that holds only what is known to be JSON but for its texts. Raises: InvalidContent."""
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        _refuse(error)


def _read_back(value: Any) -> tuple[bytes, Any]:
    try:
        written = strictjson.encode(value)
        copied = msgspec.json.decode(written)
        is_equal = copied == value
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        _refuse(error)
    if not is_equal:
        strictjson.check(value, WHAT)  # a tuple is as good as a list, but no number may become null
    return written, copied


def _refuse(error: Exception) -> NoReturn:
    is_half = isinstance(error, UnicodeEncodeError)
    raise InvalidContent(WHAT, "a lone surrogate has no UTF-8" if is_half else str(error)) from None
