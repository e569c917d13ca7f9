"""Questions: words, phrases, beginnings of words, AND, OR, NOT.

``parse_question`` reads one, and takes what it cannot read as plain words. A question is used twice: an index finds the
turns that may match (``as_match``), and each of them is then checked word for word (``texts``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from headish.content.searching.words import WORD_CHARACTERS, asked_words
from headish.errors import InvalidArgument, shown
from headish.values.limits import QUESTION_LIMIT, QUESTION_WORDS_LIMIT

NESTED = 6
"""How deep parentheses may be nested; deeper ones are taken as plain words. FTS5 reads only a little deeper."""


class Phrase(NamedTuple):
    """Words that follow each other; with ``open`` the last one is the beginning of a word."""

    words: tuple[str, ...]
    open: bool = False


class All(NamedTuple):
    """Every part matches."""

    parts: tuple[Question, ...]


class Any(NamedTuple):
    """One of the parts matches."""

    parts: tuple[Question, ...]


class Without(NamedTuple):
    """``kept`` matches, and ``left`` does not."""

    kept: Question
    left: Question


Question = Phrase | All | Any | Without
EVERYTHING = All(())
"""The question that every turn matches, for a search by filters alone."""
_TOKENS = re.compile(r'"([^"]*)"(\*?)|([()])|([^\s()"]+)')
_OPERATORS = ("AND", "OR", "NOT")


class _Unreadable(Exception):
    """The text is not a question of this grammar."""


def parse_question(text: str) -> Question:
    """Parse a question: ``cats dogs`` (both), ``"cats and dogs"``, ``cat*``, ``cats OR dogs``, ``cats NOT dogs``,
    parentheses. Any other text is taken as words, all of which must occur.

    Raises: InvalidArgument if there is no word in it, or more than a question may have.
    """
    if len(text) > QUESTION_LIMIT:
        raise InvalidArgument(f"a search takes at most {QUESTION_LIMIT:,} characters, not {len(text):,}")
    try:
        question = _QuestionReader(text).read()
    except _Unreadable:
        question = _together([_phrase(each) for each in text.split()])
    if question is None:
        raise InvalidArgument(f"there is no word to search for in {shown(text)}")
    if sum(len(phrase.words) for phrase in _phrases(question, after_not=True)) > QUESTION_WORDS_LIMIT:
        raise InvalidArgument(f"a search takes at most {QUESTION_WORDS_LIMIT} words")
    return question


def phrases_of(question: Question) -> list[Phrase]:
    """The phrases that a turn should contain: all except those after NOT, each once."""
    return list(dict.fromkeys(_phrases(question, after_not=False)))


def as_match(question: Question, beginnings: Sequence[str]) -> str:
    """The question for an index, which finds turns that may match. Each word gets one of the ``beginnings``.

    An index does not know where in a turn a word is, and holds only the beginning of a long word. So this leaves out
    what follows NOT, the order of a phrase's words, and the end of a long word.
    """
    if isinstance(question, Without):
        return as_match(question.kept, beginnings)
    if isinstance(question, Phrase):
        return _joined("OR", [_joined("AND", _words(question, beginning)) for beginning in beginnings])
    parts = [as_match(part, beginnings) for part in question.parts]
    return _joined("AND" if isinstance(question, All) else "OR", parts)


def _words(phrase: Phrase, beginning: str) -> list[str]:
    quoted = [f'"{beginning}{word[:WORD_CHARACTERS]}"' for word in phrase.words]
    return [*quoted[:-1], f"{quoted[-1]} *"] if phrase.open else quoted


def _joined(operator: str, parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"({f' {operator} '.join(parts)})"


def _phrases(question: Question, *, after_not: bool) -> Iterator[Phrase]:
    """All phrases, or all except those ``after_not``."""
    if isinstance(question, Phrase):
        yield question
    elif isinstance(question, Without):
        yield from _phrases(question.kept, after_not=after_not)
        if after_not:
            yield from _phrases(question.left, after_not=after_not)
    else:
        for part in question.parts:
            yield from _phrases(part, after_not=after_not)


def _together(parts: Sequence[Question | None], kind: type[All | Any] = All) -> Question | None:
    kept = tuple(part for part in parts if part is not None)
    return None if not kept else kept[0] if len(kept) == 1 else kind(kept)


def _phrase(text: str, open: bool = False) -> Phrase | None:
    """The phrase of a text; None if it has no word, like a dash."""
    words, goes_on = asked_words(text)
    return Phrase(words, open or goes_on or text.endswith("*")) if words else None


class _QuestionReader:
    """``or = and (OR and)*``, ``and = part ([AND] part | NOT part)*``, ``part = phrase | ( or )``."""

    def __init__(self, text: str) -> None:
        # The second quote is probably still to be typed: until then, plain words find more than an error does.
        if text.count('"') % 2:
            raise _Unreadable
        self._tokens = list(_TOKENS.finditer(text))
        self._at = self._depth = 0

    def read(self) -> Question | None:
        question = self._read_any()
        if self._at < len(self._tokens):
            raise _Unreadable
        return question

    def _read_any(self) -> Question | None:
        parts = [self._read_all()]
        while self._takes("OR"):
            parts.append(self._read_all())
        return _together(parts, Any)

    def _read_all(self) -> Question | None:
        question = self._read_part()
        while self._next() not in (None, ")", "OR"):
            if self._takes("NOT"):
                excluded = self._read_part()
                if question is None:
                    raise _Unreadable
                question = question if excluded is None else Without(question, excluded)
                continue
            self._takes("AND")
            if self._next() == "NOT":  # `a AND NOT b` is `a NOT b`
                continue
            question = _together([question, self._read_part()])
        return question

    def _read_part(self) -> Question | None:
        if self._next() in (None, ")", *_OPERATORS):
            raise _Unreadable
        token = self._tokens[self._at]
        self._at += 1
        if token[3] is None:
            return _phrase(token[1], bool(token[2])) if token[1] is not None else _phrase(token[4])
        self._depth += 1
        if self._depth > NESTED:
            raise _Unreadable
        question = self._read_any()
        if not self._takes(")"):
            raise _Unreadable
        self._depth -= 1
        return question

    def _next(self) -> str | None:
        """An operator, a parenthesis, or the empty text for anything else; None at the end."""
        if self._at == len(self._tokens):
            return None
        token = self._tokens[self._at]
        return token[3] or (token[4] if token[4] in _OPERATORS else "")

    def _takes(self, wanted: str) -> bool:
        taken = self._next() == wanted
        self._at += taken
        return taken
