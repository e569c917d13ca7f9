"""Read what leaves a space: turns in pages, parents before children, with the receipts of erased ones; and find the
texts among them that look like a key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from msgspec.structs import astuple

from headish.bundles.pages import TurnColumns
from headish.bundles.records import PAGE_TURNS, SentName, SentRecord, WireLeft, record_as_sent
from headish.bundles.times import NO_SUBJECT, pack_times
from headish.content.frames import FRAME_BYTES
from headish.content.receipts import encode_receipt
from headish.content.secrecy.finding import find_shaped
from headish.content.secrecy.hiding import hide_secrets
from headish.content.secrecy.judging import has_shape
from headish.database.query import Connection, Row
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

NAMES_READ = 1000
_SEQ, _ID = StoredTurn.__struct_fields__.index("seq"), StoredTurn.__struct_fields__.index("id")
_BESIDE = ("attributes", "inherited", "system", "app", "head")
"""The columns beside the payload in which a key may be."""


class Span(NamedTuple):
    """The turns with commit numbers above ``low``, up to ``high``.

    Left out: those that came from a device of ``skip`` after the commit number that ``skip`` gives for it. A device is
    identified by remote and id together (ADR 0091).
    """

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

    def since(self, span: Span) -> Iterator[TurnColumns]:
        """The turns of a span in pages, in commit order. Raises: CorruptTurn."""
        for rows in self._rows_of(span):
            yield from self._in_pages(rows)

    def picked(self, seqs: Sequence[int]) -> Iterator[TurnColumns]:
        """The turns with these ascending commit numbers, in pages, in that order. Raises: CorruptTurn."""
        for start in range(0, len(seqs), PAGE_TURNS):
            yield from self._in_pages(spoken_with(*self._source, seqs[start : start + PAGE_TURNS]))

    def receipts_of(self, pages: Iterable[TurnColumns]) -> list[bytes]:
        """The receipts of the erased turns in pages, as they are stored."""
        receipt_ids = set().union(*[page.column("erased") for page in pages])
        return [encode_receipt(each) for each in self._receipts.values() if each.id in receipt_ids]

    def required_by(self, span: Span, spoken_of: Iterable[TurnId]) -> list[TurnId]:
        """The ids of the turns outside of a span that turns of the span continue, then those of ``spoken_of``, in order
        of first use."""
        if span.low == 0 and not span.skip:  # all turns of the space
            return []
        inside: set[TurnId] = set()
        outside: dict[TurnId, None] = {}
        for rows in self._rows_of(span):
            inside |= {row[_ID] for row in rows}
            parents = parents_of_turns(*self._source, map(_place_of, rows))
            outside |= dict.fromkeys(each for ids in parents.values() for each in ids if each and each not in inside)
        return list(outside | dict.fromkeys(each for each in spoken_of if each not in inside))

    def _rows_of(self, span: Span) -> Iterator[list[Row]]:
        low = span.low
        while rows := spoken_between(*self._source, low, span.high, PAGE_TURNS):
            low = rows[-1][_SEQ]
            yield self._without(rows, span)

    def _without(self, rows: Sequence[Row], span: Span) -> list[Row]:
        if not span.skip or not rows:
            return list(rows)
        arrivals = arrivals_among(*self._source, rows[0][_SEQ], rows[-1][_SEQ])
        skipped = arrived_with([each for each in arrivals if _is_from(each, span)], (row[_SEQ] for row in rows))
        return [row for row in rows if row[_SEQ] not in skipped]

    def leading_to(self, ends: Sequence[Place]) -> Iterator[TurnColumns]:
        """The turns that lead to ``ends``, in walk order, and the documents that they refer to, unless a document
        continues a turn that is not sent. Raises: CorruptTurn."""
        sent: set[TurnId] = set()
        for page in self._walk(ends, sent):
            # Documents go before the turns that refer to them, so that in an empty store the newest turn (``@``) is the
            # end of the thread and not a document.
            yield from self._documents(sent, alone=True)
            yield page
        yield from self._documents(sent, alone=False)

    def _documents(self, sent: set[TurnId], *, alone: bool) -> Iterator[TurnColumns]:
        """The documents that sent turns refer to: with ``alone`` those that continue nothing, else those that continue
        sent turns only."""
        referred = turns_by_ids(*self._source, [each for each in self._referred if each not in sent])
        documents = [each for each in referred.values() if each.type == DOCUMENT and each.erased is None]
        parents = parents_of_turns(*self._source, [each.place for each in documents])
        for stored in documents:
            before = parents.get(stored.place, ())
            if not before if alone else sent.issuperset(before):
                yield from self._walk([stored.place], sent)

    def _walk(self, ends: Sequence[Place], sent: set[TurnId]) -> Iterator[TurnColumns]:
        for segment in arrange(ends, read_links_of(*self._source, ends)):
            for low in range(segment.low, segment.high + 1, PAGE_TURNS):
                part = Segment(segment.chain, low, min(segment.high, low + PAGE_TURNS - 1))
                small = small_payloads(*self._source, part)
                # Threads share turns, and a document may be referred to by many.
                here = [each for each in turns_of(*self._source, part) if each.id not in sent]
                sent.update(each.id for each in here)
                rows = [(*astuple(each), small.get(each.pos)) for each in here]
                for page in self._in_pages(rows):
                    self._note_documents(page)
                    yield page

    def _note_documents(self, page: TurnColumns) -> None:
        for payload, type in zip(page.payloads, page.types, strict=True):
            if payload is not None and type != DOCUMENT and (referred := referred_by(payload)):
                self._referred |= dict.fromkeys(referred)

    def _in_pages(self, rows: Sequence[Row]) -> Iterator[TurnColumns]:
        """Pages of about ``FRAME_BYTES``; a larger payload is in a page of its own."""
        if not rows:
            return
        turns = self._columns_of(rows)
        begin = size = 0
        payloads: list[bytes | None] = []
        for at, (payload, erased) in enumerate(zip(turns.payloads, turns.column("erased"), strict=True)):
            if payload is None and erased is None:
                payload = self._read_large(rows[at])
            length = len(payload or b"")
            if size + length > FRAME_BYTES and payloads:
                self.reached = rows[at - 1][_SEQ]  # before the yield: the reader may stop there
                yield turns.part(begin, payloads)
                begin, size, payloads = at, 0, []
            payloads.append(payload)
            size += length
        self.reached = rows[-1][_SEQ]
        yield turns.part(begin, payloads)

    def _columns_of(self, rows: Sequence[Row]) -> TurnColumns:
        """Rows as turns, without the large payloads."""
        (
            chains, positions, seqs, ids, roles, types, content_types, caches, attributes, inherited, systems, digests,
            hashes, seals, heads, apps, erasures, keys, superseded, payloads,
        ) = zip(*rows, strict=True)  # fmt: skip
        receipts: list[TurnId | None] = [None] * len(rows)
        left: list[WireLeft | None] = [None] * len(rows)
        for at, number in enumerate(erasures):
            if number is not None:
                receipt = self._receipt(number, ids[at])
                receipts[at] = receipt.id
                left[at] = WireLeft(digests[at], keys[at], superseded[at]) if receipt.meta else None
        parents = self._parents_of(ids, [*zip(chains, positions, strict=True)])
        is_cached = [*map(bool, caches)]
        is_foreign = [*map(self._foreign_among(seqs).__contains__, seqs)]
        return TurnColumns((
            ids, parents, payloads, hashes, seals, roles, types, content_types, is_cached, attributes, inherited,
            systems, apps, heads, receipts, left, is_foreign,
        ))  # fmt: skip

    def _parents_of(self, ids: Sequence[TurnId], places: Sequence[tuple[int, int]]) -> list[tuple[TurnId, ...]]:
        """The parents of each turn. Most turns follow one that is read with them; one statement finds the others'."""
        chains, positions = zip(*places, strict=True)
        if len({*chains}) == 1 and positions == (*range(positions[0], positions[0] + len(ids)),):
            before: list[TurnId | None] = [None, *ids[:-1]]  # nearly always: one thread, turn by turn
        else:
            # Plain tuples: they equal places, and a place is made in Python.
            here = dict(zip(places, ids, strict=True))
            before = [here.get((chain, pos - 1)) for chain, pos in places]
        unknown = [at for at, each in enumerate(before) if each is None]
        parents = cast("list[tuple[TurnId | None, ...]]", [*zip(before, strict=True)])
        by_place = parents_of_turns(*self._source, [Place(*places[at]) for at in unknown])
        for at in unknown:
            parents[at] = by_place.get(Place(*places[at]), ())
            if None in parents[at]:
                raise CorruptTurn(ids[at], "a turn that it continues is missing")
        return cast("list[tuple[TurnId, ...]]", parents)

    def _foreign_among(self, seqs: Sequence[int]) -> set[int]:
        """Return the commit numbers whose turns came from a stranger, not from one of the user's own devices."""
        foreign = [each for each in arrivals_among(*self._source, min(seqs), max(seqs)) if each.kind != OWN]
        return arrived_with(foreign, seqs)

    def _read_large(self, row: Row) -> bytes:
        payload = read_payload_at(*self._source, _place_of(row))
        if payload is None:
            raise CorruptTurn(row[_ID], "its payload is missing")
        return payload

    def _receipt(self, number: int, turn: TurnId) -> Receipt:
        if number not in self._receipts:
            receipt = read_receipt(*self._source, number)
            if receipt is None:
                raise CorruptTurn(turn, "it is erased, and no receipt says so")
            self._receipts[number] = receipt
        return self._receipts[number]


