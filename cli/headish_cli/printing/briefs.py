"""The one-line description of each command in a list, for a terminal of 80 columns."""

from __future__ import annotations

import re
import sys

import click

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
    "cost": "Show what a thread's answers cost.",
    "title": "Show or set the title of a conversation.",
    "tag": "Show or add the tags of a conversation.",
    "summarize": "Show the model a summary, yours or its own, of a range.",
    "hide": "Hide a range of turns from the model, people or both.",
    "replace": "Show the model and people a text in place of a turn.",
    "keep": "Keep a range of turns when a thread is cut to a budget.",
    "unhide": "Take back 'hide' for a range of turns.",
    "original": "Let everybody see a range of turns as they were said.",
    "compact": "Shorten a branch for the model: summarize old turns.",
    "tokens": "Count the tokens of a request.",
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
    "serve-stdio": "Answer another machine that syncs with this history.",
    "follow": "Print every change of the space, and wait for more.",
    "demo": "Take a tour of headish.",
    "completion": "Print the script that completes commands in a shell.",
    "batch create": "Ask a provider to continue each HEADISH, in one batch.",
    "batch status": "Show how far a batch is, or list the batches.",
    "batch collect": "Store what a batch has answered.",
    "bundle verify": "Derive every hash of the bundle FILE again.",
    "bookmark rename": "Rename the bookmark OLD to NEW, with its history.",
    "config show": "Show each setting and where it comes from.",
    "db distribute": "Spread the tables over machines, by Citus.",
    "db search-index": "Show, or switch on or off, the search index.",
    "db secure": "Have PostgreSQL keep the spaces apart.",
    "ptr default": "Make NAME the default pointer.",
    "ptr show": "Show what NAME points at, and the URL of its requests.",
    "spaces grant": "Open the space NAME to a login.",
    "spaces limit": "Show or set what the space NAME may hold.",
    "spaces move": "Move threads into another space.",
    "spaces rm": "Remove the space NAME, if it is empty.",
    "tools list": "List the tools of a server, or of all.",
    "tools set": "Store what SERVER answers to tools/list of MCP.",
}
"""Descriptions for commands whose first sentence does not fit in a line of 80 columns."""


ALIKE = (("rm", "remove", "unset", "drop", "delete"), ("list", "ls", "show"))
"""Names of subcommands that do alike, and what people type for them."""


class BriefGroup(click.Group):
    """A group of subcommands whose help lists each in one line, as the list of all commands does."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        # By spelling alone, click would offer "rename" to who types "remove".
        if args and args[0] not in self.commands:
            for name in (name for names in ALIKE if args[0] in names for name in names if name in self.commands):
                ctx.fail(f"No such command {args[0]!r}. Did you mean {name!r}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        room = formatter.width - 6 - max(map(len, self.commands))
        rows = [(name, brief(f"{self.name} {name}", each, room)) for name, each in sorted(self.commands.items())]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def brief(name: str, command: click.Command, room: int) -> str:
    """Describe a command in ``room`` columns: its first sentence, else its row here, else that sentence to its first
    colon or semicolon, else that sentence cut by click."""
    # By default click cuts at 45 characters, in the middle of a sentence.
    whole = command.get_short_help_str(sys.maxsize)
    if len(whole) <= room:
        return whole
    start = BRIEFLY.get(name) or re.split("[:;] ", whole)[0].removesuffix(".") + "."
    return start if len(start) <= room else command.get_short_help_str(room)
