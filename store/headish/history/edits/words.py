"""Compare two texts word by word, and match the parts of two sequences, in bounded time.

The standard library's matcher takes quadratic time or more for long sequences of a few different elements. So it gets
short stretches only: the common beginning and end are set aside; then every element that occurs once on each side, and
in the same order on both, is an anchor; and the matcher compares what is between the anchors. A stretch that is still
too long counts as replaced as a whole.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Literal, NamedTuple

from headish.values.results.plain import PlainResult

STRETCH_LIMIT = 20_000
"""The largest stretch for the matcher: the product of the lengths of both sides."""
WORK_LIMIT = 1_000_000
"""The sum of these products that one pair of sequences may take."""
WORDS_LIMIT = 200_000
"""Replaced lines of up to this many characters are compared word by word; longer ones count as replaced as a whole."""

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
# Numbers with their decimal signs, words with combining marks, and characters of scripts without blanks one by one.
_TOKEN = re.compile(
    rf"[{_CJK}]|[0-9]+(?:[.,][0-9]+)+|(?:(?![{_CJK}])[\w\u0300-\u036f\u200d])+|\n|[^\S\n]+|.", re.DOTALL
)


class Piece(PlainResult, frozen=True):
    """A piece of text: in both texts (``same``), or in only one of them. Removed pieces come before added ones."""

    kind: Literal["same", "removed", "added"]
    text: str


class Alike(NamedTuple):
    """Elements ``low`` to ``high`` of one sequence, and the elements of the other that correspond; ``is_same`` if they
    are equal."""

    is_same: bool
    low: int
    high: int
    other_low: int
    other_high: int


def diff_words(before: str, after: str) -> tuple[Piece, ...]:
    """The pieces of two texts, in order. All but the added ones joined are the first text; all but the removed ones,
    the second.

    Characters of Chinese, Japanese and Korean count as words.
    """
    first, last = _shared_ends(before, after)
    one, other = before[first : len(before) - last], after[first : len(after) - last]
    pieces = [Piece("same", before[:first]), *_inner_pieces(one, other), Piece("same", before[len(before) - last :])]
    return tuple(_joined(_without_gaps([piece for piece in pieces if piece.text])))


def _inner_pieces(before: str, after: str) -> Iterator[Piece]:
    """The pieces of two texts: by lines first, then by the words of the lines that differ."""
    one, other = before.splitlines(keepends=True), after.splitlines(keepends=True)
    for stretch in align(one, other):
        lines, others = _texts(stretch, one, other)
        if stretch.is_same or max(len(lines), len(others)) > WORDS_LIMIT:
            yield from _pieces(stretch, one, other)
            continue
        words, other_words = _TOKEN.findall(lines), _TOKEN.findall(others)
        for each in align(words, other_words):
            yield from _pieces(each, words, other_words)


def align(one: Sequence[Hashable], other: Sequence[Hashable]) -> list[Alike]:
    """Find the parts of two sequences that correspond, in order. Cost: about n log n for the length n, bounded."""
    parts: list[Alike] = []
    work = WORK_LIMIT
    anchors = [(-1, -1), *_anchors(one, other), (len(one), len(other))]
    for (low, other_low), (high, other_high) in pairwise(anchors):
        if low >= 0:
            parts.append(Alike(True, low, low + 1, other_low, other_low + 1))
        gap = Alike(False, low + 1, high, other_low + 1, other_high)
        size = (gap.high - gap.low) * (gap.other_high - gap.other_low)
        is_small = size <= min(STRETCH_LIMIT, work)
        work -= size if is_small else 0
        parts += _match(one, other, gap) if is_small else _trimmed(one, other, gap)
    return _merged(parts)


def count_words(texts: Iterable[str]) -> int:
    """Count the words of texts: the parts between blanks and punctuation."""
    return sum(token[0].isalnum() for text in texts for token in _TOKEN.findall(text))


def _shared_ends(before: str, after: str) -> tuple[int, int]:
    """The number of characters that two texts share at the beginning, and after those at the end, each up to a
    blank."""
    limit = min(len(before), len(after))
    first = _shared(before, after, limit, at_end=False)
    if first < max(len(before), len(after)):
        # Back to the last blank, so that a word which changed in its middle is compared as a whole.
        first = before.rfind(" ", 0, first) + 1
    last = _shared(before, after, limit - first, at_end=True)
    if last < max(len(before), len(after)) - first:
        blank = before.find(" ", len(before) - last)
        last = 0 if blank < 0 else len(before) - blank
    return first, last


def _shared(before: str, after: str, limit: int, *, at_end: bool) -> int:
    # Bisect with slices, which compare in C; a text may have a hundred million characters, too many for a loop.
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if at_end:
            is_shared = (
                before[len(before) - middle : len(before) - low] == after[len(after) - middle : len(after) - low]
            )
        else:
            is_shared = before[low:middle] == after[low:middle]
        low, high = (middle, high) if is_shared else (low, middle - 1)
    return low


def _anchors(one: Sequence[Hashable], other: Sequence[Hashable]) -> list[tuple[int, int]]:
    """The places of elements that occur once on each side: the longest series that has the same order on both."""
    counts, others = Counter(one), Counter(other)
    places = {element: index for index, element in enumerate(other) if others[element] == 1}
    pairs = [(index, places[each]) for index, each in enumerate(one) if counts[each] == 1 and each in places]
    return _longest_rise(pairs)


def _longest_rise(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest series of pairs whose second numbers rise."""
    ends: list[int] = []
    at: list[int] = []
    before: list[int] = []
    for index, (_, second) in enumerate(pairs):
        # Patience sorting: `ends[n]` is the smallest end of any rising series of n + 1 pairs so far.
        place = bisect_left(ends, second)
        ends[place : place + 1], at[place : place + 1] = [second], [index]
        before.append(at[place - 1] if place else -1)
    rise: list[tuple[int, int]] = []
    index = at[-1] if at else -1
    while index >= 0:
        rise.append(pairs[index])
        index = before[index]
    return rise[::-1]


