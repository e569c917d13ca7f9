"""``list``: the conversations of a space, the last used first."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from headish.values.times import local_time
from headish_cli.options import ROLES, GlobalOptions, read_time, settings_and_json, twins_option
from headish_cli.printing.output import MODEL_COLUMNS, cells, counted, one_line, print_json_lines, say, width
from headish_cli.printing.paging import paged

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headish import Store
    from headish.values.ids import TurnId
    from headish.values.results.conversations import Entry

AGENT = "sub-agent"
"""The tag of a conversation that a sub-agent of an imported session had."""
NAME_COLUMNS, TITLE_COLUMNS, PAGE, LIMIT = 24, 40, 100, 50
LEAST = {"name": NAME_COLUMNS, "title": 20, "last": 12}
"""The fewest columns of these at a terminal. Below that, another column is dropped first."""
LEAST_NAME = 12
"""The fewest columns of a name once all other columns are dropped; the rest is for the title."""
DROPPED = ("model", "tags", "turns", "last", "pinned", "time")
"""The columns that a narrow terminal drops, in this order."""
COLOURS: dict[str, dict[str, Any]] = {
    "name": {"fg": "blue", "bold": True},
    "handle": {"fg": "yellow"},
    "tags": {"fg": "magenta"},
}


@click.command("list")
@click.option("-n", "--limit", type=click.IntRange(min=1), help="Show at most this many.  [default: 50]")
@click.option("--name", "names", metavar="GLOB", help="Show only bookmarks of this pattern, such as 'work/*'.")
@click.option("--tag", metavar="TAG", help="Show only conversations with this tag.")
@click.option("--without", metavar="TAG", help="Leave out conversations with this tag.")
@click.option("--agents", is_flag=True, help="Show the sub-agents of imported sessions, too.")
@click.option("--model", metavar="GLOB", help="Show only those in which this model spoke last.")
@click.option("--role", type=click.Choice(ROLES), help="Show only those whose last turn is of this role.")
@click.option("--tool", metavar="NAME", help="Show only those in which this tool is called.")
@click.option("--since", metavar="TIME", help="Show only those used from TIME on: a date, yesterday, '2 hours ago'.")
@click.option("--until", metavar="TIME", help="Show only those last used before TIME; a day alone is included.")
@click.option("--pinned", is_flag=True, help="Show the pinned ones alone.")
@click.option("--archived", is_flag=True, help="Show the archived ones alone.")
@click.option("--erased", is_flag=True, help="Also show those of which nothing is left.")
@twins_option
@click.option(
    "--all", "everything", is_flag=True, help="Show all of them, archived ones too; with -n, the first of all."
)
@settings_and_json
def list_command(
    settings: GlobalOptions, limit: int | None, archived: bool, pinned: bool, erased: bool, twins: bool,
    everything: bool, since: str | None, until: str | None, without: str | None, agents: bool, as_json: bool,
    **chosen: str | None,
) -> None:  # fmt: skip
    """List the conversations: bookmarks, the last moved first, then those without one, the newest first.

    A line has the handle of the turn that the bookmark names, or of the first turn where there is none; the bookmark;
    when it was last moved or said; the title or the first words; how many turns lead there; the model that spoke last;
    the tags; and the last words. A narrow terminal shows less. * is pinned. The sub-agents of a session are folded;
    'headish show' names them.
    """
    folded = {AGENT} if not (agents or everything or chosen["tag"] or chosen["names"]) else set()
    left_out = _LeftOut(folded | ({without} if without is not None else set()))
    times = {"since": read_time(since, "--since"), "until": read_time(until, "--until")}
    flags = {
        "archived": None if everything and not archived else archived,
        "pinned": True if pinned else None,
        "erased": erased,
    }
    flags["twins"] = twins or everything
    limit = LIMIT if limit is None and not everything else limit
    with settings.open() as store:
        # One more than is shown, to know whether there are more.
        asked = None if limit is None else limit + 1
        listed = list(islice(filter(left_out.takes, _entries(store, asked, **flags, **times, **chosen)), asked))
        entries = listed[:limit]
        handles = store.abbreviate(map(_subject, entries))
        is_cut = limit is not None and len(listed) > limit
        is_filtered = any(each is not None for each in (*chosen.values(), *times.values())) or archived or pinned
        # Those without a bookmark come last, so the one that was begun just now may be below the end.
        lacks_newest = is_cut and not is_filtered and _lacks_newest(store, entries)
        if as_json:
            print_json_lines({**each.to_dict(), "handle": handles[_subject(each)]} for each in entries)
        else:
            with paged(settings):
                _print_table(store, _titled(store, entries), handles)
    if not entries and not as_json:
        say("Nothing was found.")
    if left_out.agents and AGENT in folded:
        say(f"{counted(left_out.agents, 'sub-agent')} folded: --agents shows them.")
    if limit is not None and is_cut:
        say(f"There are more: -n {2 * limit}, or --all{' alone' if everything else ''}.")
    if lacks_newest:
        say("The newest turn is in none of these: 'headish log @' lists its thread.")


class _LeftOut:
    """A filter that leaves out conversations with certain tags, and counts the sub-agents among them."""

    def __init__(self, tags: set[str]) -> None:
        self._tags = tags
        self.agents = 0

    def takes(self, entry: Entry) -> bool:
        """Whether an entry is shown."""
        is_left_out = not self._tags.isdisjoint(entry.conversation.record.tags)
        self.agents += is_left_out and AGENT in entry.conversation.record.tags
        return not is_left_out


def _entries(store: Store, limit: int | None, **chosen: Any) -> Iterator[Entry]:
    """Yield all entries. They are read in pages of at most ``limit`` entries, each page only when it is needed."""
    after = None
    while True:
        page = store.conversations.list(limit=min(limit or PAGE, PAGE), after=after, **chosen)
        yield from page.entries
        after = page.after
        if after is None:
            return


def _subject(entry: Entry) -> TurnId:
    """The turn whose handle a line shows: the one that the bookmark names or, without one, the first."""
    conversation = entry.conversation
    return conversation.first if conversation.name is None and conversation.first is not None else conversation.turn


def _lacks_newest(store: Store, entries: Sequence[Entry]) -> bool:
    """Whether the newest turn is in none of the entries for want of a bookmark. One that was imported last may also be
    on an older branch of a tree that has one."""
    newest = store.get("@")
    is_shown = newest.id in {each.conversation.turn for each in entries}
    return not is_shown and newest.meta.key is None and not store.bookmarks.at([newest.id])


def _titled(store: Store, entries: Sequence[Entry]) -> Sequence[Entry]:
    """Replace the titles of conversations that an adapter keeps, if nobody set one, by the adapter's own."""
    if not any(map(_asks_adapter, entries)):
        return entries
    from msgspec.structs import replace

    from headish.adapters.plugins import Descriptions

    descriptions = Descriptions(store, say)
    titles = {
        each.conversation.subject: descriptions.of(each.conversation).title for each in entries if _asks_adapter(each)
    }
    return [replace(each, title=titles.get(each.conversation.subject) or each.title) for each in entries]


