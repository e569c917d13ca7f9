"""``list`` and ``title``: the conversations of a space, and what they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headish_cli.options import Settings, json_option, pass_settings
from headish_cli.printing.output import (
    MODEL_COLUMNS,
    cells,
    one_line,
    pad,
    print_json,
    print_json_lines,
    room_beside,
    say,
    shorten,
    width,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headish import Store
    from headish.values.conversations import Entry
    from headish.values.ids import TurnId

NAME_COLUMNS, TITLE_COLUMNS, PAGE = 24, 40, 100


@click.command("list")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=50, show_default=True,
              help="Show at most so many.")  # fmt: skip
@click.option("--archived", is_flag=True, help="Show the archived ones alone.")
@click.option("--all", "everything", is_flag=True, help="Show all of them, archived ones too.")
@json_option
@pass_settings
def list_command(settings: Settings, limit: int, archived: bool, everything: bool, as_json: bool) -> None:
    """List the conversations: bookmarks, the last moved first, then those without one, the newest first.

    Each line has the bookmark or the first digits of the first turn, the title or the first words, when it was last
    moved or said, the model that spoke last, and the last words.
    """
    chosen = None if everything else archived
    with settings.open() as store:
        found = list(_entries(store, None if everything else limit + 1, chosen))
        more = not everything and len(found) > limit
        entries = found[:limit] if more else found
        if as_json:
            print_json_lines(map(_record, entries))
        else:
            _print_table(store, entries)
    if more:
        say(f"There are more: -n {2 * limit}, or --all.")


@click.command("title")
@click.argument("headish")
@click.argument("text", required=False)
@json_option
@pass_settings
def title_command(settings: Settings, headish: str, text: str | None, as_json: bool) -> None:
    """Show what the conversation of a HEADISH is called, or call it TEXT; an empty TEXT takes the title away."""
    with settings.open() as store:
        said = store.conversations
        found = said.get(headish) if text is None else said.set(headish, title=text)
    if as_json:
        print_json({"name": found.name, "first": found.first, "title": found.record.title, "revision": found.revision})
    elif found.record.title and text is None:
        click.echo(one_line(found.record.title, None))


def _entries(store: Store, limit: int | None, archived: bool | None) -> Iterator[Entry]:
    """So many entries, or all, however many pages they are on."""
    after, left = None, limit
    while True:
        page = store.conversations.list(limit=min(left or PAGE, PAGE), after=after, archived=archived)
        yield from page.entries
        left = None if left is None else left - len(page.entries)
        after = page.after
        if after is None or left == 0:
            return


def _print_table(store: Store, entries: list[Entry]) -> None:
    from headish.values.times import local_time

    short = shorten(store, (each.conversation.first for each in entries if each.conversation.first is not None))
    names = [one_line(_name(each, short), NAME_COLUMNS) for each in entries]
    titles = [one_line(each.title, TITLE_COLUMNS if width() else None) for each in entries]
    models = [one_line((each.model or "").rpartition("/")[2], MODEL_COLUMNS if width() else None) for each in entries]
    columns = [max(map(cells, column), default=0) for column in (names, titles, models)]
    for entry, name, title, model in zip(entries, names, titles, models, strict=True):
        colour = "blue" if entry.conversation.name is not None else "yellow"
        parts = [
            click.style(pad(name, columns[0]), fg=colour, bold=entry.conversation.name is not None),
            local_time(entry.time),
            pad(title, min(columns[1], TITLE_COLUMNS)),
            *([click.style(pad(model, columns[2]), dim=True)] if columns[2] else []),
        ]
        before = "  ".join(parts) + "  "
        click.echo((before + one_line(entry.last, room_beside(before))).rstrip())


def _name(entry: Entry, short: dict[TurnId, str]) -> str:
    name, first = entry.conversation.name, entry.conversation.first
    return name if name is not None else short[first] if first is not None else ""


def _record(entry: Entry) -> dict[str, Any]:
    found = entry.conversation
    return {
        "name": found.name,
        "first": found.first,
        "turn": found.turn,
        "title": entry.title,
        "last": entry.last,
        "role": entry.role,
        "model": entry.model,
        "time": entry.time.isoformat(),
        "branches": entry.branches,
        "tags": list(found.record.tags),
        "archived": found.record.archived,
        "pinned": found.record.pinned,
        "key": found.record.key,
        "revision": found.revision,
    }
