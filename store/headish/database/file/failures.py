"""Translate SQLite's errors: whether to wait and try again, or which of our errors to raise."""

from __future__ import annotations

import sqlite3

from headish.errors import (
    DatabaseCorrupt,
    DatabaseError,
    DatabaseFull,
    DatabaseLocked,
    DatabaseReadOnly,
    DatabaseUnavailable,
    NotADatabase,
)

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_ERRORS: dict[int, tuple[type[DatabaseError], str]] = {
    sqlite3.SQLITE_BUSY: (DatabaseLocked, "another process has held it for {wait:g} seconds; try again"),
    sqlite3.SQLITE_LOCKED: (DatabaseLocked, "another connection has held it for {wait:g} seconds; try again"),
    sqlite3.SQLITE_READONLY: (DatabaseReadOnly, "it cannot be written; check the permissions of file and folder"),
    sqlite3.SQLITE_FULL: (DatabaseFull, "no space is left on its disk; nothing of this call was stored"),
    sqlite3.SQLITE_IOERR: (DatabaseUnavailable, "reading or writing the file failed"),
    sqlite3.SQLITE_CANTOPEN: (DatabaseUnavailable, "the file cannot be opened; check the path and its permissions"),
    sqlite3.SQLITE_NOTADB: (NotADatabase, "the file is not a SQLite database"),
    sqlite3.SQLITE_CORRUPT: (
        DatabaseCorrupt,
        "the file cannot be read as a database; check its disk, then restore a backup",
    ),
}


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection has the lock."""
    # The primary code: for a waiter, the extended ones (an old snapshot, a recovery) mean the same.
    return _primary_code(error) in _BUSY


def is_of_writing(error: BaseException | None) -> bool:
    """Whether a file could not be written, as on a full disk."""
    code = getattr(error, "sqlite_errorcode", 0)
    return code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE)


def translate(target: str, error: Exception, wait_seconds: float) -> DatabaseError:
    """Our error for one of the driver. ``wait_seconds`` is how long the caller waited for a lock."""
    # By their words, as neither has a code of its own. Both come from damaged rows: text that is not UTF-8, and a sum
    # of numbers that headish never stored.
    if str(error).startswith(("Could not decode", "integer overflow")):
        return DatabaseCorrupt(target, f"{error}; 'headish verify' lists every damaged value")
    kind, reason = _ERRORS.get(_primary_code(error), (DatabaseError, f"SQLite says: {error}"))
    return kind(target, reason.format(wait=wait_seconds))


def _primary_code(error: Exception) -> int:
    """SQLite's primary result code: the low byte of the extended one; 0 if the driver itself raised."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
