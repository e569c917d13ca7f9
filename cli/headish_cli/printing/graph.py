"""``log --graph``: rails beside a list of turns, newest first.

A rail is a turn that is waited for. A turn ends all rails that wait for it and begins one for each turn it continues.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headish import Turn


def draw_graph(turns: Sequence[Turn]) -> Iterator[tuple[Turn | None, str]]:
    """Each turn with its rails, and lines without a turn where rails part or meet.

    ``turns`` come children before parents, as a log gives them. Rails of turns that are not listed end at the list's
    end.
    """
    rails: list[str] = []
    for turn in turns:
        if turn.id not in rails:
            rails.append(turn.id)
        place = rails.index(turn.id)
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
    """The rail ``other`` runs into ``place``."""
    cells = ["| "] * count
    cells[other] = "  "
    for index in range(place + 1, other):
        cells[index] = "|_" if index > place + 1 else "| "
    line = "".join(cells)
    return line[: 2 * other - 1] + "/" + line[2 * other :]


def _parting(count: int, place: int) -> str:
    """A new rail leaves ``place`` to the right."""
    return "| " * place + "|\\" + " \\" * (count - place - 1)
