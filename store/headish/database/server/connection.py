"""A connection to a server, and the settings that each of its transactions begins with."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import groupby, starmap
from operator import attrgetter
from typing import Any, TypeVar

from headish.database.isolation.confined import SentSettings
from headish.database.query import Connection, Query, Spelling, Statement
from headish.database.server.failures import hidden_behind, interrupt_behind
from headish.database.server.merged import merge

T = TypeVar("T")

# Each transaction makes its own settings. A pooler that lends a connection for one transaction refuses settings at the
# start of a session, and would leave later ones to the next client.
SETTINGS = (
    # Every statement of an append has its index. A plan made while the table is small would ignore it, and be kept.
    "SELECT pg_catalog.set_config('enable_seqscan', 'off', true)"
    # A join begins with a few rows and looks the others up. A plan made for a small table would hash the whole space.
    ", pg_catalog.set_config('enable_hashjoin', 'off', true), pg_catalog.set_config('enable_mergejoin', 'off', true)"
    # A transaction of ours is idle only until the next statement is sent. If it is idle for a minute, a call that was
    # interrupted twice has left it behind, and its locks must go.
    ", pg_catalog.set_config('idle_in_transaction_session_timeout', '60000', true)"
)


class ServerConnection(Connection):
    """A connection that sends BEGIN, the settings and the first statement as one message.

    ``space`` is the space of all its statements, if policies separate spaces. ``takes_whole``: this server takes a
    message without BEGIN as a transaction like any other.
    """

    __slots__ = ("_driver", "_sent", "_space", "_takes_whole")

    def __init__(
        self, driver: Any, sent: SentSettings, words: Spelling, space: int | None = None, *, takes_whole: bool = True
    ) -> None:
        super().__init__(driver.cursor(), words)
        self._driver, self._sent, self._space, self._takes_whole = driver, sent, space, takes_whole

    def within(self, space: int) -> Connection:
        if not self._sent.is_confined:
            return self
        return ServerConnection(self._driver, self._sent, self._words, space, takes_whole=self._takes_whole)

    def each(self, query: Query, make: Callable[..., T], **parameters: Any) -> list[T]:
        return list(starmap(make, self.rows(query, **parameters)))  # this driver has all rows in memory anyway

    def run_rows(self, query: Query, rows: Sequence[Sequence[Any]]) -> None:
        # ``executemany`` makes a pipeline of the driver's own, unless the rows are in ours already.
        with self._first(query) or (self._piped() if len(rows) > 1 else nullcontext()):
            super().run_rows(query, rows)

    def run_proven(self, proof: Statement, *others: Statement) -> bool:
        # The proof goes alone. If a statement fails among others, the driver believes that it is prepared, and the
        # server does not.
        self.run_rows(proof.query, [proof.values])
        if self._cursor.rowcount != 1:
            return False
        self.statements += len(others)
        with self._piped():
            for query, same in groupby(others, attrgetter("query")):
                self._driver.cursor().executemany(self._words[query].sql, [each.values for each in same])
        return True

    def run_whole(self, result: T, proof: Statement, *others: Statement) -> T | None:
        if not self._takes_whole or self._driver.pgconn.transaction_status:
            return super().run_whole(result, proof, *others)
        is_proven = self._send_whole(result, proof, *others)
        self._sent.end()
        self.statements += 1 + len(others) * is_proven
        return result if is_proven else None

    def _send_whole(self, result: object, proof: Statement, *others: Statement) -> bool:
        """Send the settings and all statements as one message, which is a transaction. True if the proof succeeded."""
        sql = merge(proof.query, tuple([each.query for each in others]), is_confined=self._sent.is_confined)
        values = [value for each in (proof, *others) for value in each.values]
        settings = self._sent.before(proof.query, self._space)
        self._begin_with_statements(False)
        try:
            with self._piped():
                self._cursor.execute(settings)
                self._cursor.execute(sql, values)  # the cursor's row will be that of the last statement
                self._sent.whole = result  # from here on an error may follow the commit: it is sent as the block ends
        except IndexError as error:
            # A refusal at the very end is one answer more than the driver expects. If all answers arrive at once, it
            # looks for a command that belongs to it, and fails.
            raise self._driver.OperationalError("the server refused a message at its end") from error
        return bool(self._cursor.fetchone() == (1,))

    def _execute(self, query: Query, parameters: dict[str, Any]) -> None:
        with self._first(query) or nullcontext():
            super()._execute(query, parameters)

    def _begin_with_statements(self, begins: bool) -> None:
        """Choose whether the driver sends BEGIN before the first statement. Without it, a message is a transaction."""
        # Only if it differs: the driver refuses to set it inside of a transaction.
        if self._driver.autocommit is begins:
            self._driver.autocommit = not begins

    def _first(self, query: Query) -> AbstractContextManager[Any] | None:
        """A context that sends the missing settings in one message with what runs inside; None if all were sent."""
        settings = self._sent.before(query, self._space)
        return self._together(settings) if settings else None

    @contextmanager
    def _together(self, settings: str) -> Iterator[None]:
        self._begin_with_statements(True)
        with self._piped():
            self._driver.execute(settings, prepare=False)
            yield

    def _piped(self) -> AbstractContextManager[None]:
        """A context whose statements go out as one message."""
        return Piped(self._driver.pipeline())


class Piped(AbstractContextManager[None]):
    """The driver's pipeline, without the driver's log of an error on leaving.

    If an error inside keeps the pipeline from being left, the driver would log that, and Python would print it in a
    program that sets up no log. But the caller reports the error inside, or tries again. If a signal's handler raises
    at the end of the message, the caller gets that exception, not the driver's.
    """

    __slots__ = ("_handled", "_pipeline")

    def __init__(self, pipeline: AbstractContextManager[object]) -> None:
        self._pipeline, self._handled = pipeline, sys.exc_info()[1]

    def __enter__(self) -> None:
        self._pipeline.__enter__()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            # Without the error inside: the pipeline would log an error of its own beside it.
            self._pipeline.__exit__(None, None, None)
        except Exception as second:
            if error is None:
                hidden = hidden_behind(second, self._handled)
                if isinstance(hidden, Exception):  # ``_transact`` looks for interrupts itself
                    raise hidden from None
                raise
            if (interrupt := interrupt_behind(second, error)) is not None:
                raise interrupt from error
