"""Nobody's fault: the call is good, but the space or the store is not as the call expects.

Read again and try again, open it again, or ask whoever set a limit.
"""

from __future__ import annotations

from headish.errors.base import HeadishError


class Closed(HeadishError):
    """A store or database that was closed was used again."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(f"{what} is closed: open it again")


class RemovedSpace(HeadishError):
    """The space was removed while this store had it open; nothing was stored."""

    def __init__(self) -> None:
        super().__init__("the space of this store was removed; nothing was stored")


class QuotaExceeded(HeadishError):
    """The space may not hold so much; nothing was stored. ``what`` is turns or bytes.

    It may hold ``limit`` of them and holds ``used``; ``more`` were to be stored. Of several devices, ``device`` sent
    what does not fit.
    """

    def __init__(self, what: str, limit: int, used: int, more: int, device: str | None = None) -> None:
        self.what, self.limit, self.used, self.more, self.device = what, limit, used, more, device
        limited = f"the space is limited to {limit:,} {what.removesuffix('s') if limit == 1 else what}"
        if device is not None:
            limited = f"what {device} sent does not fit: {limited}"
        super().__init__(
            f"{limited}, has {used:,} and was given {more:,} more: nothing was stored; "
            f"'headish spaces limit' shows and changes its limits"
        )


class BookmarkMoved(HeadishError):
    """The bookmark is not where ``expect`` says: read again, try again.

    ``expected`` and ``actual`` are ids; None: no such bookmark.
    """

    def __init__(self, name: str, expected: str | None, actual: str | None) -> None:
        self.name, self.expected, self.actual = name, expected, actual
        where = f"it names {actual}" if actual else "there is no such bookmark"
        what = f"no longer names {expected}" if expected else "exists already"
        super().__init__(f"bookmark {name!r} {what}: {where}; read it again")


class BookmarkTaken(HeadishError):
    """The name belongs to another line of turns: moving it there would take it from turn ``turn``.

    Continue that one, choose another name, or force it.
    """

    def __init__(self, name: str, turn: str, *, is_copy: bool = False) -> None:
        self.name, self.turn = name, turn
        way_out = (
            "set another name here, and remove this one"
            if is_copy
            else f"continue {name!r} (-c {name}), choose another name, or take it (force=True, --force)"
        )
        where = f"{turn} in the other space" if is_copy else turn
        super().__init__(f"bookmark {name!r} names {where}, which this does not continue: {way_out}")


class KeyTaken(HeadishError):
    """Another turn or conversation of the space has this key.

    ``holder`` is the id of the turn, or the bookmark or first turn of the conversation; ``what`` then names it.
    """

    def __init__(self, key: str, holder: str, what: str = "") -> None:
        self.key, self.holder = key, holder
        advice = "which is another turn: give another key; a changed message takes KEY;2 and says supersedes="
        reason = f"belongs to {what} {holder!r}" if what else f"is that of {holder}, {advice}"
        super().__init__(f"the key {key!r} {reason}")


class RecordChanged(HeadishError):
    """An object, or the record of a conversation, does not have the revision that ``expect`` names: read again,
    try again.

    ``expected`` and ``actual`` are revisions; None: there is none.
    """

    def __init__(self, what: str, expected: int | None, actual: int | None) -> None:
        self.what, self.expected, self.actual = what, expected, actual
        now = f"it has revision {actual}" if actual else "it is not there"
        problem = f"has no longer revision {expected}" if expected else "exists already"
        super().__init__(f"{what} {problem}: {now}; read it again")
