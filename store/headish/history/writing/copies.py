"""Copy threads from one space into another, of the same database or another one.

Ids, digests and seals do not depend on the space, so a copy keeps them, and each record is verified on the way. A turn
has the name that moved with it under its seal, so the log of that name gets the move in the other space, too.

Turns are copied in portions of a chain. The turns of a portion that the other space already has come first in it,
because no turn is stored without its parents (rule I5, every parent exists).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from msgspec.structs import replace

from headish.content.hashes import hash_payload
from headish.database.query import Connection
from headish.errors import BookmarkTaken, CorruptTurn, TurnTaken
from headish.history.conversations.changing import copy_record, gather_records
from headish.history.reading.decode import read_mapping
from headish.history.reading.documents import referred_by
from headish.history.reading.order import arrange
from headish.history.reading.versions import find_firsts
from headish.history.reading.walk import leads_to
from headish.history.signatures import as_sent, store_signatures
from headish.history.tombstones import Tombstones
from headish.history.writing.proofs import derive_digest, derive_seal
from headish.rows.adding import add_links, add_turns
from headish.rows.bookmarks import Named, NameMove, find_named, move_bookmark, remove_bookmark, set_bookmark
from headish.rows.conversations import find_first, names_in
from headish.rows.counters import take_seq
from headish.rows.elsewhere.arrivals import COPY, OWN, ArrivalOrigin, add_arrival, arrivals_among, arrived_with
from headish.rows.keys import turns_by_ids, turns_by_keys
from headish.rows.payloads import add_payloads, read_payload_at, refuse_barred, split_payload
from headish.rows.signatures import last_signature, signatures_of
from headish.rows.threads.names import names_of_segments
from headish.rows.threads.places import parents_of_turns
from headish.rows.threads.ranges import small_payloads, whole_range
from headish.rows.threads.walks import read_links_of
from headish.rows.turns import StoredTurn, places_by_digest, tip_of, turn_at
from headish.rows.upkeep.receipts import read_receipt
from headish.values.ids import Mint, TurnId
from headish.values.names import stored_name
from headish.values.places import Place, Segment
from headish.values.results.plain import PlainResult
from headish.values.turns import DOCUMENT

PORTION = 500
"""The number of turns that are copied together. Their small payloads are in memory, large ones one at a time."""


class Copied(PlainResult, frozen=True):
    """The result of a copy. ``tips`` are the ids at the ends of the threads; ``stored`` turns are new in the other
    space, ``known`` ones were there already. ``names`` were copied, and so were the records of the conversations
    ``records`` (names, or first turns of nameless ones). ``pointers`` and ``servers`` are named by the threads but
    missing in the other space; ``streams`` are answers to these turns that are still arriving here. ``documents`` are
    turns that messages refer to and that stay here."""

    tips: tuple[TurnId, ...]
    stored: int
    known: int
    names: tuple[str, ...]
    pointers: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()
    records: tuple[str, ...] = ()
    documents: tuple[TurnId, ...] = ()


class Side(NamedTuple):
    """A space, and the connection with the transaction in which it is read or written."""

    connection: Connection
    space: int


class Arrived(NamedTuple):
    """A turn of the source, with its place in the target."""

    place: Place
    id: TurnId
    digest: bytes


class Copier:
    """Copies turns in walk order, parents before children. Keeps a portion in memory, and a little of each turn."""

    def __init__(self, source: Side, target: Side, mint: Mint) -> None:
        self._source, self._target = source, target
        self._tombstones: Tombstones[int] = Tombstones(target, mint, lambda number: read_receipt(*source, number))
        self.arrived: dict[Place, Arrived] = {}
        self.moves: dict[bytes, list[NameMove]] = {}
        self.pointers: dict[str, None] = {}
        self.servers: dict[str, None] = {}
        self.documents: list[TurnId] = []
        self._referred: dict[TurnId, None] = {}
        self.stored = 0
        self._is_signed = last_signature(*source) > 0
        self._ends: dict[int, int] = {}
        self._is_continued: dict[Place, bool] = {}

    def copy(self, ends: Sequence[Place]) -> list[Segment]:
        """Copy the threads that lead to the ends. Returns the ranges of the source's chains that were walked.

        Raises: TurnTaken, CorruptTurn, BarredContent, QuotaExceeded.
        """
        segments = self._walk(ends)
        self._take_documents()
        self._tombstones.write_receipts()
        return segments

    def _walk(self, ends: Sequence[Place]) -> list[Segment]:
        links = read_links_of(*self._source, ends)
        segments = arrange(ends, links)
        for segment in segments:
            for low in range(segment.low, segment.high + 1, PORTION):
                portion = Segment(segment.chain, low, min(segment.high, low + PORTION - 1))
                self._copy_portion(portion, links)
        return segments

    def _take_documents(self) -> None:
        """Copy the documents that new turns refer to. A document that continues turns outside of the copy would bring
        these, too: it stays, and is listed in ``documents``.

        Cost: two statements for each 64 of them, and about six for each that is new in the target.
        """
        referred = turns_by_ids(*self._source, self._referred)
        present = turns_by_ids(*self._target, referred)
        new = [each for id, each in referred.items() if id not in present and each.type == DOCUMENT]
        parents = parents_of_turns(*self._source, [each.place for each in new])
        arrived = {each.id for each in self.arrived.values()}
        for turn in new:
            if arrived.issuperset(parents.get(turn.place, ())):
                self._walk([turn.place])
            else:
                self.documents.append(turn.id)

    def _copy_portion(self, portion: Segment, links: Mapping[int, Sequence[Place]]) -> None:
        turns = whole_range(*self._source, portion)
        in_target = turns_by_ids(*self._target, [each.id for each in turns])
        known = [each for each in turns if each.id in in_target]
        for turn in turns:
            self._note_names(turn)
        # What the target has must be a prefix of the portion: a turn cannot be there without its parents.
        for turn, same in zip(known, turns, strict=False):
            if turn is not same:
                raise CorruptTurn(turn.id, "the other space has it without what it continues")
            arrived = in_target[turn.id]
            if arrived.seal != turn.seal:
                raise TurnTaken(turn.id, "with another seal")
            self.arrived[turn.place] = Arrived(arrived.place, arrived.id, arrived.digest)
        new = turns[len(known) :]
        if new:
            first = new[0]
            before = [Place(first.chain, first.pos - 1)] if first.pos else links.get(first.chain, ())
            self._add(new, [self.arrived[place] for place in before])
        if self._is_signed:
            signatures = signatures_of(*self._source, [each.id for each in turns])
            own = [as_sent(each) for each in signatures if not each.remote]
            store_signatures(*self._target, own)
            others = [as_sent(each) for each in signatures if each.remote]
            store_signatures(*self._target, others, ArrivalOrigin(COPY).bringer)

    def _add(self, new: Sequence[StoredTurn], parents: Sequence[Arrived]) -> None:
        """Store successive turns of a chain; ``parents`` are those of the first."""
        given_bytes, rows = self._prove_all(new, parents)
        # Each but the last is continued by the next, so one head is added, less those that the first continues.
        heads = 1 - sum(not self._continued(parent.place) for parent in parents)
        roots = int(not parents)
        after = take_seq(*self._target, len(new), roots=roots, heads=heads, given_bytes=given_bytes)
        if after.bars:
            refuse_barred(*self._target, [turn.hash for turn, _ in rows if turn.erased is None])
        seq = after.seq - len(new) + 1
        place, begins = self._place(seq, parents)
        placed = [
            (replace(turn, chain=place.chain, pos=place.pos + index, seq=seq + index), data)
            for index, (turn, data) in enumerate(rows)
        ]
        add_turns(*self._target, [turn for turn, _ in placed], [data for _, data in placed])
        add_links(*self._target, begins)
        self._is_continued.update(dict.fromkeys((parent.place for parent in parents), True))
        for turn, (copy, _) in zip(new, placed, strict=True):
            self.arrived[turn.place] = Arrived(copy.place, copy.id, copy.digest)
            # Each turn but the last is continued by the next one of this portion.
            self._is_continued[copy.place] = copy is not placed[-1][0]
            if copy.head is not None:
                step = NameMove(copy.place, copy.digest, own=True, seq=copy.seq)
                self.moves.setdefault(bytes(copy.head), []).append(step)
        self._ends[place.chain] = place.pos + len(new) - 1
        self.stored += len(new)
        self._note_strangers(new, seq)

    def _note_strangers(self, new: Sequence[StoredTurn], first: int) -> None:
        """Record which of the turns came from a stranger to the source: they are a stranger's in the target, too. One
        row for each run of them."""
        numbers = [each.seq for each in new]
        arrivals = arrivals_among(*self._source, min(numbers), max(numbers))
        strangers = arrived_with([each for each in arrivals if each.kind != OWN], numbers)
        for is_strangers, run in groupby(new, key=lambda each: each.seq in strangers):
            last = first + len(list(run)) - 1
            if is_strangers:
                add_arrival(*self._target, first, last, ArrivalOrigin(COPY))
            first = last + 1

    def _prove_all(
        self, new: Sequence[StoredTurn], parents: Sequence[Arrived]
    ) -> tuple[int, list[tuple[StoredTurn, bytes | None]]]:
        """Verify the turns. Returns the size of all payloads, and the rows, each with its payload if that is small;
        stores the large ones.

        An erased turn has no payload, but the number of the receipt that will list it in the target.
        """
        small = small_payloads(*self._source, Segment(new[0].chain, new[0].pos, new[-1].pos))
        taken = turns_by_keys(*self._target, [each.key for each in new if each.key is not None])
        before: Sequence[Arrived | StoredTurn] = parents
        given_bytes = 0
        rows: list[tuple[StoredTurn, bytes | None]] = []
        for turn in new:
            payload = small.get(turn.pos)
            if payload is None and turn.erased is None:
                payload = read_payload_at(*self._source, turn.place)
            data = self._prove(turn, before, payload)
            before = [turn]
            if turn.key in taken:  # the key stays under the seal (rule R45, shadowed keys)
                turn = replace(turn, key=None)
            if data is None:
                assert turn.erased is not None
                rows.append((self._tombstones.take(turn, turn.erased), None))
            else:
                add_payloads(*self._target, {turn.hash: data})
                if turn.type != DOCUMENT:
                    self._referred |= dict.fromkeys(referred_by(data))
                rows.append((turn, split_payload(data)))
                given_bytes += len(data)
        return given_bytes, rows

    def _prove(
        self, stored: StoredTurn, parents: Sequence[Arrived | StoredTurn], payload: bytes | None
    ) -> bytes | None:
        """Verify a record against its seal, or, if its meta was erased, against its receipt. Returns its payload, None
        if it is erased. Raises: CorruptTurn."""
        if stored.erased is None:
            if payload is None or hash_payload(payload) != stored.hash:
                raise CorruptTurn(stored.id, "its payload is missing or disagrees with its hash")
            _check_seal(stored, parents)
            return payload
        assert stored.erased is not None
        if not self._tombstones.is_proven(stored, stored.erased):
            _check_seal(stored, parents)
        return None

    def _continued(self, place: Place) -> bool:
        """Whether a turn of the target continues the one at a place. Looked up once for each place."""
        if place not in self._is_continued:
            tip = tip_of(*self._target, place)
            self._is_continued[place] = tip.continued
            self._ends.setdefault(place.chain, tip.pos)
        return self._is_continued[place]

    def _place(self, seq: int, parents: Sequence[Arrived]) -> tuple[Place, list[tuple[int, list[Place]]]]:
        """The place of a new turn, and the links of the chain that it begins, by the same rule as in ``append``."""
        if len(parents) == 1 and self._ends[parents[0].place.chain] == parents[0].place.pos:
            return Place(parents[0].place.chain, parents[0].place.pos + 1), []
        return Place(seq, 0), [(seq, [parent.place for parent in parents])] if parents else []

    def _note_names(self, stored: StoredTurn) -> None:
        """Note the pointers and servers that the options of a turn name, because they are not copied."""
        if stored.inherited is None:
            return
        options = read_mapping(stored, "inherited")
        ptr, servers = options.get("provider_ptr"), options.get("servers")
        self.pointers |= {ptr: None} if isinstance(ptr, str) else {}
        self.servers |= {each: None for each in servers if isinstance(each, str)} if isinstance(servers, list) else {}


def copy_threads(source: Side, target: Side, ends: Sequence[Place], mint: Mint, *, keep: bool) -> tuple[Copier, Copied]:
    """Copy the threads that lead to the ends, the bookmarks that point at their turns, and the records of their
    conversations. The target is locked, and without ``keep`` the source, too.

    Without ``keep`` the bookmarks are removed from the source; its turns stay. Erased turns arrive erased, with a
    receipt.
    Cost: one statement for about fifty turns, one for each large payload, about five for each name.
    Raises: TurnTaken, BookmarkTaken, KeyTaken, CorruptTurn, CorruptRecord, BarredContent, QuotaExceeded.
    """
    copier = Copier(source, target, mint)
    segments = copier.copy(ends)
    names_at = names_of_segments(*source, segments)
    names = {name: copier.arrived[place] for place, at in names_at.items() if place in copier.arrived for name in at}
    for name in sorted(copier.moves.keys() | names.keys()):
        _settle_name(target, name, copier.moves.get(name, []), names.get(name))
    records = [name for name in sorted(names) if copy_record(*source, name, *target)]
    gather_records(*target, [each.id for each in copier.arrived.values()])
    subjects = _nameless(source, target, ends)
    records += [first for first, there in subjects.items() if copy_record(*source, first, *target, there)]
    if not keep:
        for name in sorted(names):
            remove_bookmark(*source, name)
    return copier, Copied(
        tips=tuple(copier.arrived[end].id for end in ends),
        stored=copier.stored,
        known=len(copier.arrived) - copier.stored,
        names=tuple(map(stored_name, sorted(names))),
        records=tuple(map(stored_name, records)),
        documents=tuple(copier.documents),
    )


def _nameless(source: Side, target: Side, ends: Sequence[Place]) -> dict[bytes, bytes]:
    """The conversations of the ends that have no name in either space: the first turn under which the record of each
    lies in the source, and the one in the target, which may not have the original of an edited one."""
    firsts = dict.fromkeys(first for end in ends if (first := find_first(*source, end)) is not None)
    in_target = turns_by_ids(*target, [first.id for first in firsts])
    subjects: dict[bytes, bytes] = {}
    for first in firsts:
        here, there = find_firsts(*source, first.place), find_firsts(*target, in_target[first.id].place)
        both = [*((source, each.place) for each in here), *((target, each.place) for each in there)]
        if not any(names_in(*side, place, 1) for side, place in both):
            subjects[here[0].id.encode()] = there[0].id.encode()
    return subjects


def _check_seal(stored: StoredTurn, parents: Sequence[Arrived | StoredTurn]) -> None:
    """Check a record against its digest and seal. Raises: CorruptTurn."""
    document_name = read_mapping(stored, "system").get("document_name")
    digest = derive_digest(stored, document_name, [parent.digest for parent in parents])
    seal = derive_seal(stored, digest, [parent.id for parent in parents])
    if (digest, seal) != (stored.digest, stored.seal):
        raise CorruptTurn(stored.id, "its digest or seal disagrees with what it says")


def _settle_name(target: Side, name: bytes, steps: Sequence[NameMove], at: Arrived | None) -> None:
    """Log the moves of a name that the new turns record, then set the name: to its turn in the source, if that was
    copied, else back to where it was in the target. It also stays if it is at a twin of that turn."""
    before = find_named(*target, name)
    if at is not None and before is not None and not _leads_on(target, name, before, at):
        at = None
    if steps:
        move_bookmark(*target, name, steps, before)
    was = None if before is None else before.place
    end = at.place if at is not None else was
    if end is None:
        remove_bookmark(*target, name)
    elif (steps[-1].place if steps else was) != end:
        turn = turn_at(*target, end)
        assert turn is not None
        set_bookmark(*target, name, turn)


def _leads_on(target: Side, name: bytes, before: Named, at: Arrived) -> bool:
    """Whether a name may move on to a copied turn: the turn continues the name's turn, or a twin of that, because both
    spaces may have imported one session. False if it is such a twin itself, so the name stays. Raises:
    BookmarkTaken."""
    if leads_to(*target, before.place, at.place):
        return True
    turn = turn_at(*target, before.place)
    twins = [] if turn is None else places_by_digest(*target, [turn.digest])
    if not any(leads_to(*target, each.place, at.place) for each in twins):
        raise BookmarkTaken(stored_name(name), turn.id if turn else str(before.place), is_copy=True)
    return turn is None or turn.digest != at.digest
