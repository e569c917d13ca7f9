"""The statements of ``rows/threads/reached``."""

from __future__ import annotations

from sqlalchemy import BindParameter, bindparam, select, text

from headish.database.schema import bookmark
from headish.rows.payloads import LOOKED_UP, PORTION
from headish.rows.threads.reached import GROWN, HEADS, NAMES
from headish.statements.compiling import define

_space: BindParameter[int] = bindparam("space")

_places = " UNION ALL ".join(
    f"SELECT CAST(:chain{index} AS BIGINT) AS chain, CAST(:pos{index} AS BIGINT) AS pos" for index in range(LOOKED_UP)
)

_chains = " UNION ALL ".join(f"SELECT CAST(:{each} AS BIGINT) AS chain" for each in PORTION)

define(
    GROWN,
    text(
        f"WITH RECURSIVE seeds(chain, pos) AS ({_places}), "
        "grown(from_chain, from_pos, chain, low) AS (SELECT chain, pos, chain, pos FROM seeds UNION "
        "SELECT grown.from_chain, grown.from_pos, l.chain, 0 FROM grown JOIN link AS l "
        "ON l.space = :space AND l.parent_chain = grown.chain AND l.parent_pos >= grown.low) "
        "SELECT from_chain, from_pos, chain, low FROM grown LIMIT :limit"
    ),
)

define(
    HEADS,
    text(
        f"WITH wanted(chain) AS ({_chains}), "
        "ends(chain, pos) AS (SELECT w.chain, (SELECT max(o.pos) FROM turn AS o WHERE o.space = :space "
        "AND o.chain = w.chain) FROM wanted AS w) "
        # The outer join fixes the order: left to itself, SQLite begins with every turn of the space.
        "SELECT ends.chain, ends.pos, t.id FROM ends LEFT JOIN turn AS t ON t.space = :space AND t.chain = ends.chain "
        "AND t.pos = ends.pos WHERE NOT EXISTS (SELECT 1 FROM link AS l WHERE l.space = :space "
        "AND l.parent_chain = ends.chain AND l.parent_pos = ends.pos)"
    ),
)

define(
    NAMES,
    select(bookmark.c.name, bookmark.c.chain, bookmark.c.pos).where(
        bookmark.c.space == _space, bookmark.c.chain.in_([bindparam(each) for each in PORTION])
    ),
)
