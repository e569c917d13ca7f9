"""What went into a bundle, and what arrived from one."""

from __future__ import annotations

from headish.values.ids import TurnId
from headish.values.results.plain import PlainResult

MADE, MOVED, SAME, AHEAD = "made", "moved", "same", "ahead"
DIVERGED, UNKNOWN, REFUSED, REMOVED = "diverged", "unknown", "refused", "removed"
"""What became of a name that arrived: it is new here, went forward, or is where it was; here it is further; the two
sides go apart; its turn did not come; it is no name that may be given here; a device has it no more."""


class Bundled(PlainResult, frozen=True):
    """A bundle that was written: how many turns, receipts of erasures and names are in it, its size, and ``cursor``,
    behind which the next one begins. ``paths`` counts the documents that say where they lay on this machine."""

    path: str
    turns: int
    receipts: int
    names: int
    size_bytes: int
    cursor: str
    paths: int = 0


class BundleChecked(PlainResult, frozen=True):
    """A bundle that is whole. ``turns`` are in it; ``proven`` of them derive from what is in it alone, the others
    continue ``requires``."""

    path: str
    turns: int
    proven: int
    receipts: int
    names: int
    requires: tuple[TurnId, ...]


class ArrivedName(PlainResult, frozen=True):
    """A name that arrived, the turn that it names there, and what became of it here: one of ``made``, ``moved``,
    ``same``, ``ahead``, ``diverged``, ``unknown``, ``refused`` and ``removed``. Of one that diverged: how many turns
    only this side has, and how many only the other."""

    name: str
    turn: TurnId
    outcome: str
    here: int = 0
    there: int = 0


class Applied(PlainResult, frozen=True):
    """What a bundle brought: ``stored`` turns are new here, ``known`` were here already; names, and what is said of so
    many conversations."""

    stored: int
    known: int
    names: tuple[ArrivedName, ...] = ()
    records: int = 0
