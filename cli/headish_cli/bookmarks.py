"""``bookmark``: list, set, remove, and the history of a name."""

from __future__ import annotations

import click

from headish_cli.options import Settings, json_option, pass_settings
from headish_cli.output import cells, one_line, pad, preview, print_json, print_json_lines, room_beside, say


@click.group("bookmark")
def bookmark_command() -> None:
    """Names for turns: list, set, remove, and where they were."""


@bookmark_command.command("list")
@json_option
@pass_settings
def list_command(settings: Settings, as_json: bool) -> None:
    """List all bookmarks and the turns that they name."""
    with settings.open() as store:
        found = store.bookmarks.list()
        if as_json:
            print_json_lines({"name": each.name, "turn": each.turn} for each in found)
            return
        names = {each.name: one_line(each.name, None) for each in found}
        column = min(max(map(cells, names.values()), default=0), 40)
        for each in found:
            name = click.style(pad(names[each.name], column), fg="blue", bold=True)
            before = f"{name}  {click.style(each.turn, fg='yellow')}  "
            click.echo(before + one_line(preview(store.blocks(each.turn)), room_beside(before)))


@bookmark_command.command("set")
@click.argument("name")
@click.argument("headish", default="@")
@json_option
@pass_settings
def set_command(settings: Settings, name: str, headish: str, as_json: bool) -> None:
    """Set NAME to a HEADISH, or move it there."""
    with settings.open() as store:
        bookmark = store.bookmarks.set(name, headish)
    if as_json:
        print_json({"name": bookmark.name, "turn": bookmark.turn})
    else:
        click.echo(bookmark.turn)


@bookmark_command.command("rm")
@click.argument("name")
@pass_settings
def remove_command(settings: Settings, name: str) -> None:
    """Remove NAME; its turns and its history stay."""
    with settings.open() as store:
        store.bookmarks.remove(name)
    say(f"Removed {name}. Its history stays: headish bookmark history {name}")


@bookmark_command.command("history")
@click.argument("name")
@json_option
@pass_settings
def history_command(settings: Settings, name: str, as_json: bool) -> None:
    """List every move of NAME, the last first. NAME@{n} names the turn that it pointed at n moves ago."""
    with settings.open() as store:
        moves = store.bookmarks.history(name)
    if as_json:
        print_json_lines({"move": each.number, "turn": each.turn, "time": each.time.isoformat()} for each in moves)
        return
    from headish.values.times import local_time

    for ago, move in enumerate(moves):
        when = local_time(move.time, "seconds")
        click.echo(f"{one_line(name, None)}@{{{ago}}}  {when}  {move.turn or '(removed)'}")
