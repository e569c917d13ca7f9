"""The write-ahead log of a SQLite file, kept short.

SQLite begins its log anew when a writer finds no reader in it. With many processes there is always one, and the log
grows as long as they go on: without this, it reached 291 MB beside a database of 5 MB. So a writer that finds the log
long keeps other writers out, waits a moment for the readers, and empties it.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing

from headish.database.file.files import as_uri
from headish.database.file.forking import FORKS

LONG_BYTES = 5 * 1024 * 1024
"""From this length on, a log is emptied if no other thread waits to write. SQLite itself begins it anew at 4 MB, if it
can."""
TOO_LONG_BYTES = 6 * 1024 * 1024
"""From this length on, a log is emptied even if others wait."""
BOUND_BYTES = 16 * 1024 * 1024
"""The log stays below this length, unless a reader stays in it for long."""
PATIENCE_SECONDS = 0.3
"""How long to wait for other writers and for the readers of the log. A reader that stays longer keeps the log."""
PAUSE_SECONDS = 2.0
"""How long to leave a log alone that could not be emptied, unless it grows by half of LONG_BYTES; beyond BOUND_BYTES,
unless it doubles."""


class Log:
    """The write-ahead log of the file ``target``."""

    def __init__(self, target: str) -> None:
        path = os.path.realpath(target)
        self._path = path + "-wal"
        self._target = path
        self._kept_bytes = 0
        self._kept_at = -PAUSE_SECONDS

    def shorten(self, *, others_wait: bool) -> None:
        """Empty the log if it is long. Call it between two transactions."""
        length = self._length()
        if length < (TOO_LONG_BYTES if others_wait else LONG_BYTES):
            return
        # Below the bound, a passing reader may have been in the way; beyond it, a reader stays.
        is_near = self._kept_bytes < BOUND_BYTES
        next_bytes = self._kept_bytes + LONG_BYTES // 2 if is_near else self._kept_bytes * 2
        if length < next_bytes and time.monotonic() < self._kept_at + PAUSE_SECONDS:
            return
        # Remember a failure: otherwise every write would wait for a reader that stays.
        if not self._empty():
            self._kept_bytes, self._kept_at = length, time.monotonic()

    def _length(self) -> int:
        try:
            return os.stat(self._path).st_size
        except OSError:
            return 0  # not there yet, or in another journal mode

    def _empty(self) -> bool:
        try:
            with (
                FORKS.transaction(),
                closing(
                    # ``rw``: if the file is gone by now, none is made.
                    sqlite3.connect(
                        f"{as_uri(self._target)}?mode=rw", timeout=PATIENCE_SECONDS, isolation_level=None, uri=True
                    )
                ) as connection,
            ):
                [is_busy, *_] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.Error:
            return False  # nothing is lost: the log is as it was, and the next write meets the same error
        return not is_busy
