"""The tool ledger: every call is followed by its result, whatever the thread holds.

Providers refuse a request in which a call has no result, a result no call, or something stands between them. A store
must keep such threads all the same: answers are cut off, results come late, branches are merged. So the request is
repaired, each repair is noted, and the store is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from headish.blocks import ContentBlock, Text, ToolResult, ToolUse
from headish.model import Message
from headish.providers.values import Note

LEGAL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
INTERRUPTED = "The call was interrupted: no result was stored."
"""The result of a call that has none. Fixed, so that the same thread always gives the same request."""


@dataclass
class _Call:
    """A call of the thread: its place, the id it goes out with, and the result that answers it."""

    block: ToolUse
    message: int
    id: str
    result: ToolResult | None = None


@dataclass
class _Ledger:
    calls: list[_Call] = field(default_factory=list)
    matched: dict[tuple[int, int], _Call] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)


def settle(messages: Sequence[Message]) -> tuple[list[Message], list[Note]]:
    """The messages with each call's result directly behind the message that calls, and what was repaired.

    Results of one message stand in one ``tool`` message, in the order of the calls. Ids that are missing, illegal or
    used twice are made from the turn's id and the call's position, the same every time.
    """
    ledger = _Ledger()
    for index, message in enumerate(messages):
        _enter_results(ledger, index, message)
        _enter_calls(ledger, index, message)
    settled: list[Message] = []
    for index, message in enumerate(messages):
        calls = [call for call in ledger.calls if call.message == index] if message.role == "assistant" else []
        content = tuple(_rewritten(ledger, index, message))
        if content or not message.content:
            settled.append(replace(message, content=content))
        if calls:
            settled.append(_answers(ledger, message, calls))
    return settled, ledger.notes


def _enter_calls(ledger: _Ledger, index: int, message: Message) -> None:
    taken = {call.id for call in ledger.calls}
    for position, block in enumerate(message.content):
        if isinstance(block, ToolUse) and message.role == "assistant":
            call_id = _legal_id(ledger, block, message, index, position, taken)
            taken.add(call_id)
            ledger.calls.append(_Call(block, index, call_id))


def _legal_id(ledger: _Ledger, block: ToolUse, message: Message, index: int, position: int, taken: set[str]) -> str:
    if block.id is not None and LEGAL_ID.fullmatch(block.id) and block.id not in taken:
        return block.id
    made = f"call_{message.turn or index}_{position}"
    problem = "has no id" if block.id is None else f"has the id {block.id!r}, illegal or used before"
    ledger.notes.append(Note(f"the call of {block.name} {problem}: sent as {made}", message.turn))
    return made


def _enter_results(ledger: _Ledger, index: int, message: Message) -> None:
    for position, block in enumerate(message.content):
        if isinstance(block, ToolResult) and message.role in ("user", "tool"):
            call = _find_call(ledger, block)
            if call is not None:
                call.result = block
                ledger.matched[index, position] = call


def _find_call(ledger: _Ledger, result: ToolResult) -> _Call | None:
    """The call that a result answers: by id, else by name and order; a second answer answers nothing."""
    for call in reversed(ledger.calls) if result.tool_use_id is not None else ledger.calls:
        same_name = result.name is None or result.name == call.block.name
        same_id = result.tool_use_id is None or result.tool_use_id == call.block.id
        if call.result is None and same_id and same_name:
            return call
    return None


def _rewritten(ledger: _Ledger, index: int, message: Message) -> Iterator[ContentBlock]:
    """The blocks of a message without the results that move to their calls."""
    ids = {id(call.block): call.id for call in ledger.calls if call.message == index}
    for position, block in enumerate(message.content):
        if isinstance(block, ToolUse) and id(block) in ids:
            yield replace(block, id=ids[id(block)])
        elif not isinstance(block, ToolResult):
            yield block
        elif (index, position) not in ledger.matched:
            yield from _as_text(ledger, block, message)


def _as_text(ledger: _Ledger, result: ToolResult, message: Message) -> Iterator[ContentBlock]:
    named = result.name or result.tool_use_id or "a tool"
    ledger.notes.append(Note(f"the result of {named} answers no open call: sent as text", message.turn))
    yield Text(f"Result of {named}, without its call:")
    yield from result.content


def _answers(ledger: _Ledger, message: Message, calls: Sequence[_Call]) -> Message:
    results = []
    for call in calls:
        if call.result is None:
            ledger.notes.append(
                Note(f"the call of {call.block.name} has no result: settled as interrupted", message.turn)
            )
        found = call.result or ToolResult(content=(Text(INTERRUPTED),), is_error=True)
        results.append(replace(found, tool_use_id=call.id, name=call.block.name))
    cached = message.cache and any(call.result is not None for call in calls)
    return Message(role="tool", content=tuple(results), turn=message.turn, cache=False and cached)
