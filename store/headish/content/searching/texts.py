"""Match phrases in a text: whether it contains them, how often, and where.

Most texts are ASCII and are not cut into words: their bytes in lower case, with a blank for all that is neither letter
nor digit, are searched as they are. This takes a µs for each KB; cutting takes ten times as long. A phrase is not
compiled into a pattern: most questions are asked once, and compiling takes longer than searching a hundred texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from headish.content.searching.questions import All, Any, Phrase, Question
from headish.content.searching.sequences import ESCAPE
from headish.content.searching.words import ASCII, spans_of, words_of

Span = tuple[int, int]
_NEXT = re.compile(rb"[^ ]").search


class SearchedText:
    """A text, and its words as far as they are needed."""

    __slots__ = ("_ascii", "_words", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        # Each byte must be at the place of its letter, so no text with control sequences, which are left out. A blank
        # at both ends puts every word between blanks; the first one shifts each place by one.
        is_plain = text.isascii() and ESCAPE not in text
        self._ascii = b" %b " % text.encode().translate(ASCII) if is_plain else None
        self._words = [] if self._ascii is not None else words_of(text)

    @property
    def length(self) -> int:
        """The number of words."""
        return len(self._words if self._ascii is None else self._ascii.split())

    def holds(self, phrase: Phrase) -> bool:
        """Whether the phrase occurs in the text."""
        if self._ascii is not None and len(phrase.words) == 1:  # most phrases
            parts = _parts(phrase)
            return parts is not None and parts[0] in self._ascii
        return next(self._find(phrase), None) is not None

    def count(self, phrase: Phrase) -> int:
        """How often the phrase occurs, overlaps included."""
        return sum(1 for _ in self._find(phrase))

    def spans(self, phrases: Sequence[Phrase]) -> list[Span]:
        """The ranges of the phrases in the text, to mark them: the first character, and the one after the last."""
        if self._ascii is not None:
            return [span for phrase in phrases for span in self._find(phrase)]
        words, starts, ends = spans_of(self.text)
        return [(starts[low], ends[high - 1]) for phrase in phrases for low, high in _find_among(phrase, words)]

    def _find(self, phrase: Phrase) -> Iterator[Span]:
        if self._ascii is None:
            return _find_among(phrase, self._words)
        return _find_in(phrase, self._ascii)


def matches(question: Question, texts: Sequence[SearchedText]) -> bool:
    """Whether the texts of a turn together match a question."""
    if isinstance(question, Phrase):
        return any(text.holds(question) for text in texts)
    if isinstance(question, All):
        return all(matches(part, texts) for part in question.parts)
    if isinstance(question, Any):
        return any(matches(part, texts) for part in question.parts)
    return matches(question.kept, texts) and not matches(question.left, texts)


def _find_in(phrase: Phrase, written: bytes) -> Iterator[Span]:
    """Find the phrase in ASCII text that has a blank at both ends. The places do not count the first blank."""
    parts = _parts(phrase)
    if parts is None:
        return
    first, *others = parts
    at = written.find(first)
    while at >= 0:
        # A whole word was found with its blank; for a beginning, look for the end of the word.
        end = written.find(b" ", at + len(first) - 1)
        if others:
            end = _go_on(written, end, others)
        if end >= 0:
            yield at, end - 1
        at = written.find(first, at + 1)


@lru_cache(maxsize=1024)
def _parts(phrase: Phrase) -> tuple[bytes, ...] | None:
    """The words of a phrase, each with a blank after it unless it may go on, and a blank before the first. None if a
    word is not ASCII, so that no ASCII text contains it."""
    if not all(map(str.isascii, phrase.words)):
        return None
    last = len(phrase.words) - 1
    whole = [word.encode() + (b"" if phrase.open and at == last else b" ") for at, word in enumerate(phrase.words)]
    return (b" " + whole[0], *whole[1:])


def _go_on(written: bytes, end: int, words: Sequence[bytes]) -> int:
    """The end of the last of the words if they follow; -1 if they do not."""
    for word in words:
        match = _NEXT(written, end)
        if match is None or not written.startswith(word, match.start()):
            return -1
        end = written.find(b" ", match.start() + len(word) - 1)
    return end


def _find_among(phrase: Phrase, words: list[str]) -> Iterator[Span]:
    """Find the phrase in a list of words; the places are numbers of words."""
    *first, last = phrase.words
    if not first:
        yield from ((at, at + 1) for at, word in enumerate(words) if _ends(phrase, word, last))
        return
    at, end = -1, len(words) - len(first)
    try:
        while True:
            at = words.index(first[0], at + 1)
            if at < end and words[at : at + len(first)] == first and _ends(phrase, words[at + len(first)], last):
                yield at, at + len(phrase.words)
    except ValueError:
        return


def _ends(phrase: Phrase, word: str, last: str) -> bool:
    return word.startswith(last) if phrase.open else word == last
