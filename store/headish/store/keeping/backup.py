"""Back up a database or a space, and restore it, into the same kind of database or the other."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from typing import Any, BinaryIO, Literal, NamedTuple

from blake3 import blake3
from msgspec.structs import replace

from headish.content.frames import read_frames
from headish.database.backend import Backend
from headish.database.file.holding import is_held
from headish.errors import DatabaseUnavailable, HeadishError, InvalidArgument, InvalidBackup, UnknownDatabase, shown
from headish.rows.counters import read_counter
from headish.store.backups.frames import BACKUP
from headish.store.backups.places import whole_file
from headish.store.backups.receipts import read_receipts
from headish.store.backups.restoring import Receipts, restore_file
from headish.store.backups.writing import write_spaces
from headish.store.connections import Connections
from headish.store.keeping.erase import scrub_now
from headish.store.keeping.spaces import Spaces
from headish.store.reading.reports import verify_all
from headish.values.checks.doors import PATH, door
from headish.values.checks.files import open_regular
from headish.values.results.erasures import Receipt
from headish.values.results.exports import Backup, Restored

Verify = Literal["full", "quick"]
Progress = Callable[[int], None]
COPIES = (".db", ".sqlite", ".sqlite3")
"""Endings of file names that ask for a SQLite database instead of a file of frames."""
_SQLITE = b"SQLite format 3\x00"


class _Chosen(NamedTuple):
    """The spaces of a file to restore, under which names, and the receipts of erasures since."""

    source: str
    only: str | None
    to: str | None
    receipts: Sequence[Receipt]
    progress: Progress | None


@door(target=PATH, only=PATH, to=PATH)
def restore(
    file: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    only: str | None = None,
    to: str | None = None,
    erasures: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Restored:
    """Restore a backup (a file of frames, or a SQLite database of headish) into a database of either kind.

    ``target`` is a path or the URL of a database; it is made if it is missing. Every space of the file is restored
    under its name into an empty space; with ``only``, just that one, under the name ``to`` if that is given.
    ``erasures`` is a file of receipts, as ``headish erasures --export`` prints them: what was erased since the backup
    is erased again. Everything is verified before anybody can open it, and each space begins a new epoch. A restore
    that is cut off leaves no file, or spaces that refuse to open until they are restored again.
    Raises: InvalidBackup, SpaceNotEmpty, InvalidName, InvalidArgument, UnknownDatabase, DatabaseError.
    """
    source = os.fspath(file)
    if to is not None and only is None:
        raise InvalidArgument("to= renames one space: say which one with only=")
    receipts = [] if erasures is None else read_receipts(erasures)
    chosen = _Chosen(source, only, to, receipts, progress)
    with _opened(source) as opened:
        if _is_new_file(target):
            return _restore_to_file(opened, os.fspath(target), chosen)
        with closing(Connections.open(target)) as connections:
            return _restore_into(connections, opened, chosen)


def back_up(
    connections: Connections, path: str, names: Sequence[bytes] | None, verify: Verify, progress: Progress | None
) -> Backup:
    """Back up all spaces, or the named ones: the work of ``Database.backup``."""
    if verify not in ("full", "quick"):
        raise InvalidArgument(f"verify is full or quick, not {shown(verify)}")
    if not path.endswith(COPIES):
        return _write_frames(connections, path, names, verify, progress)
    if names is not None:
        raise InvalidArgument("one space is backed up into a file of frames: choose a name such as chat.hbackup")
    with whole_file(path) as part:
        if not connections.backend.copy_into(part):
            raise InvalidArgument(
                "only a SQLite file can be backed up into one: choose a name such as chat.hbackup, and restore it there"
            )
        with closing(Connections.open(part, create=False, read_only=True)) as copy:
            _check_copy(copy.backend, path, verify)
            spaces = tuple(Spaces(copy))
            numbers = [copy.enter(each, create=False) for each in spaces]
            turns = sum(copy.backend.read(partial(read_counter, space=number)).seq for number in numbers)
        return Backup(path, os.path.getsize(part), blake3().update_mmap(part).hexdigest(), spaces, turns)


def _check_copy(copy: Backend, path: str, verify: Verify) -> None:
    if verify == "quick":
        problems = copy.check_integrity()
    else:
        reports = verify_all(copy)
        problems = [f"{each.subject}: {each.what}" for report in reports.values() for each in report.problems]
    if problems:
        raise InvalidBackup(path, f"the backup does not verify ({len(problems)} problems): {'; '.join(problems[:3])}")


def _write_frames(
    connections: Connections, path: str, names: Sequence[bytes] | None, verify: Verify, progress: Progress | None
) -> Backup:
    with whole_file(path) as part, open(part, "r+b") as file:

        def work(connection: Any) -> Backup:
            file.seek(0)  # the database may run this again
            file.truncate()
            writer, spaces, turns = write_spaces(connection, connections.backend.target, file, names, progress)
            return Backup(path, writer.size_bytes, writer.digest(), tuple(spaces), turns)

        result = connections.backend.read(work)
        file.flush()
        file.seek(0)
        _check_frames(file, path, verify)
    return result


def _check_frames(file: BinaryIO, path: str, verify: Verify) -> None:
    if verify == "quick":
        # Reading a frame compares its sum.
        for _ in read_frames(file, path, BACKUP):
            pass
        return
    # Beside the backup, because the system's folder for temporary files may be too small for it. The copy is thrown
    # away, so it need not survive a loss of power.
    beside = os.path.dirname(os.path.abspath(path))
    with (
        tempfile.TemporaryDirectory(dir=beside, prefix=".headish-") as folder,
        closing(Connections.open(os.path.join(folder, "verified.db"), durability="normal")) as copy,
    ):
        restore_file(copy.backend, file, path, only=None, to=None, progress=None)


def _is_new_file(target: str | os.PathLike[str]) -> bool:
    text = os.fspath(target)
    return "://" not in text and text != ":memory:" and not os.path.lexists(os.path.expanduser(text))


def _restore_to_file(opened: BinaryIO, target: str, chosen: _Chosen) -> Restored:
    path = os.path.abspath(os.path.expanduser(target))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with whole_file(path) as part:
        with closing(Connections.open(part)) as connections:
            restored = _restore_into(connections, opened, chosen)
        with closing(sqlite3.connect(part)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")  # otherwise a write-ahead log keeps the name of the part
    return replace(restored, target=target)


def _restore_into(connections: Connections, opened: BinaryIO, chosen: _Chosen) -> Restored:
    spaces = restore_file(
        connections.backend,
        opened,
        chosen.source,
        only=chosen.only,
        to=chosen.to,
        progress=chosen.progress,
        receipts=Receipts(chosen.receipts, connections.mint),
    )
    if chosen.only is not None and not spaces:
        raise InvalidBackup(chosen.source, f"it has no space {chosen.only!r}")
    names, turns = tuple(each.name for each in spaces), sum(each.turns for each in spaces)
    erased = sum(each.erased for each in spaces)
    return Restored(connections.backend.target, names, turns, erased, scrub_now(connections) if erased else "")


def _opened(source: str) -> BinaryIO:
    """Open the frames of a backup; those of a SQLite database are first written into a temporary file without a
    name."""
    # A file that SQLite has open here must not be opened and closed: that would drop SQLite's locks (ADR 0078).
    if not is_held(source):
        try:
            file = open_regular(source)
            beginning = file.read(len(BACKUP.magic))
            file.seek(0)
        except OSError as error:
            raise UnknownDatabase(source, f"it cannot be read ({error.strerror})") from None
        if not beginning.startswith(_SQLITE):
            return file
        file.close()
    frames = tempfile.TemporaryFile()  # noqa: SIM115 - returned
    try:
        with closing(Connections.open(source, create=False, read_only=True)) as connections:
            connections.backend.read(lambda connection: write_spaces(connection, source, frames, None, None))
    except HeadishError:
        frames.close()
        raise
    except OSError as error:
        frames.close()
        reason = f"{source} cannot be copied there to be read ({error.strerror}); TMPDIR names another folder"
        raise DatabaseUnavailable(tempfile.gettempdir(), reason) from error
    frames.seek(0)
    return frames
