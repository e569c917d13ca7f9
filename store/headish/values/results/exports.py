"""The results of an export of many conversations, one by one or as a folder of files."""

from __future__ import annotations

from msgspec import Struct
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
        """The same, refused."""
        return replace(self, text="", refused=error)


class Folder(Struct, frozen=True):
    """What ``export_folder`` did: ``written`` files, those that held the same before (``unchanged``), conversations
    that were ``refused``, and how many ``notes`` say what was left out."""

    path: str
    written: int = 0
    unchanged: int = 0
    refused: int = 0
    notes: int = 0

    def plus(self, *, written: bool | None = None, refused: bool = False, notes: int = 0) -> Folder:
        """One conversation more; ``written`` None for one that has no file."""
        return replace(
            self,
            written=self.written + (written is True),
            unchanged=self.unchanged + (written is False),
            refused=self.refused + refused,
            notes=self.notes + notes,
        )

    def to_dict(self) -> dict[str, object]:
        """As plain data: ``{path, written, unchanged, refused, notes}``."""
        facts = {"written": self.written, "unchanged": self.unchanged, "refused": self.refused}
        return {"path": self.path, **facts, "notes": self.notes}
