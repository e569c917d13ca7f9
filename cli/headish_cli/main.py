"""The ``headish`` command: its options, and the one place where errors become a line on stderr and an exit code.

Exit codes: 0 done, 1 an error in one line or findings, 2 a command line that cannot be right, 130 Ctrl-C, 141 a closed
pipe (without a message); ``docs/reference/exit-codes.md`` has the rule. A command's module is imported when the command
is named, and headish itself only when a command runs: ``headish --version`` and ``headish --help`` load neither
SQLAlchemy nor Alembic.
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
    "commands.finding.listing": "list",
    "commands.finding.neighbours": "children heads",
    "commands.finding.recording": "record",
    "commands.finding.search": "search",
    "commands.finding.showing": "show",
    "commands.helping": "completion help",
    "commands.importing": "import",
    "commands.keeping.auditing": "audit",
    "commands.keeping.backups": "backup restore",
    "commands.keeping.erase": "erase erasures gc",
    "commands.keeping.following": "follow position",
    "commands.maintenance": "db sign stats verify",
    "commands.reading": "find get log resolve",
    "commands.requesting": "lint request",
    "commands.serving.mcp": "mcp",
    "commands.serving.passed": "call",
    "commands.serving.running": "run",
    "commands.serving.serve": "serve",
    "commands.serving.tokens": "token",
    "commands.sharing.answering": "serve-stdio",
    "commands.sharing.bundles": "bundle",
    "commands.sharing.exchanging": "clone pull push status sync",
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
"""Each module with commands, and the names of its commands, separated by blanks; each is ``<name>_command`` in it."""
COMMANDS = {name: module for module, names in MODULES.items() for name in names.split()}
"""The module of each command."""


class HeadishCommand(LazyGroup):
    """The whole command: turns errors into a line on stderr, and its end into an exit code."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command and exit the process with its code. If not ``standalone_mode``, raise errors instead."""
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
        # Resilient parsing is a completion: a broken file must not disturb the person's line.
        if parent is None and not extra.get("resilient_parsing"):
            extra["default_map"], extra["obj"] = _read_configured()
        try:
            with _silent_when_closed():
                return super().make_context(info_name, args, parent, **extra)
        except OSError as error:  # of --help and --version, which print before a command runs
            from headish_cli.printing.hints import refusal

            raise refusal(error, None) from None

    def invoke(self, ctx: click.Context) -> Any:
        _write_utf8()
        try:
            # The innermost: a closed pipe is an OSError too, and must not be reported as one.
            with _silent_when_closed(), local_times():
                return super().invoke(ctx)
        except (HeadishError, OSError) as error:
            from headish_cli.printing.hints import refusal  # late: most commands end well

            raise refusal(error, ctx.obj) from None


def _open_what_is_closed() -> None:
    """Open an empty stream in place of each of the three standard streams that the process was started without.

    Otherwise its descriptor would go to the next file that is opened, such as the database, and Python would have None
    in place of the stream.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, open to the end


@contextmanager
def _silent_when_closed() -> Iterator[None]:
    """If the reader of a pipe has closed it, exit with the code for that, without a message."""
    try:
        yield
    except BrokenPipeError:
        # Python flushes both streams when it exits: into the closed pipe, it would print a traceback.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            os.dup2(nowhere, stream.fileno())
        raise click.exceptions.Exit(CLOSED_PIPE) from None


def _tell(error: click.ClickException) -> None:
    """Show an error on stderr. Click quotes the command line, where a file name may hold terminal controls."""
    text = StringIO()
    error.show(text)
    click.echo(escape_controls(text.getvalue()), nl=False, err=True)


def _write_utf8() -> None:
    """Write UTF-8 to files and pipes, as input is read; write ``?`` for what a terminal cannot show.

    A path may be bytes that are not UTF-8. Each of these is written as an escape, such as ``\\udcff``.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            if stream.isatty():
                stream.reconfigure(errors="replace")
            else:
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _read_configured() -> tuple[dict[str, str], Told | None]:
    """Read the configuration file, or return the error in it, so that ``headish config`` can still run and mend it."""
    try:
        return read_config(config_path()), None
    except Told as error:
        return {}, error


def _configure(ctx: click.Context) -> dict[str, str]:
    """Apply the configuration file and return its values. Raises: Told if the file is broken."""
    if isinstance(ctx.obj, Told) and ctx.invoked_subcommand != "config":
        raise ctx.obj
    settings = dict(ctx.default_map or {})
    ctx.default_map = None  # click would also use it for commands, and take the value of "db" for the command `db`
    for key in READ_FROM_ENVIRONMENT:
        if key in settings and ctx.invoked_subcommand != "config":  # `config show` says where each value comes from
            os.environ.setdefault(KEYS[key].variable, settings[key])
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or settings.get("color") == "never":
        ctx.color = False  # https://no-color.org; by default click colours what goes to a terminal
    elif settings.get("color") == "always":
        ctx.color = True
    return settings


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
    configured = _configure(ctx)
    # These have no option before the command, so click does not look up their variables.
    ptr = os.environ.get("HEADISH_PTR") or configured.get("ptr")
    prices = os.environ.get("HEADISH_PRICES") or configured.get("prices")
    sync = os.environ.get("HEADISH_SYNC") or configured.get("sync")
    # "none" overrides HEADISH_ISOLATION or the file; for the library it is the absence of the demand.
    apart: Literal["required"] | None = "required" if isolation == "required" else None
    ctx.obj = GlobalOptions(
        db, space, read_only, author or None, read_cursor(at_least), no_pager, ptr, prices, sync, apart
    )
    if ctx.invoked_subcommand is None:
        _show_list_or_help(ctx)


def _show_list_or_help(ctx: click.Context) -> None:
    """List the conversations at a terminal if the space exists; otherwise print the help."""
    if sys.stdout is not None and sys.stdout.isatty():
        try:
            ctx.obj.open().close()
        except UnknownDatabase:
            pass
        else:
            list_command = main.get_command(ctx, "list")
            assert list_command is not None
            list_command.main([], "headish list", parent=ctx, standalone_mode=False)
            return
    click.echo(ctx.get_help())
    ctx.exit(2)
