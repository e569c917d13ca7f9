"""The tool ledger: every call is followed by its result, whatever the thread holds.

Providers refuse a request in which a call has no result, a result no call, or something is between them. A store
must keep such threads all the same: answers are cut off, results come late, branches are merged. So the request is
repaired, each repair is noted, and the store is left as it is.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from msgspec.structs import replace

from headish.content.hashes import hash_payload
from headish.values.blocks import ContentBlock, Text, ToolResult, ToolUse
from headish.values.caches import Cache, longest
from headish.values.forking import cached_property
from headish.values.ids import TurnId
from headish.values.messages import Message, Note

# The strictest of the providers' rules for ids, so that one made id goes to all of them.
ID_LIMIT = 64
LEGAL_ID = re.compile(rf"[a-zA-Z0-9_-]{{1,{ID_LIMIT}}}")
_PAIRED = (ToolUse, ToolResult)
INTERRUPTED = "The call was interrupted: no result was stored."
"""The result of a call that has none. Fixed, so that the same thread always gives the same request."""


@dataclass(slots=True)
class _Call:
    """A call of the thread: the id it goes out with, the result that answers it, and the index of the result's
    message."""

    block: ToolUse
    id: str
    result: ToolResult | None = None
    answered_in: int | None = None


class _OpenCalls:
    """Calls without a result, found in the order of the thread.

    Cost: linear in the number of calls, because each is passed over once.
    """

    def __init__(self) -> None:
        self._by_id: defaultdict[tuple[str, str | None], list[_Call]] = defaultdict(list)
        """By id alone, and by id and name; the next result answers the last of a list."""
        self._by_name: defaultdict[str, deque[_Call]] = defaultdict(deque)
        self._all: deque[_Call] = deque()

    def enter(self, calls: Sequence[_Call]) -> None:
        """Add the calls of a message. If calls share an id, results answer the newest message's first, in order."""
        for call in calls:
            self._by_name[call.block.name].append(call)
            self._all.append(call)
        # Reversed onto a stack: the first call of the newest message is on top.
        for call in reversed(calls):
            id = call.block.id
            if id is not None:
                self._by_id[id, None].append(call)
                self._by_id[id, call.block.name].append(call)

    def find(self, result: ToolResult) -> _Call | None:
        """The call that a result answers: by id, else by name and order. None for a second result of a call."""
        if result.tool_use_id is not None:
            same_id = self._by_id.get((result.tool_use_id, result.name))
            while same_id and same_id[-1].result is not None:  # answered by way of another list
                same_id.pop()
            return same_id[-1] if same_id else None
        waiting = self._all if result.name is None else self._by_name[result.name]
        while waiting and waiting[0].result is not None:
            waiting.popleft()
        return waiting[0] if waiting else None


class Settlement(NamedTuple):
    """The repaired messages. ``turns`` has, by index, the turns that each message of results was made of; every other
    message is made of its own turn. ``orphans`` are notes on the repairs that a strict caller refuses, ``ids`` the
    notes on made ids, ``notes`` all others."""

    messages: Sequence[Message]
    turns: Mapping[int, tuple[TurnId, ...]]
    notes: list[Note]
    orphans: list[Note]
    ids: list[Note]


@dataclass
class _Ledger:
    messages: Sequence[Message]
    contents: dict[int, tuple[ContentBlock, ...]] = field(default_factory=dict)
    """The blocks that remain of the messages that call or answer, by index."""
    open: _OpenCalls = field(default_factory=_OpenCalls)
    calls: dict[int, dict[int, _Call]] = field(default_factory=dict)
    matched: set[tuple[int, int]] = field(default_factory=set)
    orphans: defaultdict[int, list[ContentBlock]] = field(default_factory=lambda: defaultdict(list))
    taken: set[str] = field(default_factory=set)
    repeats: Counter[str] = field(default_factory=Counter)
    """How often an id was numbered because underscores were not enough to tell the calls apart."""
    notes: list[Note] = field(default_factory=list)
    orphan_notes: list[Note] = field(default_factory=list)
    id_notes: list[Note] = field(default_factory=list)

    @cached_property
    def standing(self) -> list[int]:
        """For each message, the number of messages before it that keep any content. The difference of two of them tells
        whether anything is between a call and its result."""
        keeps_content = (bool(self.contents.get(index, message.content)) for index, message in enumerate(self.messages))
        return list(accumulate(keeps_content, initial=0))


