"""The pieces in which a client sends an answer back: google-genai's chats send each chunk of a stream as a content.

Cuts tell how to take an answer apart that is written as one content. They are lengths and hold no words: for each piece
a list with a number for each of its parts. ``REST`` is all that is left of the answer's next part, 0 an empty text
beside the answer, and any other number so many characters of the next part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from headish.content.forms.layout import misfit

Cuts = list[list[int]]
REST = -1
_OF_TEXT = frozenset(("text", "thought"))


def find_cuts(parts: Sequence[Mapping[str, Any]], given: Iterable[Any]) -> Cuts | None:
    """The cuts that make ``parts`` the first contents of ``given``; None if those say something else. Empty texts that
    follow belong to it."""
    cutting, cuts = _Cutting(parts), Cuts()
    for content in given:
        was_whole = cutting.is_whole
        numbers = cutting.take(content)
        if numbers is None:
            return cuts if was_whole and cuts else None
        cuts.append(numbers)
    return cuts if cutting.is_whole and cuts else None


def cut(content: Mapping[str, Any], cuts: Cuts) -> list[Any]:
    """A content in pieces. Raises: InvalidContent if the cuts do not fit."""
    pieces = _pieces(content["parts"], (number for numbers in cuts for number in numbers))
    try:
        return [{**content, "parts": list(islice(pieces, len(numbers)))} for numbers in cuts]
    except (KeyError, IndexError, TypeError, ValueError):
        raise misfit() from None


class _Cutting:
    """Goes along the parts of an answer, piece by piece."""

    def __init__(self, parts: Sequence[Mapping[str, Any]]) -> None:
        self._parts, self._at, self._taken = parts, 0, 0

    @property
    def is_whole(self) -> bool:
        return self._at == len(self._parts)

    def take(self, content: Any) -> list[int] | None:
        """The numbers of the next content; None if it does not go on with the answer."""
        parts = content.get("parts") if isinstance(content, Mapping) and content.get("role") == "model" else None
        if not isinstance(parts, list):
            return None
        numbers: list[int] = []
        for part in parts:
            number = self._take(part) if isinstance(part, Mapping) else None
            if number is None:
                return None
            numbers.append(number)
        return numbers

    def _take(self, part: Mapping[str, Any]) -> int | None:
        text = part.get("text")
        if text == "" and part.keys() <= _OF_TEXT:
            return 0
        if self.is_whole:
            return None
        written = self._parts[self._at]
        whole = written.get("text")
        if isinstance(text, str) and isinstance(whole, str):
            if not whole.startswith(text, self._taken):
                return None
            if self._taken + len(text) < len(whole):
                self._taken += len(text)
                return len(text) or None
        elif isinstance(text, str) or isinstance(whole, str):
            return None
        self._at, self._taken = self._at + 1, 0
        return REST


def _pieces(parts: Sequence[Mapping[str, Any]], numbers: Iterable[int]) -> Iterator[Mapping[str, Any]]:
    at = taken = 0
    kind: dict[str, Any] = {}
    for number in numbers:
        if number:
            kind = {key: parts[at][key] for key in ("thought",) if key in parts[at]}
        if number == 0:
            yield {"text": "", **kind}
        elif number == REST:
            yield {**parts[at], "text": parts[at]["text"][taken:]} if taken else parts[at]
            at, taken = at + 1, 0
        else:
            yield {"text": parts[at]["text"][taken : taken + number], **kind}
            taken += number
