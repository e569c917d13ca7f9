"""The group of all commands and the groups inside it: a command is imported when it is named, and listed in one line.

``--db``, ``--space`` and ``--no-pager`` stand before a command or behind it: every command takes them, unseen in its
help.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import click

from headish_cli.completing import SPACE, completed_type

SECTIONS: dict[str, tuple[str, ...]] = {
    "Talk": ("ask", "chat", "retry", "reply", "recover", "batch", "ptr", "tools"),
    "Write": ("add", "doc", "record", "import", "edit", "undo", "siblings"),
    "Find": ("list", "search", "log", "tree", "show", "get", "find", "heads", "children", "diff", "usage", "cost"),
    "Name": ("bookmark", "title", "tag", "pin", "archive"),
    "Shape": ("summarize", "hide", "replace", "keep", "unhide", "original", "compact", "tokens"),
    "Emit": ("resolve", "export", "request", "lint", "convert", "lint-transcript"),
    "Keep": ("verify", "stats", "backup", "restore", "erase", "erasures", "gc", "db", "spaces", "config"),
    "Follow": ("follow", "position", "audit"),
    "Begin": ("demo", "completion"),
}
"""The commands of each section of the help, in the order in which they are listed."""
BRIEFLY: dict[str, str] = {
    "batch": "Ask about many heads at once, for about half the price.",
    "chat": "Talk to a model at the terminal.",
    "recover": "Store the answers that dead processes left behind.",
    "reply": "Store a provider's answer behind a turn.",
    "ptr": "Name providers, models and their parameters.",
    "record": "Store a whole message list, such as a client re-sends.",
    "edit": "Say something else in the place of a turn.",
    "undo": "Move a bookmark back by some turns.",
    "tree": "Draw the tree that a turn belongs to.",
    "children": "List the turns that continue a turn.",
    "show": "Show turns in full, with all that is known of them.",
    "get": "Show what one turn says.",
    "diff": "Show what differs between two branches.",
    "usage": "Count the tokens of a thread's answers.",
    "cost": "Tell what a thread's answers cost.",
    "title": "Show or set the title of a conversation.",
    "tag": "Show or add the tags of a conversation.",
    "summarize": "Let a summary stand for a range of turns.",
    "hide": "Hide a range of turns.",
    "replace": "Let a text stand in the place of what a turn says.",
    "keep": "Keep a range of turns in every budget.",
    "unhide": "Show a range of hidden turns again.",
    "original": "Show a range of turns as they were said.",
    "compact": "Bring a branch down to a size, for the model.",
    "tokens": "Tell how many tokens a request has.",
    "resolve": "Print the messages and options that lead to a turn.",
    "export": "Print a thread as a transcript, or as a page for people.",
    "request": "Print the request body that continues a turn.",
    "lint-transcript": "Print a code for each oddity of a transcript.",
    "backup": "Back up the database into a file.",
    "db": "Make, upgrade, move and secure the database.",
    "spaces": "List, add, rename, limit and open spaces.",
    "config": "Read and write the configuration file.",
    "erasures": "List the receipts of what was erased.",
    "gc": "Remove what nothing names, and finish erasures.",
    "follow": "Print every change of the space, and wait for more.",
    "demo": "Take a tour of headish.",
    "completion": "Print the script that completes commands in a shell.",
    "batch create": "Ask a provider to continue each HEADISH, in one batch.",
    "batch status": "Tell how far a batch is, or list the batches.",
    "batch collect": "Store what a batch has answered.",
    "bookmark rename": "Rename the bookmark OLD to NEW, with its history.",
    "config show": "Show what holds, and who says so.",
    "db distribute": "Spread the tables over machines, by Citus.",
    "db search-index": "Show, or switch on or off, the search index.",
    "db secure": "Have PostgreSQL keep the spaces apart.",
    "ptr default": "Let threads that name no pointer be asked by NAME.",
    "ptr show": "Show what NAME points at, and the URL of its requests.",
    "spaces grant": "Open the space NAME to a login.",
    "spaces limit": "Show or set what the space NAME may hold.",
    "spaces move": "Move threads into another space.",
    "spaces rm": "Remove the space NAME, if it is empty.",
    "tools list": "List the tools of a server, or of all.",
    "tools set": "Store what SERVER answers to tools/list of MCP.",
}
"""What the list says of a command whose first sentence does not fit in a line of 80 columns."""
OTHERS = "More"
SUGGESTED = 3


class LazyGroup(click.Group):
    """A group whose commands lie in modules: ``modules`` has the module of each, which holds ``<name>_command``."""

    def __init__(self, *args: Any, modules: Mapping[str, str] | None = None, **extra: Any) -> None:
        super().__init__(*args, **extra)
        self.modules = dict(modules or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self.modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = self.modules.get(cmd_name)
        if module is None:
            return None
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
        listed = {name for names in SECTIONS.values() for name in names}
        others = tuple(name for name in self.list_commands(ctx) if name not in listed)
        column = max(map(len, self.modules), default=0)
        for section, names in {**SECTIONS, OTHERS: others}.items():
            found = [(name, self.get_command(ctx, name)) for name in names if name in self.modules]
            room = formatter.width - 6 - column
            rows = [(name.ljust(column), _brief(name, each, room)) for name, each in found if each is not None]
            if rows:
                with formatter.section(section):
                    formatter.write_dl(rows)


class BriefGroup(click.Group):
    """A group inside the group: it lists each of its commands in a line, as the list of all commands does."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        room = formatter.width - 6 - max(map(len, self.commands))
        rows = [(name, _brief(f"{self.name} {name}", each, room)) for name, each in sorted(self.commands.items())]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _brief(name: str, command: click.Command, room: int) -> str:
    """The first sentence of a command's help where it fits, else what stands before its colon or semicolon."""
    whole = command.get_short_help_str(sys.maxsize)
    if len(whole) <= room:
        return whole
    start = BRIEFLY.get(name) or re.split("[:;] ", whole)[0].removesuffix(".") + "."
    return start if len(start) <= room else command.get_short_help_str(room)


def with_common_options(command: click.Command) -> click.Command:
    """The command, and each below it, with the options that may stand behind it, and with completion of names."""
    known = {option for parameter in command.params for option in parameter.opts}
    for parameter in command.params:
        parameter.type = completed_type(parameter)
    command.params += [make() for option, make in _COMMON.items() if option not in known]
    for below in command.commands.values() if isinstance(command, click.Group) else ():
        with_common_options(below)
    return command


def _common(option: str, **extra: Any) -> Callable[[], click.Option]:
    def use(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
        if value not in (None, False) and ctx.obj is not None and not ctx.resilient_parsing:
            # The command as a whole tells errors, and asks then which database was meant.
            ctx.obj = ctx.find_root().obj = ctx.obj._replace(**{parameter.name or "": value})

    return lambda: click.Option([option], hidden=True, expose_value=False, callback=use, **extra)


_COMMON = {
    "--db": _common("--db"),
    "--space": _common("--space", type=SPACE),
    "--no-pager": _common("--no-pager", is_flag=True),
}
