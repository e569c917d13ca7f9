"""``tree``: a thread with all its branches.

The thread that leads to the named turn is one straight column; branches leave it to the right. Within a branch, the
child with the most turns below it stays in the column. So the width of the drawing is the depth of nested branches, at
most the logarithm of their number. Long runs of turns without a branch or a name are folded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple

import click

from headish_cli.options import GlobalOptions, headish_argument, settings_and_json, versions_option
from headish_cli.printing.output import (
    counted,
    lay_out,
    marks,
    print_json_lines,
    reply_mark,
    say,
    version_mark,
)
from headish_cli.printing.paging import paged
from headish_cli.printing.said import who, words

if TYPE_CHECKING:
    from headish.values.ids import TurnId
    from headish.values.turns import TreeTurn

DRAWN = 1000
"""The number of turns around the named one that are read without -n and --full."""
FOLDED, KEPT = 5, 2
"""A run is folded if that hides at least ``FOLDED`` turns; ``KEPT`` turns stay at each of its ends."""


class Drawn(NamedTuple):
    """A line of the drawing: the rails before it, and its turn or the number of turns that are folded there."""

    rails: str
    turn: TreeTurn | None
    folded: int = 0


@click.command("tree")
@headish_argument
@click.option("-n", "--limit", type=click.IntRange(min=1),
              help=f"Draw at most this many turns around the named one.  [default: {DRAWN:,}]")  # fmt: skip
@click.option("--full", is_flag=True, help="Draw every turn of the tree, and fold none.")
@versions_option
@settings_and_json
def tree_command(
    settings: GlobalOptions, headish: str, limit: int | None, full: bool, versions: bool, as_json: bool
) -> None:
    """Draw the tree that a HEADISH belongs to, with all branches; ● is the turn that was named.

    The thread that leads to it is one straight column. ┌─ begins another first turn, which continues nothing. Long
    runs are folded (⋮ 214 turns). Other conversations that begin with the same system turns are counted, and drawn
    with --full. In a large tree, half of the turns lead to the HEADISH, and the others grew from it; ⋮ marks where
    the drawing is cut off. --json gives all.
    """
    from headish.values.turns import preamble_of  # late: help loads every command

    with settings.open() as store:
        current = store.get(headish).id
        turns = store.tree(current, limit=limit if full or as_json or limit else DRAWN, versions=versions)
        if as_json:
            print_json_lines({**turn.to_dict(), "current": turn.id == current} for turn in turns)
            return
        lines = list(draw_tree(turns, current) if full else fold(draw_tree(turns, current), current))
        drawn_turns = [each.turn for each in lines if each.turn is not None]
        short = store.abbreviate({id for turn in drawn_turns for id in (turn.id, *turn.continues)})
    drawn, beginning = {turn.id for turn in turns}, {turn.id for turn in preamble_of(turns)}
    # If the named turn is a system turn itself, no conversation that it begins is another one.
    beginning = set() if current in beginning else beginning
    with paged(settings):
        for rails, turn, folded in lines:
            note = click.style(f"{rails}⋮ {counted(folded, 'turn')}", dim=True)
            click.echo(note if turn is None else _line(rails, turn, short, turn.id == current, drawn, beginning))
    if limit is None and not full and any(_is_cut(turn, drawn, beginning) for turn in turns):
        say(f"Only {counted(len(turns), 'turn')} around this one are drawn: -n N draws more, --full all.")


def draw_tree(turns: Sequence[TreeTurn], current: str) -> Iterator[Drawn]:
    """Yield the lines from the roots down, or from where a part is cut off.

    A turn with several parents is drawn below the first. The child that stays in the column comes after the branches.
    There are several roots if the first turn was edited: its versions continue nothing, and are drawn as branches of a
    common beginning that is not a turn.
    """
    # No recursion: a conversation may be longer than Python's stack.
    by_id = {turn.id: turn for turn in turns}
    children = {turn.id: [each for each in turn.children if by_id[each].continues[0] == turn.id] for turn in turns}
    leading = _first_parents(by_id, current)
    straight = _straight(turns, children, leading)
    roots = [turn for turn in turns if not turn.continues or turn.continues[0] not in by_id]
    roots.sort(key=lambda root: root.id in leading)  # the named turn's own column is the last one drawn
    stack = [(roots.pop(), "", "")] if roots else []
    stack.extend((root, "├─" if index else "┌─", "│ ") for index, root in reversed(list(enumerate(roots))))
    while stack:
        turn, rails, below = stack.pop()
        yield Drawn(rails, turn)
        goes_on = straight.get(turn.id)
        if goes_on is not None:
            stack.append((by_id[goes_on], below, below))
        beside = [by_id[each] for each in reversed(children[turn.id]) if each != goes_on]
        stack.extend((child, f"{below}├─", f"{below}│ ") for child in beside)


def _straight(
    turns: Sequence[TreeTurn], children: Mapping[TurnId, Sequence[TurnId]], leading: Set[str]
) -> dict[TurnId, TurnId]:
    """Choose the child that stays in the column of each turn: one that leads to the named turn, else the largest."""
    sizes: dict[TurnId, int] = {}
    for turn in reversed(turns):  # the turns are in commit order, so this meets children before parents
        sizes[turn.id] = 1 + sum(sizes.get(child, 0) for child in children[turn.id])
    return {
        turn: next((each for each in found if each in leading), None) or max(found, key=lambda each: sizes[each])
        for turn, found in children.items()
        if found
    }


def _first_parents(by_id: Mapping[TurnId, TreeTurn], current: str) -> set[str]:
    ids: set[str] = set()
    at = next((turn for turn_id, turn in by_id.items() if turn_id == current), None)
    while at is not None:
        ids.add(at.id)
        at = by_id.get(at.continues[0]) if at.continues else None
    return ids


def fold(lines: Iterable[Drawn], current: str) -> Iterator[Drawn]:
    """Fold the middle of each long run of plain turns into one line."""
    run: list[Drawn] = []
    for line in lines:
        if run and (run[-1].rails != line.rails or not _is_plain(line.turn, current)):
            yield from _folded(run)
            run = []
        if _is_plain(line.turn, current):
            run.append(line)
        else:
            yield line
    yield from _folded(run)


def _is_plain(turn: TreeTurn | None, current: str) -> bool:
    """Whether a turn has one parent, one child and nothing worth showing, so that it may be folded."""
    if turn is None or turn.id == current or turn.bookmarks or turn.more or turn.is_cut_off:
        return False
    return len(turn.children) == 1 and len(turn.continues) == 1


def _folded(run: Sequence[Drawn]) -> Iterator[Drawn]:
    middle = len(run) - 2 * KEPT
    if middle < FOLDED:
        yield from run
        return
    yield from run[:KEPT]
    yield Drawn(run[KEPT].rails, None, middle)
    yield from run[-KEPT:]


def _is_cut(turn: TreeTurn, drawn: Set[TurnId], beginning: Set[TurnId]) -> bool:
    """Whether parents or children of a turn are not drawn, apart from other conversations that it begins."""
    return bool(turn.more and turn.id not in beginning) or not set(turn.continues) <= drawn


def _line(
    rails: str, turn: TreeTurn, short: Mapping[TurnId, str], current: bool, drawn: Set[TurnId], beginning: Set[TurnId]
) -> str:
    dot = click.style("●", fg="red", bold=True) if current else "○"
    above = [short[parent] for parent in turn.continues[:1] if parent not in drawn]
    merged = [short[parent] for parent in turn.continues[1:]]
    also = click.style(f" (also continues {', '.join(merged)})", dim=True) if merged else ""
    also += click.style(f" (⋮ continues {above[0]})", dim=True) if above else ""
    more = counted(turn.more, "other conversation") if turn.id in beginning else f"{turn.more} more"
    also += click.style(f" (⋮ {more})", dim=True) if turn.more else ""
    before, model = f"{rails}{dot} {click.style(short[turn.id], fg='yellow')} {who(turn)} ", reply_mark(turn)
    version = version_mark(f"{turn.version}/{turn.versions}" if turn.versions > 1 else "")
    behind = [model, version, also, marks(turn.bookmarks)]
    return lay_out([before], words(turn, turn.content), behind, spare=[model])
