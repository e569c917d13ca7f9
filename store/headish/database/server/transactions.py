"""The connections of a process to a server, and a transaction on one of them.

A read is REPEATABLE READ, READ ONLY: all of its statements see one moment. A write is READ COMMITTED and locks the row
of its space first, so writers of one space follow one another, and what a write reads after the lock is what the
writers before it left.

The first connection that is found lost takes the whole pool with it: after a restart of the server all others are
lost, too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from headish.database.isolation.confined import SentSettings, translate_refusal
from headish.database.isolation.locating import SearchPath
from headish.database.owner import Owner
from headish.database.pool import Pool
from headish.database.query import POSTGRESQL, SECURED, Connection, SchemaConnection
from headish.database.server.connection import SETTINGS, ServerConnection
from headish.database.server.failures import CommitLost, ConnectionLost, interrupt_behind, state_of, translate
from headish.database.urls import URL, server_arguments
from headish.errors import InvalidArgument

T = TypeVar("T")

CONNECT_SECONDS = 10
"""How long a server may take to answer a connection; ``?connect_timeout=`` of the URL wins."""
WAIT_SECONDS = 30.0
"""How long a thread waits for one of the connections of its process."""
IDLE_CONNECTIONS = 8
"""How many open connections are kept between transactions."""


class _SharedPool:
    """What the backend of a database and those of its spaces share."""

    pool: Pool[Any]
    path: SearchPath


class ServerTransactions:
    """What runs a transaction once, and says whether the connection was lost and when."""

    def __init__(
        self, url: URL, *, durability: str, create: bool, read_only: bool = False, prepared: bool = True
    ) -> None:
        try:
            import psycopg
        except ImportError:
            raise InvalidArgument("PostgreSQL needs the extra: pip install 'headish[postgresql]'") from None
        self._psycopg = psycopg
        self.target, self.read_only = str(url), read_only
        commit = "off" if durability == "normal" else "on"
        self._settings = f"{SETTINGS}, pg_catalog.set_config('synchronous_commit', '{commit}', true)"
        self._url, self._prepared = url, prepared
        self._arguments = self._read_arguments()
        self.is_confined, self._takes_whole = False, True
        self._space: int | None = None  # the one that a backend is within
        self._shared = _SharedPool()
        self._shared.path = SearchPath(self._arguments)
        self._owner = Owner(self.target, self._renew)
        self._renew()

    @property
    def _pool(self) -> Pool[Any]:
        return self._shared.pool

    def _renew(self) -> object:
        """Make the connections of a process. Returns those that it replaces."""
        before = vars(self._shared).get("pool")
        self._shared.pool = Pool(self._connect, kept=IDLE_CONNECTIONS, wait_seconds=WAIT_SECONDS)
        return before

    def _connect(self) -> Any:
        return self._psycopg.connect(**self._arguments)

    def _read_arguments(self) -> dict[str, Any]:
        """What the driver is told: the URL, whose settings win over ours."""
        from psycopg.conninfo import make_conninfo

        try:
            arguments = {"connect_timeout": CONNECT_SECONDS, **server_arguments(self._url)}
            make_conninfo(**arguments)
        except (ValueError, self._psycopg.Error) as error:
            raise InvalidArgument(f"the database URL cannot be used: {error}") from None
        return arguments if self._prepared else arguments | {"prepare_threshold": None}

    def _transact(self, work: Callable[[Connection], T], *, reads: bool) -> T:
        handled = sys.exc_info()[1]
        driver = self._pool.take()
        try:
            self._begin(driver, reads)
            sent = SentSettings(self._settings + self._shared.path.settings, is_confined=self.is_confined)
            try:
                words = SECURED if self.is_confined else POSTGRESQL
                result = work(ServerConnection(driver, sent, words, self._space, takes_whole=self._takes_whole))
            except self._psycopg.Error as error:
                lost = ConnectionLost(error) if sent.whole is None else CommitLost(error, sent.whole)
                self._check_lost(driver, lost)
                if sent.whole is not None and not state_of(error):
                    # The server became stricter since it was asked, and refused a message at its very end. The driver
                    # does not tell why; what follows begins with a BEGIN that says how strict it is.
                    self._takes_whole = False
                    raise lost from error
                refusal = translate_refusal(self.target, error, sent)
                if refusal is not None:
                    raise refusal from error
                raise
            try:
                self._commit(driver)
            except self._psycopg.Error as error:
                self._check_lost(driver, CommitLost(error, result) if not reads else ConnectionLost(error))
                raise
        except Exception as error:
            interrupt = interrupt_behind(error, handled)
            if interrupt is not None:
                self._pool.discard(driver)
                raise interrupt from None
            self._undo(driver)
            raise
        except BaseException:
            # An interrupt, perhaps between a statement and its answer: nothing can follow it, not even a ROLLBACK.
            self._pool.discard(driver)
            raise
        self._give_back(driver)
        return result

    def _undo(self, driver: Any) -> None:
        # At a ROLLBACK the driver forgets what it prepared. A message that is a transaction has none, and a statement
        # of it that failed may be prepared for the driver, and not for the server. Nothing follows half a message.
        if driver.closed or driver.autocommit or driver.pgconn.pipeline_status:
            self._pool.discard(driver)
            return
        try:
            driver.rollback()
        except self._psycopg.Error:
            self._pool.discard(driver)  # the server ends what it was in the middle of
        except BaseException:
            self._pool.discard(driver)
            raise
        else:
            self._give_back(driver)

    def _give_back(self, driver: Any) -> None:
        if self._owner.is_closed or driver.closed:
            self._pool.discard(driver)
        else:
            self._pool.give_back(driver)

    def _commit(self, driver: Any) -> None:
        driver.commit()

    def _begin(self, driver: Any, reads: bool) -> None:
        level = self._psycopg.IsolationLevel
        # REPEATABLE READ for a write would fix its snapshot before it has the lock of its space, and miss the writer
        # before.
        # To set what is set costs as much as to look ten times.
        isolation = level.REPEATABLE_READ if reads else level.READ_COMMITTED
        if driver.isolation_level != isolation:
            driver.isolation_level = isolation
            driver.read_only = reads or None  # None leaves a read-only server read-only

    def _check_lost(self, driver: Any, lost: ConnectionLost) -> None:
        """Raises ``lost`` where the connection is; those that lie idle were lost with it."""
        if driver.closed or driver.broken:
            self._pool.discard_idle()
            raise lost from lost.error

    @contextmanager
    def schema_connection(self) -> Iterator[SchemaConnection]:
        self._owner.check()
        try:
            driver = self._connect()
            try:
                self._begin(driver, reads=self.read_only)
                driver.execute(f"SELECT {self._shared.path.find}")
                yield driver
                driver.commit()
            finally:
                driver.close()
        except self._psycopg.Error as error:
            raise translate(self.target, error) from error

    def _care(self, work: Callable[[Any, str], str]) -> str:
        """Work on a connection whose statements are transactions of their own. Empty, or why it was not done."""
        try:
            driver = self._connect()
            try:
                driver.autocommit = True
                return work(driver, self._shared.path.find)
            finally:
                driver.close()
        except self._psycopg.Error as error:
            return translate(self.target, error).reason

    def close(self) -> None:
        if self._owner.is_closed or self._owner.is_child:
            return  # what a forked child has of its parent is the parent's to close
        self._owner.is_closed = True
        self._pool.discard_idle()
