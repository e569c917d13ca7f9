"""The statements of ``rows/threads/places``."""

from __future__ import annotations

from sqlalchemy import CTE, BigInteger, column, text

from headish.rows.payloads import LOOKED_UP


def wanted_places(name: str = "wanted") -> CTE:
    """A table of ``chain`` and ``pos`` with ``LOOKED_UP`` rows; ``place_portions`` fills it."""
    return _table(name, "chain", "pos")


def wanted_segments(name: str = "wanted") -> CTE:
    """A table of ``chain``, ``low`` and ``high``; ``segment_portions`` fills it."""
    return _table(name, "chain", "low", "high")


def _table(name: str, *columns: str) -> CTE:
    # As text: a hundred expressions would take longer to make than all other statements of a module.
    rows = (", ".join(f"CAST(:{each}{index} AS BIGINT) AS {each}" for each in columns) for index in range(LOOKED_UP))
    table = text(" UNION ALL ".join(f"SELECT {row}" for row in rows))
    return table.columns(*(column(each, BigInteger) for each in columns)).cte(name)
