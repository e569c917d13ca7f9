"""Sync with remotes at intervals, in a process of its own: a remote that is slow or gone holds up no call, no page and
no other remote.

Each remote has a thread, so it is never synced with twice at once. A sync that is cut off, also by the end of the
server, is continued by the next one.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from headish.errors import HeadishError
from headish.store.database import Database
from headish.store.keeping.schedules import SCHEDULE_FILE, write_runs
from headish.store.store import Store
from headish.values.checks.controls import report
from headish.values.results.sharing import SyncRun

LOG = logging.getLogger("headish.serve")
LONGEST_PAUSE_SECONDS = 1800.0
"""Each failure in a row doubles the pause before the next sync, up to this; a longer interval stays as it is."""
END_SECONDS = 3.0
"""How long a begun sync may continue when the server ends."""

Say = Callable[[str], None]


class SyncEvery(Struct, frozen=True):
    """How often to sync with a remote, counted from the end of a sync to the beginning of the next."""

    remote: str
    seconds: float


class SyncerSettings(Struct, frozen=True):
    """The settings of the process: the database, the server's folder, the space, and its remotes."""

    target: str
    folder: str
    space: str
    remotes: tuple[SyncEvery, ...]


class Timetable:
    """Syncs with the remotes of a store, each in a thread, until ``end`` is called. ``say`` gets a line about each new
    failure."""

    def __init__(self, settings: SyncerSettings, store: Store, say: Say) -> None:
        self._settings, self._store, self._say = settings, store, say
        self._ended, self._lock = threading.Event(), threading.Lock()
        self._runs: dict[str, SyncRun] = {}
        self._threads = [
            threading.Thread(target=self._keep, args=(each,), name=f"sync-{each.remote}", daemon=True)
            for each in settings.remotes
        ]

    def begin(self) -> None:
        """Sync with each remote at once, then again and again."""
        for thread in self._threads:
            thread.start()

    def end(self) -> bool:
        """Begin no further sync; return whether all begun syncs ended within ``END_SECONDS``."""
        self._ended.set()
        until = time.monotonic() + END_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        with suppress(FileNotFoundError):
            os.unlink(Path(self._settings.folder) / SCHEDULE_FILE)
        return not any(thread.is_alive() for thread in self._threads)

    def _keep(self, each: SyncEvery) -> None:
        run = SyncRun(self._settings.space, each.remote, each.seconds)
        while not self._ended.is_set():
            run = self._note(replace(run, begun=_now(), next=None))
            run = self._sync(run)
            pause = pause_seconds(each.seconds, run.failed)
            run = self._note(replace(run, begun=None, next=_now() + timedelta(seconds=pause)))
            self._ended.wait(pause)

    def _sync(self, run: SyncRun) -> SyncRun:
        try:
            self._store.remotes.exchange(run.remote)
        except HeadishError as error:
            return self._failed(run, str(error))
        except Exception:
            LOG.exception("sync with %s", run.remote)
            return self._failed(run, "it failed; see the log of the server")
        if run.failed:
            self._say(f"headish sync: {run.remote}: synced again")
        return replace(run, last=_now(), failed=0, error="")

    def _failed(self, run: SyncRun, error: str) -> SyncRun:
        # Once as long as the reason stays the same (ADR 0102). At the end, a sync that is cut off is not a failure.
        if error != run.error and not self._ended.is_set():
            self._say(f"headish sync: {run.remote}: {error}")
        return replace(run, failed=run.failed + 1, error=error)

    def _note(self, run: SyncRun) -> SyncRun:
        with self._lock:
            self._runs[run.remote] = run
            if not self._ended.is_set():
                try:
                    write_runs(Path(self._settings.folder), self._runs.values())
                except OSError as error:  # a full disk, for example; the next change writes the file, or warns again
                    LOG.warning("how the syncs stand cannot be written: %s", error)
        return run


def pause_seconds(every_seconds: float, failed: int) -> float:
    """How long to wait before the next sync, after ``failed`` failures in a row."""
    longest = max(every_seconds, LONGEST_PAUSE_SECONDS)
    return min(every_seconds * 2.0 ** min(failed, 20), longest)  # 20: a float overflows after a thousand failures


def _now() -> datetime:
    return datetime.now(UTC)


def run_syncer(settings: SyncerSettings) -> None:
    """Sync until SIGTERM or SIGINT. Raises: as ``Database.open`` and ``Database.store``."""
    reads, writes = os.pipe()
    for number in (signal.SIGTERM, signal.SIGINT):
        # Not an Event: a second signal while it is being set would wait for its lock for ever.
        signal.signal(number, lambda *_: os.write(writes, b"."))
    with Database.open(settings.target, create=False) as database:
        store = database.store(settings.space, create=False)
        timetable = Timetable(settings, store, report)
        timetable.begin()
        os.read(reads, 1)
        if not timetable.end():
            # Cut off the syncs under way, as a lost connection would. Commands that reach remotes are in this group.
            if os.getpgrp() == os.getpid():
                os.killpg(0, signal.SIGTERM)
            os._exit(0)
