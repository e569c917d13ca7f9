"""Threads as people see them: some turns in the middle of a long one, and its whole page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from markdown_it import MarkdownIt

from benchmarks.canonical import conversation
from benchmarks.clock import Bench, microseconds, report
from benchmarks.reading import stored
from headish import Store
from headish.renderings.html import write_entry
from headish.renderings.pages import read_entries
from headish.values.turns import TreeTurn

OF = "stretch_and_markdown"
PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def showing(bench: Bench) -> None:
    """A page beside reading the same turns and rendering their texts with markdown-it alone."""
    turns = bench.size(10_000, 1_000)
    path = stored(bench, conversation(turns))
    with Store.open(path) as store:
        middle = turns // 2
        ours, least = bench.alternate(
            lambda: microseconds(lambda: show(store, middle)),
            lambda: microseconds(lambda: parse(store.stretch("main", start=middle).turns)),
        )
        report("page_50", ours, least, of=OF, goal="<=1.5", turns=turns)
        ours, least = bench.alternate(
            lambda: microseconds(lambda: sum(map(len, store.render_pieces("main")))),
            lambda: microseconds(lambda: parse(whole(store, turns))),
        )
        report(f"page_{turns}", ours, least, of=OF, goal="<=1.5", goal_us=1_500_000)


def show(store: Store, start: int) -> str:
    return "".join(map(write_entry, read_entries(store.stretch("main", start=start).turns, {}, True)))


def whole(store: Store, turns: int) -> Iterator[TreeTurn]:
    for start in range(0, turns, 512):
        yield from store.stretch("main", start=start, limit=512).turns


def parse(turns: Iterable[TreeTurn]) -> int:
    return sum(len(PARSER.render(each.text)) for each in turns)
