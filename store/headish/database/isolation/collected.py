"""Remove what ANALYZE collected: its samples of values from all spaces stay behind when the values are erased."""

# ruff: noqa: S608 - the texts are put together here, and nothing that is given goes into them
from __future__ import annotations

from typing import Any

from headish.database.file.fulltext import TEXT
from headish.database.revisions import ALL_TABLES

EVERY = (*ALL_TABLES, TEXT)
NUMBERS = "('bigint'::regtype, 'integer'::regtype, 'smallint'::regtype)"
"""The types of columns that hold no words, names or hashes."""
CLEARING = 180000
"""From this version of PostgreSQL on, whoever owns a table may take its statistics away; before, a superuser."""

_COLUMNS = f"""
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
LEFT JOIN pg_index i ON i.indexrelid = c.oid LEFT JOIN pg_class o ON o.oid = i.indrelid
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'i') AND a.attnum > 0
    AND NOT a.attisdropped AND a.atttypid NOT IN {NUMBERS} AND coalesce(a.attstattarget, -1) <> 0
    AND (i.indexrelid IS NULL OR i.indkey[a.attnum - 1] = 0)
    AND coalesce(o.relname, c.relname) IN ({", ".join(f"'{table}'" for table in EVERY)})
"""
_CLEAR = f"SELECT pg_clear_attribute_stats(current_schema()::text, c.relname::text, a.attname::text, false) {_COLUMNS}"
_DELETE = (
    f"WITH ours AS (SELECT c.oid, a.attnum {_COLUMNS}) DELETE FROM pg_catalog.pg_statistic s USING ours "
    "WHERE s.starelid = ours.oid AND s.staattnum = ours.attnum"
)
_IS_SUPERUSER = "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"
_ANALYZE = f"ANALYZE {', '.join(EVERY)}"


def forget_collected(driver: Any) -> None:
    """Take away what was collected of words, names and hashes; the next ANALYZE collects what is there then.

    Before PostgreSQL 18, for whoever is no superuser, it is collected anew, which passes over a table that is empty.
    """
    if driver.info.server_version >= CLEARING:
        driver.execute(_CLEAR)
    elif driver.execute(_IS_SUPERUSER).fetchone() == (True,):
        driver.execute(_DELETE)
    else:
        driver.execute(_ANALYZE)
