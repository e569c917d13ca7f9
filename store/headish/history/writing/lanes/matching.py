"""Find how far a list that a client sent is known: which stored turn each of its messages is, and how it is written."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from msgspec.structs import replace

from headish.content.drafts import Draft
from headish.content.forms.layout import Patch
from headish.content.resending.answers import count_chunks, describe_resent, essence_of, has_chunks
from headish.content.resending.entries import SentEntry, said_hash
from headish.database.query import Connection
from headish.history.reading.decode import read_blocks, read_payload
from headish.history.writing.lanes.lane import SYSTEM, Lane, LaneForm, LaneTurn, lane_turn, load_lane, natives_of
from headish.history.writing.lanes.sent import SentList
from headish.history.writing.record import ListMatch, digests_of_list, match_recorded
from headish.rows.calls import StoredCall, find_call
from headish.rows.threads.listings import children
from headish.rows.turns import StoredTurn, turn_at
from headish.values.blocks import ContentBlock
from headish.values.places import Place
from headish.values.results.calls import decode_facts

CHILDREN_TRIED = 50
"""The most children of a turn that are compared with the client's next message."""


class Resent(NamedTuple):
    """An answer that its client sent back for the first time: its call, and how the client wrote it."""

    call: StoredCall
    how: dict[str, Any]


class Matching:
    """Matches one list with what is stored. ``patches`` and ``resent`` are as in ``PlacedList``."""

    def __init__(self, connection: Connection, space: int, client: LaneForm, entries: Sequence[SentEntry]) -> None:
        self._connection, self._space, self._client = connection, space, client
        self._entries = SentList(entries)
        self.begin()

    @property
    def count(self) -> int:
        """The number of turns that the list is, as far as its answers are known."""
        return len(self._entries)

    def load(self, end: Place) -> Lane:
        """``load_lane`` for the client of the list."""
        return load_lane(self._connection, self._space, self._client, end)

    def load_oldest(self) -> Lane:
        """The lane of the oldest thread that begins as the list does, up to the first difference; empty if there is
        none."""
        drafts = [entry.draft(self._client.limit_bytes) for entry in self._entries.entries]
        lane = self._load_first(drafts)
        if (
            len(lane.turns) > 1
            or not drafts
            or not self._entries[0].is_instruction
            or not has_chunks(self._client.form)
        ):
            return lane
        # Instructions of Gemini that have a role, as Google's SDKs write them, were once stored as a user's turn. A
        # thread that goes on behind them is this one.
        older = self._load_first([replace(drafts[0], said=replace(drafts[0].said, role="user")), *drafts[1:]])
        return older if len(older.turns) > 1 else lane

    def _load_first(self, drafts: Sequence[Draft]) -> Lane:
        _, tip = match_recorded(self._connection, self._space, ListMatch(digests_of_list(drafts, None), None, None))
        return Lane() if tip is None else self.load(tip.place)

    def begin(self) -> None:
        """Forget what was found out about the list."""
        self._entries.begin()
        self.patches: dict[str, Any] = {}
        self.resent: list[Resent] = []

    def match(self, at: int, turn: LaneTurn) -> LaneTurn | None:
        """The turn, if the message at an index says the same, updated by how it is written; else None."""
        same = self._match(at, turn)
        if same is not None:
            self._entries.settle(at, same.chunks)
        return same

    def match_in_lane(self, at: int, turn: LaneTurn) -> LaneTurn | None:
        """``match`` for a turn of the client's own lane, which may also be the first items of the message: Codex sends
        what came of an answer that broke off, then the rest, and both are one message in Responses."""
        same = self.match(at, turn)
        if same is None and turn.role == "assistant" and self._entries.take_apart(at, turn.raw, turn.bare):
            return self.match(at, turn)
        return same

    def is_set_up_anew(self, at: int, turn: LaneTurn) -> bool:
        """Whether the message at an index is a turn of the lane with other texts of the client before its words."""
        read = self._entries[at].read
        if not self._client.preambles or read.role != turn.role:
            return False
        stored = self._stored(turn)
        if stored is None or stored.erased is not None:
            return False
        return self._client.is_set_up_anew(self._blocks(stored), read.blocks)

    def _match(self, at: int, turn: LaneTurn) -> LaneTurn | None:
        entry = self._entries.run(at, turn.chunks)
        # From the cheapest comparison to the dearest: the bytes, the form's spelling, then the content.
        if turn.raw == entry.hash:
            return turn
        if turn.bare is not None and turn.bare == entry.bare_hash:
            return self._patched(at, entry, turn, entry.marks)
        if turn.call is not None and turn.bare is None:
            return self._sent_back(at, turn)
        entry = self._entries[at]
        if turn.said != said_hash(entry.draft(self._client.limit_bytes)):
            return None
        natives = None if turn.bare is None else self._written(self._stored(turn), turn)
        if natives is None:
            return turn._replace(size_bytes=entry.size_bytes) if turn.call is None else self._sent_back(at, turn)
        layout, said = entry.differs_from(natives[0] if entry.is_instruction else natives)
        # What no layout can tell (an answer that came back in chunks, and now whole) would be another body.
        return None if said is not None else self._patched(at, entry, turn, layout)

    def _patched(self, at: int, entry: SentEntry, turn: LaneTurn, patch: Patch | None) -> LaneTurn:
        if patch is not None:
            self.patches[str(at)] = patch
            return turn
        return turn._replace(raw=entry.hash)

    def _sent_back(self, at: int, turn: LaneTurn) -> LaneTurn | None:
        """The turn, if the message is its captured answer, sent back for the first time; else None. Clients write an
        answer differently from how it came, so the essence is compared."""
        stored = self._stored(turn)
        if stored is None or stored.erased is not None or self._entries[at].read.role != "assistant":
            return None
        blocks, form = self._blocks(stored), self._client.form
        chunks = count_chunks(form, blocks, partial(self._entries.items, at))
        entry = self._entries.run(at, chunks)
        if entry.essence != essence_of(blocks):
            return None
        how = describe_resent(form, blocks, entry.bare)
        if how is None or not self._say_resent(str(turn.call), how):
            return None
        known = turn._replace(bare=entry.bare_hash, size_bytes=entry.size_bytes, chunks=chunks)
        return self._patched(at, entry, known, entry.marks)

    def _say_resent(self, id: str, how: dict[str, Any]) -> bool:
        """Note how the answer of a call was written; False if another list has written it differently, whose body needs
        that."""
        call = find_call(self._connection, self._space, id)
        known = None if call is None else decode_facts(call.data).resent
        if call is not None and known is None:
            self.resent.append(Resent(call, how))
        return known is None or known == how

    def _stored(self, turn: LaneTurn) -> StoredTurn | None:
        return turn_at(self._connection, self._space, turn.place)

    def _blocks(self, stored: StoredTurn) -> tuple[ContentBlock, ...]:
        return read_blocks(stored, read_payload(self._connection, self._space, stored))

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
        # Chunks that were stored as turns of their own come before the answer that they are pieces of: there the
        # conversation goes on.
        later: list[LaneTurn] = []
        for stored in children(self._connection, self._space, base, limit=CHILDREN_TRIED):
            # First without the payload: most siblings already differ in what their row says.
            turn = lane_turn(self._connection, self._space, self._client.form, stored, None)
            if stored.type is not None or stored.erased is not None:
                continue
            if turn.call is None and turn.said != said_hash(self._entries[at].draft(self._client.limit_bytes)):
                continue
            payload = read_payload(self._connection, self._space, stored)
            whole = lane_turn(self._connection, self._space, self._client.form, stored, payload)
            if turn.call is not None and whole.bare is None and self._is_chunk(at):
                later.append(whole)
            elif (matched := self.match(at, whole)) is not None:
                return matched
        return next((same for turn in later if (same := self.match(at, turn)) is not None), None)

    def _is_chunk(self, at: int) -> bool:
        return has_chunks(self._client.form) and self._entries.goes_on(at)


