"""Messages of Responses with several texts, or an empty one: a form writes each text as a message of its own.

Joins tell which of those are one. They hold no words: for each item None if it is written as it is, or a list with a
number for each text: 1 for the next message, 0 for an empty text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headish.content.forms.layout import TEXT_KEYS, misfit

Joins = list[list[int] | None]


def find_joins(given: Sequence[Any]) -> Joins | None:
    """The joins of the items that a client sent; None if no message has several texts or an empty one."""
    joins = [_count(item) for item in given]
    return joins if any(each is not None for each in joins) else None


def join(written: Sequence[Any], joins: Joins) -> list[Any]:
    """The items of a form, joined. Raises: InvalidContent if the joins do not fit."""
    items = iter(written)
    try:
        joined = [
            next(items) if counts is None else {"role": "assistant", "content": [_part(items, each) for each in counts]}
            for counts in joins
        ]
    except (StopIteration, KeyError, TypeError):
        raise misfit() from None
    if next(items, None) is not None:
        raise misfit()
    return joined


def _count(item: Any) -> list[int] | None:
    parts = item.get("content") if isinstance(item, Mapping) and "role" in item else None
    if not isinstance(parts, list) or not all(isinstance(part, Mapping) for part in parts):
        return None
    texts = [part.get(TEXT_KEYS.get(part.get("type"), "")) for part in parts]
    if not all(isinstance(text, str) for text in texts):
        return None
    counts = [1 if text else 0 for text in texts]
    return None if counts == [1] else counts


def _part(items: Iterator[Any], count: int) -> Any:
    content = next(items)["content"] if count else ""
    return {"type": "output_text", "text": content} if isinstance(content, str) else content[0]
