"""A thread with overlays as people see it: hidden turns, replaced words, and the lines that point them out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from headish.history.windows.states import State
from headish.history.windows.view import Contents, SeenThread, read_thread, replaced
from headish.rows.threads.walks import Walked
from headish.values.ids import TurnId
from headish.values.messages import Face


def see_faces(walked: Sequence[Walked], contents: Contents) -> dict[TurnId, Face]:
    """The turns of a walk that people see differently from how they were stored. Raises: CorruptTurn."""
    thread = read_thread(walked, contents)
    lines = _boundaries(thread)
    return {
        turn.id: _face(thread, index, state, lines.get(index, []))
        for index, (turn, state) in enumerate(zip(walked, thread.states, strict=True))
        if state is not None and not state.is_plain
    }


def strictest(faces: Iterable[Mapping[TurnId, Face]]) -> dict[TurnId, Face]:
    """Join the faces of several branches: a turn that is hidden on one of them stays hidden."""
    joined: dict[TurnId, Face] = {}
    for each in faces:
        for turn, face in each.items():
            if turn not in joined or face.hidden:
                joined[turn] = face
    return joined


def _face(thread: SeenThread, index: int, state: State, lines: Sequence[str]) -> Face:
    content = None if state.by is None or state.summarized else replaced(thread, index).content
    return Face(hidden=state.people, content=content, boundaries=tuple(lines))


def _boundaries(thread: SeenThread) -> dict[int, list[str]]:
    """The lines above runs of changed turns, by the index of the first turn of each run."""
    lines: dict[int, list[str]] = {}
    turns = [(index, state) for index, state in enumerate(thread.states) if state is not None]
    for (by, summarized), run in groupby(turns, lambda turn: _words_of(turn[1])):
        listed = [index for index, _ in run]
        if by is not None:
            words = (
                "The model sees a summary instead of the {next}." if summarized else "Other words replace the {next}."
            )
            lines.setdefault(listed[0], []).append(words.format(next=_next(len(listed))))
    for (people, model), run in groupby(turns, lambda turn: (turn[1].people, turn[1].model)):
        states = list(run)
        # A turn stored hidden from people was never meant for them: a page does not even mention it.
        number = sum(
            state.hider is not None or thread.messages[index].attributes.hidden is None for index, state in states
        )
        if people and number:
            lines.setdefault(states[0][0], []).append(f"{_count(number)} hidden here.")
        elif model and not people:
            lines.setdefault(states[0][0], []).append(f"The model does not see the {_next(len(states))}.")
    return lines


def _words_of(state: State) -> tuple[TurnId | None, bool]:
    """The overlay whose words replace a turn, and whether they are a summary; ``(None, False)`` if nobody sees them."""
    is_unseen = state.model if state.summarized else state.people
    return (None, False) if is_unseen else (state.by, state.summarized)


def _next(count: int) -> str:
    return "next turn" if count == 1 else f"next {count:,} turns"


def _count(count: int) -> str:
    return "1 turn is" if count == 1 else f"{count:,} turns are"
