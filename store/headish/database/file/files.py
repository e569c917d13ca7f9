"""The file of a SQLite database: its path, whether it is writable, and how headish opens it when it is not.

A database in WAL mode needs two files beside it, ``-wal`` and ``-shm``. A reader makes them if it may. In a folder
where it may not, it uses the ones that exist. If there are none, no process has the database open for writing, and
SQLite reads the file alone (``immutable=1``). SQLite then takes no locks, so headish looks at the file after each read,
and refuses the read if the file has changed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from headish.database.file.holding import look_into
from headish.errors import DatabaseUnavailable, InvalidArgument, NotADatabase, UnknownDatabase
from headish.values.checks.files import Unfit, check_target

if TYPE_CHECKING:
    from headish.database.urls import URL

MODES = ("ro", "rw", "rwc", "memory")
_MAGIC = b"SQLite format 3\x00"
_OURS = {"mode", "immutable", "uri"}
_VERSIONS = slice(18, 20)  # bytes of the header: 2 and 2 if readers and writers use a write-ahead log


class Location(msgspec.Struct, frozen=True, gc=False):
    """The location of a database: its path, the words with which SQLite opens it (a URI if ``is_uri``), and whether it
    may be written and created. ``is_foreign``: a URI with options of SQLite's own."""

    path: str
    opened: str
    is_uri: bool = False
    in_memory: bool = False
    is_foreign: bool = False
    read_only: bool = False
    may_create: bool = True


def at_path(path: str) -> Location:
    """The database at a path, or in memory."""
    if path == ":memory:":
        return Location(path, path, in_memory=True)
    # Absolute, because a program may change its working directory while the database is open.
    return Location(path, os.path.abspath(path))


def locate(url: URL) -> Location:
    """The location that a SQLite URL names. ``?mode=ro`` and ``?immutable=1`` read only; ``?mode=rw`` makes no file.

    Raises: InvalidArgument for another mode.
    """
    from urllib.parse import unquote, urlsplit

    mode = url.get("mode", "rwc")
    if mode not in MODES:
        raise InvalidArgument(f"unknown mode {mode!r} in the database URL: use {', '.join(MODES)}")
    path = url.database or ":memory:"
    if path == ":memory:" or mode == "memory" or "mode=memory" in path:
        is_uri = path.startswith("file:")
        return Location(path, _uri(path, url) if is_uri else ":memory:", is_uri=is_uri, in_memory=True)
    if path.startswith("file:"):
        if url.query.keys() - _OURS:
            # Options such as a shared cache or another file system (``vfs``) are left to SQLite.
            return Location(path, _uri(path, url), is_uri=True, is_foreign=True)
        try:
            path = unquote(urlsplit(path).path)
        except ValueError as error:
            raise InvalidArgument(f"the file of the database, {path!r}, cannot be read as a URL ({error})") from None
    read_only = mode == "ro" or url.get("immutable") in ("1", "true")
    return replace(at_path(path), read_only=read_only, may_create=mode == "rwc" and not read_only)


def _uri(path: str, url: URL) -> str:
    from urllib.parse import urlencode

    query = urlencode(url.without(["uri"]).query, doseq=True)
    return path + ("&" if "?" in path else "?") * bool(query) + query


def check_file(target: str, create: bool) -> None:
    """Refuse a path that cannot be a SQLite file. Raises: NotADatabase, UnknownDatabase, DatabaseUnavailable."""
    try:
        check_target(target)
    except Unfit as error:
        raise NotADatabase(target, str(error.strerror)) from None
    except OSError as error:
        raise DatabaseUnavailable(target[:200], f"there can be no such file ({error.strerror})") from None
    if not os.path.exists(target):
        if not create:
            raise UnknownDatabase(target, "there is no database")
        try:
            os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
        except OSError as error:
            raise DatabaseUnavailable(target, f"its folder cannot be made ({error.strerror})") from None
        return
    beginning = look_into(target)
    if beginning and beginning[: len(_MAGIC)] != _MAGIC:
        raise NotADatabase(target, "the file is not a SQLite database")
    _check_names(target)


def _check_names(target: str) -> None:
    """Refuse hard links. SQLite follows a symbolic link before it names the log. A hard link has a log and locks for
    each name, and a writer by one name loses what a writer by the other has stored.

    Raises: DatabaseUnavailable.
    """
    for path in (target, f"{target}-wal", f"{target}-shm"):
        names = os.stat(path).st_nlink if os.path.exists(path) else 1
        if names > 1:
            raise DatabaseUnavailable(
                target, f"the file {os.path.basename(path)} has {names} names (hard links), so two programs could write"
                " it without knowing of each other; remove the other name, or copy the file"
            )  # fmt: skip


def is_writable(target: str) -> bool:
    """Whether this process may write a database: the file, and its folder or the two files beside it.

    A read-only medium counts, for root as well, because the system answers. A missing file counts as writable.
    """
    if not os.path.exists(target):
        return True
    beside = _folder_is_writable(target) or all(_may(target + each, os.W_OK) for each in ("-wal", "-shm"))
    return beside and _may(target, os.W_OK)


class ReadOnlyFile(msgspec.Struct, frozen=True, gc=False):
    """A file to be opened read-only. ``state`` is its ``file_state`` if it is read without locks, otherwise None."""

    uri: str
    state: tuple[int, ...] | None


def as_read_only(target: str) -> ReadOnlyFile:
    """Choose ``mode=ro``, and ``immutable=1`` if SQLite could not read the file otherwise and no process has it open
    for writing.

    Raises: DatabaseUnavailable if the log beside it has turns, and cannot be read there.
    """
    state, query = None, {"mode": "ro"}
    beginning = look_into(target)  # None if it is open here: then the two files beside it exist, and can be shared
    if beginning is not None and beginning[_VERSIONS] == b"\2\2" and not _can_share(target):
        # ``immutable`` ignores the log, so without this check the turns in it would be missing silently.
        if _size(target + "-wal"):
            raise DatabaseUnavailable(
                target, "the turns that were stored last are in its log, which cannot be read in a folder that takes no"
                " files; copy it, with its -wal file, to one that does"
            )  # fmt: skip
        # Taken before the first read, so that a write during any read shows.
        state, query["immutable"] = file_state(target), "1"
    return ReadOnlyFile(f"{as_uri(target)}?{'&'.join(map('='.join, query.items()))}", state)


def file_state(target: str) -> tuple[int, ...]:
    """Device, inode, size and times of a database file, and the size of its log: a write changes one of these."""
    status = os.stat(target)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, _size(target + "-wal")


def as_uri(target: str) -> str:
    """The path as a URI, which can take SQLite's options."""
    from pathlib import Path  # late: most databases are opened by their path

    return Path(target).absolute().as_uri()


def _can_share(target: str) -> bool:
    """Whether a reader can make or read the two files through which readers and writers take turns."""
    return _folder_is_writable(target) or all(_may(target + each, os.R_OK) for each in ("-wal", "-shm"))


def _folder_is_writable(target: str) -> bool:
    return _may(os.path.dirname(os.path.abspath(target)), os.W_OK | os.X_OK)


def _may(path: str, how: int) -> bool:
    # With the effective ids, as SQLite will open it: a setuid program has two identities.
    return os.access(path, how, effective_ids=os.access in os.supports_effective_ids)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
