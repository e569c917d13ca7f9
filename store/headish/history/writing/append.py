"""Append: drafts become turns, in one transaction.

The caller has locked the space (``rows.counters.lock_space``), so one writer at a time is here: what is read of names,
chains and the newest turn stays true until the commit. Therefore two writers that continue one name follow one another.
If two writers extend one chain, the second sees what the first added, and starts a new chain.

What is written, with the module of its SQL: large payloads to ``payload`` (``rows.payloads``), the numbers to
``counter`` (``rows.counters``), the turns to ``turn`` and the beginnings of chains to ``link`` (``rows.adding``), names
that move to ``bookmark`` and ``bookmark_log`` (``rows.bookmarks``). A new name takes what was said of a nameless
conversation over, in ``conversation`` and ``record_log`` (``rows.conversations``). The search index is brought up to
date by searches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from headish.content.drafts import Draft
from headish.content.hashes import digest_turn, seal_turn
from headish.database.query import Connection
from headish.history.writing.planning import (
    ALONE,
    AppendPlan,
    BatchPlace,
    Known,
    Planner,
    count_ends,
    moves_once,
    stored_parents,
)
from headish.rows.adding import add_links, add_turns
from headish.rows.bookmarks import Named, NameMove, find_named, move_bookmark
from headish.rows.counters import SpaceNumbers, take_seq
from headish.rows.payloads import add_payloads, refuse_barred, split_payload
from headish.rows.turns import StoredTurn, only_parent, tip_of
from headish.values.ids import Mint, TurnId
from headish.values.places import Place
from headish.values.turns import BLOCKS_TYPE


class Appended(Struct, frozen=True, gc=False):
    """A stored turn and the ids that it continues."""

    turn: StoredTurn
    continues: tuple[TurnId, ...]


class Written(Struct, frozen=True, gc=False):
    """What an append stored, and what a store may remember of it once it is committed.

    ``before`` and ``after`` are the numbers of the space around it. ``moved``: the name that moved to the last turn,
    and its position. ``continued``: the places of the stored turns that got a child.
    """

    built: list[Appended]
    before: SpaceNumbers
    after: SpaceNumbers
    moved: dict[bytes, Named]
    continued: frozenset[Place]


def append(
    connection: Connection,
    space: int,
    drafts: Sequence[Draft],
    mint: Mint,
    *,
    stream: BatchPlace = ALONE,
    carries_names: bool = True,
) -> Written:
    """Store the drafts in order, all or none.

    A draft may continue earlier items of its ``stream`` by index. Without ``carries_names`` only bookmarks that a draft
    sets explicitly move.
    Cost: seven statements for one turn that continues a bookmark. A batch adds at most two for each turn that names its
    parents, two for each name that moves (four for a new one), one for each 64 names that it mentions, and one for its
    large payloads.
    Raises: UnknownTurn, Ambiguous, BookmarkMoved, InvalidArgument; QuotaExceeded, BarredContent.
    """
    planner = Planner(connection, space, drafts, stream, carries_names)
    for index, draft in enumerate(drafts):
        planner.plan(index, draft)
    plans = moves_once(planner.plans)
    add_payloads(connection, space, {draft.said.hash: draft.payload for draft in drafts})
    # Read under the lock of the space: a writer that extended one of these chains before has committed.
    tips = {place: tip_of(connection, space, place) for place in stored_parents(plans)}
    roots, heads = count_ends(plans, tips)
    given_bytes = sum(len(draft.payload) for draft in drafts)
    after = take_seq(connection, space, len(drafts), roots=roots, heads=heads, given_bytes=given_bytes)
    # The counter was read anyway, so a space that never barred anything pays no statement for this.
    if after.bars:
        refuse_barred(connection, space, (draft.said.hash for draft in drafts))
    builder = _Builder(after.seq - len(drafts) + 1, {place.chain: tip.pos for place, tip in tips.items()}, mint)
    built = [builder.build(draft, plan) for draft, plan in zip(drafts, plans, strict=True)]
    data = [split_payload(draft.payload) for draft in drafts]
    add_turns(connection, space, [appended.turn for appended in built], data)
    add_links(connection, space, builder.links)
    moved = _move_bookmarks(connection, space, drafts, built, plans, planner)
    before = SpaceNumbers(after.seq - len(drafts), after.change)
    now = SpaceNumbers(after.seq, after.change)
    # The module ``tips`` remembers only the last turn of a batch, so only a name at that turn is of use to it.
    ends = {name: named for name, named in moved.items() if named.place == built[-1].turn.place} if built else {}
    return Written(built, before, now, ends, frozenset(tips))


def append_behind(connection: Connection, space: int, draft: Draft, parent_id: TurnId, mint: Mint) -> Written | None:
    """``append`` in half of the steps, for a draft that only continues one turn by its id and whose payload fits
    into its row. Returns None, and changes nothing, if there is no such turn, or if a bookmark points at it.

    Cost: three statements, four if a chain begins.
    Raises: QuotaExceeded, BarredContent.
    """
    parent = only_parent(connection, space, parent_id)
    # A name there would have to move along (rule R2, one name moves), which takes the planner.
    if parent is None or parent.named:
        return None
    before, goes_on = Place(parent.chain, parent.pos), parent.pos == parent.last
    is_head = goes_on and not parent.linked
    after = take_seq(connection, space, 1, heads=int(not is_head), given_bytes=len(draft.payload))
    if after.bars:
        refuse_barred(connection, space, [draft.said.hash])
    place = Place(parent.chain, parent.pos + 1) if goes_on else Place(after.seq, 0)
    turn = make_stored(draft, place, after.seq, mint(), (parent.digest,), (parent_id,), None)
    add_turns(connection, space, [turn], [draft.payload])
    if not goes_on:
        add_links(connection, space, [(place.chain, [before])])
    numbers = SpaceNumbers(after.seq - 1, after.change), SpaceNumbers(after.seq, after.change)
    return Written([Appended(turn, (parent_id,))], *numbers, {}, frozenset([before]))


def make_stored(
    draft: Draft,
    place: Place,
    seq: int,
    turn_id: TurnId,
    digests: Iterable[bytes],
    continues: Iterable[TurnId],
    name: bytes | None,
) -> StoredTurn:
    """Make the row of a draft; its digest and seal are derived from the digests and ids of its parents."""
    said, facts = draft.said, draft.facts
    inherited, system, app = draft.inherited, draft.system, draft.app
    digest = digest_turn(said, digests)
    seal = seal_turn(
        turn_id, digest, continues, head=name, cache=draft.cache, inherited=inherited, system=system, app=app
    )
    content_type = None if said.type is None and said.content_type == BLOCKS_TYPE else said.content_type
    # By position, in the order of the columns: keywords would take as long as a hash.
    return StoredTurn(
        *place, seq, turn_id, said.role, said.type, content_type, 1 if draft.cache else None, said.attributes,
        inherited, system, digest, said.hash, seal, name, app, None, facts.key, facts.supersedes,
    )  # fmt: skip


class _Builder:
    """Gives each draft its place, id, digest and seal, parents before children."""

    def __init__(self, seq: int, tips: dict[int, int], mint: Mint) -> None:
        self._seq, self._tips, self._mint = seq, tips, mint
        self._built: list[StoredTurn] = []
        self.links: list[tuple[int, Sequence[Place]]] = []

    def build(self, draft: Draft, plan: AppendPlan) -> Appended:
        parents = [self._parent(parent) for parent in plan.parents]
        places, continues, digests = zip(*parents, strict=True) if parents else ((), (), ())
        seq = self._seq + len(self._built)
        place = self._place(seq, places)
        turn = make_stored(draft, place, seq, self._mint(), digests, continues, plan.name)
        self._built.append(turn)
        return Appended(turn, continues)

    def _parent(self, parent: Known | int) -> tuple[Place, TurnId, bytes]:
        if isinstance(parent, int):
            turn = self._built[parent]
            return turn.place, turn.id, turn.digest
        return parent.place, parent.id, parent.digest

    def _place(self, seq: int, parents: Sequence[Place]) -> Place:
        """The place after the only parent, if that is the last of its chain; otherwise the start of a new chain, whose
        number is the turn's ``seq``."""
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
    drafts: Sequence[Draft],
    built: Sequence[Appended],
    plans: Sequence[AppendPlan],
    planner: Planner,
) -> dict[bytes, Named]:
    moves = {
        plan.name: NameMove(turn.place, turn.digest, own=True, seq=turn.seq, recent=draft.facts.said_at)
        for draft, turn, plan in zip(drafts, [each.turn for each in built], plans, strict=True)
        if plan.name is not None
    }
    moved: dict[bytes, Named] = {}
    for name in sorted(moves):
        # A name that moves because it is the only one at the parent was not looked up: no draft mentions it.
        before = planner.found.get(name)
        if before is None and name not in planner.mentioned:
            before = find_named(connection, space, name)
        moved[name] = move_bookmark(connection, space, name, [moves[name]], before)
    return moved
