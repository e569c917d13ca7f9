"""The tables. This module executes nothing.

Every key begins with ``space``: it isolates tenants, and it is the column by which a distributed database spreads the
rows. ``space`` itself and Alembic's own table are exempt (rule R10, record layout).

Names and sealed JSON are bytes: PostgreSQL's ``jsonb`` reorders keys and its ``text`` refuses NUL. Ids are text in the
order of their bytes. ``place`` of a turn is ``(chain, pos)``: a chain's number is the ``seq`` of its first turn.
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
"""The spaces. Rarely written: a distributed database keeps a whole copy of it everywhere."""

space_log = _table("space_log")
"""The names that a space has had, in order (null: it was removed)."""

counter = _table("counter", with_rowid=True)
"""A row for each space; whoever writes holds its lock until the commit (rule R1, commit order).

``seq`` numbers the turns, ``change`` all else that a reader sees: moves of names that no turn made, definitions, what
is said of conversations, erasures. ``latest`` is the ``seq`` of the newest turn written here. A restore makes the 16
random bytes ``epoch`` anew; ``state`` says why the space takes no turns. Every append adds to ``roots``, ``heads`` and
``given_bytes``; ``bars`` counts the hashes that are barred. The limits are null where there are none."""

payload = _table("payload", with_rowid=True)
"""Large payloads by address, once per space (rule R28, small payloads). ``data`` is null after an erasure."""

turn = _table(
    "turn",
    UniqueConstraint("space", "id", name="turn_id"),
    UniqueConstraint("space", "seq", name="turn_seq"),
    CheckConstraint("pos >= 0", name="turn_pos"),
    with_rowid=True,
)
"""The turns. ``content_type`` null is a JSON array of blocks.

``data`` are the payload's bytes if they are few (``limits.INLINE_BYTES``); otherwise it is null, and ``payload`` has
them. ``key`` and ``supersedes`` are copies, for their indexes, of what ``system`` says under seal. Rows lie in commit
order, so that threads which take turns fill their pages."""

link = _table(
    "link",
    ForeignKeyConstraint(["space", "parent_chain", "parent_pos"], ["turn.space", "turn.chain", "turn.pos"]),
    Index("link_parent", "space", "parent_chain", "parent_pos"),
)
"""What the first turn of a chain continues, in order. Later turns of a chain continue the one before them."""

bookmark = _table("bookmark", ForeignKeyConstraint(["space", "chain", "pos"], ["turn.space", "turn.chain", "turn.pos"]))
"""The names and the turns that they name now. ``move`` and ``running`` are those of the last row of the log; ``recent``
orders lists, in Unix milliseconds. ``own`` is 1 where the turn itself says that it moved the name (``turn.head``): a
turn's names are those, and what the sparse index of the others has."""

bookmark_log = _table("bookmark_log")
"""Every move of every name (rule I6, every move is logged): where it pointed from then on (null: removed), and when, in
Unix milliseconds. ``seq`` is the space's when it moved; ``change`` numbers the moves that no turn made. ``was`` is the
name before, where the move is a rename: the rows of a log always say the newest name."""

definition = _table("definition")
"""What a space has under names beside its turns, each with its history: provider pointers (``kind`` is ``pointer``),
the tools of servers (``tools``), and the pointer of threads that name none (``default``). The highest ``number`` is the
current value; its ``hash`` is null if the name was removed. ``data`` is null where ``payload`` has the bytes."""

erasure = _table("erasure")
"""The receipts of erasures, each chained to the one before."""

conversation = _table("conversation")
"""What people say of a conversation. ``subject`` is its bookmark, or the id of its first turn
where no name lies there; ``data`` is JSON: title, tags and the application's own. ``seal`` is a hash of the row."""

record_log = _table("record_log")
"""When something was said of a conversation, or what was said came under another subject. It holds none of the words:
what was replaced is kept nowhere."""

arrival = _table("arrival")
"""Which turns came from elsewhere: a row for each page, with its first and last commit number. ``kind`` says whether
they may act here as one's own: ``own`` (a device that has the remote's key), ``plain`` (a remote without a key),
``stranger`` (a file, or a device had them from a stranger), ``copy`` (a stranger's, copied from another space).
``remote`` is the name of the remote, ``device`` the id of the device whose log they came in, both null for a file;
``by`` is the name of the device or file. ``seal`` is a hash of the row."""

remote = _table("remote")
"""Other places that hold the same space. ``settings`` and ``state`` are JSON: what was chosen, and how far this store
and each device there were when they were last seen. ``seal`` is a hash of the row. No key stands here."""

