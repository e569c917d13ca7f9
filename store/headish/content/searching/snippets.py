"""The part of a text that shows why it was found."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from headish.content.searching.questions import Phrase
from headish.content.searching.texts import SearchedText

SNIPPET_CHARACTERS = 160
"""How much of a text is shown around a match."""
_BEFORE = 40
_BLANKS = re.compile(r"\s")
_ONE_BLANK = bytes(32 if chr(each).isspace() else each for each in range(256))
"""A table for ASCII: replacing bytes is ten times as fast as a pattern."""


class Snippet(NamedTuple):
    """A part of a text in one line, and the ranges in it that match."""

    text: str
    marks: tuple[tuple[int, int], ...]


def snippet_of(text: str, phrases: Iterable[Phrase]) -> Snippet:
    """The part of a text with the most matches; its beginning if there are none."""
    marks = _merged(SearchedText(text).spans(list(phrases)))
    low, high = _window(text, marks)
    visible = [(max(start, low) - low, min(end, high) - low) for start, end in marks if start < high and end > low]
    before, behind = "…" if low else "", "…" if high < len(text) else ""
    line = before + _in_one_line(text[low:high]) + behind
    return Snippet(line, tuple((start + len(before), end + len(before)) for start, end in visible))


def _in_one_line(text: str) -> str:
    return text.encode().translate(_ONE_BLANK).decode() if text.isascii() else _BLANKS.sub(" ", text)


def _merged(marks: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The ranges in order; those that touch are one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(marks):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _window(text: str, marks: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The range to cut out: the first window with the most marks, with whole words at both ends."""
    if len(text) <= SNIPPET_CHARACTERS or not marks:
        return 0, _end(text, 0)
    best, most = 0, 0
    ends = [end for _, end in marks]
    for index, (start, _) in enumerate(marks):
        held = bisect_right(ends, start + SNIPPET_CHARACTERS - _BEFORE) - index
        if held > most:
            best, most = start, held
    low = min(max(best - _BEFORE, 0), len(text) - SNIPPET_CHARACTERS)
    if low:
        blank = text.find(" ", low, best)
        low = blank + 1 if blank >= 0 else low
    return low, _end(text, low)


def _end(text: str, low: int) -> int:
    high = low + SNIPPET_CHARACTERS
    if high >= len(text):
        return len(text)
    blank = text.rfind(" ", high - 20, high)  # not further back: a long word would leave half of the snippet empty
    return blank if blank >= 0 else high