def settle(messages: Sequence[Message]) -> Settlement:
    """The messages with each call's result directly after the message that calls, and notes on the repairs.

    Results of one message form one ``tool`` message, in the order of the calls. Ids that are missing, illegal or used
    twice are replaced by ids made from the turn's id and the call's position, the same every time. A message that held
    only results is removed, and its cache flag moves with them.
    """
    ledger = _Ledger(messages)
    calling = _find_calling(messages)
    for index in calling:
        _enter_results(ledger, index, messages[index])
        _enter_calls(ledger, index, messages[index])
    ledger.contents = {index: _rewritten(ledger, index, messages[index]) for index in calling}
    settled: list[Message] = []
    turns: dict[int, tuple[TurnId, ...]] = {}
    next_index = 0
    for index in calling:
        settled += messages[next_index:index]  # nearly all messages, unchanged
        next_index, message, content = index + 1, messages[index], ledger.contents[index]
        if content:
            settled.append(message if content == message.content else replace(message, content=content))
        if index in ledger.orphans:
            settled.append(Message(role="user", content=tuple(ledger.orphans[index]), turn=message.turn))
        if index in ledger.calls:
            turns[len(settled)] = _turns_of(ledger, index)
            settled.append(_settle_calls(ledger, index))
    settled += messages[next_index:]
    return Settlement(settled, turns, ledger.notes, ledger.orphan_notes, ledger.id_notes)


def with_ids(messages: Sequence[Message], spared: Collection[int] = ()) -> list[Message]:
    """The messages with the ids of ``settle`` for each call that has none, and for its result. Nothing else is
    repaired, and the calls of the ``spared`` messages stay as they are."""
    ledger = _Ledger(messages)
    for index in _find_calling(messages):
        _enter_results(ledger, index, messages[index])
        _enter_calls(ledger, index, messages[index])
    renamed: defaultdict[int, dict[int, ContentBlock]] = defaultdict(dict)
    for index, calls in ledger.calls.items():
        for call in calls.values() if index not in spared else ():
            if call.block.id is None:
                # By identity: one message may hold equal blocks, and each is another call.
                renamed[index][id(call.block)] = replace(call.block, id=call.id)
                if call.result is not None and call.answered_in is not None:
                    renamed[call.answered_in][id(call.result)] = replace(call.result, tool_use_id=call.id)
    changed = list(messages)
    for index, blocks in renamed.items():
        changed[index] = replace(
            changed[index], content=tuple(blocks.get(id(each), each) for each in changed[index].content)
        )
    return changed


def pair_calls(messages: Sequence[Message]) -> dict[tuple[int, int], tuple[int, int]]:
    """The call that each result answers, as ``settle`` finds it. Both are the indexes of a message and of its block.

    Leaves out a result that answers no call.
    """
    open_calls = _OpenCalls()
    entered: dict[int, tuple[int, int]] = {}
    calls: list[_Call] = []
    pairs: dict[tuple[int, int], tuple[int, int]] = {}
    for index, message in enumerate(messages):
        for position, block in enumerate(message.content if message.role in ("user", "tool") else ()):
            call = open_calls.find(block) if isinstance(block, ToolResult) else None
            if call is not None and isinstance(block, ToolResult):
                call.result = block
                pairs[index, position] = entered[id(call)]
        called = []
        for position, block in enumerate(message.content if message.role == "assistant" else ()):
            if isinstance(block, ToolUse):
                called.append(_Call(block, block.id or ""))
                entered[id(called[-1])] = (index, position)
        calls += called  # held, so that no id() is used twice
        open_calls.enter(called)
    return pairs


def _find_calling(messages: Sequence[Message]) -> list[int]:
    """The indexes of the messages that call or answer."""
    # A plain loop, and no isinstance: every message of every request passes here.
    calling = []
    for index, message in enumerate(messages):
        for block in message.content:
            if type(block) in _PAIRED:
                calling.append(index)
                break
    return calling


def _settle_calls(ledger: _Ledger, index: int) -> Message:
    """The results of a message's calls, as the message that follows it."""
    messages, message = ledger.messages, ledger.messages[index]
    calls = ledger.calls[index].values()
    moved = [call.answered_in for call in calls if call.answered_in is not None]
    cache = longest(messages[each].cache for each in moved if not ledger.contents[each])
    late = [each for each in moved if each > index + 1]
    if late and any(ledger.standing[each] > ledger.standing[index + 1] for each in late):
        ledger.notes.append(Note("results that came later are moved to their calls", message.turn))
    return _answers(ledger, message, calls, cache)


