"""The statements of ``rows/threads/entries``."""

from __future__ import annotations

from sqlalchemy import text

from headish.limits import PREVIEW_BYTES
from headish.rows.threads.entries import CUT_BYTES, LOWEST, NAMED, NAMELESS
from headish.statements.compiling import define
from headish.values.turns import OVERLAY

_SPOKEN = "role <> 'system' AND o.role <> 'developer'"


def _words(turn: str, payload: str) -> str:
    size = f"{turn}.data IS NULL AND {payload}.size > {PREVIEW_BYTES}"
    return (
        f"{turn}.id, {turn}.role, {turn}.type, {turn}.system, "
        f"CASE WHEN {size} THEN substr({payload}.data, 1, {CUT_BYTES}) ELSE coalesce({turn}.data, {payload}.data) END, "
        f"CASE WHEN {size} THEN 1 ELSE 0 END, "
        f"{turn}.erased, CASE WHEN {turn}.type = '{OVERLAY}' THEN {turn}.attributes END"
    )


def _payload(turn: str, payload: str) -> str:
    """The large payload of a turn, if it has one."""
    return (
        f"LEFT JOIN payload AS {payload} ON {payload}.space = :space AND {payload}.hash = {turn}.hash "
        f"AND {turn}.data IS NULL AND {turn}.erased IS NULL "
    )


define(
    NAMED,
    text(
        "WITH RECURSIVE page(name, chain, pos, recent) AS ("
        "SELECT b.name, b.chain, b.pos, b.recent FROM bookmark AS b "
        "LEFT JOIN conversation AS c ON c.space = :space AND c.subject = b.name "
        "WHERE b.space = :space AND b.recent >= 0 AND (b.recent, b.name) < (:recent, :name) "
        "AND (:archived < 0 OR coalesce(c.archived, 0) = :archived) "
        "AND (:pinned < 0 OR coalesce(c.pinned, 0) = :pinned) "
        "ORDER BY b.recent DESC, b.name DESC LIMIT :limit), "
        # Back along first parents: how far into each chain.
        "path(name, chain, pos) AS (SELECT name, chain, pos FROM page UNION ALL "
        "SELECT path.name, l.parent_chain, l.parent_pos FROM path JOIN link AS l "
        "ON l.space = :space AND l.chain = path.chain AND l.ordinal = 0 AND l.parent_chain < path.chain), "
        # The lowest chain in which the user spoke; a parent's chain has a lower number.
        "begins(name, chain) AS (SELECT path.name, min(path.chain) FROM path WHERE EXISTS ("
        "SELECT 1 FROM turn AS o WHERE o.space = :space AND o.chain = path.chain AND o.pos <= path.pos "
        "AND o.role = 'user') GROUP BY path.name), "
        "lengths(name, turns) AS (SELECT path.name, sum(path.pos + 1) FROM path GROUP BY path.name) "
        f"SELECT page.name, page.recent, lengths.turns, {_words('t', 'tp')}, {_words('f', 'fp')} FROM page "
        "LEFT JOIN turn AS t ON t.space = :space AND t.chain = page.chain AND t.pos = page.pos "
        + _payload("t", "tp")
        + "LEFT JOIN lengths ON lengths.name = page.name LEFT JOIN begins ON begins.name = page.name "
        "LEFT JOIN turn AS f ON f.space = :space AND f.chain = begins.chain AND f.pos = ("
        "SELECT o.pos FROM turn AS o WHERE o.space = :space AND o.chain = begins.chain AND o.role = 'user' "
        "ORDER BY o.pos LIMIT 1) " + _payload("f", "fp") + "ORDER BY page.recent DESC, page.name DESC"
    ),
)

