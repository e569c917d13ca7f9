"""Place a list that a client sent in its lane.

A client sends its list again and again. ``place_list`` finds how far the list is known, lays a changed system prompt
over the stored one (rule R34, overlays), follows turns that are stored already, and stores the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from headish.content.drafts import Draft, make_overlay_draft, with_key
from headish.content.forms.parts import FORM
from headish.content.resending.answers import essence_of
from headish.content.resending.entries import SentEntry, said_hash
from headish.database.query import Connection
from headish.history.windows.states import REPLACE
from headish.history.writing.append import append
from headish.history.writing.lanes.lane import SYSTEM, Lane, LaneForm, LaneTurn
from headish.history.writing.lanes.matching import CHILDREN_TRIED, Matching, Resent, find_lane
from headish.rows.threads.listings import children
from headish.rows.turns import StoredTurn
from headish.values.ids import Mint, TurnId
from headish.values.messages import Overlay
from headish.values.places import Place
from headish.values.turns import OVERLAY


class PlacedList(NamedTuple):
    """A placed list: the lane up to its last message, the number of messages that were known, the number of turns that
    were stored, the index of the first message that was replaced, and by index what the client wrote beside the content
    of turns (``patches``)."""

    lane: Lane
    known: int
    added: int
    changed: int | None
    patches: dict[str, Any]
    resent: tuple[Resent, ...]


class _Placing(Matching):
    """Places one list."""

    def __init__(self, connection: Connection, space: int, client: LaneForm, entries: Sequence[SentEntry], mint: Mint):
        super().__init__(connection, space, client, entries)
        self._mint = mint
        self.added = 0
        self._edited: tuple[int, TurnId] | None = None

    def begin_anew(self, at: int, lane: Lane, *, is_sure: bool) -> None:
        """Say that the message at an index is the changed first message of the conversation that the lane has had so
        far. If that is not sure, another conversation may have the same name: this one must begin alike."""
        first, second = (self._said(lane, lane.lead + offset) for offset in (0, 1))
        if first is None or at >= len(self._entries):
            return
        if is_sure or self._entries[at].read.blocks[:1] == self._blocks(first)[:1] or self._answers(at + 1, second):
            self._edited = at, first.id

    def _said(self, lane: Lane, at: int) -> StoredTurn | None:
        stored = self._stored(lane.turns[at]) if at < len(lane.turns) else None
        return None if stored is None or stored.erased is not None else stored

    def _answers(self, at: int, stored: StoredTurn | None) -> bool:
        """Whether the message at an index is the answer in a turn."""
        essence = self._entries[at].essence if at < len(self._entries) else None
        return stored is not None and essence is not None and essence == essence_of(self._blocks(stored))

    def add(self, base: Place | None, at: int) -> list[LaneTurn]:
        """Store the messages from an index on."""
        drafts = [entry.draft(self._client.limit_bytes) for entry in self._entries.rest(at)]
        if self._edited is not None and at <= self._edited[0]:
            index, older = self._edited[0] - at, self._edited[1]
            drafts[index] = with_key(drafts[index], drafts[index].facts.key, older)
        chained = [
            replace(draft, continues=(index - 1,) if index else () if base is None else (base,))
            for index, draft in enumerate(drafts)
        ]
        built = append(self._connection, self._space, chained, self._mint, carries_names=False).built if chained else []
        self.added += len(built)
        return [self._as_stored(at + index, appended.turn) for index, appended in enumerate(built)]

    def _as_stored(self, at: int, stored: StoredTurn) -> LaneTurn:
        entry, draft = self._entries[at], self._entries[at].draft(self._client.limit_bytes)
        turn = LaneTurn(
            stored.place, stored.id, stored.role, said_hash(draft), entry.bare_hash, size_bytes=entry.size_bytes
        )
        return self._patched(at, entry, turn, entry.marks)

    def lay(self, covered: LaneTurn, at: int, base: Place) -> tuple[LaneTurn, Place]:
        """Lay a message of the list over the lane's one, by an overlay that continues ``base``. Returns the turn as it
        is seen now, and the overlay's place."""
        entry, stored = self._entries[at], self._stored(covered)
        assert stored is not None
        draft = entry.draft(self._client.limit_bytes)
        overlay = _overlay_draft(entry, stored, base, self._client.limit_bytes)
        # A request that is repeated finds the overlay of the first one.
        same = next((each for each in children(self._connection, self._space, base, limit=CHILDREN_TRIED)
                     if _is_same(each, overlay)), None)  # fmt: skip
        if same is None:
            [appended] = append(self._connection, self._space, [overlay], self._mint, carries_names=False).built
            same = appended.turn
            self.added += 1
        turn = covered._replace(said=said_hash(draft), overlay=same.id, bare=entry.bare_hash, raw=None)
        return self._patched(at, entry, turn, entry.marks)._replace(size_bytes=entry.size_bytes), same.place


