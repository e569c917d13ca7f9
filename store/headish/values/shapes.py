"""Read what others send: a value that is not of the expected type counts as absent.

Other programs and providers leave out, null or change anything. No function here raises.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from typing import Any

_TOO_LARGE = 1 << 63
_LONE = re.compile("[\ud800-\udfff]")
# An odd number of backslashes, or the last one is not the beginning of an escape. Of two halves side by side, the
# second group is None.
_ESCAPED = re.compile(
    rb"(?<!\\)((?:\\\\)*)\\u(?:[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F]|([dD][89a-fA-F]))[0-9a-fA-F]{2}"
)


def record(value: object) -> Mapping[str, Any]:
    """A mapping, or an empty one."""
    # A dict or None first: asking whether something else is a mapping takes several times as long.
    if type(value) is dict:
        return value
    return value if value is not None and isinstance(value, Mapping) else {}


def listed(value: object) -> list[Any]:
    """A list, or an empty one."""
    return value if isinstance(value, list) else list(value) if isinstance(value, tuple) else []


def text(value: object) -> str:
    """A text, or the empty one."""
    return value if isinstance(value, str) else ""


def name(value: object) -> str | None:
    """A text that is not empty, or None."""
    return value if isinstance(value, str) and value else None


def number(value: object) -> int | None:
    """A whole number, or None; None also for one that does not fit into 64 bits. Some clients write counts with a
    decimal point."""
    if type(value) is int and -_TOO_LARGE < value < _TOO_LARGE:
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _TOO_LARGE:
        return None  # NaN, too: it is not less than anything
    return int(value)


def present(**values: Any) -> dict[str, Any]:
    """The values that are neither None nor an empty list or mapping."""
    return {key: value for key, value in values.items() if value is not None and value != [] and value != {}}


def chosen(record: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    """The values of some keys that are neither None nor an empty list or mapping."""
    picked: dict[str, Any] = {}
    for key in keys:
        value = record.get(key)
        if value is not None and value != [] and value != {}:
            picked[key] = value
    return picked


def first(record: Mapping[str, Any], keys: Iterable[str], kind: type) -> Any:
    """The first value of a type under one of some keys, or None."""
    return next((record[key] for key in keys if isinstance(record.get(key), kind)), None)


def rest(record: Mapping[str, Any], own: Container[str], *nothing: object) -> dict[str, Any]:
    """What a record says under other keys than its ``own``; None, empty lists and mappings, and the values in
    ``nothing`` say nothing."""
    silent = (None, [], {}, *nothing)
    return {key: value for key, value in record.items() if key not in own and value not in silent}


def heal_text(text: str) -> tuple[str, bool]:
    """A text with U+FFFD for each lone surrogate, which no database takes, and whether there was any."""
    mended, count = _LONE.subn("\ufffd", text)
    return (mended, True) if count else (text, False)


def heal_json(text: bytes) -> tuple[bytes, bool]:
    """A JSON text with U+FFFD for each escaped lone surrogate, and whether there was any."""
    if rb"\ud" not in text and rb"\uD" not in text:  # nearly always, and many times as fast as the pattern
        return text, False
    mended = _ESCAPED.sub(lambda found: found[0] if found[2] is None else found[1] + rb"\ufffd", text)
    return mended, mended != text


def heal(value: Any) -> Any:
    """A JSON value whose keys and texts hold no lone surrogates."""
    if isinstance(value, str):
        return heal_text(value)[0]
    if isinstance(value, Mapping):
        return {heal(key): heal(each) for key, each in value.items()}
    return [heal(each) for each in value] if isinstance(value, list | tuple) else value


def token_counts(found: Mapping[str, Any], *, cached_inside: bool = True) -> dict[str, int]:
    """The counts of tokens that are whole numbers. ``cached_inside``: the input includes the tokens that were read from
    a cache and written to one. headish counts each token once, so it takes them away."""
    counts = {name: count for name, count in found.items() if type(count) is int and count >= 0}
    if cached_inside and "input_tokens" in counts:
        cached = counts.get("cache_creation_input_tokens", 0) + counts.get("cache_read_input_tokens", 0)
        counts["input_tokens"] = max(0, counts["input_tokens"] - cached)
    return counts
