"""The revisions, names and columns of the tables, for code that does not import SQLAlchemy."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

REVISIONS = (
    "headish_0001",
    "headish_0002",
    "headish_0003",
    "headish_0004",
    "headish_0005_search",
    "headish_0006_seals",
    "headish_0007_calls",
    "headish_0008_tokens",
    "headish_0009_remotes",
    "headish_0010_signatures",
)
"""Every revision that this library can upgrade from, oldest first, and the one that it writes, last."""

REVISION = REVISIONS[-1]
"""The revision that this library reads and writes. A test keeps these equal to the migrations."""

_TABLES = {
    "space": "id* name:blob",
    "arrival": "first* last kind:text remote?:blob device?:text by?:blob milliseconds seal:blob",
    "bookmark_log": "name*:blob move* chain? pos? milliseconds seq change? running:blob was?:blob",
    "call": "id*:id milliseconds client:blob session?:blob lane?:blob tip?:id answer?:id response?:blob data:blob "
    "seal:blob",
    "conversation": "subject*:blob revision archived:small pinned:small key?:blob data:blob milliseconds seal:blob",
    "counter": "seq change latest epoch:blob state?:text roots heads given_bytes bars limit_turns? limit_bytes?",
    "definition": "kind*:text name*:blob number* hash?:blob data?:blob milliseconds seq change running:blob",
    "erasure": "number* change seq id:id receipt:blob before:blob hash:blob milliseconds",
    "notice": "id*:id remote:blob device:blob receipt:blob state:text milliseconds seal:blob",
    "object": "kind*:text key*:blob revision data:blob milliseconds seal:blob",
    "payload": "hash*:blob size data?:blob erased?",
    "record_log": "change* seq subject:blob milliseconds seal:blob",
    "remote": "name*:blob url:blob settings:blob state:blob milliseconds seal:blob",
    "remote_bookmark": "remote*:blob device*:blob name*:blob turn?:id record?:blob milliseconds seal:blob",
    "search": "seq version emptied",
    "signature": "number* turn:id kind:text key:text bytes:blob milliseconds remote:blob seal:blob",
    "space_log": "number* name?:blob milliseconds running:blob",
    "stream": "id*:id about:blob expires outcome?:text turn?:id",
    "token": "label*:blob hash:blob rights:text milliseconds expires?",
    "turn": "chain* pos* seq id:id role:text type?:text content_type?:text cache?:small attributes?:blob "
    "inherited?:blob system?:blob digest:blob hash:blob data?:blob seal:blob head?:blob app?:blob erased? "
    "key?:blob supersedes?:id",
    "bookmark": "name*:blob chain pos move recent own:small running:blob",
    "link": "chain* ordinal* parent_chain parent_pos",
    "stream_chunk": "stream*:id number* data:blob",
}
"""The columns of each table beside its space. ``*``: a column of the key. ``?``: may be null. ``:kind``: the type,
unless it is integer. A table comes after those that it refers to. schema.py builds the tables from this."""
ALL_TABLES = tuple(_TABLES)
TABLES = ALL_TABLES[1:]
"""The tables of every space."""
NEVER_COPIED = ("token",)
"""The tables that no backup has, because they say who may enter: a restore must let nobody in."""


_STORED_AS = {"id": "text", "small": "integer"}


class Column(msgspec.Struct, frozen=True, gc=False):
    """A column. ``kind`` is SQLite's type: integer, text or blob. A declared column may also be small or id."""

    name: str
    kind: str
    in_key: bool
    nullable: bool


def declared_columns(table: str) -> list[Column]:
    """The columns of a table beside its space, in order; the columns of its key are in the order of the key."""
    return [
        Column(name.rstrip("*?"), kind or "integer", name.endswith("*"), name.endswith("?"))
        for name, _, kind in (each.partition(":") for each in _TABLES[table].split())
    ]


def columns_of(table: str) -> list[Column]:
    """``declared_columns`` with SQLite's types."""
    return [replace(each, kind=_STORED_AS.get(each.kind, each.kind)) for each in declared_columns(table)]