def _overlay_draft(entry: SentEntry, covered: StoredTurn, base: Place, limit_bytes: int) -> Draft:
    overlay = Overlay(does=REPLACE, covers=(covered.digest.hex(),))
    read = entry.read
    system = None if read.form is None else {FORM: read.form}
    return make_overlay_draft(overlay, read.blocks, limit_bytes, continues=(base,), system=system)


def _is_same(stored: StoredTurn, overlay: Draft) -> bool:
    return (stored.type, bytes(stored.hash), stored.attributes) == (OVERLAY, overlay.said.hash, overlay.said.attributes)


def place_list(
    connection: Connection,
    space: int,
    client: LaneForm,
    lane: Lane | None,
    entries: Sequence[SentEntry],
    lead: int,
    mint: Mint,
    *,
    is_sure: bool | None,
) -> PlacedList:
    """Store the new messages of a list. Its first ``lead`` messages are instructions. ``is_sure``: whether all that
    goes to the lane is one conversation; None if nothing tells which conversation the list is of.

    Without a ``lane`` the list continues the oldest turns that say the same and set no options (rule R4, only the new
    tail). A changed system prompt is laid over the old one, after the last known message, and so is a first message in
    which only what the client wrote before the words changed. Any other message that differs begins a branch, or a
    tree, if nothing but instructions is known: its first message is a version of the lane's first one.
    Cost: one or two statements, and those of appending the tail, if the lane was remembered and the list continues it;
    one more for each known message that is written differently from before.
    Raises: InvalidContent, TooLarge, BarredContent.
    """
    placing = _Placing(connection, space, client, entries, mint)
    found, turns, changed = find_lane(placing, lane, lead)
    if lane is not None and is_sure is not None and len(turns) <= lead:
        placing.begin_anew(lead, lane, is_sure=is_sure)
    return _continue(placing, found, turns, changed)


def _continue(placing: _Placing, lane: Lane, turns: list[LaneTurn], changed: list[int]) -> PlacedList:
    known = len(turns)
    base = lane.base(known)
    since, behind = (lane.since, lane.behind) if lane.behind is not None and lane.since <= known else (0, None)
    for at in changed:
        assert base is not None
        turns[at], base = placing.lay(turns[at], at, base)
        since, behind = known, base
    followed, base = placing.follow(base, known)
    added = placing.add(base, known + len(followed))
    every = (*turns, *followed, *added)
    lead = next((at for at, turn in enumerate(every) if turn.role not in SYSTEM), len(every))
    return PlacedList(
        Lane(every, lead, since, behind, len(every)),
        known,
        placing.added,
        changed[0] if changed else None,
        placing.patches,
        tuple(placing.resent),
    )


def place_behind(
    connection: Connection, space: int, client: LaneForm, lane: Lane, entries: Sequence[SentEntry], mint: Mint
) -> PlacedList:
    """Store a list after the end of a lane, because the provider keeps the messages before it.

    Cost, Raises: as ``place_list``.
    """
    placing = _Placing(connection, space, client, entries, mint)
    followed, base = placing.follow(lane.base(len(lane.turns)), 0)
    every = (*lane.turns, *followed, *placing.add(base, len(followed)))
    behind = lane._replace(turns=every, sent=len(every))
    return PlacedList(behind, len(lane.turns), placing.added, None, placing.patches, ())
