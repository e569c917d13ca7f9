"""A text that is asked for phrases: whether it holds them, how often, and where.

ASCII, as most texts are, is not cut into words for that. Its bytes in lower case, with a blank for all that is neither
letter nor digit, are searched as they stand: a few µs for each KB, where cutting takes ten times as long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from headish.content.searching.questions import All, Any, Phrase, Question
from headish.content.searching.sequences import ESCAPE
from headish.content.searching.words import ASCII, WORD_CHARACTERS, spans_of, words_of

Span = tuple[int, int]
_BEGINNING = b"[^ ]*"


class Body:
    """A text, and its words as far as they are asked for."""

    __slots__ = ("_ascii", "_words", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        # Bytes stand where their letters do, which holds for no text with something left out.
        is_plain = text.isascii() and ESCAPE not in text
        self._ascii = text.encode().translate(ASCII) if is_plain else None
        self._words = [] if self._ascii is not None else words_of(text)

    @property
    def length(self) -> int:
        """How many words it has."""
        return len(self._words if self._ascii is None else self._ascii.split())

    def holds(self, phrase: Phrase) -> bool:
        """Whether the phrase stands in it."""
        return next(self._find(phrase), None) is not None

    def count(self, phrase: Phrase) -> int:
        """How often the phrase stands in it, one over the other too."""
        return sum(1 for _ in self._find(phrase))

    def spans(self, phrases: Sequence[Phrase]) -> list[Span]:
        """Where the phrases stand in the text: from, and to, left out. For what is shown."""
        if self._ascii is not None:
            return [span for phrase in phrases for span in self._find(phrase)]
        words, starts, ends = spans_of(self.text)
        return [(starts[low], ends[high - 1]) for phrase in phrases for low, high in _find_among(phrase, words)]

    def _find(self, phrase: Phrase) -> Iterator[Span]:
        if self._ascii is None:
            return _find_among(phrase, self._words)
        return _find_in(phrase, self._ascii)


def matches(question: Question, texts: Sequence[Body]) -> bool:
    """Whether texts together are what a question asks for."""
    if isinstance(question, Phrase):
        return any(text.holds(question) for text in texts)
    if isinstance(question, All):
        return all(matches(part, texts) for part in question.parts)
    if isinstance(question, Any):
        return any(matches(part, texts) for part in question.parts)
    return matches(question.kept, texts) and not matches(question.left, texts)


def _find_in(phrase: Phrase, written: bytes) -> Iterator[Span]:
    pattern = _pattern(phrase)
    found = None if pattern is None else pattern.search(written)
    while pattern is not None and found is not None:
        yield found.span()
        found = pattern.search(written, found.start() + 1)


@lru_cache(maxsize=1024)
def _pattern(phrase: Phrase) -> re.Pattern[bytes] | None:
    """None where ASCII holds no such words."""
    if not all(word.isascii() for word in phrase.words):
        return None
    last = len(phrase.words) - 1
    # A word of the greatest length may be the beginning of a longer one, which was cut.
    goes_on = [len(word) == WORD_CHARACTERS or (phrase.open and at == last) for at, word in enumerate(phrase.words)]
    first, *others = [word.encode() for word in phrase.words]
    # Known bytes lead, which are found fast; what stands before them is looked at only then.
    parts = [b"%b(?<![^ ]%b)" % (first, first), *others]
    said = [part + _BEGINNING if open else part for part, open in zip(parts, goes_on, strict=True)]
    return re.compile(b" +".join(said) + b"(?![^ ])")


def _find_among(phrase: Phrase, words: list[str]) -> Iterator[Span]:
    """By the numbers of the words."""
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
