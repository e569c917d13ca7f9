"""Turns outside of a store, and the pages of a bundle that carry them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import starmap
from typing import Any, NamedTuple

from msgspec.structs import astuple

from headish.bundles.records import WireLeft, WirePage, WireTurn
from headish.content.frames import BODY_LIMIT_BYTES
from headish.content.hashes import hash_payload
from headish.errors import InvalidBundle
from headish.values.ids import TurnId, are_turn_ids, as_turn_id, is_turn_id


class TurnRecord(NamedTuple):
    """A turn outside of a store: the fields that its seal covers, its payload (None if erased) with its hash, and
    whether it is a stranger's."""

    id: TurnId
    parents: tuple[TurnId, ...]
    payload: bytes | None
    hash: bytes
    seal: bytes
    role: str
    type: str | None
    content_type: str | None
    cache: bool
    attributes: bytes | None
    inherited: bytes | None
    system: bytes | None
    app: bytes | None
    head: bytes | None
    erased: TurnId | None = None
    left: WireLeft | None = None
    foreign: bool = False


class TurnColumns:
    """Turns outside of a store by columns, in the order of the fields of ``TurnRecord``. What is done for each turn is
    what applying a bundle costs, and a column takes a fraction of its turns one by one."""

    def __init__(self, columns: Iterable[Sequence[Any]]) -> None:
        self.all = tuple(columns)
        self.ids, self.parents, self.payloads, self.hashes, self.seals, self.roles, self.types, *_ = self.all

    @classmethod
    def of(cls, records: Sequence[TurnRecord]) -> TurnColumns:
        return cls(zip(*records, strict=True) if records else ((),) * len(TurnRecord._fields))

    def __len__(self) -> int:
        return len(self.ids)

    def column(self, name: str) -> Sequence[Any]:
        return self.all[TurnRecord._fields.index(name)]

    def record(self, at: int) -> TurnRecord:
        return TurnRecord(*[each[at] for each in self.all])

    def records(self) -> list[TurnRecord]:
        return [*map(TurnRecord._make, zip(*self.all, strict=True))]

    def part(self, begin: int, payloads: Sequence[bytes | None]) -> TurnColumns:
        """The turns from an index on, with these payloads, one for each."""
        ids, parents, _, *others = [each[begin : begin + len(payloads)] for each in self.all]
        return TurnColumns((ids, parents, payloads, *others))

    def size_bytes(self) -> int:
        """The bytes of all payloads."""
        return sum([len(each) for each in self.payloads if each is not None])


def to_page(turns: TurnColumns, cursor: str | None) -> WirePage:
    """Make a page of turns. It has equal payloads once."""
    ids, parents, contents, hashes, *others = turns.all
    places = {id: place for place, id in enumerate(ids)}
    payloads = {hash: payload for hash, payload in zip(hashes, contents, strict=True) if payload is not None}
    index_of = {hash: place for place, hash in enumerate(payloads)}
    # An erased payload is written as its hash, even if another turn in the page still has the same bytes: an index
    # would give the erased turn its words back.
    refs = [hash if payload is None else index_of[hash] for hash, payload in zip(hashes, contents, strict=True)]
    # Most turns continue one: the first branch spares them a list.
    before = [
        (places.get(listed[0], listed[0]),) if len(listed) == 1 else tuple([places.get(each, each) for each in listed])
        for listed in parents
    ]
    # From ``seal`` on, the fields are the same in both structs.
    wired = starmap(WireTurn, zip(ids, before, refs, *others, strict=True))
    return WirePage(tuple(payloads.values()), tuple(wired), cursor)


def from_page(page: WirePage, file: str) -> list[TurnRecord]:
    """Read the turns of a page. Raises: InvalidBundle."""
    return read_page(page, file).records()


