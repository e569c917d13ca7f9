"""``import``: turn files of other programs into threads."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headish.errors import InputError, InvalidInterchange, InvalidTranscript, UnknownDatabase, UnknownFormat
from headish_cli.commands.keeping.watching import refuse_beside_watch, watch_files
from headish_cli.options import INPUT, PLACE, GlobalOptions, force_option, input_path, report_file, settings_and_json
from headish_cli.printing.hints import refusal
from headish_cli.printing.output import counted, one_line, print_json, say
from headish_cli.printing.spelling import spell
from headish_cli.printing.unread import find_unread, say_if_empty, say_unread

if TYPE_CHECKING:
    from headish import Store
    from headish.imports.imported import Imported
    from headish.imports.notes import ImportNote


SECONDS = 2.0
"""The seconds between two looks of ``--watch``."""


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=INPUT, metavar="FILE...")
@click.option("--from", "format", metavar="FORMAT",
              help="chatgpt, claude (exports), claude-code, codex, gemini-cli (sessions), llm (logs.db), cross-stream, "
                   "openai-agents, langgraph, pydantic-ai (frameworks), open-webui, librechat, inspect, otel, "
                   "oasst, hf, sharegpt, openai-finetune (data sets), openai-log, v0.1, 2.0, 2.2, harmony, rwkv; "
                   "detected when not given. "
                   "As JSON, never detected: chat, responses, anthropic, records (of specification 002).")  # fmt: skip
@click.option(
    "-b", "--bookmark", metavar="NAME", help="The name of the thread. By default that of the file, if it is free."
)
@click.option("-c", "--continues", metavar="HEADISH", help="What the thread continues; a bookmark moves along.")
@click.option("--start-role", metavar="ROLE", help="The text begins inside this role's header, as a completion does.")
@click.option("--bos", default="[BOS]", help="v0.1: the base model's token for the beginning.")
@click.option("--eos", default="[EOS]", help="v0.1: the base model's token for the end.")
@force_option
@click.option("--partial", is_flag=True, help="Take a transcript that ends early.")
@click.option("--relaxed", is_flag=True, help="Take bodies that break their constraint, and missing channels.")
@click.option("--keep-raw", is_flag=True, help="Keep a file that does not parse as a document.")
@click.option("--dry-run", is_flag=True, help="Count what is there and what is new, and store nothing.")
@click.option("--report", type=PLACE, metavar="FILE",
              help="Write a line for each thing that had no place of its own.")  # fmt: skip
@click.option("--watch", is_flag=True,
              help="Keep a file, or a folder of a coding agent's sessions, imported while it is written.")  # fmt: skip
@click.option("--once", is_flag=True, help="With --watch: import what has changed since the last time, and end.")
@click.option("--every", type=click.FloatRange(min=0.1), metavar="SECONDS",
              help="With --watch: the seconds between two looks.  [default: 2]")  # fmt: skip
@settings_and_json
def import_command(
    settings: GlobalOptions,
    files: tuple[str, ...],
    format: str | None,
    bookmark: str | None,
    relaxed: bool,
    dry_run: bool,
    report: str | None,
    watch: bool,
    once: bool,
    every: float | None,
    as_json: bool,
    **further: Any,
) -> None:
    """Import conversations with all their branches. Importing a file again stores nothing twice.

    A folder means the files in it; of a folder with a coding agent's sessions, it reads only those, and the summary
    names the rest. A file that is refused is reported and does not stop the rest, and a record that cannot be read
    does not stop its file.
    """
    if watch:
        refuse_beside_watch(files, bookmark, dry_run, further["continues"])
        if once and every is not None:
            raise click.UsageError("--every is for a watch that goes on: leave it or --once out")
        _watch(settings, files, format, report, None if once else every or SECONDS, as_json)
        return
    if once or every is not None:
        raise click.UsageError(f"{'--once' if once else '--every'} goes with --watch")
    paths = _listed(files, format)
    if bookmark is not None and len(paths) != 1:
        raise click.UsageError("--bookmark names one thread: give one file")
    if further["continues"] is not None and len(paths) != 1:
        raise click.UsageError("--continues takes one thread: give one file")
    options = {"bookmark": bookmark, "strict": not relaxed, **further}
    imported, refused = _import_each(settings, files, paths, format, report, dry_run, options)
    if as_json:
        print_json(imported)
    else:
        _summarize(imported, dry_run)
    if refused or imported.broken:
        from headish_cli.printing.output import Told

        files_told = f"{counted(refused, 'file')} of {len(paths)}" if refused else ""
        records_told = counted(imported.broken, "record") if imported.broken else ""
        raise Told(f"{' and '.join(filter(None, (files_told, records_told)))} could not be imported")


def _watch(
    settings: GlobalOptions,
    files: tuple[str, ...],
    format: str | None,
    report: str | None,
    every: float | None,
    as_json: bool,
) -> None:
    """Import what changes. ``every``: the seconds between two looks; None for one look."""
    with _reporting(report) as told:
        unread = None if every is None else find_unread(files, _listed(files, format), told)
        with settings.open(create=True) as watching:
            watch_files(watching, files, format, told, every, as_json, unread)


def _import_each(
    settings: GlobalOptions,
    files: tuple[str, ...],
    paths: list[str],
    format: str | None,
    report: str | None,
    dry_run: bool,
    options: dict[str, Any],
) -> tuple[Imported, int]:
    """Import one file after another. Returns what was imported, and how many files were refused."""
    from headish.imports.imported import Imported
    from headish.imports.keeping.storing import Preview

    # One preview for all files: a conversation that two of them hold is counted as new once.
    counted_only = Preview() if dry_run else False
    refused = 0
    with ExitStack() as stack:
        told = stack.enter_context(_reporting(report))
        # Before the database is opened: it may be in the folder, and POSIX drops SQLite's locks on it as soon as this
        # process closes any other descriptor of the file (ADR 0078).
        imported = Imported(unread=find_unread(files, paths, told))
        how = {"dry_run": counted_only, "progress": stack.enter_context(_progress(paths)), "told": told, **options}
        store = _existing(settings, stack)
        for file in paths:
            try:
                if store is None:
                    _check(file, format, **options)
                    store = stack.enter_context(_new(settings, dry_run))
                taken = store.import_file(input_path(file), format, **how)
                imported = imported.plus(taken)
                if not taken.trees and file in files:
                    say_if_empty(file, told)
            except InputError as error:
                _refuse(error, settings, file, is_alone=len(paths) == 1)
                refused += 1
    return imported, refused


def _refuse(error: InputError, settings: GlobalOptions, file: str, *, is_alone: bool) -> None:
    """Report a file that was refused, so that the others follow. Raises the error if no other would be imported."""
    names_none = isinstance(error, InvalidTranscript | InvalidInterchange)
    if is_alone and names_none and file != "-":
        raise refusal(error, settings, about=_shown(file)) from None
    if is_alone or isinstance(error, UnknownFormat):  # a wrong --from fails for every file
        raise error
    say(f"{one_line(_shown(file), None)}: {refusal(error, settings).message}")


def _existing(settings: GlobalOptions, stack: ExitStack) -> Store | None:
    """Open the store; None if there is none yet: a slip in the name of a file must not make one."""
    try:
        return stack.enter_context(settings.open())
    except UnknownDatabase:
        return None


def _new(settings: GlobalOptions, dry_run: bool) -> Store:
    """Make the store that there is none of yet; for a dry run in memory, where nothing of it stays."""
    from headish import Store

    return Store.open(":memory:") if dry_run else settings.open(create=True)


def _check(file: str, format: str | None, *, keep_raw: bool, **settings: Any) -> None:
    """Refuse a file that no import would take; not standard input, which can be read only once."""
    from headish.imports.readers.shared.servers import is_address
    from headish.imports.transcript_threads import check_file

    if file != "-" and not is_address(file):
        names = ("partial", "strict", "start_role", "bos", "eos")
        check_file(file, format, keep_raw=keep_raw, **{name: settings[name] for name in names})


def _listed(files: Sequence[str], format: str | None) -> list[str]:
    from headish.imports.folders import files_in

    return [path for file in files for path in ([file] if file == "-" else files_in(file, format))]


def _shown(file: str) -> str:
    """The file as shown to people. A server's URL may hold a password, so it is not shown."""
    from headish.imports.readers.shared.servers import is_address

    return "the server" if is_address(file) else file


