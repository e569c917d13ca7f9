"""The part of the door that runs tools: the calls of an answer, and their results as the turn that comes next."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from headish.content.drafts import NewTurn, make_draft
from headish.errors import InvalidArgument
from headish.store.ask import AskingSpace
from headish.store.read import ReadingSpace
from headish.values.blocks import ContentBlock, Text, ToolResult, ToolUse
from headish.values.grammar import parse_headish
from headish.values.turns import Turn

Run = Callable[[Sequence[ToolUse]], Sequence[ToolResult]]
"""Runs calls, all at once if it can, and gives a result for each, in order."""
Approve = Callable[[ToolUse], bool | str]
"""Whether a call may run. A text is a refusal, too: what the model is told instead of a result."""
REFUSED = "The user refused to run this call."


class LoopingSpace(AskingSpace, ReadingSpace):
    """The methods that run the tools of a thread."""

    def open_calls(self, headish: str = "@") -> list[ToolUse]:
        """The calls of the answer that a headish names, which nothing has answered; without what was cut off."""
        messages = self.resolve(headish).messages
        last = messages[-1] if messages else None
        if last is None or last.role != "assistant":
            return []
        return [block for block in last.content if isinstance(block, ToolUse)]

    def run_tools(self, headish: str, run: Run, *, approve: Approve | None = None) -> Turn | None:
        """Run the open calls of an answer, and store their results as one turn that continues it; None without calls.

        ``run`` is ``ToolServers.call_all``, or anything that gives results for calls. ``approve`` is asked for each
        call first; one that it refuses gets an error result which says so.
        Raises: what ``run`` and ``approve`` raise; InvalidArgument for more or fewer results than calls. Nothing is
        stored then.
        """
        name = parse_headish(headish).bookmark
        answer, bookmark = self._read(headish, lambda connection, stored: self._pinned(connection, stored, name))
        calls = self.open_calls(answer.id)
        if not calls:
            return None
        said = [True if approve is None else approve(call) for call in calls]
        approved = [call for call, word in zip(calls, said, strict=True) if word is True]
        given = run(approved) if approved else []
        if len(given) != len(approved):
            raise InvalidArgument(f"{len(approved)} calls were to be run, and {len(given)} results came")
        if not all(isinstance(each, ToolResult) for each in given):
            raise InvalidArgument("the result of a call is a ToolResult")
        ran = map(_named, approved, given)
        results: list[ContentBlock] = [
            next(ran) if word is True else _refused(call, word) for call, word in zip(calls, said, strict=True)
        ]
        draft = make_draft(NewTurn(results, role="tool"), self._payload_limit_bytes)
        # Tools take their time, and the bookmark may have moved on meanwhile: the results belong to the calls.
        return self._database.write(
            lambda connection: self._turn(self._append_behind(connection, draft, (answer.id,), bookmark))
        )


def _named(call: ToolUse, result: ToolResult) -> ToolResult:
    """A result with its call's id and name, where whoever ran it left them out."""
    return replace(result, tool_use_id=result.tool_use_id or call.id, name=result.name or call.name)


def _refused(call: ToolUse, word: bool | str) -> ToolResult:
    return ToolResult(call.id, call.name, (Text(word if isinstance(word, str) else REFUSED),), is_error=True)
