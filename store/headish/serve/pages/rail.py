"""The rail: a tree beside its thread, one row for each run of turns without a fork, as lines and as links.

A run is drawn below the one that it continues. The first continuation of a turn stays on its line; every other run gets
a new line, to the right of all that grew from the earlier continuations, so no two lines cross. Dashes lead to the
further parents of a merge.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from headish.values.ids import TurnId
from headish.values.turns import TreeTurn, preamble_of

ROWS, LINES = 200, 14
"""The most rows and lines that are drawn. Further lines share the rightmost place."""
WIDE_LINES = 6
"""How many lines stand at their full distance; more of them stand half as far apart, to leave room for the words."""
ROW_PIXELS, LINE_PIXELS = 28, 14


class Row(Struct, frozen=True):
    """A run of turns, by its first one and its first words; ``is_here`` if the page shows any of it."""

    first: TurnId
    words: str
    role: str
    names: tuple[str, ...]
    count: int
    line: int
    is_here: bool


class Edge(Struct, frozen=True):
    """A line of the picture, as the ``d`` of a path; ``is_merge`` if it leads to a further parent."""

    path: str
    is_merge: bool


class Rail(Struct, frozen=True):
    """Rows from the top, the lines between them, and how many pixels these stand apart. ``is_whole``: nothing of the
    tree was left out."""

    rows: tuple[Row, ...]
    edges: tuple[Edge, ...]
    apart: int
    is_whole: bool

    @property
    def width(self) -> int:
        return _x(max((row.line for row in self.rows), default=0), self.apart) + self.apart

    @property
    def height(self) -> int:
        return len(self.rows) * ROW_PIXELS

    def x(self, row: Row) -> int:
        return _x(row.line, self.apart)

    def y(self, index: int) -> int:
        return _y(index)


def draw_rail(tree: Sequence[TreeTurn], here: Collection[TurnId]) -> Rail:
    """Draw the rail of a tree or a part of one; ``here`` are the turns that the page shows."""
    # Turns elsewhere that continue the same system prompt are other conversations, not a missing part of this tree.
    alone = {turn.id: replace(turn, more=0) for turn in preamble_of(tree)}
    turns = {turn.id: alone.get(turn.id, turn) for turn in tree}
    tree = list(turns.values())
    runs = _runs(tree, turns)
    placed = _placed(runs, turns)
    rows = [_row(runs[first], line, here) for first, line in placed[:ROWS]]
    is_whole = len(placed) <= ROWS and all(parent in turns for turn in tree for parent in turn.continues)
    is_whole = is_whole and not any(turn.more for turn in tree)
    apart = LINE_PIXELS if all(row.line <= WIDE_LINES for row in rows) else LINE_PIXELS // 2
    return Rail(tuple(rows), tuple(_edges(rows, runs, turns, apart)), apart, is_whole)


def _runs(tree: Sequence[TreeTurn], turns: Mapping[TurnId, TreeTurn]) -> dict[TurnId, list[TreeTurn]]:
    """The runs by their first turn. A turn belongs to its parent's run if nothing else continues the parent."""
    runs: dict[TurnId, list[TreeTurn]] = {}
    run_of: dict[TurnId, TurnId] = {}
    for turn in tree:
        parent = turns.get(turn.continues[0]) if len(turn.continues) == 1 else None
        goes_on = parent is not None and len(parent.children) + parent.more == 1 and parent.id in run_of
        first = run_of[parent.id] if goes_on and parent is not None else turn.id
        run_of[turn.id] = first
        runs.setdefault(first, []).append(turn)
    return runs


def _placed(runs: Mapping[TurnId, Sequence[TreeTurn]], turns: Mapping[TurnId, TreeTurn]) -> list[tuple[TurnId, int]]:
    """The first turns of the runs from the top, each with its line."""
    placed: dict[TurnId, int] = {}
    last = -1
    roots = [first for first, run in runs.items() if not run[0].continues or run[0].continues[0] not in turns]
    # No line is given twice, so the newest line is always the rightmost.
    waiting: list[tuple[TurnId, int | None]] = [(root, None) for root in reversed(roots)]
    while waiting:
        first, line = waiting.pop()
        if first in placed:
            continue
        if line is None:
            last += 1
            line = last
        placed[first] = line
        below = [child for child in runs[first][-1].children if child in runs and turns[child].continues[0] in turns]
        following = [child for child in below if turns[child].continues[0] == runs[first][-1].id]
        waiting += [(child, line if child == following[0] else None) for child in reversed(following)]
    return list(placed.items())


def _row(run: Sequence[TreeTurn], line: int, here: Collection[TurnId]) -> Row:
    words = next((turn.text for turn in run if turn.text and turn.role != "system"), "") or run[0].text
    return Row(
        first=run[0].id,
        words=words[:200],
        role=run[0].role or "sequence",
        names=tuple(name for turn in run for name in turn.bookmarks),
        count=len(run),
        line=line,
        is_here=any(turn.id in here for turn in run),
    )


def _edges(
    rows: Sequence[Row], runs: Mapping[TurnId, Sequence[TreeTurn]], turns: Mapping[TurnId, TreeTurn], apart: int
) -> list[Edge]:
    index_of = {turn.id: index for index, row in enumerate(rows) for turn in runs[row.first]}
    edges = []
    for index, row in enumerate(rows):
        for ordinal, parent in enumerate(turns[row.first].continues):
            above = index_of.get(parent)
            if above is not None and above != index:
                x, to_x = _x(rows[above].line, apart), _x(row.line, apart)
                edges.append(Edge(_path(x, _y(above), to_x, _y(index)), bool(ordinal)))
    return edges


def _path(x: int, y: int, to_x: int, to_y: int) -> str:
    """The path from a row to another: over to its line at once, then straight."""
    if x == to_x:
        return f"M{x} {y}V{to_y}"
    turn = y + ROW_PIXELS if to_y > y else y - ROW_PIXELS
    return f"M{x} {y}C{x} {(y + turn) // 2} {to_x} {(y + turn) // 2} {to_x} {turn}V{to_y}"


def _x(line: int, apart: int) -> int:
    return (min(line, LINES) + 1) * apart


def _y(index: int) -> int:
    return index * ROW_PIXELS + ROW_PIXELS // 2
