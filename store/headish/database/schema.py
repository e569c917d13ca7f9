"""The tables. This module executes nothing.

Every key begins with ``space``: it isolates tenants, and it is the column by which a distributed database spreads the
rows. ``space`` itself and Alembic's own table are exempt (rule R10, record layout).

Names and sealed JSON are bytes: PostgreSQL's ``jsonb`` reorders keys and its ``text`` refuses NUL. Ids are text,
ordered by their bytes. ``seal`` is a hash of its row. The place of a turn is ``(chain, pos)``; the number of a chain is
the ``seq`` of its first turn.
"""

from __future__ import annotations

from typing import Any

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
    SmallInteger,
    String,
    Table,
    UniqueConstraint,
    func,
    literal_column,
    text,
)
from sqlalchemy.schema import SchemaItem
from sqlalchemy.types import TypeEngine

from headish.database.revisions import declared_columns

metadata = MetaData()

Number = Integer().with_variant(BigInteger(), "postgresql")
KINDS: dict[str, TypeEngine[Any]] = {
    "integer": Number,
    "small": SmallInteger(),
    "text": String(),
    "id": String(25).with_variant(String(25, collation="C"), "postgresql"),
    "blob": LargeBinary(),
}


def _table(name: str, *more: SchemaItem, with_rowid: bool = False) -> Table:
    """A table of every space: the column ``space``, and the columns that ``revisions`` lists for it."""
    listed = declared_columns(name)
    columns = [Column(each.name, KINDS[each.kind], nullable=each.nullable) for each in listed]
    key = PrimaryKeyConstraint("space", *(each.name for each in listed if each.in_key))
    space_column = Column("space", Number, nullable=False, autoincrement=False)
    return Table(name, metadata, space_column, *columns, key, *more, sqlite_with_rowid=with_rowid)


space = Table(
    "space",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=True),
    Column("name", LargeBinary, nullable=False, unique=True),
)
"""The spaces. It is rarely written, so a distributed database has a whole copy on every machine."""

space_log = _table("space_log")
"""The names that a space has had, in order (null: it was removed)."""

counter = _table("counter", with_rowid=True)
"""A row for each space. Every writer locks it until the commit (rule R1, commit order).

``seq`` is the last number of a turn, ``change`` the last number of any other change that a reader sees: moves of names
that no turn made, definitions, records of conversations, erasures. ``latest`` is the ``seq`` of the newest turn written
here. ``epoch`` is 16 random bytes, made anew by a restore and in a backup that is a database. ``state`` is the reason
why the space takes no turns.
Every append adds to ``roots``, ``heads`` and ``given_bytes``. ``bars`` is the number of barred hashes. The limits are
the quota of the space, null without one."""

payload = _table("payload", with_rowid=True)
"""Large payloads by address, once per space (rule R28, small payloads). ``data`` is null after an erasure."""

turn = _table(
    "turn",
    UniqueConstraint("space", "id", name="turn_id"),
    UniqueConstraint("space", "seq", name="turn_seq"),
    CheckConstraint("pos >= 0", name="turn_pos"),
    with_rowid=True,  # clustered by place instead, threads that grow in turns would leave pages half full
)
"""The turns. A null ``content_type`` means a JSON array of blocks.

``data`` is the payload up to a size of ``limits.INLINE_BYTES``; a larger one is in ``payload``, and ``data`` is null.
``key`` and ``supersedes`` are copies from the sealed ``system``, for their indexes. The rows are in commit order, so
that threads which grow in turns fill their pages."""

link = _table(
    "link",
    ForeignKeyConstraint(["space", "parent_chain", "parent_pos"], ["turn.space", "turn.chain", "turn.pos"]),
    Index("link_parent", "space", "parent_chain", "parent_pos"),
)
"""The parents of the first turn of each chain, in order. Every later turn of a chain continues the one before it."""

bookmark = _table("bookmark", ForeignKeyConstraint(["space", "chain", "pos"], ["turn.space", "turn.chain", "turn.pos"]))
"""The names, and the turns that they point at now. ``move`` and ``running`` are those of the last row of the log.
``recent`` orders lists, in Unix milliseconds. ``own`` is 1 if the turn itself has the name, because it moved it
(``turn.head``); the other names of a turn are found by the sparse index ``bookmark_place``."""

bookmark_log = _table("bookmark_log")
"""Every move of every name (rule I6, every move is logged): where it pointed from then on (null: removed), and when, in
Unix milliseconds. ``seq`` is the last number of a turn in the space at that time; ``change`` numbers the moves that no
turn made. If the move is a rename, ``was`` is the former name: all rows of a log have the newest name."""

definition = _table("definition")
"""The values under names that a space has beside its turns, each with its history: provider pointers (``kind`` is
``pointer``), the tools of servers (``tools``), and the pointer of threads that name none (``default``). The highest
``number`` is the current value; its ``hash`` is null if the name was removed. ``data`` is null if ``payload`` has the
bytes."""

erasure = _table("erasure")
"""The receipts of erasures, each chained to the one before."""

conversation = _table("conversation")
"""The records of conversations: what people say of them. ``subject`` is the bookmark of the conversation or, if it has
none, the id of its first turn. ``data`` is JSON: title, tags and the application's own. A field
that was cleared has its empty value there. If the record changed more than once, ``times`` says when each field and tag
changed last."""

