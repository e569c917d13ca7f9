"""Decide which turns an agent may see: those that nobody hid, from the model or from people, on any branch that
continues them.

Agents never see system prompts, reasoning and erased turns.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

from headish.aio import AsyncStore
from headish.errors import UnknownTurn
from headish.values.blocks import Erased
from headish.values.ids import TurnId
from headish.values.messages import Message
from headish.values.turns import TreeTurn, Turn

SEEN_ROLES = frozenset(("user", "assistant", "tool"))
REMEMBERED = 64
"""The number of threads whose visible turns are remembered. A thread never changes; erasures are checked each time."""
HEADS = 16
"""At most this many ends of branches are checked for whether a turn is hidden. A turn that leads to more is not shown,
because each end costs a resolve."""


class LeadsTo(NamedTuple):
    """The ends of the branches that grow from a turn, and the bookmarks on the way."""

    heads: tuple[TurnId, ...]
    names: tuple[str, ...]


class Seen(NamedTuple):
    """A message that may be seen, and the turn that its words are from."""

    message: Message
    turn: Turn


class Eyes:
    """Decides what may be seen of one space, and remembers what threads show."""

    def __init__(self, store: AsyncStore, remembered: OrderedDict[tuple[str, TurnId], frozenset[TurnId]]) -> None:
        self.store, self._remembered = store, remembered

    async def place_of(self, turn: Turn) -> LeadsTo:
        """Find what a turn leads to. Cost: reads its tree."""
        tree = {each.id: each for each in await self.store.tree(turn.id)}
        heads: list[TurnId] = []
        names: list[str] = []
        waiting, met = [turn.id], {turn.id}  # a merge is reached from each of its parents, and read once
        while waiting:
            tree_turn: TreeTurn = tree[waiting.pop()]
            names += tree_turn.bookmarks
            heads += [] if tree_turn.children else [tree_turn.id]
            waiting += [child for child in tree_turn.children if child not in met]
            met.update(tree_turn.children)
        return LeadsTo(tuple(heads), tuple(names))

    async def may_be_seen(self, turn: TurnId, heads: tuple[TurnId, ...]) -> bool:
        """Whether a turn's own words are visible at every one of these ends."""
        if len(heads) > HEADS:
            return False
        return all([turn in await self._seen_at(head) for head in heads])  # a list: all() takes no async generator

    async def thread(self, headish: str) -> tuple[list[Seen], LeadsTo]:
        """The messages of a thread that may be seen, oldest first, and what its last turn leads to.

        Raises: UnknownTurn, Ambiguous, InvalidHeadish.
        """
        turns = {turn.id: turn for turn in await self.store.log(headish)}
        tip = await self.store.get(headish)
        place = await self.place_of(tip)
        window = await self.store.resolve(headish)
        seen = [
            Seen(each, turns[each.turn]) for each in window.messages if each.turn is not None and each.turn in turns
        ]
        return [each for each in seen if _is_quotable(each.message) and await self._is_seen(each, place)], place

    async def turn(self, headish: str) -> tuple[Seen, LeadsTo]:
        """One turn; the last before it for an overlay, which says nothing of its own and may be what a name leads to.

        Raises: UnknownTurn if it may not be seen, as for a turn that does not exist.
        """
        turn = await self.store.get(headish)
        place = await self.place_of(turn)
        seen, _ = await self.thread(turn.id)
        is_overlay = turn.meta.attributes.overlay is not None
        found = seen[-1] if is_overlay and seen else next((each for each in seen if each.turn.id == turn.id), None)
        if found is None:
            raise UnknownTurn(headish)
        return found, place

    async def _is_seen(self, seen: Seen, place: LeadsTo) -> bool:
        return await self.may_be_seen(seen.turn.id, place.heads)

    async def _seen_at(self, head: TurnId) -> frozenset[TurnId]:
        key = self.store.space, head
        if key not in self._remembered:
            self._remembered[key] = await self._look(head)
            while len(self._remembered) > REMEMBERED:
                self._remembered.popitem(last=False)
        self._remembered.move_to_end(key)
        return self._remembered[key]

    async def _look(self, head: TurnId) -> frozenset[TurnId]:
        window = await self.store.resolve(head)
        in_window = {message.turn for message in window.messages if message.turn is not None}
        # A window is what the model sees, and people may see less. `log` gives the newest turn first.
        return frozenset(in_window - _hidden_from_people(reversed(await self.store.log(head))))


def _hidden_from_people(walked: Iterable[Turn]) -> set[TurnId]:
    """The turns of a walk that are hidden from people at its end: stored as hidden, or hidden by an overlay."""
    hidden: set[TurnId] = set()
    by_digest: dict[str, TurnId] = {}
    for turn in walked:
        attributes = turn.meta.attributes
        by_digest[turn.digest] = turn.id
        if attributes.hidden is not None:
            hidden.add(turn.id)
        overlay = attributes.overlay
        covered = {by_digest[each] for each in overlay.covers if each in by_digest} if overlay else set()
        if overlay and overlay.does == "hide":
            hidden |= covered
        elif overlay and overlay.does in ("unhide", "original"):
            hidden -= covered
    return hidden


def _is_quotable(message: Message) -> bool:
    return message.role in SEEN_ROLES and not any(isinstance(block, Erased) for block in message.content)
