"""``log --graph``: rails beside a list of turns, newest first.

A rail is a line down to a turn that is still to be drawn. Drawing the turn ends all of its rails and begins one for
each turn that it continues.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headish import Turn


def draw_graph(turns: Sequence[Turn]) -> Iterator[tuple[Turn | None, str]]:
    """Yield each turn with its rails, and a line without a turn where rails part or meet.

    ``turns`` come children before parents, as in a log. The rail of a turn that is not listed goes on to the end.
    """
    rails: list[str] = []
    for turn in turns:
        if turn.id not in rails:
            rails.append(turn.id)
        place = rails.index(turn.id)
        # From the right, so that removing a rail does not shift those still to be looked at.
        for other in range(len(rails) - 1, place, -1):
            if rails[other] == turn.id:
                yield None, _meeting(len(rails), place, other)
                del rails[other]
        yield turn, "".join("* " if index == place else "| " for index in range(len(rails)))
        parents = list(turn.meta.continues)
        for extra in range(1, len(parents)):
            yield None, _parting(len(rails) + extra - 1, place + extra - 1)
        rails[place : place + 1] = parents
    return


def _meeting(count: int, place: int, other: int) -> str:
    """The line on which the rail ``other`` joins the rail ``place`` to its left."""
    cells = ["| "] * count
    cells[other] = "  "
    for index in range(place + 1, other):
        cells[index] = "|_" if index > place + 1 else "| "
    line = "".join(cells)
    return line[: 2 * other - 1] + "/" + line[2 * other :]


def _parting(count: int, place: int) -> str:
    """The line on which a new rail leaves ``place`` to the right."""
    return "| " * place + "|\\" + " \\" * (count - place - 1)
