"""What leaves a space: turns in pages, each after those that it continues, with the receipts of what was erased; and
what of it looks like a key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from headish.bundles.records import PAGE_TURNS, SentName, SentRecord, TurnRecord, WireLeft, record_as_sent
from headish.content.frames import FRAME_BYTES
from headish.content.receipts import encode_receipt
from headish.content.secrecy import has_shape, hide_secrets
from headish.database.query import Connection
from headish.errors import CorruptTurn
from headish.history.reading.documents import referred_by
from headish.history.reading.order import arrange
from headish.rows.bookmarks import named_turns
from headish.rows.conversations import records_after
from headish.rows.elsewhere.arrivals import OWN, StoredArrival, arrivals_among, arrived_with
from headish.rows.elsewhere.sealed import spoken_with
from headish.rows.keys import turns_by_ids
from headish.rows.payloads import read_payload_at
from headish.rows.threads.places import parents_of_turns
from headish.rows.threads.ranges import small_payloads, turns_of
from headish.rows.threads.walks import read_links_of
from headish.rows.turns import StoredTurn
from headish.rows.upkeep.changes import spoken_between
from headish.rows.upkeep.receipts import read_receipt
from headish.values.ids import TurnId
from headish.values.names import stored_name
from headish.values.places import Place, Segment
from headish.values.results.erasures import Receipt
from headish.values.turns import DOCUMENT

Spoken = tuple[StoredTurn, bytes | None]
"""A row, and its payload where that is a small one."""
NAMES_READ = 1000
# What nearly every turn has beside its payload: this spares looking through five columns.
_NOTHING = (None,) * 5


class Span(NamedTuple):
    """The turns after one commit number, up to another, without those that came by one of the devices of ``skip`` after
    the commit number that is given for it. A remote and an id identify a device."""

    low: int
    high: int
    skip: Mapping[tuple[bytes | None, str | None], int] = {}


class Departing:
    """Reads the turns of a space as records. Memory holds a page, and one large payload.

    ``reached`` is the commit number of the last turn that ``since`` gave.
    """

    def __init__(self, connection: Connection, space: int) -> None:
        self._source = connection, space
        self.reached = 0
        self._receipts: dict[int, Receipt] = {}
        self._referred: dict[TurnId, None] = {}

    def since(self, span: Span) -> Iterator[list[TurnRecord]]:
        """The turns of a span in pages, in commit order. Raises: CorruptTurn."""
        for rows in self._rows_of(span):
            yield from self._in_pages(rows)

    def picked(self, seqs: Sequence[int]) -> Iterator[list[TurnRecord]]:
        """The turns with some commit numbers, in pages, in commit order. Raises: CorruptTurn."""
        for start in range(0, len(seqs), PAGE_TURNS):
            yield from self._in_pages(spoken_with(*self._source, seqs[start : start + PAGE_TURNS]))

    def receipts_of(self, pages: Iterable[Sequence[TurnRecord]]) -> list[bytes]:
        """The receipts of the turns of pages that are erased, as they are stored."""
        wanted = {each.erased for page in pages for each in page}
        return [encode_receipt(each) for each in self._receipts.values() if each.id in wanted]

    def required_by(self, span: Span) -> list[TurnId]:
        """The ids that turns of a span continue and that are not in it, in order."""
        if span.low == 0 and not span.skip:
            return []
        inside: set[TurnId] = set()
        outside: dict[TurnId, None] = {}
        for rows in self._rows_of(span):
            inside |= {stored.id for stored, _ in rows}
            parents = parents_of_turns(*self._source, [stored.place for stored, _ in rows])
            outside |= dict.fromkeys(each for ids in parents.values() for each in ids if each and each not in inside)
        return list(outside)

    def _rows_of(self, span: Span) -> Iterator[list[Spoken]]:
        low = span.low
        while rows := spoken_between(*self._source, low, span.high, PAGE_TURNS):
            low = rows[-1][0].seq
            yield self._without(rows, span)

    def _without(self, rows: Sequence[Spoken], span: Span) -> list[Spoken]:
        if not span.skip or not rows:
            return list(rows)
        arrivals = arrivals_among(*self._source, rows[0][0].seq, rows[-1][0].seq)
        skipped = arrived_with([each for each in arrivals if _is_from(each, span)], (each[0].seq for each in rows))
        return [each for each in rows if each[0].seq not in skipped]

    def leading_to(self, ends: Sequence[Place]) -> Iterator[list[TurnRecord]]:
        """The turns that lead to some, in walk order, and the documents that they refer to, if those continue nothing
        else. Raises: CorruptTurn."""
        sent: set[TurnId] = set()
        for page in self._walk(ends, sent):
            # Before what refers to them: whoever has nothing yet finds the end of a thread behind all else.
            yield from self._documents(sent, alone=True)
            yield page
        yield from self._documents(sent, alone=False)

    def _documents(self, sent: set[TurnId], *, alone: bool) -> Iterator[list[TurnRecord]]:
        """The documents that were referred to; with ``alone`` those that continue nothing, else those that continue
        what was sent."""
        here = turns_by_ids(*self._source, [each for each in self._referred if each not in sent])
        asked = [each for each in here.values() if each.type == DOCUMENT and each.erased is None]
        parents = parents_of_turns(*self._source, [each.place for each in asked])
        for stored in asked:
            before = parents.get(stored.place, ())
            if not before if alone else sent.issuperset(before):
                yield from self._walk([stored.place], sent)

    def _walk(self, ends: Sequence[Place], sent: set[TurnId]) -> Iterator[list[TurnRecord]]:
        for segment in arrange(ends, read_links_of(*self._source, ends)):
            for low in range(segment.low, segment.high + 1, PAGE_TURNS):
                part = Segment(segment.chain, low, min(segment.high, low + PAGE_TURNS - 1))
                small = small_payloads(*self._source, part)
                # Threads share turns, and a document may be referred to by many.
                rows = [(each, small.get(each.pos)) for each in turns_of(*self._source, part) if each.id not in sent]
                sent.update(each.id for each, _ in rows)
                yield from self._in_pages(rows)

    def _in_pages(self, rows: Iterable[Spoken]) -> Iterator[list[TurnRecord]]:
        """Records in pages of about ``FRAME_BYTES``; a larger payload is in a page of its own."""
        listed = list(rows)
        parents = self._parents_of([stored for stored, _ in listed])
        foreign = self._foreign_among([stored.seq for stored, _ in listed])
        page: list[TurnRecord] = []
        size = 0
        for stored, data in listed:
            before = parents.get((stored.chain, stored.pos), ())
            record = self._record(stored, data, before, stored.seq in foreign)
            length = len(record.payload or b"")
            if page and size + length > FRAME_BYTES:
                yield page
                page, size = [], 0
            page.append(record)
            size += length
            self.reached = stored.seq
        if page:
            yield page

    def _parents_of(self, turns: Sequence[StoredTurn]) -> Mapping[tuple[int, int], Sequence[TurnId | None]]:
        """What turns continue. Most follow one that is read with them, so that only the others are asked for."""
        # Plain tuples: they equal places, and a place is made in Python.
        here = {(each.chain, each.pos): each.id for each in turns}
        known: dict[tuple[int, int], Sequence[TurnId | None]] = {}
        asked: list[Place] = []
        for chain, pos in here:
            if turn := here.get((chain, pos - 1)):
                known[chain, pos] = (turn,)
            else:
                asked.append(Place(chain, pos))
        return known | parents_of_turns(*self._source, asked)

    def _foreign_among(self, seqs: Sequence[int]) -> set[int]:
        """Which of some commit numbers are those of turns that came from no device of one's own."""
        if not seqs:
            return set()
        foreign = [each for each in arrivals_among(*self._source, min(seqs), max(seqs)) if each.kind != OWN]
        return arrived_with(foreign, seqs)

    def _record(
        self, stored: StoredTurn, data: bytes | None, parents: Sequence[TurnId | None], foreign: bool
    ) -> TurnRecord:
        before = tuple(filter(None, parents))
        if len(before) != len(parents):
            raise CorruptTurn(stored.id, "a turn that it continues is missing")
        payload = data
        if payload is None and stored.erased is None:
            payload = read_payload_at(*self._source, stored.place)
            if payload is None:
                raise CorruptTurn(stored.id, "its payload is missing")
        if payload is not None and stored.type != DOCUMENT and (referred := referred_by(payload)):
            self._referred |= dict.fromkeys(referred)
        receipt = None if stored.erased is None else self._receipt(stored.erased, stored.id)
        left = None
        if receipt is not None and receipt.meta:
            left = WireLeft(stored.digest, stored.key, stored.supersedes)
        # By position, in the order of the fields: names cost as much again, and this runs for every turn.
        return TurnRecord(
            stored.id, before, payload, stored.hash, stored.seal, stored.role, stored.type,
            stored.content_type, bool(stored.cache), stored.attributes, stored.inherited, stored.system, stored.app,
            stored.head, None if receipt is None else receipt.id, left, foreign,
        )  # fmt: skip

    def _receipt(self, number: int, turn: TurnId) -> Receipt:
        if number not in self._receipts:
            receipt = read_receipt(*self._source, number)
            if receipt is None:
                raise CorruptTurn(turn, "it is erased, and no receipt says so")
            self._receipts[number] = receipt
        return self._receipts[number]


