"""The JSON of one event: decoded, and checked for values that could not be stored again.

Of duplicate keys the last one counts, as in the providers' own clients.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from headish.content import strictjson
from headish.errors import InvalidContent
from headish.values.limits import NESTING_LIMIT

# Well below the store's limit on digits: shorter integers need no exact check.
_LONG_INTEGER_BITS = 4096
_LOOSE = (b"\\ud", b"\\uD", b"NaN", b"Infinity")


class Refusal(Exception):
    """The reason why an event cannot be read; the reader adds the event's number."""


def decode_event(document: bytes) -> dict[str, Any]:
    """The object of an event's text. Raises: Refusal if it is not an object, or holds a value that cannot be stored."""
    try:
        event = msgspec.json.decode(document)
    except UnicodeDecodeError:
        raise Refusal("it is not UTF-8") from None
    except RecursionError:
        raise too_deep() from None
    except msgspec.DecodeError as error:
        loose = _decode_loosely(document)
        if loose is not None:
            return loose
        raise Refusal(f"it is not JSON: {str(error).removeprefix('JSON is malformed: ')}") from None
    if not isinstance(event, dict):
        raise Refusal("it is JSON, but not an object")
    # msgspec takes longer integers and deeper nesting than the store. A short event has neither, so most need no check.
    if len(document) > strictjson.INTEGER_DIGITS or document.count(b"{") + document.count(b"[") > NESTING_LIMIT:
        _check(event)
    return event


def _decode_loosely(document: bytes) -> dict[str, Any] | None:
    """Decode an event that only Python's json takes; None if it is none.

    Either a gateway cut text between UTF-16 units, and the next event has the other half of the character; or a server
    in Python (vLLM) wrote NaN or an infinity. The reader of the answer joins the halves, and replaces such numbers.
    """
    if not any(each in document for each in _LOOSE):
        return None
    try:
        event = json.loads(document)
    except (ValueError, RecursionError):
        return None
    if isinstance(event, dict):
        _check(event)
        return event
    return None


def _check(event: dict[str, Any]) -> None:
    """Refuse an event that cannot be stored again. Memory: one iterator for each level, however wide the event is."""
    levels: list[Iterator[Any]] = [iter(event.values())]
    while levels:
        for item in levels[-1]:
            if isinstance(item, dict | list):
                levels.append(iter(item.values() if isinstance(item, dict) else item))
                break
            if isinstance(item, int) and item.bit_length() > _LONG_INTEGER_BITS:
                _check_integer(item)
        else:
            levels.pop()
        if len(levels) > NESTING_LIMIT:
            raise too_deep()


def _check_integer(value: int) -> None:
    try:
        strictjson.check(value, "an event")
    except InvalidContent as error:
        raise Refusal(f"it holds {error.reason}") from None


def too_deep() -> Refusal:
    """The error for an event that nests deeper than a turn may."""
    return Refusal(f"more than {NESTING_LIMIT} arrays and objects lie inside each other")


def too_large(limit_bytes: int) -> Refusal:
    """The error for an event past the limit."""
    return Refusal(f"it has more than {limit_bytes:,} bytes")