def take_pages(pages: Iterable[TurnColumns], limit_bytes: int) -> tuple[list[TurnColumns], bool]:
    """Take pages until their payloads exceed ``limit_bytes`` together. Returns them, the exceeding one included, and
    whether the limit was exceeded."""
    taken: list[TurnColumns] = []
    size = 0
    for page in pages:
        taken.append(page)
        size += page.size_bytes()
        if size > limit_bytes:
            return taken, True
    return taken, False


def _place_of(row: Row) -> Place:
    return Place(row[0], row[1])


def _is_from(arrival: StoredArrival, span: Span) -> bool:
    # A device that is not in ``skip`` compares with its own number, and so never counts as skipped.
    return arrival.first > span.skip.get((arrival.remote, arrival.device), arrival.first)


def all_names(connection: Connection, space: int) -> list[SentName]:
    """The bookmarks of a space, ordered by name. Cost: a statement for each ``NAMES_READ``."""
    names: list[SentName] = []
    while page := named_turns(connection, space, names[-1].name if names else b"", NAMES_READ):
        names += [SentName(bytes(name), turn, bytes(digest)) for name, turn, digest, *_ in page]
    return names


def all_records(connection: Connection, space: int) -> list[SentRecord]:
    """The records of the conversations of a space as they travel, ordered by subject.

    Cost: a statement for each ``NAMES_READ``.
    """
    records: list[SentRecord] = []
    while page := records_after(connection, space, records[-1].subject if records else b"", NAMES_READ):
        records += [record_as_sent(bytes(row[0]), int(row[1]), int(row[2]), bytes(row[3])) for row in page]
    return pack_times(records)


