"""``completion``: the script that lets a shell complete the command."""

from __future__ import annotations

import click

LINES = {
    "bash": 'eval "$(headish completion bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(headish completion zsh)"   # in ~/.zshrc, after compinit',
    "fish": "headish completion fish > ~/.config/fish/completions/headish.fish",
}
"""The line that switches completion on, by shell."""


@click.command("completion", epilog="\b\nTo switch it on:\n" + "\n".join(f"  {line}" for line in LINES.values()))
@click.argument("shell", type=click.Choice(list(LINES)))
def completion_command(shell: str) -> None:
    """Print the script that lets a SHELL complete commands, options, names, handles, formats, providers and spaces."""
    from click.shell_completion import get_completion_class

    shell_class = get_completion_class(shell)
    assert shell_class is not None
    root = click.get_current_context().find_root().command
    click.echo(shell_class(root, {}, "headish", "_HEADISH_COMPLETE").source())
