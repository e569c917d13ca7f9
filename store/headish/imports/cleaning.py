"""Clean what other programs wrote: repair half characters, remove keys from settings, make names of titles.

An import does not refuse a conversation for what its program let through. Each repair is noted.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

import msgspec

from headish.content.secrecy import find_secret
from headish.values.limits import MAPPING_LIMIT_BYTES
from headish.values.names import RESERVED, new_refusal
from headish.values.shapes import heal

HIDDEN = "<hidden: it looked like a key>"
"""Angle brackets: what stands in them is taken for no key (``secrecy``)."""
NAME_CHARACTERS = 48
META_BYTES = MAPPING_LIMIT_BYTES - 4096
"""So much of what a source says beside a message is kept with it, at the most."""
_APART = re.compile(r"[\s/…“”„«»" + re.escape(RESERVED) + r"\"'`<>|*?!,;()\[\]]+")


class NotJson(ValueError):
    """Bytes that are not JSON; the message says why."""


def decode(data: bytes) -> tuple[Any, bool]:
    """The value of a JSON text, and whether a lone surrogate in it was replaced by U+FFFD. Raises: NotJson."""
    try:
        return msgspec.json.decode(data), False
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass  # a lone surrogate, which other programs write, or no JSON at all
    try:
        # As UTF-8: from bytes, it would guess at UTF-16.
        return heal(json.loads(data.decode("utf-8", "surrogatepass"), parse_constant=_refuse)), True
    except json.JSONDecodeError as error:
        raise NotJson(f"it is not JSON: {error.msg}, character {error.pos + 1}") from None
    except RecursionError:
        raise NotJson("it is nested too deep") from None
    except ValueError as error:
        raise NotJson(f"it is not JSON: {error}") from None


def without_secrets(meta: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """A mapping in which what looks like a key is hidden, and whether anything was: no key gets into a database."""
    if find_secret(meta, "$") is None:
        return dict(meta), False
    return _hide(meta, ""), True


def within_limit(meta: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A mapping that is small enough to be kept, and the keys of the values that were too large for it."""
    kept, gone = dict(meta), []
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
    """A bookmark's name from a title: lower case, words joined by hyphens; None where nothing of it can stay."""
    text = unicodedata.normalize("NFC", title).lower()
    text = "".join(" " if unicodedata.category(each) in ("Cc", "Cf", "Cs", "Co", "Cn") else each for each in text)
    name = re.sub(r"\.{2,}", ".", _APART.sub("-", text)).strip("-.")
    if len(name) > NAME_CHARACTERS:
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
    raise ValueError(f"{name} is no JSON value")
