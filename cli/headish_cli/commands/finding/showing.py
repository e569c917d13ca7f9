"""``show``: print turns in full, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from headish_cli.options import GlobalOptions, settings_and_json
from headish_cli.printing.output import content_of, one_line, print_json_lines, say
from headish_cli.printing.paging import paged
from headish_cli.printing.telling import reply_record
from headish_cli.printing.turns import print_turn

if TYPE_CHECKING:
    from headish import Store, Turn


@click.command("show")
@click.argument("headish", nargs=-1)
@settings_and_json
def show_command(settings: GlobalOptions, headish: tuple[str, ...], as_json: bool) -> None:
    """Show turns in full: who said it and when, what it continues, and all that it says.

    'headish get' prints the text alone, for a pipe.
    """
    with settings.open() as store:
        turns = [store.get(each) for each in headish or ("@",)]
        if as_json:
            from headish.values.blocks import to_mapping

            contents = ((turn, [to_mapping(block) for block in content_of(store, turn.id)]) for turn in turns)
            print_json_lines({**reply_record(store, turn), "content": content} for turn, content in contents)
            return
        with paged(settings):
            for number, turn in enumerate(turns):
                if number:
                    click.echo("")
                print_turn(store, turn)
                _print_kept(store, turn)


def _print_kept(store: Store, turn: Turn) -> None:
    """Print the sub-agents of the conversations whose bookmarks name this turn, and what adapters keep beside them."""
    conversations = [store.conversations.get(name) for name in store.bookmarks.at([turn.id]).get(turn.id, ())]
    for key in (each.record.key for each in conversations if each.record.key is not None):
        for part in store.conversations.parts(key):
            name = click.style("sub-agent:", dim=True)
            # 22 as in `print_turn`.
            click.echo(f"{name:<22}{one_line(part.name or part.turn, 60)}  {one_line(part.record.title, 120)}")
    adapted = [each for each in conversations if "adapter" in each.record.app]
    if not adapted:
        return
    from headish.adapters.plugins import Descriptions

    descriptions = Descriptions(store, say)
    for conversation in adapted:
        name = click.style(f"{one_line(str(conversation.record.app['adapter']), 20)}:", dim=True)
        for line in descriptions.of(conversation).lines:
            click.echo(f"{name:<22}{one_line(line, 200)}")
