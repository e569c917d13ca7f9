"""``search``: find turns by their words."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import click

from headish.values.times import local_time
from headish_cli.options import GlobalOptions, read_time, settings_and_json, twins_option, versions_option
from headish_cli.printing.output import cells, fit, is_narrow, one_line, print_json_lines, room_beside, say
from headish_cli.printing.paging import paged
from headish_cli.printing.said import who

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from headish import Store
    from headish.values.results.searches import Hit

FIELDS = ("text", "reasoning", "calls", "results", "documents")
DEFAULT_FIELDS = [field for field in FIELDS if field != "reasoning"]
FILTERS = ("role", "model", "name", "tag", "tool")
"""The options that choose turns, apart from --since and --until."""
LIMIT = 1000
NAMES_SHOWN = 3


@click.command("search")
@click.argument("words", nargs=-1)
@click.option("--role", metavar="R", help="Said by this role.")
@click.option("--model", metavar="M", help="Said by this model; a pattern such as claude-* too.")
@click.option("--since", metavar="TIME", help="Said at this time or later: a date, yesterday, '2 hours ago'.")
@click.option("--until", metavar="TIME", help="Said before this time; a day alone is included.")
@click.option("--name", metavar="GLOB", help="Leads to a bookmark of such a name.")
@click.option("--tag", metavar="T", help="In a conversation with this tag.")
@click.option("--tool", metavar="NAME", help="Calls this tool, or has its result.")
@click.option("--in", "fields", metavar="FIELDS", help=f"Where to look, separated by commas: {', '.join(FIELDS)}. "
              "All but reasoning by default.")  # fmt: skip
@click.option("--order", type=click.Choice(["rank", "time"]), default="rank", show_default=True,
              help="The best first, or the newest.")  # fmt: skip
@click.option("-n", "--limit", type=click.IntRange(1, LIMIT), default=20, show_default=True,
              help="Show at most this many.")  # fmt: skip
@versions_option
@twins_option
@click.option("--reindex", is_flag=True, help="Rebuild the search index of the space first.")
@settings_and_json
def search_command(
    settings: GlobalOptions, words: tuple[str, ...], since: str | None, until: str | None, fields: str | None,
    limit: int, reindex: bool, as_json: bool, **chosen: Any,
) -> None:  # fmt: skip
    """Find the turns that hold WORDS, in any order. Case, accents and punctuation do not count. Without WORDS, the
    options alone choose, newest first.

    Put a phrase in double quotes (inside the shell's own: '"two words"'). begin* finds beginnings of words, and OR, NOT
    and parentheses do what they say. Each hit shows the turn, the words around the match, and the bookmarks that lead
    to it.
    """
    query = " ".join(words)
    is_empty = not (query.strip() or since or until or any(chosen[each] for each in FILTERS))
    if is_empty and not reindex:
        raise click.UsageError("there is nothing to search for: give some words, or an option that chooses turns")
    looked_in = DEFAULT_FIELDS if fields is None else _read_fields(fields)
    with settings.open() as store:
        with _progress() as progress:
            if reindex:
                store.reindex(progress)
            if is_empty:
                return
            hits = store.search(
                query, since=read_time(since, "--since"), until=read_time(until, "--until"),
                fields=looked_in, limit=limit, progress=progress, **chosen,
            )  # fmt: skip
        if as_json:
            print_json_lines(hit.to_dict() for hit in hits)
        else:
            with paged(settings):
                _print_hits(store, hits)
    if not hits and not as_json:
        say("Nothing was found.")
    if len(hits) == limit and limit < LIMIT:
        say(f"There may be more: -n {min(2 * limit, LIMIT)}.")


def _read_fields(text: str) -> list[str]:
    fields = [each.strip() for each in text.split(",")]
    unknown = [each for each in fields if each not in FIELDS]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is not one of {', '.join(FIELDS)}", param_hint="--in")
    return fields


def _print_hits(store: Store, hits: list[Hit]) -> None:
    short = store.abbreviate(hit.turn.id for hit in hits)
    for hit in hits:
        field = "" if hit.field == "text" else click.style(f"({hit.field}) ", dim=True)
        handle, time = f"{click.style(short[hit.turn.id], fg='yellow')} ", f"{local_time(hit.turn.said_at)} "
        before = handle + ("" if is_narrow() else time) + f"{who(hit.turn.meta)} {field}"
        behind = _names(hit)
        click.echo(fit(before + _marked(hit, room_beside(before, behind)) + behind))


def _names(hit: Hit) -> str:
    """The first bookmarks whose threads contain the hit, in brackets."""
    shown = [one_line(name, 30) for name in hit.names[:NAMES_SHOWN]]
    more = len(hit.names) - len(shown)
    listed = ", ".join([*shown, *([f"{more} more"] if more else [])])
    return " " + click.style(f"[{listed}]", fg="blue", bold=True) if listed else ""


def _marked(hit: Hit, columns: int | None) -> str:
    """The words around the match, coloured, and cut to ``columns`` so that the match stays visible."""
    text, marks = _fitting(hit, columns)
    line, end = "", 0
    for start, stop in marks:
        line += one_line(text[end:start], None) + click.style(one_line(text[start:stop], None), fg="red", bold=True)
        end = stop
    return line + one_line(text[end:], None)


def _fitting(hit: Hit, columns: int | None) -> tuple[str, list[tuple[int, int]]]:
    text, marks = hit.snippet, list(hit.marks)
    if columns is None or cells(text) <= columns:
        return text, marks
    # Begin a quarter of the line before the first match, so that its context is seen.
    first = marks[0][0] if marks else 0
    low = max(min(first - columns // 4, len(text) - columns), 0)
    text = ("…" if low else "") + text[low + bool(low) :]
    line = one_line(text, columns)
    shifted = [(max(start - low, 0), min(stop - low, len(line))) for start, stop in marks]
    return line, [(start, stop) for start, stop in shifted if start < stop]


@contextmanager
def _progress() -> Iterator[Callable[[int], None] | None]:
    """Draw a count at a terminal while the index is built; it disappears before the hits are printed."""
    if not sys.stderr.isatty():
        yield None
        return
    with ExitStack() as stack:
        bars: list[tuple[Progress, TaskID]] = []

        def tell(turns: int) -> None:
            if not bars:  # not earlier: most searches find their index ready, and importing rich takes time
                bars.append(_begin_count(stack))
            bar, task = bars[0]
            bar.advance(task, turns)

        yield tell


def _begin_count(shown: ExitStack) -> tuple[Progress, TaskID]:
    from rich.console import Console
    from rich.progress import Progress, TextColumn

    words = TextColumn("indexing: {task.completed:,.0f} turns")
    bar = shown.enter_context(Progress(words, console=Console(stderr=True), transient=True))
    return bar, bar.add_task("indexing", total=None)
