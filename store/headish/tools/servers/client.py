"""Tool servers for synchronous code: start them together, call them together, stop them at the end of the block.

A failure while a call runs is the result of that call alone. A server that dies, hangs or answers nonsense gives an
error result, which the model reads, and never affects the answers of other servers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TextIO

from headish.content import strictjson
from headish.errors import HeadishError, InvalidArgument, InvalidCall, InvalidName
from headish.providers.shared.tools import SEPARATOR, split_tool
from headish.tools.servers.config import ServerConfig, refusal
from headish.tools.servers.results import make_failure, make_result
from headish.values.blocks import ToolResult, ToolUse

if TYPE_CHECKING:
    from anyio import CancelScope
    from anyio.from_thread import BlockingPortal

    from headish.tools.servers.sessions import ServerSession


class _Running(NamedTuple):
    portal: BlockingPortal
    sessions: Mapping[str, ServerSession]
    stack: ExitStack


class ToolServers:
    """Tool servers that run for as long as the ``with`` block. They work on a thread of their own.

        with ToolServers(read_config("servers.json")) as servers:
            definitions = servers.tools()
            results = servers.call_all(calls)

    Ctrl-C while a call runs cancels the call and is raised again; the end of the block then stops the servers. Several
    threads may call at the same time.
    """

    def __init__(
        self,
        configs: Mapping[str, ServerConfig],
        *,
        start_seconds: float = 30,
        call_seconds: float = 300,
        errlog: TextIO | None = None,
    ) -> None:
        """``start_seconds`` limit starting and listing, ``call_seconds`` each call.

        The stderr of programs goes to ``errlog``, a real file, else to that of this process.
        Raises: InvalidName for a server's name that could not be separated from a tool's.
        """
        for name in configs:
            reason = refusal(name)
            if reason is not None:
                raise InvalidName("tool server", name, reason)
        self._configs = dict(configs)
        self._seconds = (start_seconds, call_seconds)
        self._errlog = errlog
        self._running: _Running | None = None

    def __enter__(self) -> Self:
        """Start all servers and list their tools.

        Raises: ServerFailed for a server that does not start; the others are stopped. InvalidArgument without the
        package ``mcp``.
        """
        if self._running is not None:
            raise InvalidArgument("these tool servers are running already")
        open_portal, open_sessions = _import_sessions()
        with ExitStack() as stack:
            portal = stack.enter_context(open_portal("asyncio", name="headish-servers"))
            opened = open_sessions(self._configs, *self._seconds, self._errlog)
            sessions = stack.enter_context(portal.wrap_async_context_manager(opened))
            self._running = _Running(portal, sessions, stack.pop_all())
        return self

    def __exit__(self, *raised: object) -> None:
        """Stop all servers; their processes are gone when this returns."""
        running, self._running = self._running, None
        if running is not None:
            # ``close`` hides the exception from the stack: a KeyboardInterrupt would end the event loop before the
            # servers are stopped.
            running.stack.close()

    def tools(self) -> dict[str, list[dict[str, Any]]]:
        """The MCP ``tools/list`` of each server, all pages, as listed when the server started."""
        return {name: [strictjson.plain(tool) for tool in each.tools] for name, each in self._now.sessions.items()}

    def call(
        self, server: str, tool: str, arguments: Mapping[str, Any], *, tool_use_id: str | None = None
    ) -> ToolResult:
        """Call one tool. Every failure is an error result."""
        [result] = self.call_all([ToolUse(f"{server}{SEPARATOR}{tool}", tool_use_id, arguments)])
        return result

    def call_all(self, calls: Sequence[ToolUse]) -> list[ToolResult]:
        """Run all calls at the same time. Results are in the order of the calls, with their ids and names.

        A call's name is ``server___tool``, split at the first ``___``. Every failure is an error result.
        """
        portal, together = self._now.portal, _Together(self._now.sessions)
        try:
            futures = [portal.start_task_soon(together.answer, call) for call in calls]
            return [future.result() for future in futures]
        except BaseException:
            with suppress(RuntimeError):  # the servers may have been stopped meanwhile
                portal.start_task_soon(together.give_up)
            raise

    @property
    def _now(self) -> _Running:
        if self._running is None:
            raise InvalidArgument("the tool servers do not run: use them inside their with block")
        return self._running


class _Together:
    """Calls of one caller, on the thread of the servers.

    ``give_up`` ends them all. Their futures could not: an interrupt can come after a call has begun, and before the
    caller has its future.
    """

    def __init__(self, sessions: Mapping[str, ServerSession]) -> None:
        self._sessions = sessions
        self._scopes: list[CancelScope] = []
        self._is_given_up = False

    async def answer(self, call: ToolUse) -> ToolResult:
        from anyio import CancelScope  # late: it comes with the extra, and is installed if servers run

        with CancelScope() as scope:
            self._scopes.append(scope)
            if self._is_given_up:
                scope.cancel()
            try:
                session, tool = _find(self._sessions, call)
                return make_result(call, await session.call(tool, _arguments(call)))
            except HeadishError as error:
                return make_failure(call, str(error))
        return make_failure(call, "nobody waits for it any more")

    def give_up(self) -> None:
        self._is_given_up = True
        for scope in self._scopes:
            scope.cancel()


def _find(sessions: Mapping[str, ServerSession], call: ToolUse) -> tuple[ServerSession, str]:
    split = split_tool(call.name)
    if split is None:
        raise InvalidCall(call.name, f"it names no server and tool, as SERVER{SEPARATOR}TOOL does")
    server, tool = split
    session = sessions.get(server)
    if session is None:
        raise InvalidCall(call.name, f"there is no tool server {server!r}")
    if not any(listed["name"] == tool for listed in session.tools):
        raise InvalidCall(call.name, f"the tool server {server!r} has no tool {tool!r}")
    return session, tool


def _arguments(call: ToolUse) -> dict[str, Any]:
    if not isinstance(call.input, Mapping):
        raise InvalidCall(call.name, "its arguments are not a JSON object")
    strictjson.check(call.input, f"the arguments of {call.name}")
    arguments: dict[str, Any] = strictjson.plain(call.input)
    return arguments


def _import_sessions() -> tuple[Any, Any]:
    try:
        from anyio.from_thread import start_blocking_portal

        from headish.tools.servers.sessions import open_sessions
    except ImportError:
        raise InvalidArgument("tool servers need the extra: pip install 'headish[mcp]'") from None
    return start_blocking_portal, open_sessions
