"""Arrivals of turns from elsewhere, remotes, the bookmarks of their devices, and erasures that came from them."""

import sqlalchemy as sa
from alembic import op

revision = "headish_0009_remotes"
down_revision = "headish_0008_tokens"

Number = sa.Integer().with_variant(sa.BigInteger(), "postgresql")
Id = sa.String(25).with_variant(sa.String(25, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "arrival",
        sa.Column("space", Number, nullable=False),
        sa.Column("first", Number, nullable=False),
        sa.Column("last", Number, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("remote", sa.LargeBinary),
        sa.Column("device", sa.String),
        sa.Column("by", sa.LargeBinary),
        sa.Column("milliseconds", Number, nullable=False),
        sa.Column("seal", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("space", "first"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "remote",
        sa.Column("space", Number, nullable=False),
        sa.Column("name", sa.LargeBinary, nullable=False),
        sa.Column("url", sa.LargeBinary, nullable=False),
        sa.Column("settings", sa.LargeBinary, nullable=False),
        sa.Column("state", sa.LargeBinary, nullable=False),
        sa.Column("milliseconds", Number, nullable=False),
        sa.Column("seal", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("space", "name"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "remote_bookmark",
        sa.Column("space", Number, nullable=False),
        sa.Column("remote", sa.LargeBinary, nullable=False),
        sa.Column("device", sa.LargeBinary, nullable=False),
        sa.Column("name", sa.LargeBinary, nullable=False),
        sa.Column("turn", Id),
        sa.Column("record", sa.LargeBinary),
        sa.Column("milliseconds", Number, nullable=False),
        sa.Column("seal", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("space", "remote", "device", "name"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "notice",
        sa.Column("space", Number, nullable=False),
        sa.Column("id", Id, nullable=False),
        sa.Column("remote", sa.LargeBinary, nullable=False),
        sa.Column("device", sa.LargeBinary, nullable=False),
        sa.Column("receipt", sa.LargeBinary, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("milliseconds", Number, nullable=False),
        sa.Column("seal", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("space", "id"),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    op.drop_table("notice")
    op.drop_table("remote_bookmark")
    op.drop_table("remote")
    op.drop_table("arrival")
