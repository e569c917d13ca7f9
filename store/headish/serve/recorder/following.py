"""The process that empties the spool: it stores each call that has ended, and forgets it then.

It may be killed at any moment: what is not stored stands in the spool still, and what is stored is not stored again.
While the database cannot be reached, calls wait in the spool. A call that cannot be stored at all is told on stderr and
counted; nobody waits for it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from headish.errors import DatabaseError, HeadishError, NotEntered, NotIsolated, RoleMissing, UnknownSpace
from headish.gateway.running import ENDING_SIGNALS, SPOOL_FOLDER, STREAMS_SECONDS
from headish.gateway.spool import SpooledCall, SpoolReader, is_written
from headish.serve.processes.settings import RecorderSettings
from headish.serve.recorder.recording import CallRecorder
from headish.serve.recorder.states import STATE_FILE, RecorderState
from headish.store.database import Database

LOOK_SECONDS = 0.1
"""How often the spool is looked at."""
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.5, 30.0
"""How long the recorder waits for a database that fails; each failure in a row doubles it."""
TIDY_SECONDS = 3600.0
_NEVER = (NotEntered, NotIsolated, RoleMissing, UnknownSpace)
"""What no waiting mends: the space of that call is not open to the recorder."""


class SpoolFollower:
    """Stores what stands in a spool. ``say`` is told what goes wrong."""

    def __init__(self, recorder: CallRecorder, folder: Path, say: Callable[[str], None]) -> None:
        self._recorder, self._folder, self._say = recorder, folder, say
        self._reader = SpoolReader(folder / "spool")
        self._waiting: dict[str, SpooledCall] = {}
        self._stored = self._failed = 0
        self._problem: str | None = None
        self._told: RecorderState | None = None

    def look(self, *, is_over: bool = False) -> bool:
        """Store every call that has ended; whether the database took them. ``is_over``: no gateway writes any more.

        Raises: OSError where the spool cannot be read.
        """
        for call in self._reader.read(is_over=is_over):
            if call.is_complete:
                self._waiting[call.id] = call
        try:
            for id in list(self._waiting):
                self._store(self._waiting[id])
                del self._waiting[id]
                self._reader.forget(id)
            self._problem = None
        except DatabaseError as error:
            if self._problem is None:
                self._say(f"headish recorder: calls wait in the spool: {error}")
            self._problem = str(error)
        self._tell()
        return self._problem is None

    def _store(self, call: SpooledCall) -> None:
        try:
            self._stored += self._recorder.record(call) is not None
        except _NEVER as error:
            self._give_up(call, error)
        except DatabaseError:
            raise
        except Exception as error:  # one call that nobody foresaw must not keep all others from being stored
            self._give_up(call, error)

    def _give_up(self, call: SpooledCall, error: Exception) -> None:
        self._failed += 1
        reason = str(error) if isinstance(error, HeadishError) else type(error).__name__
        self._say(f"headish recorder: the call {call.id} cannot be stored: {reason}")

    def _tell(self) -> None:
        now = time.time_ns() // 1_000_000
        ends = [call.end.at if call.end else call.begin.at for call in self._waiting.values()]
        lag = max(0, now - min(ends)) if ends else 0
        state = RecorderState(now, self._stored, self._failed, len(self._waiting), lag, self._problem)
        told = self._told
        if told is not None and now - told.at < 1000 and (told.waiting, told.problem) == (state.waiting, state.problem):
            return
        self._told = state
        part = self._folder / f"{STATE_FILE}.part"
        try:
            part.write_bytes(msgspec.json.encode(state))
            os.replace(part, self._folder / STATE_FILE)
        except OSError:
            return  # a full disk: what it would say is no reason to stop


def follow_spool(database: Database, folder: Path, space: str, ended: threading.Event) -> None:
    """Store what passes until ``ended`` is set; then what the spool holds still, if the database takes it."""
    recorder = CallRecorder(lambda name: database.store(name, create=True), space)
    follower = SpoolFollower(recorder, folder, _say)
    wait, tidied = FIRST_WAIT_SECONDS, time.monotonic()
    while not ended.is_set():
        if follower.look():
            wait = FIRST_WAIT_SECONDS
            ended.wait(LOOK_SECONDS)
        else:
            ended.wait(wait)
            wait = min(2 * wait, LONGEST_WAIT_SECONDS)
        if time.monotonic() - tidied > TIDY_SECONDS:
            tidied = time.monotonic()
            recorder.forget_unread()
    follower.look(is_over=True)
    follower.look(is_over=True)  # segments of which all is stored go at the end of a look


def run_recorder(settings: RecorderSettings) -> None:
    """Store what passes until SIGTERM or SIGINT, and from then on until the gateway has ended, too.

    Where the parent was killed, both are told to end in the same moment, and the gateway's streams still have time.
    Raises: DatabaseError where there is no database to open.
    """
    told, ended = threading.Event(), threading.Event()
    for number in ENDING_SIGNALS:
        signal.signal(number, lambda *_: told.set())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING_SIGNALS)
    spool = Path(settings.folder) / SPOOL_FOLDER
    threading.Thread(target=_end_behind_gateway, args=(spool, told, ended), daemon=True).start()
    with Database.open(settings.target) as database:
        follow_spool(database, Path(settings.folder), settings.space, ended)


def _end_behind_gateway(spool: Path, told: threading.Event, ended: threading.Event) -> None:
    """Set ``ended`` once ``told`` is set and nobody writes to the spool any more."""
    told.wait()
    until = time.monotonic() + STREAMS_SECONDS
    while is_written(spool) and time.monotonic() < until:
        time.sleep(LOOK_SECONDS)
    ended.set()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
