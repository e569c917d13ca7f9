"""The group of all commands: it imports a command's module when the command is named, and lists each in one line.

``--db``, ``--space`` and ``--no-pager`` may come before a command or after it: every command accepts them, hidden from
its help.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import click

from headish_cli import uncollected
from headish_cli.completing import SPACE, completed_type

SECTIONS: dict[str, tuple[str, ...]] = {
    "Talk": ("ask", "chat", "retry", "reply", "recover", "batch", "ptr", "tools"),
    "Write": ("add", "doc", "record", "import", "edit", "undo", "siblings"),
    "Find": ("list", "search", "log", "tree", "show", "get", "find", "heads", "children", "diff", "usage", "cost"),
    "Name": ("bookmark", "title", "tag", "pin", "archive"),
    "Shape": ("summarize", "hide", "replace", "keep", "unhide", "original", "compact", "tokens"),
    "Emit": ("resolve", "export", "request", "lint", "convert", "lint-transcript"),
    "Keep": ("verify", "stats", "backup", "restore", "erase", "erasures", "gc", "db", "spaces", "config"),
    "Serve": ("serve", "run", "call", "token", "mcp"),
    "Share": ("remote", "clone", "sync", "push", "pull", "status", "bundle", "sign", "serve-stdio"),
    "Follow": ("follow", "position", "audit"),
    "Begin": ("demo", "help", "completion"),
}
"""The commands of each section of the help, in the order in which they are listed."""
DAILY = (
    "ask", "chat", "add", "edit", "undo", "import",
    "list", "search", "log", "tree", "show", "bookmark", "export", "serve", "sync",
)  # fmt: skip
"""The commands that plain ``--help`` lists, which people use daily. ``--help --all`` lists all of them."""
ALL, HELPS = "--all", ("-h", "--help")
OTHERS = "More"
SUGGESTED = 3


class LazyGroup(click.Group):
    """A group that imports its commands late: ``modules`` maps each name to the module that has ``<name>_command``."""

    def __init__(self, *args: Any, modules: Mapping[str, str] | None = None, **extra: Any) -> None:
        super().__init__(*args, **extra)
        self.modules = dict(modules or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self.modules)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # click prints help as soon as it parses --help, which may come before --all: so look for --all first.
        asks_for_all = ALL in args and any(each in HELPS for each in args)
        if asks_for_all and not any(each in self.modules for each in args):  # a command has an --all of its own
            ctx.meta[ALL] = True
            args = [each for each in args if each != ALL]
        return super().parse_args(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = self.modules.get(cmd_name)
        if module is None:
            return None
        with uncollected():
            command = getattr(import_module(f"headish_cli.{module}"), f"{cmd_name.replace('-', '_')}_command")
        assert isinstance(command, click.Command)
        return with_common_options(command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.modules and not args[0].startswith("-"):
            from difflib import get_close_matches

            close = get_close_matches(args[0], self.modules, SUGGESTED)
            hint = f" Did you mean {' or '.join(close)}?" if close else ""
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from headish_cli.printing.briefs import brief  # late, as are the topics below: only help needs them

        visible = set(self.modules if ALL in ctx.meta else DAILY)
        listed = {name for names in SECTIONS.values() for name in names}
        others = tuple(name for name in self.list_commands(ctx) if name not in listed)
        column = max(map(len, self.modules), default=0)
        for section, names in {**SECTIONS, OTHERS: others}.items():
            found = [(name, self.get_command(ctx, name)) for name in names if name in visible and name in self.modules]
            room = formatter.width - 6 - column
            rows = [(name.ljust(column), brief(name, each, room)) for name, each in found if each is not None]
            if rows:
                with formatter.section(section):
                    formatter.write_dl(rows)
        if ALL not in ctx.meta:
            from headish_cli.topics import TOPICS

            formatter.write_paragraph()
            formatter.write_text(f"'headish --help --all' lists all {len(self.modules)} commands.")
            formatter.write_text(f"'headish help TOPIC' explains {', '.join(TOPICS)}.")


def with_common_options(command: click.Command) -> click.Command:
    """Add the hidden common options, and completion of names, to a command and to each below it."""
    own_options = {option for parameter in command.params for option in parameter.opts}
    for parameter in command.params:
        parameter.type = completed_type(parameter)
    # Looked up more than once, as for its help and its completion, a command must not get the options twice.
    command.params += [make() for option, make in _COMMON.items() if option not in own_options]
    for below in command.commands.values() if isinstance(command, click.Group) else ():
        with_common_options(below)
    return command


def _common(option: str, **extra: Any) -> Callable[[], click.Option]:
    def use(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
        if value not in (None, False) and ctx.obj is not None and not ctx.resilient_parsing:
            # On the root, too: HeadishCommand.invoke reports errors from there, and names the database that was used.
            ctx.obj = ctx.find_root().obj = ctx.obj.replaced(**{parameter.name or "": value})

    return lambda: click.Option([option], hidden=True, expose_value=False, callback=use, **extra)


_COMMON = {
    "--db": _common("--db"),
    "--space": _common("--space", type=SPACE),
    "--no-pager": _common("--no-pager", is_flag=True),
}
