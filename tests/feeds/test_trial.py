"""The trial of the feed: writers that dawdle before and behind the counter, roll back and lose their connections.

Readers follow meanwhile, one in one go and one that dies again and again. What they saw must be what was committed, in
its order. A reader of a plain sequence reads beside them: it must miss something, else the trial proves nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import islice
from random import Random
from threading import Event

import pytest

from headish import Store
from headish.content.drafts import make_draft
from headish.database.query import Connection, Query
from headish.history.writing.append import append
from headish.rows.counters import lock_space
from headish.values.limits import PAYLOAD_LIMIT_BYTES
from support.insides import database_of
from support.places import FilePlace

WRITERS, TURNS_EACH = 4, 12
LIVES = 5
"""How many changes the reader that dies sees in each of its lives."""
SECONDS = 60

MAKE_SEQUENCE = Query("make a sequence", "CREATE SEQUENCE trial")
MAKE_TABLE = Query("make a table of ids", "CREATE TABLE trial_turn (number BIGINT, id TEXT)")
TAKE = Query("take the next number of the sequence", "SELECT nextval('trial')")
KEEP = Query("keep an id by its number", "INSERT INTO trial_turn VALUES (:number, :id)")
SEE = Query("ids behind a number", "SELECT number, id FROM trial_turn WHERE number > :number ORDER BY number")
END = Query("end the own connection", "SELECT pg_terminate_backend(pg_backend_pid())")


class RolledBack(Exception):
    pass


class Trial:
    """Writers and readers of one store."""

    def __init__(self, store: Store) -> None:
        self.store, self.done = store, Event()
        self.is_server = "://" in store._database.backend.target

    def run(self, *more: Callable[[], list[str]]) -> list[list[str]]:
        """What each reader saw once all writers are through: the follower, the one that dies, and more."""
        with ThreadPoolExecutor(WRITERS + 2 + len(more)) as pool:
            readers = [pool.submit(read) for read in (self.follow, self.die_and_follow, *more)]
            writers = [pool.submit(self.write, number) for number in range(WRITERS)]
            try:
                for each in writers:
                    each.result(SECONDS)
            finally:
                self.done.set()
            return [each.result(SECONDS) for each in readers]

    def write(self, number: int) -> None:
        chance = Random(number)
        for index in range(TURNS_EACH):
            with suppress(RolledBack):
                self.write_one(f"{number}/{index}", chance)

    def write_one(self, words: str, chance: Random | None, before: Callable[[], object] = lambda: None) -> None:
        """One turn, with what chance does to it."""
        draft = make_draft(words, {"bookmark": "main", "force": True}, PAYLOAD_LIMIT_BYTES)
        odds = (0.3, 0.2, 0.15, 0.1)
        long, behind, undone, lost = (chance is not None and chance.random() < each for each in odds)
        lives = [lost and self.is_server]

        def work(connection: Connection) -> None:
            taken = connection.row(TAKE) if self.is_server else None
            before()
            time.sleep(0.02 if long and self.is_server else 0)
            lock_space(connection, self.store._number)
            [stored] = append(connection, self.store._number, [draft], self.store._database.mint).built
            if taken is not None:
                connection.run(KEEP, number=taken[0], id=stored.turn.id)
            time.sleep(0.005 if behind else 0)
            if lives[0]:
                lives[0] = False
                connection.row(END)  # and the work is run again, on another connection
            if undone:
                raise RolledBack

        database_of(self.store).write(work)

    def follow(self) -> list[str]:
        return list(self.ids())

    def ids(self) -> Iterator[str]:
        quiet = 0
        for change in self.store.follow(kinds="turn", pulse=0.05):
            if change.kind == "turn":
                yield change.turn.id
            # The first one may have been on its way when the last writer ended.
            quiet = quiet + 1 if change.kind == "pulse" and self.done.is_set() else 0
            if quiet == 2:
                return

    def die_and_follow(self) -> list[str]:
        """A reader that stores its cursor with its work, and dies after a few changes."""
        seen, cursor = list[str](), None
        while True:
            is_last = self.done.is_set()
            life = list(islice(self.store.follow(cursor, wait=False), LIVES))
            seen += [change.turn.id for change in life if change.kind == "turn"]
            cursor = life[-1].cursor
            if is_last and life[-1].kind == "live":
                return seen


def test_on_a_file_readers_see_what_was_committed(file_place: FilePlace) -> None:
    store = file_place.open(durability="normal")
    followed, died = Trial(store).run()
    committed = [turn.id for turn in store.turns()]
    assert 0 < len(committed) < WRITERS * TURNS_EACH
    assert (followed, died) == (committed, committed)


@pytest.mark.postgresql
def test_on_a_server_readers_see_what_was_committed_and_one_by_a_sequence_does_not(new_postgresql: str) -> None:
    with Store.open(new_postgresql) as store:
        for query in (MAKE_SEQUENCE, MAKE_TABLE):
            database_of(store).write(lambda connection, query=query: connection.run(query))  # type: ignore[misc]
        trial, has_number, was_passed = Trial(store), Event(), Event()

        def read_by_sequence() -> list[str]:
            seen, last = list[str](), 0
            while True:
                is_last = trial.done.is_set()
                read = partial(Connection.rows, query=SEE, number=last)
                for number, turn_id in database_of(store).read(read):
                    last, seen = number, [*seen, turn_id]
                    was_passed.set()
                if is_last:
                    return seen

        def write_late() -> list[str]:
            """Take the first number of all, and commit it once the reader by numbers is past it."""

            def wait() -> None:
                has_number.set()
                assert was_passed.wait(SECONDS)

            trial.write_one("late", None, wait)
            return []

        def write(number: int, original: Callable[[int], None] = trial.write) -> None:
            assert has_number.wait(SECONDS)
            original(number)

        trial.write = write  # type: ignore[method-assign]
        followed, died, by_sequence, _ = trial.run(read_by_sequence, write_late)
        committed = [turn.id for turn in store.turns()]
        late = {turn.id for turn in store.turns() if store.text(turn.id) == "late"}
        assert len(late) == 1
        assert late <= set(committed) - set(by_sequence)
        assert (followed, died) == (committed, committed)
        assert store.verify().problems == ()
