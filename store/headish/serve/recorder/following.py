"""The process that empties the spool: it stores each call that has ended, and then removes it from the spool.

It may be killed at any moment: the spool keeps calls that are not stored yet, and no call is stored twice. While the
database cannot be reached, calls wait in the spool, and a space that takes no calls does not hold up the others. A call
that cannot be stored at all is reported on stderr and counted; no other call waits for it.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from headish.errors import (
    DatabaseError,
    DatabaseFull,
    DatabaseLocked,
    DatabaseReadOnly,
    DatabaseReplaced,
    DatabaseTooNew,
    DatabaseTooOld,
    DatabaseUnavailable,
    HeadishError,
    NotADatabase,
    NotEntered,
    NotIsolated,
    NotReplicated,
    RoleMissing,
    SpaceRestoring,
    UnknownDatabase,
    UnknownSpace,
)
from headish.gateway.settings import ENDING_SIGNALS, STREAMS_SECONDS
from headish.gateway.spool import SpooledCall, SpoolReader, is_written, now
from headish.gateway.spool.state import SPOOL_FOLDER, RecorderState, living, write_state
from headish.serve.processes.settings import RecorderSettings
from headish.serve.recorder.arriving import ShownAnswers
from headish.serve.recorder.recording import CallRecorder
from headish.store.database import Database
from headish.values.access.wording import words_for_callers
from headish.values.checks.controls import report

LOOK_SECONDS = 0.1
"""How often the recorder reads the spool."""
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.5, 30.0
"""How long a space or a call rests after a failure; each failure in a row doubles it."""
TIDY_SECONDS = 3600.0
TOLD_MILLISECONDS = 1000
"""The longest time between two reports of the recorder's progress."""
_NEVER = (NotEntered, NotIsolated, RoleMissing, UnknownSpace)
"""Errors that waiting does not cure: the space of the call is not open to the recorder."""
_OF_THE_SPACE = (
    DatabaseLocked, DatabaseReadOnly, DatabaseFull, DatabaseUnavailable, DatabaseTooNew, DatabaseTooOld,
    DatabaseReplaced, NotADatabase, NotReplicated, SpaceRestoring, UnknownDatabase,
)  # fmt: skip
"""Errors that every call of a space would meet. Any other failure may be due to the call itself."""


class _Rest(Struct):
    """The rest of a space or a call that failed: how long it lasts, until when, and why."""

    seconds: float
    until: float
    reason: str


