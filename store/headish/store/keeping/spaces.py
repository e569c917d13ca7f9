"""``database.spaces``: the spaces of a database, their limits and their members."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Literal

from headish.database.query import Connection
from headish.errors import SpaceNotEmpty, SpaceTaken, UnknownSpace
from headish.rows.counters import lock_space, read_quota, set_quota
from headish.rows.spaces import add_space, count_spaces, find_space, list_spaces, remove_space, rename_space
from headish.store.connections import Connections, number_of
from headish.store.paging import check_limit
from headish.values.checks.doors import COUNT, TEXT, Kind, door
from headish.values.names import check_name, refusal, stored_name
from headish.values.results.reports import Quota

if TYPE_CHECKING:
    from headish.database.isolation.members import Member
    from headish.values.results.erasures import Erasure

PAGE = 500
"""How many names an iteration reads at a time."""


LIMIT = Kind(
    lambda value: value == "none" if isinstance(value, str) else COUNT.fits(value), "a number from 0 on, or 'none'"
)


class Spaces:
    """The spaces of a database: iterate over their names, add, rename, limit, remove an empty one."""

    def __init__(self, connections: Connections) -> None:
        self._connections, self._backend = connections, connections.backend

    def __iter__(self) -> Iterator[str]:
        """The names, read in pages, each when it is reached."""
        after = b""
        while page := self._page(PAGE, after):
            yield from map(stored_name, page)
            after = page[-1]

    def __len__(self) -> int:
        return self._backend.read(lambda connection: count_spaces(connection))

    def __contains__(self, space: object) -> bool:
        if not isinstance(space, str) or refusal(space) is not None:
            return False
        name = space.encode()
        return self._backend.read(lambda connection: find_space(connection, name)) is not None

    @door()
    def list(self, *, limit: int | None = None, after: str | None = None) -> builtins.list[str]:
        """The names, in the order of their bytes; ``limit`` of them, after the name ``after``, which need not exist.

        Cost: one statement over the names of the page. Raises: InvalidArgument for a ``limit`` below 1.
        """
        page = self._page(check_limit(limit), (after or "").encode(errors="surrogatepass"))
        return [stored_name(name) for name in page]

    def _page(self, limit: int, after: bytes) -> builtins.list[bytes]:
        return self._backend.read(lambda connection: list_spaces(connection, after=after, limit=limit))

    def add(self, space: str) -> None:
        """Make a space. Raises: InvalidName, SpaceTaken."""
        name = check_name(space, "space", is_new=True)

        def work(connection: Connection) -> None:
            if find_space(connection, name) is not None:
                raise SpaceTaken(space)
            add_space(connection, name)

        self._backend.write(work)

    def rename(self, old: str, new: str) -> None:
        """Give a space another name; stores that have it open go on. Raises: InvalidName, UnknownSpace, SpaceTaken."""
        old_name, new_name = check_name(old, "space"), check_name(new, "space", is_new=True)

        def work(connection: Connection) -> None:
            if old_name != new_name and find_space(connection, new_name) is not None:
                raise SpaceTaken(new)
            if not rename_space(connection, old_name, new_name):
                raise UnknownSpace(self._backend.target, old)

        self._backend.write(work)

    def remove(self, space: str) -> None:
        """Remove a space that never held a turn, a pointer or tools. Raises: InvalidName, UnknownSpace, SpaceNotEmpty.

        Its number is not given out again, so a store that still has it open cannot write into another space.
        """
        name = check_name(space, "space")

        def work(connection: Connection) -> None:
            if not remove_space(connection, number_of(connection, name, self._backend.target)):
                raise SpaceNotEmpty(space)

        self._backend.write(work)

    @door(turns=LIMIT, bytes=LIMIT)
    def limit(
        self, space: str, *, turns: int | Literal["none"] | None = None, bytes: int | Literal["none"] | None = None
    ) -> Quota:
        """Set how many turns a space may hold, and how many bytes of payloads. Returns the limits and what it holds.
        ``"none"`` removes a limit; an argument that is left out changes nothing. Every write past a limit raises
        ``QuotaExceeded``: the statement that takes the turn's number compares them. A limit below what the space holds
        removes nothing.
        Raises: InvalidName, UnknownSpace, InvalidArgument.
        """
        find = partial(number_of, name=check_name(space, "space"), target=self._backend.target)

        def work(connection: Connection) -> Quota:
            number = find(connection)
            # The other limit is written back: without the lock, two calls could undo each other's change.
            lock_space(connection, number)
            now = read_quota(connection, number)
            set_quota(connection, number, _limit(turns, now.limit_turns), _limit(bytes, now.limit_bytes))
            return read_quota(connection, number)

        if turns is None and bytes is None:
            return self._backend.read(lambda connection: read_quota(connection, find(connection)))
        return self._backend.write(work)

    @door()
    def erase(
        self, space: str, *, reason: str, by: str | None = None, dry_run: bool = False, scrub: bool = True
    ) -> Erasure:
        """Erase a space with all that it holds: turns, names, pointers, tools, objects, records of conversations.

        The space becomes ``erased-N``, which keeps the receipts of its erasures; its names are removed. Its number is
        never used again, a store that has it open can store nothing, and followers learn that it is gone. ``reason``,
        ``by``, ``dry_run`` and ``scrub`` are those of ``Store.erase``.
        Cost: deletes every row of the space in one transaction; then SQLite rewrites the file.
        Raises: InvalidName, UnknownSpace, RemovedSpace, InvalidArgument.
        """
        from headish.store.keeping.erase import erase_whole  # late: a program that lists spaces erases none

        return erase_whole(self._connections, space, reason=reason, by=by, dry_run=dry_run, scrub=scrub)

    @door(role=TEXT)
    def grant(self, space: str, login: str, *, role: Literal["reader", "writer", "eraser"] = "writer") -> None:
        """Open a space of a secured database to a login of the server, and give the login a role if it has none. A
        login has one role for all spaces that are open to it: a ``reader`` reads, a ``writer`` stores, an ``eraser``
        erases, too.
        Raises: NotIsolated, UnknownSpace, InvalidName, InvalidArgument for an unknown login or one that has another
        role; RoleMissing unless this login is the owner.
        """
        from headish.database.isolation.members import grant

        grant(self._backend, check_name(space, "space"), login, role)

    @door()
    def revoke(self, space: str, login: str) -> None:
        """Close a space to a login: stores that it has open fail from their next transaction on. Without any space
        left, the login loses its role.

        Raises: NotIsolated, UnknownSpace, InvalidName, InvalidArgument if the space was not open to it; RoleMissing.
        """
        from headish.database.isolation.members import revoke

        revoke(self._backend, check_name(space, "space"), login)

    def members(self) -> builtins.list[Member]:
        """The logins and the spaces that they may enter, by login and space. Raises: NotIsolated, RoleMissing."""
        from headish.database.isolation.members import list_members

        return list_members(self._backend)

    def __repr__(self) -> str:
        return f"<Spaces of {self._backend.target}>"


def _limit(given: int | str | None, now: int | None) -> int | None:
    return now if given is None else given if isinstance(given, int) else None
