"""JSON as headish keeps it: strict when read, checked before it is written, one encoding.

Kept: RFC 8259 values, key order, integers of any size up to ``INTEGER_DIGITS``. Refused, because they would
come back changed or not at all: NaN and infinities, numbers that overflow, lone surrogates, duplicate keys, keys
that are no strings, values of other types, nesting past the limit (I9, R9).

This module never repairs: a value is either kept as it is or refused with the path that leads to it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn

import msgspec

from headish.errors import InvalidContent, TooDeep, TooLarge
from headish.limits import NESTING_LIMIT

INTEGER_DIGITS = 4300
"""Python itself refuses to convert longer integers from text."""
_INTEGER_BITS = int(INTEGER_DIGITS * math.log2(10))


def _as_dict(value: object) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} is no JSON value")


_encode = msgspec.json.Encoder(enc_hook=_as_dict).encode


def encode(value: Any) -> bytes:
    """The one encoding: UTF-8, no blanks, key order as given, shortest decimal that names the same float.

    Source: RFC 8259; floats as msgspec writes them. ``value`` was checked before.
    """
    return _encode(value)


def encode_mapping(value: Mapping[str, Any], what: str, limit_bytes: int) -> bytes:
    """A checked mapping as JSON text.

    Raises: InvalidContent, TooDeep, TooLarge, all naming ``what``.
    """
    if not isinstance(value, Mapping):
        raise InvalidContent(what, f"it must be a mapping, not {type(value).__name__}")
    check(value, what)
    encoded = _encode(value)
    if len(encoded) > limit_bytes:
        raise TooLarge(what, len(encoded), limit_bytes)
    return encoded


def decode(text: str | bytes, what: str) -> Any:
    """The value of a JSON text, checked.

    Raises: InvalidContent (also for duplicate keys, NaN and text that is not UTF-8), TooDeep.
    """
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except RecursionError:
        raise _too_deep(what, "$") from None
    except UnicodeDecodeError as error:
        raise InvalidContent(what, f"it is not UTF-8 ({error.reason} at byte {error.start})") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InvalidContent(what, f"it is not JSON: {error.msg}, {place}") from None
    except ValueError as error:
        raise InvalidContent(what, str(error)) from None
    check(value, what)
    return value


def check(value: Any, what: str, path: str = "$") -> None:
    """Refuse what JSON text could not give back.

    Raises: InvalidContent or TooDeep, with the path of the first bad value.
    Cost: one visit to each value; paths are built for the containers only.
    """
    stack: list[tuple[Any, str, int]] = [(value, path, 0)]
    while stack:
        item, where, depth = stack.pop()
        if item is None or item is True or item is False:
            continue
        kind = type(item)
        if kind is str:
            _check_text(item, what, where)
        elif kind is int:
            if item.bit_length() > _INTEGER_BITS:
                raise InvalidContent(what, f"an integer of more than {INTEGER_DIGITS} digits", where)
        elif kind is float:
            if not math.isfinite(item):
                raise InvalidContent(what, f"{item} is no JSON number", where)
        elif isinstance(item, Mapping):
            _enter(what, where, depth)
            for key, inner in item.items():
                if type(key) is not str:
                    raise InvalidContent(what, f"the key {key!r} is not a string", where)
                _check_text(key, what, where)
                stack.append((inner, f"{where}.{key}", depth + 1))
        elif isinstance(item, list | tuple):
            _enter(what, where, depth)
            stack.extend((inner, f"{where}[{index}]", depth + 1) for index, inner in enumerate(item))
        else:
            raise InvalidContent(what, f"a {kind.__name__} is no JSON value", where)


def plain(value: Any) -> Any:
    """A checked value copied into dicts and lists, whatever kinds of mapping and sequence were given."""
    return msgspec.to_builtins(value, enc_hook=_as_dict)


def check_text(text: str, what: str, path: str = "$") -> None:
    """Refuse lone surrogates: they have no UTF-8."""
    _check_text(text, what, path)


def _check_text(text: str, what: str, where: str) -> None:
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        reason = f"a lone surrogate (U+{ord(text[error.start]):04X}) has no UTF-8"
        raise InvalidContent(what, reason, where.encode(errors="replace").decode()) from None


def _enter(what: str, where: str, depth: int) -> None:
    if depth >= NESTING_LIMIT:
        raise _too_deep(what, where)


def _too_deep(what: str, where: str) -> TooDeep:
    shown = where if len(where) <= 80 else where[:77] + "…"
    return TooDeep(what, f"more than {NESTING_LIMIT} arrays and objects lie inside each other", shown)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return record


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")
