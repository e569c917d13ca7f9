"""Store a call: find its lane, and store its request and its answer."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import msgspec

from headish.content.secrecy.hiding import hide_shapes
from headish.errors import BarredContent, HeadishError, InputError, InvalidContent, KeyTaken
from headish.gateway.spool import UNREADABLE, SpooledCall, now
from headish.gateway.spool.arriving import ArrivingCall
from headish.history.writing.calls import CallPlan, LaneMemory, RecordedCall, end_of, find_known_turn, record_call
from headish.history.writing.lanes.lane import LaneForm, is_led_by
from headish.history.writing.lanes.naming import LaneName, grown_lane
from headish.rows.calls import call_of_response
from headish.rows.conversations import record_by_key
from headish.rows.objects import Put
from headish.serve.recorder.clients import Session, find_session
from headish.serve.recorder.lanes import kept_conversation, lane_of
from headish.serve.recorder.replies import ReadAnswer, read_answer
from headish.serve.recorder.requests import Envelopes, SentRequest, read_request
from headish.serve.recorder.surfaces import Surface, find_surface, model_of
from headish.serve.recorder.unread import UNREAD_BYTES, UNREAD_SECONDS, UnreadBodies
from headish.store.store import Store
from headish.values.blocks import Text
from headish.values.results.calls import UNREAD, CallFacts

MESSAGES_REMEMBERED = 200_000
"""How many messages of lanes are remembered. A lane that was forgotten is read again when it continues."""
QUESTION_CHARACTERS = 4_000
"""The longest question that is shown beside an answer that arrives."""
RESPONSE_CHARACTERS = 512
"""The longest id of an answer that is indexed, so that a request can continue it."""
LATE_MILLISECONDS = 10_000
"""A turn that is stored this much later than it was said also stores when it was said."""
HEALED = "lone surrogates in the request are kept as U+FFFD"
_NO_LANE = "response:"
"""The prefix of the key in memory of a thread that has no lane, and continues by the ids of its answers."""


class CallRecorder:
    """Stores calls, each once, in the spaces that ``open_store`` opens by name. For one thread.

    It remembers the lanes that it saw last, so that a request costs only its new messages. ``space`` is the space of
    calls without a token.
    """

    def __init__(self, open_store: Callable[[str], Store], space: str = "default") -> None:
        self._open_store, self.space = open_store, space
        self._unread = UnreadBodies()
        self._memories: OrderedDict[tuple[int, str], LaneMemory] = OrderedDict()
        self._remembered = 0
        self._envelopes = Envelopes()
        self._kept: set[tuple[int, bytes]] = set()

    def record(self, call: SpooledCall) -> RecordedCall | None:
        """Store a call that has ended; None if it is stored already.

        Cost: that of its new messages and of its answer.
        Raises: DatabaseError if the database fails: nothing is stored then.
        """
        store = self._store_of(self.space_of(call))
        surface = find_surface(call.begin.method, call.begin.path)
        request, problem = self._read(surface, call)
        if surface is None or request is None:
            return self._record_unread(store, call, problem)
        try:
            return self._record(store, surface, call, request)
        except (InputError, KeyTaken) as error:
            return self._record_unread(store, call, error)
        except HeadishError:
            raise
        except Exception as error:  # also what nobody foresaw: the body must not be lost with it
            return self._record_unread(store, call, _unread_because(error))

    def describe(self, call: SpooledCall) -> ArrivingCall | None:
        """Find the place of a call's answer, as far as its request tells; None if it does not tell, and for calls that
        lists of conversations fold.

        Cost: reads the request, as ``record`` will again, and from the database what the lane's memory lacks.
        Raises: HeadishError.
        """
        store, surface = self._store_of(self.space_of(call)), find_surface(call.begin.method, call.begin.path)
        request, _ = self._read(surface, call)
        if surface is None or request is None:
            return None
        request, plan, key = self._locate(store, surface, call, request)
        memory = self._memories.get((store._number, key))
        turn = store._read(lambda connection: find_known_turn(connection, store._number, plan, memory))
        begins = len(request.entries) > request.lead and not (plan.lane is not None and plan.lane.folds)
        if turn is None and not begins:
            return None
        question = _question_of(request, find_session(call.begin.headers, request.rest))
        name = plan.lane.names[0] if turn is None and plan.lane is not None else None
        return ArrivingCall(call.id, self.space_of(call), turn, plan.client, _model_of(request, call), question, name)

    def space_of(self, call: SpooledCall) -> str:
        """The name of the space that a call is stored in."""
        return call.begin.space or self.space

    def _read(self, surface: Surface | None, call: SpooledCall) -> tuple[SentRequest | None, HeadishError | None]:
        if surface is None:
            return None, None
        try:
            return read_request(surface, call.request, _options_of(call)), None
        except HeadishError as error:
            return None, error
        except Exception as error:  # as in ``record``
            return None, _unread_because(error)

    def _locate(
        self, store: Store, surface: Surface, call: SpooledCall, request: SentRequest
    ) -> tuple[SentRequest, CallPlan, str]:
        """Find the lane of a request. Returns the request as it is to be read, the plan of what to store, and the key
        of its lane in memory.

        A request that names a response continues the lane of that response, because it need not repeat its beginning.
        Cost: a statement for such a request, or for one without tools; else that of ``_grown``.
        """
        previous, space = _previous_of(request), store._number
        before = None
        if previous is not None:
            before = store._read(lambda connection: call_of_response(connection, space, previous.encode()))
        continues = before is not None and end_of(before) is not None
        # A response without any words is nothing to continue: this request's own list is the whole conversation.
        if before is not None and not continues:
            request = read_request(surface, call.request, _options_of(call), is_whole=True)
        session = find_session(call.begin.headers, request.rest)
        lane, key = lane_of(session, request)
        if before is not None and continues:
            lane_key = None if before.lane is None else before.lane.decode()
            key = f"{_NO_LANE}{previous}" if lane_key is None else lane_key
            lane = lane._replace(key=lane_key, folds=False) if lane is not None and lane_key is not None else lane
        elif lane is not None:
            lane = self._grown(store, lane)
            lane = lane if lane.beside is None else self._beside(store, request, lane, lane.beside)
            key = lane.key
        if lane is not None and session.agent is not None:
            lane = lane._replace(folds=True)
        plan = _ask(store, surface, call, request, session, lane)
        return request, plan._replace(previous=previous, before=before), key

    def _grown(self, store: Store, lane: LaneName) -> LaneName:
        """``grown_lane``. Cost: none if the lane is remembered, or its first message has only one text."""
        space, main = store._number, lane.beside or lane.key
        if not lane.shorter or (space, main) in self._memories:
            return lane
        return store._read(lambda connection: grown_lane(connection, space, lane))

    def _beside(self, store: Store, request: SentRequest, lane: LaneName, main: str) -> LaneName:
        """The lane of a request without tools beside the conversation ``main``. If the conversation is stored, it is
        the lane of the conversation for a request with the same system prompt (a compaction, for example), else one
        that lists fold. Cost: a statement."""
        space = store._number
        if store._read(lambda connection: record_by_key(connection, space, main.encode())) is None:
            return lane
        memory = self._memories.get((space, main))
        if memory is not None and is_led_by(memory.lane, request.entries[: request.lead]):
            return lane._replace(key=main, beside=None, folds=False)
        return lane._replace(folds=True)

    def _record(self, store: Store, surface: Surface, call: SpooledCall, request: SentRequest) -> RecordedCall | None:
        limit_bytes = store.payload_limit_bytes
        model = _model_of(request, call)
        late = call.end is not None and now() - call.end.at > LATE_MILLISECONDS
        said_at = call.end.at if late and call.end is not None else None
        answer = read_answer(surface, call, model, limit_bytes, said_at)
        request, request_plan, lane_key = self._locate(store, surface, call, request)
        plan = self._plan(store, request_plan, request, answer, model)
        space = store._number
        key = space, lane_key
        # Taken out before the work: if that fails, the memory may no longer match the database.
        memory = self._memories.pop(key, None)
        self._remembered -= 0 if memory is None else len(memory.lane.turns)
        recorded = store._store(lambda connection, mint: record_call(connection, space, plan, memory, mint))
        # Only after the transaction: one that fails has not stored them.
        self._kept.update((space, put.key) for put in plan.objects)
        if recorded is not None and recorded.memory is not None:
            if lane_key.startswith(_NO_LANE):
                lane_key = f"{_NO_LANE}{plan.response}" if plan.lane is None else plan.lane.key
            self._remember((space, lane_key), recorded.memory)
        return recorded

    def _plan(
        self, store: Store, asked: CallPlan, request: SentRequest, answer: ReadAnswer, model: str | None
    ) -> CallPlan:
        """Complete the plan of a call with its envelope, its answer and its facts."""
        envelope = self._envelopes.make(request)
        usage = {} if answer.reply is None or answer.reply.usage is None else answer.reply.usage.to_dict()
        facts = msgspec.structs.replace(
            asked.facts,
            outcome=_outcome_of(asked.facts.outcome, answer),
            model=(answer.reply.model if answer.reply else None) or model,
            envelope=envelope.key,
            tools=envelope.tools,
            tools_bytes=envelope.tools_bytes,
            usage=usage,
            volatile=request.volatile,
            is_text=request.is_text,
            has_system=bool(request.entries) and request.entries[0].is_instruction,
            error=answer.error,
            note=asked.facts.note or (HEALED if request.is_healed else None),
        )
        return asked._replace(
            facts=facts,
            answer=answer.draft,
            response=_response_of(answer),
            objects=tuple(put for put in envelope.puts if (store._number, put.key) not in self._kept),
        )

    def _record_unread(self, store: Store, call: SpooledCall, problem: HeadishError | None) -> RecordedCall | None:
        """Store the facts of a call that holds no conversation, or whose body cannot be read; keep such a body for a
        week, unless it is large or holds barred content."""
        facts = _facts_of(call)
        if problem is not None and call.is_sent:  # of a body that was cut off, how the call ended says more
            facts = msgspec.structs.replace(facts, error=str(problem)[:500])
        keeps = problem is not None and not isinstance(problem, BarredContent) and 0 < len(call.request) <= UNREAD_BYTES
        puts = (Put(UNREAD, call.id.encode(), _hidden(call.request)),) if keeps else ()
        session = find_session(call.begin.headers, {})
        plan = CallPlan(call.id, call.begin.at, session.client, session.id, facts, objects=puts)
        space = store._number
        recorded = store._store(lambda connection, mint: record_call(connection, space, plan, None, mint))
        if recorded is not None and puts:
            self._unread.bound(store, call.id, len(call.request), time.time())
        return recorded

    def forget_unread(self) -> int:
        """Remove the unreadable bodies that are older than a week; return how many were removed."""
        return self._unread.forget(time.time() - UNREAD_SECONDS)

    def _store_of(self, space: str) -> Store:
        store = self._open_store(space)  # for each call: a name may have moved on to another space
        self._unread.know(store)
        return store

    def _remember(self, key: tuple[int, str], memory: LaneMemory) -> None:
        self._memories[key] = memory
        self._remembered += len(memory.lane.turns)
        # The newest lane stays, even if it alone is too long: it is the one that continues.
        while self._remembered > MESSAGES_REMEMBERED and len(self._memories) > 1:
            _, oldest = self._memories.popitem(last=False)
            self._remembered -= len(oldest.lane.turns)


def _ask(
    store: Store, surface: Surface, call: SpooledCall, request: SentRequest, session: Session, lane: LaneName | None
) -> CallPlan:
    """Make the plan of a call from its request alone."""
    return CallPlan(
        id=call.id,
        milliseconds=call.begin.at,
        client=session.client,
        session=session.id,
        facts=msgspec.structs.replace(_facts_of(call), form=surface.form.name),
        writes=LaneForm(surface.form, store.payload_limit_bytes, session.known.preambles if session.known else ()),
        entries=request.entries,
        lead=request.lead,
        lane=lane,
        is_kept=kept_conversation(request) is not None,
    )


def _options_of(call: SpooledCall) -> dict[str, Any]:
    # A turn that is stored at once needs no `said_at`: its id has the time.
    late = now() - call.begin.at > LATE_MILLISECONDS
    return {"said_at": call.begin.at} if late else {}


def _previous_of(request: SentRequest) -> str | None:
    """The id of the response that a request continues (Responses); None if it names none."""
    previous = request.rest.get("previous_response_id")
    return previous if isinstance(previous, str) else None


def _model_of(request: SentRequest, call: SpooledCall) -> str | None:
    model = request.rest.get("model")
    return str(hide_shapes(model)) if isinstance(model, str) else model_of(call.begin.path)


def _question_of(request: SentRequest, session: Session) -> str:
    """The words of the last message, if it is a user's, without the texts that a client puts before them. What looks
    like a key was hidden when the message was read."""
    last = request.entries[-1].read if request.entries else None
    if last is None or last.role != "user":
        return ""
    preambles = session.known.preambles if session.known else ()
    texts = (block.text for block in last.blocks if isinstance(block, Text))
    return "\n\n".join(text for text in texts if not text.startswith(preambles or ("\0",)))[:QUESTION_CHARACTERS]


def _facts_of(call: SpooledCall) -> CallFacts:
    end, head, begin = call.end, call.head, call.begin
    return CallFacts(
        api=begin.api,
        method=begin.method,
        path=begin.path,
        outcome=end.outcome if end is not None else "broken",
        status=None if head is None else head.status,
        first_byte=None if end is None or end.first_byte_at is None else max(0, end.first_byte_at - begin.at),
        end=None if end is None else max(0, end.at - begin.at),
        sizes=(end.request_bytes, end.response_bytes) if end else (len(call.request), len(call.response)),
        error=None if end is None else end.error,
        note=None if end is None else end.left_out,
    )


def _outcome_of(outcome: str, answer: ReadAnswer) -> str:
    """How a call ended. A client that hangs up behind the last event of an answer, as SDKs do, has all of it; a
    provider that closes the stream in good order before that event broke off."""
    if answer.reply is None:
        return outcome
    if answer.reply.incomplete:
        return "broken" if outcome == "ok" and answer.error is None else outcome
    return "ok" if outcome == "client gone" and answer.draft is not None else outcome


def _response_of(answer: ReadAnswer) -> str | None:
    """The provider's id of an answer; None if it is longer than an index takes."""
    id = None if answer.reply is None else answer.reply.id
    return id if id is not None and len(id) <= RESPONSE_CHARACTERS else None


def _unread_because(error: Exception) -> InvalidContent:
    # Only what reading was expected to raise is known to hold no words of the conversation.
    reason = str(error) if isinstance(error, UNREADABLE) else type(error).__name__
    return InvalidContent("a request", f"it cannot be read ({reason})")


def _hidden(body: bytes) -> bytes:
    """Return an unreadable body without what looks like a key. Bytes that are not UTF-8 stay as they are."""
    text: str = hide_shapes(body.decode(errors="surrogateescape"))
    return text.encode(errors="surrogateescape")
