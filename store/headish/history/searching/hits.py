"""Check each candidate turn against the question, then rank the hits.

The rank is BM25 over the words of the searched fields: a word that few turns of the space have counts more, a long turn
less. It is computed here, so that it is the same on every database, and other spaces do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from heapq import heappush, heapreplace
from itertools import count, islice, takewhile
from math import log
from typing import NamedTuple

from headish.content.searching.pieces import FieldText
from headish.content.searching.questions import EVERYTHING, Phrase, as_match, phrases_of
from headish.content.searching.texts import SearchedText, matches
from headish.database.query import Connection
from headish.history.reading.decode import mapping_in
from headish.history.searching.calls import may_use, using
from headish.history.searching.candidates import PAGE, Criteria, IndexProgress, beginnings, candidates
from headish.history.searching.entries import SearchableTurn, last_part, model_of, read_said
from headish.history.searching.scopes import Ranges, is_within
from headish.rows.searching.indexing import LAST
from headish.rows.searching.matches import SearchedTurn, count_matching, may_be_before
from headish.values.ids import first_id_at
from headish.values.times import milliseconds_of
from headish.values.turns import said_at_of

RANKED = 1000
"""The number of newest matches that a ranked search compares."""
COUNTED = RANKED
"""The most turns with a word that are counted, from the newest. A more common word is assumed to be as common before
them."""
LOOKED_AT = 131_072
"""The most ids that a search by time looks at before its next page; each further page doubles it. A word that nobody
has used for long has many turns after it: reading its pages may take less than looking at all of these."""
_SATURATION, _LENGTH = 1.2, 0.75
"""BM25's k1 and b, with the usual values."""


class HitFilter(NamedTuple):
    """The conditions for a hit. ``since`` (inclusive) and ``until`` (exclusive) are Unix milliseconds; ``between`` are
    commit numbers, both exclusive."""

    asked: Criteria
    since: int | None
    until: int | None
    within: Sequence[Ranges]
    order: str
    limit: int
    between: tuple[int, int] = (0, LAST)


class Match(NamedTuple):
    """A turn that matches, the texts that were searched, and its rank."""

    source: SearchedTurn
    pieces: list[FieldText]
    texts: list[SearchedText]
    score: float = 0.0


def find_matches(connection: Connection, space: int, wanted: HitFilter, state: IndexProgress) -> list[Match]:
    """The best matches, or with the order ``time`` those that were said last.

    Cost: that of the candidates, and cutting each into words, until there are enough. By time, all matches that were
    stored since the last of the hits was said are read, too, and the ids from then on are looked at.
    """
    if wanted.order == "time" or wanted.asked.question == EVERYTHING:
        return _said_last(connection, space, wanted, state)  # without ranks, so no word is counted
    found = list(islice(each_match(connection, space, wanted, state), max(RANKED, wanted.limit)))
    scored = _scored(connection, space, wanted, found, state)
    return sorted(scored, key=lambda match: (-match.score, -match.source.seq))[: wanted.limit]


def _said_last(connection: Connection, space: int, wanted: HitFilter, state: IndexProgress) -> list[Match]:
    """The matches that were said last (rule R29, two times). The commit order does not give them: an import stores
    today what was said years ago."""
    best: list[tuple[int, int, Match]] = []

    def is_wanted(source: SearchedTurn) -> bool:
        return len(best) < wanted.limit or (_said_at(source), source.seq) > best[0][:2]

    # A database takes no number of any size; so many ids are in no space.
    limits = (LOOKED_AT << min(number, 32) for number in count())

    def goes_on(page: Sequence[SearchedTurn]) -> bool:
        # Taken as given: a turn was said before its id was minted, so no older id is a newer hit. Copies and turns from
        # other stores keep their ids, so turns that were stored before this page may be newer than it.
        if len(best) < wanted.limit or not page:
            return True
        since = first_id_at(best[0][0])
        is_newer = any(each.id >= since for each in page)
        return is_newer or may_be_before(connection, space, since, page[0].seq, next(limits))

    for match in each_match(connection, space, wanted, state, is_wanted, goes_on):
        entry = (_said_at(match.source), match.source.seq, match)
        if len(best) < wanted.limit:
            heappush(best, entry)
        elif entry > best[0]:
            heapreplace(best, entry)
    return [match for *_, match in sorted(best, key=lambda entry: entry[:2], reverse=True)]


def _said_at(source: SearchedTurn) -> int:
    return milliseconds_of(said_at_of(mapping_in(source.system), source.id))


