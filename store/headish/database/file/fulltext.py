"""The table of the search index: what makes it on each database, for none of them has it in SQLAlchemy's words.

On SQLite it is an FTS5 table without a copy of the text: the number of a row is the space in its upper bits, and the
commit number of the turn in its lower ``SEQ_BITS``. On PostgreSQL it is a table with a ``tsvector`` and a GIN index.
Every word stands behind the number of its space, so a search reads what its own space holds and nothing else.
"""

from __future__ import annotations

from headish.database.query import SchemaConnection

SEQ_BITS = 40
"""A space holds fewer than 2**40 turns, and a SQLite database fewer than 2**23 spaces."""

TEXT = "search_text"
"""The table. SQLAlchemy does not know it, so whoever goes over all tables has to name it."""

CREATE = {
    "sqlite": (
        "CREATE VIRTUAL TABLE search_text USING fts5"
        "(words, content='', detail=none, columnsize=0, tokenize=\"ascii tokenchars ',-.'\")",
        "CREATE VIRTUAL TABLE search_word USING fts5vocab(search_text, row)",
        "CREATE VIRTUAL TABLE search_entry USING fts5vocab(search_text, instance)",
    ),
    "postgresql": (
        "CREATE TABLE search_text (space BIGINT NOT NULL, seq BIGINT NOT NULL, words TSVECTOR NOT NULL, "
        "PRIMARY KEY (space, seq))",
        "CREATE INDEX search_text_words ON search_text USING gin (words)",
    ),
}
"""The statements that make the index. A migration has the same."""
_PROBE = "SELECT count(*) FROM pragma_module_list WHERE name IN ('fts5', 'fts5vocab')"
_IS_THERE = {
    "sqlite": "SELECT count(*) FROM sqlite_master WHERE name = 'search_text'",
    "postgresql": "SELECT to_regclass('search_text') IS NOT NULL",
}


def create_index(dialect: str, connection: SchemaConnection) -> bool:
    """Make the index where it is missing; False on a SQLite that was built without FTS5: there a search reads turns."""
    if dialect == "sqlite" and connection.execute(_PROBE).fetchone()[0] != 2:
        return False
    if not connection.execute(_IS_THERE[dialect]).fetchone()[0]:
        for statement in CREATE[dialect]:
            connection.execute(statement)
    return True
