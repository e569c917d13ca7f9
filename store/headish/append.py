"""Append: drafts become turns, in one transaction.

The order of the statements is the order of the locks: bookmarks first, then payloads, then the space's commit number,
which is held until the commit (R1), then the rows. Two writers that continue one name therefore follow one another.
Of two that extend one chain the second sees what the first added, and starts a chain: where a chain ends is read
behind the commit number, when nobody else adds to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from headish.bookmarks import bookmarks_at, find_bookmark, move_bookmark
from headish.canonical import Sealed, digest_turn, seal_turn
from headish.dialects import Connection
from headish.drafts import Draft, Reference
from headish.errors import BookmarkMoved, InvalidArgument, UnknownTurn
from headish.grammar import Headish
from headish.heads import find_head
from headish.ids import TurnId
from headish.names import stored_name
from headish.order import Place
from headish.payloads import add_payloads
from headish.spaces import refresh_after, take_seq
from headish.turns import StoredTurn, add_links, add_turns, longest, newest_turn, parent_at, turn_at, turn_by_seq


class Appended(NamedTuple):
    """A stored turn and the ids that it continues."""

    turn: StoredTurn
    continues: tuple[TurnId, ...]


class Earlier(NamedTuple):
    """How the items of earlier batches of one stream are found: their first index, and its commit number."""

    first_index: int
    first_seq: int


class _Known(NamedTuple):
    """What a child needs to know of its parent. ``item`` is its index in this batch, where it is no row yet."""

    place: Place | None
    id: TurnId
    digest: bytes
    item: int | None = None


class _Plan(NamedTuple):
    """Where a draft will go, decided before any row is written."""

    parents: tuple[_Known | int, ...]
    head: bytes | None


def append(
    connection: Connection,
    space: int,
    drafts: Sequence[Draft],
    mint: Callable[[], TurnId],
    *,
    first_index: int = 0,
    earlier: Sequence[Earlier] = (),
    carries_names: bool = True,
) -> list[Appended]:
    """Store the drafts in order; all of them, or none.

    A draft may continue earlier drafts by index; ``first_index`` is the index of the first one here, ``earlier``
    finds those that former batches stored. Without ``carries_names`` no bookmark moves but the given ones.
    Cost: seven statements for one turn; a batch adds no more than three for each turn that names what it continues.
    Raises: UnknownTurn, Ambiguous, BookmarkMoved, InvalidArgument.
    """
    planner = _Planner(connection, space, first_index, earlier, carries_names)
    plans = [planner.plan(index, draft) for index, draft in enumerate(drafts)]
    payloads = add_payloads(connection, space, {draft.said.hash: draft.payload for draft in drafts})
    seq = take_seq(connection, space, len(drafts))
    # Behind the commit number, whose lock every writer of the space holds until its commit: nobody adds to a chain now.
    tips = {chain: longest(connection, space, chain) for chain in _chains(plans)}
    builder = _Builder(seq, tips, mint)
    built = [builder.build(draft, plan, payloads[draft.said.hash]) for draft, plan in zip(drafts, plans, strict=True)]
    add_turns(connection, space, [appended.turn for appended in built])
    add_links(connection, space, builder.links)
    _move_bookmarks(connection, space, built, planner.follows)
    refresh_after(connection, seq, len(drafts))
    return built


class _Planner:
    """Finds what each draft continues and which name moves with it, as if the drafts came one by one."""

    def __init__(
        self, connection: Connection, space: int, first_index: int, earlier: Sequence[Earlier], carries_names: bool
    ) -> None:
        self._connection, self._space, self._carries_names = connection, space, carries_names
        self._first_index, self._earlier = first_index, earlier
        self._names: dict[bytes, _Known | int | None] = {}
        self.follows: list[bytes | None] = []

    def plan(self, index: int, draft: Draft) -> _Plan:
        found = [self._find(reference, index, lock=True) for reference in draft.continues]
        if draft.respond:
            found.append(self._newest(index))
        parents = tuple(dict.fromkeys(found))
        head = self._moving_name(draft, parents)
        self._check_expected(draft, head)
        if head is not None:
            self._names[head] = index
        self.follows.append(head)
        return _Plan(parents, head)

    def _find(self, reference: Reference, index: int, *, lock: bool) -> _Known | int:
        if isinstance(reference, Place):
            return self._known(turn_at(self._connection, self._space, reference), str(reference))
        if isinstance(reference, int):
            return self._find_item(reference, index)
        if reference.bookmark is not None:
            moved = self._position(reference.bookmark.encode())
            if moved is not None:
                return moved
        elif reference.name == "@" and index and not reference.steps:
            return index - 1
        stored = find_head(self._connection, self._space, reference, lock=lock)
        return self._known(stored, reference.text)

    def _find_item(self, item: int, index: int) -> _Known | int:
        """An earlier item: of this batch by its own index, of a former one by its commit number."""
        if not 0 <= item < self._first_index + index:
            raise UnknownTurn(str(item), "an item can continue only the items before it")
        if item >= self._first_index:
            return item - self._first_index
        batch = max((each for each in self._earlier if each.first_index <= item), key=lambda each: each.first_index)
        seq = batch.first_seq + item - batch.first_index
        return self._known(turn_by_seq(self._connection, self._space, seq), str(item))

    def _newest(self, index: int) -> _Known | int:
        return index - 1 if index else self._known(newest_turn(self._connection, self._space), "@")

    def _known(self, stored: StoredTurn | None, text: str) -> _Known:
        if stored is None:
            raise UnknownTurn(text)
        return _Known(stored.place, stored.id, stored.digest)

    def _position(self, name: bytes) -> _Known | int | None:
        """Where a name points at this moment of the batch; its row is locked when it is first asked for."""
        if name not in self._names:
            place = find_bookmark(self._connection, self._space, name, lock=True)
            parent = None if place is None else parent_at(self._connection, self._space, place)
            self._names[name] = None if parent is None else _Known(place, *parent)
        return self._names[name]

    def _moving_name(self, draft: Draft, parents: tuple[_Known | int, ...]) -> bytes | None:
        """The one name that moves with a turn (R2): the given one, else that of the first turn it continues."""
        if draft.bookmark is not None or not parents or not self._carries_names:
            return draft.bookmark
        first = draft.continues[0] if draft.continues else None
        if isinstance(first, Headish) and first.bookmark is not None:
            name = first.bookmark.encode()
            if self._position(name) is not None:
                return name
        names = self._names_at(parents[0])
        return names[0] if len(names) == 1 else None

    def _names_at(self, parent: _Known | int) -> list[bytes]:
        here = [name for name, where in self._names.items() if where == parent]
        if isinstance(parent, _Known) and parent.place is not None:
            # Two more than the batch may have moved away: whether one is left, or several, is all that matters.
            stored = bookmarks_at(self._connection, self._space, parent.place, len(self._names) + 2)
            here += [name for name in stored if name not in self._names]
        return here

    def _check_expected(self, draft: Draft, head: bytes | None) -> None:
        if draft.expect is None:
            return
        first = draft.continues[0] if draft.continues else None
        named = draft.bookmark or (first.bookmark.encode() if isinstance(first, Headish) and first.bookmark else None)
        if named is None or head != named:
            raise InvalidArgument("expect says where a bookmark is: give bookmark=, or continue a bookmark by its name")
        actual = self._position(named)
        actual_id = actual.id if isinstance(actual, _Known) else None
        if actual_id != draft.expect:
            raise BookmarkMoved(stored_name(named), draft.expect, actual_id)


class _Builder:
    """Gives each draft its place, id, digest and seal, parents before children."""

    def __init__(self, seq: int, tips: dict[int, int], mint: Callable[[], TurnId]) -> None:
        self._seq, self._tips, self._mint = seq, tips, mint
        self._built: list[StoredTurn] = []
        self.links: list[tuple[int, list[Place]]] = []

    def build(self, draft: Draft, plan: _Plan, payload: int) -> Appended:
        parents = [self._parent(parent) for parent in plan.parents]
        seq = self._seq + len(self._built)
        place = self._place(seq, [place for place, _, _ in parents])
        said, turn_id = draft.said, self._mint()
        digest = digest_turn(said, [digest for _, _, digest in parents])
        continues = tuple(parent_id for _, parent_id, _ in parents)
        sealed = Sealed(turn_id, digest, plan.head, draft.cache, draft.inherited, draft.system, draft.app)
        blocks = said.content_type == "application/json" and said.type is None
        stored = StoredTurn(
            *place, seq, turn_id, payload, digest, seal_turn(sealed, continues), said.role, said.type,
            None if blocks else said.content_type, plan.head, 1 if draft.cache else None, said.attributes,
            draft.inherited, draft.system, draft.app, said.hash,
        )  # fmt: skip
        self._built.append(stored)
        return Appended(stored, continues)

    def _parent(self, parent: _Known | int) -> tuple[Place, TurnId, bytes]:
        if isinstance(parent, int):
            stored = self._built[parent]
            return stored.place, stored.id, stored.digest
        assert parent.place is not None
        return parent.place, parent.id, parent.digest

    def _place(self, seq: int, parents: list[Place]) -> Place:
        """Behind the only parent where that is the last of its chain; else a chain begins, named by its ``seq``."""
        if len(parents) == 1 and self._tips[parents[0].chain] == parents[0].pos:
            place = Place(parents[0].chain, parents[0].pos + 1)
        else:
            place = Place(seq, 0)
            if parents:
                self.links.append((seq, parents))
        self._tips[place.chain] = place.pos
        return place


def _chains(plans: Iterable[_Plan]) -> set[int]:
    """The stored chains that one of the drafts may extend."""
    return {
        parent.place.chain
        for plan in plans
        if len(plan.parents) == 1
        for parent in plan.parents
        if isinstance(parent, _Known) and parent.place is not None
    }


def _move_bookmarks(
    connection: Connection, space: int, built: Sequence[Appended], follows: Sequence[bytes | None]
) -> None:
    moves: dict[bytes, list[Place]] = {}
    for appended, name in zip(built, follows, strict=True):
        if name is not None:
            moves.setdefault(name, []).append(appended.turn.place)
    for name in sorted(moves):
        move_bookmark(connection, space, name, moves[name])
