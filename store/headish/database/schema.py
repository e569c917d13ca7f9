"""The tables. This module executes nothing.

Every key begins with ``space``: it isolates tenants, and it is the column by which a distributed database spreads the
rows. ``space`` itself and Alembic's own table are exempt (rule R10, record layout).

Names and sealed JSON are bytes: PostgreSQL's ``jsonb`` reorders keys and its ``text`` refuses NUL. Ids are text in the
order of their bytes. ``place`` of a turn is ``(chain, pos)``: a chain's number is the ``seq`` of its first turn.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Sequence,
    SmallInteger,
    String,
    Table,
    UniqueConstraint,
    text,
)

REVISIONS = ("headish_0001", "headish_0002", "headish_0003")
"""Every revision that this library can upgrade from, oldest first, and the one that it writes, last."""

REVISION = REVISIONS[-1]
"""The revision that this library reads and writes. A test keeps these equal to the migrations."""

metadata = MetaData()

Id = String(25).with_variant(String(25, collation="C"), "postgresql")
Number = Integer().with_variant(BigInteger(), "postgresql")

payload_number = Sequence("payload_number", metadata=metadata)
"""Numbers payloads on PostgreSQL. SQLite has one writer at a time and counts on from the largest."""

space = Table(
    "space",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=True),
    Column("name", LargeBinary, nullable=False, unique=True),
    Column("seq", Number, nullable=False),
)
"""The spaces. ``seq`` is the last commit number given out; its row lock is what makes commits come in order (rule R1,
commit order)."""

payload = Table(
    "payload",
    metadata,
    Column("space", Number, nullable=False),
    Column("number", Number, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    Column("size", Number, nullable=False),
    Column("data", LargeBinary),
    PrimaryKeyConstraint("space", "number"),
    UniqueConstraint("space", "hash", name="payload_hash"),
)
"""Payload bytes by address, once per space. ``data`` is null after an erasure; the address stays."""

turn = Table(
    "turn",
    metadata,
    Column("space", Number, nullable=False),
    Column("chain", Number, nullable=False),
    Column("pos", Number, nullable=False),
    Column("seq", Number, nullable=False),
    Column("id", Id, nullable=False),
    Column("payload", Number, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("seal", LargeBinary, nullable=False),
    Column("role", String, nullable=False),
    Column("type", String),
    Column("content_type", String),
    Column("head", LargeBinary),
    Column("cache", SmallInteger),
    Column("attributes", LargeBinary),
    Column("inherited", LargeBinary),
    Column("system", LargeBinary),
    Column("app", LargeBinary),
    PrimaryKeyConstraint("space", "chain", "pos"),
    ForeignKeyConstraint(["space", "payload"], ["payload.space", "payload.number"]),
    UniqueConstraint("space", "id", name="turn_id"),
    UniqueConstraint("space", "seq", name="turn_seq"),
    CheckConstraint("pos >= 0", name="turn_pos"),
    Index("turn_digest", "space", "digest"),
    sqlite_with_rowid=False,
)
"""The turns. A linear thread is one clustered range. ``content_type`` null is a JSON array of blocks."""

link = Table(
    "link",
    metadata,
    Column("space", Number, nullable=False),
    Column("chain", Number, nullable=False),
    Column("ordinal", Number, nullable=False),
    Column("parent_chain", Number, nullable=False),
    Column("parent_pos", Number, nullable=False),
    PrimaryKeyConstraint("space", "chain", "ordinal"),
    ForeignKeyConstraint(["space", "parent_chain", "parent_pos"], ["turn.space", "turn.chain", "turn.pos"]),
    Index("link_parent", "space", "parent_chain", "parent_pos"),
    sqlite_with_rowid=False,
)
"""What the first turn of a chain continues, in order. Later turns of a chain continue the one before them."""

bookmark = Table(
    "bookmark",
    metadata,
    Column("space", Number, nullable=False),
    Column("name", LargeBinary, nullable=False),
    Column("chain", Number, nullable=False),
    Column("pos", Number, nullable=False),
    Column("move", Number, nullable=False),
    PrimaryKeyConstraint("space", "name"),
    ForeignKeyConstraint(["space", "chain", "pos"], ["turn.space", "turn.chain", "turn.pos"]),
    Index("bookmark_place", "space", "chain", "pos"),
    sqlite_with_rowid=False,
)
"""The names and the turns that they name now. ``move`` is the number of the last move in the log."""

bookmark_log = Table(
    "bookmark_log",
    metadata,
    Column("space", Number, nullable=False),
    Column("name", LargeBinary, nullable=False),
    Column("move", Number, nullable=False),
    Column("chain", Number),
    Column("pos", Number),
    Column("milliseconds", Number, nullable=False),
    PrimaryKeyConstraint("space", "name", "move"),
    sqlite_with_rowid=False,
)
"""Every move of every name (rule I6, every move is logged): where it pointed from then on (null: removed), and when, in
Unix milliseconds."""

definition = Table(
    "definition",
    metadata,
    Column("space", Number, nullable=False),
    Column("kind", String, nullable=False),
    Column("name", LargeBinary, nullable=False),
    Column("number", Number, nullable=False),
    Column("payload", Number),
    Column("milliseconds", Number, nullable=False),
    PrimaryKeyConstraint("space", "kind", "name", "number"),
    ForeignKeyConstraint(["space", "payload"], ["payload.space", "payload.number"]),
    sqlite_with_rowid=False,
)
"""What a space has under names beside its turns, each with its history: provider pointers (``kind`` is ``pointer``) and
the tools of servers (``tools``). The highest ``number`` is the current value; its ``payload`` is null if the name was
removed."""

stream = Table(
    "stream",
    metadata,
    Column("space", Number, nullable=False),
    Column("id", Id, nullable=False),
    Column("about", LargeBinary, nullable=False),
    Column("expires", Number, nullable=False),
    Column("outcome", String),
    Column("turn", Id),
    PrimaryKeyConstraint("space", "id"),
    sqlite_with_rowid=False,
)
"""Answers that are arriving. ``about`` is JSON: what the answer continues, and its provider. ``expires`` is the end of
the writer's lease, in Unix milliseconds. ``outcome`` is null while it is open, then ``finished`` or ``recovered``, and
``turn`` is the turn that was stored."""

stream_chunk = Table(
    "stream_chunk",
    metadata,
    Column("space", Number, nullable=False),
    Column("stream", Id, nullable=False),
    Column("number", Number, nullable=False),
    Column("data", LargeBinary, nullable=False),
    PrimaryKeyConstraint("space", "stream", "number"),
    ForeignKeyConstraint(["space", "stream"], ["stream.space", "stream.id"]),
    sqlite_with_rowid=False,
)
"""The journal of an answer: its events as they came, JSON lines, several to a chunk. Gone once the turn is stored."""

turn_inherited = Index(
    "turn_inherited",
    turn.c.space,
    turn.c.chain,
    turn.c.pos,
    sqlite_where=text("inherited IS NOT NULL"),
    postgresql_where=text("inherited IS NOT NULL"),
)
"""The turns that set options: a resolve of options reads these and no others."""
