"""Answers while they arrive: a small file for each beside the spool, which the recorder appends to and the page reads.

::

    file = JSON of ArrivingCall LF, *(JSON of ArrivingPiece LF)

A file exists from the answer's first words until its call is stored. It is a convenience: text that does not fit into
it, or cannot be written, is missing only there. The recorder writes only for spaces that somebody watches; the web
process names them in a file of its own, which it renews every few seconds. A recorder removes the files that a killed
one left behind.
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
"""The folder of the files, in the folder of a server."""
ANSWER_BYTES = 256 * 1024
"""The largest file. The rest of the answer is seen when the call is stored."""
ANSWERS_LIMIT = 200
"""The most answers that have a file at once."""
PARTS_LIMIT = 64
"""The most parts of an answer that are shown while it arrives."""
WATCHED_SECONDS = 5.0
"""How long the list of watched spaces is valid."""
_WATCHED = "watched.json"
_SUFFIX = ".jsonl"
_CREATED = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0)


class ArrivingCall(Struct, frozen=True, omit_defaults=True):
    """The call whose answer arrives: its id, its space, the turn that it will continue (None if it begins a
    conversation), the client, the model, and the words of the question that are new. ``question`` is empty if the
    question is not text. ``name`` is the one that a conversation that begins will have if it is free. Nothing in it
    looks like a key."""

    call: str
    space: str
    continues: TurnId | None
    client: str
    model: str | None = None
    question: str = ""
    name: str | None = None


class ArrivingPiece(Struct, frozen=True, omit_defaults=True):
    """Text that was added to a part of an answer. ``part`` counts the answer's blocks from 0; ``kind`` is text,
    thinking or call; ``name`` is the tool's, and only one piece of a part has it."""

    part: int = 0
    kind: str = "text"
    name: str = ""
    text: str = ""

    @property
    def says(self) -> bool:
        """Whether the piece has a text or a name."""
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
        """Whether more may be appended."""
        return self._file is not None

    def close(self) -> None:
        """End the file: nothing can be appended any more. Raises: OSError."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def remove(self) -> None:
        """Close and remove the file. Raises: OSError."""
        self.close()
        self.path.unlink(missing_ok=True)

    def append(self, value: ArrivingCall | ArrivingPiece) -> bool:
        """Add a line; False if the file has no room for it, or is closed. Raises: OSError."""
        line = msgspec.json.encode(value) + b"\n"
        if self._file is None or len(line) > self._left:
            return False
        self._left -= len(line)
        while line:
            line = line[os.write(self._file, line) :]
        return True


class GrownAnswer(NamedTuple):
    """What was added to an answer. If ``is_anew``, ``pieces`` are the whole answer and replace what was read before."""

    call: ArrivingCall
    pieces: list[ArrivingPiece]
    is_anew: bool


class _ArrivingFile:
    """A file and how far it was read. ``call`` is None until the first line was read."""

    def __init__(self, path: Path) -> None:
        self.call: ArrivingCall | None = None
        self._path = path
        self._inode = self._position = 0

    def forget(self) -> None:
        """Read the file from its beginning the next time."""
        self._position, self.call = 0, None

    def read(self, found: os.stat_result) -> GrownAnswer | None:
        """Read what was added since the last look; None if nothing was. Raises: OSError; those of ``UNREADABLE``."""
        if found.st_ino != self._inode or found.st_size < self._position:  # a recorder has begun it anew
            self.forget()
            self._inode = found.st_ino
        if found.st_size == self._position:
            return None
        with self._path.open("rb") as file:
            file.seek(self._position)
            # A line that is being written is read the next time, when it is whole.
            whole, end, _ = file.read(ANSWER_BYTES).rpartition(b"\n")
        if not end:
            return None
        lines, is_anew = whole.split(b"\n"), self.call is None
        call = self.call or msgspec.json.decode(lines.pop(0), type=ArrivingCall)
        pieces = [msgspec.json.decode(line, type=ArrivingPiece) for line in lines]
        self._position, self.call = self._position + len(whole) + 1, call
        return GrownAnswer(call, pieces, is_anew)


class ArrivingReader:
    """Follows the files of answers in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, _ArrivingFile] = {}

    def look(self) -> tuple[list[GrownAnswer], list[str]]:
        """The answers that have grown since the last look, and the ids of the calls whose file is gone. A file that
        cannot be read counts as not grown.

        Cost: a look at each file, and what was added to it.
        """
        try:
            files = dict(_files_in(self._folder))
        except OSError:  # the folder cannot be listed, so nobody knows what is gone
            return [], []
        gone = [self._files.pop(name).call for name in self._files.keys() - files.keys()]
        grown = [answer for name, status in files.items() if (answer := self._read(name, status)) is not None]
        return grown, [call.call for call in gone if call is not None]

    def _read(self, name: str, found: os.stat_result) -> GrownAnswer | None:
        file = self._files.setdefault(name, _ArrivingFile(self._folder / name))
        try:
            return file.read(found)
        except OSError:
            return None
        except UNREADABLE:  # a new file got the inode of the old one, so its lines were read from the old position
            file.forget()
            return None


def open_folder(folder: Path) -> Path:
    """Make the folder of the files, for its owner alone, and return it. Raises: OSError."""
    arriving_folder = folder / ARRIVING_FOLDER
    arriving_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return arriving_folder


def files_left(folder: Path) -> dict[str, Path]:
    """The files that an earlier recorder left, by the ids of their calls."""
    return {path.name.removesuffix(_SUFFIX): path for path in (folder / ARRIVING_FOLDER).glob(f"*{_SUFFIX}")}


def write_watched(folder: Path, spaces: Collection[str]) -> None:
    """Name the spaces whose answers somebody watches; valid for ``WATCHED_SECONDS``. Raises: OSError."""
    write_whole(open_folder(folder) / _WATCHED, sorted(spaces))


def read_watched(folder: Path) -> frozenset[str]:
    """The spaces that somebody watches now."""
    path = folder / ARRIVING_FOLDER / _WATCHED
    try:
        # abs: where the clock was set back, a date in the future must not make every answer be written for hours.
        if abs(time.time() - path.stat().st_mtime) > WATCHED_SECONDS:
            return frozenset()
        return frozenset(read_whole(path, list[str]) or ())
    except OSError:
        return frozenset()


def _files_in(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The files of answers in a folder, without those that disappear meanwhile. Raises: OSError."""
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(_SUFFIX):
                with suppress(FileNotFoundError):
                    yield entry.name, entry.stat(follow_symlinks=False)
