"""Let the threads that write to one SQLite database share commits, because each commit waits for the disk.

A caller joins the open group and waits at its *gate*. The first caller through the gate leads: it waits for the lock of
the database, begins a transaction, runs its own job, then the jobs of the others in the group, each in a savepoint, and
commits once. The others come through the gate after it and find their answers. A caller that finds none leads in turn.

An exception may come at any byte code, from a signal's handler or because the thread is cancelled. So nothing here
relies on a Python handler for its cleanup, which a second exception could cut off:

- ``with`` releases gates and locks in C.
- COMMIT and the note that it succeeded are one call in C. Every job of the transaction refers to that note, so the note
  answers all of them at once, whichever thread survives.
- If a transaction fails, a job that another thread began in it is run again only by its own caller. So no job runs
  after its caller has gone, and a job that breaks transactions breaks only its own the second time.
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
"""The largest number of jobs that share a commit, so that a leader does not wait for its answer without end."""
GROUP_PAGES = 256
"""A leader begins no more jobs of others once they have made the file this many pages longer."""


class Writing(Protocol):
    """The parts of a database that the leading thread calls."""

    target: str

    def wait_to_write(self, attempt: Callable[[], T], since: float) -> T:
        """Try until no other process has the file's write lock. The caller has waited since ``since``.

        Raises: DatabaseError for the driver's errors.
        """
        ...

    def write_once(self, run: Callable[[sqlite3.Cursor], T], committed: list[object]) -> T:
        """Run in one transaction with the write lock. ``committed`` is no longer empty once it is committed.

        Raises: the driver's errors; DatabaseError if the COMMIT failed; DatabaseReplaced; Closed.
        """
        ...

    def connection(self, cursor: sqlite3.Cursor) -> Connection: ...

    def end_writing(self, *, others_wait: bool) -> None:
        """Do the upkeep between two transactions. The caller has the lock of the process's writers."""
        ...


class _Commit:
    """The outcome of one transaction. ``done`` is no longer empty once it is committed.

    ``is_due``: all jobs have run, so an error from here on is one of the COMMIT. ``failure`` is that error.
    """

    __slots__ = ("done", "failure", "is_due")

    def __init__(self) -> None:
        self.done: list[object] = []
        self.failure: DatabaseError | None = None
        self.is_due = False


_BEGUN = _Commit()
"""The commit of a job whose own caller is about to run it, so that no other thread does."""


class _Job(Generic[T]):
    """A caller's piece of work. It has begun once it has a ``commit``, and is answered once that has an outcome."""

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
            if failure is not None:  # a copy for each caller: an exception's traceback belongs to one thread
                raise type(failure)(failure.target, failure.reason) from failure.__cause__
            if refusal is not None:
                raise refusal
            return self.result
        finally:
            self.refusal = failure = refusal = None  # else an exception and its traceback would refer to each other


class _Group:
    """Jobs that may share a commit, in the order in which their callers came."""

    __slots__ = ("gate", "jobs")

    def __init__(self) -> None:
        self.gate = threading.RLock()
        self.jobs: list[_Job[Any]] = []


class _Broken(Exception):
    """A job of another caller ended the transaction that it shared, so all of it was undone."""


class SharedCommits:
    """The writers of one database in one process. Every write takes ``lock``; work that must run alone does, too."""

    def __init__(self, writing: Writing, lock: threading.RLock) -> None:
        self._writing, self._lock = writing, lock
        self._is_leading: Callable[[], bool] = lock._is_owned  # type: ignore[attr-defined]  # Condition asks so too
        self._open = _Group()

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run a piece of work, maybe in another thread, and return its result after the commit.

        Raises: what the work raised, and then nothing of it is stored; DatabaseError.
        """
        # The lock is reentrant, so a write inside of a write would get past it, and wait for its own transaction.
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
        """Add a job to the open group. No lock is needed: a job in a group that has just closed is led by its own
        caller."""
        group = self._open
        if len(group.jobs) >= GROUP_JOBS:
            group = self._open = _Group()
        group.jobs.append(job)
        return group

    def _withdraw(self, job: _Job[Any]) -> None:
        """Keep a job from being begun, and drop it: the group may stay open for long, with the content of a call that
        has ended.

        If the removal makes a leader skip the next job of the list, that job's caller leads it.
        """
        job.is_withdrawn = True
        with suppress(ValueError):
            self._open.jobs.remove(job)

    def _lead(self, group: _Group, own: _Job[Any]) -> None:
        own.commit = _BEGUN  # first: no other thread may run it any more, whatever happens to this one
        with self._lock:
            while True:
                self._writing.wait_to_write(lambda: self._try(group, own), own.since)
                if own.is_answered:
                    break
            self._writing.end_writing(others_wait=bool(self._open.jobs))

    def _try(self, group: _Group, own: _Job[Any]) -> None:
        commit = own.commit = _Commit()  # a new one: the attempt before it was rolled back

        def run(cursor: sqlite3.Cursor) -> None:
            # The leader's own job first, without a savepoint: if it is refused, no other job has begun or lost time.
            own.result = own.work(self._writing.connection(cursor))
            for job in self._waiting(group, cursor):
                self._run_shared(cursor, job, commit)
            commit.is_due = True

        try:
            self._writing.write_once(run, commit.done)
        except _Broken:
            return  # to be tried again; jobs of others that had begun are left to their callers, so this ends
        except DatabaseError as error:
            if commit.is_due:
                commit.failure = error
            raise

    def _waiting(self, group: _Group, cursor: sqlite3.Cursor) -> Iterator[_Job[Any]]:
        """The jobs that no thread has begun, including those that join meanwhile. Closes the group at the end if others
        were in it."""
        most = 0
        for job in group.jobs:
            if job.commit is None and not job.is_withdrawn:
                [pages] = cursor.execute("PRAGMA page_count").fetchone()
                most = most or pages + GROUP_PAGES
                if pages > most:
                    break
                yield job
        if len(group.jobs) == 1:
            # The leader was alone. A job that joins at this very moment is removed as well, and led by its own caller.
            group.jobs.clear()
        elif self._open is group:
            self._open = _Group()

    def _run_shared(self, cursor: sqlite3.Cursor, job: _Job[Any], commit: _Commit) -> None:
        """Run a job of another caller in a savepoint. If it is refused, only this job is undone."""
        job.commit = commit
        try:
            cursor.execute("SAVEPOINT job")
            job.refusal = self._run_undone(cursor, job)
            cursor.execute("RELEASE job")
        except sqlite3.Error as error:
            raise _Broken from error

    def _run_undone(self, cursor: sqlite3.Cursor, job: _Job[Any]) -> Exception | None:
        """Run a job. Returns the exception that it raised, once its changes are undone; None if it succeeded."""
        try:
            job.result = job.work(self._writing.connection(cursor))
            return None
        # A refusal follows from a rule, so a second run would give the same. Any other exception may be a signal's.
        except HeadishError as refusal:
            cursor.execute("ROLLBACK TO job")
            return refusal
        except sqlite3.Error:
            raise
        except Exception as error:
            cursor.execute("ROLLBACK TO job")
            return self._run_again(cursor, job, error)

    def _run_again(self, cursor: sqlite3.Cursor, job: _Job[Any], error: Exception) -> Exception:
        """Run a job again and return what it raises. If it raises nothing now, a signal's handler raised ``error``,
        which then belongs to this thread."""
        try:
            job.work(self._writing.connection(cursor))
        except Exception as again:
            cursor.execute("ROLLBACK TO job")
            return again
        raise error
