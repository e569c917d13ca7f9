"""The one place that asks which database this is."""

from __future__ import annotations

import os
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from headish.database.backend import DURABILITIES, Backend
from headish.database.postgresql import PostgreSQLBackend
from headish.database.sqlite import SQLiteBackend
from headish.errors import InvalidArgument, shown
from headish.values.doors import is_path

DATABASES: dict[str, type[SQLiteBackend] | type[PostgreSQLBackend]] = {
    "sqlite": SQLiteBackend,
    "sqlite+pysqlite": SQLiteBackend,
    "postgresql": PostgreSQLBackend,
    "postgresql+psycopg": PostgreSQLBackend,
}


def connect(
    target: str | os.PathLike[str], *, durability: str = "full", create: bool = True, read_only: bool = False
) -> Backend:
    """The database at a path, ``:memory:`` or a SQLAlchemy URL (``sqlite``, ``postgresql+psycopg``).

    Only the file's first bytes are read: upgrade.py checks the schema.
    Raises: InvalidArgument for another URL or durability; NotADatabase, UnknownDatabase.
    """
    if durability not in DURABILITIES:
        raise InvalidArgument(f"unknown durability {shown(durability)}: use {' or '.join(DURABILITIES)}")
    url = _url(target)
    database = DATABASES.get(url.drivername)
    if database is None:
        raise InvalidArgument(f"unknown database {url.drivername!r}: use {', '.join(sorted(DATABASES))}")
    if url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    return database(url, durability=durability, create=create, read_only=read_only)


def _url(target: str | os.PathLike[str]) -> URL:
    if not is_path(target):
        raise InvalidArgument(f"a database is a path or a URL as text, without NUL, not {shown(target)}")
    if (isinstance(target, str) and target.startswith(("sqlite:", "postgresql:", "postgresql+"))) or "://" in str(
        target
    ):
        try:
            return make_url(str(target))
        except (ArgumentError, ValueError):
            raise InvalidArgument("the database URL cannot be read") from None
    try:
        path = str(target) if str(target) == ":memory:" else str(Path(target).expanduser())
    except RuntimeError:
        raise InvalidArgument(f"there is no home folder for {shown(target)}") from None
    return URL.create("sqlite", database=path)
