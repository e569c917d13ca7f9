"""Reports on a space: its counts and limits, what ``verify`` found, who wrote what, and who signed what."""

from __future__ import annotations

from datetime import datetime

from headish.values.ids import TurnId
from headish.values.results.plain import PlainResult


class Stats(PlainResult, frozen=True):
    """Counts of one space; sizes in bytes.

    ``payload_bytes`` is what the turns say, before equal large payloads are shared; ``database_bytes`` is the whole
    database's.
    """

    turns: int
    roots: int
    heads: int
    bookmarks: int
    payload_bytes: int
    database_bytes: int


class Problem(PlainResult, frozen=True):
    """One thing that ``verify`` found: which record, and what disagrees."""

    subject: str
    what: str


class Report(PlainResult, frozen=True):
    """What ``verify`` checked and found; ``problems`` is empty if the space is in order.

    ``payloads`` counts the large ones, which are stored apart from their turns.
    """

    turns: int
    payloads: int
    bookmarks: int
    problems: tuple[Problem, ...]


class Signed(PlainResult, frozen=True):
    """A signature that was made: of which turn, its ``scope`` (``turn``, or ``thread``: all that leads to it, ``turns``
    in number), the fingerprint of the key, and when."""

    turn: TurnId
    scope: str
    key: str
    time: datetime
    turns: int


class JudgedSignature(PlainResult, frozen=True):
    """A signature and what it proves. ``verdict`` is ``good``: ``name`` signed it; ``unknown``: it is good, and nobody
    says whose key it is; or ``bad``, for a ``reason``. ``time`` is when it was made, as the signer says."""

    turn: TurnId
    scope: str
    key: str
    time: datetime
    verdict: str
    name: str | None = None
    reason: str | None = None

    @property
    def words(self) -> str:
        """In a line: the verdict, the name, and since when. Neither is checked for what steers a terminal."""
        covers = "this turn and all before it" if self.scope == "thread" else "this turn"
        if self.verdict == "bad":
            return f"bad signature of {covers}: {self.reason}"
        who = self.name if self.verdict == "good" else f"unknown key {self.key}"
        return f"good signature of {covers}, {who}, since {self.time:%Y-%m-%d %H:%MZ}"


class Audited(PlainResult, frozen=True):
    """One change of a space, in one line.

    ``author`` is what the writer said of itself, None where nobody did: nothing proves it. ``subject`` is the turn's
    id, the bookmark, the subject of the conversation, the pointer or server, or the number of the erasure. ``what`` is
    in words. ``said_by`` is the model, or else the provider, of a turn that is its reply.
    """

    cursor: str
    time: datetime
    kind: str
    author: str | None
    subject: str
    what: str
    said_by: str | None = None


class Authored(PlainResult, frozen=True):
    """What one author wrote: how many changes of each kind, and when the first and the last."""

    author: str | None
    counts: dict[str, int]
    first: datetime
    last: datetime


class Quota(PlainResult, frozen=True):
    """What a space may hold, and what it holds. A limit is None if there is none.

    ``turns`` counts every turn that was stored, ``bytes`` what the payloads of these turns add up to as they were
    given, however often the same bytes came. An erasure gives nothing back.
    """

    limit_turns: int | None
    limit_bytes: int | None
    turns: int
    bytes: int
