"""The interface through which the rest of headish uses any database."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Literal, Protocol, TypeVar

from headish.database.query import Connection, SchemaConnection

T = TypeVar("T")

Durability = Literal["full", "normal"]
DURABILITIES = ("full", "normal")
"""``full``: an acknowledged turn survives a power cut. ``normal``: it survives ``kill -9``, not a power cut."""

ASKED_READ_ONLY = "it was opened read-only; open it without read_only=True, --read-only or mode=ro to write to it"


Settle = Callable[[Connection, T], bool]
"""Tells, in a new transaction, whether the result of a piece of work is stored."""


class Backend(Protocol):
    """A database that has spaces. ``target`` names it for people, without a password.

    ``read`` and ``write`` run a piece of work in one transaction and return its result. A read sees one moment,
    however many statements it has. The backend may run work again (after a lock, a serialization failure, a lost
    connection), so work must have no effect outside its transaction. Work may run in another thread, beside the work
    of other callers in one transaction, so it must not need a lock that its caller has. A write returns after its
    COMMIT. However a call ends, even by an exception at any of its byte codes, no transaction stays open.

    ``not_reached`` names the places that keep what was erased. ``scrubs_itself``: an erasure also removes its content
    from the disk at once. ``has_segments``: the search index is written in pieces that must be merged.
    """

    target: str
    dialect: str
    """``sqlite`` or ``postgresql``: the spelling of the statements for the schema."""
    upgrades_itself: bool
    read_only: bool
    scrubs_itself: bool
    has_segments: bool
    not_reached: tuple[str, ...]
    is_confined: bool
    """Whether policies of the database apply to this login, so that every transaction works in one space."""

    def within(self, space: int) -> Backend:
        """The same database with its transactions in one space. Returns itself if no policy separates the spaces."""
        ...

    def find_revision(self) -> str | None:
        """The stored revision; None if its table is empty. A database without tables raises DatabaseError itself, not a
        subclass."""
        ...

    def check_isolated(self) -> None:
        """Check that every table with a space has policies that apply to this login. Raises: NotIsolated."""
        ...

    def lifted(self, connection: SchemaConnection) -> AbstractContextManager[None]:
        """A context in which a migration sees the rows of all spaces. On leaving, all tables are guarded as before, new
        ones too."""
        ...

    def check_writable(self) -> None:
        """Check that the database may be written. Raises: ReadOnly if it was opened read-only; Closed."""
        ...

    def read(self, work: Callable[[Connection], T]) -> T: ...

    def write(self, work: Callable[[Connection], T], settle: Settle[T] | None = None) -> T:
        """Run work in a write transaction. If the answer to its commit is lost, ``settle`` finds out whether the commit
        succeeded; without ``settle``, the work runs again.

        Raises: ReadOnly before any statement; OutcomeUnknown if the outcome cannot be found out.
        """
        ...

    def schema_connection(self) -> AbstractContextManager[SchemaConnection]:
        """The driver's connection in one real transaction, which includes DDL and commits on leaving."""
        ...

    def is_headish(self, connection: SchemaConnection) -> bool:
        """Whether the database is ours; False if it is empty. Raises: NotADatabase if it is another program's."""
        ...

    def mark(self, connection: SchemaConnection) -> None:
        """Mark a new database as ours, in the transaction that makes its tables."""
        ...

    def prepare(self) -> None:
        """Make the settings that a writable database needs once, after its revision was found to be ours."""
        ...

    def backup(self, label: str) -> str | None:
        """Copy the database to a file beside it, named by ``label``. Returns the path, or None on a server, which makes
        its own backups, and in memory."""
        ...

    def which(self) -> tuple[object, ...] | None:
        """Values that identify the database among all that are open now, by whatever name; None for one in memory."""
        ...

    def may_lag(self) -> bool:
        """Whether data that others have stored may be missing here: on a server's replica, or if opened read-only on a
        server."""
        ...

    def copy_into(self, path: str) -> bool:
        """Copy the database as of one moment, without free pages, into the empty file at a path. False, and nothing is
        copied, if the database is on a server."""
        ...

    def check_integrity(self) -> list[str]:
        """The problems that the database's own check finds: indexes that disagree with their tables, and the like."""
        ...

    def plan_again(self) -> None:
        """Have a server analyze its tables and plan its statements anew. It takes longer for larger tables, so it has a
        transaction of its own."""
        ...

    def scrub(self) -> str:
        """Remove content that no row contains from the disk. Returns "", or the reason why that is impossible now.

        Cost: writes the whole database anew; writers wait.
        """
        ...

    def forget_statistics(self) -> str:
        """Remove the samples of values by which the database plans. Returns "", or the reason why that failed."""
        ...

    def copies(self) -> list[str]:
        """The paths of the copies beside the database that upgrades made."""
        ...

    def remove_parts(self, *, dry_run: bool) -> list[str]:
        """Remove parts of copies that were never finished. Returns their paths."""
        ...

    def size_bytes(self) -> int: ...

    def close(self) -> None: ...
