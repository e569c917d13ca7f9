"""A file of checkpoints as LangGraph's own saver writes it: messages are extensions of msgpack. Used by the tests of
the importer, which need no framework for it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import msgspec

from support.langchain.messages import Fields


def write_checkpoint(path: Path, messages: Iterable[tuple[str, Fields]]) -> Path:
    """A file with one checkpoint of the thread ``t``, which holds the messages."""
    state = {"ts": "2026-01-01T00:00:00Z", "channel_values": {"messages": [_extension(*each) for each in messages]}}
    columns = "thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata"
    with closing(sqlite3.connect(path)) as theirs, theirs:
        theirs.execute(f"CREATE TABLE checkpoints ({columns})")
        data = msgspec.msgpack.encode(state)
        theirs.execute("INSERT INTO checkpoints VALUES ('t', '', '1', NULL, 'msgpack', ?, '{}')", (data,))
    return path


def _extension(kind: str, fields: Fields) -> msgspec.msgpack.Ext:
    place = ["langchain_core.messages", "Message", {"type": kind, **fields}, "model_validate_json"]
    return msgspec.msgpack.Ext(5, msgspec.msgpack.encode(place))
