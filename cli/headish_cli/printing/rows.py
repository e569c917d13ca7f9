"""Turns as rows of a list: handle, time, role, words, model and names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from headish_cli.printing.output import (
    handle_columns,
    marks,
    one_line,
    pad,
    preview,
    reply_mark,
    role_word,
    room_beside,
)

if TYPE_CHECKING:
    from headish import Store, Turn
    from headish.values.ids import TurnId

PORTION = 64
"""So many rows are looked up at once: a pager that is left early costs no more."""


def print_turns(store: Store, turns: Sequence[Turn], *, whole: bool = False) -> None:
    """A row for each turn; with ``whole`` all that it says below it."""
    print_rows(store, ((turn, "") for turn in turns), whole=whole)


def print_rows(store: Store, rows: Iterable[tuple[Turn | None, str]], *, whole: bool = False) -> None:
    """A row for each turn with the rail that stands before it; a rail alone where there is no turn."""
    from headish_cli.printing.turns import print_content

    for portion in _portions(rows):
        ids = [turn.id for turn, _ in portion if turn is not None]
        handles, names = store.abbreviate(ids), store.bookmarks.at(ids)
        columns = handle_columns(handles.values())
        for turn, rail in portion:
            line = "" if turn is None else _row(store, turn, pad(handles[turn.id], columns), names, len(rail))
            click.echo((rail + line).rstrip())
            if whole and turn is not None:
                print_content(store.blocks(turn.id), rail.replace("*", "|") + "    ")
                click.echo(rail.replace("*", "|").rstrip())


def _row(store: Store, turn: Turn, handle: str, names: Mapping[TurnId, Sequence[str]], indent: int) -> str:
    from headish.values.times import local_time

    before = f"{click.style(handle, fg='yellow')} {local_time(turn.said_at)} {role_word(turn.meta.role)} "
    behind = reply_mark(turn.meta) + marks(names.get(turn.id, ()))
    return before + one_line(preview(store.blocks(turn.id)), room_beside(" " * indent, before, behind)) + behind


def _portions(rows: Iterable[tuple[Turn | None, str]]) -> Iterator[list[tuple[Turn | None, str]]]:
    portion: list[tuple[Turn | None, str]] = []
    for row in rows:
        portion.append(row)
        if len(portion) == PORTION:
            yield portion
            portion = []
    if portion:
        yield portion