remote_bookmark = _table("remote_bookmark")
"""Where a device of a remote had its bookmarks when they were last read, and, as hashes of each field, what it said of
their conversations. A conversation without a name stands under the id of its first turn, with no ``turn``. ``seal`` is
a hash of the row."""

notice = _table("notice")
"""Receipts of erasures that were made in other stores, by id. ``state`` is ``applied``, ``pending`` or ``ignored``.
What an applied one lists is erased, also where it arrives later. ``seal`` is a hash of the row."""

signature = _table("signature", Index("signature_turn", "space", "turn"))
"""Who signed which turn (``kind`` is ``turn``) or all that leads to it (``thread``), numbered as they came. ``bytes``
are what ``ssh-keygen -Y sign`` gave, without its armour; ``key`` is the fingerprint of the key in them,
``milliseconds`` when the signer says that it was, ``remote`` the remote that it came from, empty where it was made
here, else ``/`` and the kind of an arrival. ``seal`` is a hash of the row."""

object = _table("object", with_rowid=True)
"""Values of adapters that are no turns. ``seal`` is a hash of the row."""

stream = _table("stream")
"""Answers that are arriving. ``about`` is JSON: what the answer continues, and its provider. ``expires`` is the end of
the writer's lease, in Unix milliseconds. ``outcome`` is null while it is open, then ``finished`` or ``recovered``, and
``turn`` is the turn that was stored."""

stream_chunk = _table("stream_chunk", ForeignKeyConstraint(["space", "stream"], ["stream.space", "stream.id"]))
"""The journal of an answer: its events as they came, JSON lines, several to a chunk. Gone once the turn is stored."""

call = _table("call", with_rowid=True)
"""What passed the gateway: a row for each request, and nothing that was said. ``milliseconds`` is when it came.
``lane`` is the key of its conversation, ``tip`` the last turn that it sent, ``answer`` the turn of its answer, and
``response`` the id that the provider gave that. ``data`` is JSON: status, usage, times, sizes, and how the request was
written where its turns do not say it. ``seal`` is a hash of the row. Without a rowid, SQLite would give nearly every
row a page of its own."""


def _sparse(name: str, table: Table, condition: str, *columns: str, unique: bool = False) -> Index:
    only = text(condition)
    listed = (table.c[each] for each in columns)
    return Index(name, *listed, unique=unique, sqlite_where=only, postgresql_where=only)


SHORT_DIGEST = func.substr(turn.c.digest, literal_column("1"), literal_column("8"))
turn_digest = Index("turn_digest", turn.c.space, SHORT_DIGEST)
"""Eight bytes tell turns apart as well as 32 do, in a quarter of the room; who looks a digest up compares the rest."""

turn_inherited = _sparse("turn_inherited", turn, "inherited IS NOT NULL", "space", "chain", "pos")
"""The turns that set options: a resolve of options reads these and no others."""

turn_key = _sparse("turn_key", turn, "key IS NOT NULL", "space", "key", unique=True)
turn_supersedes = _sparse("turn_supersedes", turn, "supersedes IS NOT NULL", "space", "supersedes")
conversation_key = _sparse("conversation_key", conversation, "key IS NOT NULL", "space", "key", unique=True)

# All names are in it. The condition keeps other statements from using it, because each move leaves a stale entry there.
bookmark_recent = _sparse("bookmark_recent", bookmark, "recent >= 0", "space", "recent")
bookmark_place = _sparse("bookmark_place", bookmark, "own = 0", "space", "chain", "pos")
"""The names that were set onto a turn. Those that moved with their turn stand in the turn."""

call_lane = _sparse("call_lane", call, "lane IS NOT NULL", "space", "lane", "id")
call_tip = _sparse("call_tip", call, "tip IS NOT NULL", "space", "tip")
call_answer = _sparse("call_answer", call, "answer IS NOT NULL", "space", "answer")
call_response = _sparse("call_response", call, "response IS NOT NULL", "space", "response")

bookmark_log_change = _sparse("bookmark_log_change", bookmark_log, "change IS NOT NULL", "space", "change")
definition_change = Index("definition_change", definition.c.space, definition.c.change)
erasure_change = Index("erasure_change", erasure.c.space, erasure.c.change)

search = _table("search", with_rowid=True)
"""How far the search index of a space is: it holds the words of every turn up to the commit number ``seq``, as the
``version`` of their rules makes them. ``emptied`` counts how often words were taken out again, so that whoever read a
turn before that does not bring them back. A row of the space 0 says that the database keeps no index."""

token = _table("token")
"""What opens the space to programs that ask a server of headish: the hash of a token, and its rights, with commas
between them. ``milliseconds`` is when it was made; ``expires``, in Unix milliseconds, is null where it does not. No
backup has these rows: what was put back lets nobody in."""
