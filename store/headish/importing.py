"""The importing half of the door: files of other programs become threads, in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

from headish.errors import InvalidImport, UnknownFormat
from headish.importers import IMPORTERS, Imported, ImportedTree
from headish.limits import BATCH_BYTES, BATCH_TURNS, IMPORT_LINE_BYTES
from headish.space import OpenSpace
from headish.store_trees import store_trees

Progress = Callable[[int], None]
"""Called with the number of bytes read since the last call."""


class ImportingSpace(OpenSpace):
    """The methods that import."""

    def import_file(
        self, source: str | os.PathLike[str] | BinaryIO, format: str = "oasst", *, progress: Progress | None = None
    ) -> Imported:
        """Import a file (a path, or one open for reading bytes) in an outside format.

        The file is read line by line; some thousand messages are one transaction. A second import of the same file
        stores nothing. Where a line is refused, what stands before it has been stored.
        Raises: UnknownFormat, InvalidImport.
        """
        reader = IMPORTERS.get(format)
        if reader is None:
            raise UnknownFormat(format, tuple(sorted(IMPORTERS)))
        done = Imported()
        with _opened(source) as (file, name):
            for trees in _in_batches(reader(_lines(file, name, progress), name)):
                work = partial(store_trees, space=self._number, trees=trees, mint=self._mint.mint)
                done = done.plus(self._database.write(work))
        return done


class _opened:
    """A path opened and closed; an open file left as it is."""

    def __init__(self, source: str | os.PathLike[str] | BinaryIO) -> None:
        self._source = source
        self._own: BinaryIO | None = None

    def __enter__(self) -> tuple[BinaryIO, str]:
        if not isinstance(self._source, str | os.PathLike):
            return self._source, str(getattr(self._source, "name", "the input"))
        name = str(self._source)
        try:
            self._own = Path(self._source).open("rb")
        except OSError as error:
            raise InvalidImport(name, None, f"it cannot be read ({error.strerror})") from None
        return self._own, name

    def __exit__(self, *_: object) -> None:
        if self._own is not None:
            self._own.close()


def _lines(file: BinaryIO, name: str, progress: Progress | None) -> Iterator[bytes]:
    number = 0
    while line := file.readline(IMPORT_LINE_BYTES + 1):
        number += 1
        if len(line) > IMPORT_LINE_BYTES:
            raise InvalidImport(name, number, f"the line is longer than {IMPORT_LINE_BYTES:,} bytes")
        yield line
        if progress:
            progress(len(line))


def _in_batches(trees: Iterable[ImportedTree]) -> Iterator[list[ImportedTree]]:
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
