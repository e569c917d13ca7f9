"""What sees each damage to each column: the table that tests/corruption holds, and docs/reference/damage.md shows.

A new column needs a line here, or a test fails. Where several rows can be damaged in a way, the verdict is that of the
damage that is hardest to see.
"""

from __future__ import annotations

from typing import NamedTuple


class Seen(NamedTuple):
    """Something sees every such damage."""

    by: str


class Listed(NamedTuple):
    """Nothing sees some such damage, and why that is so."""

    reason: str


Verdict = Seen | Listed

VERIFY = Seen("verify")
"""``verify`` reports a problem that names it."""
READING = Seen("reading")
"""``verify`` may not, but whoever reads it gets a named error."""

REFUSED = Listed("the database itself keeps no NULL in a key")
NUMBERED = Listed("SQLite itself numbers a space that has no number")
UNSEALED = Listed("no seal yet: the running hash over logs, definitions and names of spaces is not kept")
CLOCK = Listed("no seal yet: only the clock knew the time, and the running hash over the log is not kept")
ORDER = Listed("two turns of different branches are in order either way; a seal does not cover commit numbers")
PASSING = Listed("a stream is forgotten a day after its turn is stored, and carries no seal")
UNUSED = Listed("the row of a removed space is all that is left of it, so nothing refers to it")


class Verdicts(NamedTuple):
    """The verdicts on a column: another value of the type, NULL, another type, and the values of two rows swapped."""

    flip: Verdict = VERIFY
    null: Verdict = VERIFY
    type: Verdict = VERIFY
    swap: Verdict = VERIFY


SEALED = Verdicts()
KEY = Verdicts(null=REFUSED)

COLUMNS: dict[str, dict[str, Verdicts]] = {
    "space": {
        "id": Verdicts(null=NUMBERED),
        "name": Verdicts(flip=READING, swap=UNSEALED),
        "seq": SEALED,
    },
    "payload": {
        "space": SEALED,
        "number": Verdicts(swap=UNSEALED),
        "hash": SEALED,
        "size": SEALED,
        "data": SEALED,
    },
    "turn": {
        "space": KEY,
        "chain": KEY,
        "pos": KEY,
        "seq": Verdicts(swap=ORDER),
        "id": SEALED,
        "payload": SEALED,
        "digest": SEALED,
        "seal": SEALED,
        "role": SEALED,
        "type": SEALED,
        "content_type": SEALED,
        "head": SEALED,
        "cache": SEALED,
        "attributes": SEALED,
        "inherited": SEALED,
        "system": SEALED,
        "app": SEALED,
    },
    "link": {
        "space": KEY,
        "chain": KEY,
        "ordinal": KEY,
        "parent_chain": SEALED,
        "parent_pos": SEALED,
    },
    "bookmark": {
        "space": KEY,
        "name": KEY,
        "chain": SEALED,
        "pos": SEALED,
        "move": SEALED,
    },
    "bookmark_log": {
        "space": KEY,
        "name": Verdicts(null=REFUSED, swap=UNSEALED),
        "move": Verdicts(null=REFUSED, swap=UNSEALED),
        "chain": Verdicts(flip=UNSEALED, swap=UNSEALED),
        "pos": Verdicts(flip=UNSEALED, swap=UNSEALED),
        "milliseconds": Verdicts(flip=CLOCK, swap=CLOCK),
    },
    "definition": {
        "space": KEY,
        "kind": KEY,
        "name": Verdicts(flip=UNSEALED, null=REFUSED, swap=UNSEALED),
        "number": Verdicts(null=REFUSED, swap=UNSEALED),
        "payload": Verdicts(flip=UNSEALED, null=UNSEALED, swap=UNSEALED),
        "milliseconds": Verdicts(flip=CLOCK, swap=CLOCK),
    },
    "stream": {
        "space": KEY,
        "id": Verdicts(flip=PASSING, null=REFUSED, swap=PASSING),
        "about": Verdicts(flip=PASSING, swap=PASSING),
        "expires": Verdicts(flip=PASSING, swap=PASSING),
        "outcome": Verdicts(flip=PASSING, swap=PASSING),
        "turn": Verdicts(flip=PASSING, swap=PASSING),
    },
    "stream_chunk": {
        "space": KEY,
        "stream": KEY,
        "number": Verdicts(null=REFUSED, swap=PASSING),
        "data": Verdicts(flip=PASSING, swap=PASSING),
    },
}
ROWS: dict[str, Verdict] = {
    "space": UNUSED,
    "payload": VERIFY,
    "turn": VERIFY,
    "link": VERIFY,
    "bookmark": VERIFY,
    "bookmark_log": VERIFY,
    "definition": UNSEALED,
    "stream": PASSING,
    "stream_chunk": PASSING,
}
"""The verdicts on rows that are deleted."""


def verdict(table: str, column: str | None, kind: str) -> Verdict:
    """The verdict on a kind of damage; ``column`` is None where whole rows are deleted."""
    return ROWS[table] if column is None else getattr(COLUMNS[table][column], kind)
