"""The results of a backup and of a restore."""

from __future__ import annotations

from headish.values.results.plain import PlainResult


class Backup(PlainResult, frozen=True):
    """A backup that is whole and was checked: the file, its size, its BLAKE3 in hex (as ``b3sum`` says it), and the
    spaces and turns in it."""

    path: str
    size_bytes: int
    blake3: str
    spaces: tuple[str, ...]
    turns: int


class Restored(PlainResult, frozen=True):
    """A database, or a space of it, that was put back and checked: where, and the spaces and turns in it.

    ``erased`` counts the turns and names that receipts of erasures took; where their bytes may be on the disk still,
    ``unscrubbed`` says why.
    """

    target: str
    spaces: tuple[str, ...]
    turns: int
    erased: int = 0
    unscrubbed: str = ""
