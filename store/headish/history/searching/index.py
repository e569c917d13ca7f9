"""Bring the index of a space up to date: in commit order and in portions, each in a transaction of its own.

A portion is read before its transaction begins, so that other writers wait only while its words are written. If two
processes catch up at once, the one that moves the position on has stored the portion, and the other reads on from
there. A process that dies between two portions loses nothing; one that dies within a portion has stored nothing of it.

On SQLite each portion makes a segment, and a search asks every segment. They are merged after the last portion, in
portions, too: so each word is written twice, while merging on the way would write it three or four times. If the
process dies before that, the next one that catches up merges.
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
from headish.rows.searching import indexing, matches
from headish.rows.searching.indexing import Indexed
from headish.rows.turns import StoredTurn

Progress = Callable[[int], None]
"""Called with the number of turns indexed since the last call."""

PORTION_TURNS, READ_TURNS = 1000, 250
MERGED_AFTER = 250
"""The number of portions after which segments are merged: FTS5 takes at most 2,000, and a search asks all of them."""
PORTION_CHARACTERS = 1_000_000
"""The size of a portion's words, which takes some 50 ms to write. It ends after the turn that exceeds it."""


class Portion(NamedTuple):
    """A portion to index: the index's position when it was read (``known``), the position after it (``seq``), the
    number of turns, and the entries. ``is_last``: no turns are left after it."""

    known: Indexed
    seq: int
    turns: int
    entries: list[tuple[int, str]]
    is_last: bool = False


class PortionStored(NamedTuple):
    """Whether a portion was stored, and whether more may be left to merge."""

    is_stored: bool
    merges: bool = False


def catch_up(backend: Backend, space: int, progress: Progress | None = None) -> None:
    """Index every turn that is not indexed yet. Does nothing if the database is read-only, keeps no index, or cannot
    have one.

    Cost: some 30 µs for each turn of half a KB; two statements if there is none.
    """
    if backend.read_only:
        return
    portions = 0
    while (portion := backend.read(partial(_next_portion, space=space))) is not None:
        if keeps_none(backend):
            return
        portions += 1
        merges = backend.has_segments and (portion.is_last or portions % MERGED_AFTER == 0)
        outcome = backend.write(partial(_store, space=space, portion=portion, merges=merges))
        if outcome.is_stored and progress:
            progress(portion.turns)
        if outcome.merges:
            while backend.write(indexing.merge_some):
                pass


def keeps_none(backend: Backend) -> bool:
    """Whether the index is switched off; False if that cannot be found out now.

    The switch is a row with a space number of its own. On a distributed database it may be on a server that is down;
    then the space is indexed needlessly, which is better than a search that fails because of another server. A process
    that indexes while it is switched off may leave words that no search reads.
    """
    try:
        return backend.read(indexing.is_off)
    except DatabaseUnavailable:
        return False


def index_anew(backend: Backend, space: int, progress: Progress | None = None) -> None:
    """Empty the index of a space, and build it again from the first turn. On SQLite this empties the index of all
    spaces; the others build theirs at their next search. If it is interrupted, the next search goes on."""
    backend.write(partial(_restart, space=space))
    catch_up(backend, space, progress)


def forget_entries(connection: Connection, space: int, turns: Iterable[StoredTurn]) -> int:
    """Remove turns from the index, in the caller's transaction and before their payloads are erased. Returns the number
    of entries removed.

    FTS5 must be given the words to forget, so they are derived from the payloads once more. Then the whole index is
    merged, and freed space is overwritten, so that none of these words is left in the file; the write-ahead log has
    them until it is emptied. Turns that are not indexed yet need nothing: once erased, they get no entry.
    Cost: cutting the turns into words, and on SQLite writing the whole index, a fifth of the text of all spaces.
    """
    if not indexing.can_index(connection):
        return 0
    # First: the changed count makes any portion that was read before unstorable, so it cannot bring these words back.
    indexing.begin(connection, space, WORDS_VERSION)
    indexing.count_emptied(connection, space)
    indexed = indexing.indexed(connection, space)
    if indexed is None:
        return 0
    if indexed.version != WORDS_VERSION:
        # The words were made by other rules and cannot be derived any more, so the whole index is emptied.
        indexing.restart(connection, space, WORDS_VERSION)
        return 0
    # Turns after the position have no entry, and FTS5 is damaged by forgetting words that it never had.
    seqs = sorted({each.seq for each in turns if each.seq <= indexed.seq})
    sources = matches.sources_at(connection, space, seqs)
    entries = [
        (turn.source.seq, entry) for turn in read_said(connection, space, sources) if (entry := entry_of(space, turn))
    ]
    if entries:
        indexing.remove_entries(connection, space, entries)
    return len(entries)


