"""Write the list of conversations and each thread as files, one window at a time: memory holds its turns alone."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

from markupsafe import Markup
from msgspec import Struct

from headish.aio import AsyncDatabase, AsyncStore
from headish.content.prices import Prices
from headish.errors import CorruptRecord, DatabaseUnavailable, FileTaken, HeadishError, InvalidArgument
from headish.serve.files.links import FileLinks, folder_of, list_file, window_file
from headish.serve.pages.drawing import ASSETS, fill
from headish.serve.pages.raw import is_picture, read_document
from headish.serve.pages.threads import read_about, read_window
from headish.serve.pages.turns import SHOWN_INLINE, WINDOW_TURNS, ShownTurn, show_turns
from headish.store.keeping.export_all import write_file
from headish.values.ids import TurnId
from headish.values.results.conversations import Entry

LISTED = 50
"""The conversations per page of the list."""
_UP = "../../"
"""The way from the folder of a conversation to the folder of all files."""
_OURS = re.compile(r"(?:index|[1-9][0-9]*|[0-9a-z]{25})\.html|[0-9a-z]{25}-[0-9]+\.[a-z0-9]+")
"""The names of the files that are written here (``links``). All other files in a folder are somebody else's."""


class WrittenPages(Struct, frozen=True):
    """The result of a run: the numbers of ``files`` written to ``folder``, of ``unchanged`` files that had the same
    content before, of ``conversations``, and of damaged conversations that were ``refused``."""

    folder: str
    files: int
    unchanged: int
    conversations: int
    refused: int


async def write_pages(
    target: str, space: str, folder: str | os.PathLike[str], *, overwrite: bool = False, prices: Prices | None = None,
    told: Callable[[str, HeadishError], None] | None = None,
) -> WrittenPages:  # fmt: skip
    """Write all conversations of a space, including archived ones, as pages that a browser reads from the disk.

    The pages are those of ``headish serve``, with system prompts, reasoning, calls and hidden turns. Each page holds
    one thread, without the branches beside it (rule R26, one thread). The only documents written are pictures that a
    browser shows. No script runs, nothing is loaded from elsewhere. With ``prices``, pages say what answers cost. A
    damaged conversation is listed without a page, ``told`` gets the reason, and the run goes on.

    ``overwrite`` writes into a folder that is not empty: it replaces the files of an earlier run, and removes pages
    that this run does not have, so that none shows what was erased meanwhile. Files of other names stay.
    Order: that of the list; conversations that move meanwhile come last, each once.
    Cost: a few statements for each 50 turns. Memory holds 50 turns, and the name of each conversation.
    Raises: FileTaken if the folder is not empty, without ``overwrite``; DatabaseUnavailable if it cannot be written.
    """
    base = Path(os.path.abspath(os.path.expanduser(os.fspath(folder))))
    try:
        base.mkdir(parents=True, exist_ok=True)
        if not overwrite and any(base.iterdir()):
            raise FileTaken(str(base))
    except OSError as error:
        raise DatabaseUnavailable(str(base), f"it cannot be written ({error.strerror})") from error
    async with AsyncDatabase.open(target, read_only=True) as database:
        store = await database.store(space, create=False)
        writing = _Writing(store, base, overwrite, prices, told or (lambda subject, error: None))
        return await writing.write()


