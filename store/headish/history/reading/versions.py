"""Versions: alternative turns at one place of a conversation. A person sees one of them at a time.

Two turns are versions of one another if they continue the same turns in the same role, or if one of them supersedes the
other; versions of versions count, too. At the beginning of a conversation (rule R33, conversations) only the second
condition applies, because everybody's first question may continue the same system turn. An overlay is a version of
overlays only, since it is not another answer.

A version that only grew does not count: an import stored a half of an answer while it was being written, and met it
again when there was more of it. The whole supersedes the half and has ``grew`` in its sealed ``system`` (rule R40,
grown versions). Trees, lists of heads, searches and siblings leave halves out, and their tokens do not count. A half
that somebody continued stays visible as a part of that thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from headish.database.query import Connection, Query
from headish.history.reading.decode import read_mapping
from headish.history.reading.find import parents_of
from headish.history.reading.walk import superseded_of
from headish.rows.conversations import First, find_first
from headish.rows.keys import superseding_some, turns_by_ids
from headish.rows.threads.forks import NO_LINKS, parents_at, turns_at_forks
from headish.rows.threads.walks import Walked
from headish.rows.turns import StoredTurn, turn_at, turn_by_id
from headish.values.ids import TurnId, as_turn_id
from headish.values.places import Place
from headish.values.results.plain import PlainResult
from headish.values.turns import OVERLAY, PREAMBLE, Turn

_MARK = b'"grew"'


class Version(NamedTuple):
    """The number of a version, from 1 on, and the number of all versions."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


class Siblings(PlainResult, frozen=True):
    """The versions of a turn, in commit order, itself included; ``current`` is its own index among them."""

    turns: tuple[Turn, ...]
    current: int

    @property
    def version(self) -> Version:
        """The number of the turn among its versions, from 1 on, and their number."""
        return Version(self.current + 1, len(self.turns))


class VersionLink(msgspec.Struct, frozen=True, gc=False):
    """The facts of a turn that finding its versions needs."""

    id: TurnId
    place: Place
    supersedes: TurnId | None


def find_versions(connection: Connection, space: int, stored: StoredTurn, *, halves: bool = False) -> list[StoredTurn]:
    """A turn and its other versions, in commit order; with ``halves``, halves of answers that grew later, too.

    Cost: three or four statements, and as many again for each step from versions beside one another to a version that
    supersedes one of them elsewhere.
    """
    families = _Families(connection, space)
    families.find([VersionLink(stored.id, stored.place, stored.supersedes)])
    versions = next(families.members(), [stored])
    return [each for each in versions if halves or each.id == stored.id or each.id not in families.halves]


def find_firsts(connection: Connection, space: int, place: Place) -> list[First]:
    """The versions of the first turn of the conversation that a place belongs to: the original, then those that
    supersede it, in commit order. Empty if only system turns lead to the place.

    A first turn that supersedes the first turn of a conversation belongs to the same one (rule R33, conversations).
    Cost: three statements, and a few for each version.
    """
    found = find_first(connection, space, place)
    first = None if found is None else turn_by_id(connection, space, found.id)
    if first is None:
        return []
    seen = {first.id}  # damaged rows must not lead in a circle
    while (older := _older_first(connection, space, first)) is not None and older.id not in seen:
        first = older
        seen.add(first.id)
    versions = {first.id: first}
    level = [first]
    while level:
        newer = superseding_some(connection, space, [each.id for each in level])
        level = [each for each in newer if each.id not in versions]
        versions |= {each.id: each for each in level}
    # Two devices may have written them, and then the original may arrive last.
    ordered = sorted(versions.values(), key=lambda each: (each.id != first.id, each.seq))
    return [First(each.place, each.id) for each in ordered]


def find_root_versions(connection: Connection, space: int, roots: Iterable[Place]) -> set[Place]:
    """The roots given, and all roots that supersede one of them or that one of them supersedes, and so on.

    Cost: two statements, and a few for each version.
    """
    waiting = [each for place in roots if (each := turn_at(connection, space, place)) is not None]
    versions: dict[TurnId, StoredTurn] = {}
    while waiting:
        level = {each.id: each for each in waiting if each.id not in versions}
        versions |= level
        newer = superseding_some(connection, space, list(level))
        older = [turn_by_id(connection, space, each.supersedes) for each in level.values() if each.supersedes]
        near = [*newer, *(each for each in older if each is not None)]
        waiting = [each for each in near if not parents_of(connection, space, each)]
    return {each.place for each in versions.values()}


