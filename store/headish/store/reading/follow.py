"""``store.follow``: every change of a space, once and in the order of the commits; ``store.position``, its end, and
``store.at_least``, reads that have seen it."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from copy import copy
from typing import Any, NamedTuple, TypeVar

import msgspec

from headish.errors import CorruptRecord, InvalidArgument, shown
from headish.history.conversations.records import record_of
from headish.history.feeds.cursors import Cursor, Position, find_end, find_start, parse_cursor, resume
from headish.history.feeds.pages import PAGE, FeedPage, find_brought, read_page
from headish.history.feeds.waiting import Awaited
from headish.history.reading.decode import complete_turns, read_time
from headish.rows.conversations import StoredRecord
from headish.rows.threads.ranges import whole_range
from headish.rows.turns import StoredTurn
from headish.rows.upkeep.changes import Defined, LoggedErasure, MovedName, Numbered, SaidOf, place_up_to
from headish.store.space import STUMBLING, Space
from headish.values.checks.doors import SECONDS, WORDS, an, door
from headish.values.names import check_name, stored_name
from headish.values.places import Place, Segment
from headish.values.results.changes import (
    KINDS,
    Change,
    DefinitionChange,
    ErasureChange,
    Live,
    MoveChange,
    Pulse,
    RecordChange,
    TurnChange,
)
from headish.values.turns import Turn

S = TypeVar("S", bound=Space)
SHORTEST_PAUSE, LONGEST_PAUSE = 0.02, 1.0
"""Seconds between two looks at a space where nothing happens: from the shortest on, each twice as long as the last."""
_decode_receipt = msgspec.json.Decoder(dict[str, Any]).decode


class _Wanted(NamedTuple):
    """What a reader asked for; ``name`` is the bookmark that it follows."""

    kinds: frozenset[str]
    name: bytes | None


_checked = door(wait=an(bool), pulse=SECONDS, kinds=WORDS)


@_checked
def follow(
    space: Space,
    after: str | None = None,
    *,
    wait: bool = True,
    pulse: float | None = None,
    kinds: Collection[str] | None = None,
    bookmark: str | None = None,
) -> Iterator[Change]:
    """Every change of the space after a cursor, once and in the order of the commits.

    A change is one of the structs of ``headish.values.results.changes``. Its ``kind`` is ``turn``, ``move`` (of a
    bookmark), ``record`` (title, tags and key of a conversation), ``definition`` (a pointer or tools) or ``erasure``,
    and its ``cursor`` is what ``after`` takes to continue after it. ``live`` comes once, when everything was read. With
    ``wait`` the reader then waits for what comes, else it ends. ``pulse``: after this many seconds without a change, a
    ``pulse`` comes.

    ``kinds``: only these; ``live`` and ``pulse`` come anyway, so that the cursor of a reader of rare changes advances.
    A name that moves along with a turn is in the turn (``turn.meta.bookmark``); a reader of moves without turns gets a
    move for it. ``bookmark``: the moves of this name, each after the turns that it brought, older ones of another
    branch included; the records of its conversation; and all erasures.

    A reader that stores each cursor with its own work sees every change exactly once; one that does so afterwards may
    see the last one again. Answers that are still arriving and objects are not among the changes. Without ``after`` the
    feed begins with the first turn; ``after=store.position()`` with what comes next.
    Cost: pages of up to 500 turns in at most nine statements; one statement each time that nothing is new, up to a
    second apart. No transaction is open while the caller works.
    Raises: CursorLost if the store was restored from a backup, at once or while it is read; RemovedSpace;
    InvalidArgument; InvalidName.
    """
    return _sleeping(follow_steps(space, after, wait=wait, pulse=pulse, kinds=kinds, bookmark=bookmark))


class Pause(NamedTuple):
    """How many seconds to wait before the next look."""

    seconds: float


@_checked
def follow_steps(
    space: Space,
    after: str | None = None,
    *,
    wait: bool = True,
    pulse: float | None = None,
    kinds: Collection[str] | None = None,
    bookmark: str | None = None,
) -> Iterator[Change | Pause]:
    """``follow`` for a reader that waits in its own way: where ``follow`` would sleep, a pause comes."""
    cursor = None if after is None else parse_cursor(after)
    wanted = _Wanted(_read_kinds(kinds), None if bookmark is None else check_name(bookmark))
    space._open_backend()
    return _guarded(space, _follow(space, cursor, wanted, wait, pulse))


def _guarded(space: Space, steps: Iterator[Change | Pause]) -> Iterator[Change | Pause]:
    """Changes are made from rows between two reads, so errors there may also come from stored values of the wrong
    type."""
    try:
        yield from steps
    except STUMBLING as error:
        space._find_damage(space._open_backend(), error)
        raise


def _sleeping(steps: Iterator[Change | Pause]) -> Iterator[Change]:
    for each in steps:
        if isinstance(each, Pause):
            time.sleep(each.seconds)
        else:
            yield each


@door()
def at_least(space: S, cursor: str, *, timeout: float = 10.0) -> S:
    """The same space for reads that must see everything up to a cursor: each waits until the database is that far.

    For readers of replicas: the writer passes ``store.position()``. Each read checks the space's counter in its own
    transaction, and repeats for ``timeout`` seconds if the counter is not that far. Writes do not wait.
    Cost: at most four more statements for each read.
    Raises: InvalidArgument; from each read NotReplicated, and CursorLost if the database was restored from a backup.
    """
    parsed = parse_cursor(cursor)
    space._open_backend()
    # A shallow copy shares the connections of the store, which remain the store's to close.
    view: Any = copy(space)
    view._owns_database, view._awaited = False, Awaited(parsed, float(timeout))
    result: S = view
    return result


def position(space: Space) -> str:
    """Where the feed ends now, as a cursor: for ``follow(after=…)`` and ``at_least``.

    Cost: at most four statements. Raises: RemovedSpace.
    """
    return space._read(lambda connection: str(find_end(connection, space._number).cursor))


def _read_kinds(given: Collection[str] | None) -> frozenset[str]:
    if given is None:
        return frozenset(KINDS)
    kinds = frozenset([given] if isinstance(given, str) else given)
    unknown = sorted(kinds - set(KINDS))
    if unknown or not kinds:
        raise InvalidArgument(f"kinds are some of {', '.join(KINDS)}, not {shown(unknown[0]) if unknown else 'none'}")
    return kinds


def _follow(
    space: Space, cursor: Cursor | None, wanted: _Wanted, wait: bool, pulse: float | None
) -> Iterator[Change | Pause]:
    reader = _Reader(space, wanted, cursor)
    pause, is_live, last_yield = SHORTEST_PAUSE, False, time.monotonic()
    while True:
        page = space._read_by(read_page, reader.at)
        for change in reader.changes(page):
            yield change
            pause, last_yield = SHORTEST_PAUSE, time.monotonic()
        # Also past unwanted changes, so that a filter reads each of them only once.
        reader.at = page.end
        if page.is_last and not is_live:
            is_live = True
            yield Live(str(reader.at.cursor))
            last_yield = time.monotonic()
        until_pulse = None if pulse is None else last_yield + pulse - time.monotonic()
        if until_pulse is not None and until_pulse <= 0:
            yield Pulse(str(reader.at.cursor))
            last_yield = time.monotonic()
            continue
        if page.is_last:
            if not wait:
                return
            yield Pause(pause if until_pulse is None else min(pause, until_pulse))
            pause = min(2 * pause, LONGEST_PAUSE)


class _Reader:
    """Turns rows into changes; ``at`` is how far it has read."""

    def __init__(self, space: Space, wanted: _Wanted, cursor: Cursor | None) -> None:
        self._space, self._wanted = space, wanted
        number, name = space._number, wanted.name

        def begin(connection: Any) -> tuple[Position, Place | None]:
            if cursor is None:
                return find_start(connection, number), None
            at = resume(connection, number, cursor)
            return at, None if name is None else place_up_to(connection, number, name, at.seq, at.change)

        self.at, self._place = space._read(begin)

    def changes(self, page: FeedPage) -> Iterator[Change]:
        steps = [each for each in page.steps if self._is_wanted(each.what)]
        turns = self._complete([each.what for each in steps if isinstance(each.what, StoredTurn)])
        at = self.at
        for what, behind in steps:
            if self._wanted.name is not None:
                yield from self._brought(what, at)
            change = (
                self._of_turn(what, turns[what.seq], str(behind.cursor))
                if isinstance(what, StoredTurn)
                else _of_change(what, str(behind.cursor))
            )
            if change.kind in self._wanted.kinds:
                yield change
            at = behind

    def _of_turn(self, stored: StoredTurn, turn: Turn, cursor: str) -> Change:
        if "turn" in self._wanted.kinds or stored.head is None:
            return TurnChange(cursor, turn.time, turn)
        old = turn.meta.continues[0] if turn.meta.continues else None
        return MoveChange(cursor, turn.time, stored_name(stored.head), old, turn.id)

    def _is_wanted(self, what: StoredTurn | Numbered) -> bool:
        """Whether a row may become a change. A turn that nobody asked for is not read further."""
        kinds, name = self._wanted
        if isinstance(what, StoredTurn) and "turn" not in kinds and ("move" not in kinds or what.head is None):
            return False
        return name is None or self._is_about(what)

    def _is_about(self, what: StoredTurn | Numbered) -> bool:
        """Whether a row is about the bookmark that is followed."""
        name = self._wanted.name
        if isinstance(what, StoredTurn):
            return what.head == name
        if isinstance(what.what, MovedName):
            return name in (what.what.name, what.what.was)
        return isinstance(what.what, LoggedErasure) or (isinstance(what.what, SaidOf) and what.what.subject == name)

    def _brought(self, what: StoredTurn | Numbered, at: Position) -> Iterator[Change]:
        """Yield the other turns that a move of the name brought. Their cursor is the one before the move, so that a
        reader who stops among them gets the move again."""
        if isinstance(what, StoredTurn):
            new: Place | None = what.place
        elif isinstance(what.what, MovedName):
            # A name that was renamed is free: whoever has it next brings a whole thread.
            new = None if what.what.was == self._wanted.name else what.what.place
        else:
            return
        old, self._place = self._place, new
        if new is None or "turn" not in self._wanted.kinds:
            return
        if isinstance(what, StoredTurn) and old is not None and new == Place(old.chain, old.pos + 1):
            return  # most turns continue the one that the name pointed to: no others were brought
        space = self._space
        for segment in space._read_by(find_brought, old, new):
            for low in range(segment.low, segment.high + 1, PAGE):
                part = Segment(segment.chain, low, min(segment.high, low + PAGE - 1))
                turns = space._read_by(whole_range, part)
                others = [each for each in turns if not isinstance(what, StoredTurn) or each.seq != what.seq]
                for turn in self._complete(others).values():
                    yield TurnChange(str(at.cursor), turn.time, turn)

    def _complete(self, stored: list[StoredTurn]) -> dict[int, Turn]:
        """The turns of rows by their commit numbers."""
        space = self._space
        turns = space._read_by(complete_turns, stored, space._options_at)
        return dict(zip((each.seq for each in stored), turns, strict=True))


def _of_change(numbered: Numbered, cursor: str) -> Change:
    what = f"the change with the number {numbered.change}"
    when = read_time(numbered.milliseconds, what)
    match numbered.what:
        case MovedName(name, was, old, turn):
            return MoveChange(cursor, when, stored_name(name), old, turn, None if was is None else stored_name(was))
        case Defined(kind, name, number, removed):
            return DefinitionChange(cursor, when, kind, stored_name(name), number, bool(removed))
        case SaidOf(subject, revision, data):
            record = None if revision is None or data is None else record_of(StoredRecord(subject, revision, data))
            return RecordChange(cursor, when, stored_name(subject), record, revision)
        case LoggedErasure(number, id, receipt):
            return ErasureChange(cursor, when, number, id, _read_receipt(receipt, number))


def _read_receipt(receipt: bytes, number: int) -> dict[str, Any]:
    try:
        return _decode_receipt(receipt)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptRecord(f"the receipt of the erasure {number}", f"it does not decode ({error})") from None