def each_match(
    connection: Connection,
    space: int,
    wanted: HitFilter,
    state: IndexProgress,
    is_wanted: Callable[[SearchedTurn], bool] = lambda source: True,
    goes_on: Callable[[Sequence[SearchedTurn]], bool] = lambda page: True,
) -> Iterator[Match]:
    """All turns that match, the last stored first, read lazily. ``is_wanted`` is called before a turn is read,
    ``goes_on`` before a page of turns. Cost: as ``find_matches``."""
    asked = wanted.asked
    phrases = phrases_of(asked.question)
    # Most candidates that the index finds for words are hits, so little more is read than is wanted.
    first = min(wanted.limit * 5 // 4 + 6, PAGE) if wanted.order == "time" else PAGE
    pages = takewhile(goes_on, candidates(connection, space, asked, state, first, wanted.between))
    likely = ([each for each in page if _may_be(each, wanted) and is_wanted(each)] for page in pages)
    for page in likely:
        matched = _matching(read_said(connection, space, page), asked, phrases)
        if asked.tool is None:
            yield from (match for _, match in matched)
        else:
            yield from using(connection, space, matched, asked.tool)


def _matching(
    turns: Iterable[SearchableTurn], asked: Criteria, phrases: Sequence[Phrase]
) -> Iterator[tuple[SearchableTurn, Match]]:
    """The turns that match. The tools of results that name only their calls are not checked here: ``using`` does that
    for many turns at once."""
    for turn in turns:
        pieces = [piece for piece in turn.pieces if piece.field in asked.fields]
        if not pieces or not may_use(turn, asked.tool, unnamed=asked.unnamed):
            continue
        # If the question has no words, cutting the texts into words would be in vain.
        texts = [SearchedText(piece.text) for piece in pieces] if phrases else []
        if matches(asked.question, texts):
            yield turn, Match(turn.source, pieces, texts)


def _may_be(source: SearchedTurn, wanted: HitFilter) -> bool:
    """Whether a turn may be a hit, judged without reading its payload."""
    asked = wanted.asked
    if source.erased is not None or (asked.role is not None and source.role != asked.role):
        return False
    if not all(is_within(ranges, source.place) for ranges in wanted.within):
        return False
    if wanted.since is not None or wanted.until is not None:
        said_at = _said_at(source)
        if (wanted.since is not None and said_at < wanted.since) or (
            wanted.until is not None and said_at >= wanted.until
        ):
            return False
    return asked.model is None or _is_of(model_of(source), asked.model)


def _is_of(model: str | None, wanted: str) -> bool:
    """Whether a model is the wanted one, which is a name with or without the path before it, or a pattern of either."""
    if model is None:
        return False
    pattern = wanted.casefold()
    return any(
        each == pattern or fnmatchcase(each, pattern) for each in (model.casefold(), last_part(model).casefold())
    )


def _scored(
    connection: Connection, space: int, wanted: HitFilter, found: list[Match], state: IndexProgress
) -> list[Match]:
    """Rank by BM25. The frequency of a phrase is that of its words in the index. Without an index, and for the only
    phrase of a question, it is the frequency among what was found."""
    phrases = phrases_of(wanted.asked.question)
    weights = {phrase: _weight(connection, space, wanted.asked, phrase, state, found) for phrase in phrases}
    lengths = [sum(text.length for text in match.texts) for match in found]
    mean = sum(lengths) / len(found) if found else 1.0
    return [
        match._replace(score=_score(match, weights, length / (mean or 1.0)))
        for match, length in zip(found, lengths, strict=True)
    ]


def _score(match: Match, weights: Mapping[Phrase, float], length: float) -> float:
    """The BM25 score of a match; ``length`` is its length divided by the mean length."""
    long = _SATURATION * (1 - _LENGTH + _LENGTH * length)
    counts = ((sum(text.count(phrase) for text in match.texts), weight) for phrase, weight in weights.items())
    return round(sum(weight * n * (_SATURATION + 1) / (n + long) for n, weight in counts), 6)


def _weight(
    connection: Connection, space: int, asked: Criteria, phrase: Phrase, state: IndexProgress, found: Sequence[Match]
) -> float:
    if not found:
        return 0.0
    holders, first = len(found), found[-1].source.seq
    if state.indexed and phrase != asked.question:
        question = as_match(phrase, beginnings(space, asked.fields))
        holders, first = count_matching(connection, space, question, COUNTED)
    if holders == COUNTED:
        # Counting stopped at ``first``: the share of turns with the word since then is assumed for the whole space.
        holders = max((holders - 1) * state.turns // max(state.turns - first, 1), holders)
    # An estimate above the number of turns would make the logarithm negative, and push matches of the word down.
    turns = max(state.turns, holders)
    return log(1 + (turns - holders + 0.5) / (holders + 0.5))