define(
    NAMELESS,
    text(
        "WITH RECURSIVE chains(chain, n) AS ("
        "SELECT max(o.chain), 1 FROM turn AS o WHERE o.space = :space AND o.chain < :before UNION ALL "
        "SELECT (SELECT max(o.chain) FROM turn AS o WHERE o.space = :space AND o.chain < chains.chain), n + 1 "
        "FROM chains WHERE chains.chain IS NOT NULL AND n < :looked_at), "
        "spoken(chain, pos) AS (SELECT chains.chain, (SELECT o.pos FROM turn AS o WHERE o.space = :space "
        f"AND o.chain = chains.chain AND o.{_SPOKEN} ORDER BY o.pos LIMIT 1) FROM chains "
        "WHERE chains.chain IS NOT NULL), "
        # What leads to a chain, for as long as it is system turns. A parent's chain has a lower number.
        "back(start, chain, pos, role) AS ("
        "SELECT s.chain, l.parent_chain, l.parent_pos, o.role FROM spoken AS s JOIN link AS l "
        "ON l.space = :space AND l.chain = s.chain AND l.ordinal = 0 AND l.parent_chain < s.chain "
        "JOIN turn AS o ON o.space = :space AND o.chain = l.parent_chain AND o.pos = l.parent_pos "
        "WHERE s.pos IS NOT NULL UNION ALL "
        "SELECT back.start, l.parent_chain, l.parent_pos, o.role FROM back JOIN link AS l "
        "ON l.space = :space AND l.chain = back.chain AND l.ordinal = 0 AND l.parent_chain < back.chain "
        "JOIN turn AS o ON o.space = :space AND o.chain = l.parent_chain AND o.pos = l.parent_pos "
        "WHERE back.role = 'system' OR back.role = 'developer'), "
        "goes_on(start) AS (SELECT DISTINCT back.start FROM back WHERE EXISTS (SELECT 1 FROM turn AS o "
        f"WHERE o.space = :space AND o.chain = back.chain AND o.pos <= back.pos AND o.{_SPOKEN})), "
        "firsts(chain, pos, id, supersedes) AS (SELECT s.chain, s.pos, f.id, f.supersedes FROM spoken AS s "
        "LEFT JOIN goes_on ON goes_on.start = s.chain "
        "LEFT JOIN turn AS f ON f.space = :space AND f.chain = s.chain AND f.pos = s.pos "
        "WHERE s.pos IS NOT NULL AND goes_on.start IS NULL), "
        # A first turn that supersedes the first turn of a conversation is a version of it: what leads to the older one.
        "older(start, chain, pos) AS (SELECT firsts.chain, f.chain, f.pos FROM firsts JOIN turn AS f "
        "ON f.space = :space AND f.id = firsts.supersedes AND f.role <> 'system' AND f.role <> 'developer' "
        "WHERE firsts.supersedes IS NOT NULL), "
        "before(start, chain, pos) AS (SELECT start, chain, pos - 1 FROM older UNION ALL "
        "SELECT before.start, l.parent_chain, l.parent_pos FROM before JOIN link AS l "
        "ON l.space = :space AND l.chain = before.chain AND l.ordinal = 0 AND l.parent_chain < before.chain), "
        "inside(start) AS (SELECT DISTINCT before.start FROM before WHERE EXISTS (SELECT 1 FROM turn AS o "
        f"WHERE o.space = :space AND o.chain = before.chain AND o.pos <= before.pos AND o.{_SPOKEN})), "
        "begins(chain, pos, id) AS (SELECT firsts.chain, firsts.pos, firsts.id FROM firsts "
        "LEFT JOIN older ON older.start = firsts.chain LEFT JOIN inside ON inside.start = firsts.chain "
        "WHERE older.start IS NULL OR inside.start IS NOT NULL), "
        # A recursive statement may name its own table once only: each range is looked at in two ways.
        "ways AS (SELECT 0 AS way UNION ALL SELECT 1 AS way), "
        "grown(start, chain, low, id) AS (SELECT chain, chain, pos, id FROM begins UNION "
        "SELECT grown.start, coalesce(l.chain, v.chain), coalesce(v.pos, 0), v.id FROM grown CROSS JOIN ways "
        "LEFT JOIN link AS l ON ways.way = 0 AND l.space = :space AND l.parent_chain = grown.chain "
        "AND l.parent_pos >= grown.low "
        "LEFT JOIN turn AS v ON ways.way = 1 AND v.space = :space AND v.supersedes = grown.id "
        "WHERE l.chain IS NOT NULL OR v.chain IS NOT NULL), "
        # First the names of these chains alone, for there may be many others.
        "held(chain, pos) AS (SELECT b.chain, b.pos FROM bookmark AS b WHERE b.space = :space "
        "AND b.chain IN (SELECT grown.chain FROM grown)), "
        "named(start) AS (SELECT DISTINCT grown.start FROM held JOIN grown "
        "ON grown.chain = held.chain AND grown.low <= held.pos), "
        "page(chain, pos) AS (SELECT begins.chain, begins.pos FROM begins LEFT JOIN named "
        "ON named.start = begins.chain WHERE named.start IS NULL ORDER BY begins.chain DESC LIMIT :limit), "
        "ends(start, chain, low, pos) AS (SELECT DISTINCT grown.start, grown.chain, grown.low, (SELECT max(o.pos) "
        "FROM turn AS o WHERE o.space = :space AND o.chain = grown.chain) FROM page JOIN grown "
        "ON grown.start = page.chain), "
        "sums(start, newest, turns, branches) AS (SELECT ends.start, max(ends.chain), "
        "sum(ends.pos - ends.low + 1), sum(CASE WHEN EXISTS ("
        "SELECT 1 FROM link AS l WHERE l.space = :space AND l.parent_chain = ends.chain "
        "AND l.parent_pos = ends.pos) THEN 0 ELSE 1 END) FROM ends GROUP BY ends.start) "
        # Outer joins fix the order: left to itself, SQLite reads every turn.
        f"SELECT page.chain, s.id, sums.branches, sums.turns, {_words('t', 'tp')}, {_words('f', 'fp')} FROM page "
        "LEFT JOIN turn AS s ON s.space = :space AND s.chain = page.chain AND s.pos = page.pos "
        "LEFT JOIN sums ON sums.start = page.chain "
        "LEFT JOIN turn AS t ON t.space = :space AND t.chain = sums.newest AND t.pos = ("
        "SELECT max(o.pos) FROM turn AS o WHERE o.space = :space AND o.chain = sums.newest) "
        + _payload("t", "tp")
        + "LEFT JOIN turn AS f ON f.space = :space AND f.chain = page.chain AND f.pos = ("
        "SELECT o.pos FROM turn AS o WHERE o.space = :space AND o.chain = page.chain AND o.pos >= page.pos "
        "AND o.role = 'user' ORDER BY o.pos LIMIT 1) " + _payload("f", "fp") + "ORDER BY page.chain DESC"
    ),
)

define(
    LOWEST,
    text(
        "WITH RECURSIVE chains(chain, n) AS ("
        "SELECT max(o.chain), 1 FROM turn AS o WHERE o.space = :space AND o.chain < :before UNION ALL "
        "SELECT (SELECT max(o.chain) FROM turn AS o WHERE o.space = :space AND o.chain < chains.chain), n + 1 "
        "FROM chains WHERE chains.chain IS NOT NULL AND n < :looked_at) "
        "SELECT count(chain), min(chain) FROM chains"
    ),
)
