"""Many places in one statement: a table of places made of parameters, which other tables are joined to.

A list of places by IN reads the whole space on SQLite, which has no index for pairs of values. Joined from such a table
by outer joins, which fix the order, each place is one look-up on both databases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlalchemy import CTE, BigInteger, column, text

from headish.rows.payloads import LOOKED_UP
from headish.values.places import Place, Segment


def wanted_places(name: str = "wanted") -> CTE:
    """A table of ``chain`` and ``pos`` with ``LOOKED_UP`` rows; ``place_portions`` fills it."""
    return _table(name, "chain", "pos")


def wanted_segments(name: str = "wanted") -> CTE:
    """A table of ``chain``, ``low`` and ``high``; ``segment_portions`` fills it."""
    return _table(name, "chain", "low", "high")


def place_portions(places: Iterable[Place]) -> Iterator[dict[str, int]]:
    """The places as parameters of statements with ``wanted_places``."""
    return _portions(places, ("chain", "pos"))


def segment_portions(segments: Iterable[Segment]) -> Iterator[dict[str, int]]:
    """The ranges as parameters of statements with ``wanted_segments``."""
    return _portions(segments, ("chain", "low", "high"))


def _table(name: str, *columns: str) -> CTE:
    # As text: a hundred expressions would take longer to make than all other statements of a module.
    rows = (", ".join(f"CAST(:{each}{index} AS BIGINT) AS {each}" for each in columns) for index in range(LOOKED_UP))
    table = text(" UNION ALL ".join(f"SELECT {row}" for row in rows))
    return table.columns(*(column(each, BigInteger) for each in columns)).cte(name)


def _portions(rows: Iterable[tuple[int, ...]], names: tuple[str, ...]) -> Iterator[dict[str, int]]:
    """Each portion is filled up with its last row: who reads the answer takes equal rows as one."""
    listed = list(dict.fromkeys(rows))
    for start in range(0, len(listed), LOOKED_UP):
        portion = listed[start : start + LOOKED_UP]
        portion += [portion[-1]] * (LOOKED_UP - len(portion))
        yield {
            f"{name}{index}": value for index, row in enumerate(portion) for name, value in zip(names, row, strict=True)
        }
