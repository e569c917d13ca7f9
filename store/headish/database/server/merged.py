"""Merge several changes into one statement of PostgreSQL, which makes none of them unless the first one changes a row.

The database runs each part of a ``WITH`` once. The other parts take their rows from the first one, so one statement is
both proof and change. It needs no answer in between, and is a transaction of its own.
"""

# ruff: noqa: S608 - the texts are put together here, and nothing that is given goes into them
from __future__ import annotations

import re
from functools import cache

from headish.database.query import POSTGRESQL, SECURED, Query

_VALUES = re.compile(r" VALUES \((.*)\)$")


@cache
def merge(proof: Query, others: tuple[Query, ...], *, is_confined: bool) -> str:
    """The SQL of all statements as one. Its only row is the number of rows that the proof changed.

    ``proof`` is an UPDATE; the others are UPDATEs, and INSERTs of one row. The placeholders are those of the
    statements, in order.
    """
    words = SECURED if is_confined else POSTGRESQL
    parts = [f"part{number} AS ({_behind_proof(words[each].sql)})" for number, each in enumerate(others)]
    return f"WITH proof AS ({words[proof].sql} RETURNING 1), {', '.join(parts)} SELECT count(*) FROM proof"


def _behind_proof(sql: str) -> str:
    # An INSERT takes its values from the rows of ``proof``, and an UPDATE asks for one: without a row, neither acts.
    if sql.startswith("INSERT"):
        return _VALUES.sub(r" SELECT \1 FROM proof", sql)
    return f"{sql} AND EXISTS (SELECT FROM proof)"
