"""The identity of a database, which tells it from others before it is opened."""

from __future__ import annotations

import os
from typing import NamedTuple

from headish.database.dialects import SQLITE
from headish.database.file.files import Location, at_path, locate
from headish.database.urls import parse_url
from headish.errors import InvalidArgument


class DatabaseIdentity(NamedTuple):
    """The identity of a database: its URL, or the path, device and inode of its file. A file that was removed and made
    anew is another database."""

    target: str
    read_only: bool = False
    file: tuple[int, int] | None = None


def identify(target: str | os.PathLike[str]) -> DatabaseIdentity | None:
    """The identity of a path or URL, by the file that exists now; None for a database in memory, which nobody shares.

    Raises: InvalidArgument for any other value.
    """
    text = os.fspath(target) if isinstance(target, str | os.PathLike) else None
    if not isinstance(text, str):
        raise InvalidArgument(f"db is a path, a URL or an open Database, not {type(target).__name__}")
    if "://" not in text:
        return _identify_file(at_path(os.path.expanduser(text)))
    try:
        url = parse_url(text)
    except ValueError:
        return DatabaseIdentity(text)  # opening it refuses it, with a message of its own
    return _identify_file(locate(url)) if url.driver in SQLITE else DatabaseIdentity(text)


def _identify_file(found: Location) -> DatabaseIdentity | None:
    if found.in_memory or found.is_foreign:
        return None
    path = os.path.realpath(found.path)
    try:
        file = os.stat(path)
    except OSError:
        return DatabaseIdentity(path, found.read_only)
    return DatabaseIdentity(path, found.read_only, (file.st_dev, file.st_ino))
