"""JSON as headish keeps it: strict when read, checked before it is written, one encoding.

Kept: RFC 8259 values, key order, integers of any size up to ``INTEGER_DIGITS``. Refused, because they would
come back changed or not at all: NaN and infinities, numbers that overflow, lone surrogates, duplicate keys, keys
that are not strings, values of other types, nesting past the limit (rule I9, kept as given; rule R9, one encoding).

This module never repairs: a value is either kept as it is or refused with the path that leads to it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from math import isfinite
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from headish.errors import InvalidContent, TooDeep, TooLarge
from headish.values.limits import MAPPING_LIMIT_BYTES, NESTING_LIMIT

if TYPE_CHECKING:
    import json

INTEGER_DIGITS = 4300
"""Python itself refuses to convert longer integers from text."""
# In bits: counting digits would need the very text that Python refuses to make.
_INTEGER_BITS = int(INTEGER_DIGITS * math.log2(10))


def _as_dict(value: object) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} is not a JSON value")


_encode = msgspec.json.Encoder(enc_hook=_as_dict).encode


def encode(value: Any) -> bytes:
    """The one encoding: UTF-8, no blanks, key order as given, shortest decimal that names the same float.

    Source: RFC 8259; floats as msgspec writes them. ``value`` was checked before.
    """
    return _encode(value)


def encode_mapping(value: Mapping[str, Any], what: str) -> bytes:
    """A checked mapping as JSON text.

    Raises: InvalidContent, TooDeep, TooLarge, all naming ``what``.
    """
    if not isinstance(value, Mapping):
        raise InvalidContent(what, f"it must be a mapping, not {type(value).__name__}")
    check(value, what)
    encoded = _encode(value)
    if len(encoded) > MAPPING_LIMIT_BYTES:
        raise TooLarge(what, len(encoded), MAPPING_LIMIT_BYTES)
    return encoded


def encode_read(value: Any) -> bytes | None:
    """Encode a value that came out of a decoder, if it needs no check because it comes back equal from its own text.
    NaN, a key that is not a string and a value of another type do not. None if it does not, or may be nested too deep.

    Cost: encoding and decoding it once, without a Python step for each value in it.
    """
    try:
        encoded = _encode(value)
        if encoded.count(b"{") + encoded.count(b"[") <= NESTING_LIMIT and msgspec.json.decode(encoded) == value:
            return encoded
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        pass  # ``check`` says what is wrong with it
    return None


def is_sound(text: bytes, value: Any) -> bool:
    """Whether a value that msgspec decoded from ``text`` can be kept, with a few objects around it. The decoder refuses
    all that ``check`` refuses, except what is nested too deep.

    Cost: two searches of the text; if it has many brackets, a step for each value.
    """
    limit = NESTING_LIMIT - _AROUND
    if text.count(b"{") + text.count(b"[") <= limit:
        return True
    level = [value]
    for _ in range(limit):
        level = [
            each
            for container in level
            for each in (container.values() if type(container) is dict else container)
            if type(each) is dict or type(each) is list
        ]
        if not level:
            return True
    return False


def decode(text: str | bytes, what: str, *, number: Callable[[str], Any] | None = None) -> Any:
    """The value of a JSON text, checked. ``number`` reads the text of a number. It may not be called for integers that
    are written as they were read, which nearly all are.

    Cost: linear; at most about three times that of ``json.loads``, and memory for the value alone, whatever its shape.
    Raises: InvalidContent, TooDeep.
    """
    import json  # late: most that is stored is read by msgspec

    try:
        document = text if isinstance(text, str) else text.decode()
        value = _load(document, number)
    except RecursionError:
        raise _too_deep(what, "$") from None
    except UnicodeDecodeError as error:
        raise InvalidContent(what, f"it is not UTF-8 ({error.reason} at byte {error.start})") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InvalidContent(what, f"it is not JSON: {error.msg}, {place}") from None
    except ValueError as error:
        raise InvalidContent(what, str(error)) from None
    # Only an escape can put a lone surrogate into a text that is UTF-8, and nothing else that is bad passes json.loads.
    keys = _check_all(value, what, texts=not document.isascii() or "\\u" in document)
    # One of two equal keys is lost on reading, so the value has fewer keys than the text has colons. Colons inside a
    # text, or apart from their key, need a careful count.
    if document.count(":") == keys:
        return value
    if document.count('":') != keys or any(spelled in document for spelled in _ODD_COLONS):
        _refuse_duplicates(document, what)
    return value


def _load(document: str, number: Callable[[str], Any] | None) -> Any:
    import json

    if number is None and not document.startswith(_MARK):  # ``json.loads`` refuses the mark by its name
        return _decoder().decode(document)
    if number is not None and re.search(_NEGATIVE_ZERO, document) is None:
        # Every integer but -0 is written as it was read, and the decoder's own way is ten times as fast. Where it
        # fails, an integer may be too long for it, so ``number`` reads them all.
        with suppress(ValueError):
            return json.loads(document, parse_constant=_refuse_constant, parse_float=number)
    return json.loads(document, parse_constant=_refuse_constant, parse_int=number, parse_float=number)


@cache
def _decoder() -> json.JSONDecoder:
    """The decoder of every text. Making one takes as long as reading a short text."""
    import json

    return json.JSONDecoder(parse_constant=_refuse_constant)


def check(value: Any, what: str, path: str = "$") -> None:
    """Refuse what JSON text could not give back.

    Cost: one visit to each value. The path of a bad value is found in a second pass, which only bad values pay for.
    Raises: InvalidContent or TooDeep, with the path of a bad value.
    """
    _check_all(value, what, path)


def _check_all(value: Any, what: str, path: str = "$", *, texts: bool = True) -> int:
    """As ``check``; returns the number of keys. Without ``texts``, strings, keys and integers are known to be good."""
    level: list[Any] = [[value]]
    keys, depth = 0, -1
    # Level by level: the number of levels is the depth, and deep nesting needs no recursion.
    while level:
        if depth >= NESTING_LIMIT:
            raise _too_deep(what, _path_to(value, depth, path))
        below: list[Any] = []
        for container in level:
            items = container
            if type(container) is dict or isinstance(container, Mapping):
                if texts and not all(map(_is_good_key, container)):
                    _refuse(value, what, path)
                keys += len(container)
                items = container.values()
            if not _check_items(items, below, texts):
                _refuse(value, what, path)
        level, depth = below, depth + 1
    return keys


def _check_items(items: Collection[Any], below: list[Any], texts: bool) -> bool:
    """Whether all scalars of a container are good. Appends the containers in it to ``below``."""
    if len(items) > _FEW:
        kinds = set(map(type, items))
        if kinds <= SCALARS:  # a long list of numbers or texts takes no Python step for each
            tested = [kind for kind in kinds if kind is float or (texts and kind in _ALL_GOOD)]
            return all(_ALL_GOOD[kind]([item for item in items if type(item) is kind]) for kind in tested)
    for item in items:
        kind = type(item)
        if kind is str:
            if texts and not item.isascii() and not _is_good_text(item):
                return False
        elif kind is dict or kind is list:
            below.append(item)
        elif kind is int:
            if texts and not _is_short(item):
                return False
        elif kind is float:
            if not isfinite(item):
                return False
        elif item is None or kind is bool:
            continue
        elif isinstance(item, Mapping | list | tuple):
            below.append(item)
        else:
            return False
    return True


def _is_good_text(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_good_key(key: object) -> bool:
    return type(key) is str and _is_good_text(key)


def _refuse(value: Any, what: str, path: str) -> NoReturn:
    """Name the first bad value in the order of the text."""
    for item, steps in _visit(value):
        reason = _refusal(item)
        if reason is not None:
            raise InvalidContent(what, reason, _spelled(path, steps))
    raise AssertionError("a value that was refused has a reason")


def _visit(value: Any) -> Iterator[tuple[Any, list[str | int]]]:
    """Yield every value in the order of the text, with the steps that lead to it in one list that changes in place.

    Memory holds an iterator for each level, and no path for any element.
    """
    levels: list[Iterator[tuple[str | int, Any]]] = [iter([("", value)])]
    steps: list[str | int] = [""]
    while levels:
        step, item = next(levels[-1], (None, None))
        if step is None:
            levels.pop()
            steps.pop()
            continue
        steps[-1] = step
        yield item, steps
        # A structure that contains itself has no end; the limit is the end.
        inside = _inside(item) if len(levels) <= NESTING_LIMIT else None
        if inside is not None:
            levels.append(inside)
            steps.append("")


def _inside(item: Any) -> Iterator[tuple[str | int, Any]] | None:
    if isinstance(item, Mapping):
        return ((f".{key}", inner) for key, inner in item.items())
    return enumerate(item) if isinstance(item, list | tuple) else None


def _refusal(item: Any) -> str | None:
    """Why a value itself is refused, whatever it contains; None if it is good."""
    kind = type(item)
    if kind is str:
        return _text_refusal(item)
    if kind is int:
        return None if _is_short(item) else f"an integer of more than {INTEGER_DIGITS} digits"
    if kind is float:
        return None if isfinite(item) else f"{item} is not a JSON number"
    if isinstance(item, Mapping):
        wrong = next((key for key in item if type(key) is not str), None)
        if wrong is not None:
            return f"the key {wrong!r} is not a string"
        return next((reason for key in item if (reason := _text_refusal(key))), None)
    return (
        None
        if item is None or kind is bool or isinstance(item, list | tuple)
        else f"a {kind.__name__} is not a JSON value"
    )


def _spelled(path: str, steps: Iterable[str | int]) -> str:
    spelled = path + "".join(step if isinstance(step, str) else f"[{step}]" for step in steps)
    # The path goes into an error: a key may be a lone surrogate, which no terminal prints, or a megabyte long.
    return spelled.encode(errors="replace").decode()[:_PATH_SHOWN]


def _path_to(value: Any, depth: int, path: str) -> str:
    """The path of the first container at a depth: where the nesting passes the limit."""
    paths = (steps for item, steps in _visit(value) if len(steps) == depth + 1 and _inside(item) is not None)
    return _spelled(path, next(paths, []))


def plain(value: Any) -> Any:
    """A checked value copied into dicts and lists, whatever kinds of mapping and sequence were given."""
    return msgspec.to_builtins(value, enc_hook=_as_dict)


def check_text(text: str, what: str) -> None:
    """Refuse lone surrogates, which UTF-8 cannot encode."""
    if not _is_good_text(text):
        raise InvalidContent(what, _text_refusal(text) or "", "$")


def _text_refusal(text: str) -> str | None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"a lone surrogate (U+{ord(text[error.start]):04X}) has no UTF-8"
    return None


def _too_deep(what: str, where: str) -> TooDeep:
    shown = where if len(where) <= 80 else where[:77] + "…"
    return TooDeep(what, f"more than {NESTING_LIMIT} arrays and objects lie inside each other", shown)


def _refuse_duplicates(document: str, what: str) -> None:
    import json

    try:
        json.loads(document, object_pairs_hook=_unique)
    except ValueError as error:
        raise InvalidContent(what, str(error)) from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for key, value in pairs:
        if key in record:
            raise ValueError(f"the key {key[:80]!r} appears twice in one object")
        record[key] = value
    return record


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _is_short(value: int) -> bool:
    return value.bit_length() <= _INTEGER_BITS


_NEGATIVE_ZERO = r"-0(?![.eE0-9])"  # the one integer that Python would write otherwise
_ODD_COLONS = ('\\":', '" :', '"\t:', '"\n:', '"\r:')  # with them, ``":`` is not exactly one for each key
SCALARS = frozenset((str, int, float, bool, type(None)))
_FEW = 16
_AROUND = 8  # levels for the objects that headish puts around a value
_PATH_SHOWN = 1000
_MARK = "\ufeff"  # the byte order mark
_ALL_GOOD: dict[type, Callable[[Collection[Any]], bool]] = {
    str: lambda items: all(map(str.isascii, items)) or all(map(_is_good_text, items)),
    int: lambda items: _is_short(max(items)) and _is_short(min(items)),
    float: lambda items: all(map(isfinite, items)),
}
"""Tests by type that say whether several scalars can all be kept. Every scalar of another type can."""
