"""The fault of the place: a file, a disk, a server or a login. The call is good, and would succeed elsewhere.

Each names its database in ``target``, without the password.
"""

from __future__ import annotations

from headish.errors.base import HeadishError


class DatabaseError(HeadishError):
    """The database cannot do it: mend the place, not the call. ``target`` says which one, without its password."""

    def __init__(self, target: str, reason: str) -> None:
        self.target, self.reason = target, reason
        super().__init__(f"{target}: {reason}")


class UnknownDatabase(DatabaseError):
    """No database is there, and headish was not to create one."""


class UnknownSpace(UnknownDatabase):
    """The database has no such space, and headish was not to create it."""

    def __init__(self, target: str, space: str) -> None:
        self.space = space
        super().__init__(target, f"it has no space {space!r}")


class SpaceRestoring(DatabaseError):
    """The space is being restored, or a restore of it was cut off: nobody may read what is not whole."""

    def __init__(self, target: str, space: str) -> None:
        self.space = space
        super().__init__(
            target, f"the space {space!r} is being restored; if no restore runs, one was cut off: restore it again"
        )


class NotADatabase(DatabaseError):
    """Something else is there."""


class DatabaseTooNew(DatabaseError):
    """Written by a newer headish; it was left untouched."""


class DatabaseTooOld(DatabaseError):
    """Written by an older headish, and upgraded only on request: run ``headish db upgrade`` first."""


class DatabaseLocked(DatabaseError):
    """Another process held the database for longer than the time-out."""


class DatabaseReadOnly(DatabaseError):
    """The database cannot be written."""


class ReadOnly(DatabaseReadOnly):
    """A verb would write to a database that is open read-only: by request, or because its file cannot be written.

    Raised before any statement.
    """


class RoleMissing(DatabaseReadOnly):
    """The login lacks the ``role`` that this verb needs in a secured database; nothing was stored."""

    def __init__(self, target: str, role: str, told: str = "") -> None:
        self.role = role
        super().__init__(target, f"this takes the role {role}{told or ', which this login has not'}")


class NotIsolated(DatabaseError):
    """Nothing keeps the spaces of the database apart, or nothing that binds this login."""


class NotEntered(DatabaseError):
    """The login may not enter the space any more, or the database was secured since it was opened."""

    def __init__(self, target: str) -> None:
        super().__init__(
            target,
            "no space was entered that is open to this login; if the database was secured just now, open it anew",
        )


class DatabaseFull(DatabaseError):
    """No space is left; the transaction was rolled back."""


class DatabaseUnavailable(DatabaseError):
    """The server or file cannot be reached."""


class DatabaseCorrupt(DatabaseError):
    """The file itself is damaged."""


class CannotIndex(DatabaseError):
    """SQLite was built without FTS5: searches read the turns, and find the same."""

    def __init__(self, target: str) -> None:
        super().__init__(
            target, "its SQLite was built without FTS5, so it keeps no search index; searches read every turn"
        )


class CorruptRecord(DatabaseError):
    """Stored bytes that do not decode, or that disagree with their address: a turn's, a pointer's, a stream's."""

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(what, reason + "; 'headish verify' lists everything that disagrees")


class CorruptTurn(CorruptRecord):
    """Stored bytes of a turn that do not decode, or that disagree with their address; ``turn`` names it."""

    def __init__(self, turn: str, reason: str) -> None:
        self.turn = turn
        super().__init__(f"turn {turn}", reason)


class DatabaseTimedOut(DatabaseError):
    """A time limit of the server (statement_timeout, lock_timeout) ended the statement; nothing was stored."""


class NotReplicated(DatabaseError):
    """The database did not reach a cursor within the time allowed.

    ``cursor`` is the one that was waited for, ``now`` the commit number and the number of the last change there.
    """

    def __init__(self, target: str, cursor: str, now: tuple[int, int], seconds: float) -> None:
        self.cursor, self.now, self.seconds = cursor, now, seconds
        super().__init__(target, f"after {seconds:g} s it is at {now[0]}/{now[1]}, and not yet at the cursor {cursor}")


class DatabaseReplaced(DatabaseError):
    """The file was removed or replaced while it was open, or written while it was read without locks; nothing was
    stored."""


class OutcomeUnknown(DatabaseError):
    """The connection was lost during the commit, and the server could not be reached since.

    ``ids`` are the turns of the call, in order: all of them are stored, or none.
    """

    ids: tuple[str, ...] = ()
