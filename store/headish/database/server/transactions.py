"""The connections of a process to a server, and a transaction on one of them.

A read is REPEATABLE READ, READ ONLY, so all of its statements see one moment. A write is READ COMMITTED and first locks
the row of its space. So writers of one space follow one another, and a write reads, after the lock, what the writers
before it left.

When a connection turns out to be lost, the pool drops all idle ones: after a restart of the server they are lost, too.
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
"""How long to wait for a connection to a server; ``?connect_timeout=`` of the URL wins."""
WAIT_SECONDS = 30.0
"""How long a thread waits for one of the connections of its process."""
IDLE_CONNECTIONS = 8
"""The number of open connections that are kept between transactions."""


class _SharedPool:
    """The pool and search path that the backend of a database shares with the backends of its spaces."""

    pool: Pool[Any]
    path: SearchPath


class ServerTransactions:
    """Runs a transaction once, and reports whether the connection was lost before or during the commit."""

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
        """Make the pool of a process. Returns the one that it replaces."""
        before = vars(self._shared).get("pool")
        self._shared.pool = Pool(self._connect, kept=IDLE_CONNECTIONS, wait_seconds=WAIT_SECONDS)
        return before

    def _connect(self) -> Any:
        try:
            return self._psycopg.connect(**self._arguments)
        except self._psycopg.ProgrammingError as error:
            # Whatever a signal's handler raises while the driver reads this number, the driver calls it a wrong number.
            hidden = error.__context__
            if "connect_timeout" in str(error) and hidden and not isinstance(hidden, ValueError | TypeError):
                raise hidden from None
            raise

    def _read_arguments(self) -> dict[str, Any]:
        """The driver's arguments. The settings in the URL win over ours. Raises: InvalidArgument."""
        from psycopg.conninfo import make_conninfo

        try:
            arguments = {"connect_timeout": CONNECT_SECONDS, **server_arguments(self._url)}
            make_conninfo(**arguments)
        except (ValueError, self._psycopg.Error) as error:
            raise InvalidArgument(f"the database URL cannot be used: {error}") from None
        # Without prepared statements for poolers that cannot keep them apart between clients.
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
                    # The server has become stricter since the database was opened, and has refused a message at its
                    # very end. The driver does not tell why. The next attempt begins with a BEGIN that sets the level.
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
            # An interrupt, perhaps between a statement and its answer: the connection can take no ROLLBACK then.
            self._pool.discard(driver)
            raise
        self._give_back(driver)
        return result

    def _undo(self, driver: Any) -> None:
        # A ROLLBACK makes the driver forget the statements that it prepared. A message that is a transaction has no
        # ROLLBACK: the driver may believe that a statement is prepared which failed at the server. And no statement can
        # follow half a message.
        if driver.closed or driver.autocommit or driver.pgconn.pipeline_status:
            self._pool.discard(driver)
            return
        try:
            driver.rollback()
        except self._psycopg.Error:
            self._pool.discard(driver)  # when the connection closes, the server rolls back
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
        # In REPEATABLE READ a write would fix its snapshot before it has the lock of its space, and so miss what the
        # writer before it stored.
        # Set only if it differs: setting costs ten times as much as looking.
        isolation = level.REPEATABLE_READ if reads else level.READ_COMMITTED
        if driver.isolation_level != isolation:
            driver.isolation_level = isolation
            driver.read_only = reads or None  # None leaves a read-only server read-only

    def _check_lost(self, driver: Any, lost: ConnectionLost) -> None:
        """Raise ``lost`` if the connection is lost, and close the idle ones, which are lost, too."""
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
        """Run upkeep on a connection in autocommit mode, as VACUUM needs it. Returns "", or why it failed."""
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
            return  # the connections are the parent's, and only the parent may close them
        self._owner.is_closed = True
        self._pool.discard_idle()
