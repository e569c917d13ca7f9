"""Histories of any shape, and a walk and a fold written from their definitions, not from the library's.

Used where any history must do: tests/history, tests/verify, tests/store, tests/content.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

Parents = Sequence[Sequence[int]]
"""For each turn, in the order of storing, the indexes of those that it continues, in order."""


@st.composite
def dags(draw: st.DrawFn, largest: int = 24) -> list[list[int]]:
    """Parents of a random history: roots, lines, forks and merges, the recent turns more often continued."""
    count = draw(st.integers(1, largest))
    parents: list[list[int]] = []
    for index in range(count):
        if index == 0:
            parents.append([])
            continue
        recent = st.integers(max(0, index - 3), index - 1)
        one = st.one_of(st.just(index - 1), recent, st.integers(0, index - 1))
        parents.append(draw(st.one_of(one.map(lambda i: [i]), st.lists(one, max_size=4, unique=True))))
    return parents


def reference_walk(parents: Parents, heads: Sequence[int]) -> list[int]:
    """Rule I7 (parents first) as it is defined: what a turn continues, in the listed order, each walked the same way,
    then the turn itself.

    Iterative, because a thread may be longer than Python's stack.
    """
    walked: dict[int, None] = {}
    stack = [(head, False) for head in reversed(heads)]
    while stack:
        turn, parents_are_walked = stack.pop()
        if turn in walked:
            continue
        if parents_are_walked:
            walked[turn] = None
        else:
            stack.append((turn, True))
            stack.extend((parent, False) for parent in reversed(parents[turn]))
    return list(walked)


def reference_merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7396, section 2, word for word."""
    if isinstance(patch, Mapping):
        result = dict(target) if isinstance(target, Mapping) else {}
        for name, value in patch.items():
            if value is None:
                if name in result:
                    del result[name]
            else:
                result[name] = reference_merge_patch(result.get(name), value)
        return result
    return patch


def linear(count: int) -> list[list[int]]:
    return [[index - 1] if index else [] for index in range(count)]


def stacked_diamonds(count: int) -> list[list[int]]:
    """One turn, two that continue it, one that continues both, and so on: 2**(count/3) paths, count turns."""
    parents: list[list[int]] = [[]]
    while len(parents) + 3 <= count:
        top = len(parents) - 1
        parents += [[top], [top], [top + 1, top + 2]]
    while len(parents) < count:
        parents.append([len(parents) - 1])
    return parents


def ladder_of_forks(count: int) -> list[list[int]]:
    """A thread where every turn continues the second branch of a fork: half of the turns lead nowhere."""
    parents: list[list[int]] = [[]]
    tip = 0
    while len(parents) + 2 <= count:
        parents += [[tip], [tip]]
        tip = len(parents) - 1
    while len(parents) < count:
        parents.append([tip])
    return parents
