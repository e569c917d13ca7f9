"""Formats of whole conversations: how each is recognised by its beginning, and which module reads it.

The modules are imported when they are needed: a process that imports nothing loads none of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import BinaryIO, NamedTuple, TypeAlias

from headish.imports.files import Progress
from headish.imports.imported import ImportedTree
from headish.imports.notes import Notes

ZIP, SQLITE = b"PK\x03\x04", b"SQLite format 3\0"


class Given(NamedTuple):
    """A file that is read: ``path`` is None for a stream, which is rewindable all the same."""

    file: BinaryIO
    path: str | None
    name: str
    notes: Notes
    limit_bytes: int
    progress: Progress | None = None


Reader: TypeAlias = Callable[[Given], Iterator[ImportedTree]]
CONVERSATIONS = {
    "claude-code": "headish.imports.readers.claude_code",
}
"""Each format's module; its ``read_conversations`` is the reader."""
_LOG = re.compile(rb'\A(?:\xef\xbb\xbf)?\s*\{"')
_FIRST_LINES = 40
_LINES: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    ("claude-code", re.compile(rb'"(?:parentUuid|leafUuid|sessionId)"\s*:')),
)
"""What stands in one of the first lines of a log."""


def reader_of(format: str) -> Reader:
    """The reader of a format of ``CONVERSATIONS``."""
    found: Reader = import_module(CONVERSATIONS[format]).read_conversations
    return found


def detect_conversations(file: BinaryIO, beginning: bytes, name: str) -> str | None:
    """The format of a file by its beginning, None where it is none of these.

    Raises: InvalidImport for an archive or a database of another kind.
    """
    return detect_log(beginning)


def detect_log(beginning: bytes) -> str | None:
    """The format of a log of JSON lines by what stands in its first lines, None where it is none of these."""
    if not _LOG.match(beginning):
        return None
    lines = beginning.split(b"\n", _FIRST_LINES)[:_FIRST_LINES]
    return next((format for format, mark in _LINES for line in lines if mark.search(line)), None)