def forget_space(connection: Connection, space: int) -> None:
    """Remove all words of a space from the index, in the caller's transaction and before its turns are removed.

    FTS5 can be emptied as a whole, or be given the words of each entry. So they are derived once more, as in
    ``forget_entries``. If words are left after that, or were made by other rules, the whole index is emptied, and other
    spaces build theirs again.
    Cost: on SQLite reads the space once, and writes the whole index.
    """
    indexed = indexing.indexed(connection, space)
    if indexed is not None and indexing.can_index(connection):
        if indexing.is_shared(connection) and indexed.version == WORDS_VERSION:
            _remove_all(connection, space, indexed.seq)
        if not indexing.is_shared(connection) or _holds_words(connection, space):
            indexing.restart(connection, space, WORDS_VERSION)
    indexing.forget_position(connection, space)


def _remove_all(connection: Connection, space: int, last: int) -> None:
    seq, is_more = 0, True
    while is_more:
        sources = matches.sources_after(connection, space, seq, PORTION_TURNS)
        is_more = len(sources) == PORTION_TURNS and sources[-1].seq < last
        turns = read_said(connection, space, [each for each in sources if each.seq <= last])
        entries = [(each.source.seq, entry) for each in turns if (entry := entry_of(space, each))]
        indexing.remove_entries(connection, space, entries, merge=not is_more)
        seq = sources[-1].seq if sources else last


def _holds_words(connection: Connection, space: int) -> bool:
    """Whether the index still has words of a space."""
    return bool(matches.words_page(connection, space, f"{space}{BEFORE}", f"{space}{BEHIND}", 1))


def _next_portion(connection: Connection, space: int) -> Portion | None:
    last = read_counter(connection, space).seq
    indexed = indexing.indexed(connection, space)
    if indexed is not None and indexed.version == WORDS_VERSION and indexed.seq >= last:
        return None
    if not last or not indexing.can_index(connection):
        return None
    if indexed is None or indexed.version != WORDS_VERSION:
        return Portion(indexed or Indexed(0, 0, -1), 0, 0, [])
    entries: list[tuple[int, str]] = []
    seq, room, turns = indexed.seq, PORTION_CHARACTERS, 0
    for turn in _said_after(connection, space, indexed.seq):
        entry = entry_of(space, turn)
        if entry:
            entries.append((turn.source.seq, entry))
        seq, room, turns = turn.source.seq, room - len(entry), turns + 1
        if room < 0:
            break
    else:
        # At the end even if commit numbers are missing there: ``verify`` reports them, and this must not loop for ever.
        seq = seq if turns == PORTION_TURNS else max(last, seq)
    return Portion(indexed, seq, turns, entries, is_last=seq >= last)


def _said_after(connection: Connection, space: int, seq: int) -> Iterator[SearchableTurn]:
    """The next ``PORTION_TURNS`` turns, read lazily: long ones fill a portion earlier."""
    for start in range(0, PORTION_TURNS, READ_TURNS):
        limit = min(READ_TURNS, PORTION_TURNS - start)
        sources = matches.sources_after(connection, space, seq, limit)
        yield from read_said(connection, space, sources)
        if len(sources) < limit:
            return
        seq = sources[-1].seq


def _store(connection: Connection, space: int, portion: Portion, merges: bool) -> PortionStored:
    """Store the portion, unless the position of the index has changed since it was read, and begin to merge."""
    if portion.known.version != WORDS_VERSION:
        indexing.begin(connection, space, WORDS_VERSION)
        indexing.configure(connection)
        indexed = indexing.indexed(connection, space)
        if indexed is not None and indexed.version != WORDS_VERSION:
            indexing.restart(connection, space, WORDS_VERSION)
        return PortionStored(False)
    # Another process has stored this portion since it was read; the caller reads on from there.
    if not indexing.take(connection, space, portion.known, portion.seq):
        return PortionStored(False)
    indexing.add_entries(connection, space, portion.entries)
    return PortionStored(True, merges and indexing.merge_some(connection))


def _restart(connection: Connection, space: int) -> None:
    if indexing.can_index(connection):
        indexing.begin(connection, space, WORDS_VERSION)
        indexing.configure(connection)
        indexing.restart(connection, space, WORDS_VERSION)
