"""Maintain the tables of a server as a whole: check them, measure them, write them anew."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headish.database.file.fulltext import TEXT
from headish.database.isolation.collected import forget_collected
from headish.database.revisions import ALL_TABLES

_HAS_AMCHECK = "SELECT 1 FROM pg_extension WHERE extname = 'amcheck'"
OUR_INDEXES = """
SELECT i.indexrelid, c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
JOIN pg_class t ON t.oid = i.indrelid
WHERE a.amname = 'btree' AND i.indisvalid AND pg_table_is_visible(t.oid)
AND t.relname = ANY(%s)
ORDER BY c.relname
"""


def find_problems(driver: Any) -> list[str]:
    """The problems that the extension amcheck finds in our indexes. Without the extension nothing is checked."""
    from psycopg import Error

    problems: list[str] = []
    if driver.execute(_HAS_AMCHECK).fetchone() is None:
        return problems
    for oid, name in driver.execute(OUR_INDEXES, (list(ALL_TABLES),)).fetchall():
        # Without a savepoint, a damaged index would abort the transaction, and the others would not be checked.
        driver.execute("SAVEPOINT looked_at")
        try:
            driver.execute(f"SELECT bt_index_check({int(oid)}, true)")
        except Error as error:
            driver.execute("ROLLBACK TO looked_at")
            problems.append(f"index {name}: {str(error).strip().splitlines()[0]}")
        driver.execute("RELEASE looked_at")
    return problems


def rewrite(driver: Any, find: str) -> str:
    """Write every table anew by VACUUM (FULL), under an exclusive lock. The server's log keeps the old content.

    ``find`` is the SQL that sets the search path. Returns "", or the server's warning about a table that it skipped.
    Raises: the driver's errors.
    """
    warned: list[str] = []
    driver.add_notice_handler(
        lambda notice: warned.append(notice.message_primary) if notice.severity_nonlocalized == "WARNING" else None
    )
    with _beside_tables(driver, find):
        # VACUUM cannot run in a transaction, and our search path ends with one, so each table is named with its schema.
        [(schema,)] = driver.execute("SELECT quote_ident(current_schema())").fetchall()
    for table in (*ALL_TABLES, TEXT):
        driver.execute(f'VACUUM (FULL) {schema}."{table}"')
    if warned:  # a server skips tables that the login may not vacuum, and reports success
        return f"PostgreSQL says: {warned[0]}"
    forget_statistics(driver, find)
    driver.execute("VACUUM (FULL) pg_catalog.pg_statistic")
    return ""


def forget_statistics(driver: Any, find: str) -> str:
    """Remove the samples that the server has collected of our columns. Raises: the driver's errors."""
    with _beside_tables(driver, find):
        forget_collected(driver)
    return ""


def size_of(driver: Any) -> int:
    """The size of the whole database in bytes."""
    return int(driver.execute("SELECT pg_database_size(current_database())").fetchone()[0])


@contextmanager
def _beside_tables(driver: Any, find: str) -> Iterator[None]:
    """A transaction whose search path is the schema of our tables."""
    with driver.transaction():
        driver.execute(f"SELECT {find}")
        yield
