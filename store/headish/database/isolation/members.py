"""Grant, revoke and list the spaces that logins may enter in a secured database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headish.database.backend import Backend
from headish.database.isolation.catalog import Catalog, is_secured, read_catalog, run
from headish.database.isolation.grants import ERASER, OWNER, READER, WRITER
from headish.database.isolation.measures import literal, member_added, quoted
from headish.database.query import SchemaConnection
from headish.errors import DatabaseReadOnly, InvalidArgument, NotIsolated, RoleMissing, UnknownSpace, shown
from headish.values.names import stored_name
from headish.values.results.plain import PlainResult

GRANTED = {"reader": READER, "writer": WRITER, "eraser": ERASER}
_FIND = "SELECT id FROM space WHERE name = %s"
_MEMBERS = """
SELECT m.login, s.name FROM member AS m LEFT JOIN space AS s ON s.id = m.space
WHERE m.space = 0 OR s.id IS NOT NULL ORDER BY m.login, s.name NULLS FIRST
"""
_OTHERS = "SELECT count(*) FROM member WHERE login = %s"


class Member(PlainResult, frozen=True):
    """A login and a space that is open to it; None for every space. ``role`` is reader, writer, eraser or owner."""

    login: str
    space: str | None
    role: str | None


def grant(backend: Backend, space: bytes, login: str, role: str) -> None:
    """Open a space to a login. Raises: as ``Spaces.grant``."""
    if role not in GRANTED:
        raise InvalidArgument(f"role is {', '.join(GRANTED)}, not {shown(role)}")
    with _opened(backend) as (connection, catalog):
        _check_login(catalog, login)
        number = _find(backend, connection, space)
        has = _role_of(catalog, login)
        # A role belongs to the server and applies in every space: another one here would widen the login's rights
        # elsewhere.
        if has not in (None, role):
            conflict = f"the login {shown(login)} is {has} of all spaces that are open to it"
            raise InvalidArgument(f"{conflict}: grant it role={has!r}, or revoke what it has first")
        if has is None:
            run(connection, f"GRANT {GRANTED[role]} TO {quoted(login)}")
        run(connection, member_added(catalog.schema, login, number))


def revoke(backend: Backend, space: bytes, login: str) -> None:
    """Close a space to a login; with its last space, revoke its role, too. Raises: as ``Spaces.revoke``."""
    with _opened(backend) as (connection, catalog):
        number = _find(backend, connection, space)
        where = f"login = {literal(login)} AND space = {number}"
        if run(connection, f"DELETE FROM {catalog.schema}.member WHERE {where}") != 1:  # noqa: S608
            raise InvalidArgument(f"the space is not open to the login {shown(login)} by name")
        has = _role_of(catalog, login) if login in catalog.roles else None
        if has in GRANTED and not connection.execute(_OTHERS, (login,)).fetchone()[0]:
            run(connection, f"REVOKE {GRANTED[has]} FROM {quoted(login)}")


def list_members(backend: Backend) -> list[Member]:
    """Every login with each space that is open to it, by login."""
    with _opened(backend) as (connection, catalog):
        rows = connection.execute(_MEMBERS).fetchall()
    return [
        Member(login, None if name is None else stored_name(bytes(name)), _role_of(catalog, login))
        for login, name in rows
    ]


@contextmanager
def _opened(backend: Backend) -> Iterator[tuple[SchemaConnection, Catalog]]:
    """A transaction on a secured database, with its catalog. Raises: NotIsolated; RoleMissing if the login may not
    decide who enters which space."""
    if backend.upgrades_itself:
        backend.check_isolated()
    try:
        with backend.schema_connection() as connection:
            catalog = read_catalog(connection)
            if not is_secured(catalog):
                raise NotIsolated(backend.target, "it was not secured yet; run 'headish db secure' first")
            yield connection, catalog
    except DatabaseReadOnly as error:
        if getattr(error.__cause__, "sqlstate", None) != "42501":  # insufficient_privilege; otherwise a replica
            raise
        raise RoleMissing(backend.target, OWNER) from error


def _find(backend: Backend, connection: SchemaConnection, space: bytes) -> int:
    row = connection.execute(_FIND, (space,)).fetchone()
    if row is None:
        raise UnknownSpace(backend.target, stored_name(space))
    return int(row[0])


def _check_login(catalog: Catalog, login: str) -> None:
    if login not in catalog.roles or not catalog.roles[login].may_log_in:
        raise InvalidArgument(f"the server has no login {shown(login)}: CREATE ROLE {quoted(login)} LOGIN")


def _role_of(catalog: Catalog, login: str) -> str | None:
    """The role with the most rights among those that a login has, or None."""
    for name, role in (("owner", OWNER), *reversed(GRANTED.items())):
        if catalog.reaches(login, role):
            return name
    return None
