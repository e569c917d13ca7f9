"""Find turns that may match, newest first: all turns that are not indexed yet, then those that the index finds.

If a database is read-only, keeps no index or cannot have one, all turns are candidates: no match is ever missed.
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
from headish.rows.searching import indexing, matches
from headish.rows.searching.matches import SearchedTurn

PAGE = 512
"""The size of a page of the index. It is large because a server looks up all matches again for each page."""
READ_PAGE = 500
READ_FIRST = 2000
"""The number of newest turns that are read before the index is asked for a short beginning of words. The index gathers
every turn with such a word first, which takes half a second among a million turns; mostly the newest have enough hits.
"""
SHORT = 2
GLOB = "*?["


class Criteria(NamedTuple):
    """A query to the index: the question, its fields, and the filters that a turn must pass.

    With ``unnamed``, results that name only their call are found, too: whether it is one of ``tool`` is looked up
    later.
    """

    question: Question
    fields: frozenset[str]
    role: str | None = None
    model: str | None = None
    tool: str | None = None
    unnamed: bool = True


class IndexProgress(NamedTuple):
    """The commit number up to which the index goes, and the number of turns in the space."""

    indexed: int
    turns: int


def state_of(connection: Connection, space: int) -> IndexProgress:
    """How far the index of a space can be used; 0 if there is none, it is switched off, or its words are of another
    version."""
    turns, seq, version, can_index = indexing.state_of(connection, space)
    return IndexProgress(seq if seq and version == WORDS_VERSION and can_index else 0, turns)


def candidates(
    connection: Connection, space: int, asked: Criteria, state: IndexProgress, first: int, between: tuple[int, int]
) -> Iterator[list[SearchedTurn]]:
    """Turns that may match, newest first, in pages. The first page from the index has ``first`` turns, later ones more.

    ``between`` are commit numbers, both exclusive.
    Cost: one statement for each page of 512 turns of the index, or 500 that are not in it. Without words and without a
    filter that the index knows, all turns are read.
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
    """All turns between two commit numbers, newest first, in pages."""
    while page := matches.sources_before(connection, space, low, high, READ_PAGE):
        yield page
        high = page[-1].seq


def spell(space: int, asked: Criteria) -> str:
    """The question in the index's syntax; empty if the index knows none of its words and filters."""
    words = [] if asked.question == EVERYTHING else [as_match(asked.question, beginnings(space, asked.fields))]
    facts = _facts(space, asked)
    if not words and not facts:
        return ""
    narrowed = " AND ".join([*words, *facts])
    # A turn with too many words for its entry is a candidate for every question that its facts do not rule out.
    unread = " AND ".join([f'"{unread_fact(space)}"', *facts])
    return f"({narrowed}) OR {f'({unread})' if facts else unread}"


def is_broad(question: Question) -> bool:
    """Whether the question has a beginning of words that is so short that many words match. Beginnings in scripts that
    are indexed by pairs of characters are not: few words match a pair."""
    return any(
        phrase.open and len(phrase.words[-1]) <= SHORT and phrase.words[-1].isascii() for phrase in phrases_of(question)
    )


def beginnings(space: int, fields: frozenset[str]) -> list[str]:
    """The prefixes of the indexed words of the fields: the number of the space, and a sign, one for reasoning and one
    for everything else."""
    signs = [REASONED] if "reasoning" in fields else []
    signs += [READ] if fields - {"reasoning"} else []
    return [f"{space}{sign}" for sign in signs]


def _facts(space: int, asked: Criteria) -> list[str]:
    facts = [f'"{role_fact(space, asked.role)}"'] if asked.role is not None else []
    if asked.fields != frozenset(FIELDS) - {"reasoning"} and asked.fields != frozenset(FIELDS):
        listed = [f'"{field_fact(space, field)}"' for field in sorted(asked.fields)]
        facts.append(f"({' OR '.join(listed)})")
    if asked.tool is not None:
        tool_term = f'"{tool_fact(space, asked.tool)}"'
        facts.append(f'({tool_term} OR "{unnamed_fact(space)}")' if asked.unnamed else tool_term)
    # The index has a checksum of the whole name, which cannot be matched with a pattern.
    if asked.model is not None and not any(each in asked.model for each in GLOB):
        facts.append(f'"{model_fact(space, last_part(asked.model))}"')
    return facts
