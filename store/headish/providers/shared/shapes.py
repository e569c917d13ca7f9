"""What others send, mended so that JSON can hold it; and where the words of the model stand in an event, which stay as
they came while all else may be redacted."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, NamedTuple

import msgspec

from headish.values.limits import NESTING_LIMIT


def healed(value: Any, depth: int = 0) -> Any:
    """The value with halves of surrogate pairs joined, and with what has no JSON replaced.

    What nests deeper than a turn can hold becomes the text of its JSON.
    """
    if isinstance(value, str):
        # By UTF-16, in which two halves side by side are one character.
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, Mapping | list | tuple) and depth >= DEEPEST:
        return json_text(value)
    if isinstance(value, Mapping):
        return {healed(str(key)): healed(each, depth + 1) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [healed(each, depth + 1) for each in value]
    if isinstance(value, float) and not isfinite(value):
        return None
    if isinstance(value, int) and value.bit_length() > _LONGEST_BITS:
        return f"{value:#x}"  # which no limit of Python's forbids, other than decimals
    return value if value is None or isinstance(value, bool | int | float) else healed(str(value))


def whole_characters(text: str) -> tuple[str, str]:
    """A piece of a text, healed, and half a character at its end: some gateways send the other half with the next
    piece, before which it belongs."""
    half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
    return healed(text.removesuffix(half)), half


def json_text(value: Any) -> str:
    """The value as JSON text; empty where it has none, or nests too deep to be written."""
    try:
        return msgspec.json.encode(value).decode()
    except (RecursionError, TypeError, ValueError, OverflowError):
        return ""


_LONGEST_BITS = 14_000
"""Longer integers are none that a store keeps (``strictjson.INTEGER_DIGITS``)."""
DEEPEST = NESTING_LIMIT - 28
"""Where ``healed`` ends: a block and what is around it nest as well."""


class TextPlace(NamedTuple):
    """A place of text. ``path`` leads there through the event, with ``*`` for each item of a list.

    ``event`` is the type of the event and ``holder`` that of the object around the text; None is any.
    """

    path: tuple[str, ...]
    event: str | None = None
    holder: str | None = None


def words(path: str, *, event: str | None = None, holder: str | None = None) -> TextPlace:
    """The place at a path as it is written: ``content.*.text``."""
    return TextPlace(tuple(path.split(".")), event, holder)
