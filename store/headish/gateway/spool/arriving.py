"""Answers while they arrive: a small file for each beside the spool, which the recorder appends to and the page reads.

::

    file = JSON of ArrivingCall LF, *(JSON of ArrivingPiece LF)

A file is there from the answer's first words until its call is stored. It is a convenience: what does not fit into it,
or cannot be written, is missing there alone. The recorder writes only for spaces that somebody watches, which the page
tells it again and again in a file of its own. What a process left behind that was killed is removed by the next one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from headish.gateway.files import UNREADABLE, read_whole, write_whole
from headish.values.ids import TurnId

ARRIVING_FOLDER = "arriving"
"""Where the files are in the folder of a server."""
ANSWER_BYTES = 256 * 1024
"""The largest file. What follows is seen when the call is stored."""
ANSWERS_LIMIT = 200
"""How many answers are written down at once."""
PARTS_LIMIT = 64
"""How many parts of an answer are shown while it arrives."""
WATCHED_SECONDS = 5.0
"""How long a word about who watches holds."""
_WATCHED = "watched.json"
_SUFFIX = ".jsonl"
_CREATED = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0)


class ArrivingCall(Struct, frozen=True, omit_defaults=True):
    """Whose answer arrives: the call, its space, the turn that it will continue (None where it begins a conversation),
    the client, the model, and what was asked as far as it is new, empty for other than words. Nothing in it looks like
    a key."""

    call: str
    space: str
    continues: TurnId | None
    client: str
    model: str | None = None
    question: str = ""


class ArrivingPiece(Struct, frozen=True, omit_defaults=True):
    """What was added to a part of an answer: a block of it, counted from 0. ``kind`` is text, thinking or call;
    ``name`` is that of the tool, in one of the pieces."""

    part: int = 0
    kind: str = "text"
    name: str = ""
    text: str = ""

    @property
    def says(self) -> bool:
        """Whether there is anything in it."""
        return bool(self.text or self.name)

    def joined(self, more: ArrivingPiece) -> ArrivingPiece:
        """This piece and the next one of its part."""
        return ArrivingPiece(self.part, self.kind, self.name or more.name, self.text + more.text)


class ArrivingWriter:
    """Writes the file of one answer, until it is closed. The file stays until it is removed."""

    def __init__(self, folder: Path, call: ArrivingCall) -> None:
        """Raises: OSError."""
        self.path = folder / f"{call.call}{_SUFFIX}"
        self._file: int | None = os.open(self.path, _CREATED, 0o600)
        self._left = ANSWER_BYTES
        try:
            self.append(call)
        except OSError:
            self.remove()
            raise

    @property
    def is_open(self) -> bool:
        """Whether something may follow."""
        return self._file is not None

    def close(self) -> None:
        """Say that nothing follows. Raises: OSError."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def remove(self) -> None:
        """Close and remove the file. Raises: OSError."""
        self.close()
        self.path.unlink(missing_ok=True)

    def append(self, value: ArrivingCall | ArrivingPiece) -> bool:
        """Add a line; False if it has no room, or is closed. Raises: OSError."""
        line = msgspec.json.encode(value) + b"\n"
        if self._file is None or len(line) > self._left:
            return False
        self._left -= len(line)
        while line:
            line = line[os.write(self._file, line) :]
        return True


class GrownAnswer(NamedTuple):
    """What was added to an answer. ``is_anew``: it is all of it, and what was read of it before does not count."""

    call: ArrivingCall
    pieces: list[ArrivingPiece]
    is_anew: bool


class _ArrivingFile:
    """A file as far as it is read: ``call`` is None until its first line is there."""

    def __init__(self, path: Path) -> None:
        self.call: ArrivingCall | None = None
        self._path = path
        self._inode = self._position = 0

    def forget(self) -> None:
        """Read it from its beginning the next time."""
        self._position, self.call = 0, None

    def read(self, found: os.stat_result) -> GrownAnswer | None:
        """What was added; None if nothing was. Raises: OSError; those of ``UNREADABLE``."""
        if found.st_ino != self._inode or found.st_size < self._position:  # a recorder has begun it anew
            self.forget()
            self._inode = found.st_ino
        if found.st_size == self._position:
            return None
        with self._path.open("rb") as file:
            file.seek(self._position)
            whole, end, _ = file.read(ANSWER_BYTES).rpartition(b"\n")
        if not end:
            return None
        lines, is_anew = whole.split(b"\n"), self.call is None
        call = self.call or msgspec.json.decode(lines.pop(0), type=ArrivingCall)
        pieces = [msgspec.json.decode(line, type=ArrivingPiece) for line in lines]
        self._position, self.call = self._position + len(whole) + 1, call
        return GrownAnswer(call, pieces, is_anew)


class ArrivingReader:
    """Follows the files of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, _ArrivingFile] = {}

    def look(self) -> tuple[list[GrownAnswer], list[str]]:
        """The answers that have grown since the last look, and the ids of the calls whose file is gone. What cannot be
        read has not grown.

        Cost: a look at each file, and what was added to it.
        """
        try:
            there = dict(_files_in(self._folder))
        except OSError:  # what is there is not known, so nothing is gone
            return [], []
        gone = [self._files.pop(name).call for name in self._files.keys() - there.keys()]
        grown = [read for name, found in there.items() if (read := self._read(name, found)) is not None]
        return grown, [call.call for call in gone if call is not None]

    def _read(self, name: str, found: os.stat_result) -> GrownAnswer | None:
        file = self._files.setdefault(name, _ArrivingFile(self._folder / name))
        try:
            return file.read(found)
        except OSError:
            return None
        except UNREADABLE:  # a file begun anew had the number of the old one, and other lines
            file.forget()
            return None


def open_folder(folder: Path) -> Path:
    """The folder of the files, made for its owner alone. Raises: OSError."""
    made = folder / ARRIVING_FOLDER
    made.mkdir(mode=0o700, parents=True, exist_ok=True)
    return made


def files_left(folder: Path) -> dict[str, Path]:
    """What an earlier recorder left, by the ids of the calls."""
    return {path.name.removesuffix(_SUFFIX): path for path in (folder / ARRIVING_FOLDER).glob(f"*{_SUFFIX}")}


def write_watched(folder: Path, spaces: Collection[str]) -> None:
    """Say of which spaces somebody watches answers; it holds for a few seconds. Raises: OSError."""
    write_whole(open_folder(folder) / _WATCHED, sorted(spaces))


def read_watched(folder: Path) -> frozenset[str]:
    """The spaces that somebody watches now."""
    path = folder / ARRIVING_FOLDER / _WATCHED
    try:
        if abs(time.time() - path.stat().st_mtime) > WATCHED_SECONDS:
            return frozenset()
        return frozenset(read_whole(path, list[str]) or ())
    except OSError:
        return frozenset()


def _files_in(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The files of answers. One that goes away meanwhile is none. Raises: OSError."""
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(_SUFFIX):
                with suppress(FileNotFoundError):
                    yield entry.name, entry.stat(follow_symlinks=False)
