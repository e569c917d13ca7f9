"""Choose the turns that a summary covers, so that a thread gets down to a number of tokens."""

from __future__ import annotations

from headish.history.budgets.counting import Measured
from headish.history.budgets.cutting import FIRST_SHARE, Shape, weigh
from headish.values.ids import TurnId
from headish.values.limits import COVERED_LIMIT

SUMMARY_SHARE = 0.1
"""The share of the target that is reserved for the summary."""


def choose(measured: Measured, target: float, *, summarizes: bool) -> list[TurnId]:
    """The turns to cover, in order; none if the window is small enough or nothing can be covered.

    Instructions, kept turns, the first exchange, and everything from the last question on stay. The oldest of the other
    turns are covered until the window fits ``target`` or one overlay can cover no more. Earlier summaries are covered,
    too, unless they cover too many turns themselves.
    """
    messages, weights = measured.window.messages, measured.weights
    scale = weigh(weights)
    if scale.total <= target:
        return []
    # A summary that already covers half of what one overlay may cover stays. Covering it again would use up the room
    # for other turns.
    summaries = {at: count for at, count in measured.summaries.items() if count <= COVERED_LIMIT // 2}
    kept = [is_kept and at not in summaries for at, is_kept in enumerate(measured.kept)]
    shape = Shape(messages, kept, weights.guesses, FIRST_SHARE * target)
    last = next(
        (at for at in range(len(messages) - 1, 0, -1) if shape.is_question(at) and at not in measured.summaries), 0
    )
    covered: list[int] = []
    room = COVERED_LIMIT
    goal = target * (1 - SUMMARY_SHARE) if summarizes else target
    start = shape.first_free
    for end in range(start + 1, last + 1):
        if not shape.can_begin(end):
            continue
        # Whole portions only: the turns up to the next place where a window may begin, so no result loses its call.
        portion = [at for at in range(start, end) if at not in shape.must]
        room -= sum(summaries.get(at, 1) for at in portion)
        if room < 0:
            break
        covered += portion
        for at in portion:
            scale.leave(at)
        start = end
        if scale.total <= goal:
            break
    if all(at in summaries for at in covered):
        return []  # a summary of a summary says nothing new
    return [turn for at in covered if (turn := messages[at].turn) is not None]
