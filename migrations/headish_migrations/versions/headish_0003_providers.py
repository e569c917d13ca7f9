"""Definitions (pointers and tools under names), and the streams of answers that are arriving."""

import sqlalchemy as sa
from alembic import op

revision = "headish_0003"
down_revision = "headish_0002"

Number = sa.Integer().with_variant(sa.BigInteger(), "postgresql")
Id = sa.String(25).with_variant(sa.String(25, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "definition",
        sa.Column("space", Number, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("name", sa.LargeBinary, nullable=False),
        sa.Column("number", Number, nullable=False),
        sa.Column("payload", Number),
        sa.Column("milliseconds", Number, nullable=False),
        sa.PrimaryKeyConstraint("space", "kind", "name", "number"),
        sa.ForeignKeyConstraint(["space", "payload"], ["payload.space", "payload.number"]),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "stream",
        sa.Column("space", Number, nullable=False),
        sa.Column("id", Id, nullable=False),
        sa.Column("about", sa.LargeBinary, nullable=False),
        sa.Column("expires", Number, nullable=False),
        sa.Column("outcome", sa.String),
        sa.Column("turn", Id),
        sa.PrimaryKeyConstraint("space", "id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "stream_chunk",
        sa.Column("space", Number, nullable=False),
        sa.Column("stream", Id, nullable=False),
        sa.Column("number", Number, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("space", "stream", "number"),
        sa.ForeignKeyConstraint(["space", "stream"], ["stream.space", "stream.id"]),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    for table in ("stream_chunk", "stream", "definition"):
        op.drop_table(table)
