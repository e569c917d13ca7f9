"""``bookmark`` and ``undo``: list, set, remove and rename bookmarks, move them back, and show their history."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from headish.values.times import local_time
from headish_cli.options import (
    GlobalOptions,
    expect_option,
    expect_options,
    page_options,
    pass_settings,
    read_expect,
    settings_and_json,
)
from headish_cli.printing.briefs import BriefGroup
from headish_cli.printing.output import (
    cells,
    content_of,
    lay_out,
    one_line,
    pad,
    print_json,
    print_json_lines,
    reply_mark,
    say,
    width,
)
from headish_cli.printing.said import words

if TYPE_CHECKING:
    from headish import Turn
    from headish.values.results.bookmarks import Bookmark

NAME_COLUMNS = 40
"""The widest that a column of names becomes."""


@click.group("bookmark", cls=BriefGroup)
def bookmark_command() -> None:
    """Names for turns: list, set, rename, rm, and history."""


@bookmark_command.command("list")
@page_options
@click.option("--recent", is_flag=True, help="List the last moved first, not by name.")
@click.option("--remotes", is_flag=True, help="List what other machines call their turns instead: laptop/main.")
@settings_and_json
def list_command(
    settings: GlobalOptions, limit: int | None, after: str | None, recent: bool, remotes: bool, as_json: bool
) -> None:
    """List bookmarks and the turns that they name."""
    if remotes and (after or recent):
        raise click.UsageError("--remotes lists all by name: leave --after and --recent out")
    with settings.open() as store:
        bookmarks = (
            store.remotes.bookmarks()[:limit]
            if remotes
            else store.bookmarks.list(limit=limit, by="recency" if recent else "name", after=after)
        )
        if as_json:
            print_json_lines(_record(each, store.get(each.turn)) for each in bookmarks)
            return
        if not bookmarks:
            none = "There is no bookmark: 'headish bookmark set NAME HEADISH' makes one."
            say("Nothing was found." if after or remotes else none)
        names = {each.name: one_line(each.name, None) for each in bookmarks}
        # A long name must leave room for what the turn says: at most half of the terminal.
        column = min(max(map(cells, names.values()), default=0), NAME_COLUMNS, (width() or 2 * NAME_COLUMNS) // 2)
        handles = store.abbreviate(each.turn for each in bookmarks)
        for each in bookmarks:
            name = click.style(pad(names[each.name], column), fg="blue", bold=True)
            meta = store.get(each.turn).meta
            model, text = reply_mark(meta), words(meta, content_of(store, each.turn))
            click.echo(
                lay_out([name, f"  {click.style(handles[each.turn], fg='yellow')}  "], text, [model], spare=[model])
            )


def _record(bookmark: Bookmark, turn: Turn) -> dict[str, object]:
    record: dict[str, object] = {"name": bookmark.name, "turn": bookmark.turn}
    return {**record, "incomplete": True} if turn.meta.is_cut_off else record


@bookmark_command.command("set")
@click.argument("name")
@click.argument("headish", default="@")
@expect_options
@settings_and_json
def set_command(
    settings: GlobalOptions, name: str, headish: str, expect: str | None, absent: bool, as_json: bool
) -> None:
    """Set NAME to a HEADISH, or move it there. 'NAME@{1}' as the HEADISH undoes its last move."""
    with settings.open() as store:
        bookmark = store.bookmarks.set(name, headish, expect=read_expect(expect, absent, store))
    if as_json:
        print_json({"name": bookmark.name, "turn": bookmark.turn})
    else:
        click.echo(bookmark.turn)


@bookmark_command.command("rm")
@click.argument("name")
@expect_option
@pass_settings
def remove_command(settings: GlobalOptions, name: str, expect: str | None) -> None:
    """Remove NAME; its turns and its history stay."""
    with settings.open() as store:
        store.bookmarks.remove(name, expect=read_expect(expect, False, store))
    say(f"Removed {name}. Its history stays: {_way_back(name)}.")


@bookmark_command.command("rename")
@click.argument("old")
@click.argument("new")
@expect_option
@pass_settings
def rename_command(settings: GlobalOptions, old: str, new: str, expect: str | None) -> None:
    """Rename the bookmark OLD to NEW; its history and its title go with it."""
    with settings.open() as store:
        click.echo(store.bookmarks.rename(old, new, expect=read_expect(expect, False, store)).turn)


@bookmark_command.command("history")
@click.argument("name")
@settings_and_json
def history_command(settings: GlobalOptions, name: str, as_json: bool) -> None:
    """List every move of NAME, the last first. NAME@{n} names the turn that it pointed at n moves ago."""
    with settings.open() as store:
        moves = store.bookmarks.history(name)
        handles = {} if as_json else store.abbreviate(each.turn for each in moves if each.turn is not None)
    if as_json:
        print_json_lines({"move": each.number, "turn": each.turn, "time": each.time.isoformat()} for each in moves)
        return
    for ago, move in enumerate(moves):
        when = local_time(move.time, "seconds")
        click.echo(f"{one_line(name, None)}@{{{ago}}}  {when}  {handles[move.turn] if move.turn else '(removed)'}")


@click.command("undo")
@click.argument("name")
@click.argument("n", type=click.IntRange(min=1), default=1, metavar="[N]")
@expect_option
@settings_and_json
def undo_command(settings: GlobalOptions, name: str, n: int, expect: str | None, as_json: bool) -> None:
    """Move the bookmark NAME back by N turns, and print the ids of those that left it, oldest first.

    The turns stay stored: 'headish bookmark set NAME NAME@{1}' takes this back. Past the first turn of the thread the
    name is removed, and lists no longer show its title and tags; the same command brings all of it back.
    """
    with settings.open() as store:
        left = store.bookmarks.undo(name, n, expect=read_expect(expect, False, store))
        # None if the undo went past the first turn, which removes the name.
        where = store.bookmarks.get(name)
    if as_json:
        print_json({"name": name, "turn": where, "left": [turn.id for turn in left]})
        return
    for turn in left:
        click.echo(turn.id)
    shown = one_line(name, None)
    say(f"{shown} names {where} now." if where else f"{shown} is removed; {_way_back(shown)}.")


def _way_back(name: str) -> str:
    return f"'headish bookmark set {name} {name}@{{1}}' brings it back, with its title and tags"
