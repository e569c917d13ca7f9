"""Threads that write to one SQLite database share commits, and so the disk's answer that each of them waits for.

A caller joins the group that is open and waits at its *gate*. The first one through the gate leads: it waits for the
database's lock, begins a transaction, runs its own job, then the jobs of the others in the group, each in a savepoint,
and commits once. The others come through the gate after it and find their answers; one that finds none leads in turn.

An exception may be raised at any byte code: by a signal's handler, or in a thread that is cancelled. Nothing here is
tidied up by a handler of Python's that a second exception could cut off:

- Gates and locks are let go in C, by ``with``.
- COMMIT and the note that it succeeded are one call in C. Every job of the transaction refers to that note, so all of
  them are answered by it at once, whoever is left to say so.
- A job that somebody else began in a transaction that came to nothing is run again by its own caller alone. So it is
  never run after its caller has gone, and a job that breaks transactions breaks only its own the second time.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Generic, Protocol, TypeVar

from headish.database.query import Connection
from headish.errors import DatabaseError, DatabaseLocked, HeadishError

T = TypeVar("T")

GROUP_JOBS = 64
"""How many jobs share a commit at the most: a leader is answered after that many."""
GROUP_PAGES = 256
"""By how many pages the jobs of others may make the file longer before a leader begins no more of them."""


class Writing(Protocol):
    """What a database does for the thread that leads."""

    target: str

    def wait_to_write(self, attempt: Callable[[], T], since: float) -> T:
        """Try until nobody else has the file's write lock. ``since``: when the caller began to wait.

        Raises: DatabaseError for the driver's errors.
        """
        ...

    def write_once(self, run: Callable[[sqlite3.Cursor], T], committed: list[object]) -> T:
        """Run in one transaction with the write lock; ``committed`` holds something as soon as it is committed.

        Raises: the driver's errors; DatabaseError if the COMMIT failed; DatabaseReplaced; Closed.
        """
        ...

    def connection(self, cursor: sqlite3.Cursor) -> Connection: ...

    def end_writing(self, *, others_wait: bool) -> None:
        """What is to be done now and then between two transactions, by whoever has the write lock."""
        ...


class _Commit:
    """What became of one transaction: ``done`` holds something once it is committed."""

    __slots__ = ("done", "failure", "is_due")

    def __init__(self) -> None:
        self.done: list[object] = []
        self.failure: DatabaseError | None = None
        self.is_due = False


_BEGUN = _Commit()
"""What a job has that its own caller is about to run: nobody else runs it any more."""


class _Job(Generic[T]):
    """What a caller wants done. It has begun once it has a ``commit``, and is answered once that has an outcome."""

    __slots__ = ("commit", "is_withdrawn", "refusal", "result", "since", "work")

    def __init__(self, work: Callable[[Connection], T]) -> None:
        self.work, self.since = work, time.monotonic()
        self.commit: _Commit | None = None
        self.is_withdrawn = False
        self.result: T
        self.refusal: Exception | None = None

    @property
    def is_answered(self) -> bool:
        return self.commit is not None and bool(self.commit.done or self.commit.failure)

    def answer(self) -> T:
        assert self.commit is not None
        failure, refusal = self.commit.failure, self.refusal
        try:
            if failure is not None:  # each caller gets an exception of its own: a traceback belongs to one thread
                raise type(failure)(failure.target, failure.reason) from failure.__cause__
            if refusal is not None:
                raise refusal
            return self.result
        finally:
            self.refusal = failure = refusal = None  # else an exception and its traceback would keep each other


class _Group:
    """Jobs that may share a commit, in the order in which their callers came."""

    __slots__ = ("gate", "jobs")

    def __init__(self) -> None:
        self.gate = threading.RLock()
        self.jobs: list[_Job[Any]] = []


class _Broken(Exception):
    """Somebody else's job ended the transaction that it shared; all of it was undone."""