class SpoolFollower:
    """Stores the calls in a spool. ``say`` gets a line about each problem. Calls that cannot be stored now wait in the
    spool, and the recorder tries again, each time after a longer pause. A space that takes no calls rests as a whole,
    so that its calls keep their order; in a space that takes other calls, a call rests alone. If two calls fail in one
    look, the space may be the reason: it rests, and after that one more of its calls is tried.
    """

    def __init__(self, recorder: CallRecorder, folder: Path, say: Callable[[str], None]) -> None:
        self._recorder, self._folder, self._say = recorder, folder, say
        self._reader = SpoolReader(folder / SPOOL_FOLDER)
        self._answers = ShownAnswers(folder, recorder.describe)
        self._waiting: dict[str, SpooledCall] = {}
        self._spaces: dict[str, _Rest] = {}
        self._calls: dict[str, _Rest] = {}
        self._stored = self._failed = 0
        self._told: RecorderState | None = None
        self._unreadable: set[str] = set()

    def look(self, *, is_over: bool = False) -> bool:
        """Store every call that has ended. Returns whether the database took them. ``is_over``: no gateway writes any
        more, and calls that rest are tried once more.

        Raises: OSError if the spool cannot be read.
        """
        self._answers.look()
        for call in self._reader.read(is_over=is_over):
            space = self._recorder.space_of(call)
            if space in self._answers.watched and space not in self._spaces:  # a space that rests may answer slowly
                self._answers.show(call)
            if call.is_complete:
                self._waiting[call.id] = call
        self._answers.keep(self._reader)
        for id in sorted(self._reader.unreadable - self._unreadable):
            self._unreadable.add(id)
            reason = "a newer headish wrote it, or it was altered; it stays in the spool"
            self._say(f"headish recorder: the call {id} cannot be read: {reason}")
        # At the end nothing rests any more: there is no later look.
        moment = float("inf") if is_over else time.monotonic()
        failed: Counter[str] = Counter()
        resting: set[str] = set()
        for id, call in list(self._waiting.items()):
            if self._told is not None and now() - self._told.at > TOLD_MILLISECONDS:
                self._tell()  # a look at many calls takes long, and the gateway must not report a silent recorder
            space = self._recorder.space_of(call)
            if space in resting or _rests(self._spaces, space, moment) or _rests(self._calls, id, moment):
                continue
            if not self._try(call, space, failed):
                resting.add(space)
        self._reader.compact()
        self._tell()
        return not (self._spaces or self._calls)

    def _try(self, call: SpooledCall, space: str, failed: Counter[str]) -> bool:
        """Store a call, or note why it waits. Returns whether its space takes further calls. ``failed`` counts the
        calls of each space that failed in this look."""
        try:
            self._store(call)
        except DatabaseError as error:
            is_of_space = isinstance(error, _OF_THE_SPACE)
            if not is_of_space:
                failed[space] += 1
                # Only a call that fails for the first time: two that always fail would hold up all others for good.
                is_of_space = failed[space] > 1 and call.id not in self._calls
                self._rest(self._calls, call.id, error, f"the call {call.id} waits in the spool")
            if is_of_space:
                self._rest(self._spaces, space, error, f"calls of the space {space!r} wait in the spool")
            return not is_of_space
        self._spaces.pop(space, None)
        self._calls.pop(call.id, None)
        del self._waiting[call.id]
        self._reader.forget(call.id)
        return True

    def _rest(self, rests: dict[str, _Rest], key: str, error: DatabaseError, told: str) -> None:
        """Let a space or a call rest for twice as long as the last time. Report each new reason once."""
        last, words = rests.get(key), words_for_callers(error)
        seconds = FIRST_WAIT_SECONDS if last is None else min(2 * last.seconds, LONGEST_WAIT_SECONDS)
        rests[key] = _Rest(seconds, time.monotonic() + seconds, words)
        if last is None or last.reason != words:
            self._say(f"headish recorder: {told}: {error}")

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

    def _count_held(self) -> dict[str, int]:
        """The bytes of the waiting calls of each space that rests."""
        held = dict.fromkeys(self._spaces, 0)
        for call in self._waiting.values():
            space = self._recorder.space_of(call)
            if space in held:
                held[space] += call.size
        return held

    def _tell(self) -> None:
        told_at = now()
        ends = [call.end.at if call.end else call.begin.at for call in self._waiting.values()]
        aside = {space: rest.reason for space, rest in self._spaces.items()}
        reasons = [*aside.values(), *(rest.reason for rest in self._calls.values())]
        state = RecorderState(
            at=told_at,
            stored=self._stored,
            failed=self._failed,
            waiting=len(self._waiting),
            lag_milliseconds=max(0, told_at - min(ends)) if ends else 0,
            problem=reasons[-1] if reasons else None,
            aside=aside,
            refused=len(self._calls),
            held=self._count_held(),
            space=self._recorder.space,
        )
        last_told = self._told
        # abs: after the clock was set back, a report in the future must not be the last one for hours.
        if last_told is not None and abs(told_at - last_told.at) < TOLD_MILLISECONDS and _is_same(last_told, state):
            return
        self._told = state
        try:
            write_state(self._folder, state)
        except OSError:
            return  # on a full disk, a missing report is no reason to stop storing calls


def _rests(rests: dict[str, _Rest], key: str, moment: float) -> bool:
    return (rest := rests.get(key)) is not None and moment < rest.until


def _is_same(told: RecorderState, state: RecorderState) -> bool:
    """Whether two reports differ only in their time and in counts that only grow."""
    return (told.waiting, told.problem, told.aside) == (state.waiting, state.problem, state.aside)


def follow_spool(database: Database, folder: Path, space: str, ended: threading.Event) -> None:
    """Store calls until ``ended`` is set, then those that the spool still holds, if the database takes them."""
    recorder = CallRecorder(lambda name: database.store(name, create=True), space)
    follower = SpoolFollower(recorder, folder, report)
    tidied = time.monotonic()
    while not ended.is_set():
        follower.look()
        ended.wait(LOOK_SECONDS)
        if time.monotonic() - tidied > TIDY_SECONDS:
            tidied = time.monotonic()
            recorder.forget_unread()
    follower.look(is_over=True)
    follower.look(is_over=True)  # again: the file of an arriving answer goes one look after its call is stored


def run_recorder(settings: RecorderSettings) -> None:
    """Store calls until SIGTERM or SIGINT has come and the gateway has ended, too.

    If the parent was killed, both get the signal at the same moment, and the gateway still gives its streams time.
    Raises: DatabaseError if the database cannot be opened.
    """
    # The signal only announces the end: the gateway may still write what its last calls brought.
    reads, writes = os.pipe()
    ended = threading.Event()
    for number in ENDING_SIGNALS:
        # Not an Event: a second signal while it is being set would wait for its lock for ever.
        signal.signal(number, lambda *_: os.write(writes, b"."))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING_SIGNALS)
    spool = Path(settings.folder) / SPOOL_FOLDER
    threading.Thread(target=_end_behind_gateway, args=(spool, reads, ended), daemon=True).start()
    with Database.open(settings.target) as database, living(Path(settings.folder)):
        follow_spool(database, Path(settings.folder), settings.space, ended)


def _end_behind_gateway(spool: Path, signals: int, ended: threading.Event) -> None:
    """Set ``ended`` once a signal has come through the pipe ``signals`` and no gateway writes to the spool any more."""
    os.read(signals, 1)
    until = time.monotonic() + STREAMS_SECONDS
    while is_written(spool) and time.monotonic() < until:
        time.sleep(LOOK_SECONDS)
    ended.set()
