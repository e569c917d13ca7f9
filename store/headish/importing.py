"""The importing half of the door: files of other programs become threads, in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import partial as bind
from pathlib import Path
from typing import BinaryIO

from headish.append import append
from headish.batches import in_batches
from headish.bookmarks import bookmark_if_free, find_bookmark, move_bookmark
from headish.dialects import Connection
from headish.drafts import make_document_draft
from headish.errors import InvalidTranscript, TooLarge, UnknownFormat
from headish.files import Opened, Progress, detect_file, read_lines
from headish.importers import IMPORTERS, Imported, ImportedTree
from headish.importers.transcripts import Outline, drafts_from, outline
from headish.limits import BATCH_BYTES, BATCH_TURNS
from headish.model import Message
from headish.names import check_name, refusal
from headish.order import Place
from headish.space import OpenSpace
from headish.store_threads import Beside, find_thread, store_portion
from headish.store_trees import store_trees
from headish.transcripts.formats import FORMATS, is_format
from headish.turns import turn_at


class ImportingSpace(OpenSpace):
    """The methods that import."""

    def import_file(
        self,
        source: str | os.PathLike[str] | BinaryIO,
        format: str | None = None,
        *,
        bookmark: str | None = None,
        partial: bool = False,
        strict: bool = True,
        keep_raw: bool = False,
        progress: Progress | None = None,
    ) -> Imported:
        """Import a file (a path, or one open for reading bytes); its format is detected when not given.

        ``oasst``: Open Assistant trees, a line each; some thousand messages are one transaction, and where a line is
        refused, what stands before it has been stored. Transcripts (``v0.1``, ``2.0``, ``2.2``, ``harmony``,
        ``rwkv``): one thread, a turn a message, nothing of which is stored where the file does not parse, but the file
        itself as a document with ``keep_raw``. Its tip is named ``bookmark``, else as the file, where that is free.
        ``partial`` and ``strict`` are those of ``transcripts.parse``. A second import of the same file stores nothing;
        a ``bookmark`` is set or moved all the same.
        Raises: UnknownFormat, InvalidImport, InvalidTranscript, InvalidName.
        """
        if format is not None and format not in IMPORTERS and not is_format(format):
            raise UnknownFormat(format, (*IMPORTERS, *FORMATS))
        with Opened(source, rewindable=format not in IMPORTERS) as (file, name):
            found = format or detect_file(file)
            if is_format(found):
                settings = {"partial": partial, "strict": strict}
                return self._import_transcript(file, name, found, bookmark, keep_raw, progress, settings)
            reader = IMPORTERS[found]
            done = Imported()
            for trees in _in_tree_batches(reader(read_lines(file, name, progress), name)):
                work = bind(store_trees, space=self._number, trees=trees, mint=self._mint.mint)
                done = done.plus(self._database.write(work))
        return done

    def _import_transcript(
        self,
        file: BinaryIO,
        name: str,
        format: str,
        bookmark: str | None,
        keep_raw: bool,
        progress: Progress | None,
        settings: dict[str, bool],
    ) -> Imported:
        encoded = check_name(bookmark) if bookmark is not None else _name_of(name)
        half = None if progress is None else lambda read: progress(read // 2)
        try:
            outlined = outline(file, name, format, self._payload_limit_bytes, progress=half, **settings)
        except InvalidTranscript:
            if keep_raw:
                self._keep_raw(file, name)
            raise
        matched, tip = self._database.read(
            lambda connection: find_thread(connection, self._number, outlined.digests, _beside(outlined))
        )
        file.seek(0)
        new = drafts_from(file, outlined, matched, self._payload_limit_bytes, progress=half, **settings)
        for portion in in_batches(new) if matched < len(outlined.digests) else ():
            work = bind(store_portion, space=self._number, drafts=portion, before=tip, mint=self._mint.mint)
            tip = self._database.write(work)
        assert tip is not None
        total = len(outlined.digests)
        return self._database.write(
            bind(self._name_tip, tip=tip, name=encoded, explicit=bookmark is not None, done=(total, total - matched))
        )

    def _name_tip(
        self, connection: Connection, tip: Place, name: bytes | None, explicit: bool, done: tuple[int, int]
    ) -> Imported:
        """A name that was asked for is set or moved; that of the file only where it is free (R2)."""
        if name is not None and explicit:
            named = find_bookmark(connection, self._number, name) != tip
            if named:
                move_bookmark(connection, self._number, name, [tip])
        else:
            named = name is not None and bookmark_if_free(connection, self._number, name, tip)
        stored = turn_at(connection, self._number, tip)
        assert stored is not None
        return Imported(1, *done, int(named), (stored.id,))

    def _keep_raw(self, file: BinaryIO, name: str) -> None:
        """A file that does not parse, as a document."""
        file.seek(0)
        data = file.read(self._payload_limit_bytes + 1)
        if len(data) > self._payload_limit_bytes:
            raise TooLarge("document", len(data), self._payload_limit_bytes)
        system = {"document_name": Path(name).name, "file_size": len(data)}
        is_text = "text/plain" if _is_utf8(data) else "application/octet-stream"
        draft = make_document_draft(data, content_type=is_text, system=system)
        self._database.write(lambda connection: append(connection, self._number, [draft], self._mint.mint))


def _beside(outlined: Outline) -> Beside:
    """What each turn of a thread keeps beside its message, as it would be stored."""

    def encoded(index: int) -> tuple[bytes | None, bytes | None]:
        draft = outlined.draft(index, Message(role="user", content=()), 1024)
        return draft.system, draft.inherited

    middle = encoded(1) if len(outlined.digests) > 2 else None
    return lambda index: middle if middle and 0 < index < len(outlined.digests) - 1 else encoded(index)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _name_of(source: str) -> bytes | None:
    """The name of a file without its ending, where a bookmark may have it."""
    name = Path(source).stem
    is_file = not source.startswith("<")  # a stream has no name that anybody gave it
    return name.encode() if is_file and refusal(name) is None else None


def _in_tree_batches(trees: Iterable[ImportedTree]) -> Iterator[list[ImportedTree]]:
    """Trees together until they hold a batch's turns or bytes; a tree is never split."""
    batch: list[ImportedTree] = []
    turns = size_bytes = 0
    for tree in trees:
        batch.append(tree)
        turns += len(tree.drafts)
        size_bytes += sum(draft.size_bytes for draft in tree.drafts)
        if turns >= BATCH_TURNS or size_bytes >= BATCH_BYTES:
            yield batch
            batch, turns, size_bytes = [], 0, 0
    if batch:
        yield batch
