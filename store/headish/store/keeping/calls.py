"""``store.calls``: the calls that passed the gateway."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from headish.content.forms.layout import apply
from headish.content.forms.parts import Form
from headish.content.forms.table import FORMS
from headish.content.records import read_record
from headish.content.resending.answers import write_resent
from headish.database.query import Connection
from headish.errors import CorruptRecord, InvalidArgument, UnknownCall
from headish.history.reading.decode import read_blocks, read_payload
from headish.history.reading.order import segments_to
from headish.history.writing.lanes.lane import ANSWER_KEY, write_natives
from headish.history.writing.lanes.naming import LAST
from headish.rows.calls import StoredCall, find_call, list_calls, list_calls_of_lane
from headish.rows.conversations import find_record
from headish.rows.objects import find_object
from headish.rows.threads.ranges import turns_of
from headish.rows.turns import StoredTurn, turn_by_id
from headish.store.keeping.spooled import count_spooled
from headish.store.paging import check_limit
from headish.store.space import SpacePart
from headish.values.checks.doors import door
from headish.values.names import check_name
from headish.values.results.calls import ENVELOPE, CallFacts, PassedCall, decode_facts
from headish.values.times import from_milliseconds
from headish.values.turns import OVERLAY

PAGE = 100
"""How many calls a list gives unless it is asked for more."""


class Calls(SpacePart):
    """The calls of a space that passed the gateway of ``headish serve``, a row for each request.

    The turns of its thread hold what a call said; its row says when, by whom, how it ended, and what it used.
    """

    @door()
    def get(self, id: str) -> PassedCall:
        """The call with this id. Raises: UnknownCall, CorruptRecord."""
        return self._space._read(lambda connection: read_call(_find(connection, self._space._number, id)))

    @door()
    def spooled(self) -> int:
        """Count the calls of the space that passed the gateway of this machine and are not stored yet.

        Cost: where nothing is spooled, a look into a folder.
        """
        return count_spooled(self._space._database, self._space.space)

    @door()
    def list(
        self, name: str | None = None, *, before: str | None = None, limit: int = PAGE
    ) -> builtins.list[PassedCall]:
        """The calls, the newest first; with ``name`` those of the conversation of a bookmark. ``before`` is the id of a
        call: only older ones.

        Cost: one statement, or two.
        Raises: InvalidArgument, CorruptRecord.
        """
        check_limit(limit)
        number, behind = self._space._number, LAST if before is None else before

        def work(connection: Connection) -> builtins.list[StoredCall]:
            if name is None:
                return list_calls(connection, number, behind, limit)
            record = find_record(connection, number, check_name(name))
            key = None if record is None else read_record(record.data).key
            return [] if key is None else list_calls_of_lane(connection, number, key.encode(), behind, limit)

        return [read_call(each) for each in self._space._read(work)]

    @door()
    def body(self, id: str) -> dict[str, Any]:
        """The body of a call's request, equal as JSON to what the client sent, except for what looked like a key, and
        for lone surrogates, which are U+FFFD.

        Cost: reads its thread.
        Raises: UnknownCall; InvalidArgument for a call without a conversation, or if a part of it was erased.
        """
        number = self._space._number
        return self._space._read(lambda connection: _Rebuilding(connection, number, id).body())


def read_call(stored: StoredCall) -> PassedCall:
    """Decode a call from its row. Raises: CorruptRecord."""
    try:
        session, lane, response = (
            None if each is None else each.decode() for each in (stored.session, stored.lane, stored.response)
        )
        facts = decode_facts(stored.data)
        moment = from_milliseconds(stored.milliseconds)
        client = stored.client.decode()
    except (msgspec.MsgspecError, UnicodeDecodeError, OverflowError, ValueError) as error:
        raise CorruptRecord(f"the call {stored.id}", f"it does not decode ({error})") from None
    return PassedCall(stored.id, moment, client, session, lane, stored.tip, stored.answer, response, facts)


def _find(connection: Connection, space: int, id: str) -> StoredCall:
    call = find_call(connection, space, id.lower())
    if call is None:
        raise UnknownCall(id)
    return call


class _Rebuilding:
    """A request, built again from its turns, its envelope and its row."""

    def __init__(self, connection: Connection, space: int, id: str) -> None:
        self._connection, self._space = connection, space
        self._call = read_call(_find(connection, space, id))
        self._facts = self._call.facts

    def body(self) -> dict[str, Any]:
        facts = self._facts
        if facts.form is None or facts.envelope is None or (self._call.tip is None and facts.entries):
            raise InvalidArgument(f"the call {self._call.id} holds no conversation that was read")
        form = FORMS[facts.form]
        messages = [self._written(form, at, turn) for at, turn in enumerate(self._turns())]
        # The provider kept the turns before these, and the client did not send them.
        messages = messages[facts.begins :]
        patched = [self._patched(at, natives) for at, natives in enumerate(messages)]
        envelope = self._envelope(facts.envelope)
        body = dict(envelope)
        if facts.volatile or facts.has_system:
            # The client sent the system prompt beside its list.
            system = patched.pop(0)[0] if facts.has_system else []
            body[str(form.system_name)] = _with_volatile(system, facts)
        entries = [entry for natives in patched for entry in natives]
        body[form.list_name] = entries[0]["content"] if facts.is_text and len(entries) == 1 else entries
        return body

    def _turns(self) -> list[StoredTurn]:
        if self._call.tip is None:  # an empty list was sent
            return []
        tip = turn_by_id(self._connection, self._space, self._call.tip)
        if tip is None:
            raise CorruptRecord(f"the call {self._call.id}", "the last turn that it sent is missing")
        segments = segments_to(self._connection, self._space, tip.place)
        turns = [turn for each in segments for turn in turns_of(self._connection, self._space, each)]
        # An overlay is a turn of the thread, but no message of the client.
        return [turn for turn in turns if turn.type != OVERLAY]

    def _written(self, form: Form, at: int, turn: StoredTurn) -> list[Any]:
        """The message of a turn, or of the turn that ``CallFacts.system`` names in its place."""
        replaced = self._facts.system.get(str(at))
        source = turn if replaced is None else turn_by_id(self._connection, self._space, replaced)
        if source is None or source.erased is not None:
            raise InvalidArgument(f"something that the call {self._call.id} sent is erased")
        blocks = read_blocks(source, read_payload(self._connection, self._space, source))
        resent = self._resent(source)
        spoken = source if replaced is None else replace(source, role=turn.role, attributes=None)
        natives = write_natives(form, spoken, blocks) if resent is None else write_resent(form, blocks, resent)
        if natives is None:
            raise InvalidArgument(f"turn {source.id} cannot be written as the client of {self._call.id} sent it")
        return natives

    def _resent(self, said: StoredTurn) -> Mapping[str, Any] | None:
        """Return how the client wrote an answer that it sent again; None if the turn of the answer says it all."""
        key = said.key or b""
        if not key.startswith(ANSWER_KEY):
            return None
        call = find_call(self._connection, self._space, key.removeprefix(ANSWER_KEY).decode())
        return None if call is None else decode_facts(call.data).resent

    def _patched(self, at: int, natives: list[Any]) -> list[Any]:
        patch = self._facts.patches.get(str(at))
        is_instruction = at == 0 and self._facts.has_system
        original: Any = natives[0] if is_instruction else natives
        patched: Any = apply(patch, original)
        return [patched] if is_instruction else patched

    def _envelope(self, key: str) -> dict[str, Any]:
        whole = self._object(key)
        parts = {name: self._object(part) for name, part in whole["parts"].items()}
        return {**whole["body"], **parts}

    def _object(self, key: str) -> Any:
        row = find_object(self._connection, self._space, ENVELOPE, key.encode())
        if row is None:
            raise CorruptRecord(f"the call {self._call.id}", f"its envelope {key} is missing")
        return msgspec.json.decode(row[3])


def _with_volatile(given: Any, facts: CallFacts) -> Any:
    """Put the blocks of a system prompt that change with each request back to where they were."""
    if not facts.volatile:
        return given
    parts = [{"type": "text", "text": given}] if isinstance(given, str) else [*given]
    for at, part in facts.volatile:
        parts.insert(at, part)
    return parts
