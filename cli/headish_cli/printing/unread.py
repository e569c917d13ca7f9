"""Report the files that an import of folders did not read: count and name them, and add them to the report."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from headish_cli.printing.output import counted, one_line, say

if TYPE_CHECKING:
    from headish.imports.imported import UnreadFiles
    from headish.imports.notes import ImportNote

NAMED = 3
"""The number of files that the summary names."""


def find_unread(paths: Sequence[str], read: Sequence[str], told: Callable[[ImportNote], None]) -> UnreadFiles:
    """Find the files of the folders among ``paths`` that are not in ``read``; report each to ``told``."""
    from headish.imports.folders import EMPTY, passed_over
    from headish.imports.imported import UNREAD_SHOWN, UnreadFiles
    from headish.imports.notes import ImportNote

    unread = UnreadFiles()
    for each in (each for path in paths if os.path.isdir(path) for each in passed_over(path, read)):
        name = _named(each.path)
        advice = f"; an import of its own reads it as {each.format}" if each.format else ""
        told(ImportNote(name, "", "left out", f"not read: {each.reason}{advice}"))
        if each.reason == EMPTY:
            unread = unread.plus(UnreadFiles(empty=1))
            continue
        files = (name,) if unread.count < UNREAD_SHOWN else ()
        unread = unread.plus(UnreadFiles(1, files, {name: each.format} if each.format else {}))
    return unread


def say_if_empty(path: str, told: Callable[[ImportNote], None]) -> None:
    """Report a file that somebody named and that is empty. Those of folders are only counted."""
    from headish.imports.folders import EMPTY
    from headish.imports.notes import ImportNote

    if os.path.isfile(path) and not os.path.getsize(path):
        told(ImportNote(_named(path), "", "left out", EMPTY))
        say(f"{one_line(_named(path), None)}: {EMPTY}")


def _named(path: str) -> str:
    # A file name may be any bytes, and the report is UTF-8.
    return os.fsencode(path).decode(errors="replace")


def say_unread(unread: UnreadFiles) -> None:
    """Print how many files were not read, and the command that imports those that can be."""
    if unread.empty:
        say(f"{counted(unread.empty, 'file')} of the folder {'is' if unread.empty == 1 else 'are'} empty.")
    if not unread.count:
        return
    more = f" and {unread.count - NAMED:,} more" if unread.count > NAMED else ""
    named = ", ".join(one_line(os.path.basename(each), None) for each in unread.files[:NAMED])
    say(f"{counted(unread.count, 'file')} of the folder not read: {named}{more}.")
    if unread.importable:
        formats = ", ".join(sorted(set(unread.importable.values())))
        paths = [one_line(shlex.quote(each), None) for each in list(unread.importable)[:NAMED]]
        more = f" … ({len(unread.importable):,} files)" if len(unread.importable) > NAMED else ""
        say(f"To import what is recognised among them ({formats}): headish import {' '.join(paths)}{more}")
