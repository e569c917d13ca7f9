"""What can be known of the tables without SQLAlchemy: their revisions and their names."""

from __future__ import annotations

REVISIONS = ("headish_0001", "headish_0002", "headish_0003", "headish_0004", "headish_0005_search")
"""Every revision that this library can upgrade from, oldest first, and the one that it writes, last."""

REVISION = REVISIONS[-1]
"""The revision that this library reads and writes. A test keeps these equal to the migrations."""

TABLES = (
    "bookmark_log",
    "conversation",
    "counter",
    "definition",
    "erasure",
    "object",
    "payload",
    "record_log",
    "search",
    "space_log",
    "stream",
    "turn",
    "bookmark",
    "link",
    "stream_chunk",
)
"""The tables of every space, each after those that it refers to. A test keeps them equal to the schema."""
ALL_TABLES = ("space", *TABLES)