def read_page(page: WirePage, file: str) -> TurnColumns:
    """Read the turns of a page by columns. Raises: InvalidBundle."""
    payloads = [(each, hash_payload(each)) for each in page.payloads]
    turns = _from_whole(page, payloads)
    if turns is None:
        records: list[TurnRecord] = []
        for wire in page.turns:
            records.append(_from_wire(wire, records, payloads, file))
        turns = TurnColumns.of(records)
    # Many turns may share one payload, and headish counts, decodes and indexes it for each: a small page of a stranger
    # could cost as much as a huge one.
    size = turns.size_bytes()
    if size > BODY_LIMIT_BYTES:
        raise InvalidBundle(file, f"the turns of a page have {size:,} bytes, more than any that is written")
    return turns


def _from_whole(page: WirePage, payloads: Sequence[tuple[bytes, bytes]]) -> TurnColumns | None:
    """Read a page in a third of the time that ``_from_wire`` takes for its turns one by one. None if a turn is erased
    or something is wrong: then ``_from_wire`` reads them, and names the fault."""
    if not page.turns:
        return TurnColumns.of([])
    ids, parents, places, seals, *others, erased, left, foreign = zip(*map(astuple, page.turns), strict=True)
    whole = len(ids)
    is_whole = erased.count(None) == left.count(None) == whole and {int}.issuperset(map(type, places))
    if not (is_whole and are_turn_ids(ids) and {32}.issuperset(map(len, seals))):
        return None
    if not 0 <= min(places) <= max(places) < len(payloads):
        return None
    # Nearly every turn continues one earlier turn of the page.
    before = [
        (ids[listed[0]],)
        if len(listed) == 1 and listed[0].__class__ is int and 0 <= listed[0] < place
        else _ids_of(listed, place, ids)
        for place, listed in enumerate(parents)
    ]
    if None in before:
        return None
    pairs = [payloads[place] for place in places]
    return TurnColumns((ids, before, *zip(*pairs, strict=True), seals, *others, erased, left, foreign))


def _ids_of(parents: Sequence[int | str], place: int, ids: Sequence[str]) -> tuple[str, ...] | None:
    """The ids of the parents of the turn at an index of a page; None if one is neither an earlier turn nor an id."""
    parent_ids: list[str] = []
    for each in parents:
        if isinstance(each, int):
            if not 0 <= each < place:
                return None
            each = ids[each]
        elif not is_turn_id(each):
            return None
        parent_ids.append(each)
    return tuple(parent_ids)


def _from_wire(
    wire: WireTurn, before: Sequence[TurnRecord], payloads: Sequence[tuple[bytes, bytes]], file: str
) -> TurnRecord:
    if not is_turn_id(wire.id):
        raise InvalidBundle(file, "the id of a turn is not an id")
    turn_id = TurnId(wire.id)
    parents = tuple([_parent(each, turn_id, before, file) for each in wire.parents])
    payload, hash = None, wire.payload
    if isinstance(hash, int):
        if not 0 <= hash < len(payloads):
            raise InvalidBundle(file, f"turn {turn_id} has a payload that is not in its page")
        payload, hash = payloads[hash]
    if (payload is None) != (wire.erased is not None) or len(hash) != 32 or len(wire.seal) != 32:
        raise InvalidBundle(file, f"turn {turn_id} has no payload, or hashes of another length")
    erased = None if wire.erased is None else as_turn_id(wire.erased)
    if (erased is None) != (wire.erased is None) or (wire.left is not None and erased is None):
        raise InvalidBundle(file, f"turn {turn_id} says that it was erased, and not by what")
    if wire.left is not None and len(wire.left.digest) != 32:
        raise InvalidBundle(file, f"turn {turn_id} has a digest of another length")
    return TurnRecord(
        turn_id, parents, payload, hash, wire.seal, wire.role, wire.type, wire.content_type, wire.cache,
        wire.attributes, wire.inherited, wire.system, wire.app, wire.head, erased, wire.left, wire.foreign,
    )  # fmt: skip


def _parent(given: int | str, turn_id: TurnId, before: Sequence[TurnRecord], file: str) -> TurnId:
    if isinstance(given, int):
        if not 0 <= given < len(before):
            raise InvalidBundle(file, f"turn {turn_id} continues what does not stand before it")
        return before[given].id
    if not is_turn_id(given):
        raise InvalidBundle(file, f"turn {turn_id} continues something that is not an id")
    return TurnId(given)
