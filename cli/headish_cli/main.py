"""The ``headish`` command: its options, and the one place where errors become a line on stderr and an exit code.

Exit codes: 0 done, 1 an error in one line or findings, 2 a line that cannot be right, 130 Ctrl-C, 141 a closed pipe
(in silence); ``docs/reference/exit-codes.md`` has the rule. A command's module is imported when the command is named,
and headish itself only when a command runs: ``headish --version`` and ``headish --help`` load neither SQLAlchemy nor
Alembic.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from io import StringIO, TextIOWrapper
from typing import Any, Literal

import click

from headish.errors import HeadishError, UnknownDatabase
from headish.values.checks.controls import escape_controls
from headish.values.times import local_times
from headish_cli.completing import SPACE
from headish_cli.configuration import KEYS, READ_FROM_ENVIRONMENT, config_path, read_config
from headish_cli.groups import LazyGroup
from headish_cli.options import CLOSED_PIPE, INTERRUPTED, PLACE, GlobalOptions
from headish_cli.printing.output import Told, read_cursor

MODULES = {
    "commands.bookmarks": "bookmark undo",
    "commands.changing.budgets": "compact tokens",
    "commands.changing.comparing": "diff",
    "commands.changing.editing": "edit siblings",
    "commands.changing.overlays": "hide keep original replace summarize unhide",
    "commands.conversing": "archive pin tag title",
    "commands.converting": "convert lint-transcript",
    "commands.drawing": "tree",
    "commands.emitting": "export",
    "commands.finding.completion": "completion",
    "commands.finding.listing": "list",
    "commands.finding.neighbours": "children heads",
    "commands.finding.recording": "record",
    "commands.finding.search": "search",
    "commands.finding.showing": "show",
    "commands.helping": "help",
    "commands.importing": "import",
    "commands.keeping.auditing": "audit",
    "commands.keeping.backups": "backup restore",
    "commands.keeping.erase": "erase erasures gc",
    "commands.keeping.following": "follow position",
    "commands.keeping.signing": "sign",
    "commands.maintenance": "db stats verify",
    "commands.reading": "find get log resolve",
    "commands.requesting": "lint request",
    "commands.serving.mcp": "mcp",
    "commands.serving.passed": "call",
    "commands.serving.running": "run",
    "commands.serving.serve": "serve",
    "commands.serving.tokens": "token",
    "commands.sharing.answering": "serve-stdio",
    "commands.sharing.bundles": "bundle",
    "commands.sharing.cloning": "clone",
    "commands.sharing.exchanging": "pull push status sync",
    "commands.sharing.remotes": "remote",
    "commands.spaces": "spaces",
    "commands.talking.asking": "ask retry",
    "commands.talking.batches": "batch",
    "commands.talking.chat": "chat",
    "commands.talking.config": "config",
    "commands.talking.costs": "cost",
    "commands.talking.pointers": "ptr",
    "commands.talking.replying": "recover reply usage",
    "commands.talking.toolsets": "tools",
    "commands.writing": "add doc",
    "demo": "demo",
}
"""The modules with commands and, with blanks between, the commands that each holds as ``<name>_command``."""
COMMANDS = {name: module for module, names in MODULES.items() for name in names.split()}
"""Each command and its module."""


class HeadishCommand(LazyGroup):
    """The command: its errors become a line on stderr, and its end an exit code."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command and leave the process with its exit code; not standalone, errors are raised instead."""
        run = partial(super().main, args, prog_name, complete_var, standalone_mode=False, **extra)
        if not standalone_mode:
            return run()
        _open_what_is_closed()
        try:
            sys.exit(run() or 0)  # a command returns nothing; click returns the code of an early exit
        except click.ClickException as error:
            _tell(error)
            sys.exit(error.exit_code)
        except click.Abort:
            sys.exit(INTERRUPTED)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if parent is None and not extra.get("resilient_parsing"):
            extra["default_map"], extra["obj"] = _read_configured()
        with _silent_when_closed():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        _write_utf8()
        try:
            with _silent_when_closed(), local_times():
                return super().invoke(ctx)
        except (HeadishError, OSError) as error:
            from headish_cli.printing.hints import refusal  # late: most commands end well

            raise refusal(error, ctx.obj) from None


def _open_what_is_closed() -> None:
    """Give a process that was started without one of its three streams an empty one.

    Its number would go to the next file that is opened, as the database, and Python has None where a stream is asked.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, open to the end


@contextmanager
def _silent_when_closed() -> Iterator[None]:
    """If the reader of a pipe has enough, end with that pipe's exit code, in silence."""
    try:
        yield
    except BrokenPipeError:
        # Python flushes at its end what a stream still holds, and would complain again.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            os.dup2(nowhere, stream.fileno())
        raise click.exceptions.Exit(CLOSED_PIPE) from None


