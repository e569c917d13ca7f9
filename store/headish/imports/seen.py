"""Which files were imported as they are now: a stamp of each is an object of the space (rule R38, objects).

A stamp is written after its file was imported. If the process ends in between, the file is read once more, and its keys
keep it from being stored twice. Nothing that was stored depends on a stamp.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from blake3 import blake3

from headish.content import strictjson
from headish.database.query import Connection
from headish.rows.bookmarks import ALL
from headish.rows.objects import Put, list_objects

KIND = "headish.imported"
EDITION = 1
"""Of the readers: where one learns to read more, every file is read again."""
Stamps = dict[str, bytes]


def key_of(path: str | os.PathLike[str]) -> str:
    """The key of a file's stamp: a hash of its absolute path, which may be longer than a key and of any bytes."""
    return blake3(os.fsencode(os.path.abspath(path))).hexdigest(16)


def stamp_of(path: str | os.PathLike[str]) -> bytes | None:
    """What tells that a file is as it was: it changes with what is appended, cut off, or put in its place; None for a
    file that is gone."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    # Both times: a program may set the one of its own, and that of the inode moves with each write all the same.
    times = {"changed": str(found.st_mtime_ns), "inode": str(found.st_ctime_ns)}
    said = {"edition": EDITION, "file": found.st_ino, "size": found.st_size, **times}
    return strictjson.encode({**said, "path": os.fsencode(path).decode(errors="replace")})


def read_stamps(connection: Connection, space: int) -> Stamps:
    """The stamps of a space, by their keys."""
    rows = list_objects(connection, space, KIND, prefix=b"", after=b"", limit=ALL)
    return {bytes(row[1]).decode(): bytes(memoryview(row[3])) for row in rows}


def changed_files(paths: Iterable[str | os.PathLike[str]], stamps: Stamps) -> list[str]:
    """The files that are not as their stamps say."""
    return [os.fspath(each) for each in paths if stamps.get(key_of(each)) != stamp_of(each)]


def make_stamp(path: str, stamp: bytes) -> Put:
    """The object that says how a file was when it was imported."""
    return Put(KIND, key_of(path).encode(), stamp, None)
