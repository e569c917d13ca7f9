"""``tree``: a thread with all its branches.

A turn that alone continues another stands below it, in the same column; where several do, each gets a branch. So the
drawing is as wide as the conversation forks, not as deep as it is long.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING

import click

from headish_cli.options import Settings, headish_argument, json_option, pass_settings
from headish_cli.printing.output import (
    marks,
    one_line,
    preview,
    print_json_lines,
    reply_mark,
    role_word,
    room_beside,
    shorten,
    version_mark,
)
from headish_cli.printing.telling import version_record

if TYPE_CHECKING:
    from headish.values.ids import TurnId
    from headish.values.turns import TreeTurn


@click.command("tree")
@headish_argument
@click.option("-n", "--limit", type=click.IntRange(min=1), help="Draw only so many turns around the named one.")
@json_option
@pass_settings
def tree_command(settings: Settings, headish: str, limit: int | None, as_json: bool) -> None:
    """Draw the whole tree that a HEADISH belongs to, with all branches; ● is the turn that was named.

    With -n, half of the turns lead to the HEADISH and the others grew from it; ⋮ marks where the drawing is cut off.
    """
    with settings.open() as store:
        current = store.get(headish).id
        turns = store.tree(current, limit=limit)
        if as_json:
            print_json_lines(_record(turn, current) for turn in turns)
            return
        short = shorten(store, dict.fromkeys(id for turn in turns for id in (turn.id, *turn.continues)))
    drawn = {turn.id for turn in turns}
    for rails, turn in draw_tree(turns):
        click.echo(_line(rails, turn, short, turn.id == current, drawn))


def draw_tree(turns: Sequence[TreeTurn]) -> Iterator[tuple[str, TreeTurn]]:
    """``(rails, turn)`` from the roots down, or from where a part is cut off.

    A turn of several parents stands below the first of them.
    No recursion: a conversation may be longer than Python's stack.
    """
    by_id = {turn.id: turn for turn in turns}
    roots = [turn for turn in turns if not turn.continues or turn.continues[0] not in by_id]
    stack = [(turn, "", "") for turn in reversed(roots)]
    while stack:
        turn, rails, below = stack.pop()
        yield rails, turn
        children = [by_id[child] for child in turn.children if by_id[child].continues[0] == turn.id]
        if len(children) == 1:
            stack.append((children[0], below, below))
            continue
        for child in reversed(children):
            last = child is children[-1]
            stack.append((child, below + ("└─" if last else "├─"), below + ("  " if last else "│ ")))


def _line(rails: str, turn: TreeTurn, short: Mapping[TurnId, str], current: bool, drawn: Set[TurnId]) -> str:
    dot = click.style("●", fg="red", bold=True) if current else "○"
    above = [short[parent] for parent in turn.continues[:1] if parent not in drawn]
    merged = [short[parent] for parent in turn.continues[1:]]
    also = click.style(f" (also continues {', '.join(merged)})", dim=True) if merged else ""
    also += click.style(f" (⋮ continues {above[0]})", dim=True) if above else ""
    also += click.style(f" (⋮ {turn.more} more)", dim=True) if turn.more else ""
    before = f"{rails}{dot} {click.style(short[turn.id], fg='yellow')} {role_word(turn.role)} "
    version = version_mark(f"{turn.version}/{turn.versions}" if turn.versions > 1 else "")
    behind = reply_mark(turn) + version + also + marks(turn.bookmarks)
    return before + one_line(preview(turn.content), room_beside(before, behind)) + behind


def _record(turn: TreeTurn, current: str) -> dict[str, object]:
    from headish.values.blocks import to_mapping

    record: dict[str, object] = {"id": turn.id, "role": turn.role}
    record["content"] = [to_mapping(block) for block in turn.content]
    record |= {"reply": dict(turn.reply)} if turn.reply else {}
    record |= {"more": turn.more} if turn.more else {}
    record |= version_record((turn.version, turn.versions) if turn.versions > 1 else None)
    record |= {"incomplete": True} if turn.is_cut_off else {}
    lists = {"continues": turn.continues, "children": turn.children, "bookmarks": turn.bookmarks}
    return {**record, **lists, "current": turn.id == current}
