"""Verbs that resolve: a headish to its context window, or to its options alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headish.errors import InvalidArgument
from headish.history.reading.walk import walk
from headish.history.windows.resolve import resolve_window
from headish.store.space import Headishes, Space
from headish.values.checks.doors import door
from headish.values.messages import ContextWindow

if TYPE_CHECKING:
    from headish.store.reading.tokens import Budget, Count


@door()
def resolve(
    space: Space, headish: Headishes = "@", *, raw: bool = False, budget: Budget = None, count: Count | None = None
) -> ContextWindow:
    """The context window of a headish: the messages that lead to it, and the options they hand down, merged.

    Several at once resolve as if one turn continued them all. Overlays and hidden turns apply, with a note each;
    ``raw`` shows every turn as it was stored.

    ``budget`` is how many tokens the window may have: what does not fit is left out, with a note. ``"auto"`` is what
    the context window of the thread's pointer leaves. ``count`` counts the tokens of a text; without it they are
    guessed, as ``Store.tokens`` says.
    Cost: two statements for the walk, however long the thread; the database takes one step for each fork. With a budget
    one statement more, and for the tools of the thread.
    Raises: CorruptTurn where stored bytes do not decode; OverBudget; InvalidArgument for a budget of raw turns.
    """
    if budget is not None:
        return _resolve_within(space, headish, raw, budget, count)
    return space._read_from(
        headish, lambda connection, places: resolve_window(walk(connection, space._number, places), raw=raw)
    )


def _resolve_within(space: Space, headish: Headishes, raw: bool, budget: Budget, count: Count | None) -> ContextWindow:
    # Late: few reads have a budget, and it imports pointers and the counting of tokens.
    from headish.history.budgets.counting import cut_window
    from headish.history.reading.options import param_of
    from headish.store.reading.tokens import measure_thread, room_for_request

    if raw:
        raise InvalidArgument("a budget cuts what a model sees: it does not go with raw")
    measured, pointer = measure_thread(space, headish, count=count)
    max_tokens = param_of(measured.window.options, "max_tokens")
    room = room_for_request(pointer, max_tokens) if budget == "auto" else budget
    assert isinstance(room, int)
    return cut_window(measured, room)


def options(space: Space, headish: Headishes = "@") -> dict[str, Any]:
    """The options of a headish alone, read from the sparse index of turns that set any (rule R12, options on
    demand)."""
    return space._options_at(headish)
