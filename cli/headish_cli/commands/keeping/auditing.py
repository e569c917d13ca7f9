"""``audit``: list who wrote what, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headish.values.times import local_time
from headish_cli.commands.keeping.following import KINDS
from headish_cli.options import GlobalOptions, read_time, settings_and_json
from headish_cli.printing.output import cells, one_line, pad, print_json, print_json_lines, read_cursor, say
from headish_cli.printing.paging import paged

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headish.values.results.reports import Audited, Authored

AUTHOR_COLUMNS = 24
NOBODY = "-"
"""Shown in place of an author who is not known."""


@click.command("audit")
@click.option("--after", metavar="CURSOR", help="Only what was stored after this cursor.")
@click.option("--since", metavar="TIME", help="Only what was stored from TIME on: a date, yesterday, '2 hours ago'.")
@click.option("--until", metavar="TIME", help="Only what was stored before TIME; a day alone is included.")
@click.option("--by", "author", metavar="NAME", help="Only what this author wrote.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only this kind; may be repeated.")
@click.option("--count", is_flag=True, help="Count by author instead.")
@settings_and_json
def audit_command(
    settings: GlobalOptions,
    after: str | None,
    since: str | None,
    until: str | None,
    author: str | None,
    kinds: tuple[str, ...],
    count: bool,
    as_json: bool,
) -> None:
    """List who wrote what: turns, moves of bookmarks, titles, pointers, erasures, in the order of the commits.

    The author is what --author or HEADISH_AUTHOR said when the turn was added. The turn's seal covers it, so nobody
    changed it since. Nothing proves that it was true. Replies and imports have none: for a reply, the model is shown.
    """
    from headish.store.reading.audit import count_by_author

    first, last = read_time(since, "--since"), read_time(until, "--until")
    after = read_cursor(after)
    with settings.open() as store:
        audited = store.audit(after=after, since=first, until=last, author=author, kinds=kinds or None)
        if count:
            _print_counts(count_by_author(audited), as_json)
            return
        if as_json:
            print_json_lines(map(_record, audited))
        elif not _print(settings, audited):
            say("Nothing was found.")


def _print(settings: GlobalOptions, audited: Iterable[Audited]) -> bool:
    """Print a line for each; return whether there were any."""
    # Counted on the way, because the entries are a stream that may be longer than the memory.
    shown = False
    with paged(settings):
        for each in audited:
            shown = True
            click.echo(_line(each))
    return shown


def _record(audited: Audited) -> dict[str, Any]:
    return {
        "cursor": audited.cursor,
        "time": audited.time.isoformat(timespec="milliseconds"),
        "kind": audited.kind,
        "author": audited.author,
        "subject": audited.subject,
        "what": audited.what,
        "said_by": audited.said_by,
    }


def _line(audited: Audited) -> str:
    author = pad(one_line(audited.author or NOBODY, AUTHOR_COLUMNS), AUTHOR_COLUMNS)
    said_by = f" ({one_line(audited.said_by, None)})" if audited.said_by else ""
    what = one_line(audited.what, None)
    when = local_time(audited.time, "seconds")
    return f"{when}  {author}  {audited.kind:<10}  {one_line(audited.subject, None)}  {what}{said_by}".rstrip()


def _print_counts(counted: Iterable[Authored], as_json: bool) -> None:
    for each in counted:
        if as_json:
            times = {"first": each.first, "last": each.last}
            stamps = {name: time.isoformat(timespec="milliseconds") for name, time in times.items()}
            print_json({"author": each.author, "counts": each.counts, **stamps})
            continue
        author = one_line(each.author or NOBODY, None)
        counts = ", ".join(f"{number:,} {kind}{'' if number == 1 else 's'}" for kind, number in each.counts.items())
        gap = " " * max(AUTHOR_COLUMNS - cells(author), 0)
        click.echo(f"{author}{gap}  {local_time(each.first)} to {local_time(each.last)}  {counts}")
