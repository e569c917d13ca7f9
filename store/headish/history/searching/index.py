"""Bring the index of a space up to date: in commit order and in portions, each in a transaction of its own.

A portion is read before its transaction begins, so that a writer waits for no more than its words being written. Two
that catch up at once take turns: whoever moves the position on has stored the portion, and the other reads on from
there. A process that dies between two portions loses nothing, and one that dies within one has stored nothing of it.

SQLite keeps a segment of each portion, and a search asks every segment. They are merged behind the last portion, in
portions too: so each word is written twice, where merging on the way writes it three or four times. Who dies before
that leaves it to the next that catches up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from headish.content.searching.words import WORDS_VERSION
from headish.database.backend import Backend
from headish.database.query import Connection
from headish.errors import DatabaseUnavailable
from headish.history.searching.entries import BEFORE, BEHIND, SearchableTurn, entry_of, read_said
from headish.rows.counters import read_counter
from headish.rows.turns import StoredTurn
from headish.rows.upkeep import matches, searches
from headish.rows.upkeep.searches import Indexed

Progress = Callable[[int], None]
"""Called with the number of turns indexed since the last call."""

PORTION_TURNS, READ_TURNS = 1000, 250
MERGED_AFTER = 250
"""So many portions are merged before the next: FTS5 takes 2,000 segments, and a search asks all."""
PORTION_CHARACTERS = 1_000_000
"""A portion ends behind the turn with which its words come to so much: some 50 ms of writing."""


class Portion(NamedTuple):
    """Turns that are to be indexed: how far the index was, how far it is then, and the entries. ``is_last`` says that
    there were no others."""

    known: Indexed
    seq: int
    turns: int
    entries: list[tuple[int, str]]
    is_last: bool = False


class PortionStored(NamedTuple):
    """Whether a portion was stored, and whether there may be more to merge."""

    is_stored: bool
    merges: bool = False


def catch_up(backend: Backend, space: int, progress: Progress | None = None) -> None:
    """Index every turn that is not indexed yet. Does nothing if the database is read-only, keeps no index, or cannot
    have one.

    Cost: some 30 µs for each turn of half a KB; two statements where there is none.
    """
    if backend.read_only:
        return
    portions = 0
    while (portion := backend.read(partial(_next_portion, space=space))) is not None:
        if keeps_none(backend):
            return
        portions += 1
        merges = backend.has_segments and (portion.is_last or portions % MERGED_AFTER == 0)
        stored = backend.write(partial(_store, space=space, portion=portion, merges=merges))
        if stored.is_stored and progress:
            progress(portion.turns)
        if stored.merges:
            while backend.write(searches.merge_some):
                pass


def keeps_none(backend: Backend) -> bool:
    """Whether the index is switched off. The switch is a row of its own space: on a database that is spread, it may lie
    on a machine that is away. Then a space is indexed that need not be, and its search does not fail for another
    machine's sake. Whoever was between two statements when it was switched off leaves words that nobody asks for."""
    try:
        return backend.read(searches.is_off)
    except DatabaseUnavailable:
        return False


def index_anew(backend: Backend, space: int, progress: Progress | None = None) -> None:
    """Empty the index of a space, and build it from the first turn on. On SQLite, other spaces build theirs at their
    next search. If it is cut short, the next search goes on."""
    backend.write(partial(_restart, space=space))
    catch_up(backend, space, progress)


def forget_entries(connection: Connection, space: int, turns: Iterable[StoredTurn]) -> int:
    """Take turns out of the index, in the caller's transaction and before their payloads go; returns how many it held.

    FTS5 has to be told the words that it is to forget: they are derived from the payloads once more. Then the index is
    merged whole, with freed space overwritten, so that none of these words is left in the file; the write-ahead log
    still has them until it is emptied. A later turn that nobody has indexed is left to ``erased``: it gets no entry.
    Cost: the words of the turns, and on SQLite writing the whole index anew, a fifth of the text of all spaces.
    """
    if not searches.can_index(connection):
        return 0
    # First: nobody who has read one of these turns stores its words behind our back from here on.
    searches.begin(connection, space, WORDS_VERSION)
    searches.count_emptied(connection, space)
    known = searches.indexed(connection, space)
    if known is None:
        return 0
    if known.version != WORDS_VERSION:
        # Nobody knows the old words any more, so all of them go.
        searches.restart(connection, space, WORDS_VERSION)
        return 0
    # Turns behind the position have no words here, and FTS5 breaks when it is told to forget what it never had.
    seqs = sorted({each.seq for each in turns if each.seq <= known.seq})
    sources = matches.sources_at(connection, space, seqs)
    entries = [
        (said.source.seq, entry) for said in read_said(connection, space, sources) if (entry := entry_of(space, said))
    ]
    if entries:
        searches.remove_entries(connection, space, entries)
    return len(entries)


