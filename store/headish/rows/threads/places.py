"""Many places in one statement: a table of places made of parameters, which other tables are joined to.

A list of places by IN reads the whole space on SQLite, which has no index for pairs of values. Joined from such a table
by outer joins, which fix the order, each place is one look-up on both databases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headish.rows.payloads import LOOKED_UP
from headish.values.places import Place, Segment


def _table(*columns: str) -> str:
    """The rows of a table of ``LOOKED_UP`` parameters for each column."""
    rows = (", ".join(f"CAST(:{each}{index} AS BIGINT) AS {each}" for each in columns) for index in range(LOOKED_UP))
    return " UNION ALL ".join(f"SELECT {row}" for row in rows)


WANTED_PLACES = _table("chain", "pos")
"""What ``place_portions`` fills."""

WANTED_SEGMENTS = _table("chain", "low", "high")
"""What ``segment_portions`` fills."""


def place_portions(places: Iterable[Place]) -> Iterator[dict[str, int]]:
    """The places as parameters of statements with ``WANTED_PLACES``."""
    return _portions(places, ("chain", "pos"))


def segment_portions(segments: Iterable[Segment]) -> Iterator[dict[str, int]]:
    """The ranges as parameters of statements with ``WANTED_SEGMENTS``."""
    return _portions(segments, ("chain", "low", "high"))


def _portions(rows: Iterable[tuple[int, ...]], names: tuple[str, ...]) -> Iterator[dict[str, int]]:
    """Each portion is filled up with its last row: who reads the answer takes equal rows as one."""
    listed = list(dict.fromkeys(rows))
    for start in range(0, len(listed), LOOKED_UP):
        portion = listed[start : start + LOOKED_UP]
        portion += [portion[-1]] * (LOOKED_UP - len(portion))
        yield {
            f"{name}{index}": value for index, row in enumerate(portion) for name, value in zip(names, row, strict=True)
        }
