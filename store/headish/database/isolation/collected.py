"""Remove the samples that ANALYZE collected, which have values of all spaces, and outlive an erasure."""

# ruff: noqa: S608 - the texts are put together here, and nothing that is given goes into them
from __future__ import annotations

from typing import Any

from headish.database.file.fulltext import TEXT
from headish.database.revisions import ALL_TABLES

EVERY = (*ALL_TABLES, TEXT)
NUMBERS = "('bigint'::regtype, 'integer'::regtype, 'smallint'::regtype)"
"""The types of columns whose statistics stay: they have no words, names or hashes."""
CLEARING = 180000
"""From this version of PostgreSQL on, the owner of a table may remove its statistics; before, only a superuser."""

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
    """Remove the samples of words, names and hashes. The next ANALYZE collects from the rows of then.

    Before PostgreSQL 18, a login that is not a superuser can only collect anew. That skips an empty table, whose old
    samples stay.
    """
    if driver.info.server_version >= CLEARING:
        driver.execute(_CLEAR)
    elif driver.execute(_IS_SUPERUSER).fetchone() == (True,):
        driver.execute(_DELETE)
    else:
        driver.execute(_ANALYZE)