def find_keys(turns: TurnColumns) -> list[TurnId]:
    """The ids of the turns whose content or record contains text with the shape of a key.

    Cost: one search over the texts of all turns together.
    """
    with_key = {turns.ids[place] for place in find_shaped([each or b"" for each in turns.payloads])}
    beside = [
        (id, each)
        for column in map(turns.column, _BESIDE)
        if column.count(None) < len(turns)
        for id, each in zip(turns.ids, column, strict=True)
        if each
    ]
    with_key |= {beside[place][0] for place in find_shaped([each for _, each in beside])}
    return [id for id in turns.ids if id in with_key] if with_key else []


def find_said_keys(names: Iterable[SentName], records: Iterable[SentRecord]) -> Iterator[str]:
    """The bookmarks and conversations whose name or record contains text with the shape of a key, the key masked."""
    for name in names:
        if _holds_key(name.name):
            yield hide_secrets(stored_name(name.name))
    for record in records:
        if record.subject != NO_SUBJECT and (_holds_key(record.data) or _holds_key(record.subject)):
            yield hide_secrets(stored_name(record.subject))


def count_paths(turns: TurnColumns) -> int:
    """The number of documents that record their path on the machine that stored them."""
    return sum([b'"original_path"' in each for each in turns.column("system") if each is not None])


def _holds_key(data: bytes) -> bool:
    return has_shape(data.decode(errors="replace"))
