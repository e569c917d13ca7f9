"""Copies: the threads that lead to some turns, from one space of a database into another.

Ids, digests and seals say nothing of the space, so a copy keeps them, and each record is proven on the way. What a turn
says of the name that moved with it is under its seal: the log of that name says so in the other space, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from headish.content.hashes import Said, digest_turn, hash_payload, seal_turn
from headish.database.query import Connection
from headish.errors import BookmarkTaken, CorruptTurn, TurnTaken
from headish.history.decode import read_mapping
from headish.history.order import arrange
from headish.history.tombstones import Tombstones
from headish.history.walk import leads_to
from headish.rows.bookmarks import Named, Step, find_named, move_bookmark, remove_bookmark, set_bookmark
from headish.rows.counters import take_seq
from headish.rows.names import names_of_segments
from headish.rows.payloads import add_payloads, read_payload_at, refuse_barred, split_payload
from headish.rows.turns import StoredTurn, add_links, add_turns, tip_of, turn_at, turn_by_id, turn_by_key, turns_of
from headish.rows.walks import read_links_of
from headish.values.ids import Mint, TurnId
from headish.values.names import stored_name
from headish.values.places import Place, Segment
from headish.values.turns import BLOCKS_TYPE

PORTION = 500


class Copied(Struct, frozen=True):
    """What a copy did. ``tips`` are the ids that were asked for; ``stored`` turns are new in the other space, ``known``
    ones were there already. ``names`` went along. ``pointers`` and ``servers`` are what the threads name and the other
    space does not have; ``streams`` are answers to these turns that are still arriving here."""

    tips: tuple[TurnId, ...]
    stored: int
    known: int
    names: tuple[str, ...]
    pointers: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()


class Arrived(NamedTuple):
    """A turn of the source, as it stands in the target."""

    place: Place
    id: TurnId
    digest: bytes


class Copier:
    """Copies turns in walk order, parents before children. Memory holds a portion, and a few words for each turn."""

    def __init__(self, connection: Connection, source: int, target: int, mint: Mint) -> None:
        self._connection, self._source, self._target = connection, source, target
        self._tombstones = Tombstones(connection, source, target, mint)
        self.arrived: dict[Place, Arrived] = {}
        self.moves: dict[bytes, list[Step]] = {}
        self.pointers: dict[str, None] = {}
        self.servers: dict[str, None] = {}
        self.stored = 0
        self._ends: dict[int, int] = {}
        self._is_continued: dict[Place, bool] = {}

    def copy(self, ends: Sequence[Place]) -> list[Segment]:
        """Copy what leads to the ends. Returns the ranges of the source's chains that were walked.

        Raises: TurnTaken, CorruptTurn.
        """
        links = read_links_of(self._connection, self._source, ends)
        segments = arrange(ends, links)
        for segment in segments:
            for low in range(segment.low, segment.high + 1, PORTION):
                portion = Segment(segment.chain, low, min(segment.high, low + PORTION - 1))
                self._copy_portion(portion, links)
        self._tombstones.write_receipts()
        return segments

    def _copy_portion(self, portion: Segment, links: Mapping[int, Sequence[Place]]) -> None:
        read = turns_of(self._connection, self._source, portion)
        if [each.pos for each in read] != list(range(portion.low, portion.high + 1)):
            raise CorruptTurn(f"{portion.chain}/{portion.high}", "it or one before it in its chain is missing")
        for stored in read:
            before = [Place(stored.chain, stored.pos - 1)] if stored.pos else links.get(stored.chain, ())
            parents = [self.arrived[place] for place in before]
            self._note_names(stored)
            there = turn_by_id(self._connection, self._target, stored.id)
            if there is not None and there.seal != stored.seal:
                raise TurnTaken(stored.id, "with another seal")
            self.arrived[stored.place] = (
                self._add(stored, parents) if there is None else Arrived(there.place, there.id, there.digest)
            )

    def _add(self, stored: StoredTurn, parents: Sequence[Arrived]) -> Arrived:
        payload = self._prove(stored, parents)
        if stored.erased is not None:
            stored = self._tombstones.take(stored)
        if stored.key is not None and turn_by_key(self._connection, self._target, stored.key) is not None:
            raise TurnTaken(stored.id, f"under its key {stored_name(stored.key)!r}")
        heads = 1 - sum(not self._continued(parent.place) for parent in parents)
        counts = {"roots": int(not parents), "heads": heads, "given_bytes": len(payload or b"")}
        taken = take_seq(self._connection, self._target, 1, **counts)
        if taken.bars and payload is not None:
            refuse_barred(self._connection, self._target, [stored.hash])
        seq = taken.seq
        place, begins = self._place(seq, parents)
        arrived = stored._replace(chain=place.chain, pos=place.pos, seq=seq)
        if payload is not None:
            add_payloads(self._connection, self._target, {stored.hash: payload})
        add_turns(self._connection, self._target, [(arrived, None if payload is None else split_payload(payload))])
        add_links(self._connection, self._target, begins)
        self._is_continued.update({parent.place: True for parent in parents} | {place: False})
        if stored.head is not None:
            step = Step(place, stored.digest, own=True, seq=seq)
            self.moves.setdefault(bytes(stored.head), []).append(step)
        self.stored += 1
        return Arrived(place, stored.id, stored.digest)

    def _prove(self, stored: StoredTurn, parents: Sequence[Arrived]) -> bytes | None:
        """The payload of a record that is as its seal says, None of an erased one; one that lost its meta is as its
        receipt says. Raises: CorruptTurn."""
        payload = read_payload_at(self._connection, self._source, stored.place)
        if stored.erased is not None:
            if self._tombstones.is_proven(stored):
                return None
        elif payload is None or hash_payload(payload) != stored.hash:
            raise CorruptTurn(stored.id, "its payload is missing or disagrees with its hash")
        said = Said(
            role=stored.role,
            hash=stored.hash,
            type=stored.type,
            content_type=stored.content_type or BLOCKS_TYPE,
            document_name=read_mapping(stored, "system").get("document_name"),
            attributes=stored.attributes,
        )
        digest = digest_turn(said, [parent.digest for parent in parents])
        seal = seal_turn(
            stored.id, digest, [parent.id for parent in parents], head=stored.head, cache=bool(stored.cache),
            inherited=stored.inherited, system=stored.system, app=stored.app,
        )  # fmt: skip
        if (digest, seal) != (stored.digest, stored.seal):
            raise CorruptTurn(stored.id, "its digest or seal disagrees with what it says")
        return payload

    def _continued(self, place: Place) -> bool:
        """Whether a turn of the target continues the one at a place; looked up once."""
        if place not in self._is_continued:
            tip = tip_of(self._connection, self._target, place)
            self._is_continued[place] = tip.continued
            self._ends.setdefault(place.chain, tip.pos)
        return self._is_continued[place]

    def _place(self, seq: int, parents: Sequence[Arrived]) -> tuple[Place, list[tuple[int, list[Place]]]]:
        """Where a turn goes, and the links of the chain that it begins: as ``history.append`` places a turn."""
        if len(parents) == 1 and self._ends[parents[0].place.chain] == parents[0].place.pos:
            place = Place(parents[0].place.chain, parents[0].place.pos + 1)
            begins: list[tuple[int, list[Place]]] = []
        else:
            place = Place(seq, 0)
            begins = [(seq, [parent.place for parent in parents])] if parents else []
        self._ends[place.chain] = place.pos
        return place, begins

    def _note_names(self, stored: StoredTurn) -> None:
        """What the options of a turn name that no copy takes along."""
        if stored.inherited is None:
            return
        options = read_mapping(stored, "inherited")
        ptr, servers = options.get("provider_ptr"), options.get("servers")
        self.pointers |= {ptr: None} if isinstance(ptr, str) else {}
        self.servers |= {each: None for each in servers if isinstance(each, str)} if isinstance(servers, list) else {}


def copy_threads(
    connection: Connection, source: int, target: int, ends: Sequence[Place], mint: Mint, *, keep: bool
) -> tuple[Copier, list[bytes]]:
    """Copy the threads that lead to the ends, and the names that point at their turns. The spaces are locked.

    Without ``keep`` the names leave the source; its turns stay. What was erased arrives as erased, with a receipt.
    Cost: about eight statements for each turn.
    Raises: TurnTaken, BookmarkTaken, CorruptTurn.
    """
    copier = Copier(connection, source, target, mint)
    segments = copier.copy(ends)
    found = names_of_segments(connection, source, segments)
    names = {name: copier.arrived[place] for place, at in found.items() if place in copier.arrived for name in at}
    for name in sorted(copier.moves.keys() | names.keys()):
        _settle_name(connection, target, name, copier.moves.get(name, []), names.get(name))
    if not keep:
        for name in sorted(names):
            remove_bookmark(connection, source, name)
    return copier, sorted(names)


def _settle_name(connection: Connection, target: int, name: bytes, steps: Sequence[Step], at: Arrived | None) -> None:
    """Log in the target what its new turns say of a name, and leave the name where it belongs: where it is in the
    source, if that is a turn of the copy, else where it was in the target."""
    before = find_named(connection, target, name)
    if at is not None and before is not None:
        _check_forward(connection, target, name, before, at)
    if steps:
        move_bookmark(connection, target, name, steps, before)
    end = at.place if at is not None else before and before.place
    if end is None:
        remove_bookmark(connection, target, name)
    elif (steps[-1].place if steps else before and before.place) != end:
        stored = turn_at(connection, target, end)
        assert stored is not None
        set_bookmark(connection, target, name, stored)


def _check_forward(connection: Connection, target: int, name: bytes, before: Named, at: Arrived) -> None:
    if not leads_to(connection, target, before.place, at.place):
        stored = turn_at(connection, target, before.place)
        raise BookmarkTaken(stored_name(name), stored.id if stored else str(before.place), is_copy=True)
