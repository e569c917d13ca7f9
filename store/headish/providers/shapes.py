"""Reading what others send: values of whatever type, taken for what they should be or for nothing.

A provider may leave out, null or change anything; what is not of its type is as good as absent, and nothing raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def record(value: object) -> Mapping[str, Any]:
    """A mapping, or an empty one."""
    return value if isinstance(value, Mapping) else {}


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
    """A whole number; some clients write counts with a decimal point."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) == float("inf"):
        return None
    return int(value)


def present(**values: Any) -> dict[str, Any]:
    """The values that say something."""
    return {key: value for key, value in values.items() if value is not None and value != [] and value != {}}


def healed(value: Any) -> Any:
    """The value with halves of surrogate pairs joined, and with what has no JSON replaced."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, Mapping):
        return {healed(str(key)): healed(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [healed(each) for each in value]
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return None
    return value if value is None or isinstance(value, bool | int | float) else healed(str(value))