def take_pages(pages: Iterable[list[TurnRecord]], limit_bytes: int) -> tuple[list[list[TurnRecord]], bool]:
    """The first pages, up to the one with which their payloads have more than so many bytes; and whether one was."""
    taken: list[list[TurnRecord]] = []
    size = 0
    for page in pages:
        taken.append(page)
        size += sum(len(each.payload or b"") for each in page)
        if size > limit_bytes:
            return taken, True
    return taken, False


def _is_from(arrival: StoredArrival, span: Span) -> bool:
    return arrival.first > span.skip.get((arrival.remote, arrival.device), arrival.first)


def all_names(connection: Connection, space: int) -> list[SentName]:
    """The bookmarks of a space, by name. One statement for each thousand."""
    names: list[SentName] = []
    while page := named_turns(connection, space, names[-1].name if names else b"", NAMES_READ):
        names += [SentName(bytes(name), turn, bytes(digest)) for name, turn, digest, *_ in page]
    return names


def all_records(connection: Connection, space: int) -> list[SentRecord]:
    """The records of the conversations of a space, by subject. One statement for each thousand."""
    records: list[SentRecord] = []
    while page := records_after(connection, space, records[-1].subject if records else b"", NAMES_READ):
        records += [record_as_sent(bytes(row[0]), int(row[1]), int(row[2]), bytes(row[3])) for row in page]
    return records


def find_keys(turns: Iterable[TurnRecord]) -> Iterator[TurnId]:
    """The ids of the turns in which something has the shape of a key: in their content or their record.

    Cost: nearly every text is ruled out by the few letters that each kind of key has.
    """
    for turn in turns:
        beside = turn.attributes, turn.inherited, turn.system, turn.app, turn.head
        if (turn.payload and _holds_key(turn.payload)) or (
            beside != _NOTHING and any(map(_holds_key, filter(None, beside)))
        ):
            yield turn.id


def find_said_keys(names: Iterable[SentName], records: Iterable[SentRecord]) -> Iterator[str]:
    """The bookmarks and conversations whose name, title, tags or marks have the shape of a key, with the key masked."""
    for name in names:
        if _holds_key(name.name):
            yield hide_secrets(stored_name(name.name))
    for record in records:
        if _holds_key(record.data) or _holds_key(record.subject):
            yield hide_secrets(stored_name(record.subject))


def keeps_path(turn: TurnRecord) -> bool:
    """Whether a document says where it lay on the machine that stored it."""
    return turn.system is not None and b'"original_path"' in turn.system


def _holds_key(data: bytes) -> bool:
    return has_shape(data.decode(errors="replace"))
