"""``diff``: what differs between two branches, by turn and by word.

At a terminal, removed text is red and added text green. Elsewhere they are enclosed in ``[-…-]`` and ``{+…+}``, as in
``git diff --word-diff``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from headish.values.checks.controls import escape_controls
from headish_cli.options import GlobalOptions, settings_and_json
from headish_cli.printing.output import counted, print_json, write
from headish_cli.printing.said import who

if TYPE_CHECKING:
    from headish.history.edits.differences import Change, Diff
    from headish.history.edits.words import Piece
    from headish.values.ids import TurnId

CONTEXT_LINES = 3
"""The number of unchanged lines that are shown around a change."""
MARKS = {"removed": ("[-", "-]", "red"), "added": ("{+", "+}", "green")}
SIGNS = {"removed": "-", "added": "+", "changed": "~"}


@click.command("diff")
@click.argument("first", metavar="A")
@click.argument("second", required=False, metavar="[B]")
@click.option("--stat", is_flag=True, help="Print only how much differs.")
@settings_and_json
def diff_command(settings: GlobalOptions, first: str, second: str | None, stat: bool, as_json: bool) -> None:
    """Show what differs between two branches, from their fork on: by turn, then by word.

    A and B are headishes; A..B is the same as A B. Turns that say the same count as the same, wherever they are.
    """
    with settings.open() as store:
        diff = store.diff(first, second)
        if as_json:
            record = diff.to_dict()
            print_json({"fork": diff.fork, "stat": record["stat"]} if stat else record)
            return
        if stat:
            click.echo(_stat(diff))
            return
        ids = [turn.id for change in diff.changes for turn in (change.before, change.after) if turn is not None]
        short = store.abbreviate([*ids, *([diff.fork] if diff.fork else [])])
        is_coloured = sys.stdout.isatty() and click.get_current_context().color is not False
        _show(diff, short, is_coloured)


def _show(diff: Diff, short: dict[TurnId, str], is_coloured: bool) -> None:
    click.echo(f"fork {short[diff.fork]}" if diff.fork else "no fork: the two share no turn")
    same = 0
    for change in diff.changes:
        if change.kind == "same":
            same += 1
            continue
        _tell_same(same)
        same = 0
        click.echo(_heading(change, short))
        for piece in _near(change.pieces):
            _write_piece(piece, is_coloured)
        click.echo("\n")
    _tell_same(same)
    click.echo(_stat(diff))


def _heading(change: Change, short: dict[TurnId, str]) -> str:
    turns = [turn for turn in (change.before, change.after) if turn is not None]
    ids = " → ".join(click.style(short[turn.id], fg="yellow") for turn in turns)
    roles = dict.fromkeys(who(turn.meta).rstrip() for turn in turns)
    return f"{SIGNS[change.kind]} {' → '.join(roles)} {ids}"


def _tell_same(count: int) -> None:
    if count:
        click.echo(click.style(f"⋮ {counted(count, 'turn')} the same\n", dim=True))


def _near(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Fold the unchanged lines that are far from any change."""
    from headish.history.edits.words import Piece

    for index, piece in enumerate(pieces):
        lines = piece.text.split("\n")
        first = CONTEXT_LINES if index else 0
        last = CONTEXT_LINES if index < len(pieces) - 1 else 0
        # At least two lines, since the note takes one itself.
        folded = len(lines) - first - last
        if piece.kind != "same" or folded < 2 or len(pieces) == 1:
            yield piece
            continue
        near = [*lines[:first], f"⋮ {counted(folded, 'line')}", *(lines[-last:] if last else [])]
        yield Piece("same", "\n".join(near))


def _write_piece(piece: Piece, is_coloured: bool) -> None:
    if piece.kind == "same":
        write(piece.text)
        return
    before, behind, colour = MARKS[piece.kind]
    if not is_coloured:
        write(f"{before}{piece.text}{behind}")
        return
    # Reversed, because blanks show no foreground colour.
    click.secho(escape_controls(piece.text), fg=colour, reverse=piece.text.isspace() or None, nl=False)


def _stat(diff: Diff) -> str:
    stat = diff.stat
    turns = [(stat.same, "the same"), (stat.changed, "changed"), (stat.removed, "removed"), (stat.added, "added")]
    counts = ", ".join(f"{count:,} {what}" for count, what in turns if count) or "nothing differs"
    return f"turns: {counts}; words: -{stat.words_removed:,} +{stat.words_added:,}"
