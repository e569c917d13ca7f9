"""The verb that imports: files of other programs become threads, in bounded memory."""

from __future__ import annotations

import os
from functools import partial as bind
from typing import BinaryIO

from headish.errors import InvalidArgument, UnknownFormat
from headish.imports.files import Opened, Progress, read_lines
from headish.imports.imported import Imported
from headish.imports.readers import READERS
from headish.imports.trees import in_tree_batches, store_trees
from headish.store.space import Space


def import_file(
    space: Space,
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

    ``oasst``: Open Assistant trees, one per line; some thousand messages are one transaction, and where a line is
    refused, what stands before it has been stored. Transcripts (``v0.1``, ``2.0``, ``2.2``, ``harmony``, ``rwkv``): one
    thread, one turn per message, nothing of which is stored where the file does not parse, but the file itself as a
    document with ``keep_raw``. Its tip is named ``bookmark``, else as the file, where that is free. ``partial`` and
    ``strict`` are those of ``transcripts.parse``. A second import of the same file stores nothing; a ``bookmark`` is
    set or moved all the same.
    Raises: UnknownFormat, InvalidImport, InvalidTranscript, InvalidName; InvalidArgument for a ``bookmark`` of trees,
    which are named by their own ids.
    """
    if format not in READERS:
        settings = {"partial": partial, "strict": strict}
        return _import_other(space, source, format, bookmark, keep_raw, progress, settings)
    with Opened(source, rewindable=False) as (file, name):
        return _import_trees(space, file, name, format, bookmark, progress)


def _import_other(
    space: Space,
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
        raise UnknownFormat(format, (*READERS, *FORMATS))
    with Opened(source, rewindable=True) as (file, name):
        found = format or detect_file(file)
        if found in READERS:
            return _import_trees(space, file, name, found, bookmark, progress)
        importing = ThreadImport(space._read, space._store, space._number, space._payload_limit_bytes)
        return importing.run(file, name, found, bookmark, keep_raw, progress, settings)


def _import_trees(
    space: Space, file: BinaryIO, name: str, format: str, bookmark: str | None, progress: Progress | None
) -> Imported:
    if bookmark is not None:
        raise InvalidArgument(f"a file of {format} names its trees itself; bookmark is for one thread")
    done, reader = Imported(), READERS[format]
    for trees in in_tree_batches(reader(read_lines(file, name, progress), name)):
        done = done.plus(space._store(bind(store_trees, space=space._number, trees=trees)))
    return done
