"""Secure a database: create everything that keeps its spaces apart, or report what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from headish.database.backend import Backend
from headish.database.isolation.catalog import Catalog, is_secured, read_catalog, run
from headish.database.isolation.grants import OWNER
from headish.database.isolation.measures import Measure, find_missing, guarded, quoted
from headish.database.pause import pause
from headish.database.query import SchemaConnection
from headish.database.spreading import not_spread
from headish.database.upgrade import check_current
from headish.errors import DatabaseError, InvalidArgument, RoleMissing, shown
from headish.values.results.plain import PlainResult

_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtext('headish db secure'))"
ATTEMPTS = 10
"""How often to try if readers and writers are in the way."""
PASSES = 4
"""How often to look again: some missing measures show only after the tables were moved, or ``member`` was made."""
GIVEN_AWAY = ("schema", "owner")
_OWN = f"GRANT {OWNER} TO CURRENT_USER"


class Secured(PlainResult, frozen=True):
    """The measures that keep the spaces of a database apart: those just ``done``, and those still ``missing``.
    ``tables`` have a policy. ``secured`` is false if the database was never secured."""

    secured: bool
    tables: tuple[str, ...]
    done: tuple[Measure, ...]
    missing: tuple[Measure, ...]


def secure(backend: Backend, apps: Sequence[str] = (), *, check: bool = False) -> Secured:
    """Make the missing roles, grants, functions and policies, in one transaction; ``check`` changes nothing.

    ``apps`` are logins that may enter every space. A check examines them, or the login of this connection.
    Raises: NotIsolated on SQLite, InvalidArgument for an unknown login, UnknownDatabase, DatabaseTooOld, ReadOnly,
    RoleMissing, DatabaseError on a database that is spread.
    """
    _look(backend)
    if not check:
        backend.check_writable()
    tries = 0
    while True:
        tries += 1
        try:
            with backend.schema_connection() as connection:
                return _check(connection, apps) if check else _make(connection, apps)
        except DatabaseError as error:
            state = getattr(error.__cause__, "sqlstate", None)
            if state == "42501":  # insufficient_privilege
                raise RoleMissing(backend.target, OWNER, ", or a superuser") from error
            # deadlock_detected: readers and writers lock the tables that are altered here, in orders of their own.
            if state != "40P01" or tries >= ATTEMPTS:
                raise
        pause(0, 0.1 * tries)


def _check(connection: SchemaConnection, apps: Sequence[str]) -> Secured:
    catalog = read_catalog(connection)
    _check_logins(catalog, apps)
    missing = find_missing(catalog, apps or [catalog.session], apps)
    return Secured(is_secured(catalog), _with_policy(catalog), (), tuple(missing))


def _make(connection: SchemaConnection, apps: Sequence[str], *, moves: bool = True) -> Secured:
    connection.execute(_ONE_AT_A_TIME)
    catalog = read_catalog(connection)
    _check_logins(catalog, apps)
    done: list[Measure] = []
    for _ in range(PASSES):
        before = len(done)
        for measure in find_missing(catalog, apps, apps):
            if measure.statement is None or (measure.kind == "schema" and not moves):
                continue
            if measure.kind in GIVEN_AWAY and not (catalog.is_superuser or catalog.reaches(catalog.session, OWNER)):
                run(connection, _OWN)  # a login that is not a superuser can give tables only to a role that it is in
            run(connection, measure.statement)
            done.append(measure)
            if measure.kind == "schema":
                break  # the other statements name the schema where the tables were, so look again
        if len(done) == before:
            break
        catalog = read_catalog(connection)
    return Secured(is_secured(catalog), _with_policy(catalog), tuple(done), tuple(find_missing(catalog, apps, apps)))


def _with_policy(catalog: Catalog) -> tuple[str, ...]:
    return tuple(name for name in guarded(catalog) if catalog.tables[name].is_enabled)


def _check_logins(catalog: Catalog, logins: Sequence[str]) -> None:
    for name in logins:
        if name not in catalog.roles:
            raise InvalidArgument(f"the server has no login {shown(name)}: CREATE ROLE {quoted(name)} LOGIN")


def _look(backend: Backend) -> None:
    """Refuse what cannot be secured. Raises: as ``secure``."""
    if backend.upgrades_itself:
        backend.check_isolated()
    check_current(backend, "secured")
    if not_spread(backend) is not None:
        raise DatabaseError(backend.target, "its tables are spread over several machines, and are not secured there")


@contextmanager
def lifted(connection: SchemaConnection) -> Iterator[None]:
    """A context in which a migration sees all rows. On leaving, all tables are guarded again, in the same transaction.

    Does nothing for a database that was never secured.
    """
    catalog = read_catalog(connection)
    if not is_secured(catalog):
        yield
        return
    for name in guarded(catalog):
        run(connection, f"ALTER TABLE {catalog.schema}.{quoted(name)} NO FORCE ROW LEVEL SECURITY")
    yield
    _make(connection, (), moves=False)  # open stores look for the tables where they are now
