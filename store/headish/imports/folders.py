"""Choose the files of a folder to import, and their order.

A coding agent keeps more in its folder than its sessions; where sessions are found, nothing else is read. Older
sessions come first, because newer ones lean on them. A link that leads out of the folder is not followed. What is
passed over can be told, with what an import of its own would make of it.

Which files were imported as they are now is told by stamps: a stamp of each is an object of the space (rule R38,
objects), written after its file was imported. If the process ends in between, the file is read once more, and its keys
keep it from being stored twice. Nothing that was stored depends on a stamp.
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
"""The endings of the files that hold a program's sessions."""
_BESIDE_DATABASES = ("-wal", "-shm", "-journal")
_TIME = re.compile(rb'"(?:timestamp|startTime)"\s*:\s*"([^"]{1,40})"')


def files_in(path: str | os.PathLike[str], format: str | None = None) -> list[str]:
    """The path itself, or of a folder the files that are to be imported; hidden ones are left out.

    What is passed over is told by ``passed_over``.
    Those of a program's sessions (or of ``format``) alone, by the time of their first record; else all, by name.
    Raises: InvalidImport for a folder that the kernel makes up.
    """
    if not os.path.isdir(path):
        return [os.fspath(path)]
    if is_kernels(path):
        raise InvalidImport(os.fspath(path), None, "it is a folder of the kernel's, not one that is kept")
    found = list_files(path)
    logs = choose_sessions(found, format)
    return logs if logs or format in LOGS else [str(each) for each in found]


def list_files(path: str | os.PathLike[str]) -> list[Path]:
    """The files of a folder, sorted by name. Hidden ones are left out, and links that lead out of it."""
    root = Path(path)
    return _without_payloads([each for each in _all_of(root) if _is_inside(each, root)])


EMPTY = "it is empty"
_NO_SESSION = "it is no session of a coding agent, as other files of the folder are"


class PassedOver(NamedTuple):
    """A file of a folder that is not read, and why; ``format`` is what an import of its own would read it as."""

    path: str
    reason: str
    format: str | None


def passed_over(path: str | os.PathLike[str], read: Iterable[str]) -> Iterator[PassedOver]:
    """What is in a folder beside the files that are read, sorted by name; hidden files are not told.

    Cost: reads the beginning of each file that is not read.
    """
    root, chosen = Path(path), {os.path.abspath(each) for each in read}
    chosen |= {each.removesuffix(".jsonl") + ".meta.json" for each in chosen}  # read with the sub-agent beside it
    found = [each for each in _all_of(root) if os.path.abspath(each) not in chosen]
    unpacked = {f"{each}.zst" for each in chosen}
    for each in _without_payloads(found) if os.path.isdir(path) else ():
        if os.path.abspath(each) in unpacked:
            yield PassedOver(str(each), "it lies unpacked beside it", None)
        elif _is_inside(each, root):
            is_empty = each.stat().st_size == 0
            yield PassedOver(str(each), EMPTY if is_empty else _NO_SESSION, None if is_empty else _kind(each))
        elif each.is_symlink():
            yield PassedOver(str(each), "it is a link out of the folder, or to nothing", None)
        elif not each.is_dir():
            yield PassedOver(str(each), "it is no regular file", None)


def _all_of(root: Path) -> list[Path]:
    return sorted(each for each in _walk(root) if not each.name.startswith("."))


def _walk(root: Path) -> Iterator[Path]:
    """Everything in a folder, without the file systems that the kernel makes up: the folder may be a whole machine."""
    for folder, folders, files in os.walk(root):
        if is_kernels(folder):
            folders.clear()
            continue
        yield from (Path(folder, name) for name in (*folders, *files))


def _kind(path: Path) -> str | None:
    """The format that a file is recognised as; None if it is of none."""
    from headish.imports.transcript_threads import detect_file  # late: it brings every parser

    try:
        with SourceFile(path, rewindable=True) as (file, name):
            format = detect_file(file, name)
    except (InputError, OSError):
        return None
    return format if format != "llm" or _is_log_of_llm(path) else None


def _is_log_of_llm(path: Path) -> bool:
    from headish.imports.readers.shared.databases import opened

    try:
        with opened(str(path), str(path)) as foreign:
            return is_log(foreign.tables)
    except (InputError, OSError):
        return False


def choose_sessions(files: Iterable[Path], format: str | None = None) -> list[str]:
    """The sessions of programs, or of one, by the time of their first record. Cost: reads the beginning of each."""
    formats = LOGS.keys() if format is None else LOGS.keys() & {format}
    logs = [(begun, each) for each in files for begun in _beginnings(each, formats)]
    return [str(each) for _, each in sorted(logs)]


def _beginnings(path: Path, formats: Iterable[str]) -> list[bytes]:
    """The time at which a session's file begins; nothing for an empty file or one of another format."""
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
    """Beside a file of frames lies the folder of their payloads, and beside a database its log: their readers open
    them."""
    payloads = {each.parent / "cas" for each in found if each.name == "frames.jsonl"}
    logs = {f"{each}{ending}" for each in found for ending in _BESIDE_DATABASES}
    return [each for each in found if each.parent not in payloads and str(each) not in logs]


KIND = "headish.imported"
Stamps = dict[str, bytes]
_OPEN = b"open "


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
    """The files that are not as their stamps say, and those of which an answer was held back that nobody writes any
    more."""
    return [os.fspath(each) for each in paths if not _is_as_it_was(each, stamps.get(key_of(each)))]


def _is_as_it_was(path: str | os.PathLike[str], stamp: bytes | None) -> bool:
    now = stamp_of(path)
    if stamp is None or now is None or not stamp.startswith(_OPEN):
        return stamp == now
    return stamp == _OPEN + now and is_running(path)


def make_stamp(path: str, stamp: bytes, *, is_open: bool = False) -> Put:
    """The object that says how a file was when it was imported; ``is_open`` where an answer in it was held back."""
    return Put(KIND, key_of(path).encode(), _OPEN + stamp if is_open else stamp, None)
