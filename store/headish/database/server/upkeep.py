"""Care for the tables of a server as a whole: check them, measure them, write them anew."""

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
    """What the extension amcheck finds in our indexes, if it is installed; nothing is checked without it."""
    from psycopg import Error

    problems: list[str] = []
    if driver.execute(_HAS_AMCHECK).fetchone() is None:
        return problems
    for oid, name in driver.execute(OUR_INDEXES, (list(ALL_TABLES),)).fetchall():
        # A damaged index aborts the transaction, and the indexes after it would not be checked.
        driver.execute("SAVEPOINT looked_at")
        try:
            driver.execute(f"SELECT bt_index_check({int(oid)}, true)")
        except Error as error:
            driver.execute("ROLLBACK TO looked_at")
            problems.append(f"index {name}: {str(error).strip().splitlines()[0]}")
        driver.execute("RELEASE looked_at")
    return problems


def rewrite(driver: Any, find: str) -> str:
    """VACUUM (FULL) writes every table anew, under a lock that nobody else may share; the log keeps what it has.

    ``find`` is the SQL that sets the search path. Empty, or what the server passed over.
    Raises: the driver's errors.
    """
    warned: list[str] = []
    driver.add_notice_handler(
        lambda told: warned.append(told.message_primary) if told.severity_nonlocalized == "WARNING" else None
    )
    with _beside_tables(driver, find):
        # VACUUM runs in no transaction, where the search path is not ours, so each table is named with its schema.
        [(schema,)] = driver.execute("SELECT quote_ident(current_schema())").fetchall()
    for table in (*ALL_TABLES, TEXT):
        driver.execute(f'VACUUM (FULL) {schema}."{table}"')
    if warned:  # a server passes over what the login may not vacuum, and calls it done
        return f"PostgreSQL says: {warned[0]}"
    forget_statistics(driver, find)
    driver.execute("VACUUM (FULL) pg_catalog.pg_statistic")
    return ""


def forget_statistics(driver: Any, find: str) -> str:
    """Remove the values that the server has collected of our columns. Raises: the driver's errors."""
    with _beside_tables(driver, find):
        forget_collected(driver)
    return ""


def size_of(driver: Any) -> int:
    """The bytes of the whole database."""
    return int(driver.execute("SELECT pg_database_size(current_database())").fetchone()[0])


@contextmanager
def _beside_tables(driver: Any, find: str) -> Iterator[None]:
    """A transaction that looks for tables in the schema of ours."""
    with driver.transaction():
        driver.execute(f"SELECT {find}")
        yield
