"""Store a call that passed the gateway: its list, its answer, its lane's name and its row, in one transaction.

A call is stored once: storing it again finds its row, and does nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from headish.content.drafts import Draft
from headish.content.records import read_record
from headish.content.resending.entries import SentEntry
from headish.database.query import Connection
from headish.history.writing.append import append
from headish.history.writing.lanes.lane import Lane, LaneForm, LaneTurn, load_lane
from headish.history.writing.lanes.matching import find_known
from headish.history.writing.lanes.naming import FOLDED, LAST, LaneName, name_lane
from headish.history.writing.lanes.placing import PlacedList, place_behind, place_list
from headish.rows.bookmarks import find_bookmark
from headish.rows.calls import StoredCall, add_call, find_call, list_calls_of_lane, say_of_call
from headish.rows.conversations import record_by_key
from headish.rows.objects import Put, find_object, put_object
from headish.rows.turns import StoredTurn, turn_at, turn_by_id
from headish.values.ids import Mint, TurnId
from headish.values.names import stored_name
from headish.values.places import Place
from headish.values.results.calls import CallFacts, PrefixBreak, decode_facts
from headish.values.turns import input_tokens_of


class CallPlan(NamedTuple):
    """A call to store. ``entries`` are the messages of its list, the first ``lead`` of which are instructions; None if
    the list was not read. ``previous`` is the id of the response that the request continues, ``before`` the call of
    that response, if it is stored. ``is_kept``: the provider keeps the conversation of the lane."""

    id: str
    milliseconds: int
    client: str
    session: str | None
    facts: CallFacts
    writes: LaneForm | None = None
    entries: Sequence[SentEntry] | None = None
    lead: int = 0
    lane: LaneName | None = None
    previous: str | None = None
    before: StoredCall | None = None
    is_kept: bool = False
    answer: Draft | None = None
    response: str | None = None
    objects: tuple[Put, ...] = ()


class LaneMemory(NamedTuple):
    """A lane as it is remembered between two requests: its turns, its bookmark (``name``), and the number of turns, the
    tokens, and the tools of the last request."""

    lane: Lane
    name: str | None = None
    sent: int = 0
    tokens: int = 0
    tools: str | None = None
    tools_bytes: int = 0
    is_folded: bool = False


class RecordedCall(NamedTuple):
    """A stored call, the memory of its lane for the next one, and the lane's bookmark."""

    call: StoredCall
    memory: LaneMemory | None
    name: str | None


def record_call(
    connection: Connection, space: int, plan: CallPlan, memory: LaneMemory | None, mint: Mint
) -> RecordedCall | None:
    """Store a call. Returns None if it is stored already.

    Cost: some ten statements, and those of ``place_list`` and of the answer.
    Raises: as ``place_list``; KeyTaken if a turn has the key of the answer and says something else.
    """
    # The spool hands a call over again if the recorder died after its commit.
    if find_call(connection, space, plan.id) is not None:
        return None
    # Tools and parameters are stored under their hashes: those that are here are the same.
    for put in plan.objects:
        if find_object(connection, space, put.kind, put.key) is None:
            put_object(connection, space, put)
    if plan.entries is None:
        return RecordedCall(_add_row(connection, space, plan, plan.facts, None, None), None, None)
    # A restarted recorder remembers nothing and reads the lane from the database.
    memory = memory or _recall(connection, space, plan)
    placed, begins, note = _place(connection, space, plan, memory, mint)
    tip = placed.lane.turns[-1] if placed.lane.turns else None
    answer = _add_answer(connection, space, plan, placed.lane, mint)
    end = placed.lane.base(len(placed.lane.turns))
    last = turn_at(connection, space, end) if answer is None and end is not None else answer
    name, is_folded = None, False
    if plan.lane is not None and last is not None:
        was_folded = memory is not None and memory.is_folded
        name, is_folded = name_lane(connection, space, plan.lane, last, is_folded=was_folded)
    for each in placed.resent:
        resent = replace(decode_facts(each.call.data), resent=each.how)
        say_of_call(connection, space, each.call, msgspec.json.encode(resent))
    facts = _tell(plan, memory, placed, begins, note)
    row = _add_row(connection, space, plan, facts, tip and tip.id, None if answer is None else answer.id)
    turns = placed.lane.turns if answer is None else (*placed.lane.turns, _answered(answer, plan))
    used = input_tokens_of(facts.usage)
    remembered = LaneMemory(
        placed.lane._replace(turns=turns), name, len(placed.lane.turns), used, facts.tools, facts.tools_bytes, is_folded
    )
    return RecordedCall(row, remembered, name)


def _recall(connection: Connection, space: int, plan: CallPlan) -> LaneMemory | None:
    """Read the memory of a call's lane from the database; None for the first call of a lane."""
    if plan.lane is None or plan.writes is None:
        return None
    record = record_by_key(connection, space, plan.lane.key.encode())
    place = None if record is None else find_bookmark(connection, space, record.subject)
    if record is None or place is None:
        return None
    lane = load_lane(connection, space, plan.writes, place)
    before = list_calls_of_lane(connection, space, plan.lane.key.encode(), LAST, 1)
    facts = decode_facts(before[0].data) if before else CallFacts("", "", "")
    used = input_tokens_of(facts.usage)
    sent = min(facts.begins + facts.entries, len(lane.turns))
    folded = FOLDED in read_record(record.data).tags
    return LaneMemory(lane, stored_name(record.subject), sent, used, facts.tools, facts.tools_bytes, folded)


