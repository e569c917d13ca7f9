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
"""Whether what a piece of work returned is stored, seen from a new transaction."""


class Backend(Protocol):
    """A place that holds spaces. ``target`` names it for people, without a password.

    ``read`` and ``write`` run a piece of work in one transaction and return what it returns. A read sees one moment,
    however many statements it has. Work may be run again when the database asks for it (a lock, a serialization
    failure, a lost connection), so it must have no effect outside its transaction. It may run in another thread, beside
    the work of others in one transaction, so it must not need a lock that its caller holds. A write is answered after
    its COMMIT. However a call ends, an exception at any of its byte codes included, no transaction stays open.

    ``not_reached`` names the places that keep what was erased; ``scrubs_itself`` says whether an erasure is taken off
    the disk at once; ``has_segments`` whether its search index is written in pieces that are to be merged.
    """

    target: str
    dialect: str
    """``sqlite`` or ``postgresql``: the words that a text for the schema is in."""
    upgrades_itself: bool
    read_only: bool
    scrubs_itself: bool
    has_segments: bool
    not_reached: tuple[str, ...]
    is_confined: bool
    """Whether policies of the database hold this login, so that every transaction works in one space."""

    def within(self, space: int) -> Backend:
        """The same database, its transactions in one space; itself where nothing keeps spaces apart."""
        ...

    def find_revision(self) -> str | None:
        """The stored revision. A database without tables raises DatabaseError itself, and no other kind of it."""
        ...

    def check_isolated(self) -> None:
        """Raises: NotIsolated, unless every table with a space has policies that hold this login."""
        ...

    def lifted(self, connection: SchemaConnection) -> AbstractContextManager[None]:
        """A migration sees the rows of all spaces inside; then its tables are guarded as all were before."""
        ...

    def check_writable(self) -> None:
        """Raises: ReadOnly if the database was opened read-only; Closed."""
        ...

    def read(self, work: Callable[[Connection], T]) -> T: ...

    def write(self, work: Callable[[Connection], T], settle: Settle[T] | None = None) -> T:
        """``settle`` finds out whether a commit succeeded whose answer was lost; without it, the work is run again.

        Raises: ReadOnly before any statement; OutcomeUnknown where the outcome cannot be found out.
        """
        ...

    def schema_connection(self) -> AbstractContextManager[SchemaConnection]:
        """The driver's connection in one real transaction, DDL included, that commits on leaving."""
        ...

    def is_headish(self, connection: SchemaConnection) -> bool:
        """Whether the database is ours; False if it is empty. Raises: NotADatabase if it is another program's."""
        ...

    def mark(self, connection: SchemaConnection) -> None:
        """Sign a new database as ours, in the transaction that makes its tables."""
        ...

    def prepare(self) -> None:
        """Set what a database that can be written needs once, after its revision was found to be ours."""
        ...

    def backup(self, label: str) -> str | None:
        """A copy beside the database, named by ``label``; its path, or None if the server makes its own backups."""
        ...

    def which(self) -> tuple[object, ...] | None:
        """What no other database has that is open now, however it was named; None for one in memory."""
        ...

    def may_lag(self) -> bool:
        """Whether what others have stored may not be here yet: on a server's replica, or where it was opened so."""
        ...

    def copy_into(self, path: str) -> bool:
        """Copy the database, as it stands at one moment and without free pages, into the empty file at a path. False,
        and nothing is copied, if it is no file and cannot become one."""
        ...

    def check_integrity(self) -> list[str]:
        """What the database's own check finds: indexes that disagree with their tables, and the like."""
        ...

    def plan_again(self) -> None:
        """Have a server look at its tables and plan its statements anew. In a transaction of its own: it may take as
        long as the tables are large."""
        ...

    def scrub(self) -> str:
        """Take off the disk what no row holds any more. Empty, or why that could not be done now.

        Cost: writes the whole database anew; writers wait.
        """
        ...

    def forget_statistics(self) -> str:
        """Take away the samples of values that the database plans by. Empty, or why that could not be done."""
        ...

    def copies(self) -> list[str]:
        """The copies beside the database, which upgrades made."""
        ...

    def remove_parts(self, *, dry_run: bool) -> list[str]:
        """Remove parts of copies that were never finished; their paths."""
        ...

    def size_bytes(self) -> int: ...

    def close(self) -> None: ...
