"""Each turn that may match is asked itself, and what is found is ordered.

The rank is BM25 over the words of the fields that are searched: a word that few turns of the space have counts more, a
long turn less. It is the same on every database, since nothing of it is a database's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from math import log
from typing import NamedTuple

from headish.content.searching.pieces import Piece
from headish.content.searching.questions import EVERYTHING, Phrase, as_match, count, matches, phrases_of
from headish.content.searching.words import words_of
from headish.database.query import Connection
from headish.rows.upkeep.searches import Source, count_matching
from headish.searching.candidates import Asked, Found, beginnings, candidates, state_of
from headish.searching.entries import Said, last_part, model_of, read_said, system_of
from headish.searching.scopes import Ranges, is_within
from headish.values.times import milliseconds_of
from headish.values.turns import said_at_of

RANKED = 1000
"""A ranked search weighs so many matches, the newest, against each other."""
COUNTED = 10_000
"""A word that more turns have than this counts as if no more had it."""
_SATURATION, _LENGTH = 1.2, 0.75
"""BM25's k1 and b, as everybody has them."""


class Wanted(NamedTuple):
    """What a hit must be. Times are Unix milliseconds, ``until`` left out."""

    asked: Asked
    since: int | None
    until: int | None
    within: Sequence[Ranges]
    order: str
    limit: int


class Match(NamedTuple):
    """A turn that matches, the texts that were searched, and how often each phrase stands in them."""

    source: Source
    pieces: list[Piece]
    counts: tuple[int, ...]
    length: int
    score: float = 0.0


def find_matches(connection: Connection, space: int, wanted: Wanted) -> list[Match]:
    """The best matches, or the newest.

    Cost: that of the candidates, and for each of them its words once more, until there are enough.
    """
    state = state_of(connection, space)
    is_ranked = wanted.order == "rank" and wanted.asked.question != EVERYTHING
    enough = max(RANKED, wanted.limit) if is_ranked else wanted.limit
    found: list[Match] = []
    for match in each_match(connection, space, wanted, state):
        found.append(match)
        if len(found) == enough:
            break
    if not is_ranked:
        return found  # how common a word is would be counted for nothing
    scored = _scored(connection, space, wanted, found, state)
    return sorted(scored, key=lambda match: (-match.score, -match.source.seq))[: wanted.limit]


def each_match(connection: Connection, space: int, wanted: Wanted, state: Found) -> Iterator[Match]:
    """All turns that match, the newest first, as far as they are asked for. Cost: as ``find_matches``."""
    asked = wanted.asked
    phrases = phrases_of(asked.question)
    likely = (each for each in candidates(connection, space, asked, state) if _may_be(each, wanted))
    # One by one: a turn is read when it is asked, for there may be enough before it.
    for said in (said for source in likely for said in read_said(connection, space, [source])):
        pieces = [piece for piece in said.pieces if piece.field in asked.fields]
        if not pieces or not _uses(said, asked.tool):
            continue
        # Where filters alone choose, no word has to be cut.
        texts = [words_of(piece.text) for piece in pieces] if phrases else []
        if matches(asked.question, texts):
            counts = tuple(sum(count(phrase, words) for words in texts) for phrase in phrases)
            yield Match(said.source, pieces, counts, sum(map(len, texts)))


def _may_be(source: Source, wanted: Wanted) -> bool:
    """What can be said of a turn before its payload is read."""
    asked = wanted.asked
    if source.erased is not None or (asked.role is not None and source.role != asked.role):
        return False
    if not all(is_within(ranges, source.place) for ranges in wanted.within):
        return False
    if wanted.since is not None or wanted.until is not None:
        said = milliseconds_of(said_at_of(system_of(source), source.id))
        if (wanted.since is not None and said < wanted.since) or (wanted.until is not None and said >= wanted.until):
            return False
    return asked.model is None or _is_of(model_of(source), asked.model)


def _is_of(model: str | None, wanted: str) -> bool:
    """A model is named whole, or without the path before its name, or by a pattern of either."""
    if model is None:
        return False
    pattern = wanted.casefold()
    return any(
        each == pattern or fnmatchcase(each, pattern) for each in (model.casefold(), last_part(model).casefold())
    )


def _uses(said: Said, tool: str | None) -> bool:
    return tool is None or tool.casefold() in {each.casefold() for each in said.tools}


def _scored(connection: Connection, space: int, wanted: Wanted, found: list[Match], state: Found) -> list[Match]:
    """BM25. The commonness of each phrase is that of its words in the index; without one, among what was found."""
    phrases = phrases_of(wanted.asked.question)
    weights = [_weight(connection, space, wanted.asked, phrase, state, found) for phrase in phrases]
    mean = sum(match.length for match in found) / len(found) if found else 1.0
    return [match._replace(score=_score(match, weights, mean)) for match in found]


def _score(match: Match, weights: Sequence[float], mean: float) -> float:
    long = _SATURATION * (1 - _LENGTH + _LENGTH * match.length / (mean or 1.0))
    parts = (weight * n * (_SATURATION + 1) / (n + long) for n, weight in zip(match.counts, weights, strict=True))
    return round(sum(parts), 6)


def _weight(
    connection: Connection, space: int, asked: Asked, phrase: Phrase, state: Found, found: Sequence[Match]
) -> float:
    if state.indexed:
        question = as_match(phrase, beginnings(space, asked.fields))
        holders = count_matching(connection, space, question, COUNTED)
    else:
        holders = len(found)
    turns = max(state.turns, holders)
    return log(1 + (turns - holders + 0.5) / (holders + 0.5))