def _place(
    connection: Connection, space: int, plan: CallPlan, memory: LaneMemory | None, mint: Mint
) -> tuple[PlacedList, int, str | None]:
    """Place the list of a call in its lane. Returns it, the number of turns before it that it did not send, and a
    note."""
    assert plan.writes is not None
    assert plan.entries is not None
    behind, note = _find_behind(connection, space, plan, memory)
    if behind is not None:
        placed = place_behind(connection, space, plan.writes, behind, plan.entries, mint)
        return placed, len(behind.turns), None
    lane = None if memory is None else memory.lane
    # Gemini CLI names no session. What lists fold is nobody's conversation, so it need not be told apart.
    is_sure = None if plan.lane is None else plan.session is not None or plan.lane.beside is not None
    placed = place_list(connection, space, plan.writes, lane, plan.entries, plan.lead, mint, is_sure=is_sure)
    return placed, 0, note


def _find_behind(
    connection: Connection, space: int, plan: CallPlan, memory: LaneMemory | None
) -> tuple[Lane | None, str | None]:
    """The lane that a list is appended to, because the provider keeps the earlier messages; None for a list that is
    complete. And a note."""
    assert plan.writes is not None
    note = None
    if plan.before is not None and (end := end_of(plan.before)) is not None:
        if memory is not None and memory.lane.turns and memory.lane.turns[-1].id == end:
            return memory.lane, None
        turn = turn_by_id(connection, space, end)
        if turn is not None:
            return load_lane(connection, space, plan.writes, turn.place), None
    if plan.previous is not None and (plan.before is None or end_of(plan.before) is not None):
        note = "it goes on from a response that is not stored here"
    return None if memory is None or not plan.is_kept else memory.lane, note


def end_of(call: StoredCall) -> TurnId | None:
    """The last turn of a call, which a request that names its response continues: the answer, else the last message
    that was sent. None if the call had neither: clients open a connection with an empty one."""
    if call.answer is not None:
        return call.answer
    facts = decode_facts(call.data)
    return call.tip if facts.entries > facts.has_system else None


def find_known_turn(connection: Connection, space: int, plan: CallPlan, memory: LaneMemory | None) -> TurnId | None:
    """The turn that the new messages of a call will continue once it is stored; None if at most its system prompt is
    known.

    Cost: that of the messages that the lane's memory does not have. Raises: as ``record_call``.
    """
    if plan.writes is None or not plan.entries:
        return None
    memory = memory or _recall(connection, space, plan)
    behind, _ = _find_behind(connection, space, plan, memory)
    if behind is None:
        lane = None if memory is None else memory.lane
        turns = find_known(connection, space, plan.writes, lane, plan.entries, plan.lead)
        return turns[-1].id if len(turns) > plan.lead else None
    return behind.turns[-1].id if behind.turns else None


def _add_answer(connection: Connection, space: int, plan: CallPlan, lane: Lane, mint: Mint) -> StoredTurn | None:
    """Store the answer after the last message that was sent (rule R5, a reply follows its request)."""
    if plan.answer is None:
        return None
    base = lane.base(len(lane.turns))
    continues: tuple[Place, ...] = () if base is None else (base,)
    [appended] = append(connection, space, [replace(plan.answer, continues=continues)], mint, carries_names=False).built
    return appended.turn


def _answered(answer: StoredTurn, plan: CallPlan) -> LaneTurn:
    from headish.content.resending.entries import said_hash

    assert plan.answer is not None
    return LaneTurn(
        answer.place, answer.id, answer.role, said_hash(plan.answer), call=plan.id, size_bytes=len(plan.answer.payload)
    )


def _tell(plan: CallPlan, memory: LaneMemory | None, placed: PlacedList, begins: int, note: str | None) -> CallFacts:
    """The facts of the call for its row, with those of its list."""
    turns = placed.lane.turns
    overlaid = {str(at): turn.overlay for at, turn in enumerate(turns) if turn.overlay is not None}
    return replace(
        plan.facts,
        entries=len(turns) - begins,
        begins=begins,
        added=placed.added,
        system=overlaid,
        patches=placed.patches,
        broke=None if memory is None or begins else find_break(plan.facts, memory, placed),
        note=note or plan.facts.note,
    )


def find_break(facts: CallFacts, memory: LaneMemory, placed: PlacedList) -> PrefixBreak | None:
    """The place at which a list first differs from the previous request of the lane, where a prompt cache ends; None if
    one of them begins with the other."""
    # Tools come before the messages in a provider's prompt: if they differ, nothing after them is cached.
    if facts.tools != memory.tools and memory.sent:
        return PrefixBreak("tools", tokens=memory.tokens or None)
    before = memory.lane.turns[: memory.sent]
    if placed.changed is not None:
        what = "system" if placed.changed < placed.lane.lead else "message"
        return _break(what, placed.changed, memory, before)
    if placed.known < len(before) and placed.known < len(placed.lane.turns):
        return _break("message", placed.known, memory, before)
    return None


def _break(what: str, at: int, memory: LaneMemory, before: Sequence[LaneTurn]) -> PrefixBreak:
    sizes = [turn.size_bytes for turn in before]
    whole = sum(sizes) + memory.tools_bytes
    tokens = round(memory.tokens * sum(sizes[at:]) / whole) if whole and memory.tokens else None
    return PrefixBreak(what, at, before[at].id, tokens)


def _add_row(
    connection: Connection, space: int, plan: CallPlan, facts: CallFacts, tip: TurnId | None, answer: TurnId | None
) -> StoredCall:
    lane = None if plan.lane is None or tip is None else plan.lane.key.encode()
    session = None if plan.session is None else plan.session.encode()
    response = None if plan.response is None else plan.response.encode()
    data = msgspec.json.encode(facts)
    call = StoredCall(plan.id, plan.milliseconds, plan.client.encode(), session, lane, tip, answer, response, data)
    add_call(connection, space, call)
    return call
