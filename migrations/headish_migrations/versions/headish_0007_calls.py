"""Calls: a row for each request that passed through the gateway."""

import sqlalchemy as sa
from alembic import op

revision = "headish_0007_calls"
down_revision = "headish_0006_seals"

_SPARSE = {"call_lane": "lane", "call_tip": "tip", "call_answer": "answer", "call_response": "response"}


def upgrade() -> None:
    is_server = op.get_bind().dialect.name == "postgresql"
    number = sa.BigInteger if is_server else sa.Integer
    id_type = sa.String(25, collation="C") if is_server else sa.String(25)
    op.create_table(
        "call",
        sa.Column("space", number, nullable=False),
        sa.Column("id", id_type, nullable=False),
        sa.Column("milliseconds", number, nullable=False),
        sa.Column("client", sa.LargeBinary, nullable=False),
        sa.Column("session", sa.LargeBinary),
        sa.Column("lane", sa.LargeBinary),
        sa.Column("tip", id_type),
        sa.Column("answer", id_type),
        sa.Column("response", sa.LargeBinary),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.Column("seal", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("space", "id"),
        # With a rowid: without one, SQLite would give nearly every row a page of its own.
    )
    for name, column in _SPARSE.items():
        only = sa.text(f"{column} IS NOT NULL")
        columns = ["space", column, "id"] if column == "lane" else ["space", column]
        op.create_index(name, "call", columns, sqlite_where=only, postgresql_where=only)


def downgrade() -> None:
    op.drop_table("call")
