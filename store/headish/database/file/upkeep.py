"""Maintain a SQLite file as a whole: copy it before upgrades, check it, measure it, rewrite it."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path

from headish.database.ddl import TABLES
from headish.errors import DatabaseFull

PROBLEMS_SHOWN = 100
"""The largest number of problems that SQLite's own checks report."""
SCRUB_SECONDS = 2.0
"""How long an erasure waits for the readers of the log."""
PART_SECONDS = 24 * 60 * 60
"""The age from which a part of a copy counts as never finished. A younger one may still be written."""
UPGRADE_ROOM = 4
"""An upgrade needs this many times the size of the database on its disk."""
_SPARSE_INDEX = re.compile(r"CREATE (?:UNIQUE )?INDEX (\w+) ON (\w+) \(.*\) WHERE (.+)")


def back_up(target: str, label: str) -> str:
    """Make a consistent copy beside the file with SQLite's own backup, and move it into place when it is whole.

    Returns its path. Raises: DatabaseFull; the driver's errors.
    """
    _check_room(target)
    final = _unused(Path(f"{target}.{label}"))
    part = Path(f"{final}.part")
    part.unlink(missing_ok=True)
    # With the mode of the database from the start: a private database must not have a readable copy, not even briefly.
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, stat.S_IMODE(os.stat(target).st_mode)))
    try:
        with closing(sqlite3.connect(target)) as source, closing(sqlite3.connect(part)) as copy:
            source.backup(copy)
            # Out of WAL mode, so that the copy is a single file that can be moved.
            copy.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error:
        part.unlink(missing_ok=True)
        raise
    part.replace(final)
    return str(final)


def set_apart(path: str, tables: Sequence[str]) -> None:
    """Empty tables of a copy that no other process has open yet, and overwrite their pages. Begin a new epoch in each
    of its spaces: from now on its commit numbers name other turns than those of the original.

    Raises: the driver's errors.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as copy:
        copy.execute("PRAGMA secure_delete = ON")
        for table in tables:
            copy.execute(f'DELETE FROM "{table}"')  # noqa: S608, a name of ours
        copy.execute("UPDATE counter SET epoch = randomblob(16)")


def _unused(path: Path) -> Path:
    """The path, or a numbered one if it is taken: an earlier backup is never overwritten."""
    numbered = (Path(f"{path}.{number}") for number in count(2))
    return path if not path.exists() else next(each for each in numbered if not each.exists())


def _check_room(target: str) -> None:
    """Check that the disk has room for the copy, the log of one large transaction, and the tables written anew."""
    needed, free = UPGRADE_ROOM * size_of(target), shutil.disk_usage(Path(target).parent).free
    if free < needed:
        raise DatabaseFull(target, f"an upgrade needs {needed:,} bytes of its disk, and {free:,} are free")


def find_problems(driver: sqlite3.Connection) -> list[str]:
    """The problems that SQLite's ``integrity_check`` and ``foreign_key_check`` find, and miscounted indexes."""
    lines = [row[0] for row in driver.execute(f"PRAGMA integrity_check({PROBLEMS_SHOWN})").fetchall()]
    lost = driver.execute("PRAGMA foreign_key_check").fetchmany(PROBLEMS_SHOWN)
    problems = list(_miscounted(driver)) if lines == ["ok"] else lines
    return problems + [f"a row of {row[0]} refers to a row of {row[2]} that is missing" for row in lost]


def _miscounted(driver: sqlite3.Connection) -> Iterator[str]:
    """The sparse indexes that lack an entry or have one too many, in the words of SQLite. 3.53 does not count them."""
    there = {row[0] for row in driver.execute("SELECT name FROM sqlite_master WHERE type = 'index'")}
    for name, table, condition in (found.groups() for found in map(_SPARSE_INDEX.fullmatch, TABLES) if found):
        # In one statement, which sees one moment. The rows by CASE: for a WHERE, SQLite would count the entries again.
        counts = f"""
        SELECT (SELECT count(*) FROM {table} INDEXED BY {name} WHERE {condition})
          = (SELECT count(CASE WHEN {condition} THEN 1 END) FROM {table} NOT INDEXED)
        """  # noqa: S608
        if name in there and driver.execute(counts).fetchone() == (0,):
            yield f"wrong # of entries in index {name}"


def size_of(target: str) -> int:
    """The size of the file and its log in bytes."""
    files = (Path(target + suffix) for suffix in ("", "-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def rewrite(driver: sqlite3.Connection) -> str:
    """Write every page of a file anew, and empty the log into it. Returns "", or the reason why the log stays.

    Raises: the driver's errors.
    """
    # The log first: while a reader keeps it, each attempt would write all pages in vain.
    if why := _empty_log(driver):
        return why
    driver.execute("VACUUM")
    return _empty_log(driver)  # VACUUM has written the new pages into the log


def _empty_log(driver: sqlite3.Connection) -> str:
    """Write the log into the file and truncate it. Returns "", or the reason after ``SCRUB_SECONDS`` in vain."""
    until = time.monotonic() + SCRUB_SECONDS
    while True:
        [is_busy, *_] = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if not is_busy:
            return ""
        if time.monotonic() > until:
            return "somebody else is reading the database, and its log keeps what they read"
        time.sleep(0.02)


def remove_parts(target: str, *, dry_run: bool) -> list[str]:
    """Remove parts of copies that were never finished; with ``dry_run`` only list them. Returns their paths."""
    old = time.time() - PART_SECONDS
    parts = [path for path in copies_of(target, parts=True) if os.stat(path).st_mtime < old]
    for path in [] if dry_run else parts:
        Path(path).unlink(missing_ok=True)
    return parts


def copies_of(target: str, *, parts: bool = False) -> list[str]:
    """The paths of the copies beside a file that upgrades made; with ``parts``, of those that were never finished."""
    path = Path(target)
    try:
        names = sorted(os.listdir(path.absolute().parent))
    except OSError:
        return []
    return [
        str(path.parent / name)
        for name in names
        if name.startswith(f"{path.name}.backup-") and name.endswith(".part") == parts
    ]
