"""Reading what others send: values of whatever type, taken for what they should be or for nothing.

Beside them: where the words of the model stand in an event. They stay as they came; all else may be redacted.
A provider may leave out, null or change anything; what is not of its type is as good as absent, and nothing raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any, NamedTuple

import msgspec

from headish.values.limits import NESTING_LIMIT


def record(value: object) -> Mapping[str, Any]:
    """A mapping, or an empty one."""
    # A dict or nothing first: whether something else is a mapping takes several times as long to find out.
    if type(value) is dict:
        return value
    return value if value is not None and isinstance(value, Mapping) else {}


def listed(value: object) -> list[Any]:
    """A list, or an empty one."""
    return value if isinstance(value, list) else list(value) if isinstance(value, tuple) else []


def text(value: object) -> str:
    """Text, or none."""
    return value if isinstance(value, str) else ""


def name(value: object) -> str | None:
    """Text that says something, or None."""
    return value if isinstance(value, str) and value else None


def number(value: object) -> int | None:
    """A whole number; some clients write counts with a decimal point. One that no 64 bits hold is none."""
    if type(value) is int and -_TOO_LARGE < value < _TOO_LARGE:
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _TOO_LARGE:
        return None
    return int(value)


def present(**values: Any) -> dict[str, Any]:
    """The values that say something."""
    return {key: value for key, value in values.items() if value is not None and value != [] and value != {}}


def chosen(record: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    """Those of some keys whose values say something."""
    picked: dict[str, Any] = {}
    for key in keys:
        value = record.get(key)
        if value is not None and value != [] and value != {}:
            picked[key] = value
    return picked


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


def json_text(value: Any) -> str:
    """The value as JSON text; empty where it has none, or nests too deep to be written."""
    try:
        return msgspec.json.encode(value).decode()
    except (RecursionError, TypeError, ValueError, OverflowError):
        return ""


_TOO_LARGE = 1 << 63
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
