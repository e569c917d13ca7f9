"""Signatures of turns, as they were made and as they were judged."""

from __future__ import annotations

from datetime import datetime

from headish.values.ids import TurnId
from headish.values.results.plain import PlainResult


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
