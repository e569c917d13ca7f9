"""What a provider said beside its answer, as much of it as a turn can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headish.content import strictjson
from headish.limits import MAPPING_LIMIT_BYTES

_NOTE_BYTES = 300
"""What the note that says how much was dropped takes at most."""


def trim_reply(kept: Mapping[str, Any]) -> dict[str, Any]:
    """The meta of a reply with as many of its details as fit, in order, and a note of how much was dropped.

    Of a list the first items stay, of an object the keys that fit; a text is kept whole or not at all. Without details
    it fits in any case: all else of a reply is short.
    """
    whole = kept.get("details", {})
    brief = {key: value for key, value in kept.items() if key != "details"}
    details = _fit(whole, MAPPING_LIMIT_BYTES - _size({"reply": brief}) - _NOTE_BYTES)
    size = _size(whole)
    note = f"{size - _size(details):,} of the {size:,} bytes that the provider said beside the answer are not kept"
    notes = [*kept.get("notes", ()), f"{note}: a turn holds no more"]
    return brief | ({"details": details} if details else {}) | {"notes": notes}


def _fit(value: Mapping[str, Any], limit_bytes: int) -> dict[str, Any]:
    fitting: dict[str, Any] = {}
    left = limit_bytes - len("{}")
    for key, each in value.items():
        named = _size(key) + len(":,")
        part = each if named + _size(each) <= left else _part(each, left - named)
        if part is not None:
            fitting[key] = part
            left -= named + _size(part)
    return fitting


def _part(value: Any, limit_bytes: int) -> Any:
    """As much of a value as fits; None where that is nothing."""
    if isinstance(value, Mapping):
        return _fit(value, limit_bytes) or None
    if not isinstance(value, list):
        return None
    items: list[Any] = []
    left = limit_bytes - len("[]")
    for item in value:
        left -= _size(item) + len(",")
        if left < 0:
            break
        items.append(item)
    return items or None


def _size(value: Any) -> int:
    return len(strictjson.encode(value))
