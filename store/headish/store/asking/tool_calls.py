"""The tool calls of an answer: find the open ones, and store their results as the next turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from headish.content.drafts import make_draft
from headish.content.unfinished import is_cut_off
from headish.database.query import Connection
from headish.errors import InvalidArgument
from headish.history.reading.decode import complete_turn, read_attributes, read_blocks, read_payload
from headish.history.writing.replies import pin_turns, write_reply
from headish.rows.turns import StoredTurn
from headish.store.asking.origins import is_strangers
from headish.store.space import Space
from headish.values.blocks import ContentBlock, Text, ToolResult, ToolUse
from headish.values.checks.doors import door
from headish.values.grammar import parse_headish
from headish.values.messages import Message, Note
from headish.values.turns import Turn

Run = Callable[[Sequence[ToolUse]], Sequence[ToolResult]]
"""Runs calls, all at once if it can, and returns a result for each, in order."""
Approve = Callable[[ToolUse], bool | str]
"""Decides whether a call may run. A text refuses it, too, and the model gets the text in place of a result."""
Told = Callable[[Note], None]
REFUSED = "The user refused to run this call."


def open_calls(space: Space, headish: str = "@") -> list[ToolUse]:
    """The calls of the reply that a headish names, without those that may not run.

    Calls that were cut off, or are on a channel where tools are not called, may not run: ``Router`` has the same rule.
    """
    return [call for call, reason in _calls(_message(space, headish)) if reason is None]


@door()
def run_tools(
    space: Space, headish: str, run: Run, *, approve: Approve | None = None, told: Told | None = None
) -> Turn | None:
    """Run the open calls of a reply, and store their results as one turn that continues it; None without calls.

    ``run`` is ``ToolServers.call_all``, or anything that returns results for calls. ``approve`` is called for each call
    first. A refused call gets an error result that says so, and so does one on a channel where tools are not called. A
    call that was cut off gets no result. ``told`` gets a note for each call that may not run.
    Raises: what ``run`` and ``approve`` raise; InvalidArgument for more or fewer results than calls, and for calls of a
    reply that came from elsewhere (a bundle, a remote that is not encrypted) without ``approve``: no model asked from
    here made them. Nothing is stored then.
    """
    space._check_writable()
    turn, bookmark = named_turn(space, headish)
    message = _message(space, turn.id)
    calls = _calls(message)
    for call, reason in calls:
        if reason is not None and told is not None:
            told(Note(f"the call of {call.name} is not run: {reason}", turn.id))
    answered = [(call, reason) for call, reason in calls if not is_cut_off(call, message)]
    if not answered:
        return None
    # Whoever wrote the turn would otherwise run programs here with the user's rights.
    if approve is None and is_strangers(space, turn.id):
        raise InvalidArgument(f"the calls of turn {turn.id} came from elsewhere: give approve, which is asked for each")
    draft = make_draft(_results(answered, run, approve), {"role": "tool"}, space._payload_limit_bytes)
    # Tools take their time, and the bookmark may have moved on meanwhile: the results belong to the calls.
    written = space._store(
        lambda connection, mint: write_reply(connection, space._number, draft, (turn.id,), bookmark, None, mint)
    )
    return space._as_turn(written.built[0])


def _message(space: Space, headish: str) -> Message:
    """The message of one turn, with blocks that were cut off."""

    def work(connection: Connection, stored: StoredTurn) -> Message:
        erased = stored.erased is not None  # then nothing of it is open
        content = () if erased else read_blocks(stored, read_payload(connection, space._number, stored))
        return Message(role=stored.role or None, content=content, attributes=read_attributes(stored), turn=stored.id)

    return space._read_at(headish, work)


def _calls(message: Message) -> list[tuple[ToolUse, str | None]]:
    """The calls of a reply, each with the reason why it may not run."""
    calls = [block for block in message.content if isinstance(block, ToolUse)]
    if message.role != "assistant" or not calls:
        return []
    from headish.tools.replies import refusal  # late: it brings every format, and most answers call nothing

    return [(call, refusal(call, message)) for call in calls]


def named_turn(space: Space, headish: str) -> tuple[Turn, str | None]:
    """The turn that a headish names, and the headish itself if it is a bookmark that points there."""
    name = parse_headish(headish).bookmark

    def work(connection: Connection, stored: StoredTurn) -> tuple[Turn, str | None]:
        turn = complete_turn(connection, space._number, stored, space._options_at)
        return turn, pin_turns(connection, space._number, [stored.place], name).bookmark

    return space._read_at(headish, work)


def _results(calls: Sequence[tuple[ToolUse, str | None]], run: Run, approve: Approve | None) -> list[ContentBlock]:
    """Run the approved calls. Return a result for each call, in order: its own, or why it was not run."""
    words = [_word(call, reason, approve) for call, reason in calls]
    approved = [call for (call, _), word in zip(calls, words, strict=True) if word is True]
    results = run(approved) if approved else []
    if len(results) != len(approved):
        raise InvalidArgument(f"{len(approved)} calls were to be run, and {len(results)} results came")
    if not all(isinstance(each, ToolResult) for each in results):
        raise InvalidArgument("the result of a call is a ToolResult")
    ran = map(_named, approved, results)
    return [next(ran) if word is True else _refused(call, word) for (call, _), word in zip(calls, words, strict=True)]


def _word(call: ToolUse, reason: str | None, approve: Approve | None) -> bool | str:
    if reason is not None:
        return f"Not run: {reason}."
    return True if approve is None else approve(call)


def _named(call: ToolUse, result: ToolResult) -> ToolResult:
    """Give a result the id and name of its call, if it has none."""
    return replace(result, tool_use_id=result.tool_use_id or call.id, name=result.name or call.name)


def _refused(call: ToolUse, word: bool | str) -> ToolResult:
    text = Text(word if isinstance(word, str) else REFUSED)
    return ToolResult(tool_use_id=call.id, name=call.name, content=(text,), is_error=True)
