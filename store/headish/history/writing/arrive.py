"""Store a page of turns that came from elsewhere, in one transaction under the lock of the space.

Ids, seals, times and keys stay as they are. No name moves, ``@`` does not change, and a turn that is here already stays
as it is, whatever the sender says about it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from msgspec.structs import replace

from headish.bundles.records import TurnRecord
from headish.content.hashes import hash_key
from headish.database.query import Connection
from headish.errors import CorruptTurn, ForeignConflict, InvalidBundle, MissingParents
from headish.history.conversations.changing import gather_records
from headish.history.tombstones import Tombstones
from headish.history.writing.arriving import RecordProver, check_payloads
from headish.rows.counters import has_barred, take_arrived
from headish.rows.elsewhere.arrivals import STRANGER, ArrivalOrigin, add_arrival
from headish.rows.elsewhere.sealed import TurnHere, has_between, placed_with
from headish.rows.keys import turns_by_ids, turns_by_keys
from headish.rows.payloads import add_payloads, barred_among, split_payload
from headish.rows.turns import StoredTurn, add_links, add_placed_turns, tip_of
from headish.rows.upkeep.receipts import read_receipt
from headish.values.ids import Mint, TurnId
from headish.values.places import Place
from headish.values.results.erasures import Receipt
from headish.values.turns import OVERLAY

Erasing = TurnId | int
"""Why a turn is stored without its payload: the id of a receipt of the sender, or the number of the erasure here that
barred it."""


class Sender(NamedTuple):
    """The source of turns. ``file`` names it in errors; ``find`` looks up the receipts that came with them, by id.
    ``erased`` maps turns that another store has erased to the ids of the receipts."""

    file: str
    origin: ArrivalOrigin
    find: Callable[[TurnId], Receipt | None]
    erased: Mapping[TurnId, TurnId] = {}


class PageStored(NamedTuple):
    """The numbers of turns of a page that are new here, and that were here already."""

    stored: int
    known: int


def missing_parents(connection: Connection, space: int, ids: Sequence[TurnId]) -> list[TurnId]:
    """The ids that no turn of this space has. Cost: one statement."""
    present = turns_by_ids(connection, space, ids)
    return [each for each in ids if each not in present]


def store_page(
    connection: Connection, space: int, turns: Sequence[TurnRecord], sender: Sender, mint: Mint, limit_bytes: int
) -> PageStored:
    """Store the turns of a page that are not here yet. The space is locked.

    Cost: one statement for each 64 turns, one for each new branch, and about nine.
    Raises: InvalidBundle, ForeignConflict, MissingParents, QuotaExceeded, TooLarge.
    """
    page = _Page(connection, space, sender, mint)
    new = page.sift(turns)
    if new:
        check_payloads(new, sender.file)
        page.store(new, limit_bytes)
    return PageStored(len(new), len(turns) - len(new))


class _Page:
    """A page while it is stored."""

    def __init__(self, connection: Connection, space: int, sender: Sender, mint: Mint) -> None:
        self._target, self._sender = (connection, space), sender
        self._tombstones: Tombstones[Erasing] = Tombstones(self._target, mint, self._find_receipt)
        self._here: dict[TurnId, TurnHere] = {}
        self._ends: dict[int, int] = {}
        self._continued: dict[Place, bool] = {}

    def sift(self, turns: Sequence[TurnRecord]) -> list[TurnRecord]:
        """The turns that are not here yet. Raises: ForeignConflict, MissingParents, InvalidBundle."""
        own = {each.id for each in turns}
        if len(own) != len(turns):
            raise InvalidBundle(self._sender.file, "a page has a turn twice")
        outside = set().union(*[each.parents for each in turns]) - own
        # Ids are in order of time. Nearly always nothing was written here while the turns of a page were written
        # elsewhere; then none of them can be here, and none is looked up.
        ids = own | outside if own and has_between(*self._target, min(own), max(own)) else outside
        self._here = here = placed_with(*self._target, sorted(ids))
        missing = sorted(outside - here.keys())
        if missing:
            raise MissingParents(self._sender.file, tuple(missing))
        if own.isdisjoint(here):
            return [*turns]
        for turn in turns:
            if turn.id in here and here[turn.id].seal != turn.seal:
                raise ForeignConflict(turn.id)
        return [each for each in turns if each.id not in here]

    def store(self, new: Sequence[TurnRecord], limit_bytes: int) -> None:
        rows, payloads = self._prove_all(new, limit_bytes)
        given_bytes = sum([len(data) for data in payloads if data is not None])
        roots, heads = self._count([each.parents for each in new])
        # After the proof: commit numbers are taken only when the whole page is known to be sound.
        last = take_arrived(*self._target, len(new), roots=roots, heads=heads, given_bytes=given_bytes)
        first = last - len(new) + 1
        places, links = self._place_all(new, first)
        inline = [data and split_payload(data) for data in payloads]
        beside = zip(new, payloads, inline, strict=True)
        large = {each.hash: data for each, data, small in beside if data is not None and small is None}
        add_payloads(*self._target, large)
        add_placed_turns(*self._target, places, rows, inline)
        add_links(*self._target, links)
        self._tombstones.write_receipts()
        self._note_arrivals(new, first)
        gather_records(*self._target, [each.id for each in new])

    def _note_arrivals(self, new: Sequence[TurnRecord], first: int) -> None:
        """Record where the turns came from: one row for each run of turns of one origin."""
        origin = self._sender.origin
        for foreign, run in groupby([each.foreign for each in new]):
            last = first + len(list(run)) - 1
            add_arrival(*self._target, first, last, replace(origin, kind=STRANGER) if foreign else origin)
            first = last + 1

    def _prove_all(
        self, new: Sequence[TurnRecord], limit_bytes: int
    ) -> tuple[list[StoredTurn], Sequence[bytes | None]]:
        """The proven rows in order, without their places; and their payloads."""
        proven = self._prove(new, limit_bytes)
        payloads = [each.payload for each in new]
        # Nearly no space bars anything: this saves a statement for each 64 turns.
        hashes = [each.hash for each in new if each.payload is not None] if has_barred(*self._target) else []
        barred = barred_among(*self._target, hashes)
        # After the proof, because the seal covers the key that is left out now.
        rows = self._shadow(proven)
        if barred or self._sender.erased or None in payloads:
            self._check_erased(new, proven)
            for at, record in enumerate(new):
                claimed = record.erased or self._sender.erased.get(record.id)
                erased: Erasing | None = barred.get(record.hash) if claimed is None else claimed
                if erased is not None:
                    rows[at] = self._tombstones.take(self._without(record, rows[at], erased), erased)
                    payloads[at] = None
        return rows, payloads

    def _prove(self, new: Sequence[TurnRecord], limit_bytes: int) -> list[StoredTurn]:
        # `sift` accepted parents anywhere on the page; they must come first, because a digest needs theirs.
        digests = {id: each.digest for id, each in self._here.items()}
        return RecordProver(digests, self._sender.file, limit_bytes).prove(new)

    def _without(self, record: TurnRecord, stored: StoredTurn, erased: Erasing) -> StoredTurn:
        """Remove from a turn that arrived whole what the erasure removed from it."""
        receipt = self._find_receipt(erased)
        if record.erased is not None or receipt is None or not receipt.meta:
            return stored
        attributes = stored.attributes if stored.type == OVERLAY else None
        key = None if stored.key is None else hash_key(stored.key)
        return replace(stored, attributes=attributes, inherited=None, system=None, head=None, app=None, key=key)

    def _check_erased(self, new: Sequence[TurnRecord], proven: Sequence[StoredTurn]) -> None:
        for record, turn in zip(new, proven, strict=True):
            if record.erased is None:
                continue
            try:
                lost_meta = self._tombstones.is_proven(turn, record.erased)
            except CorruptTurn as error:
                raise InvalidBundle(self._sender.file, str(error)) from None
            if lost_meta != (record.left is not None):
                raise InvalidBundle(self._sender.file, f"turn {record.id}: its receipt says otherwise what it lost")

    def _shadow(self, proven: Sequence[StoredTurn]) -> list[StoredTurn]:
        """Remove the keys that other turns have from the rows; they stay under the seal (rule R45, shadowed keys)."""
        keys = [each.key for each in proven if each.key is not None]
        if not keys:
            return [*proven]
        taken = set(turns_by_keys(*self._target, keys))
        rows: list[StoredTurn] = []
        for turn in proven:
            rows.append(replace(turn, key=None) if turn.key in taken else turn)
            if turn.key is not None:
                taken.add(turn.key)
        return rows

    def _find_receipt(self, erased: Erasing) -> Receipt | None:
        if isinstance(erased, int):
            receipt = read_receipt(*self._target, erased)
            # A bar removes the payload only, even if the erasure that set it removed its own turns' meta.
            return None if receipt is None else replace(receipt, meta=False)
        return self._sender.find(erased)

    def _count(self, parents: Sequence[tuple[TurnId, ...]]) -> tuple[int, int]:
        """Count the roots and heads that turns with these parents add."""
        continued: set[TurnId] = set().union(*parents)
        places = [self._here[each].place for each in continued if each in self._here]
        heads = len(parents) - len(continued) + sum(map(self._is_continued, places))
        return parents.count(()), heads

    def _is_continued(self, place: Place) -> bool:
        """Whether a stored turn continues the one at a place. Looked up once for each place."""
        if place not in self._continued:
            tip = tip_of(*self._target, place)
            self._continued[place] = tip.continued
            self._ends[place.chain] = tip.pos
        return self._continued[place]

    def _place_all(
        self, new: Sequence[TurnRecord], first: int
    ) -> tuple[list[tuple[int, int, int]], list[tuple[int, list[Place]]]]:
        """The chain, position and commit number of each turn, and the links of the chains that they begin."""
        at: dict[TurnId, tuple[int, int]] = {id: each.place for id, each in self._here.items()}
        placed: list[tuple[int, int, int]] = []
        links: list[tuple[int, list[Place]]] = []
        for seq, record in enumerate(new, first):
            chain, pos = at[record.parents[0]] if len(record.parents) == 1 else (seq, -1)
            # `_count` has put the ends of continued chains into `_ends`, and this loop keeps them up to date.
            if self._ends.get(chain, -1) != pos:
                chain, pos = seq, -1
            if pos < 0 and record.parents:
                links.append((seq, [Place(*at[each]) for each in record.parents]))
            self._ends[chain] = pos + 1
            at[record.id] = chain, pos + 1
            placed.append((chain, pos + 1, seq))
        return placed, links
