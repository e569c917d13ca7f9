"""The importing half of the door: files of other programs become threads, in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import partial as bind
from typing import BinaryIO

from headish.errors import InvalidArgument, UnknownFormat
from headish.imports.files import Opened, Progress, read_lines
from headish.imports.imported import Imported, ImportedTree
from headish.imports.readers import IMPORTERS
from headish.imports.trees import store_trees
from headish.limits import BATCH_BYTES, BATCH_TURNS
from headish.store.space import OpenSpace


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
        Raises: UnknownFormat, InvalidImport, InvalidTranscript, InvalidName; InvalidArgument for a ``bookmark`` of
        trees, which are named by their own ids.
        """
        if format not in IMPORTERS:
            return self._import_other(
                source, format, bookmark, keep_raw, progress, {"partial": partial, "strict": strict}
            )
        with Opened(source, rewindable=False) as (file, name):
            return self._import_trees(file, name, format, bookmark, progress)

    def _import_other(
        self,
        source: str | os.PathLike[str] | BinaryIO,
        format: str | None,
        bookmark: str | None,
        keep_raw: bool,
        progress: Progress | None,
        settings: dict[str, bool],
    ) -> Imported:
        """A transcript, or a file whose format is to be detected."""
        # Late: it brings every parser, and most processes read none.
        from headish.imports.thread import FORMATS, ThreadImport, detect_file, is_format

        if format is not None and not is_format(format):
            raise UnknownFormat(format, (*IMPORTERS, *FORMATS))
        with Opened(source, rewindable=True) as (file, name):
            found = format or detect_file(file)
            if found in IMPORTERS:
                return self._import_trees(file, name, found, bookmark, progress)
            importing = ThreadImport(self._database, self._number, self._mint.mint, self._payload_limit_bytes)
            return importing.run(file, name, found, bookmark, keep_raw, progress, settings)

    def _import_trees(
        self, file: BinaryIO, name: str, format: str, bookmark: str | None, progress: Progress | None
    ) -> Imported:
        if bookmark is not None:
            raise InvalidArgument(f"a file of {format} names its trees itself; bookmark is for one thread")
        done, reader = Imported(), IMPORTERS[format]
        for trees in _in_tree_batches(reader(read_lines(file, name, progress), name)):
            work = bind(store_trees, space=self._number, trees=trees, mint=self._mint.mint)
            done = done.plus(self._database.write(work))
        return done


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