def forget_space(connection: Connection, space: int) -> None:
    """Take all words of a space out of the index, in the caller's transaction and before its turns go.

    FTS5 can be emptied, or told the words of each entry. So they are derived once more, as in ``forget_entries``. Where
    words are left then, or nobody knows them any more, the whole index goes, and other spaces build theirs anew.
    Cost: on SQLite reads the space once, and writes the whole index anew.
    """
    known = searches.indexed(connection, space)
    if known is not None and searches.can_index(connection):
        if searches.is_shared(connection) and known.version == WORDS_VERSION:
            _remove_all(connection, space, known.seq)
        if not searches.is_shared(connection) or _holds_words(connection, space):
            searches.restart(connection, space, WORDS_VERSION)
    searches.forget_position(connection, space)


def _remove_all(connection: Connection, space: int, last: int) -> None:
    seq, is_more = 0, True
    while is_more:
        sources = matches.sources_after(connection, space, seq, PORTION_TURNS)
        is_more = len(sources) == PORTION_TURNS and sources[-1].seq < last
        said = read_said(connection, space, [each for each in sources if each.seq <= last])
        entries = [(each.source.seq, entry) for each in said if (entry := entry_of(space, each))]
        searches.remove_entries(connection, space, entries, merge=not is_more)
        seq = sources[-1].seq if sources else last


def _holds_words(connection: Connection, space: int) -> bool:
    """Every sign of a word is between these two."""
    return bool(matches.words_page(connection, space, f"{space}{BEFORE}", f"{space}{BEHIND}", 1))


def _next_portion(connection: Connection, space: int) -> Portion | None:
    last = read_counter(connection, space).seq
    known = searches.indexed(connection, space)
    if known is not None and known.version == WORDS_VERSION and known.seq >= last:
        return None
    if not last or not searches.can_index(connection):
        return None
    if known is None or known.version != WORDS_VERSION:
        return Portion(known or Indexed(0, 0, -1), 0, 0, [])
    entries: list[tuple[int, str]] = []
    seq, left, turns = known.seq, PORTION_CHARACTERS, 0
    for said in _said_after(connection, space, known.seq):
        entry = entry_of(space, said)
        if entry:
            entries.append((said.source.seq, entry))
        seq, left, turns = said.source.seq, left - len(entry), turns + 1
        if left < 0:
            break
    else:
        seq = seq if turns == PORTION_TURNS else max(last, seq)  # also where numbers are missing: verify names them
    return Portion(known, seq, turns, entries, is_last=seq >= last)


def _said_after(connection: Connection, space: int, seq: int) -> Iterator[SearchableTurn]:
    """The next ``PORTION_TURNS`` turns, read as they are asked for: long ones fill a portion before."""
    for start in range(0, PORTION_TURNS, READ_TURNS):
        limit = min(READ_TURNS, PORTION_TURNS - start)
        sources = matches.sources_after(connection, space, seq, limit)
        yield from read_said(connection, space, sources)
        if len(sources) < limit:
            return
        seq = sources[-1].seq


def _store(connection: Connection, space: int, portion: Portion, merges: bool) -> PortionStored:
    """Store the portion, unless the index is elsewhere by now, and begin to merge."""
    if portion.known.version != WORDS_VERSION:
        searches.begin(connection, space, WORDS_VERSION)
        searches.configure(connection)
        known = searches.indexed(connection, space)
        if known is not None and known.version != WORDS_VERSION:
            searches.restart(connection, space, WORDS_VERSION)
        return PortionStored(False)
    # Another process has stored this portion since it was read; the caller reads on from there.
    if not searches.take(connection, space, portion.known, portion.seq):
        return PortionStored(False)
    searches.add_entries(connection, space, portion.entries)
    return PortionStored(True, merges and searches.merge_some(connection))


def _restart(connection: Connection, space: int) -> None:
    if searches.can_index(connection):
        searches.begin(connection, space, WORDS_VERSION)
        searches.configure(connection)
        searches.restart(connection, space, WORDS_VERSION)
