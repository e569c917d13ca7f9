"""Choose the files of a folder to import, and their order.

A coding agent keeps more in its folder than its sessions; if a folder has sessions, nothing else in it is read. Older
sessions come first, because newer ones continue them. Links that lead out of the folder are not followed.
``passed_over`` lists the files that were not read, with the format that an import of each would use.

Stamps tell which files are unchanged since their import. The stamp of a file is an object of the space (rule R38,
objects), written after the file was imported. If the process ends in between, the next import reads the file again, and
keys keep it from storing anything twice. No stored turn depends on a stamp.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from blake3 import blake3

from headish.content import strictjson
from headish.database.query import Connection
from headish.errors import InputError, InvalidImport
from headish.imports.detection import detect_beginning, is_log
from headish.imports.imported import EDITION
from headish.imports.source_files import SourceFile, is_running, read_beginning
from headish.rows.bookmarks import ALL
from headish.rows.objects import Put, list_objects
from headish.values.checks.files import is_kernels

LOGS = {
    "claude-code": (".jsonl",), "codex": (".jsonl", ".jsonl.zst"), "gemini-cli": (".jsonl", ".json"),
}  # fmt: skip
"""For each program, the endings of its sessions' files."""
_BESIDE_DATABASES = ("-wal", "-shm", "-journal")
_TIME = re.compile(rb'"(?:timestamp|startTime)"\s*:\s*"([^"]{1,40})"')


def files_in(path: str | os.PathLike[str], format: str | None = None) -> list[str]:
    """Return the path itself or, for a folder, the files to import, without hidden ones.

    If the folder has sessions of a program (or of ``format``), returns those alone, by the time of their first record;
    else all files, by name. ``passed_over`` lists the rest.
    Raises: InvalidImport for a folder that the kernel makes up.
    """
    if not os.path.isdir(path):
        return [os.fspath(path)]
    if is_kernels(path):
        raise InvalidImport(os.fspath(path), None, "it is a folder of the kernel's, not one that is kept")
    files = list_files(path)
    logs = choose_sessions(files, format)
    return logs if logs or format in LOGS else [str(each) for each in files]


def list_files(path: str | os.PathLike[str]) -> list[Path]:
    """List the files of a folder, sorted by name, without hidden ones and without links that lead out of it."""
    root = Path(path)
    return _without_payloads([each for each in _all_of(root) if _is_inside(each, root)])


EMPTY = "it is empty"
_NO_SESSION = "it is not a session of a coding agent, as other files of the folder are"


class PassedOver(NamedTuple):
    """A file of a folder that is not read, and why; ``format`` is what an import of this file alone would read it
    as."""

    path: str
    reason: str
    format: str | None


def passed_over(path: str | os.PathLike[str], read: Iterable[str]) -> Iterator[PassedOver]:
    """Yield the files of a folder that are not read, sorted by name, without hidden ones.

    Cost: reads the beginning of each file that is not read.
    """
    root, chosen = Path(path), {os.path.abspath(each) for each in read}
    chosen |= {each.removesuffix(".jsonl") + ".meta.json" for each in chosen}  # read with the sub-agent beside it
    files = [each for each in _all_of(root) if os.path.abspath(each) not in chosen]
    unpacked = {f"{each}.zst" for each in chosen}
    for each in _without_payloads(files) if os.path.isdir(path) else ():
        if os.path.abspath(each) in unpacked:
            yield PassedOver(str(each), "it lies unpacked beside it", None)
        elif _is_inside(each, root):
            is_empty = each.stat().st_size == 0
            yield PassedOver(str(each), EMPTY if is_empty else _NO_SESSION, None if is_empty else _kind(each))
        elif each.is_symlink():
            yield PassedOver(str(each), "it is a link out of the folder, or to nothing", None)
        elif not each.is_dir():
            yield PassedOver(str(each), "it is not a regular file", None)


def _all_of(root: Path) -> list[Path]:
    return sorted(each for each in _walk(root) if not each.name.startswith("."))


def _walk(root: Path) -> Iterator[Path]:
    """Yield everything in a folder, except the kernel's file systems: the folder may be a whole machine."""
    for folder, folders, files in os.walk(root):
        if is_kernels(folder):
            # In place: ``os.walk`` then descends no further.
            folders.clear()
            continue
        yield from (Path(folder, name) for name in (*folders, *files))