def _tell(error: click.ClickException) -> None:
    """Show an error on stderr. Click quotes the command line, where the name of a file may steer the terminal."""
    told = StringIO()
    error.show(told)
    click.echo(escape_controls(told.getvalue()), nl=False, err=True)


def _write_utf8() -> None:
    """What goes to a file or a pipe is UTF-8, as what is read is; a terminal gets ``?`` for what it cannot show."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            if stream.isatty():
                stream.reconfigure(errors="replace")
            else:
                stream.reconfigure(encoding="utf-8")


def _read_configured() -> tuple[dict[str, str], Told | None]:
    """What the configuration file says, or what is wrong with it: ``headish config`` works all the same."""
    try:
        return read_config(config_path()), None
    except Told as error:
        return {}, error


def _configure(ctx: click.Context) -> dict[str, str]:
    """What the configuration says that is no option before the command. Raises: Told."""
    if isinstance(ctx.obj, Told) and ctx.invoked_subcommand != "config":
        raise ctx.obj
    said = dict(ctx.default_map or {})
    ctx.default_map = None  # it would hold for commands, too, and "db" is one
    for key in READ_FROM_ENVIRONMENT:
        if key in said and ctx.invoked_subcommand != "config":  # which tells from where a value is
            os.environ.setdefault(KEYS[key].variable, said[key])
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or said.get("color") == "never":
        ctx.color = False  # https://no-color.org; else click colours what goes to a terminal
    elif said.get("color") == "always":
        ctx.color = True
    return said


def _print_version(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from headish.version import __version__

        click.echo(f"headish {__version__}")
        ctx.exit()


@click.group(cls=HeadishCommand, modules=COMMANDS, invoke_without_command=True,
             context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})  # fmt: skip
@click.option("--db", type=PLACE, metavar="TARGET", envvar="HEADISH_DB",
              help="A path, :memory: or a database URL.  [env: HEADISH_DB]")  # fmt: skip
@click.option("--space", metavar="NAME", envvar="HEADISH_SPACE", default="default", show_default=True, type=SPACE,
              help="The space to use.  [env: HEADISH_SPACE]")  # fmt: skip
@click.option("--read-only", is_flag=True, envvar="HEADISH_READ_ONLY",
              help="Change nothing: commands that write are refused.  [env: HEADISH_READ_ONLY]")  # fmt: skip
@click.option("--author", metavar="NAME", envvar="HEADISH_AUTHOR",
              help="Who writes: kept in the turns that are added.  [env: HEADISH_AUTHOR]")  # fmt: skip
@click.option("--isolation", type=click.Choice(["required", "none"]), envvar="HEADISH_ISOLATION",
              help="required: refuse a database that keeps no spaces apart.  [env: HEADISH_ISOLATION]")  # fmt: skip
@click.option("--at-least", metavar="CURSOR",
              help="Wait until the database is as far as a cursor of 'headish position'.")  # fmt: skip
@click.option(
    "--no-pager", is_flag=True, help="Print long lists without a pager (HEADISH_PAGER, else PAGER, else less)."
)
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_print_version,
              help="Print the version and exit.")  # fmt: skip
@click.pass_context
def main(
    ctx: click.Context, db: str | None, space: str, read_only: bool, author: str | None,
    isolation: Literal["required", "none"] | None, at_least: str | None, no_pager: bool,
) -> None:  # fmt: skip
    """Keep conversations with language models the way git keeps code.

    A HEADISH names a turn: a bookmark, a handle, an id, or @ for the newest turn, each with suffixes such as main~2.
    The default is @. --db, --space and --no-pager may also follow the command. Without a command,
    a terminal shows 'headish list'.

    Exit codes: 0 done, 1 an error or findings, 2 a line that cannot be right, 130 Ctrl-C, 141 a closed pipe.
    """
    said = _configure(ctx)
    ptr = os.environ.get("HEADISH_PTR") or said.get("ptr")
    prices = os.environ.get("HEADISH_PRICES") or said.get("prices")
    sync = os.environ.get("HEADISH_SYNC") or said.get("sync")
    apart: Literal["required"] | None = "required" if isolation == "required" else None
    ctx.obj = GlobalOptions(
        db, space, read_only, author or None, read_cursor(at_least), no_pager, ptr, prices, sync, apart
    )
    if ctx.invoked_subcommand is None:
        _show_list_or_help(ctx)


def _show_list_or_help(ctx: click.Context) -> None:
    """A person with a history sees what is in it; a pipe, and who has none, how the command is used."""
    if sys.stdout is not None and sys.stdout.isatty():
        try:
            ctx.obj.open().close()
        except UnknownDatabase:
            pass
        else:
            listed = main.get_command(ctx, "list")
            assert listed is not None
            listed.main([], "headish list", parent=ctx, standalone_mode=False)
            return
    click.echo(ctx.get_help())
    ctx.exit(2)
