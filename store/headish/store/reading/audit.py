"""``store.audit``: who wrote what, in the order of the commits, derived from rows that are stored anyway."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime

from headish.errors import InvalidArgument, shown
from headish.store.reading.follow import follow
from headish.store.space import Space
from headish.values.checks.doors import TEXT, Kind, door
from headish.values.results.changes import Change, DefinitionChange, ErasureChange, MoveChange, RecordChange, TurnChange
from headish.values.results.erasures import SCRUB
from headish.values.results.reports import Audited, Authored

MOMENT = Kind(lambda value: isinstance(value, datetime) and value.tzinfo is not None, "a datetime with a zone")


@door(since=MOMENT, until=MOMENT, author=TEXT)
def audit(
    space: Space,
    *,
    after: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    author: str | None = None,
    kinds: Collection[str] | None = None,
) -> Iterator[Audited]:
    """Who wrote what: a line for each change that ``follow`` gives, in the order of the commits, up to now.

    ``after`` is a cursor; ``since`` and ``until`` choose by the time when a change was stored, both inclusive.
    ``author`` chooses the changes of one author. ``kinds`` are those of ``follow``. The author is what
    ``Store.open(author=…)`` said, under the turn's seal: a claim. Replies, imports, moves that no turn made, and
    definitions have none.
    Cost: reads the whole feed after ``after``, in pages, each when it is reached.
    Raises: as ``follow``.
    """
    if since is not None and until is not None and since > until:
        raise InvalidArgument(f"since={shown(since.isoformat())} is behind until={shown(until.isoformat())}")
    changes = follow(space, after, wait=False, kinds=kinds)
    return _audited(changes, since, until, author)


def count_by_author(audited: Iterable[Audited]) -> list[Authored]:
    """Count what each author wrote, by name; changes without an author come last."""
    by_author: dict[str | None, Authored] = {}
    for each in audited:
        before = by_author.get(each.author, Authored(each.author, {}, each.time, each.time))
        counts = {**before.counts, each.kind: before.counts.get(each.kind, 0) + 1}
        first, last = min(before.first, each.time), max(before.last, each.time)
        by_author[each.author] = Authored(each.author, counts, first, last)
    return sorted(by_author.values(), key=lambda each: (each.author is None, each.author or ""))


def _audited(
    changes: Iterator[Change], since: datetime | None, until: datetime | None, author: str | None
) -> Iterator[Audited]:
    for change in changes:
        audited = _line(change)
        if audited is None or author not in (None, audited.author):
            continue
        if (since is None or audited.time >= since) and (until is None or audited.time <= until):
            yield audited


def _line(change: Change) -> Audited | None:
    match change:
        case TurnChange(turn=turn):
            reply = turn.meta.reply
            said_by = reply.get("model") or reply.get("provider")
            words = [
                turn.meta.type or turn.meta.role or "sequence",
                *([f"on {turn.meta.bookmark}"] if turn.meta.bookmark else []),
            ]
            author = turn.meta.system.get("author")
            return _audit(change, author, turn.id, " ".join(words), said_by if isinstance(said_by, str) else None)
        case MoveChange(name=name, old=old, new=new, was=was):
            return _audit(change, None, name, _moved(old, new, was))
        case RecordChange(subject=subject, revision=revision):
            what = "nothing is said of it any more" if revision is None else f"revision {revision} is said of it now"
            return _audit(change, None, subject, what)
        case DefinitionChange(of=of, name=name, number=number, removed=removed):
            return _audit(change, None, name, f"{of} {'removed' if removed else 'set'}, number {number} of its history")
        case ErasureChange(number=number, receipt=receipt):
            by, reason = receipt.get("by"), receipt.get("reason")
            what = f"erased: {reason}" if isinstance(reason, str) else "erased"
            if receipt.get("scope") == SCRUB:
                what = "what was erased before is off the disk"
            return _audit(change, by if isinstance(by, str) else None, str(number), what)
        case _:  # ``live`` and ``pulse`` change nothing
            return None


def _audit(
    change: TurnChange | MoveChange | RecordChange | DefinitionChange | ErasureChange,
    author: object,
    subject: str,
    what: str,
    said_by: str | None = None,
) -> Audited:
    author_name = author if isinstance(author, str) else None
    return Audited(change.cursor, change.time, change.kind, author_name, subject, what, said_by)


def _moved(old: str | None, new: str | None, was: str | None) -> str:
    if was is not None:
        return f"renamed from {was}"
    if new is None:
        return f"removed from {old}"
    return f"set on {new}" if old is None else f"moved from {old} to {new}"
