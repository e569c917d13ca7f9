"""Places: where a turn lies among the chains of its space, and ranges of them."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """Where a turn lies: the chain, and its position in it, from 0."""

    chain: int
    pos: int


class Segment(NamedTuple):
    """The turns ``low`` to ``high`` of a chain, both included."""

    chain: int
    low: int
    high: int
