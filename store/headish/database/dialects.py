"""Open a database by its path or URL. Only this module asks which database it is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from headish.database.backend import DURABILITIES, Backend
from headish.database.file.files import at_path, locate
from headish.errors import InvalidArgument, shown
from headish.values.checks.doors import is_path

if TYPE_CHECKING:
    from headish.database.urls import URL

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
    """Open the database at a path, ``:memory:`` or a SQLAlchemy URL (``sqlite``, ``postgresql+psycopg``).

    Reads only the first bytes of a file: upgrade.py checks the schema.
    Raises: InvalidArgument for another URL or durability; NotADatabase, UnknownDatabase.
    """
    if durability not in DURABILITIES:
        raise InvalidArgument(f"unknown durability {shown(durability)}: use {' or '.join(DURABILITIES)}")
    text = _text(target)
    if is_url(text):
        return _connect_url(text, durability, create=create, read_only=read_only, prepared=prepared)
    from headish.database.sqlite import SQLiteBackend  # late: a server needs no sqlite3

    return SQLiteBackend(at_path(_at_home(text)), durability=durability, create=create, read_only=read_only)


def is_url(target: str) -> bool:
    """Whether a target is a URL, and not the path of a file."""
    return "://" in target or target.startswith(("sqlite:", "postgresql:", "postgresql+"))


def _connect_url(text: str, durability: str, *, create: bool, read_only: bool, prepared: bool) -> Backend:
    from headish.database.urls import parse_url

    try:
        url = parse_url(text)
    except ValueError:
        # Without the URL and the cause: either may have the password.
        raise InvalidArgument("the database URL cannot be read") from None
    if url.driver not in DATABASES:
        raise InvalidArgument(f"unknown database {url.driver!r}: use {', '.join(DATABASES)}")
    if url.driver in SQLITE:
        from headish.database.sqlite import SQLiteBackend

        return SQLiteBackend(locate(url), durability=durability, create=create, read_only=read_only)
    from headish.database.postgresql import PostgreSQLBackend

    prepared = prepared and _read_flag(url, "prepared")
    url = url.without(["prepared"])._replace(driver="postgresql+psycopg")
    return PostgreSQLBackend(url, durability=durability, create=create, read_only=read_only, prepared=prepared)


def _read_flag(url: URL, name: str) -> bool:
    value = url.get(name, "true")
    if value not in ("true", "false"):
        raise InvalidArgument(f"{name} in the database URL is true or false, not {value!r}")
    return value == "true"


def _text(target: str | os.PathLike[str]) -> str:
    if not is_path(target):
        raise InvalidArgument(f"a database is a path or a URL as text, without NUL, not {shown(target)}")
    return str(target)


def _at_home(path: str) -> str:
    expanded = os.path.expanduser(path)
    if expanded.startswith("~"):
        raise InvalidArgument(f"there is no home folder for {shown(path)}")
    return expanded or os.curdir
