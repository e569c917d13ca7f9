"""Append: drafts become turns, in one transaction.

Whoever writes has locked the space (``rows.counters.lock_space``), so one writer at a time is here: what is read of
names, chains and the newest turn holds until the commit. Two writers that continue one name therefore follow one
another. Of two that extend one chain the second sees what the first added, and starts a chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from headish.content.drafts import Draft
from headish.content.hashes import digest_turn, seal_turn
from headish.database.query import Connection
from headish.history.planning import Earlier, Known, Plan, Planner, count_ends, stored_parents
from headish.rows.bookmarks import Step, find_named, move_bookmark
from headish.rows.counters import refresh_after, take_seq
from headish.rows.payloads import add_payloads, split_payload
from headish.rows.turns import StoredTurn, add_links, add_turns, tip_of
from headish.values.ids import Mint, TurnId
from headish.values.places import Place
from headish.values.turns import BLOCKS_TYPE


class Appended(NamedTuple):
    """A stored turn and the ids that it continues."""

    turn: StoredTurn
    continues: tuple[TurnId, ...]


def append(
    connection: Connection,
    space: int,
    drafts: Sequence[Draft],
    mint: Mint,
    *,
    first_index: int = 0,
    earlier: Sequence[Earlier] = (),
    carries_names: bool = True,
) -> list[Appended]:
    """Store the drafts in order; all of them, or none.

    A draft may continue earlier drafts by index; ``first_index`` is the index of the first one here, ``earlier``
    finds those that former batches stored. Without ``carries_names`` no bookmark moves but the given ones.
    Cost: seven statements for one turn that continues a bookmark; a batch adds no more than two for each turn that
    says what it continues, two for each name that moves (four for a new one), one for each 64 names that it mentions
    and one for its large payloads.
    Raises: UnknownTurn, Ambiguous, BookmarkMoved, InvalidArgument.
    """
    planner = Planner(connection, space, drafts, first_index, earlier, carries_names)
    for index, draft in enumerate(drafts):
        planner.plan(index, draft)
    plans = planner.plans
    add_payloads(connection, space, {draft.said.hash: draft.payload for draft in drafts})
    tips = {place: tip_of(connection, space, place) for place in stored_parents(plans)}
    roots, heads = count_ends(plans, tips)
    given_bytes = sum(len(draft.payload) for draft in drafts)
    seq = take_seq(connection, space, len(drafts), roots=roots, heads=heads, given_bytes=given_bytes)
    builder = _Builder(seq, {place.chain: tip.pos for place, tip in tips.items()}, mint)
    built = [builder.build(draft, plan) for draft, plan in zip(drafts, plans, strict=True)]
    data = [split_payload(draft.payload) for draft in drafts]
    add_turns(connection, space, zip([appended.turn for appended in built], data, strict=True))
    add_links(connection, space, builder.links)
    _move_bookmarks(connection, space, built, planner)
    refresh_after(connection, seq, len(drafts))
    return built


class _Builder:
    """Gives each draft its place, id, digest and seal, parents before children."""

    def __init__(self, seq: int, tips: dict[int, int], mint: Mint) -> None:
        self._seq, self._tips, self._mint = seq, tips, mint
        self._built: list[StoredTurn] = []
        self.links: list[tuple[int, list[Place]]] = []

    def build(self, draft: Draft, plan: Plan) -> Appended:
        parents = [self._parent(parent) for parent in plan.parents]
        seq = self._seq + len(self._built)
        place = self._place(seq, [place for place, _, _ in parents])
        said, turn_id = draft.said, self._mint()
        digest = digest_turn(said, [digest for _, _, digest in parents])
        continues = tuple(parent_id for _, parent_id, _ in parents)
        beside = {"inherited": draft.inherited, "system": draft.system, "app": draft.app}
        is_blocks = said.content_type == BLOCKS_TYPE and said.type is None
        stored = StoredTurn(
            chain=place.chain,
            pos=place.pos,
            seq=seq,
            id=turn_id,
            digest=digest,
            seal=seal_turn(turn_id, digest, continues, head=plan.name, cache=draft.cache, **beside),
            role=said.role,
            type=said.type,
            content_type=None if is_blocks else said.content_type,
            head=plan.name,
            cache=1 if draft.cache else None,
            attributes=said.attributes,
            hash=said.hash,
            erased=None,
            key=None,
            supersedes=None,
            **beside,
        )
        self._built.append(stored)
        return Appended(stored, continues)

    def _parent(self, parent: Known | int) -> tuple[Place, TurnId, bytes]:
        if isinstance(parent, int):
            stored = self._built[parent]
            return stored.place, stored.id, stored.digest
        return parent.place, parent.id, parent.digest

    def _place(self, seq: int, parents: list[Place]) -> Place:
        """After the only parent, if that is the last of its chain; otherwise it begins one, numbered by its ``seq``."""
        if len(parents) == 1 and self._tips[parents[0].chain] == parents[0].pos:
            place = Place(parents[0].chain, parents[0].pos + 1)
        else:
            place = Place(seq, 0)
            if parents:
                self.links.append((seq, parents))
        self._tips[place.chain] = place.pos
        return place


def _move_bookmarks(
    connection: Connection,
    space: int,
    built: Sequence[Appended],
    planner: Planner,
) -> None:
    moves: dict[bytes, list[Step]] = {}
    for (turn, _), plan in zip(built, planner.plans, strict=True):
        if plan.name is not None:
            step = Step(turn.place, turn.digest, own=True, seq=turn.seq)
            moves.setdefault(plan.name, []).append(step)
    for name in sorted(moves):
        # A name that moves because it was alone at its turn was not looked up: nobody mentioned it.
        before = planner.found.get(name)
        if before is None and name not in planner.mentioned:
            before = find_named(connection, space, name)
        move_bookmark(connection, space, name, moves[name], before)
