"""The file of each page, and the links between the files. Links are relative, so that the folder can be moved.

::

    index.html, 2.html …        the list, 50 conversations each
    c/NAME/index.html           the end of a thread; the turns before it are in 1.html, 2.html …, 50 turns each
    c/NAME/TURN.html            all of a turn that is too long for those
    c/NAME/TURN-1.png           a picture of a turn
"""

from __future__ import annotations

from collections.abc import Mapping

from headish.serve.pages.turns import WINDOW_TURNS
from headish.store.keeping.export_all import file_name
from headish.values.results.conversations import Conversation

INDEX = "index.html"


def list_file(number: int) -> str:
    """The file of a page of the list, counted from 1."""
    return INDEX if number == 1 else f"{number}.html"


def folder_of(subject: str) -> str:
    """The folder of a conversation. No name leads out of ``c``."""
    return f"c/{file_name(subject, subject, '')}"


def window_file(start: int, total: int) -> str:
    """The file, in the folder of its conversation, for the window of a thread that starts at turn ``start``."""
    return INDEX if start + WINDOW_TURNS >= total else f"{start // WINDOW_TURNS + 1}.html"


class FileLinks:
    """Links to pages, relative to a file. The methods are those of the server's links (``pages.drawing.Links``).

    ``up`` leads to the folder of all files, ``total`` is the number of turns of the thread, ``at`` the file that shows
    its turns, ``pictures`` has the files of the pictures that were written, by turn and number.
    """

    def __init__(
        self, up: str = "", total: int = 0, at: str = "", pictures: Mapping[tuple[str, int], str] | None = None
    ) -> None:
        self._up, self._total, self._at, self._pictures = up, total, at, pictures or {}

    def home(self) -> str:
        return self._up + INDEX

    def thread(self, name: str) -> str:
        return f"{self._up}{folder_of(name)}/{INDEX}"

    def conversation(self, found: Conversation) -> str:
        return self.thread(found.subject)

    def window(self, name: str | None, head: str, start: int) -> str:
        return window_file(start, self._total)

    def turn(self, name: str | None, turn: str) -> str:
        return f"{self._at}#t{turn}"

    def whole(self, name: str | None, turn: str) -> str:
        return f"{turn}.html"

    def raw(self, turn: str, number: int) -> str:
        """The file of a picture; empty for any other document: opened from the disk, it could run."""
        return self._pictures.get((turn, number), "")
