"""Signatures of turns and threads."""

import sqlalchemy as sa
from alembic import op

revision = "headish_0010_signatures"
down_revision = "headish_0009_remotes"

Number = sa.Integer().with_variant(sa.BigInteger(), "postgresql")
Id = sa.String(25).with_variant(sa.String(25, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "signature",
        sa.Column("space", Number, nullable=False),
        sa.Column("number", Number, nullable=False),
        sa.Column("turn", Id, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("key", sa.String, nullable=False),
        sa.Column("bytes", sa.LargeBinary, nullable=False),
        sa.Column("milliseconds", Number, nullable=False),
        sa.Column("remote", sa.LargeBinary, nullable=False),
        sa.Column("seal", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("space", "number"),
        sqlite_with_rowid=False,
    )
    op.create_index("signature_turn", "signature", ["space", "turn"])


def downgrade() -> None:
    op.drop_table("signature")
