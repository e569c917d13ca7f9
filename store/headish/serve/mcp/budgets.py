"""Keep a result small enough for clients: at most 24,000 characters as sent, and a cursor for the rest.

Claude Code refuses a result of more than 25,000 tokens as a whole. The text of a result is a JSON string inside the
answer, so its quotes and backslashes count twice: this module measures it as it is sent.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from headish.errors import InvalidArgument
from headish.serve.mcp.quoting import NOTE

BUDGET = 24_000
"""The most characters of a result, as sent."""
_CURSOR_ROOM = 200  # for "truncated" and the cursor, whose length is known only at the end
NO_CURSOR = "cursor is what a result gave: leave it out for the beginning"
_LEAST = 200
"""A text is begun only if at least this many of its characters fit."""


class ResultCursor(Struct, frozen=True, array_like=True):
    """The place at which a result continues: the number of an item, and of a character in its text."""

    item: int = 0
    character: int = 0


def read_cursor(text: str | None) -> ResultCursor:
    """Read a cursor that a result gave; without one, the beginning. Raises: InvalidArgument."""
    if not text:
        return ResultCursor()
    try:
        # Always two signs of padding: the decoder ignores those that are too many.
        result_cursor = msgspec.json.decode(urlsafe_b64decode(text.encode() + b"=="), type=ResultCursor)
    except (ValueError, msgspec.MsgspecError):
        raise InvalidArgument(NO_CURSOR) from None
    if result_cursor.item < 0 or result_cursor.character < 0:
        raise InvalidArgument(NO_CURSOR)
    return result_cursor


def write_cursor(cursor: ResultCursor) -> str:
    """Write a cursor for a result."""
    return urlsafe_b64encode(msgspec.json.encode(cursor)).decode().rstrip("=")


def fit(
    items: Sequence[dict[str, Any]], start: ResultCursor, *, more: bool = False, name: str = "items", **further: Any
) -> str:
    """Write the JSON text of a result with as many items as fit, from ``start`` on. ``more``: further items exist
    after them. A text that does not fit is cut and marked; the cursor then leads into it.
    """
    fitting: list[dict[str, Any]] = []
    room = BUDGET - _sent({"note": NOTE, name: [], **further}) - _CURSOR_ROOM
    following: ResultCursor | None = None
    for number in range(start.item, len(items)):
        item = _from(items[number], start.character if number == start.item else 0)
        size = _sent(item) + 2
        if size > room:
            cut = _cut(item, room)
            character = start.character if number == start.item else 0
            if cut is None and fitting:
                following = ResultCursor(number, character)
            else:
                part = cut or {**item, "text": "", "cut": True}
                fitting.append(part)
                following = ResultCursor(number, character + len(part.get("text", "")))
                if cut is None:  # nothing of it can be shown; without a step on, the next call would meet it again
                    following = ResultCursor(number + 1)
            break
        fitting.append(item)
        room -= size
    if following is None and more:
        following = ResultCursor(len(items))
    continuation = {"truncated": True, "cursor": write_cursor(following)} if following else {"truncated": False}
    return json.dumps({"note": NOTE, **further, name: fitting, **continuation}, ensure_ascii=False)


def _from(item: dict[str, Any], character: int) -> dict[str, Any]:
    if not character or "text" not in item:
        return item
    return {**item, "text": item["text"][character:], "continued": True}


def _cut(item: dict[str, Any], room: int) -> dict[str, Any] | None:
    """Cut the text of an item so that the item fits; None if fewer than ``_LEAST`` characters would fit."""
    text = item.get("text", "")
    bare = _sent({**item, "text": "", "cut": True}) + 2
    # By halving, since the size of a text as it is sent depends on its quotes and backslashes.
    low, high = 0, min(len(text), max(0, room - bare))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if bare + _sent(text[:middle]) <= room else (low, middle - 1)
    return {**item, "text": text[:low], "cut": True} if low >= _LEAST else None


def _sent(value: Any) -> int:
    """How many characters a value takes as sent: as JSON, inside the JSON string of a result."""
    return len(json.dumps(json.dumps(value, ensure_ascii=False), ensure_ascii=False)) - 2