record_log = _table("record_log")
"""The times at which the record of a conversation changed, or moved to another subject. It has no content: replaced
records are kept nowhere."""

arrival = _table("arrival")
"""The turns that came from elsewhere: a row for each page, with its first and last commit number. ``kind`` says whether
they may act here as one's own: ``own`` (a device that has the remote's key), ``plain`` (a remote without a key),
``stranger`` (a file, or a device had them from a stranger), ``copy`` (a stranger's, copied from another space).
``remote`` is the name of the remote, and ``device`` the id of the device in whose log they came, both null for a file.
``by`` is the name of the device or file."""

remote = _table("remote")
"""Other places that have the same space. ``settings`` and ``state`` are JSON: the chosen settings, and how far this
store and each device there were when they were last seen. A row has no key."""

remote_bookmark = _table("remote_bookmark")
"""The bookmarks of the devices of a remote when they were last read. ``record`` has hashes of the fields of the
conversation's record there. A conversation without a name is under the id of its first turn, and ``turn`` is null."""

notice = _table("notice")
"""Receipts of erasures that were made in other stores, by id. ``state`` is ``applied``, ``pending`` or ``ignored``.
Turns that an applied notice lists are erased, even if they arrive later."""

signature = _table("signature", Index("signature_turn", "space", "turn"))
"""Signatures of a turn (``kind`` is ``turn``) or of everything that leads to it (``thread``), numbered as they came.
``bytes`` is the output of ``ssh-keygen -Y sign`` without its armour, and ``key`` the fingerprint of the key in it.
``milliseconds`` is the time that the signer claims. ``remote`` is the remote that the signature came from; it is empty
if it was made here, otherwise ``/`` and the kind of an arrival."""

object = _table("object", with_rowid=True)
"""Values of adapters that are not turns."""

stream = _table("stream")
"""Answers that are arriving. ``about`` is JSON: the turns that the answer continues, and its provider. ``expires`` is
the end of the writer's lease, in Unix milliseconds. ``outcome`` is null while the stream is open, then ``finished`` or
``recovered``, and ``turn`` is the stored turn."""

stream_chunk = _table("stream_chunk", ForeignKeyConstraint(["space", "stream"], ["stream.space", "stream.id"]))
"""The journal of an answer: its events as they came, several JSON lines in a chunk. It is removed once the turn is
stored."""

call = _table("call", with_rowid=True)
"""A row for each request that passed through the gateway, without its content. ``milliseconds`` is the time when it
came. ``lane`` is the key of its conversation, ``tip`` the last turn that it sent, ``answer`` the turn of its answer,
and ``response`` the provider's id of the answer. ``data`` is JSON: status, usage, times, sizes, and the parts of the
request's form that its turns do not have. Without a rowid, SQLite would give nearly every row a page of its own."""


def _sparse(name: str, table: Table, condition: str, *columns: str, unique: bool = False) -> Index:
    only = text(condition)
    listed = (table.c[each] for each in columns)
    return Index(name, *listed, unique=unique, sqlite_where=only, postgresql_where=only)


SHORT_DIGEST = func.substr(turn.c.digest, literal_column("1"), literal_column("8"))
turn_digest = Index("turn_digest", turn.c.space, SHORT_DIGEST)
"""Eight bytes tell turns apart as well as 32 do, in a quarter of the room. A look-up compares the rest."""

turn_inherited = _sparse("turn_inherited", turn, "inherited IS NOT NULL", "space", "chain", "pos")
"""The turns that set options: a resolve of options reads these and no others."""

turn_key = _sparse("turn_key", turn, "key IS NOT NULL", "space", "key", unique=True)
turn_supersedes = _sparse("turn_supersedes", turn, "supersedes IS NOT NULL", "space", "supersedes")
conversation_key = _sparse("conversation_key", conversation, "key IS NOT NULL", "space", "key", unique=True)

# All names are in it. The condition keeps other statements from using it, because each move leaves a stale entry there.
bookmark_recent = _sparse("bookmark_recent", bookmark, "recent >= 0", "space", "recent")
bookmark_place = _sparse("bookmark_place", bookmark, "own = 0", "space", "chain", "pos")
"""The names that were set onto a turn, so that an ordinary append does not touch it: ``turn.head`` has the name that
moved with a turn."""

call_lane = _sparse("call_lane", call, "lane IS NOT NULL", "space", "lane", "id")
call_tip = _sparse("call_tip", call, "tip IS NOT NULL", "space", "tip")
call_answer = _sparse("call_answer", call, "answer IS NOT NULL", "space", "answer")
call_response = _sparse("call_response", call, "response IS NOT NULL", "space", "response")

bookmark_log_change = _sparse("bookmark_log_change", bookmark_log, "change IS NOT NULL", "space", "change")
definition_change = Index("definition_change", definition.c.space, definition.c.change)
erasure_change = Index("erasure_change", erasure.c.space, erasure.c.change)

search = _table("search", with_rowid=True)
"""How far the search index of a space is: it has the words of every turn up to the commit number ``seq``, by the
``version`` of the rules for words. ``emptied`` counts removals of words, so that a process that read a turn before one
does not bring them back. A row of the space 0 says that the database keeps no index."""

token = _table("token")
"""The tokens that open the space to programs which use a server of headish: the hash of each token, and its rights,
separated by commas. ``milliseconds`` is the time when it was made; ``expires``, in Unix milliseconds, is null if it
does not expire. No backup has these rows, so a restored space lets nobody in."""
