"""Place a list that a client sent in its lane.

A client sends its list again and again. ``place_list`` finds how far the list is known, lays a changed system prompt
over the stored one (rule R34, overlays), follows turns that are stored already, and stores the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from headish.content.drafts import Draft, make_overlay_draft
from headish.content.forms.layout import Patch
from headish.content.forms.parts import FORM
from headish.content.resending.answers import describe_resent, essence_of
from headish.content.resending.entries import SentEntry, said_hash
from headish.database.query import Connection
from headish.history.reading.decode import read_blocks, read_payload
from headish.history.windows.states import REPLACE
from headish.history.writing.append import append
from headish.history.writing.lanes.lane import SYSTEM, Lane, LaneForm, LaneTurn, lane_turn, load_lane, natives_of
from headish.history.writing.record import ListMatch, digests_of_list, match_recorded
from headish.rows.threads.listings import children
from headish.rows.turns import StoredTurn, turn_at
from headish.values.ids import Mint, TurnId
from headish.values.messages import Overlay
from headish.values.places import Place
from headish.values.turns import OVERLAY

CHILDREN_TRIED = 50
"""The most children of a turn that are compared with the client's next message."""


class Resent(NamedTuple):
    """An answer that its client sent back for the first time: its call, and how the client wrote it."""

    call: str
    how: dict[str, Any]


class PlacedList(NamedTuple):
    """A placed list: the lane up to its last message, the number of messages that were known, the number of turns that
    were stored, the index of the first replaced instruction, and by index what the client wrote beside the content of
    turns (``patches``)."""

    lane: Lane
    known: int
    added: int
    changed: int | None
    patches: dict[str, Any]
    resent: tuple[Resent, ...]


class _Placing:
    """Places one list."""

    def __init__(self, connection: Connection, space: int, client: LaneForm, entries: Sequence[SentEntry], mint: Mint):
        self._connection, self._space, self._client, self._mint = connection, space, client, mint
        self._entries = entries
        self.patches: dict[str, Any] = {}
        self.resent: list[Resent] = []
        self.added = 0

    def load(self, end: Place) -> Lane:
        """``load_lane`` for the client of the list."""
        return load_lane(self._connection, self._space, self._client, end)

    def load_oldest(self) -> Lane:
        """The lane of the oldest thread that begins as the list does, up to the first difference; empty if there is
        none."""
        drafts = [entry.draft(self._client.limit_bytes) for entry in self._entries]
        _, tip = match_recorded(self._connection, self._space, ListMatch(digests_of_list(drafts, None), None, None))
        return Lane() if tip is None else self.load(tip.place)

    def matching(self, at: int, turn: LaneTurn) -> LaneTurn | None:
        """The turn, if the message at an index says the same, updated by how it is written; else None."""
        entry = self._entries[at]
        # From the cheapest comparison to the dearest: the bytes, the form's spelling, then the content.
        if turn.raw == entry.hash:
            return turn
        if turn.bare is not None and turn.bare == entry.bare_hash:
            return self._patched(at, turn, entry.marks)
        if turn.said == said_hash(entry.draft(self._client.limit_bytes)):
            stored = self._stored(turn)
            natives = None if turn.bare is None else self._written(stored, turn)
            if natives is None:
                return turn._replace(size_bytes=entry.size_bytes) if turn.call is None else self._sent_back(entry, turn)
            return self._patched(at, turn, entry.differs_from(natives[0] if entry.is_instruction else natives))
        return self._sent_back(entry, turn) if turn.call is not None and turn.bare is None else None

    def _patched(self, at: int, turn: LaneTurn, patch: Patch | None) -> LaneTurn:
        if patch is not None:
            self.patches[str(at)] = patch
            return turn
        return turn._replace(raw=self._entries[at].hash)

    def _sent_back(self, entry: SentEntry, turn: LaneTurn) -> LaneTurn | None:
        """The turn, if the message is its captured answer, sent back for the first time; else None. Clients write an
        answer differently from how it came, so the essence is compared."""
        stored = self._stored(turn)
        if stored is None or stored.erased is not None or entry.essence is None or entry.read.role != "assistant":
            return None
        blocks = read_blocks(stored, read_payload(self._connection, self._space, stored))
        if essence_of(blocks) != entry.essence:
            return None
        how = describe_resent(self._client.form, blocks, entry.bare)
        if how is None:
            return None
        self.resent.append(Resent(str(turn.call), how))
        return turn._replace(bare=entry.bare_hash, size_bytes=entry.size_bytes)

    def _stored(self, turn: LaneTurn) -> StoredTurn | None:
        return turn_at(self._connection, self._space, turn.place)

    def _written(self, stored: StoredTurn | None, turn: LaneTurn) -> list[Any] | None:
        if stored is None or stored.erased is not None:
            return None
        payload = read_payload(self._connection, self._space, stored)
        return natives_of(self._connection, self._space, self._client.form, stored, payload, turn.call)

    def follow(self, base: Place | None, at: int) -> tuple[list[LaneTurn], Place | None]:
        """The stored turns after a place that match the messages of the list from an index on, and the last place."""
        turns: list[LaneTurn] = []
        while base is not None and at + len(turns) < len(self._entries):
            turn = self._child(base, at + len(turns))
            if turn is None:
                break
            turns.append(turn)
            base = turn.place
        return turns, base

    def _child(self, base: Place, at: int) -> LaneTurn | None:
        for stored in children(self._connection, self._space, base, limit=CHILDREN_TRIED):
            # First without the payload: most siblings already differ in what their row says.
            turn = lane_turn(self._connection, self._space, self._client.form, stored, None)
            entry = self._entries[at]
            if stored.type is not None or stored.erased is not None:
                continue
            if turn.call is None and turn.said != said_hash(entry.draft(self._client.limit_bytes)):
                continue
            payload = read_payload(self._connection, self._space, stored)
            whole = lane_turn(self._connection, self._space, self._client.form, stored, payload)
            matched = self.matching(at, whole)
            if matched is not None:
                return matched
        return None

    def add(self, base: Place | None, at: int) -> list[LaneTurn]:
        """Store the messages from an index on."""
        drafts = [entry.draft(self._client.limit_bytes) for entry in self._entries[at:]]
        chained = [
            replace(draft, continues=(index - 1,) if index else () if base is None else (base,))
            for index, draft in enumerate(drafts)
        ]
        built = append(self._connection, self._space, chained, self._mint, carries_names=False) if chained else []
        self.added += len(built)
        return [self._as_stored(at + index, appended.turn) for index, appended in enumerate(built)]

    def _as_stored(self, at: int, stored: StoredTurn) -> LaneTurn:
        entry, draft = self._entries[at], self._entries[at].draft(self._client.limit_bytes)
        turn = LaneTurn(
            stored.place, stored.id, stored.role, said_hash(draft), entry.bare_hash, size_bytes=entry.size_bytes
        )
        return self._patched(at, turn, entry.marks)

    def lay(self, covered: LaneTurn, at: int, base: Place) -> tuple[LaneTurn, Place]:
        """Lay an instruction of the list over the lane's one, by an overlay that continues ``base``. Returns the turn
        as it is seen now, and the overlay's place."""
        entry, stored = self._entries[at], self._stored(covered)
        assert stored is not None
        draft = entry.draft(self._client.limit_bytes)
        overlay = _overlay_draft(entry, stored, base, self._client.limit_bytes)
        # A request that is repeated finds the overlay of the first one.
        same = next((each for each in children(self._connection, self._space, base, limit=CHILDREN_TRIED)
                     if _is_same(each, overlay)), None)  # fmt: skip
        if same is None:
            [appended] = append(self._connection, self._space, [overlay], self._mint, carries_names=False)
            same = appended.turn
            self.added += 1
        turn = covered._replace(said=said_hash(draft), overlay=same.id, bare=entry.bare_hash, raw=None)
        return self._patched(at, turn, entry.marks)._replace(size_bytes=entry.size_bytes), same.place


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
) -> PlacedList:
    """Store the new messages of a list. Its first ``lead`` messages are instructions.

    Without a ``lane`` the list continues the oldest turns that say the same and set no options (rule R4, only the new
    tail). A changed system prompt is laid over the old one, after the last known message. A message that differs begins
    a branch, or a tree, if nothing but instructions is known.
    Cost: one or two statements, and those of appending the tail, if the lane was remembered and the list continues it;
    one more for each known message that is written differently from before.
    Raises: InvalidContent, TooLarge, BarredContent.
    """
    placing = _Placing(connection, space, client, entries, mint)
    lane, turns, changed = _find_lane(placing, lane, lead)
    return _continue(placing, lane, turns, changed)


