"""One space of an open database, as every verb and part of a store uses it.

Names with an underscore are for the modules of this folder only. A verb is a function whose first argument is the
space; ``Store`` lists them. A part holds the space and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from headish.database.backend import Backend, Settle
from headish.database.query import Connection
from headish.errors import (
    Closed,
    CorruptRecord,
    DatabaseCorrupt,
    DatabaseError,
    HeadishError,
    OutcomeUnknown,
    UnknownTurn,
)
from headish.rows.counters import lock_space
from headish.store.connections import Connections
from headish.values.ids import KeptIds, Mint
from headish.values.names import stored_name

STUMBLING = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, MemoryError)
"""The errors that code raises when a stored value has the wrong type, wherever it uses the value."""

if TYPE_CHECKING:
    from headish.history.feeds.waiting import Awaited
    from headish.history.writing.append import Appended
    from headish.history.writing.tips import Remembered
    from headish.imports.tails import LogTail
    from headish.rows.turns import StoredTurn
    from headish.values.blocks import ContentBlock
    from headish.values.places import Place
    from headish.values.turns import Turn

P = ParamSpec("P")
T = TypeVar("T")
Headishes = str | Sequence[str]
"""One headish, or several that resolve as if one turn continued them all."""


class SpacePart:
    """A part of a store: it holds the space that it reads and writes, and nothing else."""

    def __init__(self, space: Space) -> None:
        self._space = space

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of the space {self._space.space!r}>"


class OnDemand(SpacePart):
    """Loads a turn's options and content from its space when the turn is asked for them."""

    def __call__(self, headish: Headishes) -> dict[str, Any]:
        """The options that a thread hands down, read from the sparse index of turns that set options (rule R12, options
        on demand)."""
        from headish.history.reading.options import fold_options
        from headish.history.reading.walk import walk_inherited

        number = self._space._number
        return self._space._read_from(
            headish, lambda connection, places: fold_options(walk_inherited(connection, number, places))
        )

    def blocks(self, headish: str) -> tuple[ContentBlock, ...]:
        """The content blocks of a turn, as a thread shows them. Raises: CorruptTurn."""
        from headish.history.reading.decode import read_shown

        number = self._space._number
        return self._space._read_at(headish, lambda connection, stored: read_shown(connection, number, stored))


