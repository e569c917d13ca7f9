"""The journal of one answer while it arrives: events are written in batches, and the lease is kept alive.

Events that were fed half a second ago survive ``kill -9``. A small thread writes waiting events while the provider is
silent, and renews the lease. It ends with the journal, so a writer that is gone loses its lease, and another process
may recover its events.
"""

from __future__ import annotations

import threading
import time
import weakref
from typing import Any

from msgspec import Struct

from headish.database.backend import Backend
from headish.database.query import Connection
from headish.errors import Closed, DatabaseError
from headish.providers.shared.values import Request
from headish.rows import streams
from headish.rows.counters import lock_space
from headish.values.ids import TurnId

LEASE_SECONDS = 30.0
"""How long a stream belongs to its writer without a renewal."""
FLUSH_SECONDS = 0.5
FLUSH_BYTES = 64 * 1024
KEPT_SECONDS = 24 * 60 * 60
"""How long the outcome of an ended stream is remembered."""


class About(Struct, frozen=True, omit_defaults=True):
    """What an answer belongs to: the turns it continues, the bookmark it was asked by, and who was asked for what.

    ``base_url`` is the server that this call named in place of the pointer's, and ``key_env`` names its key: a retry
    goes there, too. ``params`` were given for this call alone. ``replaces`` is the turn whose place it takes, if it was
    asked for again: the bookmark moves over from there. ``batch`` is the batch in which it was asked, ``dialect`` the
    one that the answer is read in, ``schema`` the one that it has to follow.
    """

    provider: str
    turns: tuple[TurnId, ...]
    bookmark: str | None = None
    model: str | None = None
    ptr: str | None = None
    tool_names: dict[str, str] = {}
    replaces: TurnId | None = None
    base_url: str | None = None
    key_env: str | None = None
    params: dict[str, Any] = {}
    batch: str | None = None
    dialect: str | None = None
    schema: dict[str, Any] | None = None

    @classmethod
    def of_request(cls, request: Request) -> About:
        """Note what the reply to a request belongs to.

        Keeps only the name of a pointer: its server is looked up when the question is asked again.
        """
        without_pointer = request.ptr is None
        return cls(
            provider=request.provider,
            turns=request.turns,
            bookmark=request.bookmark,
            model=request.model,
            ptr=request.ptr,
            tool_names=dict(request.tool_names),
            base_url=request.base_url if without_pointer else None,
            key_env=request.key_env if without_pointer else None,
            params=dict(request.params),
            dialect=request.dialect,
            schema=request.schema,
        )

    @property
    def asked(self) -> dict[str, Any]:
        """The pointer or server that was asked, and how, as the turn's meta stores it."""
        fields = {"ptr": self.ptr, "base_url": self.base_url, "key_env": self.key_env, "params": self.params or None}
        fields |= {"batch": self.batch, "dialect": self.dialect}
        return {key: value for key, value in fields.items() if value is not None}


class Journal:
    """Keeps the events of a stream: ``add`` takes them at once, a thread of the journal's own writes them.

    So a slow or locked database does not hold up the answer: events stay in memory, and are written with the next
    batch.
    """

    def __init__(self, database: Backend, space: int, id: TurnId, about: bytes, lease_seconds: float) -> None:
        self.id = id
        self._database, self._space, self._lease_seconds = database, space, lease_seconds
        # Two locks: events must be taken while a slow database holds up the writing of those before them.
        self._lock, self._writing = threading.Lock(), threading.Lock()
        self._waiting: list[bytes] = []
        self._waiting_bytes = self._number = 0
        self._open = True
        self._renewed = time.monotonic()
        now = _milliseconds()
        forget_before = now - int(KEPT_SECONDS * 1000)
        expires = now + int(lease_seconds * 1000)

        def begin(connection: Connection) -> None:
            lock_space(connection, space)  # raises if the space was erased or removed meanwhile
            streams.open_stream(connection, space, id, about, expires, forget_before)

        database.write(begin)
        self._wake = threading.Event()
        tick = min(FLUSH_SECONDS, lease_seconds / 4)
        # A weak reference: otherwise the thread would renew the lease of an answer that nobody reads any more.
        threading.Thread(target=_keep, args=(weakref.ref(self), self._wake, tick), daemon=True).start()

    def add(self, event: bytes) -> None:
        """Keep an event; the thread writes it at its next tick, or at once if much waits."""
        with self._lock:
            self._waiting.append(event)
            self._waiting_bytes += len(event)
            if self._waiting_bytes >= FLUSH_BYTES:
                self._wake.set()

    def keep(self) -> bool:
        """Write the waiting events now, if the database can take them, and renew the lease if it is due. Return whether
        the journal is still open."""
        with self._writing:
            with self._lock:
                events, self._waiting, self._waiting_bytes = self._waiting, [], 0
            # A third: a renewal that fails is tried again long before the lease runs out.
            due = time.monotonic() - self._renewed >= self._lease_seconds / 3
            if self._open and (events or due) and not self._write(b"\n".join(events)):
                with self._lock:
                    # In front: newer ones may have come meanwhile, and the journal is read in the order of its chunks.
                    self._waiting[:0] = events
                    self._waiting_bytes = sum(map(len, self._waiting))
            return self._open

    def close(self) -> None:
        """Write nothing more. Whoever stores the turn closes the stored stream."""
        self._open = False
        self._wake.set()

    def _write(self, data: bytes) -> bool:
        """Write a chunk, if there is one, and renew the lease. False if the database cannot take it now: try again
        later."""
        number, expires = self._number, _milliseconds() + int(self._lease_seconds * 1000)

        def work(connection: Connection) -> bool:
            if not data:
                return streams.renew_stream(connection, self._space, self.id, expires)
            return streams.add_chunk(connection, self._space, self.id, number, data, expires)

        try:
            # False: another process has ended the stream, because the lease had run out.
            if not self._database.write(work):
                self._open = False
        except Closed:  # the program closed the database, and so gave the answer up: a recovery finds what is stored
            self._open = False
            return True
        except DatabaseError:  # the events stay in memory, and are written with the next ones
            return False
        self._renewed = time.monotonic()
        self._number += bool(data)
        return True


def _keep(journal: weakref.ref[Journal], wake: threading.Event, tick: float) -> None:
    """Look after a journal until it is closed or garbage-collected."""
    while True:
        wake.wait(tick)
        wake.clear()
        open_journal = journal()
        if open_journal is None or not open_journal.keep():
            return
        # Otherwise this thread's own variable would keep the journal alive while the thread waits.
        del open_journal


def _milliseconds() -> int:
    return time.time_ns() // 1_000_000
