"""``import --watch``: import what a program writes while it writes it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from headish_cli.printing.output import counted, one_line, print_json, say
from headish_cli.printing.unread import say_unread

if TYPE_CHECKING:
    from headish import Store
    from headish.imports.imported import Imported, UnreadFiles
    from headish.imports.notes import ImportNote

SHARE = 4
"""A round is followed by a rest of so many times as long, so that a large file that grows does not keep a core busy."""
LONGEST_REST = 60.0
Tell = Callable[["ImportNote"], None]


def refuse_beside_watch(files: Sequence[str], bookmark: str | None, dry_run: bool, continues: str | None) -> None:
    """Refuse what does not go with it. Raises: click.UsageError."""
    if bookmark is not None or continues is not None or dry_run:
        raise click.UsageError("--watch takes no --bookmark, --continues or --dry-run")
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
    """Import what changes, until Ctrl-C; without ``every`` what has changed by now.

    Raises: Told at the end of one round with records that could not be read.
    """
    from msgspec.structs import replace

    from headish.imports.imported import UnreadFiles

    tell, unread = _Once(told), unread or UnreadFiles()
    missing: set[str] = set()
    if every is not None and not as_json:
        say_unread(unread)
        say(f"Watching {', '.join(one_line(path, None) for path in files)}. Ctrl-C ends it.")
    while True:
        begun = time.monotonic()
        done = _import(store, _present(files, missing), format, tell)
        done, unread = replace(done, unread=unread), UnreadFiles()
        _print(done, as_json, always=every is None)
        if every is None:
            return _end(done)
        time.sleep(min(max(every, SHARE * (time.monotonic() - begun)), LONGEST_REST))


def _present(files: Sequence[str], missing: set[str]) -> list[str]:
    """The paths that are there now. One that is not there is told once, and looked for again in each round: an agent
    may be installed later, and folders are moved."""
    for path in files:
        if os.path.exists(path):
            missing.discard(path)
        elif path not in missing:
            missing.add(path)
            say(f"There is no {one_line(path, None)} now; what appears there is imported.")
    return [path for path in files if path not in missing]


def _import(store: Store, files: Sequence[str], format: str | None, tell: Tell) -> Imported:
    from headish.imports.imported import Imported

    done = Imported()
    for path in files:
        done = done.plus(store.import_changed(path, format, told=tell))
    return done


class _Once:
    """Tells each note once: a broken line stands in its file as long as the file is watched."""

    def __init__(self, told: Tell) -> None:
        self._told = told
        self._before: set[int] = set()

    def __call__(self, note: ImportNote) -> None:
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


def _end(done: Imported) -> None:
    if done.broken:
        from headish_cli.printing.output import Told

        raise Told(f"{counted(done.broken, 'record')} could not be imported")
