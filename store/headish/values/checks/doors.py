"""Check the arguments of public functions: refuse one of the wrong kind, by name, before anything is done.

The name of a parameter tells its kind, because one word means one thing everywhere: ``limit`` is a count, ``drop`` a
list of words. What has a grammar of its own is checked by that (a headish, a name, content), not here.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from math import isfinite
from typing import Any, NamedTuple, TypeVar, cast

from headish.errors import InvalidArgument, shown

F = TypeVar("F", bound=Callable[..., Any])
COUNT_LIMIT = 2**63 - 1
"""The largest count: databases and iterators take no larger one."""
SECONDS_LIMIT = 10**9
"""The longest time: thirty years."""
_TAKES_FURTHER = 0x08  # CO_VARKEYWORDS
_Scalar = str | bytes | bytearray | memoryview


class Kind(NamedTuple):
    """Whether a value is of a kind, and how the kind is called in an error."""

    fits: Callable[[Any], bool]
    words: str


def an(kind: type) -> Kind:
    """The kind of the values of a class."""
    return Kind(lambda value: isinstance(value, kind), f"of the class {kind.__name__}")


def door(**own: Kind) -> Callable[[F], F]:
    """Refuse arguments of the wrong kind; None is taken where it is the default. ``own`` are kinds beside ``KINDS``.

    Raises, on each call: InvalidArgument with the parameter and what it takes.
    """

    def decorate(function: F) -> F:
        code = function.__code__
        places = code.co_varnames[: code.co_argcount]
        named_only = code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]
        kinds = {name: kind for name in (*places, *named_only) if (kind := own.get(name) or KINDS.get(name))}
        further = KINDS if code.co_flags & _TAKES_FURTHER else {}
        defaults = dict(zip(reversed(places), reversed(function.__defaults__ or ()), strict=False))
        optional = {name for name, default in (defaults | (function.__kwdefaults__ or {})).items() if default is None}

        @wraps(function)
        def checked(*arguments: Any, **named: Any) -> Any:
            for name, value in zip(places, arguments, strict=False):
                if name in kinds and not (value is None and name in optional):
                    check(name, value, kinds[name])
            for name, value in named.items():
                kind = kinds.get(name) or further.get(name)
                may_be_none = name in optional or name not in kinds
                if kind is not None and not (value is None and may_be_none):
                    check(name, value, kind)
            return function(*arguments, **named)

        return cast(F, checked)

    return decorate


def check(name: str, value: object, kind: Kind) -> None:
    """Refuse a value that is not of a kind. Raises: InvalidArgument."""
    if not kind.fits(value):
        # What might be a key is not repeated.
        what = f", not {shown(value)}" if name not in ("key_env", "headers", "base_url") else ""
        raise InvalidArgument(f"{name} is {kind.words}{what}")


def is_path(value: object) -> bool:
    """Whether a value can be the path of a file: text or a path object that the file system has bytes for."""
    if not isinstance(value, str | os.PathLike):
        return False
    try:
        return b"\0" not in os.fsencode(value)
    except (UnicodeError, TypeError, ValueError):
        return False


def _is_text(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= COUNT_LIMIT


def _is_seconds(value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return isfinite(value) and 0 < value <= SECONDS_LIMIT if isinstance(value, float) else 0 < value <= SECONDS_LIMIT


def _is_words(value: object) -> bool:
    if isinstance(value, str):
        return True
    # A collection, not any iterable: what can be read once only would be used up here.
    return isinstance(value, Collection) and not isinstance(value, Mapping | _Scalar) and all(map(_is_text, value))


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, Mapping | _Scalar)


def _is_records(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, _Scalar) and all(map(_is_record, value))


def _is_record(value: object) -> bool:
    return isinstance(value, Mapping)


ANYTHING = Kind(lambda _: True, "anything")
"""For a parameter that is checked further in."""
CHOICE = Kind(lambda value: value is None or isinstance(value, bool), "True, False or None")
FLAG = Kind(lambda value: isinstance(value, bool), "True or False")
TEXT = Kind(_is_text, "text that has UTF-8")
COUNT = Kind(_is_count, "a number from 0 on, of at most 63 bits")
RECORD = Kind(_is_record, "a mapping")
SECONDS = Kind(_is_seconds, "a number of seconds above 0")
WORDS = Kind(_is_words, "a word, or a list of words")
CALLABLE = Kind(callable, "something to call")
PATH = Kind(is_path, "the path of a file")
TEXT_OR_BYTES = Kind(lambda value: isinstance(value, str | bytes), "text, or bytes")
LIST = Kind(_is_list, "a list, or another iterable")
LIST_OR_BODY = Kind(
    lambda value: _is_list(value) or isinstance(value, Mapping), "a list, or another iterable, or a body that holds one"
)
LIMIT = Kind(
    lambda value: value == "none" if isinstance(value, str) else _is_count(value), "a number from 0 on, or 'none'"
)
FILE = Kind(
    lambda value: is_path(value) or isinstance(value, io.IOBase) or hasattr(value, "read"),
    "a path, or a file that is open for reading bytes",
)
KINDS: dict[str, Kind] = {
    **dict.fromkeys(("format", "policy", "bos", "eos", "model", "base_url", "key_env", "title", "by", "dialect"), TEXT),
    **dict.fromkeys(("provider", "seed", "durability", "start_role"), TEXT),
    **dict.fromkeys(("limit", "n", "payload_limit_bytes", "context_window"), COUNT),
    "budget": Kind(lambda value: value == "auto" or (_is_count(value) and value > 0), "a number of tokens, or auto"),
    "count": CALLABLE,
    **dict.fromkeys(("params", "tool_names"), RECORD),
    "after": Kind(lambda value: isinstance(value, str), "text"),
    "prefix": Kind(lambda value: isinstance(value, str), "text"),
    **dict.fromkeys(
        ("read_only", "prepared", "keep", "dry_run", "raw"),
        Kind(lambda value: isinstance(value, bool), "True or False"),
    ),
    "index": Kind(lambda value: isinstance(value, int) and abs(value) <= COUNT_LIMIT, "the number of a message"),
    "timeouts": Kind(
        lambda value: _is_seconds(value) or _is_record(value) or hasattr(value, "silence_seconds"),
        "a number of seconds above 0, a mapping of limits to seconds, or Timeouts",
    ),
    **dict.fromkeys(("progress", "on_delta", "told", "warn", "run", "approve", "write", "work"), CALLABLE),
    "tools": Kind(_is_records, "a list of definitions"),
    "drop": WORDS,
    "lease_seconds": SECONDS,
    "stop": Kind(lambda value: hasattr(value, "now") and hasattr(value, "asked"), "a headish.calls.Stop"),
    "attempts": Kind(lambda value: value is not True and _is_count(value) and bool(value), "a number from 1 on"),
    "headers": Kind(
        lambda value: _is_record(value) and all(_is_text(each) for pair in value.items() for each in pair),
        "a mapping of names to texts",
    ),
}
"""The kinds of parameters, by their names."""