def _asks_adapter(entry: Entry) -> bool:
    record = entry.conversation.record
    return not record.title and "adapter" in record.app


def _print_table(store: Store, entries: Sequence[Entry], handles: Mapping[TurnId, str]) -> None:
    rows = [_row(entry, handles[_subject(entry)], goes_on=_goes_on(store, entry)) for entry in entries]
    columns = {name: max(cells(row[name]) for row in rows) for name in rows[0]} if rows else {}
    # An empty column takes no room.
    columns = {name: size for name, size in columns.items() if size}
    columns = _fitting(columns)
    for row in rows:
        click.echo(_line(row, columns))


def _goes_on(store: Store, entry: Entry) -> bool:
    """Whether a bookmark names a first turn that others continue, as the bookmark of an imported tree does."""
    return entry.turns == 1 and entry.conversation.name is not None and bool(store.children(entry.conversation.turn))


def _row(entry: Entry, handle: str, *, goes_on: bool) -> dict[str, str]:
    record, at_terminal = entry.conversation.record, width() is not None
    branches = f" in {entry.branches} branches" if entry.branches is not None and entry.branches > 1 else ""
    return {
        "handle": handle,
        "pinned": "*" if record.pinned else "",
        "name": one_line(entry.conversation.name or "", None),
        "time": local_time(entry.time),
        "title": one_line(entry.title, None),
        "turns": counted(entry.turns, "turn") + branches + (", more below" if goes_on else ""),
        "model": one_line((entry.model or "").rpartition("/")[2], MODEL_COLUMNS if at_terminal else None),
        "tags": one_line(" ".join(f"#{tag}" for tag in record.tags), TITLE_COLUMNS if at_terminal else None),
        # The last words of a single turn are its first ones, which the title shows already.
        "last": "" if entry.turns == 1 and not record.title else one_line(entry.last, None),
    }


def _fitting(columns: Mapping[str, int]) -> dict[str, int]:
    """Choose the columns and their sizes. The title and the last words share what the others leave.

    Without a terminal nothing is dropped, and long names and titles only lose their alignment.
    """
    sizes, room = dict(columns), width()
    if room is None:
        bounds = {"name": NAME_COLUMNS, "title": TITLE_COLUMNS}
        return {name: min(size, bounds.get(name, size)) for name, size in sizes.items()}
    least = {name: min(size, LEAST.get(name, size)) for name, size in columns.items()}
    for dropped in DROPPED:
        if sum(least.values()) + 2 * (len(least) - 1) <= room:
            break
        least.pop(dropped, None)
    over = sum(least.values()) + 2 * (len(least) - 1) - room
    if over > 0 and "name" in least:
        least["name"] = max(min(least["name"], LEAST_NAME), least["name"] - over)
    spare = max(room - sum(least.values()) - 2 * (len(least) - 1), 0)
    # Half of it to the name, which is typed; what the conversation is about and how it ends share the rest.
    for name, part in (("name", 2), ("title", 2), ("last", 1), ("title", 1), ("name", 1)):
        if name in least:
            more = min(sizes[name] - least[name], spare // part)
            least[name], spare = least[name] + more, spare - more
    return least


def _line(row: Mapping[str, str], columns: Mapping[str, int]) -> str:
    room, line = width(), ""
    for name, size in columns.items():
        left = None if room is None else room - cells(click.unstyle(line))
        text = one_line(row[name], left) if name == "last" else row[name]
        if left is not None and name in ("name", "title"):
            text = one_line(text, min(size, left))
        blanks = " " * (max(size - cells(text), 0) + 2)
        style = COLOURS.get(name, {"dim": True} if name in ("time", "turns", "model") else {})
        line += (click.style(text, **style) if style and text else text) + blanks
    return line.rstrip()
