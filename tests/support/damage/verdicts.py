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
ORDER = Listed("two turns of different branches are in order either way; a seal does not cover commit numbers")
RENAMED = Listed("a running hash does not cover the name, so that what is renamed keeps its history")
BESIDE = Listed("no hash covers where a change stands among others, and these are in order either way")
TWIN = Listed("a log names a turn by its digest, so one that says the same can stand in its place")
GONE = Listed("a program may remove its objects, and a removal leaves no more than a revision")
BELONGS = Listed("an object names no turn, so it fits into any space; a seal names none, because spaces are moved")
REPLACED = Listed("what is said of a conversation replaces what was said before, and goes with its name")
RANDOM = Listed("it is random")
CHOSEN = Listed("people set it, and nothing derives from it")
PASSING = Listed("a stream is forgotten a day after its turn is stored, and carries no seal")
AWAY = Listed("a seal names no space, because spaces are moved, and the row names nothing of its space")
FORGOTTEN = Listed("it goes with the turns that it names, or with its remote, and nothing else names it")
TOKEN = Listed("a token has no seal: whoever can write the table can make a token anyway")
EMPTIED = Listed("it tells a search that is indexing what was erased meanwhile, and nothing derives from it")
UNWRITTEN = Listed("nothing writes it yet")
"""A test fails once something does."""


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
        "name": SEALED,
    },
    "space_log": {
        "space": KEY,
        "number": KEY,
        "name": SEALED,
        "milliseconds": SEALED,
        "running": SEALED,
    },
    "counter": {
        "space": Verdicts(null=NUMBERED),
        "seq": SEALED,
        "change": SEALED,
        "latest": SEALED,
        "epoch": Verdicts(flip=RANDOM, swap=RANDOM),
        "state": SEALED,
        "roots": SEALED,
        "heads": SEALED,
        "given_bytes": SEALED,
        "bars": SEALED,
        "limit_turns": Verdicts(flip=CHOSEN, null=CHOSEN, swap=CHOSEN),
        "limit_bytes": Verdicts(flip=CHOSEN, null=CHOSEN, swap=CHOSEN),
    },
    "payload": {
        "space": SEALED,
        "hash": SEALED,
        "size": SEALED,
        "data": SEALED,
        "erased": SEALED,
    },
    "turn": {
        "space": SEALED,
        "chain": SEALED,
        "pos": SEALED,
        "seq": Verdicts(swap=ORDER),
        "id": SEALED,
        "role": SEALED,
        "type": SEALED,
        "content_type": SEALED,
        "cache": SEALED,
        "attributes": SEALED,
        "inherited": SEALED,
        "system": SEALED,
        "digest": SEALED,
        "hash": SEALED,
        "data": SEALED,
        "seal": SEALED,
        "head": SEALED,
        "app": SEALED,
        "erased": SEALED,
        "key": SEALED,
        "supersedes": SEALED,
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
        "recent": SEALED,
        "own": SEALED,
        "running": SEALED,
    },
    "bookmark_log": {
        "space": KEY,
        "name": KEY,
        "move": KEY,
        "chain": Verdicts(flip=TWIN, swap=TWIN),
        "pos": SEALED,
        "milliseconds": SEALED,
        "seq": Verdicts(flip=BESIDE),
        "change": Verdicts(swap=BESIDE),
        "running": SEALED,
        "was": SEALED,
    },
    "definition": {
        "space": KEY,
        "kind": KEY,
        "name": Verdicts(flip=RENAMED, null=REFUSED, swap=RENAMED),
        "number": KEY,
        "hash": SEALED,
        "data": SEALED,
        "milliseconds": SEALED,
        "seq": Verdicts(flip=BESIDE),
        "change": Verdicts(swap=BESIDE),
        "running": SEALED,
    },
    "erasure": {
        "space": KEY,
        "number": KEY,
        **dict.fromkeys(("change", "seq", "id", "receipt", "before", "hash", "milliseconds"), SEALED),
    },
    "conversation": {
        "space": KEY,
        "subject": KEY,
        **dict.fromkeys(("revision", "archived", "pinned", "key", "data", "milliseconds", "seal"), SEALED),
    },
    "record_log": {
        "space": KEY,
        "change": KEY,
        **dict.fromkeys(("seq", "subject", "milliseconds", "seal"), SEALED),
    },
    "object": {
        "space": Verdicts(flip=BELONGS, swap=BELONGS),
        **dict.fromkeys(("kind", "key", "revision", "data", "milliseconds", "seal"), SEALED),
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
    "arrival": {
        "space": KEY,
        "first": KEY,
        **dict.fromkeys(("last", "kind", "remote", "device", "by", "milliseconds", "seal"), SEALED),
    },
    "remote": {
        "space": Verdicts(flip=AWAY, null=REFUSED, swap=AWAY),
        "name": KEY,
        **dict.fromkeys(("url", "settings", "state", "milliseconds", "seal"), SEALED),
    },
    "remote_bookmark": {
        "space": Verdicts(flip=AWAY, null=REFUSED, swap=AWAY),
        **dict.fromkeys(("remote", "device", "name"), KEY),
        **dict.fromkeys(("turn", "record", "milliseconds", "seal"), SEALED),
    },
    "notice": {
        "space": Verdicts(flip=AWAY, null=REFUSED, swap=AWAY),
        "id": KEY,
        **dict.fromkeys(("remote", "device", "receipt", "state", "milliseconds", "seal"), SEALED),
    },
    "signature": {
        "space": KEY,
        "number": KEY,
        **dict.fromkeys(("turn", "kind", "key", "bytes", "milliseconds", "remote", "seal"), SEALED),
    },
    "call": {
        "space": Verdicts(flip=AWAY, swap=AWAY),
        **dict.fromkeys(
            ("id", "milliseconds", "client", "session", "lane", "tip", "answer", "response", "data", "seal"),
            SEALED,
        ),
    },
    "token": {
        "space": Verdicts(flip=TOKEN, null=REFUSED, swap=TOKEN),
        "label": Verdicts(flip=TOKEN, null=REFUSED, swap=TOKEN),
        **dict.fromkeys(("hash", "rights", "milliseconds"), Verdicts(flip=TOKEN, swap=TOKEN)),
        "expires": Verdicts(flip=TOKEN, null=TOKEN, swap=TOKEN),
    },
    "search": {
        "space": Verdicts(null=NUMBERED),
        "seq": SEALED,
        "version": Verdicts(swap=UNWRITTEN),
        "emptied": Verdicts(flip=EMPTIED, swap=EMPTIED),
    },
}
ROWS: dict[str, Verdict] = {
    "space": VERIFY,
    "space_log": VERIFY,
    "counter": VERIFY,
    "payload": VERIFY,
    "turn": VERIFY,
    "link": VERIFY,
    "bookmark": VERIFY,
    "bookmark_log": VERIFY,
    "definition": VERIFY,
    "erasure": VERIFY,
    "conversation": REPLACED,
    "record_log": VERIFY,
    "object": GONE,
    "stream": PASSING,
    "stream_chunk": PASSING,
    "arrival": VERIFY,
    "token": TOKEN,
    **dict.fromkeys(("remote", "remote_bookmark", "notice", "signature", "call"), FORGOTTEN),
    "search": VERIFY,
}
"""The verdicts on rows that are deleted."""


def verdict(table: str, column: str | None, kind: str) -> Verdict:
    """The verdict on a kind of damage; ``column`` is None where whole rows are deleted."""
    return ROWS[table] if column is None else getattr(COLUMNS[table][column], kind)
