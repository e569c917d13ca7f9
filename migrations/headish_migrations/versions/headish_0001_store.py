"""Spaces, payloads, turns, links, bookmarks and their log.

A migration never imports headish, whose code changes: it must make the tables as they were then.
"""

import sqlalchemy as sa
from alembic import op

revision = "headish_0001"
down_revision = None

Number = sa.Integer().with_variant(sa.BigInteger(), "postgresql")
Id = sa.String(25).with_variant(sa.String(25, collation="C"), "postgresql")


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        # The numbers of payloads. SQLite has no sequences; its writers have the file to themselves.
        op.execute(sa.schema.CreateSequence(sa.Sequence("payload_number")))
    _create_spaces_and_payloads()
    _create_turns()
    _create_bookmarks()


def downgrade() -> None:
    for table in ("bookmark_log", "bookmark", "link", "turn", "payload", "space"):
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        op.execute(sa.schema.DropSequence(sa.Sequence("payload_number")))


def _create_spaces_and_payloads() -> None:
    op.create_table(
        "space",
        sa.Column("id", Number, primary_key=True, autoincrement=True),
        sa.Column("name", sa.LargeBinary, nullable=False, unique=True),
        sa.Column("seq", Number, nullable=False),
    )
    op.create_table(
        "payload",
        sa.Column("space", Number, nullable=False),
        sa.Column("number", Number, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
        sa.Column("size", Number, nullable=False),
        sa.Column("data", sa.LargeBinary),
        sa.PrimaryKeyConstraint("space", "number"),
        sa.UniqueConstraint("space", "hash", name="payload_hash"),
    )


def _create_turns() -> None:
    op.create_table(
        "turn",
        sa.Column("space", Number, nullable=False),
        sa.Column("chain", Number, nullable=False),
        sa.Column("pos", Number, nullable=False),
        sa.Column("seq", Number, nullable=False),
        sa.Column("id", Id, nullable=False),
        sa.Column("payload", Number, nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("seal", sa.LargeBinary, nullable=False),
        sa.Column("role", sa.String, nullable=False),
        sa.Column("type", sa.String),
        sa.Column("content_type", sa.String),
        sa.Column("head", sa.LargeBinary),
        sa.Column("cache", sa.SmallInteger),
        sa.Column("attributes", sa.LargeBinary),
        sa.Column("inherited", sa.LargeBinary),
        sa.Column("system", sa.LargeBinary),
        sa.Column("app", sa.LargeBinary),
        sa.PrimaryKeyConstraint("space", "chain", "pos"),
        sa.ForeignKeyConstraint(["space", "payload"], ["payload.space", "payload.number"]),
        sa.UniqueConstraint("space", "id", name="turn_id"),
        sa.UniqueConstraint("space", "seq", name="turn_seq"),
        sa.CheckConstraint("pos >= 0", name="turn_pos"),
        sqlite_with_rowid=False,
    )
    op.create_index("turn_digest", "turn", ["space", "digest"])
    op.create_table(
        "link",
        sa.Column("space", Number, nullable=False),
        sa.Column("chain", Number, nullable=False),
        sa.Column("ordinal", Number, nullable=False),
        sa.Column("parent_chain", Number, nullable=False),
        sa.Column("parent_pos", Number, nullable=False),
        sa.PrimaryKeyConstraint("space", "chain", "ordinal"),
        sa.ForeignKeyConstraint(["space", "parent_chain", "parent_pos"], ["turn.space", "turn.chain", "turn.pos"]),
        sqlite_with_rowid=False,
    )
    op.create_index("link_parent", "link", ["space", "parent_chain", "parent_pos"])


def _create_bookmarks() -> None:
    op.create_table(
        "bookmark",
        sa.Column("space", Number, nullable=False),
        sa.Column("name", sa.LargeBinary, nullable=False),
        sa.Column("chain", Number, nullable=False),
        sa.Column("pos", Number, nullable=False),
        sa.Column("move", Number, nullable=False),
        sa.PrimaryKeyConstraint("space", "name"),
        sa.ForeignKeyConstraint(["space", "chain", "pos"], ["turn.space", "turn.chain", "turn.pos"]),
        sqlite_with_rowid=False,
    )
    op.create_index("bookmark_place", "bookmark", ["space", "chain", "pos"])
    op.create_table(
        "bookmark_log",
        sa.Column("space", Number, nullable=False),
        sa.Column("name", sa.LargeBinary, nullable=False),
        sa.Column("move", Number, nullable=False),
        sa.Column("chain", Number),
        sa.Column("pos", Number),
        sa.Column("milliseconds", Number, nullable=False),
        sa.PrimaryKeyConstraint("space", "name", "move"),
        sqlite_with_rowid=False,
    )