def _older_first(connection: Connection, space: int, first: StoredTurn) -> StoredTurn | None:
    """The first turn of a conversation that ``first`` supersedes; None if it supersedes no such turn."""
    older = None if first.supersedes is None else turn_by_id(connection, space, first.supersedes)
    if older is None or older.role in PREAMBLE:
        return None
    found = find_first(connection, space, older.place)
    return older if found is not None and found.place == older.place else None


def number_versions(
    connection: Connection, space: int, turns: Sequence[VersionLink], links: Mapping[int, Sequence[Place]] = NO_LINKS
) -> dict[TurnId, Version]:
    """The version number of each turn; a turn without other versions is left out. ``links`` are those of the chains
    that the caller has read.

    Cost: as ``find_versions``, for all of them together; one statement less with the links of their chains.
    """
    families = _Families(connection, space, links)
    families.find(turns)
    wanted = {each.id for each in turns}
    numbers: dict[TurnId, Version] = {}
    for members in families.members():
        whole = sum(each.id not in families.halves for each in members)
        before = 0
        for each in members:
            is_half = each.id in families.halves  # counted only for itself: it is shown if the caller asks about it
            before += not is_half
            if each.id in wanted and whole + is_half > 1:
                numbers[each.id] = Version(before + is_half, whole + is_half)
    return numbers


def number_tree(turns: Sequence[Walked], continues: Mapping[TurnId, Sequence[TurnId]]) -> dict[TurnId, Version]:
    """``number_versions`` for all turns of whole trees. Reads nothing: ``turns`` are in commit order, parents first."""
    begun: dict[TurnId, bool] = {}
    groups = _Groups()
    places: dict[tuple[Sequence[TurnId], str, bool], TurnId] = {}
    for each in turns:
        before = continues[each.id]
        in_conversation = bool(before) and begun.get(before[0], True)
        begun[each.id] = in_conversation or each.role not in PREAMBLE
        groups.add(each.id)
        if in_conversation:
            groups.join(places.setdefault((before, *_kind(each)), each.id), each.id)
    for each in turns:  # once all are known: what a turn supersedes may have arrived after it
        older = superseded_of(each)
        if older is not None and older in begun:
            groups.join(older, each.id)
    return {
        turn_id: Version(index + 1, len(members))
        for members in groups.members()
        for index, turn_id in enumerate(members)
        if len(members) > 1
    }


def outgrown_by(turn: StoredTurn | Walked) -> TurnId | None:
    """The half that a turn takes the place of; None if it is not the grown version of one."""
    # Nearly no turn is: the search for the key saves decoding the others.
    if turn.system is None or _MARK not in turn.system:
        return None
    system = read_mapping(turn, "system")
    superseded = system.get("supersedes")
    return as_turn_id(superseded) if system.get("grew") is True and isinstance(superseded, str) else None


def outgrown_among(connection: Connection, space: int, ids: Iterable[TurnId]) -> set[TurnId]:
    """The halves among some turns. Cost: one statement."""
    newer = superseding_some(connection, space, ids)
    return {half for each in newer if (half := outgrown_by(each)) is not None}


REPLACING = Query(
    "what turns that supersede others keep beside what they say, and whether anything came from elsewhere",
    """
    SELECT supersedes, system FROM turn WHERE space = :space AND supersedes IS NOT NULL AND system IS NOT NULL
    UNION ALL
    SELECT NULL, NULL FROM arrival
    WHERE space = :space AND first = (SELECT min(first) FROM arrival WHERE space = :space)
    """,
)


class Unlisted(msgspec.Struct, frozen=True, gc=False):
    """What lists of a space may have to leave out: its halves, and twins if ``has_arrivals``."""

    halves: set[TurnId]
    has_arrivals: bool


NOTHING_UNLISTED = Unlisted(set(), has_arrivals=False)


def unlisted_in_space(connection: Connection, space: int) -> Unlisted:
    """All halves of a space, and whether anything ever came from another store.

    Cost: one statement, over the turns that supersede others.
    """
    rows = list(connection.rows(REPLACING, space=space))
    halves = {row[0] for row in rows if row[0] is not None and _MARK in bytes(row[1])}
    return Unlisted(halves, any(row[0] is None for row in rows))


def outgrown_in_space(connection: Connection, space: int) -> set[TurnId]:
    """All halves of a space. Cost: as ``unlisted_in_space``."""
    return unlisted_in_space(connection, space).halves


def hidden_in(
    turns: Sequence[TurnId], continues: Mapping[TurnId, Sequence[TurnId]], halves: set[TurnId]
) -> set[TurnId]:
    """The halves that nothing but other halves continues. ``turns`` are in commit order."""
    seen: set[TurnId] = set()
    hidden: set[TurnId] = set()
    # Children first, so that it is known of each turn whether something visible continues it.
    for each in reversed(turns):
        if each in halves and each not in seen:
            hidden.add(each)
        else:
            seen.update(continues[each])
    return hidden


