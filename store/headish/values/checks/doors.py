"""Check the arguments of public functions: refuse one of the wrong kind, by name, before anything is done.

A text of a caller's own class, as a member of a ``StrEnum``, is the text that it equals from here on: no encoder takes
it as it is, and formatting may make another text of it. ``content`` is left alone, since content is checked as JSON.

The annotation of a parameter decides its kind: an ``int`` is a count, a ``Collection[str]`` a list of words. Text is
checked here only if nothing else checks it: a headish, a name or a key has a grammar of its own. What an annotation
does not say (a count from 1 on) is given to the decorator.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from itertools import zip_longest
from math import isfinite
from typing import Any, ForwardRef, TypeVar, cast

import msgspec

from headish.errors import InvalidArgument, shown

F = TypeVar("F", bound=Callable[..., Any])
COUNT_LIMIT = 2**63 - 1
"""The largest count: databases and iterators take no larger one."""
SECONDS_LIMIT = 10**9
"""The longest time: thirty years."""
_Scalar = str | bytes | bytearray | memoryview


class Kind(msgspec.Struct, frozen=True, gc=False):
    """A kind of values: the test for it, and its name in errors."""

    fits: Callable[[Any], bool]
    words: str


def an(kind: type) -> Kind:
    """The kind of the values of a class."""
    return Kind(lambda value: isinstance(value, kind), f"of the class {kind.__name__}")


def door(*further: Any, **own: Kind) -> Callable[[F], F]:
    """Refuse arguments of the wrong kind. None is accepted if it is the default, or if the annotation allows it.

    ``own`` are the kinds of parameters whose annotation does not say them. ``further`` are the functions, or classes
    with annotated fields, whose parameters a function takes as ``**``; for these, None is always accepted.
    Cost: the annotations are read at the first call of each function, so that an import pays nothing for them.
    Raises, on each call: InvalidArgument with the parameter and what it takes.
    """

    def decorate(function: F) -> F:
        code = function.__code__
        places = code.co_varnames[: code.co_argcount]
        kinds: dict[str, tuple[Kind, bool]] = {}
        is_read = False

        @wraps(function)
        def checked(*arguments: Any, **named: Any) -> Any:
            nonlocal is_read
            if not is_read:  # needs no lock: two threads that read at once find the same
                kinds.update(_kinds_of(function, further, own))
                is_read = True
            is_plain = True
            for name, value in (*zip(places, arguments, strict=False), *named.items()):
                if name in kinds:
                    kind, may_be_none = kinds[name]
                    if not (value is None and may_be_none):
                        check(name, value, kind)
                if type(value) is not str and isinstance(value, str):
                    is_plain = False
            if not is_plain:
                arguments, named = (
                    _plain(places, arguments),
                    dict(zip(named, _plain(named, named.values()), strict=True)),
                )
            return function(*arguments, **named)

        return cast(F, checked)

    return decorate


def _plain(names: Collection[str], values: Collection[Any]) -> tuple[Any, ...]:
    """Values with plain texts, except content. ``values`` may go on where the names end."""
    said = [name == "content" for name in names]
    return tuple(
        str.__str__(value) if isinstance(value, str) and not is_said else value
        for value, is_said in zip_longest(values, said[: len(values)])
    )


def _kinds_of(
    function: Callable[..., Any], further: Iterable[Any], own: dict[str, Kind]
) -> dict[str, tuple[Kind, bool]]:
    """The kinds of the parameters that a door checks, and whether each may be None."""
    further_kinds = {
        name: kind_of(name, annotation) for each in further for name, annotation in each.__annotations__.items()
    }
    kinds = {name: (kind, True) for name, kind in (further_kinds | own).items() if kind}
    places = function.__code__.co_varnames[: function.__code__.co_argcount]
    defaults = dict(zip(reversed(places), reversed(function.__defaults__ or ()), strict=False))
    defaults |= function.__kwdefaults__ or {}
    for name, annotation in function.__annotations__.items():
        kind = own.get(name) or kind_of(name, annotation)
        if kind:
            kinds[name] = (kind, defaults.get(name, kind) is None or annotation.endswith(" | None"))
    return kinds


def kind_of(name: str, annotation: str | ForwardRef) -> Kind | None:
    """The kind of an annotation; None if nothing is checked here."""
    if name in GRAMMARS:
        return GRAMMARS[name]
    text = annotation if isinstance(annotation, str) else annotation.__forward_arg__
    kind = KINDS.get(text) or KINDS.get(text := text.removesuffix(" | None"))
    while kind is None and "[" in text:
        head, _, rest = text.rpartition("[")  # the last bracket to open holds no other
        text = head + rest.partition("]")[2]
        kind = KINDS.get(text)
    return kind


def check(name: str, value: object, kind: Kind) -> None:
    """Refuse a value that is not of a kind. Raises: InvalidArgument."""
    if not kind.fits(value):
        # These may hold a key, which no error repeats.
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


def _is_binary_file(value: object) -> bool:
    return hasattr(value, "read") and hasattr(value, "seekable") and not isinstance(value, io.TextIOBase)


def _is_text(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_count(value: object) -> bool:
    # True is an int to Python, but not a count.
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= COUNT_LIMIT


def _is_seconds(value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    # Only a float may be infinite, and ``isfinite`` fails for an int that no float can hold.
    return isfinite(value) and 0 < value <= SECONDS_LIMIT if isinstance(value, float) else 0 < value <= SECONDS_LIMIT


def _is_words(value: object) -> bool:
    if isinstance(value, str):
        return True
    # A collection, not any iterable: the test would use up one that can be read only once.
    return isinstance(value, Collection) and not isinstance(value, Mapping | _Scalar) and all(map(_is_text, value))


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, Mapping | _Scalar)


def _is_records(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, _Scalar) and all(map(_is_record, value))


def _is_record(value: object) -> bool:
    return isinstance(value, Mapping)


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
FILE = Kind(
    lambda value: is_path(value) or _is_binary_file(value),
    'a path, or a file that is open for reading bytes (mode "rb")',
)
POSITIVE = Kind(lambda value: value is not True and _is_count(value) and bool(value), "a number from 1 on")
HEADERS = Kind(
    lambda value: _is_record(value) and all(_is_text(each) for pair in value.items() for each in pair),
    "a mapping of names to texts",
)
STRING = Kind(lambda value: isinstance(value, str), "text")
_TIMEOUTS = Kind(
    lambda value: _is_seconds(value) or _is_record(value) or hasattr(value, "silence_seconds"),
    "a number of seconds above 0, a mapping of limits to seconds, or Timeouts",
)
KINDS: dict[str, Kind] = {
    "bool": FLAG,
    "bool | None": CHOICE,
    "int": COUNT,
    "float": SECONDS,
    "str": TEXT,
    "Durability": TEXT,
    "str | bytes": TEXT_OR_BYTES,
    "str | os.PathLike[str]": PATH,
    "str | os.PathLike[str] | BinaryIO": FILE,
    "Collection[str]": WORDS,
    "Iterable": LIST,
    "Sequence": LIST,
    "Mapping": RECORD,
    "Mapping[str, str]": HEADERS,
    **dict.fromkeys(("ToolList", "Tools"), Kind(_is_records, "a list of definitions")),
    "Budget": Kind(lambda value: value == "auto" or (_is_count(value) and value > 0), "a number of tokens, or auto"),
    **dict.fromkeys(("Timeouts", "Timeouts | float", "Timeouts | Mapping[str, float] | float"), _TIMEOUTS),
    "Stop": Kind(lambda value: hasattr(value, "now") and hasattr(value, "asked"), "a headish.calls.Stop"),
    "Callable": CALLABLE,
    **dict.fromkeys(("Approve", "Count", "NoteListener", "OnDelta", "Progress", "Run", "Told"), CALLABLE),
}
"""The kinds by annotation: the whole of it, or without ``| None``, or without what is in brackets."""
GRAMMARS: dict[str, Kind | None] = {
    **dict.fromkeys(("author", "bookmark", "continues", "cursor", "first", "form", "headish", "inherited", "key")),
    **dict.fromkeys(("kind", "last", "name", "new", "old", "ptr", "reason", "space", "subject", "system", "target")),
    "to": None,
    "after": STRING,
    "prefix": STRING,
}
"""Parameters that are checked where they are read, with a grammar of their own and errors that quote it."""
