"""Tools: dispatch the calls of a thread to functions, and return their replies as messages ready to append.

A tool gets the arguments of its call and nothing else: no reasoning, no history. Every failure becomes a reply in the
envelope of OpenChatML 2.2 §8.2, with a code for programs, so one bad call never stops the others.

    router = Router()
    router.add("lookup", lookup, schema={"type": "object", "required": ["peak"], …})
    replies = router.run(store.resolve("main").messages)

Source: OpenChatML 2.2 §8 and §14, 2.0 §8.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Iterable, Mapping
from threading import Thread
from typing import Any

from headish.content.forms.customs import INPUT, is_custom
from headish.errors import InvalidArgument, InvalidCall
from headish.tools.replies import Function, OpenCall, Tool, make_reply, open_calls, refusal
from headish.tools.schemas import check_arguments, check_schema
from headish.transcripts.openchatml.forms import FUNCTIONS
from headish.transcripts.shared.jsontext import read_json
from headish.transcripts.shared.transcript import arguments_of
from headish.values.blocks import ToolUse
from headish.values.messages import Message

DEADLINE = "deadline_ms"


class Router:
    """Dispatches calls to tools, all at the same time. One router may serve many conversations."""

    def __init__(self, *, deadline_ms: int | None = None) -> None:
        self._tools: dict[str, Tool] = {}
        self._deadline_ms = deadline_ms
        self._reasons: dict[asyncio.Task[Any], str] = {}
        self._running: dict[asyncio.Task[Any], tuple[str | None, asyncio.AbstractEventLoop]] = {}

    def add(
        self,
        name: str,
        function: Function,
        *,
        schema: Mapping[str, Any] | None = None,
        source: str | None = None,
        takes_text: bool | None = None,
    ) -> None:
        """Register a tool: a function of one argument, plain or async. The prefix ``functions.`` is optional.

        Raises: InvalidArgument for a name that is taken, or an invalid schema.
        """
        plain = name.removeprefix(FUNCTIONS)
        if not plain or plain in self._tools:
            raise InvalidArgument(f"a tool needs a name of its own, not {name!r}")
        if schema is not None:
            check_schema(schema)
        text = plain == "python" if takes_text is None else takes_text
        self._tools[plain] = Tool(name=plain, function=function, schema=schema, source=source, takes_text=text)

    def check(self, call: ToolUse, message: Message | None = None) -> tuple[Tool, Any]:
        """The tool of a call, and the argument that it would get.

        Raises: InvalidCall (E-CALL-SCHEMA) for an unknown tool, a call that was cut off, a call on a channel where
        tools are not called (§8.3), and arguments that are not an object or do not fit the schema.
        """
        tool = self._tools.get(call.name.removeprefix(FUNCTIONS))
        if tool is None:
            raise InvalidCall(call.name, "there is no such tool")
        reason = refusal(call, message)
        if reason is not None:
            raise InvalidCall(call.name, reason)
        raw = arguments_of(call)
        if tool.takes_text:
            return tool, _text_for(call, raw)
        arguments = read_json(raw)
        if not isinstance(arguments, dict):
            raise InvalidCall(call.name, "its arguments are not a JSON object")
        if tool.schema is not None:
            # The deadline is for the router: a schema that allows no other properties would refuse it.
            declared = tool.schema.get("properties") or {}
            checked = {key: value for key, value in arguments.items() if key != DEADLINE or key in declared}
            check_arguments(call.name, checked, tool.schema)
        return tool, arguments

    async def arun(self, messages: Iterable[Message]) -> list[Message]:
        """Run all calls among the messages that have no reply yet, and return the replies in the order of the calls.

        The calls run at the same time. ``deadline_ms`` in a call's arguments, else the router's own, limits each.
        """
        calls = open_calls(list(messages))
        seen: set[str] = set()
        running = []
        for call in calls:
            twice = call.block.id is not None and call.block.id in seen
            seen |= {call.block.id} if call.block.id is not None else set()
            running.append(self._answer(call, twice=twice))
        return list(await asyncio.gather(*running))

    def run(self, messages: Iterable[Message]) -> list[Message]:
        """``arun`` for callers without an event loop."""
        return asyncio.run(self.arun(messages))

    def cancel(self, call_id: str, reason: str = "cancelled") -> bool:
        """Cancel a running call (``tool.cancel``), from any thread; its reply says E-TOOL-CANCELLED. Returns whether
        the call was running. Of several conversations' calls with that id, the one that began last is cancelled."""
        for task, (id, loop) in reversed(tuple(self._running.items())):
            if id == call_id:
                self._reasons[task] = reason
                loop.call_soon_threadsafe(task.cancel)
                return True
        return False

    async def _answer(self, call: OpenCall, *, twice: bool) -> Message:
        try:
            if twice:
                raise InvalidCall(call.block.name, f"the call id {call.block.id!r} appears twice")
            tool, arguments = self.check(call.block, call.message)
        except InvalidCall as error:
            return make_reply(call, None, error={"code": error.code, "message": error.reason})
        task = asyncio.ensure_future(_call(tool, arguments))
        self._running[task] = (call.block.id, asyncio.get_running_loop())
        limit_ms = self._limit_ms(arguments)
        try:
            done, _ = await asyncio.wait({task}, timeout=None if limit_ms is None else limit_ms / 1000)
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            del self._running[task]
            reason = self._reasons.pop(task, "cancelled")
        if not done:
            # ``asyncio.wait`` with a limit leaves the task running.
            task.cancel()
            return make_reply(call, tool, error={"code": "E-TOOL-TIMEOUT", "message": f"no answer in {limit_ms} ms"})
        return _settle(call, tool, task, reason)

    def _limit_ms(self, arguments: Any) -> float | None:
        deadline = arguments.get(DEADLINE) if isinstance(arguments, dict) else None
        is_number = isinstance(deadline, int | float) and not isinstance(deadline, bool) and deadline > 0
        return deadline if is_number else self._deadline_ms


