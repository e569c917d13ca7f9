"""Values of others, repaired so that JSON can hold them; and the places in an event that hold the model's words. Those
stay as they came, while all other values may be redacted."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, NamedTuple

import msgspec

from headish.values.limits import NESTING_LIMIT


def healed(value: Any, depth: int = 0) -> Any:
    """Join the halves of surrogate pairs in a value, and replace values that JSON cannot represent.

    A part that is nested deeper than a turn allows becomes the text of its JSON.
    """
    if isinstance(value, str):
        # Through UTF-16, in which two halves side by side are one character.
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
        return f"{value:#x}"  # Python limits the length of decimals, but not of hexadecimals
    return value if value is None or isinstance(value, bool | int | float) else healed(str(value))


def paired(text: str) -> str:
    """A text with each two halves of a surrogate pair that stand side by side as the one character that they are."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return text


def whole_characters(text: str) -> tuple[str, str]:
    """Split a piece of text into its whole characters, healed, and the half of a surrogate pair at its end, or "".
    Some gateways send the other half with the next piece; put the first half in front of that."""
    half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
    return healed(text.removesuffix(half)), half


def json_text(value: Any) -> str:
    """The value as JSON text; empty if it has none, or nests too deep to be written."""
    try:
        return msgspec.json.encode(value).decode()
    except (RecursionError, TypeError, ValueError, OverflowError):
        return ""


_LONGEST_BITS = 14_000
"""A store does not keep longer integers (``strictjson.INTEGER_DIGITS``)."""
DEEPEST = NESTING_LIMIT - 28
"""The depth at which ``healed`` ends. It is below the limit, because a block and the values around it nest as well."""


class TextPlace(NamedTuple):
    """A place of text. ``path`` leads there from the event, with ``*`` for each item of a list.

    ``event`` is the type of the event, ``holder`` that of the object around the text; None stands for any.
    """

    path: tuple[str, ...]
    event: str | None = None
    holder: str | None = None


def words(path: str, *, event: str | None = None, holder: str | None = None) -> TextPlace:
    """The place at a path in its written form: ``content.*.text``."""
    return TextPlace(tuple(path.split(".")), event, holder)
