"""JSON whose exact text matters: check a text, and find the exact text of its members; read an API's JSON by keys.

RFC 8259 as Python reads it, less NaN, infinities and numbers that overflow, at most ``JSON_DEPTH`` levels deep.
Duplicate keys and escaped lone surrogates are JSON here; what the store keeps is stricter (strictjson.py).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from msgspec import UNSET

from headish.errors import InvalidInterchange
from headish.values.blocks import ToolResult, ToolUse

JSON_DEPTH = 512
"""A text that nests arrays and objects deeper is not JSON here."""
_BLANK = re.compile(r"[ \t\r\n]*")
_BRACKET_OR_STRING = re.compile(r'[\[\]{}]|"(?:[^"\\]|\\.)*+"?', re.DOTALL)


def read_json(text: str) -> Any:
    """The value of a JSON text; UNSET if it is not JSON."""
    # Python's own limit depends on how deep the caller's stack is.
    if _looks_too_deep(text):
        return UNSET
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        return UNSET


def quote(value: Any) -> str:
    """A value as JSON text, in which every character beyond ASCII stands as it is."""
    return json.dumps(value, ensure_ascii=False)


def is_object(text: str) -> bool:
    """Whether a text is a JSON object."""
    return text.lstrip(" \t\r\n")[:1] == "{" and isinstance(read_json(text), dict)


def says_error(body: str) -> bool:
    """Whether the body of a reply is the envelope of 2.2 §8.2 with ``ok`` false."""
    # Most replies are not envelopes: this tells without parsing them.
    if '"ok"' not in body or not is_object(body):
        return False
    value = read_json(body)
    return isinstance(value, dict) and value.get("ok") is False


def _looks_too_deep(text: str) -> bool:
    """Whether brackets outside strings nest deeper than ``JSON_DEPTH``. A text with fewer brackets is not searched."""
    if text.count("[") + text.count("{") <= JSON_DEPTH:
        return False
    depth = 0
    for found in _BRACKET_OR_STRING.finditer(text):
        first = text[found.start()]
        depth += 1 if first in "[{" else -1 if first in "]}" else 0
        if depth > JSON_DEPTH:
            return True
    return False


def _refuse(name: str) -> Any:
    raise ValueError(name)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(digits)
    return number


def read_members(text: str) -> tuple[dict[str, tuple[Any, str]], int, int] | None:
    """The members of the JSON object at the beginning of a text, after blanks, and where the object begins and ends.

    Each member is its value and that value's exact text. If a key is repeated, the last one counts. None if the text
    does not begin with an object.
    """
    begin = skip_blanks(text, 0)
    whole = scan_value(text, begin) if text[begin : begin + 1] == "{" else None
    if whole is None:
        return None
    members: dict[str, tuple[Any, str]] = {}
    place = skip_blanks(text, begin + 1)
    # The whole object was found valid above, so nothing is checked again here.
    while text[place] != "}":
        key, place = scanstring(text, place + 1, True)
        place = skip_blanks(text, skip_blanks(text, place) + 1)
        value, end = _scan(text, place)
        members[key] = (value, text[place:end])
        place = skip_blanks(text, end)
        if text[place] == ",":
            place = skip_blanks(text, place + 1)
    return members, begin, whole[1]


def scan_value(text: str, place: int) -> tuple[Any, int] | None:
    """The JSON value at a place, and its end; None if there is none."""
    try:
        value, end = _scan(text, place)
    except (ValueError, RecursionError):
        return None
    # The scanner has no limit of depth; ``read_json`` has.
    return None if read_json(text[place:end]) is UNSET else (value, end)


def skip_blanks(text: str, place: int) -> int:
    """The first place from ``place`` on that is not blank."""
    found = _BLANK.match(text, place)
    assert found is not None
    return found.end()


def says_more(block: ToolUse | ToolResult) -> bool:
    """Whether the JSON that a block was read from has keys that the block itself does not hold."""
    if block.envelope is None:
        return False
    found = read_members(block.envelope)
    own = {"name", "arguments", "id"} if isinstance(block, ToolUse) else {"name", "content", "id", "is_error"}
    return found is None or not set(found[0]) <= own


_scan: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite).raw_decode


def refuse_keys(record: Mapping[str, Any], known: Iterable[str], target: str, path: str) -> None:
    """Refuse keys that a transcript does not carry, unless they are null. Raises: InvalidInterchange."""
    for key, value in record.items():
        # OpenAI's answers always have a list of annotations, mostly an empty one.
        if key not in known and value is not None and not (key == "annotations" and value == []):
            raise InvalidInterchange(target, f"the key {key!r}, which a transcript does not carry", path)


def list_of(data: Mapping[str, Any], key: str, target: str) -> list[Mapping[str, Any]]:
    """A list of objects under a key. Raises: InvalidInterchange."""
    listed = data.get(key) if isinstance(data, Mapping) else None
    if not isinstance(listed, list) or not all(isinstance(each, Mapping) for each in listed):
        raise InvalidInterchange(target, f"{key} must be a list of objects", f"$.{key}")
    return listed


def optional_list(record: Mapping[str, Any], key: str, target: str, path: str) -> list[Any]:
    """A list under a key; empty if there is no such key. Raises: InvalidInterchange."""
    value = record.get(key)
    if not isinstance(value, list | None):
        raise InvalidInterchange(target, f"{key} must be a list", f"{path}.{key}")
    return value or []


def string(record: Mapping[str, Any], key: str, target: str, path: str) -> str:
    """A string under a key. Raises: InvalidInterchange."""
    value = record.get(key)
    if not isinstance(value, str):
        raise InvalidInterchange(target, f"{key} must be a string", f"{path}.{key}")
    return value