class _Groups:
    """Disjoint sets of turns that can be joined (union-find); each keeps the order in which its turns were added."""

    def __init__(self) -> None:
        self._before: dict[TurnId, TurnId] = {}

    def add(self, turn_id: TurnId) -> None:
        self._before.setdefault(turn_id, turn_id)

    def join(self, one: TurnId, other: TurnId) -> None:
        self.add(one)
        self.add(other)
        self._before[self._first(other)] = self._first(one)

    def members(self) -> Iterator[list[TurnId]]:
        families: dict[TurnId, list[TurnId]] = {}
        for turn_id in self._before:
            families.setdefault(self._first(turn_id), []).append(turn_id)
        yield from families.values()

    def _first(self, turn_id: TurnId) -> TurnId:
        while self._before[turn_id] != turn_id:
            # Path halving shortens the way for later look-ups, so a large family stays cheap.
            self._before[turn_id] = self._before[self._before[turn_id]]
            turn_id = self._before[turn_id]
        return turn_id


class _Families:
    """Find the versions of many turns together: each step takes a few statements, however many turns it starts from."""

    def __init__(self, connection: Connection, space: int, links: Mapping[int, Sequence[Place]] = NO_LINKS) -> None:
        self._connection, self._space, self._links = connection, space, links
        self._stored: dict[TurnId, StoredTurn] = {}
        self._groups = _Groups()
        self.halves: set[TurnId] = set()

    def find(self, turns: Iterable[VersionLink]) -> None:
        """Look for the versions of some turns."""
        seen: set[TurnId] = set()
        waiting = {each.id: each for each in turns}
        while waiting:
            step = dict(waiting)
            for each in self._alike(waiting):
                step.setdefault(each.id, _link(each))
            seen |= step.keys()
            waiting = {each.id: _link(each) for each in self._superseding(step) if each.id not in seen}

    def members(self) -> Iterator[list[StoredTurn]]:
        """The turns of each family, in commit order. A turn without other versions has no family."""
        families = [each for each in self._groups.members() if len(each) > 1]
        missing = [turn_id for each in families for turn_id in each if turn_id not in self._stored]
        self._stored |= turns_by_ids(self._connection, self._space, missing)
        for each in families:
            yield sorted((self._stored[turn_id] for turn_id in each), key=lambda turn: turn.seq)

    def _alike(self, turns: Mapping[TurnId, VersionLink]) -> Iterator[StoredTurn]:
        """The turns inside a conversation that continue the same turns as one of these, in the same role."""
        parents = parents_at(self._connection, self._space, [each.place for each in turns.values()], self._links)
        firsts = [listed[0] for listed in parents.values() if listed]
        beside = turns_at_forks(self._connection, self._space, firsts)
        places = [each.place for listed in beside.values() for each in listed]
        parents |= parents_at(self._connection, self._space, places, self._links)
        alike: dict[tuple[tuple[Place, ...], str, bool], list[StoredTurn]] = {}
        for first, listed in beside.items():
            for each in listed:
                # A merge is found at each turn that it continues; it is counted at the first alone.
                if parents[each.place][:1] == (first,):
                    alike.setdefault((parents[each.place], *_kind(each)), []).append(each)
        for listed in alike.values():
            if any(each.id in turns for each in listed):
                yield from (self._join(each, listed[0].id) for each in listed)

    def _superseding(self, turns: Mapping[TurnId, VersionLink]) -> Iterator[StoredTurn]:
        """The turns that supersede one of these, or that one of these supersedes."""
        newer = superseding_some(self._connection, self._space, turns)
        self.halves |= {half for each in newer if (half := outgrown_by(each)) is not None}
        superseded = {each.supersedes for each in turns.values() if each.supersedes is not None}
        older = turns_by_ids(self._connection, self._space, sorted(superseded - turns.keys()))
        for turn in newer:
            yield self._join(turn, turn.supersedes)
        for link in turns.values():
            if link.supersedes is None:
                continue
            if link.supersedes in turns:
                self._groups.join(link.id, link.supersedes)
            elif link.supersedes in older:
                yield self._join(older[link.supersedes], link.id)

    def _join(self, turn: StoredTurn, other: TurnId | None) -> StoredTurn:
        self._stored[turn.id] = turn
        self._groups.join(turn.id, other or turn.id)
        return turn


def _link(turn: StoredTurn) -> VersionLink:
    return VersionLink(turn.id, turn.place, turn.supersedes)


def _kind(turn: StoredTurn | Walked) -> tuple[str, bool]:
    """The properties that versions share besides their parents: the role, and whether they are overlays."""
    return turn.role, turn.type == OVERLAY
