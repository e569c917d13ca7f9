"""The table of the search index, and the statements that create it. SQLAlchemy has no words for it on either database.

On SQLite it is an FTS5 table without a copy of the text. The number of a row has the space in its upper bits, and the
commit number of the turn in its lower ``SEQ_BITS``. On PostgreSQL it is a table with a ``tsvector`` and a GIN index.
Every word is prefixed with the number of its space, so a search reads only words of its own space.
"""

from __future__ import annotations

from headish.database.query import SchemaConnection

SEQ_BITS = 40
"""Row numbers of SQLite have 63 bits: fewer than 2**40 turns for each space, and fewer than 2**23 spaces."""

TEXT = "search_text"
"""The name of the table. SQLAlchemy does not know it, so code that goes over all tables must add it."""

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
"""The statements that make the index. The migration ``headish_0005_search`` has the same.

FTS5 keeps no text (``content=''``), no positions (``detail=none``) and no sizes: a search checks each candidate itself.
"""
# Two modules: a build of SQLite may have one of them alone.
_PROBE = "SELECT count(*) FROM pragma_module_list WHERE name IN ('fts5', 'fts5vocab')"
_IS_THERE = {
    "sqlite": "SELECT count(*) FROM sqlite_master WHERE name = 'search_text'",
    "postgresql": "SELECT to_regclass('search_text') IS NOT NULL",
}


def create_index(dialect: str, connection: SchemaConnection) -> bool:
    """Make the index if it is missing. False on a SQLite built without FTS5, where a search reads the turns."""
    if dialect == "sqlite" and connection.execute(_PROBE).fetchone()[0] != 2:
        return False
    if not connection.execute(_IS_THERE[dialect]).fetchone()[0]:
        for statement in CREATE[dialect]:
            connection.execute(statement)
    return True
