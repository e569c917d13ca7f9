"""``export`` of many conversations: as lines on stdout, or as files in a folder, with a report of omissions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

import click

from headish_cli.options import report_file
from headish_cli.printing.output import Told, counted, one_line, say, sentence, write

if TYPE_CHECKING:
    from headish import Store
    from headish.values.messages import Note
    from headish.values.results.exports import Exported


class Notes:
    """What an export for training left out: counts for the summary; each note is also a line of the report."""

    def __init__(self, report: IO[str] | None) -> None:
        self._report = report
        self.counts: Counter[str] = Counter()

    def add(self, subject: str, note: Note) -> None:
        """Count a note, and write it to the report."""
        self.counts[note.what] += 1
        if self._report is not None:
            self._report.write(one_line(f"{subject}: {note}", None) + "\n")

    def tell(self) -> None:
        """Print on stderr how often each thing was left out."""
        if self.counts:
            listed = sorted(self.counts.items(), key=lambda pair: (-pair[1], pair[0]))
            say(f"Left out: {'; '.join(f'{count:,} × {one_line(what, None)}' for what, count in listed)}.")


@contextmanager
def reporting(path: str | None) -> Iterator[Notes]:
    """Collect the notes of an export, with the file that ``--report`` names."""
    with report_file(path) as report:
        yield Notes(report)


def export_many(
    store: Store,
    headishes: Sequence[str] | None,
    target: str,
    folder: str | None,
    overwrite: bool,
    notes: Notes,
    settings: dict[str, Any],
) -> None:
    """Print conversations, or write their files. Report each that is refused at once, and go on.

    Raises: Told at the end if any was refused; UsageError if ``target`` cannot be printed as lines.
    """
    from headish.store.keeping.export_all import JSON

    if folder is None and target not in JSON:
        raise click.UsageError(f"--all prints JSON Lines, and {target} is none: -o FOLDER writes a file for each")
    refused = 0

    def told(each: Exported, path: str = "") -> None:
        nonlocal refused
        for note in each.notes:
            notes.add(each.subject, note)
        if each.refused is not None:
            refused += 1
            say(f"{one_line(each.subject, None)}: {sentence(each.refused)}")

    # One at a time: the conversations of a space may not fit in memory together.
    if folder is None:
        for each in store.export_each(headishes, target, **settings):
            told(each)
            write(each.text)
    else:
        exported = store.export_folder(folder, headishes, target, overwrite=overwrite, told=told, **settings)
        same = f", {exported.unchanged:,} unchanged" if exported.unchanged else ""
        say(f"{counted(exported.written, 'file')} written to {one_line(folder, None)}{same}.")
    notes.tell()
    if refused:
        raise Told(f"{counted(refused, 'conversation')} could not be exported")
