"""Clean what other programs wrote: repair lone surrogates, remove secret keys from settings, make names of titles.

An import does not refuse a conversation because of what its program let through. Each repair is noted.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from math import isfinite
from typing import Any

import msgspec

from headish.content.secrecy.finding import find_secret
from headish.content.strictjson import INTEGER_DIGITS
from headish.imports.notes import ImportNotes
from headish.values.limits import MAPPING_LIMIT_BYTES
from headish.values.names import RESERVED, new_refusal
from headish.values.shapes import heal

HEALED = "lone surrogates became U+FFFD"
SPELLED = "numbers that are too large became text"
HIDDEN = "<hidden: it looked like a key>"
"""In angle brackets, because ``secrecy`` does not take a text in them for a key."""
NAME_CHARACTERS = 48
# Below the limit of a mapping, because the format's name is added around them, and sizes are estimates.
META_BYTES = MAPPING_LIMIT_BYTES - 4096
"""The most bytes of a source's own fields that are kept with a message."""
_APART = re.compile(r"[\s/…“”„«»" + re.escape(RESERVED) + r"\"'`<>|*?!,;()\[\]]+")


class NotJson(ValueError):
    """Bytes that are not JSON; the message says why."""


class _Numbers:
    """Reads the numbers of a JSON text; one that no store holds stays text."""

    def __init__(self) -> None:
        self.spelled = False

    def read_float(self, text: str) -> float | str:
        return value if isfinite(value := float(text)) else self._spell(text)

    def read_integer(self, text: str) -> int | str:
        return int(text) if len(text) < INTEGER_DIGITS else self._spell(text)

    def _spell(self, text: str) -> str:
        self.spelled = True
        return text


def decode(data: bytes) -> tuple[Any, tuple[str, ...]]:
    """Return the value of a JSON text, and what in it could not be kept as it was: ``HEALED``, ``SPELLED``.

    Raises: NotJson.
    """
    try:
        return msgspec.json.decode(data), ()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass  # a lone surrogate or a huge number, which other programs write, or no JSON at all
    numbers = _Numbers()
    try:
        # As UTF-8: from bytes, ``json`` would guess at UTF-16. The standard library reads lone surrogates, msgspec not.
        text = data.decode("utf-8", "surrogatepass")
        read = json.loads(text, parse_constant=_refuse, parse_float=numbers.read_float, parse_int=numbers.read_integer)
        value = heal(read)
        return value, (*([HEALED] if value != read else ()), *([SPELLED] if numbers.spelled else ()))
    except json.JSONDecodeError as error:
        raise NotJson(f"it is not JSON: {error.msg}, character {error.pos + 1}") from None
    except RecursionError:
        raise NotJson("it is nested too deep") from None
    except ValueError as error:
        raise NotJson(f"it is not JSON: {error}") from None


def decode_noted(data: bytes, notes: ImportNotes, where: str) -> Any:
    """``decode``, and note what could not be kept as it was. Raises: NotJson."""
    value, changes = decode(data)
    for change in changes:
        notes.change(where, change)
    return value


def is_json(data: bytes, kind: type = object) -> bool:
    """Whether bytes are JSON, and their value is of a type."""
    try:
        return isinstance(decode(data)[0], kind)
    except NotJson:
        return False


def without_secrets(meta: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return a mapping with everything that looks like a secret key hidden, and whether anything was: no key gets into
    a database."""
    if find_secret(meta, "$") is None:
        return dict(meta), False
    return _hide(meta, ""), True


def within_limit(meta: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return a mapping that is small enough to keep, and the names of the values that were dropped for it, largest
    first."""
    kept, gone = dict(meta), []
    # 100 for the key and the signs around a value, an estimate.
    sizes = {key: len(msgspec.json.encode(value)) + 100 for key, value in kept.items()}
    size_bytes = sum(sizes.values())
    # Sorted once: a message may have a hundred thousand keys.
    for largest in sorted(sizes, key=lambda key: -sizes[key]) if size_bytes > META_BYTES else ():
        if size_bytes <= META_BYTES:
            break
        size_bytes -= sizes[largest]
        del kept[largest]
        gone.append(largest)
    return kept, gone


def name_from(title: str) -> str | None:
    """Make a bookmark's name from a title: lower case, words joined by hyphens; None if nothing of the title is allowed
    in a name."""
    # Equal titles must give equal names, however their program composed accents.
    text = unicodedata.normalize("NFC", title).lower()
    text = "".join(" " if unicodedata.category(each) in ("Cc", "Cf", "Cs", "Co", "Cn") else each for each in text)
    name = re.sub(r"\.{2,}", ".", _APART.sub("-", text)).strip("-.")
    if len(name) > NAME_CHARACTERS:
        # Cut between words, unless that would leave less than half of the name.
        cut = name[: NAME_CHARACTERS + 1]
        name = (cut.rpartition("-")[0] if "-" in cut[NAME_CHARACTERS // 2 :] else cut[:-1]).strip("-.")
    return name if name and new_refusal(name) is None else None


def _hide(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return {(HIDDEN if find_secret(key, "$") else key): _hide(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [_hide(item, name) for item in value]
    return HIDDEN if isinstance(value, str) and find_secret({name: value}, "$") else value


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")
