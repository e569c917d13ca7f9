"""Reports on a space: its counts, what ``verify`` found, and who signed what."""

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