def _kind(path: Path) -> str | None:
    """Return the format that a file is recognised as; None if it is of none."""
    from headish.imports.transcript_threads import detect_file  # late: it brings every parser

    try:
        with SourceFile(path, rewindable=True) as (file, name):
            format = detect_file(file, name)
    except (InputError, OSError):
        return None
    # Detection names every unknown database ``llm``, so that llm's reader can say what is wrong with it.
    return format if format != "llm" or _is_log_of_llm(path) else None


def _is_log_of_llm(path: Path) -> bool:
    # Late: few folders hold a database.
    from headish.imports.readers.shared.databases import opened

    try:
        with opened(str(path), str(path)) as foreign:
            return is_log(foreign.tables)
    except (InputError, OSError):
        return False


def choose_sessions(files: Iterable[Path], format: str | None = None) -> list[str]:
    """Return the sessions of all programs, or of one, by the time of their first record. Cost: reads the beginning of
    each."""
    formats = LOGS.keys() if format is None else LOGS.keys() & {format}
    logs = [(begun, each) for each in files for begun in _beginnings(each, formats)]
    return [str(each) for _, each in sorted(logs)]


def _beginnings(path: Path, formats: Iterable[str]) -> list[bytes]:
    """Return the time at which a session's file begins; an empty list for an empty file or one of another format."""
    if not any(path.name.endswith(LOGS[format]) for format in formats):
        return []
    if path.name.endswith(".zst") and path.with_suffix("").exists():
        return []  # unpacked already
    beginning = read_beginning(path)
    if beginning is None:
        return [b""]  # the import itself says what is wrong with it
    if detect_beginning(beginning) not in set(formats):
        return []
    time = _TIME.search(beginning)
    return [b"" if time is None else time[1]]


def _is_inside(path: Path, root: Path) -> bool:
    if not path.is_file():
        return False
    return not path.is_symlink() or path.resolve().is_relative_to(root.resolve())


def _without_payloads(found: list[Path]) -> list[Path]:
    """Drop the files that the readers of other files open themselves: the folder of payloads beside a file of frames,
    and the log beside a database."""
    payloads = {each.parent / "cas" for each in found if each.name == "frames.jsonl"}
    logs = {f"{each}{ending}" for each in found for ending in _BESIDE_DATABASES}
    return [each for each in found if each.parent not in payloads and str(each) not in logs]


KIND = "headish.imported"
Stamps = dict[str, bytes]
_OPEN = b"open "


def key_of(path: str | os.PathLike[str]) -> str:
    """Return the key of a file's stamp: a hash of its absolute path, because a path may be longer than a key and may
    hold any bytes."""
    return blake3(os.fsencode(os.path.abspath(path))).hexdigest(16)


def stamp_of(path: str | os.PathLike[str]) -> bytes | None:
    """Return the state of a file as bytes: they change whenever something is appended to it, cut off, or put in its
    place. None if the file is gone."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    # Both times: a program may set mtime back after it wrote, and ctime changes with each write all the same.
    times = {"changed": str(status.st_mtime_ns), "inode": str(status.st_ctime_ns)}
    facts = {"edition": EDITION, "file": status.st_ino, "size": status.st_size, **times}
    return strictjson.encode({**facts, "path": os.fsencode(path).decode(errors="replace")})


def read_stamps(connection: Connection, space: int) -> Stamps:
    """Read the stamps of a space, by their keys."""
    rows = list_objects(connection, space, KIND, prefix=b"", after=b"", limit=ALL)
    return {bytes(row[1]).decode(): bytes(memoryview(row[3])) for row in rows}


def changed_files(paths: Iterable[str | os.PathLike[str]], stamps: Stamps) -> list[str]:
    """Return the files that differ from their stamps, and those with a held-back answer that nobody writes any more."""
    return [os.fspath(each) for each in paths if not _is_as_it_was(each, stamps.get(key_of(each)))]


def _is_as_it_was(path: str | os.PathLike[str], stamp: bytes | None) -> bool:
    now = stamp_of(path)
    if stamp is None or now is None or not stamp.startswith(_OPEN):
        return stamp == now
    return stamp == _OPEN + now and is_running(path)


def make_stamp(path: str, stamp: bytes, *, is_open: bool = False) -> Put:
    """Make the stamp of a file as it was imported; ``is_open`` if an answer in it was held back."""
    return Put(KIND, key_of(path).encode(), _OPEN + stamp if is_open else stamp, None)
