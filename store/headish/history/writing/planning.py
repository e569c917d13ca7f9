"""Plan an append: find the parents of each draft, and the name that moves with it, before a row is written.

Every name that a batch mentions is looked up first, all of them at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from headish.database.query import Connection
from headish.errors import BookmarkMoved, BookmarkTaken, InvalidArgument, UnknownTurn, shown
from headish.history.reading.find import find_turn
from headish.rows.bookmarks import bookmarks_at, find_bookmarks
from headish.rows.turns import StoredTurn, Tip, newest_turn, parent_at, turn_at, turn_by_seq
from headish.values.grammar import Headish
from headish.values.ids import TurnId
from headish.values.names import Absent, stored_name
from headish.values.places import Place

if TYPE_CHECKING:
    from headish.content.drafts import Draft, Reference

EARLIER_ITEM = "an earlier item of this batch"


class Earlier(Struct, frozen=True, gc=False):
    """An earlier batch of a stream: the index of its first item, and that item's commit number.

    ``seqs`` has the commit number of each item if the batch had items that were known by their keys; otherwise the
    numbers follow one another.
    """

    first_index: int
    first_seq: int
    seqs: Sequence[int] | None = None

    def seq_of(self, item: int) -> int:
        """The commit number of an item of the batch."""
        index = item - self.first_index
        return self.first_seq + index if self.seqs is None else self.seqs[index]


class BatchPlace(Struct, frozen=True, gc=False):
    """The place of a batch in its stream: the index of its first item, and the earlier batches."""

    first_index: int = 0
    earlier: Sequence[Earlier] = ()


ALONE = BatchPlace()
"""The place of a batch that is a whole stream."""


class Known(Struct, frozen=True, gc=False):
    """The facts of a stored parent that a child needs. A parent in the same batch is just an index.

    ``head`` is the name that moved with it.
    """

    place: Place
    id: TurnId
    digest: bytes
    head: bytes | None


class AppendPlan(Struct, frozen=True, gc=False):
    """The parents of a draft, and the name that moves with it."""

    parents: tuple[Known | int, ...]
    name: bytes | None


class Planner:
    """Finds the parents of each draft and the name that moves with it, as if the drafts were stored one by one."""

    def __init__(
        self, connection: Connection, space: int, drafts: Sequence[Draft], stream: BatchPlace, carries_names: bool
    ) -> None:
        self._connection, self._space, self._carries_names = connection, space, carries_names
        self._first_index, self._earlier = stream.first_index, stream.earlier
        self.mentioned = _mentioned(drafts)
        self.found = find_bookmarks(connection, space, self.mentioned)
        """The positions before the batch of those mentioned names that exist."""
        # The positions after the drafts so far: a later draft must see the move of an earlier one, which is not in the
        # database yet.
        self._names: dict[bytes, Known | int | None] = {}
        self.plans: list[AppendPlan] = []

    def plan(self, index: int, draft: Draft) -> AppendPlan:
        found = [self._find(reference, index) for reference in draft.continues]
        if draft.respond:
            found.append(self._newest(index))
        # Two references may name one turn. Two links to it would be walked once, but count twice in the digest.
        parents = tuple(dict.fromkeys(found))
        name = self._moving_name(draft, parents)
        self._check_expected(draft, name)
        if draft.bookmark is not None and not draft.force:
            self._check_forward(draft.bookmark, parents)
        if name is not None:
            self._names[name] = index
        self.plans.append(AppendPlan(parents, name))
        return self.plans[-1]

    def _find(self, reference: Reference, index: int) -> Known | int:
        if isinstance(reference, Place):
            return self._known(turn_at(self._connection, self._space, reference), str(reference))
        if isinstance(reference, int):
            return self._find_item(reference, index)
        if reference.bookmark is not None:
            moved = self._position(reference.bookmark.encode())
            if moved is not None:
                return moved
        # The newest turn is the draft before this one, which the database cannot find yet.
        elif reference.name == "@" and index and not reference.steps:
            return index - 1
        turn = find_turn(self._connection, self._space, reference)
        return self._known(turn, reference.text)

    def _find_item(self, item: int, index: int) -> Known | int:
        """Find an earlier item: in this batch by its index, in an earlier batch by its commit number."""
        if not 0 <= item < self._first_index + index:
            raise UnknownTurn(shown(item), "an item can continue only the items before it")
        if item >= self._first_index:
            return item - self._first_index
        # Only commit numbers are remembered of earlier batches: a stream of a million items must not keep their turns.
        batch = max((each for each in self._earlier if each.first_index <= item), key=lambda each: each.first_index)
        return self._known(turn_by_seq(self._connection, self._space, batch.seq_of(item)), str(item))

    def _newest(self, index: int) -> Known | int:
        return index - 1 if index else self._known(newest_turn(self._connection, self._space), "@")

    def _known(self, stored: StoredTurn | None, text: str) -> Known:
        if stored is None:
            raise UnknownTurn(text)
        return Known(stored.place, stored.id, stored.digest, stored.head)

    def _position(self, name: bytes) -> Known | int | None:
        """The turn that a mentioned name points at after the drafts so far."""
        if name not in self._names:
            found = self.found.get(name)
            self._names[name] = None if found is None else self._stored(found.place)
        return self._names[name]

    def _stored(self, place: Place) -> Known | None:
        parent = parent_at(self._connection, self._space, place)
        return None if parent is None else Known(place, parent.id, parent.digest, parent.head)

    def _moving_name(self, draft: Draft, parents: tuple[Known | int, ...]) -> bytes | None:
        """The one name that moves with a turn (rule R2, one name moves): the given one, else the one that its first
        reference names, else the only one at its first parent."""
        if draft.bookmark is not None or not parents or not (self._carries_names and draft.moves):
            return draft.bookmark
        first = draft.continues[0] if draft.continues else None
        if isinstance(first, Headish) and first.bookmark is not None:
            name = first.bookmark.encode()
            if self._position(name) is not None:
                return name
        # If there are several, none moves: headish cannot know which of them the caller continues.
        names = self._names_at(parents[0])
        return names[0] if len(names) == 1 else None

    def _names_at(self, parent: Known | int) -> list[bytes]:
        names = [name for name, where in self._names.items() if where == parent]
        if isinstance(parent, Known):
            # As many as the batch has names of its own, which it may have moved away. Two more tell none, one and
            # several apart.
            in_database = bookmarks_at(self._connection, self._space, parent.place, parent.head, len(self._names) + 2)
            names += [name for name in in_database if name not in self._names]
        return names

    def _check_expected(self, draft: Draft, moving: bytes | None) -> None:
        if draft.expect is None:
            return
        first = draft.continues[0] if draft.continues else None
        name = draft.bookmark or (first.bookmark.encode() if isinstance(first, Headish) and first.bookmark else None)
        if name is None or moving != name:
            raise InvalidArgument("expect needs a bookmark: give bookmark=, or continue a bookmark by its name")
        actual = self._position(name)
        if isinstance(actual, int):  # an earlier draft of this batch moved it
            raise BookmarkMoved(stored_name(name), expected_id(draft.expect), EARLIER_ITEM)
        check_expected(name, draft.expect, None if actual is None else actual.id)

    def _check_forward(self, name: bytes, parents: tuple[Known | int, ...]) -> None:
        """Refuse to move a name to a turn that does not continue the name's turn (rule R24, not taken away)."""
        position = self._position(name)
        if position is None:
            return
        from headish.history.reading.walk import leads_to  # late: few drafts move a name from where it is

        # A list, not a recursion: a batch may be one chain that is longer than the stack is deep.
        ahead, seen = list(parents), set[Known | int]()
        while ahead:
            parent = ahead.pop()
            if parent == position or (
                isinstance(position, Known)
                and isinstance(parent, Known)
                and leads_to(self._connection, self._space, position.place, parent.place)
            ):
                return
            if isinstance(parent, int) and parent not in seen:
                seen.add(parent)
                ahead.extend(self.plans[parent].parents)
        raise BookmarkTaken(stored_name(name), position.id if isinstance(position, Known) else EARLIER_ITEM)


