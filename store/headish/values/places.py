"""Places: where a turn is stored among the chains of its space, and ranges of places."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """Where a turn is stored: its chain, and its position in the chain, from 0."""

    chain: int
    pos: int


class Segment(NamedTuple):
    """The turns ``low`` to ``high`` of a chain, both included."""

    chain: int
    low: int
    high: int
