"""Translate errors of the server's driver: whether to try again or to wait, or which of our errors to raise."""

from __future__ import annotations

from typing import Any

from headish.errors import DatabaseError, DatabaseFull, DatabaseReadOnly, DatabaseTimedOut, DatabaseUnavailable

NO_TABLE = "42P01"
_DENIED = "42501"
RETRIED = ("40001", "40P01", "23505")
"""serialization_failure, deadlock_detected, unique_violation: the transaction lost a race."""
_ERRORS: dict[str, tuple[type[DatabaseError], str]] = {
    "25006": (DatabaseReadOnly, "the server takes no writes (a replica, or a read-only transaction)"),
    _DENIED: (DatabaseReadOnly, "this login lacks a right on the server"),
    "57014": (DatabaseTimedOut, "the statement took longer than the server's statement_timeout allows"),
    "55P03": (DatabaseTimedOut, "a lock was held for longer than the server's lock_timeout allows"),
    "53100": (DatabaseFull, "no space is left on the server's disk; nothing of this call was stored"),
}


class ConnectionLost(Exception):
    """The connection was lost before the commit was sent: nothing is stored."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class CommitLost(ConnectionLost):
    """The connection was lost while the commit was under way: ``result`` may be stored."""

    def __init__(self, error: Exception, result: Any) -> None:
        super().__init__(error)
        self.result = result


def interrupt_behind(error: Exception, handled: BaseException | None) -> BaseException | None:
    """The interrupt that an error hides, or None. If an interrupt comes inside a pipeline, the driver cannot leave it,
    and raises an error of its own in place of the interrupt.

    ``handled`` is the exception that the caller was handling before; it and its causes do not count.
    """
    cause = error.__context__
    while cause is not None and cause is not handled:
        if not isinstance(cause, Exception):
            return cause
        cause = cause.__context__
    return None


def hidden_behind(error: Exception, handled: BaseException | None) -> BaseException | None:
    """The exception of a signal's handler that an error at the end of a message hides, or None.

    Only the driver and handlers of signals run there, so it may be of any class that is not the driver's own.
    """
    cause = error.__context__
    while cause is not None and cause is not handled:
        # The driver raises IndexError if a server gives more answers than the driver expects.
        if not isinstance(cause, IndexError) and type(cause).__module__.partition(".")[0] != "psycopg":
            return cause
        cause = cause.__context__
    return None


def is_away(error: Exception) -> bool:
    """Whether the server cannot be reached, or is starting or stopping."""
    state = state_of(error)
    return not state or state[:2] in ("08", "57")


def key_taken(error: Exception) -> str:
    """The constraint and key of a unique violation, otherwise "". Under a policy the server hides the key."""
    diagnostic = getattr(error, "diag", None)
    if state_of(error) != "23505" or diagnostic is None:
        return ""
    return f"{diagnostic.constraint_name} {diagnostic.message_detail or ''}"


def state_of(error: Exception) -> str:
    """The SQLSTATE, or the empty string if the server was not reached."""
    return getattr(error, "sqlstate", None) or ""


def translate(target: str, error: Exception) -> DatabaseError:
    """Our error for one of the driver."""
    state = state_of(error)
    # Only the first line: the others quote the statement and values of the row, which may be private.
    sentence = str(error).strip().splitlines()[0]
    if state in _ERRORS:
        kind, reason = _ERRORS[state]
        return kind(target, f"{reason} (PostgreSQL says: {sentence})" if state == _DENIED else reason)
    kind = DatabaseUnavailable if not state or state[:2] in ("08", "57", "3D", "28") else DatabaseError
    return kind(target, f"PostgreSQL says: {sentence}")
