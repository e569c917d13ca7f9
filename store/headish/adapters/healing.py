"""Replace lone surrogates, which JSON of other programs may contain and no database stores.

They must not end an agent's run: U+FFFD takes their place, and a note in the turn's ``meta`` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from headish.values import shapes
from headish.values.shapes import heal_text as heal_text  # adapters find both here

NOTE = "lone surrogates were replaced by U+FFFD"
ESCAPE = "\ufffe"
"""The prefix of a text that is written as the hexadecimal digits of its bytes."""


class Healed(NamedTuple):
    """A value without lone surrogates, and whether some were replaced. ``data`` is the value's JSON; None if the value
    was mended, or JSON cannot represent it."""

    value: Any
    is_mended: bool
    data: bytes | None = None


def heal(value: Any) -> tuple[Any, bool]:
    """Replace the lone surrogates in a value; also returns whether there were any. A value without any is returned
    itself, not copied.

    Cost: that of encoding the value as JSON once.
    """
    return heal_and_encode(value)[:2]


def heal_and_encode(value: Any) -> Healed:
    """``heal`` that also returns the JSON, which it makes anyway."""
    try:
        return Healed(value, False, msgspec.json.encode(value))
    except (UnicodeEncodeError, ValueError, TypeError, RecursionError, OverflowError):
        return Healed(shapes.heal(value), True) if _is_broken(value) else Healed(value, False)


def _is_broken(value: Any) -> bool:
    left, seen = [value], set[int]()  # not recursive: a check elsewhere refuses values that are nested too deep
    while left:
        each = left.pop()
        if isinstance(each, str):
            if heal_text(each)[1]:
                return True
        elif id(each) in seen:  # a list may contain itself
            continue
        seen.add(id(each))
        if isinstance(each, Mapping):
            left += [*each.keys(), *each.values()]
        elif isinstance(each, list | tuple):
            left += each
    return False


def escape(value: Any) -> Any:
    """Escape texts with lone surrogates in plain data, so that JSON and MessagePack can represent it: ids of frameworks
    may be any text. ``unescape`` reverses it, except that tuples become lists."""
    if isinstance(value, str):
        is_whole = value.isascii() or not (heal_text(value)[1] or value.startswith(ESCAPE))
        return value if is_whole else ESCAPE + value.encode(errors="surrogatepass").hex()
    return _mapped(value, escape)


def unescape(value: Any) -> Any:
    """Reverse ``escape``. Raises: ValueError."""
    if isinstance(value, str) and value.startswith(ESCAPE):
        return bytes.fromhex(value[1:]).decode(errors="surrogatepass")
    return _mapped(value, unescape)


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, Mapping):
        return {change(key): change(each) for key, each in value.items()}
    return [change(each) for each in value] if isinstance(value, list | tuple) else value
