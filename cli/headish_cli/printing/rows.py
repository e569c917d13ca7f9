"""Turns as rows of a list: handle, time, role, text, model and bookmarks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import click

from headish.values.times import local_time
from headish_cli.printing.output import (
    ContentsAhead,
    handle_columns,
    is_narrow,
    lay_out,
    marks,
    pad,
    reply_mark,
    version_mark,
)
from headish_cli.printing.said import who, words

if TYPE_CHECKING:
    from headish import Store, Turn
    from headish.history.windows.states import State
    from headish.values.blocks import ContentBlock
    from headish.values.results.reports import JudgedSignature

PORTION = 64
"""The number of rows that are looked up at once, so that leaving the pager early saves the rest."""


def print_turns(store: Store, turns: Sequence[Turn]) -> None:
    """Print a row for each turn."""
    print_rows(store, ((turn, "") for turn in turns))


def print_rows(
    store: Store,
    rows: Iterable[tuple[Turn | None, str]],
    *,
    whole: bool = False,
    states: Mapping[str, State] | None = None,
    signatures: Mapping[str, Sequence[JudgedSignature]] | None = None,
) -> None:
    """Print a row for each turn, after its rail; a row without a turn is a rail alone.

    ``whole`` prints all that each turn says below its row. ``states``, by digest, say how turns are seen (see
    ``seen_as``). ``signatures``, by id, are printed below each turn; without the argument, none are.
    """
    remaining = iter(rows)
    while portion := list(islice(remaining, PORTION)):
        ids = [turn.id for turn, _ in portion if turn is not None]
        handles, names, versions = store.abbreviate(ids), store.bookmarks.at(ids), store.versions(ids)
        columns = handle_columns(handles.values())
        contents = ContentsAhead(store, ids)
        for turn, rail in portion:
            if turn is None:
                click.echo(rail.rstrip())
                continue
            behind = version_mark(versions.get(turn.id)) + marks(names.get(turn.id, ()))
            state = (states or {}).get(turn.digest)
            content = contents.take(turn.id)
            click.echo(_row(turn, content, rail, pad(handles[turn.id], columns), behind, state).rstrip())
            if signatures is not None:
                from headish_cli.printing.signatures import signature_lines  # late: few lists ask who signed

                for line in signature_lines(turn, signatures.get(turn.id, ())):
                    click.echo(rail.replace("*", "|") + "    " + line)
            # What an overlay hides from people stays hidden here, too.
            if whole and (state is None or not state.people):
                from headish_cli.printing.turns import print_content  # late: most lists show a line of each turn

                print_content(content, rail.replace("*", "|") + "    ")
                click.echo(rail.replace("*", "|").rstrip())


def seen_as(turns: Sequence[Turn]) -> dict[str, State]:
    """Compute how the turns of a log are seen, by digest. ``turns`` come newest first, an overlay before its range."""
    if not any(turn.meta.attributes.overlay or turn.meta.attributes.hidden for turn in turns):
        return {}
    from headish.history.windows.states import facing, read_states

    return read_states(facing(turn.id, turn.digest, turn.meta.type, turn.meta.attributes) for turn in reversed(turns))


def _row(turn: Turn, content: Sequence[ContentBlock], rail: str, handle: str, behind: str, state: State | None) -> str:
    time, model = "" if is_narrow() else f"{local_time(turn.said_at)} ", reply_mark(turn.meta)
    before = [rail, f"{click.style(handle, fg='yellow')} ", time, f"{who(turn.meta)} "]
    how = click.style(f" ({state.words})", dim=True) if state is not None and state.words else ""
    text = "" if state is not None and state.people else words(turn.meta, content)
    return lay_out(before, text, [how, model, behind], spare=[model])
