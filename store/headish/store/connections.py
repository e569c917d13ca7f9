"""The connections of an open database, which its stores share: open them, and enter a space."""

from __future__ import annotations

import os
import weakref
from bisect import bisect
from contextlib import suppress
from functools import partial
from typing import Literal, Self

from headish.database.backend import Backend, Durability
from headish.database.dialects import connect
from headish.database.query import Connection
from headish.database.upgrade import ensure_schema
from headish.errors import DatabaseError, InvalidArgument, RoleMissing, SpaceRestoring, UnknownSpace, shown
from headish.rows.counters import ERASED, state_of
from headish.rows.spaces import add_space, find_space
from headish.values.ids import IdMint
from headish.values.limits import PAYLOAD_LIMIT_BYTES
from headish.values.names import check_name

# A server keeps a statement's plan with the connection. One made while the tables were empty may take any index, since
# all begin with the space, and then reads the whole space for every turn. The server's own statistics come a minute
# later, and a process that starts then has no plans to keep.
PLANNED_AGAIN_AT = (100, 10_000)
"""After how many turns of this process a server makes its plans again."""

Isolation = Literal["required"]
"""Open nothing whose spaces the database does not keep apart."""


class Connections:
    """An open database: its backend, what mints its ids, and how large a payload may be.

    Stores and ``Database`` hold it, and it knows neither. One that is dropped without being closed gives its
    connections back.
    """

    def __init__(
        self, backend: Backend, target: str | os.PathLike[str], payload_limit_bytes: int = PAYLOAD_LIMIT_BYTES
    ) -> None:
        self.backend, self.payload_limit_bytes = backend, payload_limit_bytes
        self.target = target
        """As it was given: a URL may hold a password."""
        self.mint = IdMint().mint
        self._written = 0
        # Not at exit: a forked child would close what its parent uses.
        weakref.finalize(self, backend.close).atexit = False

    @classmethod
    def open(
        cls,
        target: str | os.PathLike[str],
        *,
        durability: Durability = "full",
        create: bool = True,
        read_only: bool = False,
        prepared: bool = True,
        payload_limit_bytes: int = PAYLOAD_LIMIT_BYTES,
        isolation: Isolation | None = None,
    ) -> Self:
        """What ``Database.open`` opens. The arguments and errors are its own."""
        if isolation not in (None, "required"):
            raise InvalidArgument(f"isolation is 'required' or None, not {shown(isolation)}")
        backend = connect(target, durability=durability, create=create, read_only=read_only, prepared=prepared)
        try:
            if isolation is not None:
                backend.check_isolated()
            # A new database is not secured, so one that has to be is never made here.
            ensure_schema(backend, create=create and isolation is None)
        except BaseException:
            backend.close()
            raise
        return cls(backend, target, payload_limit_bytes)

    def enter(self, space: str, *, create: bool) -> int:
        """The number of a space, made where it is missing if ``create``. Cost: two statements, three where it is new.

        Raises: InvalidName, UnknownSpace, SpaceRestoring, Closed.
        """
        name = check_name(space, "space")
        number, state = self.backend.read(partial(_look_up, name=name))
        if number is None and create and not self.backend.read_only:
            # Only here: a space that an earlier edition named otherwise can still be opened.
            check_name(space, "space", is_new=True)
            try:
                number = self.backend.write(lambda connection: add_space(connection, name))
            except RoleMissing as error:  # whether it is there is not said to whom it is not open
                raise UnknownSpace(self.backend.target, space) from error
        if number is None:
            raise UnknownSpace(self.backend.target, space)
        if state not in (None, ERASED):  # the receipts of an erased space can be read
            raise SpaceRestoring(self.backend.target, space)
        return number

    def count_written(self, turns: int) -> None:
        """Count turns of this process; new plans are made where they are many more than when its first ones were."""
        before, self._written = self._written, self._written + turns
        if bisect(PLANNED_AGAIN_AT, before) < bisect(PLANNED_AGAIN_AT, self._written):
            # Statistics that cannot be made now leave the plans as they are.
            with suppress(DatabaseError):
                self.backend.plan_again()

    def close(self) -> None:
        """Give the connections back, for good: whoever holds them raises ``Closed`` from now on."""
        self.backend.close()


def _look_up(connection: Connection, *, name: bytes) -> tuple[int | None, str | None]:
    """The number of a space, and why it may not be opened."""
    number = find_space(connection, name)
    return number, None if number is None else state_of(connection, number)