def _match(one: Sequence[Hashable], other: Sequence[Hashable], gap: Alike) -> Iterator[Alike]:
    _, low, high, other_low, other_high = gap
    # `autojunk` would ignore frequent elements of long sequences, such as blanks and common words.
    matcher = SequenceMatcher(None, one[low:high], other[other_low:other_high], autojunk=False)
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        yield Alike(tag == "equal", low + start, low + end, other_low + other_start, other_low + other_end)


def _trimmed(one: Sequence[Hashable], other: Sequence[Hashable], gap: Alike) -> Iterator[Alike]:
    """A gap that is too long for the matcher: its common beginning and end, and the rest as replaced."""
    _, low, high, other_low, other_high = gap
    shorter = min(high - low, other_high - other_low)
    first = next((index for index in range(shorter) if one[low + index] != other[other_low + index]), shorter)
    remaining = shorter - first
    last = next(
        (index for index in range(remaining) if one[high - 1 - index] != other[other_high - 1 - index]), remaining
    )
    yield Alike(True, low, low + first, other_low, other_low + first)
    yield Alike(False, low + first, high - last, other_low + first, other_high - last)
    yield Alike(True, high - last, high, other_high - last, other_high)


def _merged(stretches: Iterable[Alike]) -> list[Alike]:
    merged: list[Alike] = []
    for each in stretches:
        if each.low == each.high and each.other_low == each.other_high:
            continue
        if merged and merged[-1].is_same == each.is_same:
            merged[-1] = merged[-1]._replace(high=each.high, other_high=each.other_high)
        else:
            merged.append(each)
    return merged


def _pieces(stretch: Alike, one: Sequence[str], other: Sequence[str]) -> Iterator[Piece]:
    before, after = _texts(stretch, one, other)
    if stretch.is_same:
        yield Piece("same", before)
        return
    if before:
        yield Piece("removed", before)
    if after:
        yield Piece("added", after)


def _texts(stretch: Alike, one: Sequence[str], other: Sequence[str]) -> tuple[str, str]:
    return "".join(one[stretch.low : stretch.high]), "".join(other[stretch.other_low : stretch.other_high])


def _without_gaps(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Count a blank between two changed words as changed, so that the words are read together."""
    for index, piece in enumerate(pieces):
        inside = 0 < index < len(pieces) - 1
        if piece.kind == "same" and inside and piece.text.isspace() and "\n" not in piece.text:
            yield Piece("removed", piece.text)
            yield Piece("added", piece.text)
        else:
            yield piece


def _joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Join neighbours of one kind; between two same pieces, put everything removed before everything added."""
    changed: dict[str, list[str]] = {"removed": [], "added": []}
    same: list[str] = []
    for piece in pieces:
        if piece.kind == "same":
            yield from _flushed(changed)
            same.append(piece.text)
            continue
        if same:
            yield Piece("same", "".join(same))
            same.clear()
        changed[piece.kind].append(piece.text)
    if same:
        yield Piece("same", "".join(same))
    yield from _flushed(changed)


def _flushed(changed: dict[str, list[str]]) -> Iterator[Piece]:
    removed, added = "".join(changed["removed"]), "".join(changed["added"])
    changed["removed"].clear()
    changed["added"].clear()
    if removed:
        yield Piece("removed", removed)
    if added:
        yield Piece("added", added)