class Space:
    """One space of an open database: its number there, its transactions, and how rows become turns."""

    def __init__(self, database: Connections, space: str, number: int, author: str | None = None) -> None:
        self.space = space
        """The name of the space."""
        self._database, self._number = database, number
        self._backend = database.backend.within(number)
        self._payload_limit_bytes = database.payload_limit_bytes
        self._author = author
        self._awaited: Awaited | None = None
        self._is_closed = False
        self._remembered: Remembered | None = None
        self._tails: dict[str, LogTail] = {}

    @property
    def _options_at(self) -> OnDemand:
        """Loads what a turn reads on demand.

        Made anew each time: a store that kept it would be part of a reference cycle, and would not be freed when it is
        dropped.
        """
        return OnDemand(self)

    def _read(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in one read transaction, and return its result.

        Raises: DatabaseCorrupt if ``work`` fails on a stored value of the wrong type; as ``read_awaited`` if the store
        waits for a position (``at_least``).
        """
        backend = self._open_backend()
        try:
            if self._awaited is not None:
                from headish.history.feeds.waiting import read_awaited  # late: few reads wait

                return read_awaited(backend, self._number, self._awaited, work)
            return backend.read(work)
        except UnknownTurn as error:
            if self._awaited is None and backend.may_lag():
                error.tell("it may not have been replicated yet (Store.at_least and --at-least wait for that)")
            raise
        except STUMBLING as error:
            self._find_damage(backend, error)
            raise

    def _read_by(self, read: Callable[Concatenate[Connection, int, P], T], *given: P.args, **named: P.kwargs) -> T:
        """``_read`` with a function that takes the connection, the number of the space, and what is given."""
        return self._read(lambda connection: read(connection, self._number, *given, **named))

    def _write(
        self,
        work: Callable[[Connection], T],
        settle: Settle[T] | None = None,
        quick: Callable[[Connection], T | None] | None = None,
    ) -> T:
        """Run ``work`` in one transaction that has the space to itself, and return its result once it is stored.

        If the answer to the commit is lost, ``settle`` finds out whether ``work`` was stored; without it, ``work`` runs
        again. ``quick`` is tried first and locks the space itself; if it returns None, it changed nothing, and ``work``
        runs.
        Raises: DatabaseCorrupt, as ``_read``; CorruptRecord for a bookmark that cannot move.
        """

        def locked(connection: Connection) -> T:
            result = None if quick is None else quick(connection)
            if result is not None:
                return result
            lock_space(connection, self._number)
            return work(connection)

        backend = self._open_backend()
        try:
            return backend.write(locked, settle)
        except STUMBLING as error:
            self._find_damage(backend, error)
            raise
        except DatabaseError as error:
            if type(error) is DatabaseError:  # a row was refused; another row may be the cause
                self._find_overtaken(backend, error)
            raise

    def _find_overtaken(self, backend: Backend, error: DatabaseError) -> None:
        """Name a bookmark that could not move because its log was ahead of it. Raises: CorruptRecord."""
        from headish.rows.moves import find_overtaken

        name = backend.read(lambda connection: find_overtaken(connection, self._number))
        if name is not None:
            subject = f"the bookmark {stored_name(name)!r}"
            raise CorruptRecord(subject, "its log goes on behind the move that it says is its last") from error

    def _find_damage(self, backend: Backend, error: Exception) -> None:
        """After work failed, look for a stored value of the wrong type. Raises: DatabaseCorrupt if there is one."""
        if isinstance(error, HeadishError):
            return
        from headish.verify.types import check_types

        # Only after a failure: to check every value beforehand would slow down each read.
        damaged = backend.read(lambda connection: check_types(connection, self._number))
        if damaged:
            reason = f"{damaged[0].subject}: {damaged[0].what}; 'headish verify' lists everything that disagrees"
            raise DatabaseCorrupt(backend.target, reason) from error

    def _store(
        self, work: Callable[[Connection, Mint], T], quick: Callable[[Connection, Mint], T | None] | None = None
    ) -> T:
        """``_write`` for work that stores turns: each run of it mints the same ids, so its turns are stored once.

        Raises: OutcomeUnknown with the ids.
        """
        mint = KeptIds(self._database.mint)

        def run(connection: Connection) -> T:
            mint.rewind()
            return work(connection, mint)

        def run_quick(connection: Connection) -> T | None:
            mint.rewind()
            return None if quick is None else quick(connection, mint)

        def settle(connection: Connection, _: T) -> bool:
            from headish.rows.turns import turn_by_id

            # The turns of a transaction are stored together or not at all, so the first id decides.
            return bool(mint.ids) and turn_by_id(connection, self._number, mint.ids[0]) is not None

        try:
            result = self._write(run, settle, run_quick)
        except OutcomeUnknown as error:
            error.ids = tuple(mint.ids)
            raise
        self._database.count_written(len(mint.ids))
        return result

    def _read_at(self, headish: str, work: Callable[[Connection, StoredTurn], T]) -> T:
        """Find the turn that a headish names, and run ``work`` on it in the same read transaction."""
        # Late, here and below: a program that lists conversations needs neither.
        from headish.history.reading.find import find_turn
        from headish.values.grammar import parse_headish

        parsed = parse_headish(headish)
        return self._read(lambda connection: work(connection, find_turn(connection, self._number, parsed)))

    def _read_from(self, headish: Headishes, work: Callable[[Connection, list[Place]], T]) -> T:
        """Find the places of one headish or of several, and run ``work`` on them in the same read transaction."""
        from headish.history.reading.find import find_place
        from headish.values.grammar import parse_headishes

        parsed = parse_headishes(headish)
        return self._read(
            lambda connection: work(connection, [find_place(connection, self._number, each) for each in parsed])
        )

    def _as_turn(self, stored: Appended | StoredTurn) -> Turn:
        """The turn that was stored now, or the one that was found stored before."""
        from headish.history.reading.decode import complete_turn, make_turn
        from headish.history.writing.append import Appended

        if isinstance(stored, Appended):
            return make_turn(stored.turn, stored.continues, self._options_at)
        return self._read_by(complete_turn, stored, self._options_at)

    def _check_writable(self) -> None:
        """Refuse a read-only store before a verb reads, calls or runs anything. Raises: ReadOnly, Closed."""
        self._open_backend().check_writable()

    def _open_backend(self) -> Backend:
        if self._is_closed:
            raise Closed(f"the store of the space {self.space!r}")
        return self._backend
