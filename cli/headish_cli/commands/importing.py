"""``import``: files of other programs become threads."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headish_cli.options import Settings, force_option, input_path, json_option, pass_settings
from headish_cli.printing.output import counted, one_line, print_json, say

if TYPE_CHECKING:
    from headish.imports.imported import Imported


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(allow_dash=True), metavar="FILE...")
@click.option("--from", "format", metavar="FORMAT",
              help="oasst (Open Assistant trees), v0.1, 2.0, 2.2, harmony, rwkv; detected when not given. "
                   "As JSON, never detected: chat, responses, anthropic, records (of specification 002).")  # fmt: skip
@click.option(
    "-b", "--bookmark", metavar="NAME", help="The name of the thread; else that of the file, where it is free."
)
@click.option("-c", "--continues", metavar="HEADISH", help="What the thread continues; a bookmark moves along.")
@click.option("--start-role", metavar="ROLE", help="The text begins inside this role's header, as a completion does.")
@click.option("--bos", default="[BOS]", help="v0.1: the base model's token for the beginning.")
@click.option("--eos", default="[EOS]", help="v0.1: the base model's token for the end.")
@force_option
@click.option("--partial", is_flag=True, help="Take a transcript that ends early.")
@click.option("--relaxed", is_flag=True, help="Take bodies that break their constraint, and missing channels.")
@click.option("--keep-raw", is_flag=True, help="Keep a file that does not parse as a document.")
@json_option
@pass_settings
def import_command(
    settings: Settings,
    files: tuple[str, ...],
    format: str | None,
    bookmark: str | None,
    force: bool,
    partial: bool,
    relaxed: bool,
    keep_raw: bool,
    as_json: bool,
    **further: Any,
) -> None:
    """Import conversations with all their branches. Importing a file again stores nothing twice.

    A folder stands for the files in it. A file that is refused is reported and does not stop the rest.
    """
    from headish.errors import InputError
    from headish.imports.imported import Imported

    listed = [path for file in files for path in _files_of(file)]
    if bookmark is not None and len(listed) != 1:
        raise click.UsageError("--bookmark names one thread: give one file")
    if further["continues"] is not None and len(listed) != 1:
        raise click.UsageError("--continues takes one thread: give one file")
    done, refused = Imported(), 0
    with settings.open(create=True) as store, _progress(listed) as progress:
        for file in listed:
            try:
                done = done.plus(
                    store.import_file(
                        input_path(file),
                        format,
                        bookmark=bookmark,
                        force=force,
                        partial=partial,
                        strict=not relaxed,
                        keep_raw=keep_raw,
                        progress=progress,
                        **further,
                    )
                )
            except InputError as error:
                if len(listed) == 1:
                    raise
                refused += 1
                say(f"{one_line(file, None)}: {error}")
    if as_json:
        print_json(done)
    else:
        _summarize(done)
    if refused:
        from headish_cli.printing.output import Told

        raise Told(f"{counted(refused, 'file')} of {len(listed)} could not be imported")


def _summarize(done: Imported) -> None:
    read = f"{counted(done.trees, 'conversation')} with {counted(done.messages, 'message')} read"
    if done.untimed:
        say(f"{counted(done.untimed, 'time')} left out: before 1970, in the future, or without a zone.")
    say(f"{read}; new: {counted(done.added, 'turn')}, {counted(done.bookmarks, 'bookmark')}.")


def _files_of(path: str) -> list[str]:
    """A file, or the files of a folder in the order of their names; hidden ones are left out."""
    if path == "-" or not Path(path).is_dir():
        return [path]
    return sorted(str(each) for each in Path(path).rglob("*") if each.is_file() and not each.name.startswith("."))


@contextmanager
def _progress(files: list[str]) -> Iterator[Callable[[int], None] | None]:
    """A bar on a terminal, nothing elsewhere. rich is imported only for the bar."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    known = all(Path(file).is_file() for file in files)
    total = sum(Path(file).stat().st_size for file in files) if known else None
    columns = (TextColumn("importing"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("importing", total=total)
        yield lambda read: bar.advance(task, read)
