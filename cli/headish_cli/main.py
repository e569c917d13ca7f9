"""The ``headish`` command: its options, and the one place where errors become a line on stderr and an exit code.

Exit codes: 0 done, 1 an error told in one line, 2 wrong usage. A command's module is imported when the command is
named, and headish itself only when a command runs: ``headish --version`` and ``headish --help`` load neither SQLAlchemy
nor Alembic.
"""

from __future__ import annotations

import errno
import sys
from importlib import import_module
from io import TextIOWrapper
from typing import Any

import click

from headish_cli.options import Settings
from headish_cli.output import Told, sentence

COMMANDS = {
    "add": "writing",
    "ask": "asking",
    "bookmark": "bookmarks",
    "convert": "converting",
    "db": "maintenance",
    "demo": "demo",
    "doc": "writing",
    "export": "emitting",
    "get": "reading",
    "import": "importing",
    "lint": "requesting",
    "lint-transcript": "converting",
    "log": "reading",
    "ptr": "pointers",
    "recover": "replying",
    "reply": "replying",
    "request": "requesting",
    "resolve": "reading",
    "retry": "asking",
    "spaces": "spaces",
    "stats": "maintenance",
    "tools": "toolsets",
    "tree": "drawing",
    "usage": "replying",
    "verify": "maintenance",
}
"""Each command and the module that holds it, as ``<name>_command``."""


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = COMMANDS.get(cmd_name)
        if module is None:
            return None
        command = getattr(import_module(f"headish_cli.{module}"), f"{cmd_name.replace('-', '_')}_command")
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        _write_utf8()
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # whoever read has enough: click ends quietly
            raise Told(f"{error}") from None
        except Exception as error:
            from headish.errors import HeadishError

            if isinstance(error, HeadishError):
                raise Told(sentence(error)) from None
            raise


def _write_utf8() -> None:
    """What goes to a file or a pipe is UTF-8, as what is read is; a terminal gets ``?`` for what it cannot show."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            if stream.isatty():
                stream.reconfigure(errors="replace")
            else:
                stream.reconfigure(encoding="utf-8")


def _print_version(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from headish.version import __version__

        click.echo(f"headish {__version__}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--db", metavar="TARGET", envvar="HEADISH_DB", help="A path, :memory: or a database URL.  [env: HEADISH_DB]"
)
@click.option("--space", metavar="NAME", envvar="HEADISH_SPACE", default="default", show_default=True,
              help="Whose history in the database.  [env: HEADISH_SPACE]")  # fmt: skip
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_print_version,
              help="Print the version and exit.")  # fmt: skip
@click.pass_context
def main(ctx: click.Context, db: str | None, space: str) -> None:
    """Keep conversations with language models the way git keeps code.

    A HEADISH names a turn: its id or the id's first digits, a bookmark, or @ for the newest turn; behind it ~n goes n
    turns back, ^n takes the n-th turn that it continues, and main@{n} is where the bookmark was n moves ago. Where a
    HEADISH is left out, it is @.
    """
    ctx.obj = Settings(db, space)
