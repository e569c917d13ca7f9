"""The journal of one answer while it arrives: events are written in batches, and the lease is kept alive.

What was fed half a second ago survives ``kill -9``. A small thread writes what waits while the provider is silent, and
renews the lease; it dies with the journal, so that a writer that is gone loses its lease, and somebody else may recover
what it had.
"""

from __future__ import annotations

import threading
import time
import weakref

from msgspec import Struct

from headish import journals
from headish.dialects import Connection, Database
from headish.errors import DatabaseError
from headish.ids import TurnId

LEASE_SECONDS = 30.0
"""How long a stream belongs to a writer that is not heard of."""
FLUSH_SECONDS = 0.5
FLUSH_BYTES = 64 * 1024
KEPT_SECONDS = 24 * 60 * 60
"""How long it is remembered what became of a stream that has ended."""


class About(Struct, frozen=True, omit_defaults=True):
    """What an answer belongs to: the turns it continues, the bookmark it was asked by, and who was asked for what.

    ``replaces`` is the turn whose place it takes, where it was asked for again: the bookmark moves over from there.
    """

    provider: str
    turns: tuple[TurnId, ...]
    bookmark: str | None = None
    model: str | None = None
    ptr: str | None = None
    tool_names: dict[str, str] = {}
    replaces: TurnId | None = None


class Journal:
    """Keeps the events of a stream. Safe to use while its own thread writes.

    A write that fails does not stop the answer: what arrives is in memory still, and is written with the next batch.
    """

    def __init__(self, database: Database, space: int, id: TurnId, about: bytes, lease_seconds: float) -> None:
        self.id = id
        self._database, self._space, self._lease_seconds = database, space, lease_seconds
        self._lock = threading.Lock()
        self._waiting: list[bytes] = []
        self._waiting_bytes = self._number = 0
        self._open = True
        self._written = self._renewed = time.monotonic()
        now = _milliseconds()
        forget_before = now - int(KEPT_SECONDS * 1000)
        expires = now + int(lease_seconds * 1000)
        database.write(lambda connection: journals.open_stream(connection, space, id, about, expires, forget_before))
        self._stop = threading.Event()
        tick = min(FLUSH_SECONDS, lease_seconds / 4)
        threading.Thread(target=_keep, args=(weakref.ref(self), self._stop, tick), daemon=True).start()

    def add(self, event: bytes) -> None:
        """Keep an event; it is written at once where much waits, or something for long."""
        with self._lock:
            self._waiting.append(event)
            self._waiting_bytes += len(event)
            if self._waiting_bytes >= FLUSH_BYTES or time.monotonic() - self._written >= FLUSH_SECONDS:
                self._flush()

    def keep(self) -> None:
        """Write what waits, and renew the lease where it is due; called by the journal's thread."""
        with self._lock:
            due = time.monotonic() - self._renewed >= self._lease_seconds / 3
            if self._open and (self._waiting or due):
                self._flush()

    def close(self) -> None:
        """Write nothing more. What is stored of the stream is closed by whoever stores its turn."""
        self._stop.set()
        with self._lock:
            self._open = False

    def _flush(self) -> None:
        if not self._open:
            return
        data, number = b"\n".join(self._waiting), self._number
        expires = _milliseconds() + int(self._lease_seconds * 1000)

        def work(connection: Connection) -> bool:
            if not data:
                return journals.renew_stream(connection, self._space, self.id, expires)
            return journals.add_chunk(connection, self._space, self.id, number, data, expires)

        try:
            self._open = self._database.write(work)
        except DatabaseError:
            return  # the database is in the way now; it is asked again, and the turn itself is stored at the end
        self._written = self._renewed = time.monotonic()
        self._number += bool(data)
        self._waiting, self._waiting_bytes = [], 0


def _keep(journal: weakref.ref[Journal], stop: threading.Event, tick: float) -> None:
    """Look after a journal until it is closed, or nobody has it any more."""
    while not stop.wait(tick):
        kept = journal()
        if kept is None:
            return
        kept.keep()
        del kept


def _milliseconds() -> int:
    return time.time_ns() // 1_000_000
