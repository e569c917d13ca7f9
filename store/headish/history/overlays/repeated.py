"""An overlay that would change nothing is not laid: a thread does not grow by what is said twice."""

from __future__ import annotations

from collections.abc import Iterable

from headish.history.overlays.states import REPLACE, SUMMARIZE, would_change
from headish.history.overlays.view import Thread
from headish.values.blocks import ContentBlock
from headish.values.ids import TurnId
from headish.values.messages import Overlay

PUTS_WORDS = (SUMMARIZE, REPLACE)
"""What an overlay does that holds words of its own."""


def changes_nothing(thread: Thread, indexes: Iterable[int], overlay: Overlay) -> bool:
    """Whether the turns that an overlay covers are seen at the end of the thread as it would have them seen."""
    states = (thread.states[index] for index in indexes)
    return not any(state is not None and would_change(state, overlay) for state in states)


def standing(
    thread: Thread, indexes: Iterable[int], overlay: Overlay, content: tuple[ContentBlock, ...]
) -> TurnId | None:
    """The overlay that lets the same words stand for the same turns already."""
    states = [thread.states[index] for index in indexes]
    first = states[0].by if states and states[0] is not None else None
    if first is None:
        return None
    at, before = thread.overlays[first]
    is_seen = all(
        state is not None and state.by == first and not (state.summarized and state.model) for state in states
    )
    is_same = (before.does, before.covers) == (overlay.does, overlay.covers)
    return first if is_seen and is_same and thread.messages[at].content == content else None
