"""What an error of the server's driver means: try again, wait, or tell."""

from __future__ import annotations

from typing import Any

from headish.errors import DatabaseError, DatabaseFull, DatabaseReadOnly, DatabaseTimedOut, DatabaseUnavailable

NO_TABLE = "42P01"
RETRIED = ("40001", "40P01", "23505")
"""serialization_failure, deadlock_detected, unique_violation: a race was lost."""
_ERRORS: dict[str, tuple[type[DatabaseError], str]] = {
    "25006": (DatabaseReadOnly, "the server takes no writes (a replica, or a read-only transaction)"),
    "42501": (DatabaseReadOnly, "this role may not write here"),
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
    """The interrupt that an error hides: the driver cannot leave a pipeline in the middle, and says so in its place.
    What the caller was handling before is none."""
    cause = error.__context__
    while cause is not None and cause is not handled:
        if not isinstance(cause, Exception):
            return cause
        cause = cause.__context__
    return None


def hidden_behind(error: Exception, handled: BaseException | None) -> BaseException | None:
    """As ``interrupt_behind``, of an error at the end of a message: nothing runs there but the driver and the handlers
    of signals, so it may be an exception of any class that is not the driver's own."""
    cause = error.__context__
    while cause is not None and cause is not handled:
        # The driver raises IndexError where a server answers more than it was asked.
        if not isinstance(cause, IndexError) and type(cause).__module__.partition(".")[0] != "psycopg":
            return cause
        cause = cause.__context__
    return None


def is_away(error: Exception) -> bool:
    """Whether the server cannot be reached, or is starting or stopping."""
    state = state_of(error)
    return not state or state[:2] in ("08", "57")


def key_taken(error: Exception) -> str:
    """The key that was taken already, as the server tells it: under a policy the constraint alone. Else empty."""
    told = getattr(error, "diag", None)
    if state_of(error) != "23505" or told is None:
        return ""
    return f"{told.constraint_name} {told.message_detail or ''}"


def state_of(error: Exception) -> str:
    """The SQLSTATE, or the empty string if the server was not reached."""
    return getattr(error, "sqlstate", None) or ""


def translate(target: str, error: Exception) -> DatabaseError:
    """The error of ours that says what one of the driver says."""
    state = state_of(error)
    if state in _ERRORS:
        kind, reason = _ERRORS[state]
        return kind(target, reason)
    # The first line alone: those after it quote the statement and values of the row.
    sentence = str(error).strip().splitlines()[0]
    kind = DatabaseUnavailable if not state or state[:2] in ("08", "57", "3D", "28") else DatabaseError
    return kind(target, f"PostgreSQL says: {sentence}")