class _Writing:
    """One run: its target, and the counts so far."""

    def __init__(
        self, store: AsyncStore, base: Path, overwrite: bool, prices: Prices | None,
        told: Callable[[str, HeadishError], None],
    ) -> None:  # fmt: skip
        self._store, self._base, self._overwrite, self._prices, self._told = store, base, overwrite, prices, told
        self._files = self._unchanged = self._refused = 0
        self._here: set[str] = set()  # the names of the files that this run wrote to the present folder
        style = (ASSETS / "page.css").read_text("utf-8")
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        self._known = {
            "is_file": True,
            "style": Markup(style),  # noqa: S704 - it is our own
            # A disk has no origin that 'self' could name: pictures are allowed from files.
            "policy": f"default-src 'none'; style-src 'sha256-{digest}'; img-src 'self' file:; base-uri 'none'; "
            "form-action 'none'",
            "may": {"write": False, "erase": False},
            "space": "",
        }

    async def write(self) -> WrittenPages:
        seen: set[str] = set()
        entries: list[Entry] = []
        refused: set[str] = set()
        number = 1
        async for entry in self._entries(seen):
            if len(entries) == LISTED:
                self._write_list(number, entries, refused, list_file(number + 1))
                entries, refused, number = [], set(), number + 1
            entries.append(entry)
            self._here.clear()
            try:
                await self._write_thread(entry)
            except CorruptRecord as error:
                refused.add(entry.conversation.subject)
                self._told(entry.conversation.subject, error)
                self._refused += 1
                self._here.clear()
            self._remove_others(self._base / folder_of(entry.conversation.subject), self._here)
        self._write_list(number, entries, refused, "")
        self._remove_older(number, {folder_of(subject) for subject in seen})
        return WrittenPages(str(self._base), self._files, self._unchanged, len(seen), self._refused)

    def _remove_older(self, lists: int, folders: Collection[str]) -> None:
        """Remove the pages of conversations that are gone since an earlier run."""
        self._remove_others(self._base, {list_file(number + 1) for number in range(lists)})
        for each in (self._base / "c").glob("*"):
            if f"c/{each.name}" not in folders and each.is_dir() and not each.is_symlink():
                self._remove_others(each, ())

    def _remove_others(self, folder: Path, kept: Collection[str]) -> None:
        """Remove the pages of a folder that this run did not write: they may show what was erased meanwhile."""
        try:
            for each in list(folder.glob("*")):
                if each.name not in kept and _OURS.fullmatch(each.name) and not each.is_dir():
                    each.unlink()
        except OSError as error:
            raise DatabaseUnavailable(str(folder), f"it cannot be written ({error.strerror})") from error
        with suppress(OSError):  # it is not empty: files of this run, or somebody else's
            folder.rmdir()

    async def _entries(self, seen: set[str]) -> AsyncIterator[Entry]:
        """Yield every conversation once. A list by recency misses conversations that move to its front while it is
        read, so it is read again until it has nothing new."""
        has_new = True
        while has_new:
            has_new, after, is_first = False, None, True
            while is_first or after is not None:
                is_first = False
                page = await self._store.conversations.list(limit=LISTED, after=after, archived=None)
                after = page.after
                for entry in page.entries:
                    if entry.conversation.subject not in seen:
                        seen.add(entry.conversation.subject)
                        has_new = True
                        yield entry

    def _write_list(self, number: int, listed: list[Entry], refused: set[str], older: str) -> None:
        self._put(list_file(number), "list.html", entries=listed, refused=refused, older=older, archived=False,
                  asked={}, begun=(), link=FileLinks())  # fmt: skip

    async def _write_thread(self, entry: Entry) -> None:
        """Write the windows of a thread, from its beginning."""
        conversation = entry.conversation
        folder, start, total = folder_of(conversation.subject), 0, 1
        about: dict[str, Any] = {}
        while start < total:
            # By the turn, not by the name: the name may move, and every window must be of one thread.
            stretch = await self._store.stretch(conversation.turn, start=start, limit=WINDOW_TURNS, faces=True)
            total = stretch.total
            about = about or await read_about(self._store, stretch, conversation.name, self._prices)
            window = await read_window(self._store, stretch, self._prices)
            pictures = await self._write_pictures(folder, window["shown"])
            at = window_file(start, total)
            values = {**about, **window, "rail": None, "answers": (), "pointers": ()}
            self._put(f"{folder}/{at}", "thread.html", link=FileLinks(_UP, total, "", pictures), **values)
            for turn in dict.fromkeys(each.id for each in window["shown"] if each.is_cut):
                await self._write_whole(folder, turn, at)
            start += WINDOW_TURNS

    async def _write_whole(self, folder: str, turn: TurnId, at: str) -> None:
        stretch = await self._store.stretch(turn, limit=1, faces=True)
        handles = await self._store.abbreviate([turn])
        self._put(f"{folder}/{turn}.html", "whole.html", turn=stretch.turns[0], name=None,
                  shown=show_turns(stretch, handles, whole=True), link=FileLinks(_UP, at=at))  # fmt: skip

    async def _write_pictures(self, folder: str, shown: list[ShownTurn]) -> dict[tuple[str, int], str]:
        """Write the pictures of some turns. Bytes that only claim to be a picture are left out."""
        files: dict[tuple[str, int], str] = {}
        for turn in shown:
            for document in turn.documents:
                if not document.is_picture:
                    continue
                try:
                    data, media_type, _ = await read_document(self._store, turn.id, document.number)
                except InvalidArgument:  # its bytes are elsewhere (a URL), or do not decode
                    continue
                if is_picture(media_type, data):
                    file = f"{turn.id}-{document.number}.{SHOWN_INLINE[media_type]}"
                    self._write(f"{folder}/{file}", data)
                    files[turn.id, document.number] = file
        return files

    def _put(self, file: str, template: str, **values: Any) -> None:
        self._write(file, fill(template, {**self._known, **values}).encode())

    def _write(self, file: str, data: bytes) -> None:
        path = self._base / file
        self._here.add(path.name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DatabaseUnavailable(str(path.parent), f"it cannot be written ({error.strerror})") from error
        if write_file(str(path), data, self._overwrite):
            self._files += 1
        else:
            self._unchanged += 1
