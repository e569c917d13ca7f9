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
from headish.values.names import check_name, stored_name

# A server caches a statement's plan with the connection. A plan made while the tables were empty may use any index,
# since all begin with the space, and then reads the whole space for every turn. The server's own statistics come a
# minute later: only connections that are opened after that plan well by themselves.
PLANNED_AGAIN_AT = (100, 10_000)
"""How many turns this process writes before it has the server make its plans again."""

Isolation = Literal["required"]
"""``required`` refuses a database that does not keep its spaces apart."""


class Connections:
    """An open database: its backend, the source of its ids, and the largest size of a payload.

    Stores and ``Database`` refer to it, and it to neither. If it is garbage-collected without being closed, it gives
    its connections back.
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
        """Open a database: the work of ``Database.open``, with the same arguments and errors."""
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
        """Return the number of a space; make the space if it is missing and ``create``. Cost: two statements, three if
        it is new.

        Raises: InvalidName, UnknownSpace, SpaceRestoring, Closed.
        """
        name = check_name(space, "space")
        number, state = self.backend.read(partial(_look_up, name=name))
        if number is None and create and not self.backend.read_only:
            # Only for a new space: one whose name an earlier edition allowed can still be opened.
            check_name(space, "space", is_new=True)
            try:
                number = self.backend.write(lambda connection: add_space(connection, name))
            except RoleMissing as error:  # a login must not learn that a space exists that is closed to it
                raise UnknownSpace(self.backend.target, space) from error
        if number is None:
            raise UnknownSpace(self.backend.target, space)
        if state not in (None, ERASED):  # an erased space opens, for its receipts
            raise SpaceRestoring(self.backend.target, space)
        return number

    def count_written(self, turns: int) -> None:
        """Count the turns that this process wrote; have the server plan anew when the count passes a step of
        ``PLANNED_AGAIN_AT``."""
        before, self._written = self._written, self._written + turns
        if bisect(PLANNED_AGAIN_AT, before) < bisect(PLANNED_AGAIN_AT, self._written):
            # If this fails, the old plans stay: slower, not wrong.
            with suppress(DatabaseError):
                self.backend.plan_again()

    def close(self) -> None:
        """Give the connections back, for good: stores that use them raise ``Closed`` from now on."""
        self.backend.close()


def number_of(connection: Connection, name: bytes, target: str) -> int:
    """The number of a space of the database ``target``. Raises: UnknownSpace."""
    number = find_space(connection, name)
    if number is None:
        raise UnknownSpace(target, stored_name(name))
    return number


def _look_up(connection: Connection, *, name: bytes) -> tuple[int | None, str | None]:
    """The number and the state of a space; a state of None means that it can be opened."""
    number = find_space(connection, name)
    return number, None if number is None else state_of(connection, number)
