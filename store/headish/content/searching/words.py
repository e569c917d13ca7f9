"""The words of a text, as an index holds them and a search looks for them.

A word is a run of letters and digits, in lower case and without accents. Scripts that put no blanks between words
(Chinese, Japanese, Thai …), and Korean, are cut into overlapping pairs of characters, so that a question may begin and
end anywhere. The last character of such a run is a word of its own, so that every character begins one. Terminal
control sequences are not words (``sequences``).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from headish.content.searching.sequences import ESCAPE, places_without, without_sequences

WORDS_VERSION = 3
"""The version of the words in an index. An index of another version is rebuilt: increase it with every change here."""

WORD_CHARACTERS = 64
"""A longer word is cut in the index, since databases limit the length of a word. The check of a hit sees it whole."""

REMEMBERED = 64
"""The words of a longer run are not cached: it may be a book without a blank."""

ASCII = bytes(
    each + 32 if 65 <= each <= 90 else each if bytes([each]).isalnum() and each < 128 else 32 for each in range(256)
)
"""For ``bytes.translate``: ASCII in lower case, with a blank for all that is neither letter nor digit."""
# Marks inside a word, then the joiners and the soft hyphen: all are left out of the word.
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f"
    "\u00ad\u200c\u200d"
)
# Scripts without blanks between words, or with vowel signs that Python does not count as letters.
_PAIRED = (
    "\u0900-\u0963\u0966-\u0e4e\u0e50-\u0e59\u0e80-\u0f03\u0f18-\u1049\u1050-\u109f\u1100-\u11ff\u1700-\u17d3"
    "\u17dc-\u17ff\u1900-\u1aad\u1b00-\u1bff\u3005-\u3007\u3021-\u302f\u3031-\u3035\u3041-\u309f\u30a1-\u30fa"
    "\u30fc-\u318f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua880-\uabff\uac00-\ud7ff"
    "\uf900-\ufaff\uff66-\uffdc\U0001b000-\U0001b2ff\U00020000-\U0003ffff"
)
_RUN = re.compile(f"[\\w{_MARKS}{_PAIRED}]+")
_PARTS = re.compile(f"([{_PAIRED}]+)|[^{_PAIRED}]+")
# To find long words: with all letters mapped to one byte, searching for a run of it is faster than any pattern.
_ONE_LETTER = bytes(32 if each == 32 else 120 for each in ASCII)
_TOO_LONG = b"x" * (WORD_CHARACTERS + 1)
_PAIRED_ALONE = re.compile(f"[{_PAIRED}]")
# Unicode writes 2½ as 21/2 once it is normalised: a fraction begins a word.
_FRACTIONS = re.compile("[\u00bc-\u00be\u2150-\u215f\u2189]")


def words_of(text: str) -> list[str]:
    """The words of a text in their order. Linear: some 5 µs for each KB of ASCII."""
    text = without_sequences(text)
    if text.isascii():
        return text.encode().translate(ASCII).decode().split()
    words: list[str] = []
    # The pattern's ``\w`` has the underscore, which separates words in ASCII.
    for run in _RUN.findall(text.replace("_", " ")):
        if run.isascii():
            words.append(run.lower())
        elif len(run) <= REMEMBERED:
            words += _words_of_run(run)
        else:
            words += _cut_run(run)
    return words


def signed_words(text: str, sign: str) -> str:
    """The words of a text, each cut and prefixed with ``sign``, separated by blanks; faster than ``words_of``."""
    if not text.isascii():
        words = [word[:WORD_CHARACTERS] for word in words_of(text)]
        return sign + f" {sign}".join(words) if words else ""
    encoded = without_sequences(text).encode()
    cut = encoded.translate(ASCII).split()
    if _TOO_LONG in encoded.translate(_ONE_LETTER):
        cut = [word[:WORD_CHARACTERS] for word in cut]
    return sign + f" {sign}".encode().join(cut).decode() if cut else ""


def portions_of(text: str, characters: int) -> Iterator[str]:
    """Yield a text in portions of at most ``characters``, or up to the next blank. No word is cut in two."""
    start = 0
    while len(text) - start > characters:
        end = text.rfind(" ", start, start + characters) + 1
        end = end or text.find(" ", start + characters) + 1
        if not end:
            break
        yield text[start:end]
        start = end
    yield text[start:]


def spans_of(text: str) -> tuple[list[str], list[int], list[int]]:
    """The words of a text, and where each begins and ends. For display: it is slower than ``words_of``."""
    if ESCAPE not in text:
        return _spans_of(text)
    places = places_without(text)
    words, starts, ends = _spans_of(without_sequences(text))
    return words, [places[start] for start in starts], [places[end - 1] + 1 for end in ends]


def _spans_of(text: str) -> tuple[list[str], list[int], list[int]]:
    words: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for run in _RUN.finditer(text.replace("_", " ")):
        start, end = run.span()
        if run[0].isascii():
            words.append(run[0].lower())
            starts.append(start)
            ends.append(end)
            continue
        for part in _PARTS.finditer(run[0]):
            low, high = start + part.start(), start + part.end()
            part_words = _words_of_part(part[0], part[1] is not None)
            # A word that changes when it is normalised has no exact place: it gets the range of the whole run.
            exact = part[1] is not None and len(part_words) == high - low
            words += part_words
            starts += [low + index if exact else low for index in range(len(part_words))]
            ends += [min(low + index + 2, high) if exact else high for index in range(len(part_words))]
    return words, starts, ends


def asked_words(text: str) -> tuple[tuple[str, ...], bool]:
    """The words of a question, and whether the last of them may go on.

    A run of paired characters at the end may continue in the text that is found, so its last character is not a word of
    its own here; a single one is the beginning of a pair.
    """
    words = words_of(text)
    if not words or len(words[-1]) != 1 or _PAIRED_ALONE.match(words[-1]) is None:
        return tuple(words), False
    if len(words) > 1 and len(words[-2]) == 2 and words[-2][1] == words[-1] and _PAIRED_ALONE.match(words[-2]):
        return tuple(words[:-1]), False
    return tuple(words), True


@lru_cache(maxsize=65536)
def _words_of_run(run: str) -> tuple[str, ...]:
    return tuple(_cut_run(run))


def _cut_run(run: str) -> Iterator[str]:
    for part in _PARTS.finditer(run):
        yield from _words_of_part(part[0], part[1] is not None)


def _words_of_part(part: str, paired: bool) -> list[str]:
    if part.isascii():
        return [part.lower()]
    if paired:
        folded = unicodedata.normalize("NFKC", part).casefold()
        letters = "".join(each for each in folded if each.isalnum() or unicodedata.category(each)[0] == "M")
        return [*(letters[index : index + 2] for index in range(len(letters) - 1)), *letters[-1:]]
    folded = unicodedata.normalize("NFKD", _FRACTIONS.sub(r" \g<0>", part)).casefold()
    # Marks and joiners are dropped. Any other character that is not a letter, like the stroke of a fraction, separates
    # words.
    letters = "".join(
        each if each.isalnum() else "" if unicodedata.category(each)[0] in "MC" else " " for each in folded
    )
    return unicodedata.normalize("NFC", letters).split()