def _text_for(call: ToolUse, raw: str) -> str:
    """The text for a tool that takes text: the raw text, or the one argument ``input`` from a provider that has only
    functions."""
    arguments = call.input if isinstance(call.input, Mapping) and not is_custom(call) else {}
    return arguments[INPUT] if arguments.keys() == {INPUT} and isinstance(arguments[INPUT], str) else raw


async def _call(tool: Tool, argument: Any) -> Any:
    """Run a tool: an async function on this loop, a plain one on a thread that does not keep the program alive."""
    try:
        if inspect.iscoroutinefunction(tool.function):
            return await tool.function(argument)
        result = await _in_thread(tool.function, argument)
        # A lambda or partial may wrap an async function.
        return await result if isinstance(result, Awaitable) else result
    except SystemExit as error:
        # It would end the event loop, and with it the other calls.
        raise RuntimeError(f"it tried to end the program (exit {error.code})") from error


async def _in_thread(function: Function, argument: Any) -> Any:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

    def settle(outcome: tuple[Any, BaseException | None]) -> None:
        if not future.done():
            future.set_result(outcome)  # errors too: a future takes no StopIteration

    def work() -> None:
        outcome: tuple[Any, BaseException | None]
        try:
            outcome = (function(argument), None)
        except BaseException as error:  # also SystemExit: the caller would wait for ever
            outcome = (None, error)
        # A thread cannot be cancelled, so the caller may have given up long ago.
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, outcome)

    # A daemon: a tool that never ends must not keep the program from ending.
    Thread(target=work, name="headish-tool", daemon=True).start()
    result, error = await future
    if error is not None:
        raise error
    return result


def _settle(call: OpenCall, tool: Tool, task: asyncio.Task[Any], reason: str) -> Message:
    error = None if task.cancelled() else task.exception()
    if task.cancelled() or isinstance(error, asyncio.CancelledError):
        return make_reply(call, tool, error={"code": "E-TOOL-CANCELLED", "message": reason})
    if error is not None:
        return make_reply(call, tool, error={"code": "E-TOOL-FAILED", "message": f"{type(error).__name__}: {error}"})
    return make_reply(call, tool, content=task.result())
