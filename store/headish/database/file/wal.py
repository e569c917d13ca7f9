"""The write-ahead log of a SQLite file, kept short.

SQLite begins its log anew when a writer finds no reader in it. Where many processes write and read there is always one,
and the log grows for as long as they go on. So a writer that finds it long waits a moment for its readers, while no
other writer adds to it, and empties it.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing

from headish.database.file.files import as_uri
from headish.database.file.forking import FORKS

LONG_BYTES = 5 * 1024 * 1024
"""A log that is emptied when no other thread waits to write; SQLite itself begins it anew at 4 MB, where it can."""
TOO_LONG_BYTES = 6 * 1024 * 1024
"""A log that is emptied although others wait."""
BOUND_BYTES = 16 * 1024 * 1024
"""Where the log is not to get to, unless somebody reads it for long."""
PATIENCE_SECONDS = 0.3
"""How long other writers and the readers of the log are waited for; one that reads for longer keeps it."""
PAUSE_SECONDS = 2.0
"""How long a log that was kept is left alone, unless it grows by half of LONG_BYTES, past the bound to twice."""


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
        # Short of the bound, others may have been in the way; past it, it is a reader that stays.
        is_near = self._kept_bytes < BOUND_BYTES
        next_bytes = self._kept_bytes + LONG_BYTES // 2 if is_near else self._kept_bytes * 2
        if length < next_bytes and time.monotonic() < self._kept_at + PAUSE_SECONDS:
            return
        # A reader that stays would otherwise make every write wait for it.
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
                    # Should the file be gone by now, none is made.
                    sqlite3.connect(
                        f"{as_uri(self._target)}?mode=rw", timeout=PATIENCE_SECONDS, isolation_level=None, uri=True
                    )
                ) as connection,
            ):
                [is_busy, *_] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.Error:
            return False  # nothing is lost: the log holds what it held, and the next write meets the same error
        return not is_busy
