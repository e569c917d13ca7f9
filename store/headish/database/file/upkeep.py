"""Maintain a SQLite file as a whole: copy it before upgrades, check it, measure it, rewrite it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import time
from collections.abc import Sequence
from contextlib import closing
from itertools import count
from pathlib import Path

from headish.errors import DatabaseFull

PROBLEMS_SHOWN = 100
"""How many problems of its own a database reports at the most."""
SCRUB_SECONDS = 2.0
"""How long an erasure waits for the readers of the log."""
PART_SECONDS = 24 * 60 * 60
"""How old a part of a copy is before it is taken for one that was never finished."""
UPGRADE_ROOM = 4
"""How many times its size a database needs of its disk to be upgraded."""


def back_up(target: str, label: str) -> str:
    """A consistent copy beside the file, made by SQLite itself and moved into place when it is whole; its path.

    Raises: DatabaseFull; the driver's errors.
    """
    _check_room(target)
    final = _unused(Path(f"{target}.{label}"))
    part = Path(f"{final}.part")
    part.unlink(missing_ok=True)
    # With the mode of the database from the start: what only its owner may read must not lie open beside it.
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, stat.S_IMODE(os.stat(target).st_mode)))
    try:
        with closing(sqlite3.connect(target)) as source, closing(sqlite3.connect(part)) as copy:
            source.backup(copy)
            # The copy is one file, which can be moved without a log beside it.
            copy.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error:
        part.unlink(missing_ok=True)
        raise
    part.replace(final)
    return str(final)


def leave_out(path: str, tables: Sequence[str]) -> None:
    """Empty tables of a copy that nobody has open yet; their pages are overwritten. Raises: the driver's errors."""
    with closing(sqlite3.connect(path, isolation_level=None)) as copy:
        copy.execute("PRAGMA secure_delete = ON")
        for table in tables:
            copy.execute(f'DELETE FROM "{table}"')  # noqa: S608, a name of ours


def _unused(path: Path) -> Path:
    """The path, with a number after it if an earlier backup is there: a backup is never overwritten."""
    numbered = (Path(f"{path}.{number}") for number in count(2))
    return path if not path.exists() else next(each for each in numbered if not each.exists())


def _check_room(target: str) -> None:
    """Whether the disk takes the copy, the log of one large transaction, and the tables that it writes anew."""
    needed, free = UPGRADE_ROOM * size_of(target), shutil.disk_usage(Path(target).parent).free
    if free < needed:
        raise DatabaseFull(target, f"an upgrade needs {needed:,} bytes of its disk, and {free:,} are free")


def find_problems(driver: sqlite3.Connection) -> list[str]:
    """What SQLite's ``integrity_check`` and ``foreign_key_check`` find."""
    found = [row[0] for row in driver.execute(f"PRAGMA integrity_check({PROBLEMS_SHOWN})").fetchall()]
    lost = driver.execute("PRAGMA foreign_key_check").fetchmany(PROBLEMS_SHOWN)
    problems = [] if found == ["ok"] else found
    return problems + [f"a row of {row[0]} refers to a row of {row[2]} that is missing" for row in lost]


def size_of(target: str) -> int:
    """The bytes of the file and of its log."""
    files = (Path(target + suffix) for suffix in ("", "-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def rewrite(driver: sqlite3.Connection) -> str:
    """Write every page of a file anew, and empty the log into it. Empty, or why the log could not be emptied.

    Raises: the driver's errors.
    """
    # First: while somebody reads what the log holds, the pages would be written in vain, at each attempt.
    if why := _empty_log(driver):
        return why
    driver.execute("VACUUM")
    return _empty_log(driver)


def _empty_log(driver: sqlite3.Connection) -> str:
    """Write the log into its file. Empty, or why that was not possible for ``SCRUB_SECONDS``."""
    until = time.monotonic() + SCRUB_SECONDS
    while True:
        [is_busy, *_] = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if not is_busy:
            return ""
        if time.monotonic() > until:
            return "somebody else is reading the database, and its log keeps what they read"
        time.sleep(0.02)


def copies_of(target: str) -> list[str]:
    """The copies beside a file, which upgrades made."""
    return _beside(target, parts=False)


def remove_parts(target: str, *, dry_run: bool) -> list[str]:
    """Remove parts of copies that were never finished; their paths."""
    old = time.time() - PART_SECONDS
    parts = [path for path in _beside(target, parts=True) if os.stat(path).st_mtime < old]
    for path in [] if dry_run else parts:
        Path(path).unlink(missing_ok=True)
    return parts


def _beside(target: str, *, parts: bool) -> list[str]:
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
