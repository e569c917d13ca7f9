"""Answer a store that calls: one question after the other, each in transactions of its own.

No transaction is open while this store waits for the caller, be it for a question or until it has read an answer.
Messages are checked like the contents of a bundle: the caller may be a stranger.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from msgspec.structs import replace

from headish.bundles.live import (
    LISTED_AT_ONCE,
    AskPages,
    AskRanges,
    AskReceipts,
    AskSigned,
    AskTurns,
    Hello,
    LeaseAnswer,
    LeaseAnswers,
    LiveHead,
    LiveKind,
    NameLease,
    NameLeases,
    NewSignatures,
    Offer,
    RangeAnswers,
    Say,
    SignaturesTaken,
    SignedThere,
    Stored,
    TurnMarks,
    Wanted,
    Welcome,
)
from headish.bundles.pages import TurnColumns
from headish.bundles.records import PAGE_TURNS, SentName, SentRecord
from headish.bundles.times import unpack_times
from headish.database.query import Connection
from headish.errors import InvalidArgument, InvalidBundle, ReadOnly, RemoteUnavailable
from headish.history.conversations.changing import write_arrived_record
from headish.history.feeds.cursors import find_end, is_held, parse_cursor
from headish.history.signatures import as_sent
from headish.rows.bookmarks import find_bookmark, remove_bookmark, set_bookmark
from headish.rows.conversations import find_dated_record
from headish.rows.elsewhere.arrivals import OWN, PLAIN, ArrivalOrigin
from headish.rows.elsewhere.sealed import sealed_behind, sealed_with
from headish.rows.signatures import StoredSignature, all_signatures, last_signature
from headish.rows.turns import turn_at, turn_by_id
from headish.syncing.bundling.applying import apply_bundle
from headish.syncing.bundling.arriving import SyncTarget, store_arrived_signatures, write_locked
from headish.syncing.bundling.writing import receipts_behind
from headish.syncing.departing import Departing, all_names, all_records, take_pages
from headish.syncing.erasures import ErasuresThere, ids_of_applied, ids_of_erasures
from headish.syncing.live.ranges import answer_ranges, check_mark, check_ranges, list_turn
from headish.syncing.live.wire import Wire
from headish.syncing.naming import hash_said, settle_name, subject_here, tell_apart
from headish.values.ids import TurnId, as_turn_id
from headish.values.names import new_refusal, stored_name
from headish.values.results.sharing import DIVERGED, MOVED, REFUSED, REMOVED, SAME, UNKNOWN, ArrivedName

BATCH_BYTES = 16 * 1024 * 1024
"""A bundle ends once its payloads exceed this size: memory holds one bundle."""


class Doorkeeper(NamedTuple):
    """What a caller may do here. ``names`` is the pattern of the bookmarks that it may move; ``trusts``: it is a device
    of this store's owner, so its options act here; ``erases``: its erasures erase here. ``caller`` is the name under
    which this side knows it; without it, the name that it gives itself. ``questions`` limits how many are answered."""

    space: str
    read_only: bool = False
    names: str = "*"
    trusts: bool = False
    erases: bool = False
    caller: str | None = None
    questions: int | None = None


class Answering:
    """A conversation from the side that answers. ``stored`` counts the new turns that it brought, ``erased`` those that
    its erasures erased; None if it brought no bundle.
    """

    def __init__(self, target: SyncTarget, wire: Wire, door: Doorkeeper) -> None:
        self._target, self._wire, self._door = target, wire, door
        self._caller = b""
        self._erasures: ErasuresThere | None = None
        self.stored = 0

    @property
    def erased(self) -> int | None:
        return None if self._erasures is None else self._erasures.count

    def run(self) -> None:
        """Answer until the caller says goodbye. Raises: any error, after reporting it to the caller."""
        try:
            self._greet(self._wire.receive(Hello))
            questions = 0
            while (message := self._wire.next())[0] is not LiveKind.BYE:
                if questions == self._door.questions:
                    raise InvalidBundle(self._wire.name, "it asks more at once than is answered")
                self._answer(*message)
                questions += 1
        except RemoteUnavailable:
            raise  # the caller is gone, so there is nobody to report it to
        except Exception as error:
            self._wire.refuse(error)
            raise

    def _greet(self, hello: Hello) -> None:
        if hello.space != self._door.space:
            raise InvalidArgument(f"the space there is {hello.space!r}, and here it is {self._door.space!r}")
        if new_refusal(hello.label) is not None:
            raise InvalidArgument("the name of the calling device is not a name")
        self._caller = (self._door.caller or hello.label).encode()
        end, holds, signed = self._target.backend.read(
            partial(_find_holds, space=self._target.space, cursor=hello.cursor)
        )
        self._wire.send(Welcome(end, holds, self._door.read_only, self._door.names, signed))

    def _answer(self, kind: LiveKind, message: Any) -> None:
        if kind is LiveKind.HEADER:
            self._take_bundle((kind, message))
            return
        answers: dict[LiveKind, Callable[[Any], None]] = {
            LiveKind.ASK_RECEIPTS: self._send_receipts,
            LiveKind.ASK_TURNS: self._list_turns,
            LiveKind.ASK_RANGES: self._compare,
            LiveKind.ASK_PAGES: self._send_pages,
            LiveKind.OFFER: self._choose,
            LiveKind.ASK_SIGNED: self._send_signatures,
            LiveKind.SIGN: self._take_signatures,
            LiveKind.ASK_HEAD: self._send_head,
            LiveKind.MOVES: self._move,
        }
        if kind not in answers:
            raise InvalidBundle(self._wire.name, f"it says {kind.name}, which is nothing that is answered")
        answers[kind](message)

    def _send_receipts(self, asked: AskReceipts) -> None:
        space = self._target.space
        receipts = self._target.backend.read(lambda connection: list(receipts_behind(connection, space, asked.after)))
        self._wire.send_bundle(receipts, ())

    def _list_turns(self, asked: AskTurns) -> None:
        space = self._target.space
        turns = self._target.backend.read(
            lambda connection: sealed_behind(connection, space, asked.after, asked.until, LISTED_AT_ONCE)
        )
        # A full list ends at its last turn, and the caller's next question begins there.
        reached = turns[-1].seq if len(turns) == LISTED_AT_ONCE else asked.until
        self._wire.send(TurnMarks(tuple(map(list_turn, turns)), reached))

    def _compare(self, asked: AskRanges) -> None:
        check_ranges(asked.ranges, self._wire.name)
        answers = answer_ranges(self._target.backend, self._target.space, asked.ranges)
        self._wire.send(RangeAnswers(tuple(answers)))

    def _send_pages(self, asked: AskPages) -> None:
        # Pages follow this order, and only in commit order does each turn come after its parents.
        if any(low >= high for low, high in zip(asked.seqs, asked.seqs[1:], strict=False)):
            raise InvalidBundle(self._wire.name, "it asks for turns in no order")
        self._wire.send_bundle(
            *self._target.backend.read(partial(read_pages, space=self._target.space, seqs=asked.seqs))
        )

    def _choose(self, offer: Offer) -> None:
        space = self._target.space
        ids = [each.id for each in offer.turns]
        if any(as_turn_id(each) != each for each in ids):
            raise InvalidBundle(self._wire.name, "it offers a turn whose id is not an id")
        turns_here = self._target.backend.read(lambda connection: sealed_with(connection, space, ids))
        bits = bytearray(-(-len(ids) // 8))
        for index, each in enumerate(offer.turns):
            turn = turns_here.get(TurnId(each.id))
            if turn is None:
                bits[index // 8] |= 1 << index % 8
            else:
                check_mark(turn, each.mark)
        self._wire.send(Wanted(bytes(bits)))

    def _take_bundle(self, first: tuple[LiveKind, Any]) -> None:
        self._check_writes()
        if self._erasures is None:
            self._erasures = ErasuresThere(self._target, "apply" if self._door.erases else "ask")
        self._erasures.come_from(self._origin)
        before = self._end()
        applied = apply_bundle(self._target, self._wire.bundle(first), self._origin, erasures=self._erasures)
        self.stored += applied.stored
        self._wire.send(Stored(applied.stored, before, self._end(), self._door.erases))

    @property
    def _origin(self) -> ArrivalOrigin:
        return ArrivalOrigin(OWN if self._door.trusts else PLAIN, by=self._caller)

    def _send_signatures(self, asked: AskSigned) -> None:
        sent, reached = self._target.backend.read(
            partial(signatures_between, space=self._target.space, after=asked.after, until=asked.until)
        )
        self._wire.send(SignedThere(tuple(map(as_sent, sent)), reached))

    def _take_signatures(self, sent: NewSignatures) -> None:
        self._check_writes()
        target = self._target
        before = target.backend.read(lambda connection: last_signature(connection, target.space))
        new = store_arrived_signatures(target, sent.signatures, self._wire.name, self._origin.bringer)
        after = target.backend.read(lambda connection: last_signature(connection, target.space))
        # If another signer came in between, the numbers are not all the caller's: 0 makes it ask for them.
        self._wire.send(SignaturesTaken(before, before + new if after == before + new else 0))

    def _send_head(self, _: Any) -> None:
        self._wire.send(self._target.backend.read(partial(_read_head, space=self._target.space)))

    def _move(self, asked: NameLeases) -> None:
        self._check_writes()
        target = self._target
        moved = write_locked(target, partial(_move_all, space=target.space, asked=asked, pattern=self._door.names))
        self._wire.send(target.backend.read(partial(_tell_apart, space=target.space, asked=asked, moved=moved)))

    def _check_writes(self) -> None:
        if self._door.read_only:
            raise ReadOnly(self._door.space, "this store is open to readers alone")

    def _end(self) -> str:
        space = self._target.space
        return self._target.backend.read(lambda connection: str(find_end(connection, space).cursor))


def read_pages(connection: Connection, space: int, seqs: Sequence[int]) -> tuple[list[bytes], list[TurnColumns]]:
    """Return the receipts of the erased turns, and pages with the first of the given turns, of about ``BATCH_BYTES``.

    Raises: CorruptTurn.
    """
    departing = Departing(connection, space)
    pages, _ = take_pages(departing.picked(seqs), BATCH_BYTES)
    return departing.receipts_of(pages), pages


def signatures_between(connection: Connection, space: int, after: int, until: int) -> tuple[list[StoredSignature], int]:
    """Return the first signatures with numbers above ``after``, up to ``until``, and the number up to which these are
    all. At most two statements."""
    signatures = list(islice(all_signatures(connection, space, after), PAGE_TURNS))
    reached = signatures[-1].number if len(signatures) == PAGE_TURNS else until
    return [each for each in signatures if each.number <= until], min(reached, until)


def _find_holds(connection: Connection, space: int, cursor: str | None) -> tuple[str, bool, int]:
    """Return the cursor of the space, whether its history goes on from ``cursor``, and the number of its last
    signature."""
    end = str(find_end(connection, space).cursor)
    holds = cursor is not None and is_held(connection, space, parse_cursor(cursor))
    return end, holds, last_signature(connection, space)


def _read_head(connection: Connection, space: int) -> LiveHead:
    cursor = str(find_end(connection, space).cursor)
    erased = (*ids_of_erasures(connection, space), *ids_of_applied(connection, space))
    return LiveHead(cursor, tuple(all_names(connection, space)), tuple(all_records(connection, space)), erased)


def _move_all(connection: Connection, space: int, asked: NameLeases, pattern: str) -> LeaseAnswers:
    before = str(find_end(connection, space).cursor)
    names = tuple(_move_name(connection, space, each, pattern) for each in asked.moves)
    records = {each.subject: each for each in unpack_times([say.record for say in asked.says])}
    is_stored = tuple(_say(connection, space, each, records.get(each.record.subject), pattern) for each in asked.says)
    return LeaseAnswers(names, is_stored, before, str(find_end(connection, space).cursor))


def _move_name(connection: Connection, space: int, move: NameLease, pattern: str) -> LeaseAnswer:
    """Move or remove a name if it is where the caller saw it, else only forward."""
    if not _may_move(move.name, pattern):
        return LeaseAnswer(REFUSED)
    place = find_bookmark(connection, space, move.name)
    here = None if place is None else turn_at(connection, space, place)
    is_seen = (None if here is None else here.id) == move.seen
    if move.turn is None:  # the caller wants it gone
        if here is not None and is_seen:
            remove_bookmark(connection, space, move.name)
        return LeaseAnswer(REMOVED if here is None or is_seen else DIVERGED)
    if here is None and not is_seen:  # somebody removed it here meanwhile: do not make it again
        return LeaseAnswer(REMOVED)
    turn = as_turn_id(move.turn)
    there = None if turn is None else turn_by_id(connection, space, turn)
    if there is None:
        return LeaseAnswer(UNKNOWN)
    if here is not None and is_seen:
        if here.id != there.id:
            set_bookmark(connection, space, move.name, there)
        return LeaseAnswer(SAME if here.id == there.id else MOVED)
    return LeaseAnswer(settle_name(connection, space, SentName(move.name, there.id, there.digest)).outcome)


def _tell_apart(connection: Connection, space: int, asked: NameLeases, moved: LeaseAnswers) -> LeaseAnswers:
    """Return the same answers, with counts for the diverged names."""
    pairs = zip(asked.moves, moved.names, strict=True)
    arrived = [ArrivedName(stored_name(move.name), TurnId(move.turn or ""), each.outcome) for move, each in pairs]
    counted = tell_apart(connection, space, arrived)
    return replace(moved, names=tuple(LeaseAnswer(each.outcome, each.here, each.there) for each in counted))


def _may_move(name: bytes, pattern: str) -> bool:
    text = name.decode(errors="surrogateescape")
    return new_refusal(text) is None and fnmatchcase(text, pattern)


def _say(connection: Connection, space: int, say: Say, record: SentRecord | None, pattern: str) -> bool:
    """Store the caller's record of a conversation, with its times, if the caller has read the record here. Returns
    whether it was stored."""
    subject = None if record is None else subject_here(connection, space, record.subject)
    if record is None or subject is None:
        return False
    if not all(fnmatchcase(stored_name(each), pattern) for each in (record.subject, subject)):
        return False
    dated = find_dated_record(connection, space, subject)
    # The record here changed meanwhile: the caller must read and merge it first, or that change would be lost.
    if hash_said(None if dated is None else dated[2]) != say.seen:
        return False
    revision = record.revision if dated is None else dated[0] + 1
    return write_arrived_record(connection, space, subject, revision, record.milliseconds, record.data)
