"""The tokens with which programs may use a server of headish."""

import sqlalchemy as sa
from alembic import op

revision = "headish_0008_tokens"
down_revision = "headish_0007_calls"

NUMBER = sa.Integer().with_variant(sa.BigInteger(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "token",
        sa.Column("space", NUMBER, nullable=False),
        sa.Column("label", sa.LargeBinary, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
        sa.Column("rights", sa.String, nullable=False),
        sa.Column("milliseconds", NUMBER, nullable=False),
        sa.Column("expires", NUMBER),
        sa.PrimaryKeyConstraint("space", "label"),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    op.drop_table("token")
