"""Several changes as one statement of PostgreSQL, which makes none of them unless the first one changed a row.

The database runs each part of a ``WITH`` once. What it inserts or updates it takes from the rows of the first part, so
that one statement is proof and change: it needs no answer in between, and is a transaction of its own.
"""

# ruff: noqa: S608 - the texts are put together here, and nothing that is given goes into them
from __future__ import annotations

import re
from functools import cache

from headish.database.query import POSTGRESQL, SECURED, Query

_VALUES = re.compile(r" VALUES \((.*)\)$")


@cache
def merge(proof: Query, others: tuple[Query, ...], *, is_confined: bool) -> str:
    """The SQL of the statements as one: its only row says how many rows the ``proof`` changed. Its placeholders are
    those of the statements, in order. ``proof`` is an UPDATE; the others are INSERTs of a row, and UPDATEs."""
    words = SECURED if is_confined else POSTGRESQL
    parts = [f"part{number} AS ({_behind_proof(words[each].sql)})" for number, each in enumerate(others)]
    return f"WITH proof AS ({words[proof].sql} RETURNING 1), {', '.join(parts)} SELECT count(*) FROM proof"


def _behind_proof(sql: str) -> str:
    if sql.startswith("INSERT"):
        return _VALUES.sub(r" SELECT \1 FROM proof", sql)
    return f"{sql} AND EXISTS (SELECT FROM proof)"
