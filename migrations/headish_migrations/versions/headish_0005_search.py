"""The search index: how far it is for each space, and the table of words.

This migration indexes nothing, because that may take long: the first search does, in portions.
"""

import sqlalchemy as sa
from alembic import op

revision = "headish_0005_search"
down_revision = "headish_0004"

_TABLE = {
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
_PROBE = "SELECT count(*) FROM pragma_module_list WHERE name IN ('fts5', 'fts5vocab')"


def upgrade() -> None:
    dialect = op.get_bind().dialect.name
    number = sa.BigInteger if dialect == "postgresql" else sa.Integer
    op.create_table(
        "search",
        sa.Column("space", number, nullable=False, autoincrement=False),
        sa.Column("seq", number, nullable=False),
        sa.Column("version", number, nullable=False),
        sa.Column("emptied", number, nullable=False),
        sa.PrimaryKeyConstraint("space"),
    )
    # A SQLite built without FTS5 gets no index: its searches read the turns.
    if dialect == "sqlite" and op.get_bind().exec_driver_sql(_PROBE).scalar_one() != 2:
        return
    for statement in _TABLE[dialect]:
        op.get_bind().exec_driver_sql(statement)


def downgrade() -> None:
    for table in ("search_entry", "search_word", "search_text", "search"):
        op.execute(f"DROP TABLE IF EXISTS {table}")  # without FTS5, and on PostgreSQL, some were never made