class SharedCommits:
    """The writers of one database in one process. ``lock`` is what everybody needs who writes, or who must be alone."""

    def __init__(self, writing: Writing, lock: threading.RLock) -> None:
        self._writing, self._lock = writing, lock
        self._is_leading: Callable[[], bool] = lock._is_owned  # type: ignore[attr-defined]  # Condition asks so too
        self._open = _Group()

    def write(self, work: Callable[[Connection], T]) -> T:
        """What a piece of work returns, once it is committed. It may be run by another thread.

        Raises: what the work raised, and then nothing of it is stored; DatabaseError.
        """
        if self._is_leading():
            raise DatabaseLocked(self._writing.target, "a write of this very thread is under way; write after it")
        job = _Job(work)
        try:
            group = self._join(job)
            with group.gate:
                if not job.is_answered:
                    self._lead(group, job)
        except BaseException:
            self._withdraw(job)
            raise
        return job.answer()

    def _join(self, job: _Job[Any]) -> _Group:
        """No lock is needed: a job that lands in a group that was just closed is led by its own caller."""
        group = self._open
        if len(group.jobs) >= GROUP_JOBS:
            group = self._open = _Group()
        group.jobs.append(job)
        return group

    def _withdraw(self, job: _Job[Any]) -> None:
        """Begin it no more, and keep no content of a call that has ended: the group may stay open for long.

        Should a leader pass over the next job because of this, that one's caller leads it.
        """
        job.is_withdrawn = True
        with suppress(ValueError):
            self._open.jobs.remove(job)

    def _lead(self, group: _Group, own: _Job[Any]) -> None:
        own.commit = _BEGUN  # whatever happens to its caller now
        with self._lock:
            while True:
                self._writing.wait_to_write(lambda: self._try(group, own), own.since)
                if own.is_answered:
                    break
            self._writing.end_writing(others_wait=bool(self._open.jobs))

    def _try(self, group: _Group, own: _Job[Any]) -> None:
        commit = own.commit = _Commit()  # a new one: what an attempt before it began has come to nothing

        def run(cursor: sqlite3.Cursor) -> None:
            # Its own job first: if that is refused, nothing of the others has begun, and they lose no time.
            own.result = own.work(self._writing.connection(cursor))
            for job in self._waiting(group, cursor):
                self._run_shared(cursor, job, commit)
            commit.is_due = True

        try:
            self._writing.write_once(run, commit.done)
        except _Broken:
            return  # what was begun of the others is not taken again, so this ends
        except DatabaseError as error:
            if commit.is_due:
                commit.failure = error
            raise

    def _waiting(self, group: _Group, cursor: sqlite3.Cursor) -> Iterator[_Job[Any]]:
        """The jobs that nobody has begun, also those that join meanwhile; then the group is closed, if it was one."""
        most = 0
        for job in group.jobs:
            if job.commit is None and not job.is_withdrawn:
                [pages] = cursor.execute("PRAGMA page_count").fetchone()
                most = most or pages + GROUP_PAGES
                if pages > most:
                    break
                yield job
        if len(group.jobs) == 1:
            # The leader was alone. A job that joins at this very moment goes, too, and is led by its own caller.
            group.jobs.clear()
        elif self._open is group:
            self._open = _Group()

    def _run_shared(self, cursor: sqlite3.Cursor, job: _Job[Any], commit: _Commit) -> None:
        """Run a job that has another caller; if it is refused, undo it alone."""
        job.commit = commit
        try:
            cursor.execute("SAVEPOINT job")
            job.refusal = self._run_undone(cursor, job)
            cursor.execute("RELEASE job")
        except sqlite3.Error as error:
            raise _Broken from error

    def _run_undone(self, cursor: sqlite3.Cursor, job: _Job[Any]) -> Exception | None:
        """Run a job; what it raised, when that was undone."""
        try:
            job.result = job.work(self._writing.connection(cursor))
            return None
        # A refusal is a rule's answer: to run it again would only say the same. Any other exception may be a signal's.
        except HeadishError as refusal:
            cursor.execute("ROLLBACK TO job")
            return refusal
        except sqlite3.Error:
            raise
        except Exception as error:
            cursor.execute("ROLLBACK TO job")
            return self._run_again(cursor, job, error)

    def _run_again(self, cursor: sqlite3.Cursor, job: _Job[Any], error: Exception) -> Exception:
        """What a job raises the second time. If that is nothing, it was a signal's handler that raised ``error``."""
        try:
            job.work(self._writing.connection(cursor))
        except Exception as again:
            cursor.execute("ROLLBACK TO job")
            return again
        raise error