def find_known(
    connection: Connection, space: int, client: LaneForm, lane: Lane | None, entries: Sequence[SentEntry], lead: int
) -> list[LaneTurn]:
    """The turns of a list that ``place_list`` would find stored. Cost, Raises: as ``place_list``."""
    placing = _Placing(connection, space, client, entries, _mint_nothing)
    lane, turns, _ = _find_lane(placing, lane, lead)
    followed, _ = placing.follow(lane.base(len(turns)), len(turns))
    return [*turns, *followed]


def _mint_nothing() -> TurnId:
    raise AssertionError("nothing is stored here")


def _find_lane(placing: _Placing, lane: Lane | None, lead: int) -> tuple[Lane, list[LaneTurn], list[int]]:
    """The lane that a list continues, the lane's turns that the list repeats, and the indexes of instructions that
    differ."""
    if lane is None or lane.lead != lead or not lane.turns:
        lane = placing.load_oldest()
    known, turns, changed = _compare(placing, lane, lead)
    if known <= lead:  # at most the instructions are known: it is another conversation
        lane = placing.load_oldest()
        known, turns, changed = _compare(placing, lane, lead)
    if lane.behind is not None and known < lane.since:
        # The client edited a message before the overlay. The branch that begins there does not have the overlay.
        lane = placing.load(lane.turns[known - 1].place) if known else Lane()
        known, turns, changed = _compare(placing, lane, lead)
    return lane, turns, changed


def _compare(placing: _Placing, lane: Lane, lead: int) -> tuple[int, list[LaneTurn], list[int]]:
    """The number of known messages, their turns, and the indexes of instructions that differ."""
    placing.patches, placing.resent = {}, []
    turns: list[LaneTurn] = []
    changed: list[int] = []
    for at, turn in enumerate(lane.turns[: len(placing._entries)]):
        same = placing.matching(at, turn)
        if same is None and (at >= lead or turn.role not in SYSTEM):
            break
        if same is None:
            changed.append(at)
        turns.append(same or turn)
    return len(turns), turns, changed


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
