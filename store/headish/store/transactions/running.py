"""``Store.read`` and ``Store.write``: a caller's function, run in one transaction, again where the database asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from headish.database.query import Connection
from headish.errors import HeadishError, OutcomeUnknown
from headish.history.writing.tips import NOTHING, remember
from headish.store.space import STUMBLING, Space
from headish.store.transactions.reading import ReadTransaction
from headish.store.transactions.writing import WriteTransaction
from headish.values.ids import KeptIds

T = TypeVar("T")
TransactionKind = TypeVar("TransactionKind", bound=ReadTransaction)


class _Raised(Exception):  # carries an error of the caller's code past ``Space._find_damage``
    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


def run_read(space: Space, work: Callable[[ReadTransaction], T]) -> T:
    """Run the function of ``Store.read``."""

    def run(connection: Connection) -> T:
        return _run(ReadTransaction(connection, space), work)

    try:
        return space._read(run)
    except _Raised as raised:
        raise raised.error from raised.error.__cause__


def run_write(space: Space, work: Callable[[WriteTransaction], T]) -> T:
    """Run the function of ``Store.write``."""
    mint = KeptIds(space._database.mint)
    tried: list[WriteTransaction] = []

    def run(connection: Connection) -> tuple[T, WriteTransaction]:
        mint.rewind()
        transaction = WriteTransaction(connection, space, mint)
        tried[:] = [transaction]  # the last attempt alone: what an earlier one wrote was rolled back
        result = _run(transaction, work)
        if transaction._failed is not None:
            raise transaction._failed  # the function caught it, but the change is half made
        return result, transaction

    def settle(connection: Connection, done: tuple[T, WriteTransaction]) -> bool:
        is_stored = done[1]._is_stored
        return is_stored is not None and is_stored(connection)

    try:
        # Passed as ``quick``, too: the transaction locks the space itself, as late as it can.
        result, transaction = space._write(run, settle, run)
    except OutcomeUnknown as error:
        error.ids = tuple(appended.turn.id for each in tried for written in each._written for appended in written.built)
        raise
    except _Raised as raised:
        raise raised.error from raised.error.__cause__
    for written in transaction._written:
        # Remembered only after the commit. If other threads wrote meanwhile, the commit numbers show it.
        space._remembered = remember(space._remembered or NOTHING, written)
    space._database.count_written(sum(len(written.built) for written in transaction._written))
    return result


def _run(transaction: TransactionKind, work: Callable[[TransactionKind], T]) -> T:
    try:
        return work(transaction)
    except STUMBLING as error:
        if isinstance(error, HeadishError) or error is transaction._stumbled:
            raise
        raise _Raised(error) from error.__cause__
    finally:
        transaction._is_over = True
