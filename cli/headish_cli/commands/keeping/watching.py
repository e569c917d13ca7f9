"""``import --watch``: import the files of a program while it writes them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from headish_cli.options import given_among
from headish_cli.printing.output import counted, one_line, print_json, say
from headish_cli.printing.unread import say_unread

if TYPE_CHECKING:
    from headish import Store
    from headish.imports.imported import Imported, UnreadFiles
    from headish.imports.notes import ImportNote

SHARE = 4
"""A rest is at least this many times as long as the round before, so that a large file that grows does not keep a core
busy."""
LONGEST_REST = 60.0
"""The longest rest between two rounds, in seconds."""
Tell = Callable[["ImportNote"], None]


def refuse_beside_watch(files: Sequence[str], bookmark: str | None, dry_run: bool, continues: str | None) -> None:
    """Refuse options and paths that do not go with ``--watch``. Raises: click.UsageError."""
    if bookmark is not None or continues is not None or dry_run:
        raise click.UsageError("--watch takes no --bookmark, --continues or --dry-run")
    for option in given_among("start_role", "bos", "eos", "force", "partial", "relaxed", "keep_raw"):
        raise click.UsageError(f"--watch takes no {option}: import such a file by itself")
    from headish.imports.readers.shared.servers import is_address

    if any(map(is_address, files)):
        raise click.UsageError("--watch: a database on a server is imported anew from time to time, not watched")
    if not any(map(os.path.exists, files)):
        raise click.UsageError(f"--watch: there is no {one_line(files[0], None)}")


def watch_files(
    store: Store,
    files: Sequence[str],
    format: str | None,
    told: Tell,
    every: float | None,
    as_json: bool,
    unread: UnreadFiles | None = None,
) -> None:
    """Import what changes, every ``every`` seconds or less often, until Ctrl-C; without it, one round.

    Raises: Told after that one round if it had records that could not be read.
    """
    from msgspec.structs import replace

    from headish.imports.imported import UnreadFiles

    tell, unread = _Once(told), unread or UnreadFiles()
    missing: set[str] = set()
    trouble = _Trouble()
    if every is not None and not as_json:
        say_unread(unread)
        say(f"Watching {', '.join(one_line(path, None) for path in files)}. Ctrl-C ends it.")
    while True:
        begun = time.monotonic()
        work = partial(_import, store, _present(files, missing), format, tell)
        if (imported := work() if every is None else trouble.outlast(work)) is not None:
            imported, unread = replace(imported, unread=unread), UnreadFiles()
            _print(imported, as_json, always=every is None)
        if every is None:
            return _end(imported)
        time.sleep(min(max(every, SHARE * (time.monotonic() - begun)), LONGEST_REST))


def _present(files: Sequence[str], missing: set[str]) -> list[str]:
    """The paths that exist now. A missing one is reported once, and looked for again in each round: an agent may be
    installed later, and folders are moved."""
    for path in files:
        if os.path.exists(path):
            missing.discard(path)
        elif path not in missing:
            missing.add(path)
            say(f"There is no {one_line(path, None)} now; what appears there is imported.")
    return [path for path in files if path not in missing]


def _import(store: Store, files: Sequence[str], format: str | None, tell: Tell) -> Imported:
    from headish.imports.imported import Imported

    imported = Imported()
    for path in files:
        imported = imported.plus(store.import_changed(path, format, told=tell))
    return imported


class _Trouble:
    """Keeps a watch going while the database cannot be written. It reports that once, and the end of it.

    Nothing is lost meanwhile: a file counts as seen only once it is imported, and no turn is imported twice.
    """

    def __init__(self) -> None:
        self._lasts = False

    def outlast(self, work: Callable[[], Imported]) -> Imported | None:
        """What ``work`` returns; None if the database cannot be written now."""
        from headish.errors import DatabaseFull, DatabaseLocked, DatabaseTimedOut, DatabaseUnavailable, OutcomeUnknown

        try:
            imported = work()
        except (DatabaseFull, DatabaseLocked, DatabaseTimedOut, DatabaseUnavailable, OutcomeUnknown) as error:
            if not self._lasts:
                say(f"{one_line(str(error), None)}. Watching goes on, and tries again.")
            self._lasts = True
            return None
        if self._lasts:
            say("The database can be written again.")
        self._lasts = False
        return imported


class _Once:
    """Passes each note on once: a broken line stays in its file, and each round would report it again."""

    def __init__(self, told: Tell) -> None:
        self._told = told
        self._before: set[int] = set()

    def __call__(self, note: ImportNote) -> None:
        # Only the hash is kept: a watch has no end, and its notes may be many.
        mark = hash(str(note))
        if mark not in self._before:
            self._before.add(mark)
            self._told(note)


def _print(done: Imported, as_json: bool, *, always: bool) -> None:
    if not (always or done.added or done.bookmarks or (as_json and done.unread.count)):
        return
    if as_json:
        print_json(done)
    else:
        say(f"New: {counted(done.added, 'turn')}, {counted(done.bookmarks, 'bookmark')}.")


def _end(done: Imported | None) -> None:
    if done is not None and done.broken:
        from headish_cli.printing.output import Told

        raise Told(f"{counted(done.broken, 'record')} could not be imported")
