"""The one place that asks which database this is."""

from __future__ import annotations

import os
from pathlib import Path

from headish.database.backend import DURABILITIES, Backend
from headish.database.urls import URL, parse_url
from headish.errors import InvalidArgument, shown
from headish.values.doors import is_path

SQLITE, POSTGRESQL = ("sqlite", "sqlite+pysqlite"), ("postgresql", "postgresql+psycopg")
DATABASES = (*POSTGRESQL, *SQLITE)


def connect(
    target: str | os.PathLike[str],
    *,
    durability: str = "full",
    create: bool = True,
    read_only: bool = False,
    prepared: bool = True,
) -> Backend:
    """The database at a path, ``:memory:`` or a SQLAlchemy URL (``sqlite``, ``postgresql+psycopg``).

    Only the file's first bytes are read: upgrade.py checks the schema.
    Raises: InvalidArgument for another URL or durability; NotADatabase, UnknownDatabase.
    """
    if durability not in DURABILITIES:
        raise InvalidArgument(f"unknown durability {shown(durability)}: use {' or '.join(DURABILITIES)}")
    url = _url(target)
    if url.driver not in DATABASES:
        raise InvalidArgument(f"unknown database {url.driver!r}: use {', '.join(DATABASES)}")
    if url.driver in SQLITE:
        from headish.database.sqlite import SQLiteBackend

        return SQLiteBackend(url, durability=durability, create=create, read_only=read_only)
    from headish.database.postgresql import PostgreSQLBackend

    prepared = prepared and _read_flag(url, "prepared")
    url = url.without(["prepared"])._replace(driver="postgresql+psycopg")
    return PostgreSQLBackend(url, durability=durability, create=create, read_only=read_only, prepared=prepared)


def _read_flag(url: URL, name: str) -> bool:
    given = url.get(name, "true")
    if given not in ("true", "false"):
        raise InvalidArgument(f"{name} in the database URL is true or false, not {given!r}")
    return given == "true"


def _url(target: str | os.PathLike[str]) -> URL:
    if not is_path(target):
        raise InvalidArgument(f"a database is a path or a URL as text, without NUL, not {shown(target)}")
    if (isinstance(target, str) and target.startswith(("sqlite:", "postgresql:", "postgresql+"))) or "://" in str(
        target
    ):
        try:
            return parse_url(str(target))
        except ValueError:
            raise InvalidArgument("the database URL cannot be read") from None
    try:
        path = str(target) if str(target) == ":memory:" else str(Path(target).expanduser())
    except RuntimeError:
        raise InvalidArgument(f"there is no home folder for {shown(target)}") from None
    return URL("sqlite", database=path)
