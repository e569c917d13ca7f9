"""The part of verify that compares the search index with the turns.

First the whole index is summed up, and so are the words of all turns, and the sums are compared. Only if they differ,
every word of every turn is looked up, to find out which turns differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from headish.content.searching.words import WORDS_VERSION
from headish.database.backend import Backend
from headish.database.query import Connection
from headish.errors import DatabaseError
from headish.history.searching.entries import BEFORE, BEHIND, FACT, entry_of, read_said
from headish.rows.counters import read_counter
from headish.rows.searching import indexing, matches
from headish.rows.searching.indexing import Indexed
from headish.rows.searching.matches import SearchedTurn
from headish.values.results.reports import Problem

SUBJECT = "search index"
PAGE_TURNS, PAGE_WORDS = 500, 50_000
_MODULUS = 2**64


class Sum(NamedTuple):
    """A checksum of index entries: the number of words, the sum of their commit numbers, and the sum of their
    hashes."""

    words: int
    seqs: int
    hashes: int


class Held(NamedTuple):
    """The position of the index, the sums of its words, and the number of turns in the space."""

    known: Indexed
    total: Sum
    turns: int


def check_index(backend: Backend, space: int) -> Iterator[Problem]:
    """Report turns that the index lacks, has without reason, or has with other words.

    Cost: cuts every turn into words and reads each word of the index; memory for a page. If something is wrong, a
    statement for each word of each 500 turns.
    """
    held = backend.read(partial(_held, space=space))
    if held is None:
        return
    problems = list(_position_problems(held))
    yield from problems
    if problems:
        return
    expected = Sum(0, 0, 0)
    seq = 0
    while page := _page(backend, space, seq, held.known.seq):
        expected = _plus(expected, page)
        seq = page[-1][0].seq
    if expected == held.total or _has_moved(backend, space, held.known):
        return  # an erasure changed the index after it was summed up, so a difference proves nothing
    try:
        differences = list(_named(backend, space, held.known))
    except DatabaseError as error:
        if type(error) is not DatabaseError:
            raise
        # A damaged role or model makes words that the index's syntax refuses.
        differences = [Problem(SUBJECT, f"its words cannot be compared with those of the turns ({error.reason})")]
    yield from differences or [Problem(SUBJECT, "it holds words that no turn says")]


def strange_spaces(connection: Connection) -> Iterator[int]:
    """The numbers of the spaces that the index has words of, whether the spaces exist or not. Cost: one seek for
    each."""
    number = 0
    if not indexing.can_index(connection):
        return
    while (word := matches.next_space(connection, number)) is not None:
        digits = word[: next((at for at, each in enumerate(word) if not each.isdigit()), len(word))]
        number = int(digits or -1)
        yield number
        if number <= 0:
            return


def is_switch(connection: Connection) -> bool:
    """Whether the row of the switch is sound: there is none, or it says that the index is off."""
    indexed = indexing.indexed(connection, indexing.NO_SPACE)
    return indexed is None or indexed.seq == indexing.OFF


def _held(connection: Connection, space: int) -> Held | None:
    """Sum up the index of a space; None if there is nothing to compare: no index, or one of an older version."""
    indexed = indexing.indexed(connection, space) or Indexed(0, WORDS_VERSION, 0)
    if not indexing.can_index(connection) or 0 < indexed.version < WORDS_VERSION:
        return None
    after, hashes, end = f"{space}{BEFORE}", 0, f"{space}{BEHIND}"
    words, seqs = matches.sums(connection, space, after, end)
    while page := matches.words_page(connection, space, after, end, PAGE_WORDS):
        hashes += sum(hash(word) * turns for word, turns in page)
        after = page[-1].word
    return Held(indexed, Sum(words, seqs, hashes % _MODULUS), read_counter(connection, space).seq)


def _position_problems(held: Held) -> Iterator[Problem]:
    indexed = held.known
    if indexed.version != WORDS_VERSION:
        yield Problem(SUBJECT, f"its version is {indexed.version!r}")
    if not 0 <= indexed.seq <= held.turns:
        yield Problem(SUBJECT, f"it is said to hold turns up to {indexed.seq}, and the last is {held.turns}")


def _page(backend: Backend, space: int, seq: int, last: int) -> list[tuple[SearchedTurn, set[str]]]:
    """The next turns, each with the words that the index should have."""

    def work(connection: Connection) -> list[tuple[SearchedTurn, set[str]]]:
        sources = [each for each in matches.sources_after(connection, space, seq, PAGE_TURNS) if each.seq <= last]
        return [(turn.source, set(entry_of(space, turn).split())) for turn in read_said(connection, space, sources)]

    return backend.read(work)


def _plus(before: Sum, page: Sequence[tuple[SearchedTurn, set[str]]]) -> Sum:
    return Sum(
        before.words + sum(len(words) for _, words in page),
        before.seqs + sum(len(words) * source.seq for source, words in page),
        (before.hashes + sum(hash(word) for _, words in page for word in words)) % _MODULUS,
    )


def _has_moved(backend: Backend, space: int, known: Indexed) -> bool:
    now = backend.read(lambda connection: indexing.indexed(connection, space))
    return now is not None and (now.emptied, now.version) != (known.emptied, known.version)


def _named(backend: Backend, space: int, known: Indexed) -> Iterator[Problem]:
    seq = 0
    while page := _page(backend, space, seq, known.seq):
        low, seq = seq, page[-1][0].seq
        yield from backend.read(partial(_differences, space=space, page=page, low=low, high=seq + 1))
    for stray in backend.read(lambda connection: _entries(connection, space, seq, indexing.LAST)):
        yield Problem(SUBJECT, f"it holds a turn with commit number {stray}, which it is not said to hold")


def _differences(
    connection: Connection, space: int, page: Sequence[tuple[SearchedTurn, set[str]]], low: int, high: int
) -> list[Problem]:
    expected: dict[str, set[int]] = {}
    for source, words in page:
        for word in words:
            expected.setdefault(word, set()).add(source.seq)
    present = _entries(connection, space, low, high)
    lacking, wrong = set(), set()
    for word, seqs in expected.items():
        found = set(matches.matching(connection, space, f'"{word}"', low, high, high - low))
        lacking |= {seq for seq in seqs - found if seq not in present}
        wrong |= {seq for seq in seqs ^ found if seq in present}
    ids = {source.seq: source.id for source, _ in page}
    none = {source.seq for source, words in page if not words} | (present - ids.keys())
    problems = [Problem(f"turn {ids[seq]}", f"the {SUBJECT} lacks it") for seq in sorted(lacking)]
    problems += [Problem(f"turn {ids[seq]}", f"the {SUBJECT} holds other words of it") for seq in sorted(wrong - none)]
    return problems + [
        Problem(SUBJECT, f"it holds a turn with commit number {seq}, which has no words")
        for seq in sorted(present & none)
    ]


def _entries(connection: Connection, space: int, low: int, high: int) -> set[int]:
    """The commit numbers in the index between two others. Each entry has at least one fact, so facts find all."""
    return set(matches.matching(connection, space, f'"{space}{FACT}" *', low, high, high - low))