def _turns_of(ledger: _Ledger, index: int) -> tuple[TurnId, ...]:
    """The turns that a message's results came from, in the order of the thread; its own turn if it has no results."""
    own = ledger.messages[index].turn
    moved = {call.answered_in for call in ledger.calls[index].values() if call.answered_in is not None}
    turns = [ledger.messages[each].turn or own for each in sorted(moved)] or [own]
    return tuple([turn for turn in dict.fromkeys(turns) if turn is not None])


def _enter_calls(ledger: _Ledger, index: int, message: Message) -> None:
    if message.role != "assistant":
        return
    calls = {}
    for position, block in enumerate(message.content):
        if type(block) is ToolUse:
            call = calls[position] = _Call(block, _legal_id(ledger, block, message, index, position))
            ledger.taken.add(call.id)
    if calls:
        ledger.calls[index] = calls
        ledger.open.enter(list(calls.values()))


def _legal_id(ledger: _Ledger, block: ToolUse, message: Message, index: int, position: int) -> str:
    if block.id is not None and LEGAL_ID.fullmatch(block.id) and block.id not in ledger.taken:
        return block.id
    new_id = _made_id(ledger, f"call_{message.turn or index}_{position}", index)
    problem = "has no id" if block.id is None else f"has the id {block.id[:80]!r}, illegal or used before"
    ledger.id_notes.append(Note(f"the call of {block.name[:80]} {problem}: sent as {new_id}", message.turn))
    return new_id


def _made_id(ledger: _Ledger, base: str, index: int) -> str:
    """An id that no other call has."""
    # A window made by hand may repeat one turn a hundred thousand times, or give it any name as its id.
    if not LEGAL_ID.fullmatch(base):
        base = f"call_{index}_{hash_payload(base.encode(errors='surrogatepass')).hex()[:8]}"
    new_id = base
    while new_id in ledger.taken and len(new_id) < ID_LIMIT:
        new_id += "_"
    while new_id in ledger.taken:  # counted per base, so that the next id does not try all earlier numbers again
        ledger.repeats[base] += 1
        new_id = f"{base}-{ledger.repeats[base]}"
    return new_id


def _enter_results(ledger: _Ledger, index: int, message: Message) -> None:
    if message.role not in ("user", "tool"):
        return
    for position, block in enumerate(message.content):
        if type(block) is ToolResult and (call := ledger.open.find(block)) is not None:
            call.result, call.answered_in = block, index
            ledger.matched.add((index, position))


def _rewritten(ledger: _Ledger, index: int, message: Message) -> tuple[ContentBlock, ...]:
    """The blocks of a message with the ids that go out, without the results that move to their calls."""
    calls = ledger.calls.get(index, {})
    blocks: list[ContentBlock] = []
    for position, block in enumerate(message.content):
        call = calls.get(position)
        if call is not None:
            blocks.append(call.block if call.block.id == call.id else replace(call.block, id=call.id))
        elif type(block) is not ToolResult:
            blocks.append(block)
        elif (index, position) not in ledger.matched:
            # Text cannot go out in a message of role tool, so these become a message of the user.
            (ledger.orphans[index] if message.role == "tool" else blocks).extend(_as_text(ledger, block, message))
    return tuple(blocks)


def _as_text(ledger: _Ledger, result: ToolResult, message: Message) -> Iterator[ContentBlock]:
    name = result.name or result.tool_use_id or "a tool"
    ledger.orphan_notes.append(Note(f"the result of {name[:80]} answers no open call: sent as text", message.turn))
    yield Text(f"Result of {name}, without its call:")
    yield from result.content


def _answers(ledger: _Ledger, message: Message, calls: Iterable[_Call], cache: Cache) -> Message:
    results = []
    for call in calls:
        result = call.result
        if result is None:
            what = f"the call of {call.block.name[:80]} has no result: settled as interrupted"
            ledger.notes.append(Note(what, message.turn))
            # An error, so that the model does not take the note for what the tool answered.
            result = ToolResult(content=(Text(INTERRUPTED),), is_error=True)
        is_named = result.tool_use_id == call.id and result.name == call.block.name
        results.append(result if is_named else replace(result, tool_use_id=call.id, name=call.block.name))
    return Message(role="tool", content=tuple(results), turn=message.turn, cache=cache)
