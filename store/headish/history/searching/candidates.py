"""Turns that may match, the newest first: first those that no index holds yet, then what the index says.

Where a database is read-only, keeps no index or cannot have one, all turns are read: nothing is missing either way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from headish.content.searching.pieces import FIELDS
from headish.content.searching.questions import EVERYTHING, Question, as_match, phrases_of
from headish.content.searching.words import WORDS_VERSION
from headish.database.query import Connection
from headish.history.searching.entries import (
    READ,
    REASONED,
    field_fact,
    last_part,
    model_fact,
    role_fact,
    tool_fact,
    unnamed_fact,
    unread_fact,
)
from headish.rows.upkeep import matches, searches
from headish.rows.upkeep.matches import SearchedTurn

PAGE = 512
"""So many the index is asked for at once: a server looks all of them up for each page."""
READ_PAGE = 500
READ_FIRST = 2000
"""So many turns are read before an index is asked for a short beginning of words, for which it gathers every turn that
has one, half a second among a million: more often than not there are enough hits among the newest."""
SHORT = 2
GLOB = "*?["


class Criteria(NamedTuple):
    """A query to the index: the question, its fields, and the filters that a turn must pass.

    With ``unnamed``, a result that names its call alone may be one of ``tool``.
    """

    question: Question
    fields: frozenset[str]
    role: str | None = None
    model: str | None = None
    tool: str | None = None
    unnamed: bool = True


class IndexProgress(NamedTuple):
    """How far the index is, and how many turns there are."""

    indexed: int
    turns: int


def state_of(connection: Connection, space: int) -> IndexProgress:
    """How far the index of a space can be used. Where it is switched off, it holds nothing."""
    turns, seq, version, can_index = searches.state_of(connection, space)
    return IndexProgress(seq if seq and version == WORDS_VERSION and can_index else 0, turns)


def candidates(
    connection: Connection, space: int, asked: Criteria, state: IndexProgress, first: int, between: tuple[int, int]
) -> Iterator[list[SearchedTurn]]:
    """Turns that may match, the newest first, in pages: one with the ``first`` turns of the index, then larger ones.

    ``between`` are commit numbers, both left out.
    Cost: one statement for each page, which has 512 turns, or 500 that are not in the index. Without words, and
    without a filter that the index knows, all turns are read.
    """
    question = spell(space, asked)
    indexed = state.indexed if question else 0
    if indexed and is_broad(asked.question):
        indexed = max(indexed - READ_FIRST, 0)
    low, end = between
    if indexed < state.turns:
        yield from _after(connection, space, max(low, indexed), end)
    high = min(end, indexed + 1) if indexed else None
    limit = first
    while high is not None:
        page, high = matches.found_before(connection, space, question, low, high, limit)
        yield page
        limit = PAGE


def _after(connection: Connection, space: int, low: int, high: int) -> Iterator[list[SearchedTurn]]:
    """All turns between two commit numbers, the newest first."""
    while page := matches.sources_before(connection, space, low, high, READ_PAGE):
        yield page
        high = page[-1].seq


def spell(space: int, asked: Criteria) -> str:
    """The question as the index takes it; empty where there is nothing that it knows."""
    words = [] if asked.question == EVERYTHING else [as_match(asked.question, beginnings(space, asked.fields))]
    facts = _facts(space, asked)
    if not words and not facts:
        return ""
    narrowed = " AND ".join([*words, *facts])
    return f'({narrowed}) OR "{unread_fact(space)}"' if not facts else f"({narrowed}) OR ({_unread(space, facts)})"


def is_broad(question: Question) -> bool:
    """Whether a beginning of words is so short that many words have it. A pair of characters is not: few have it."""
    return any(
        phrase.open and len(phrase.words[-1]) <= SHORT and phrase.words[-1].isascii() for phrase in phrases_of(question)
    )


def beginnings(space: int, fields: frozenset[str]) -> list[str]:
    """The signs before indexed words, by field: reasoning has another one than what people read."""
    signs = [REASONED] if "reasoning" in fields else []
    signs += [READ] if fields - {"reasoning"} else []
    return [f"{space}{sign}" for sign in signs]


def _unread(space: int, facts: list[str]) -> str:
    return " AND ".join([f'"{unread_fact(space)}"', *facts])


def _facts(space: int, asked: Criteria) -> list[str]:
    facts = [f'"{role_fact(space, asked.role)}"'] if asked.role is not None else []
    if asked.fields != frozenset(FIELDS) - {"reasoning"} and asked.fields != frozenset(FIELDS):
        listed = [f'"{field_fact(space, field)}"' for field in sorted(asked.fields)]
        facts.append(f"({' OR '.join(listed)})")
    if asked.tool is not None:
        named = f'"{tool_fact(space, asked.tool)}"'
        facts.append(f'({named} OR "{unnamed_fact(space)}")' if asked.unnamed else named)
    # A pattern has no code.
    if asked.model is not None and not any(each in asked.model for each in GLOB):
        facts.append(f'"{model_fact(space, last_part(asked.model))}"')
    return facts