def check_draft(connection: Connection, space: int, draft: Draft) -> None:
    """Refuse a draft that an append would refuse, without storing anything.

    Raises: UnknownTurn, Ambiguous, BookmarkMoved, InvalidArgument.
    """
    Planner(connection, space, [draft], ALONE, carries_names=True).plan(0, draft)


def check_expected(name: bytes, expect: TurnId | Absent | None, actual: TurnId | None) -> None:
    """Check that a name is where it is expected. Raises: BookmarkMoved."""
    if expect is not None and expected_id(expect) != actual:
        raise BookmarkMoved(stored_name(name), expected_id(expect), actual)


def expected_id(expect: TurnId | Absent | None) -> TurnId | None:
    """The expected id; None if the name must not exist."""
    return None if isinstance(expect, Absent) else expect


def moves_once(plans: Sequence[AppendPlan]) -> list[AppendPlan]:
    """Keep each name only in the last plan of the batch that moves it, so that its log gets one row (rule R39, one
    row)."""
    last = {plan.name: index for index, plan in enumerate(plans)}
    return [
        plan if plan.name is None or last[plan.name] == index else replace(plan, name=None)
        for index, plan in enumerate(plans)
    ]


def stored_parents(plans: Iterable[AppendPlan]) -> set[Place]:
    """The places of the stored turns that drafts continue."""
    return {parent.place for plan in plans for parent in plan.parents if type(parent) is Known}


def count_ends(plans: Sequence[AppendPlan], tips: Mapping[Place, Tip]) -> tuple[int, int]:
    """Count the roots and heads that the drafts add. ``tips`` has the stored turns that they continue."""
    heads: set[Place | int] = {place for place, tip in tips.items() if not tip.continued}
    before = len(heads)
    for index, plan in enumerate(plans):
        for parent in plan.parents:
            heads.discard(parent.place if type(parent) is Known else parent)
        heads.add(index)
    return sum(not plan.parents for plan in plans), len(heads) - before


def _mentioned(drafts: Sequence[Draft]) -> set[bytes]:
    """The names that drafts continue or set."""
    continued = {
        reference.bookmark.encode()
        for draft in drafts
        for reference in draft.continues
        if isinstance(reference, Headish) and reference.bookmark is not None
    }
    return continued | {draft.bookmark for draft in drafts if draft.bookmark is not None}
