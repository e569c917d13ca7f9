"""Check the fields of a conversation's record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import UnsetType

from headish.content import strictjson
from headish.errors import InvalidArgument, shown
from headish.values.limits import KEY_LIMIT_BYTES, TAGS_LIMIT, TITLE_LIMIT

_decode_mapping = msgspec.json.Decoder(dict[str, Any]).decode


def check_changes(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Check new values of a record; unset ones are left out. Raises: InvalidArgument, InvalidContent."""
    return {name: CHECKS[name](value) for name, value in changes.items() if not isinstance(value, UnsetType)}


def check_key(given: object) -> str | None:
    """Check the key of a conversation; None removes it. Raises: InvalidArgument."""
    if given is None:
        return None
    text = _check_text("key", given, KEY_LIMIT_BYTES)
    if not text or len(text.encode()) > KEY_LIMIT_BYTES:
        raise InvalidArgument(f"the key of a conversation is text of 1 to {KEY_LIMIT_BYTES:,} bytes")
    return text


def _check_title(given: object) -> str:
    return "" if given is None else _check_text("title", given, TITLE_LIMIT)


def _check_tags(given: object) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidArgument(f"tags are a list of texts, not {type(given).__name__}")
    tags = tuple(dict.fromkeys(_check_text("tag", each, TITLE_LIMIT) for each in given))
    if len(tags) > TAGS_LIMIT or "" in tags:
        raise InvalidArgument(f"a conversation has at most {TAGS_LIMIT} tags, and none is empty")
    return tags


def _check_flag(given: object) -> bool:
    if not isinstance(given, bool):
        raise InvalidArgument(f"archived and pinned are True or False, not {shown(given)}")
    return given


def _check_app(given: object) -> Mapping[str, Any]:
    if given is not None and not isinstance(given, Mapping):
        raise InvalidArgument(f"app is a mapping, not {type(given).__name__}")
    # Encoded and decoded: callers may change the mapping that they gave, and JSON may turn a tuple into a list.
    return _decode_mapping(strictjson.encode_mapping(given or {}, "app"))


def _check_text(what: str, given: object, limit: int) -> str:
    if not isinstance(given, str) or len(given) > limit:
        raise InvalidArgument(f"the {what} of a conversation is text of at most {limit:,} characters")
    strictjson.check_text(given, what)
    return str.__str__(given)


CHECKS = {
    "title": _check_title,
    "tags": _check_tags,
    "archived": _check_flag,
    "pinned": _check_flag,
    "key": check_key,
    "app": _check_app,
}
