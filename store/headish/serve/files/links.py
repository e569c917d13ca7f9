"""Where each page lies among the files, and the relative links between them, so that the folder can be moved.

::

    index.html, 2.html …        the list, 50 conversations each
    c/NAME/index.html           the end of a thread; what lies before it is 1.html, 2.html …, 50 turns each
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
    """The folder of a conversation. Whatever its name holds, it lies in ``c``."""
    return f"c/{file_name(subject, subject, '')}"


def window_file(start: int, total: int) -> str:
    """The file, in its folder, of the turns of a thread from a place on."""
    return INDEX if start + WINDOW_TURNS >= total else f"{start // WINDOW_TURNS + 1}.html"


class FileLinks:
    """Addresses of pages, seen from a file. They are named as those of a server are (``pages.drawing.Links``).

    ``up`` leads to the folder of all files, ``total`` is how many turns the thread has, ``at`` the file that shows its
    turns, ``pictures`` are the files of those that were written.
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

    def whole(self, turn: str) -> str:
        return f"{turn}.html"

    def raw(self, turn: str, number: int) -> str:
        """The file of a picture; nothing for another document, which could run on a disk."""
        return self._pictures.get((turn, number), "")
