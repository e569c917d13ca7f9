"""``llm headish …``: every command of headish inside Simon Willison's ``llm``, which finds this module as a plugin.

llm has no hook that would let a plugin keep its logs. So import them with ``llm headish import LOGS_DB``, and again
after they have grown. Loading the plugin costs llm nothing: headish is imported when the command runs.
"""

from __future__ import annotations

import click
from pluggy import HookimplMarker

hookimpl = HookimplMarker("llm")


@hookimpl
def register_commands(cli: click.Group) -> None:
    """Add the command ``headish`` to llm's."""
    cli.add_command(headish_command)


@click.command(
    "headish",
    # Options, --help too, go to headish unread: its own parser knows them.
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    add_help_option=False,
    short_help="Keep conversations: headish's commands",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def headish_command(arguments: tuple[str, ...]) -> None:
    """Run a command of headish: ``llm headish import "$(llm logs path)" --db chat.db``."""
    from headish_cli.main import main

    main.main(list(arguments), prog_name="llm headish")
