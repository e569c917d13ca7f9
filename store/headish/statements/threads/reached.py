"""The statements of ``rows/threads/reached``."""

from __future__ import annotations

from headish.rows.threads.reached import ENDS, GROWN
from headish.statements.compiling import define
from headish.statements.elements import spelled

_places = {
    "sqlite": "SELECT json_extract(value, '$[0]') AS chain, json_extract(value, '$[1]') AS pos FROM json_each(:places)",
    "postgresql": "SELECT CAST(value->>0 AS bigint) AS chain, CAST(value->>1 AS bigint) AS pos "
    "FROM json_array_elements(CAST(:places AS json))",
}

_chains = {
    "sqlite": "SELECT value AS chain FROM json_each(:chains)",
    "postgresql": "SELECT CAST(value AS bigint) AS chain FROM json_array_elements_text(CAST(:chains AS json))",
}

_grown = (
    "WITH RECURSIVE seeds(chain, pos) AS (%s), "
    "grown(from_chain, from_pos, chain, low) AS (SELECT chain, pos, chain, pos FROM seeds UNION "
    "SELECT grown.from_chain, grown.from_pos, l.chain, 0 FROM grown JOIN link AS l "
    "ON l.space = :space AND l.parent_chain = grown.chain AND l.parent_pos >= grown.low) "
    "SELECT from_chain, from_pos, chain, low FROM grown LIMIT :limit"
)

_ends = (
    "WITH wanted(chain) AS (%s), "
    "ends(chain, pos) AS (SELECT w.chain, (SELECT max(o.pos) FROM turn AS o WHERE o.space = :space "
    "AND o.chain = w.chain) FROM wanted AS w) "
    # The outer join fixes the order: left to itself, SQLite begins with every turn of the space.
    "SELECT ends.chain, ends.pos, t.id, NULL AS name FROM ends LEFT JOIN turn AS t ON t.space = :space "
    "AND t.chain = ends.chain AND t.pos = ends.pos WHERE NOT EXISTS (SELECT 1 FROM link AS l "
    "WHERE l.space = :space AND l.parent_chain = ends.chain AND l.parent_pos = ends.pos) "
    "UNION ALL SELECT b.chain, b.pos, NULL, b.name FROM bookmark AS b WHERE b.space = :space "
    "AND b.chain IN (SELECT chain FROM wanted)"
)

define(GROWN, spelled(**{database: _grown % places for database, places in _places.items()}))

define(ENDS, spelled(**{database: _ends % chains for database, chains in _chains.items()}))
