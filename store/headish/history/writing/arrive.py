"""Store a page of turns that came from elsewhere, in one transaction under the lock of the space.

Ids, seals, times and keys stay as they are. No name moves, ``@`` does not change, and a turn that is here already stays
as it is, whatever the sender says about it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from msgspec.structs import replace

from headish.bundles.pages import TurnColumns, TurnRecord
from headish.content.hashes import hash_key
from headish.database.query import Connection
from headish.errors import CorruptTurn, ForeignConflict, InvalidBundle, MissingParents
from headish.history.conversations.changing import gather_records
from headish.history.tombstones import Tombstones
from headish.history.writing.arriving import RecordProver, check_payloads
from headish.rows.adding import TurnRows, add_links, add_rows
from headish.rows.counters import has_barred, take_arrived
from headish.rows.elsewhere.arrivals import STRANGER, ArrivalOrigin, add_arrival
from headish.rows.elsewhere.sealed import TurnHere, has_between, placed_with
from headish.rows.keys import turns_by_keys
from headish.rows.payloads import add_payloads, barred_among, split_payload
from headish.rows.turns import StoredTurn, tip_of
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
    present = placed_with(connection, space, ids)
    return [each for each in ids if each not in present]


def store_page(
    connection: Connection, space: int, turns: TurnColumns, sender: Sender, mint: Mint, limit_bytes: int
) -> PageStored:
    """Store the turns of a page that are not here yet. The space is locked.

    Cost: one statement for each 64 turns, one for each new branch, and about nine.
    Raises: InvalidBundle, ForeignConflict, MissingParents, QuotaExceeded, TooLarge.
    """
    page = _Page(connection, space, sender, mint)
    new = page.sift(turns)
    if len(new):
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

    def sift(self, turns: TurnColumns) -> TurnColumns:
        """The turns that are not here yet. Raises: ForeignConflict, MissingParents, InvalidBundle."""
        own: set[TurnId] = {*turns.ids}
        if len(own) != len(turns):
            raise InvalidBundle(self._sender.file, "a page has a turn twice")
        outside = set().union(*turns.parents) - own
        # Ids are in order of time. Nearly always nothing was written here while the turns of a page were written
        # elsewhere; then none of them can be here, and none is looked up.
        ids = own | outside if own and has_between(*self._target, min(own), max(own)) else outside
        self._here = here = placed_with(*self._target, sorted(ids))
        missing = sorted(outside - here.keys())
        if missing:
            raise MissingParents(self._sender.file, tuple(missing))
        if own.isdisjoint(here):
            return turns
        for id, seal in zip(turns.ids, turns.seals, strict=True):
            if id in here and here[id].seal != seal:
                raise ForeignConflict(id)
        return TurnColumns.of([turns.record(at) for at, id in enumerate(turns.ids) if id not in here])

    def store(self, new: TurnColumns, limit_bytes: int) -> None:
        rows, payloads = self._prove_all(new, limit_bytes)
        given_bytes = sum([len(data) for data in payloads if data is not None])
        roots, heads = self._count(new.parents)
        # After the proof: commit numbers are taken only when the whole page is known to be sound.
        last = take_arrived(*self._target, len(new), roots=roots, heads=heads, given_bytes=given_bytes)
        first = last - len(new) + 1
        links = self._place_all(rows, new, first)
        inline = [data and split_payload(data) for data in payloads]
        if None in inline:  # a large payload, or an erased one
            given = zip(new.hashes, payloads, strict=True)
            add_payloads(*self._target, {hash: data for hash, data in given if data is not None})
        add_rows(*self._target, rows, inline)
        add_links(*self._target, links)
        self._tombstones.write_receipts()
        self._note_arrivals(new, first)
        gather_records(*self._target, new.ids)

    def _note_arrivals(self, new: TurnColumns, first: int) -> None:
        """Record where the turns came from: one row for each run of turns of one origin."""
        origin = self._sender.origin
        for foreign, run in groupby(new.column("foreign")):
            last = first + len(list(run)) - 1
            add_arrival(*self._target, first, last, replace(origin, kind=STRANGER) if foreign else origin)
            first = last + 1

    def _prove_all(self, new: TurnColumns, limit_bytes: int) -> tuple[TurnRows, Sequence[bytes | None]]:
        """The proven rows in order, without their places; and their payloads."""
        # `sift` accepted parents anywhere on the page; they must come first, because a digest needs theirs.
        digests = {id: each.digest for id, each in self._here.items()}
        rows = RecordProver(digests, self._sender.file, limit_bytes).prove_columns(new)
        # Nearly no space bars anything: this saves a statement for each 64 turns.
        said = zip(new.hashes, new.payloads, strict=True) if has_barred(*self._target) else ()
        barred = barred_among(*self._target, [hash for hash, payload in said if payload is not None])
        is_whole = not (barred or self._sender.erased or None in new.payloads)
        if not is_whole:
            self._check_erased(new, rows)
        erased = {} if is_whole else self._find_erased(new, barred)
        for at, why in erased.items():
            rows.put(at, self._without(new.record(at), rows.turn(at), why))
        # After the proof, because the seal covers the key that is left out now; after ``_without``, which hashes keys;
        # and before the receipts, which cover what is left.
        self._shadow(rows)
        for at, why in erased.items():
            rows.put(at, self._tombstones.take(rows.turn(at), why))
        return rows, [None if at in erased else each for at, each in enumerate(new.payloads)]

    def _find_erased(self, new: TurnColumns, barred: Mapping[bytes, int]) -> dict[int, Erasing]:
        """The turns that are stored without payload, by their index on the page, and why."""
        erased: dict[int, Erasing] = {}
        for at in range(len(new)):
            record = new.record(at)
            claimed = record.erased or self._sender.erased.get(record.id)
            why: Erasing | None = barred.get(record.hash) if claimed is None else claimed
            if why is not None:
                erased[at] = why
        return erased

    def _without(self, record: TurnRecord, stored: StoredTurn, erased: Erasing) -> StoredTurn:
        """Remove from a turn that arrived whole what the erasure removed from it."""
        receipt = self._find_receipt(erased)
        if record.erased is not None or receipt is None or not receipt.meta:
            return stored
        attributes = stored.attributes if stored.type == OVERLAY else None
        key = None if stored.key is None else hash_key(stored.key)
        return replace(stored, attributes=attributes, inherited=None, system=None, head=None, app=None, key=key)

    def _check_erased(self, new: TurnColumns, rows: TurnRows) -> None:
        for at, erased in enumerate(new.column("erased")):
            if erased is None:
                continue
            record = new.record(at)
            try:
                lost_meta = self._tombstones.is_proven(rows.turn(at), erased)
            except CorruptTurn as error:
                raise InvalidBundle(self._sender.file, str(error)) from None
            if lost_meta != (record.left is not None):
                raise InvalidBundle(self._sender.file, f"turn {record.id}: its receipt says otherwise what it lost")

    def _shadow(self, rows: TurnRows) -> None:
        """Remove the keys that other turns have from the rows; they stay under the seal (rule R45, shadowed keys)."""
        keys = [each for each in rows.columns["key"] if each is not None]
        if not keys:
            return
        taken: set[bytes | None] = {*turns_by_keys(*self._target, keys)}
        shadowed: list[bytes | None] = []
        for key in rows.columns["key"]:
            shadowed.append(None if key in taken else key)
            taken.add(key)
        rows.columns["key"] = shadowed

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

    def _place_all(self, rows: TurnRows, new: TurnColumns, first: int) -> list[tuple[int, list[Place]]]:
        """Give each row its chain, position and commit number. Returns the links of the chains that they begin."""
        at: dict[TurnId, tuple[int, int]] = {id: each.place for id, each in self._here.items()}
        placed: list[tuple[int, int]] = []
        links: list[tuple[int, list[Place]]] = []
        # `_count` has put the ends of continued chains into it, and this loop keeps them up to date.
        ends = self._ends
        for seq, (id, parents) in enumerate(zip(new.ids, new.parents, strict=True), first):
            chain, pos = at[parents[0]] if len(parents) == 1 else (seq, -1)
            if ends.get(chain, -1) != pos:
                chain, pos = seq, -1
            if pos < 0 and parents:
                links.append((seq, [Place(*at[each]) for each in parents]))
            ends[chain] = pos + 1
            at[id] = place = chain, pos + 1
            placed.append(place)
        chains, positions = zip(*placed, strict=True)
        rows.columns |= {"chain": chains, "pos": positions, "seq": range(first, first + len(new))}
        return links
