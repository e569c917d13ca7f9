"""``import``: files of other programs become threads."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from headish_cli.options import Settings, input_path, json_option, pass_settings
from headish_cli.output import counted, print_json, say


@click.command("import")
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--from", "format", default="oasst", show_default=True, metavar="FORMAT",
              help="oasst: Open Assistant trees, a JSON object a line.")  # fmt: skip
@json_option
@pass_settings
def import_command(settings: Settings, file: str, format: str, as_json: bool) -> None:
    """Import conversations with all their branches. Importing a file again stores nothing twice."""
    with settings.open(create=True) as store, _progress(file) as progress:
        done = store.import_file(input_path(file), format, progress=progress)
    if as_json:
        print_json(done)
        return
    read = f"{counted(done.trees, 'conversation')} with {counted(done.messages, 'message')} read"
    say(f"{read}; new: {counted(done.added, 'turn')}, {counted(done.bookmarks, 'bookmark')}.")


@contextmanager
def _progress(file: str) -> Iterator[Callable[[int], None] | None]:
    """A bar on a terminal, nothing elsewhere. rich is imported only for the bar."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    path = Path(file)
    total = path.stat().st_size if path.is_file() else None
    columns = (TextColumn("importing"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("importing", total=total)
        yield lambda read: bar.advance(task, read)
