"""What leaves a database as files, and comes back: exports of conversations, backups and what was restored of them."""

from __future__ import annotations

from msgspec.structs import replace

from headish.errors import HeadishError
from headish.values.messages import Note
from headish.values.results.plain import PlainResult


class Exported(PlainResult, frozen=True):
    """A conversation that was written. ``subject`` is the headish that was asked for, else its bookmark or the id of
    its first turn. ``title`` is the title of a conversation without a bookmark, else the subject. ``notes`` say what
    was left out for a trainer.

    ``refused`` says why there is no ``text``.
    """

    subject: str
    title: str
    text: str
    notes: tuple[Note, ...] = ()
    refused: HeadishError | None = None

    def refuse(self, error: HeadishError) -> Exported:
        """Return the conversation marked as refused, without text."""
        return replace(self, text="", refused=error)


class Folder(PlainResult, frozen=True):
    """What ``export_folder`` did: ``written`` files, those that held the same before (``unchanged``), conversations
    that were ``refused``, and how many ``notes`` say what was left out."""

    path: str
    written: int = 0
    unchanged: int = 0
    refused: int = 0
    notes: int = 0

    def plus(self, *, written: bool | None = None, refused: bool = False, notes: int = 0) -> Folder:
        """Count one more conversation; ``written`` is None if it has no file."""
        return replace(
            self,
            written=self.written + (written is True),
            unchanged=self.unchanged + (written is False),
            refused=self.refused + refused,
            notes=self.notes + notes,
        )


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
