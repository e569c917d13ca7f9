"""The permissions of each role on each table of a secured database, as data, and functions that read them.

Only the owner may update or delete turns, links, moves of names and receipts, so the server itself protects what was
said (rule I1, turns never change). A few columns are exceptions: a rename gives the log of a bookmark its newest name,
and an erasure empties a turn, or removes a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from headish.database.file.fulltext import TEXT
from headish.database.revisions import TABLES

OWNER, READER, WRITER, ERASER = "headish_owner", "headish_reader", "headish_writer", "headish_eraser"
ROLES = (OWNER, READER, WRITER, ERASER)
"""The roles. None of them may log in; a login is a member of one."""
HELD = {READER: (READER,), WRITER: (READER, WRITER), ERASER: (READER, WRITER, ERASER), OWNER: ROLES}
"""The roles whose grants each role has. The owner needs no grant."""
EVERYWHERE = (*TABLES, TEXT)
"""Every table whose rows belong to a space."""
VERSION, MEMBER = "alembic_version", "member"
"""The other tables: the revision, and which login may enter which space."""
OURS = ", ".join(f"'{name}'" for name in ("space", *EVERYWHERE, VERSION, MEMBER))
"""All of our tables, as a list of SQL."""

# Not tokens: a login that may write one could give itself every right in the space, so only the owner may.
_INSERTED = {WRITER: tuple(table for table in EVERYWHERE if table not in ("erasure", "token")), ERASER: ("erasure",)}
_DELETED = {
    WRITER: ("bookmark", "object", "remote", "remote_bookmark", "stream", "stream_chunk", TEXT),
    ERASER: ("payload", "call", "signature"),
}
_UPDATED: dict[str, dict[str, tuple[str, ...]]] = {
    WRITER: {
        "counter": ("seq", "change", "latest", "roots", "heads", "given_bytes"),
        "bookmark": ("name", "chain", "pos", "move", "recent", "own", "running"),
        "bookmark_log": ("name",),
        "payload": ("size", "data"),
        "conversation": ("subject", "revision", "archived", "pinned", "key", "data", "milliseconds", "seal"),
        "notice": ("state", "milliseconds", "seal"),
        "object": ("revision", "data", "milliseconds", "seal"),
        "remote": ("url", "settings", "state", "milliseconds", "seal"),
        "remote_bookmark": ("turn", "record", "milliseconds", "seal"),
        "stream": ("about", "expires", "outcome", "turn"),
        "call": ("data", "seal"),
        "search": ("seq", "version", "emptied"),
    },
    ERASER: {
        "turn": ("attributes", "inherited", "system", "data", "head", "app", "erased", "key"),
        "payload": ("erased",),
        "counter": ("bars",),
        "bookmark_log": ("was",),
        "record_log": ("subject", "seal"),
    },
}


class Grant(NamedTuple):
    """A privilege of a role on a table, or on one column of it."""

    role: str
    privilege: str
    table: str
    column: str | None = None

    @property
    def words(self) -> str:
        """The privilege and its object in SQL, without the role."""
        column = f" ({self.column})" if self.column else ""
        return f'{self.privilege}{column} ON "{self.table}"'


def grants() -> Iterator[Grant]:
    """Every grant of a secured database."""
    for table in ("space", VERSION, *EVERYWHERE):
        yield Grant(READER, "SELECT", table)
    for privilege, tables_of in (("INSERT", _INSERTED), ("DELETE", _DELETED)):
        for role, tables in tables_of.items():
            yield from (Grant(role, privilege, table) for table in tables)
    for role, columns_of in _UPDATED.items():
        for table, columns in columns_of.items():
            yield from (Grant(role, "UPDATE", table, column) for column in columns)


# By patterns, not by a parser: they read only our own statements, in the one spelling that ``query`` gives them.
_WRITES = re.compile(r"\b(INSERT) INTO (\w+)|\b(DELETE) FROM (\w+)|\b(UPDATE) (\w+) SET (.*)", re.DOTALL)
_ON_CONFLICT = re.compile(r"\bDO UPDATE SET (.*)", re.DOTALL)
_LOCKS = re.compile(r"\bFROM (\w+)\b.* FOR (?:NO KEY )?(?:UPDATE|SHARE)", re.DOTALL)


def needs(sql: str) -> Iterator[tuple[str, str, str | None]]:
    """The privileges that a statement needs beside SELECT: ``(privilege, table, column)``."""
    write = _WRITES.search(sql)
    if write is None:
        # PostgreSQL wants UPDATE on the table for SELECT … FOR UPDATE as well.
        locked = _LOCKS.search(sql)
        if locked:
            yield "UPDATE", locked[1], None
        return
    if write[5]:
        yield from (("UPDATE", write[6], column) for column in _assigned(write[7]))
        return
    privilege, table = (write[1], write[2]) if write[1] else (write[3], write[4])
    yield privilege, table, None
    again = _ON_CONFLICT.search(sql)
    if again:
        yield from (("UPDATE", table, column) for column in _assigned(again[1]))


def _assigned(text: str) -> Iterator[str]:
    """The columns that a SET clause assigns, up to its WHERE."""
    depth, begins = 0, True
    for word in re.findall(r"[(),]|\w+|[^\w(),]+", text):
        if depth == 0 and word in ("WHERE", "RETURNING"):
            return
        if begins and word.strip():
            yield word
            begins = False
        # A comma inside of parentheses separates arguments, not assignments.
        depth += (word == "(") - (word == ")")
        begins = begins or (depth == 0 and word == ",")


def role_for(sql: str) -> str:
    """The role with the fewest rights that may run a statement."""
    needed = list(needs(sql))
    for role in (READER, WRITER, ERASER):
        granted = [each for each in grants() if each.role in HELD[role]]
        if all(any(_covers(each, *need) for each in granted) for need in needed):
            return role
    return OWNER


def _covers(grant: Grant, privilege: str, table: str, column: str | None) -> bool:
    return grant.privilege == privilege and grant.table == table and column in (None, grant.column)