def find_lane(matching: Matching, lane: Lane | None, lead: int) -> tuple[Lane, list[LaneTurn], list[int]]:
    """The lane that a list continues, the lane's turns that the list repeats, and the indexes of those that the list
    has with other words: instructions, and a first message that the client set up anew."""
    if lane is None or lane.lead != lead or not lane.turns:
        lane = matching.load_oldest()
    known, turns, changed = _compare(matching, lane, lead)
    if known <= lead:  # at most the instructions are known: it is another conversation
        lane = matching.load_oldest()
        known, turns, changed = _compare(matching, lane, lead)
    if lane.behind is not None and known < lane.since:
        # The client edited a message before the overlay. The branch that begins there does not have the overlay.
        lane = matching.load(lane.turns[known - 1].place) if known else Lane()
        known, turns, changed = _compare(matching, lane, lead)
    return lane, turns, changed


def _compare(matching: Matching, lane: Lane, lead: int) -> tuple[int, list[LaneTurn], list[int]]:
    """The number of known messages, their turns, and the indexes of those that differ in what may differ."""
    matching.begin()
    turns: list[LaneTurn] = []
    changed: list[int] = []
    for at, turn in enumerate(lane.turns):
        if at == matching.count:
            break
        same = matching.match_in_lane(at, turn)
        if same is None and not _may_differ(matching, at, turn, lead):
            break
        if same is None:
            changed.append(at)
        turns.append(same or turn)
    # The same words begin many conversations: only a known answer tells that this one goes on.
    if lead in changed and not any(turn.role == "assistant" for turn in turns):
        del turns[lead:]
        changed.remove(lead)
    return len(turns), turns, changed


def _may_differ(matching: Matching, at: int, turn: LaneTurn, lead: int) -> bool:
    return turn.role in SYSTEM if at < lead else at == lead and matching.is_set_up_anew(at, turn)


def find_known(
    connection: Connection, space: int, client: LaneForm, lane: Lane | None, entries: Sequence[SentEntry], lead: int
) -> list[LaneTurn]:
    """The turns of a list that ``place_list`` would find stored. Cost, Raises: as ``place_list``."""
    matching = Matching(connection, space, client, entries)
    lane, turns, _ = find_lane(matching, lane, lead)
    followed, _ = matching.follow(lane.base(len(turns)), len(turns))
    return [*turns, *followed]
