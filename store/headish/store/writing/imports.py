"""The verb that imports: files of other programs become threads, in bounded memory."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from functools import partial as bind
from pathlib import Path
from typing import Any, BinaryIO, cast

from msgspec.structs import replace

from headish.database.query import Connection
from headish.errors import InvalidArgument, InvalidImport, InvalidTranscript, UnknownFormat
from headish.imports.archives import CHUNK_BYTES
from headish.imports.detection import detect_beginning
from headish.imports.folders import LOGS, changed_files, choose_sessions, list_files, make_stamp, read_stamps, stamp_of
from headish.imports.imported import Imported, ImportedTree, ThreadNaming
from headish.imports.keeping.known import FORMATS as REMEMBERED
from headish.imports.keeping.known import ExportMemory, KnownExports, read_known, read_noted
from headish.imports.keeping.storing import Preview, in_tree_batches, preview_trees, store_trees
from headish.imports.notes import ImportNote, ImportNotes, NoteListener
from headish.imports.reader import ImportReader, ImportSource
from headish.imports.readers.format_checks import check_fits, refuse_nothing
from headish.imports.readers.shared.servers import ServerAddress, is_address
from headish.imports.registry import READERS, find_reader, list_formats, read_trees
from headish.imports.source_files import Progress, SourceFile
from headish.imports.tails import TAILS_LIMIT, LogTail
from headish.rows.objects import object_is, put_object
from headish.store.reading.search import bring_up_to_date_quietly
from headish.store.space import Space
from headish.values.checks.doors import Kind, door
from headish.values.checks.files import open_regular
from headish.values.grammar import parse_headish

_COUNTED = Kind(lambda value: isinstance(value, bool | Preview), "True, False or a Preview")


@door(dry_run=_COUNTED)
def import_file(
    space: Space,
    source: str | os.PathLike[str] | BinaryIO,
    format: str | None = None,
    *,
    bookmark: str | None = None,
    force: bool = False,
    continues: str | None = None,
    partial: bool = False,
    strict: bool = True,
    start_role: str | None = None,
    bos: str = "[BOS]",
    eos: str = "[EOS]",
    keep_raw: bool = False,
    dry_run: bool | Preview = False,
    progress: Progress | None = None,
    told: NoteListener | None = None,
) -> Imported:
    """Import a file (a path, or one open for reading bytes); its format is detected when not given.

    docs/reference/imports.md has the formats. A transcript (``v0.1``, ``2.0``, ``2.2``, ``harmony``, ``rwkv``) and the
    messages of an API (``chat``, ``responses``, ``anthropic``, as JSON, never detected) become one thread, whose tip
    gets the name ``bookmark``, else that of the file if it is free. If a transcript does not parse, nothing is stored,
    except the file itself as a document with ``keep_raw``. Of thread records (``records``, never detected), ``head``
    becomes a bookmark, and the older key ``options`` is read as ``inherited``.

    Conversations of other programs are kept with every branch, their times, titles and ids; the tip that the program
    shows gets a name. Exports may be ZIP archives, files may be packed with gzip or zstd, databases are opened
    read-only. Rows of data sets and logs are conversations without names. A second import stores nothing, and one of a
    file that has grown only the new tails. A record that cannot be read is counted (``Imported.broken``) and reported.
    Of a file that ends early, the conversations before its end are kept, and the error counts them. ``told`` gets an
    ``ImportNote`` for everything that headish has no place for. ``dry_run`` counts, and stores nothing; transcripts do
    not take it. One ``Preview`` (``headish.imports.keeping.storing``) for several files counts what they share once.

    The format of another package's reader (``headish.imports.reader``) is named, never detected, and a built-in name
    wins.

    ``source`` may also be the URL of a PostgreSQL database (``postgresql://…``) with LangGraph's checkpoints: it is
    read in one read-only transaction, and its password is neither stored nor shown.

    ``continues``: the thread follows this turn, and a bookmark that is continued moves along. ``partial``, ``strict``,
    ``start_role``, ``bos`` and ``eos`` are those of ``transcripts.parse``. A second import, too, sets the ``bookmark``
    or moves it forward; ``force`` takes it from wherever it is.

    An export of ``chatgpt`` or ``claude`` that was imported before is not read again, nor a conversation in it whose
    bytes are known, and ``told`` gets no notes about them. ``force`` reads all.
    Raises: UnknownFormat, InvalidImport, InvalidTranscript, InvalidName, BookmarkTaken; BrokenExtension for a reader of
    another package that does not work; InvalidArgument for a ``bookmark`` of trees, which are named by their own ids.
    """
    if not dry_run:
        space._check_writable()
    _refuse_own(space, source)
    if is_address(source):
        return _import_server(
            space,
            cast("str | os.PathLike[str]", source),
            format,
            ThreadNaming(bookmark, force, None),
            continues,
            dry_run,
            told,
        )
    if format not in READERS:
        settings = {"partial": partial, "strict": strict, "start_role": start_role, "bos": bos, "eos": eos}
        names = ThreadNaming(bookmark, force, None if continues is None else parse_headish(continues))
        return _import_other(space, source, format, names, keep_raw, dry_run, progress, told, settings)
    _refuse_names(format, bookmark, continues)
    with SourceFile(source, rewindable=format != "oasst") as (file, name):
        path = os.fspath(source) if isinstance(source, str | os.PathLike) else None
        given = ImportSource(file, path, name, ImportNotes(name, told), _limit(space), progress)
        check_fits(given, format)
        imported = _import_known(space, given, format, dry_run, force=force)
        if not (imported.trees or imported.messages or imported.broken):
            refuse_nothing(given, format)
        return imported


@door()
def import_changed(
    space: Space,
    source: str | os.PathLike[str],
    format: str | None = None,
    *,
    progress: Progress | None = None,
    told: NoteListener | None = None,
) -> Imported:
    """Import what has changed since the last call: the file, or the sessions of coding agents in a folder (of
    ``format``: ``claude-code``, ``codex``, ``gemini-cli``).

    A new file, or one that was cut off or replaced, is read whole; what is in the space stays as it is. From a session
    of Claude Code that only grew, the same store reads only what was added. A file that cannot be read is reported,
    counted as broken, and tried again by the next call.
    Cost: a look at each file, one statement for what was seen before, then as ``import_file``.
    Raises: UnknownFormat; InvalidArgument for a folder of another format, and for a database on a server.
    """
    space._check_writable()
    if is_address(source):
        raise InvalidArgument("a database on a server is not kept imported: import it anew, which adds what is new")
    total = Imported()
    for path in _changed(space, source, format):
        stamp = stamp_of(path)  # before the file is read: whatever is written meanwhile then changes the next stamp
        if stamp is None and os.path.isdir(source):
            continue  # removed meanwhile
        try:
            imported = _import_log(space, path, format, stamp, progress, told)
            total = total.plus(imported)
        except (InvalidImport, InvalidTranscript) as error:
            if told is not None:
                told(_refusal(path, error))
            total = total.plus(Imported(broken=1))
        else:
            _put_stamp(space, path, stamp, is_open=imported.held_back > 0)
    return total


def _import_log(
    space: Space,
    path: str,
    format: str | None,
    stamp: bytes | None,
    progress: Progress | None,
    told: NoteListener | None,
) -> Imported:
    """Import a file that may grow: from its remembered tail on if that still fits, else from its beginning."""
    # Taken out while the file is read: after a failure the next call must begin anew.
    tail = space._tails.pop(path, None)
    try:
        with open_regular(path) as file:
            is_known = tail is not None and tail.fits(file, stamp)
            file.seek(0)
            if not is_known and not _is_tailed(format, file.read(CHUNK_BYTES)):
                return import_file(space, path, format, progress=progress, told=told)
            tail = tail if tail is not None and is_known else LogTail()
            file.seek(tail.offset)
            given = ImportSource(file, path, path, ImportNotes(path, told), _limit(space), progress, tail=tail)
            imported = _import_trees(space, given, find_reader(TAILED), dry_run=False)
            tail.settle(file, stamp)
    except OSError:
        return import_file(space, path, format, progress=progress, told=told)  # which says what is wrong with it
    space._tails[path] = tail
    # A dict keeps its order, and each tail was taken out before it was put back: the first ones are the longest unused.
    for oldest in list(space._tails)[:-TAILS_LIMIT]:
        del space._tails[oldest]
    return imported


TAILED = "claude-code"
"""The format whose reader can continue after a tail."""


def _is_tailed(format: str | None, beginning: bytes) -> bool:
    return format in (None, TAILED) and detect_beginning(beginning) == TAILED


def _refusal(path: str, error: InvalidImport | InvalidTranscript) -> ImportNote:
    where = "" if error.line is None else f"line {error.line}"
    return ImportNote(path, where, "broken", error.reason if isinstance(error, InvalidImport) else str(error))


def _put_stamp(space: Space, path: str, stamp: bytes | None, *, is_open: bool) -> None:
    if stamp is None:
        return
    put, number = make_stamp(path, stamp, is_open=is_open), space._number
    space._write(
        lambda connection: put_object(connection, number, put),
        lambda connection, revision: object_is(connection, number, put, revision),
    )


def _changed(space: Space, source: str | os.PathLike[str], format: str | None) -> list[str]:
    stamps = space._read(bind(read_stamps, space=space._number))
    if not os.path.isdir(source):
        return changed_files([source], stamps) if os.path.exists(source) else [os.fspath(source)]
    if format is not None and format not in LOGS:
        raise InvalidArgument(f"of a folder, sessions of {', '.join(LOGS)} are kept imported; {format} is none of them")
    return choose_sessions(map(Path, changed_files(list_files(source), stamps)), format)


def _import_other(
    space: Space,
    source: str | os.PathLike[str] | BinaryIO,
    format: str | None,
    names: ThreadNaming,
    keep_raw: bool,
    dry_run: bool | Preview,
    progress: Progress | None,
    told: NoteListener | None,
    settings: dict[str, Any],
) -> Imported:
    """Import a transcript, or a file whose format has to be detected."""
    # Late: it brings every parser, and most processes read none.
    from headish.imports.transcript_threads import ThreadImport, check_format, detect_file

    is_own = format is None or check_format(format)
    with SourceFile(source, rewindable=True) as (file, name):
        # A completion begins inside a header, where nothing tells its format (2.2 unless it is named).
        detected = format or ("2.2" if settings["start_role"] else detect_file(file, name))
        if detected in READERS or not is_own:
            _refuse_names(detected, names.bookmark, names.continues)
            path = os.fspath(source) if isinstance(source, str | os.PathLike) else None
            given = ImportSource(file, path, name, ImportNotes(name, told), _limit(space), progress)
            return _import_known(space, given, detected, dry_run, force=names.force)
        if dry_run:
            raise InvalidArgument(f"a transcript ({detected}) is not counted beforehand; convert it to look at it")
        importing = ThreadImport(space._read, space._store, space._number, space._payload_limit_bytes)
        imported = importing.run(file, name, detected, names, keep_raw, progress, settings)
    bring_up_to_date_quietly(space)
    return imported


def _import_server(
    space: Space,
    source: str | os.PathLike[str],
    format: str | None,
    names: ThreadNaming,
    continues: str | None,
    dry_run: bool | Preview,
    told: NoteListener | None,
) -> Imported:
    """Import from a database on a server; only LangGraph keeps conversations there."""
    if format not in (None, "langgraph"):
        if format not in list_formats():
            raise UnknownFormat(str(format), tuple(list_formats()))
        raise InvalidArgument(f"from a PostgreSQL server, checkpoints of langgraph are read, and no {format}")
    _refuse_names("langgraph", names.bookmark, continues)
    address = ServerAddress(source)
    notes = ImportNotes(address.name, told)
    given = ImportSource(io.BytesIO(), None, address.name, notes, _limit(space), None, address)
    return _import_trees(space, given, find_reader("langgraph"), dry_run)


def _refuse_own(space: Space, source: str | os.PathLike[str] | BinaryIO) -> None:
    """Refuse to read this database as a file: closing the file would drop SQLite's locks on it (ADR 0078)."""
    if not isinstance(source, str | os.PathLike) or is_address(source):
        return
    for ending in ("", "-wal", "-shm"):
        try:
            is_own = os.path.samefile(source, space._backend.target + ending)
        except (OSError, ValueError):
            continue
        if is_own:
            raise InvalidImport(os.fspath(source), None, "it is the database that would be imported into")


def _refuse_names(format: str, bookmark: str | None, continues: object) -> None:
    if continues is not None:
        raise InvalidArgument(f"a file of {format} holds whole trees; continues is for one thread")
    if bookmark is not None:
        raise InvalidArgument(f"a file of {format} names its trees itself; bookmark is for one thread")


def _import_known(space: Space, given: ImportSource, format: str, dry_run: bool | Preview, *, force: bool) -> Imported:
    """Import trees. Of an export, read only what is not known yet, unless ``force`` reads all."""
    if format not in REMEMBERED:
        return _import_trees(space, given, find_reader(format), dry_run)

    def recall(connection: Connection) -> ExportMemory:
        exports = KnownExports() if force else read_known(connection, space._number, format)
        noted = read_noted(connection, space._number, (talk.key for talk in exports.talks.values()))
        return ExportMemory(format, _limit(space), exports, noted)

    memory = space._read(recall)
    mark = memory.mark_file(given.file)
    earlier = memory.find_file(mark)
    # The same bytes were imported before. The caller's progress still has to reach its end.
    if earlier is not None:
        if given.progress is not None:
            given.progress(memory.file_bytes)
        return earlier
    imported = _import_trees(space, given._replace(known=memory), find_reader(format), dry_run).plus(memory.skipped)
    if not dry_run:
        space._write(lambda connection: memory.remember(connection, space._number, mark, imported))
    return imported


def _import_trees(space: Space, given: ImportSource, reader: ImportReader, dry_run: bool | Preview) -> Imported:
    preview = dry_run if isinstance(dry_run, Preview) else Preview() if dry_run else None
    imported = Imported()
    broken: list[InvalidImport] = []
    for trees in in_tree_batches(_whole(read_trees(reader, given), broken)):
        if preview is not None:
            imported = imported.plus(
                space._read(bind(preview_trees, space=space._number, trees=trees, preview=preview))
            )
        else:
            imported = imported.plus(space._store(bind(store_trees, space=space._number, trees=trees)))
    if broken:
        raise _broken_behind(broken[0], imported, "whole" if preview else "imported")
    # Now, so that the next search need not wait for the indexing of a large import.
    if preview is None:
        bring_up_to_date_quietly(space)
    notes = given.notes
    return replace(imported, broken=notes.broken, held_back=notes.held_back, unmapped=dict(notes.counts))


def _whole(trees: Iterator[ImportedTree], broken: list[InvalidImport]) -> Iterator[ImportedTree]:
    """Yield the trees before the place where a file turns out to be broken; its error goes to ``broken``."""
    try:
        yield from trees
    except InvalidImport as error:
        broken.append(error)


def _broken_behind(error: InvalidImport, imported: Imported, done: str) -> InvalidImport:
    """The error of a file that is broken behind what was imported of it: it says how much that is."""
    if not imported.trees:
        return error
    reason = f"{error.reason}; the conversations before that are {done}: {imported.trees:,}"
    return InvalidImport(error.source, error.line, reason)


def _limit(space: Space) -> int:
    return space._payload_limit_bytes
