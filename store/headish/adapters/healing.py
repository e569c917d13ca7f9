"""Mend text that no database accepts: lone surrogates, which other programs' JSON lets through.

An agent's run must not fail because of them: U+FFFD takes their place, and a note in the turn's ``meta`` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from headish.values import shapes
from headish.values.shapes import heal_text as heal_text  # adapters find both here

NOTE = "lone surrogates were replaced by U+FFFD"
ESCAPE = "\ufffe"
"""Marks a text that is written as the hexadecimal digits of its bytes. A noncharacter, so hardly any text begins so."""


class Healed(NamedTuple):
    """A value whose texts are whole, whether it was mended, and its JSON: None if it was mended, or JSON cannot express
    it."""

    value: Any
    is_mended: bool
    data: bytes | None = None


def heal(value: Any) -> tuple[Any, bool]:
    """Return the value without lone surrogates in its texts, and whether it had any. A value without any is returned
    itself.

    Cost: that of encoding the value as JSON once.
    """
    return heal_and_encode(value)[:2]


def heal_and_encode(value: Any) -> Healed:
    """``heal``, with the JSON that it made to find out."""
    try:
        return Healed(value, False, msgspec.json.encode(value))
    except (UnicodeEncodeError, ValueError, TypeError, RecursionError, OverflowError):
        return Healed(shapes.heal(value), True) if _is_broken(value) else Healed(value, False)


def _is_broken(value: Any) -> bool:
    left, seen = [value], set[int]()  # no recursion: a value may be nested deeper than the stack; others refuse it
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
    """Make plain data fit for JSON and MessagePack: a text with a lone surrogate (ids may be any text) becomes the
    digits of its bytes. ``unescape`` gives the value back, with lists for tuples."""
    if isinstance(value, str):
        is_whole = value.isascii() or not (heal_text(value)[1] or value.startswith(ESCAPE))
        return value if is_whole else ESCAPE + value.encode(errors="surrogatepass").hex()
    return _mapped(value, escape)


def unescape(value: Any) -> Any:
    """Return the value that ``escape`` was given. Raises: ValueError."""
    if isinstance(value, str) and value.startswith(ESCAPE):
        return bytes.fromhex(value[1:]).decode(errors="surrogatepass")
    return _mapped(value, unescape)


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, Mapping):
        return {change(key): change(each) for key, each in value.items()}
    return [change(each) for each in value] if isinstance(value, list | tuple) else value
