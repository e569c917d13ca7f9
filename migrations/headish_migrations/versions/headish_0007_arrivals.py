"""From where turns came: a row for each page of them that arrived from another store."""

import sqlalchemy as sa
from alembic import op

revision = "headish_0007_arrivals"
down_revision = "headish_0006_seals"

Number = sa.Integer().with_variant(sa.BigInteger(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "arrival",
        sa.Column("space", Number, nullable=False),
        sa.Column("first", Number, nullable=False),
        sa.Column("last", Number, nullable=False),
        sa.Column("remote", sa.LargeBinary),
        sa.Column("by", sa.LargeBinary),
        sa.Column("milliseconds", Number, nullable=False),
        sa.Column("seal", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("space", "first"),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    op.drop_table("arrival")
