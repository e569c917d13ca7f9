"""``help``: the help of a command, or of a topic that all commands share. ``completion``: a script for the shell."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

import click

from headish_cli.completing import Completed, matching
from headish_cli.printing.output import Misspelled
from headish_cli.topics import TOPICS

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

SUGGESTED = 3
LINES = {
    "bash": 'eval "$(headish completion bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(headish completion zsh)"   # in ~/.zshrc, after compinit',
    "fish": "headish completion fish > ~/.config/fish/completions/headish.fish",
}
"""The line that switches completion on, by shell."""


def _known(ctx: click.Context, words: Sequence[str]) -> list[str]:
    """The words that may follow ``words``: commands and, at the beginning, topics."""
    command: click.Command | None = ctx.find_root().command
    for word in words:
        command = command.get_command(ctx, word) if isinstance(command, click.Group) else None
    commands = command.list_commands(ctx) if isinstance(command, click.Group) else []
    return commands if words else [*commands, *TOPICS]


def _offer(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    return matching(_known(ctx, ctx.params["words"]), incomplete)


@click.command("help", epilog=f"Topics: {', '.join(TOPICS)}.")
@click.argument("words", metavar="[COMMAND|TOPIC]...", nargs=-1, type=Completed(_offer))
def help_command(words: tuple[str, ...]) -> None:
    """Show the help of a command, or of a shared topic."""
    if len(words) == 1 and words[0] in TOPICS:
        click.echo(TOPICS[words[0]], nl=False)
        return
    ctx = click.get_current_context().find_root()
    for number, word in enumerate(words):
        command = ctx.command.get_command(ctx, word) if isinstance(ctx.command, click.Group) else None
        if command is None:
            close = get_close_matches(word, _known(ctx, words[:number]), SUGGESTED)
            hint = f"; did you mean {' or '.join(close)}?" if close else ""
            raise Misspelled(f"there is no command or topic {word!r}{hint}")
        # A context for each word, so that the usage line names the whole command.
        ctx = click.Context(command, info_name=word, parent=ctx)
    click.echo(ctx.get_help())


@click.command("completion", epilog="\b\nTo switch it on:\n" + "\n".join(f"  {line}" for line in LINES.values()))
@click.argument("shell", type=click.Choice(list(LINES)))
def completion_command(shell: str) -> None:
    """Print the script that lets a SHELL complete commands, options, names, handles, formats, providers and spaces."""
    from click.shell_completion import get_completion_class

    shell_class = get_completion_class(shell)
    assert shell_class is not None
    root = click.get_current_context().find_root().command
    click.echo(shell_class(root, {}, "headish", "_HEADISH_COMPLETE").source())