def _summarize(done: Imported, dry_run: bool) -> None:
    read = f"{counted(done.trees, 'conversation')} with {counted(done.messages, 'message')} read"
    if done.untimed:
        say(f"{counted(done.untimed, 'time')} left out: before 1970, in the future, or without a zone.")
    if done.held_back:
        say(f"{counted(done.held_back, 'answer')} held back: still being written. A later import has it whole.")
    if done.unmapped:
        listed = sorted(done.unmapped.items(), key=lambda pair: (-pair[1], pair[0]))
        parts = ", ".join(f"{count:,} × {one_line(what, None)}" for what, count in listed)
        say(f"Without a place of their own: {parts}.")
    new = "new, not stored" if dry_run else "new"
    say_unread(done.unread)
    say(f"{read}; {new}: {counted(done.added, 'turn')}, {counted(done.bookmarks, 'bookmark')}.")


@contextmanager
def _reporting(path: str | None) -> Iterator[Callable[[ImportNote], None]]:
    """Yield a function that prints broken records on stderr and writes every note to the report."""
    with report_file(path) as report:

        def told(note: ImportNote) -> None:
            line = one_line(spell(str(note)), None)
            if note.kind == "broken":
                say(line)
            if report is not None:
                report.write(line + "\n")

        yield told


@contextmanager
def _progress(files: list[str]) -> Iterator[Callable[[int], None] | None]:
    """Draw a bar at a terminal, nothing elsewhere. rich is imported only for the bar."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    # Standard input and servers have no size that is known before.
    has_sizes = all(Path(file).is_file() for file in files)
    total = sum(Path(file).stat().st_size for file in files) if has_sizes else None
    columns = (TextColumn("importing"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("importing", total=total)
        yield lambda read: bar.advance(task, read)
