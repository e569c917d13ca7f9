"""Statements that a policy would make slow, said otherwise: the same rows, found by an index.

Under a policy the server compares by an index only what no function may see before the policy has let the row through:
functions that may fail on a value could tell it. ``substr``, an addition or a sub-select in a condition are such, and
the server reads the whole space, or the whole chain, in their place. Here they are made in a table of their own first
(``MATERIALIZED``), and the condition compares columns. Digests are looked up whole, by an index that only a secured
database has. A test compares what is read with and without a policy.
"""

# ruff: noqa: S608 - the texts are put together here, and nothing that is given goes into them

from __future__ import annotations

import re
from collections.abc import Mapping

from headish.database.query import Compiled, Texts

DIGESTS = ("turn_digest_whole", "turn", "(space, digest)")
"""The index of whole digests: its name, its table, its columns."""
_ABOVE = "'\\x" + "ff" * 24 + "'::bytea"
"""What makes the beginning of a digest the highest digest that begins so."""

PORTION_SIZE = 64
"""How many ids are looked up at once."""
Changes = tuple[tuple[str, str], ...]
_LAST = (
    "(SELECT other.pos \nFROM turn AS other \nWHERE other.space = {space}::BIGINT AND other.chain = chains.chain "
    "ORDER BY other.pos DESC \n LIMIT {param_1}::INTEGER)"
)
_LASTS: Changes = (
    (f"turn.pos = {_LAST}", "turn.pos = chains.pos"),
    ("FROM turn, chains", "FROM turn, lasts AS chains"),
    (
        "WHERE chains.chain IS NOT NULL)\n SELECT",
        "WHERE chains.chain IS NOT NULL), \nlasts AS MATERIALIZED "
        f"(SELECT chains.chain, {_LAST} AS pos FROM chains)\n SELECT",
    ),
)
_BEGIN = (
    "(SELECT o.pos FROM turn AS o WHERE o.space = {space} AND o.chain = begins.chain AND o.role = 'user' "
    "ORDER BY o.pos LIMIT 1)"
)
_TIP = "(SELECT max(o.pos) FROM turn AS o WHERE o.space = {space} AND o.chain = sums.newest)"
_FIRST = (
    "(SELECT o.pos FROM turn AS o WHERE o.space = {space} AND o.chain = page.chain AND o.pos >= page.pos "
    "AND o.role = 'user' ORDER BY o.pos LIMIT 1)"
)
_RANGE = (
    "WHERE bookmark_log.space = {space}::BIGINT AND bookmark_log.change > {low}::BIGINT "
    "AND bookmark_log.change <= {high}::BIGINT"
)
_IDS = ", ".join(f"{{wanted{index}}}" for index in range(PORTION_SIZE))
_WANTED = (
    f"SELECT id, digest, substr(digest, 1, 8) AS low, substr(digest, 1, 8) || {_ABOVE} AS high FROM turn "
    f"WHERE space = {{space}} AND id IN ({_IDS})"
)
_WANTED_TAIL = f"FROM turn AS t WHERE t.space = {{space}} AND t.id IN ({_IDS})"
CHANGES: dict[str, Changes] = {
    "last turns of chains, the youngest chain first": (("ends AS \n(", "ends AS MATERIALIZED \n("),),
    "heads at the ends of chains, and names in them": (
        ("wanted(chain) AS (", "wanted(chain) AS MATERIALIZED ("),
        ("ends(chain, pos) AS (", "ends(chain, pos) AS MATERIALIZED ("),
    ),
    "turns of a page of hits, with what they continue": (
        ("w(seq) AS (", "w(seq) AS MATERIALIZED ("),
        ("t AS (", "t AS MATERIALIZED ("),
    ),
    "turns that nothing continues, the last stored first": _LASTS,
    "count turns that nothing continues": _LASTS,
    "how many turns continue each of some places": (
        (
            ")\n SELECT wanted.chain",
            "), \nstepped AS MATERIALIZED (SELECT chain, pos, pos + 1 AS next FROM wanted)\n SELECT wanted.chain",
        ),
        ("FROM wanted LEFT OUTER JOIN", "FROM stepped AS wanted LEFT OUTER JOIN"),
        ("other.pos = wanted.pos + 1", "other.pos = wanted.next"),
    ),
    "places that grew from a place, the nearest first": (
        ("grown(chain, pos) AS", "grown(chain, pos, next) AS"),
        ("CAST({pos} AS BIGINT) AS pos", "CAST({pos} AS BIGINT) AS pos, CAST({pos} AS BIGINT) + 1 AS next"),
        ("AS coalesce_2", "AS coalesce_2, coalesce(turn.pos, 0) + 1 AS coalesce_3"),
        ("turn.pos = grown.pos + 1", "turn.pos = grown.next"),
    ),
    "moves of a range of changes": (
        ("before.move = bookmark_log.move - {move_1}::BIGINT", "before.move = bookmark_log.earlier"),
        (f"\n{_RANGE}", ""),
        ("FROM bookmark_log LEFT", "FROM moved AS bookmark_log LEFT"),
        (
            "SELECT bookmark_log.change",
            "WITH moved AS MATERIALIZED (SELECT *, move - {move_1}::BIGINT AS earlier FROM bookmark_log "
            f"{_RANGE})\nSELECT bookmark_log.change",
        ),
    ),
    "conversations with a name, the last moved first": (
        # A semi-join may read the whole space once; a sub-select stops at the first turn.
        ("FROM path WHERE EXISTS (SELECT 1", "FROM path WHERE (SELECT 1"),
        ("AND o.role = 'user') GROUP BY", "AND o.role = 'user' LIMIT 1) IS NOT NULL GROUP BY"),
        (f"f.pos = {_BEGIN}", "f.pos = begins.pos"),
        ("LEFT JOIN begins ON", "LEFT JOIN spoken AS begins ON"),
        (
            "lengths(name, turns) AS",
            "spoken(name, chain, pos) AS MATERIALIZED "
            f"(SELECT name, chain, {_BEGIN} FROM begins), lengths(name, turns) AS",
        ),
    ),
    "conversations without a name, the newest first": (
        ("spoken(chain, pos) AS (", "spoken(chain, pos) AS MATERIALIZED ("),
        ("ends(start, chain, low, pos) AS (", "ends(start, chain, low, pos) AS MATERIALIZED ("),
        (f"t.pos = {_TIP}", "t.pos = sums.pos"),
        (f"f.pos = {_FIRST}", "f.pos = page.first"),
        ("FROM page LEFT JOIN turn AS s", "FROM said AS page LEFT JOIN turn AS s"),
        ("LEFT JOIN sums ON", "LEFT JOIN tips AS sums ON"),
        (
            "GROUP BY ends.start) SELECT page.chain",
            f"GROUP BY ends.start), tips AS MATERIALIZED (SELECT sums.*, {_TIP} AS pos FROM sums), "
            f"said AS MATERIALIZED (SELECT page.*, {_FIRST} AS first FROM page) SELECT page.chain",
        ),
    ),
    "digests next to those of turns, and whether one is shared": (
        ("substr(o.digest, 1, 8) < substr(t.digest, 1, 8) ORDER BY substr(o.digest, 1, 8) DESC",
         "o.digest < t.low ORDER BY o.digest DESC"),
        ("substr(o.digest, 1, 8) > substr(t.digest, 1, 8) ORDER BY substr(o.digest, 1, 8)",
         "o.digest > t.high ORDER BY o.digest"),
        ("substr(o.digest, 1, 8) = substr(t.digest, 1, 8)", "o.digest >= t.low AND o.digest <= t.high"),
        ("SELECT t.id, t.digest", f"WITH t AS MATERIALIZED ({_WANTED}) SELECT t.id, t.digest"),
        (_WANTED_TAIL, "FROM t"),
    ),
    "turns of a digest's first bytes": (
        ("{short} = substr(turn.digest, 1, 8)",
         f"turn.digest >= {{short}}::bytea AND turn.digest <= {{short}}::bytea || {_ABOVE}"),
    ),
    "turns by handle": (
        (" AND {low_short} <= substr(turn.digest, 1, 8) AND {high_short} >= substr(turn.digest, 1, 8)", ""),
    ),
}  # fmt: skip


def said_otherwise(texts: Texts) -> Mapping[str, Compiled]:
    """The statements of ``CHANGES``, in the words that an index answers under a policy."""
    return {name: _change(texts[name], changes) for name, changes in CHANGES.items()}


def _change(compiled: Compiled, changes: Changes) -> Compiled:
    """A statement with changed words; its parameters are told by their names meanwhile, so that they keep theirs."""
    names = iter(compiled.names)
    text = re.sub("%s", lambda _: f"{{{next(names)}}}", compiled.sql)
    for old, new in changes:
        if text.count(old) != 1:
            raise ValueError(f"a statement holds {text.count(old)} times what is said otherwise: {old}")
        text = text.replace(old, new)
    return Compiled(re.sub(r"\{\w+\}", "%s", text), tuple(re.findall(r"\{(\w+)\}", text)), compiled.constants)
