"""Server-sent events: the changes of a space, and an answer while it arrives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from headish.errors import CallCancelled, HeadishError
from headish.serve.access.problems import LOG, SERVER_FAILED, facts_of, status_of
from headish.serve.access.state import enter
from headish.serve.api.calling import answer, plain, read_arguments
from headish.serve.api.table import ApiVerb
from headish.values.access.wording import words_for_callers
from headish.values.results.changes import Live, Pulse

PULSE_SECONDS = 15.0
"""After this many seconds, a silent stream gets a comment, so that no proxy takes it for dead."""
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # nginx in front would gather events
EVENTS = "text/event-stream"


def event(kind: str, data: Any, id: str | None = None) -> bytes:
    """Encode one event. The encoder writes JSON without line breaks, so the data is one line."""
    id_line = "" if id is None else f"id: {id}\n"
    return f"{id_line}event: {kind}\n".encode() + b"data: " + msgspec.json.encode(data) + b"\n\n"


async def follow(request: Request, verb: ApiVerb) -> Response:
    """Stream every change after a cursor: ``id`` is the cursor after the change, ``event`` its kind. ``Last-Event-ID``
    overrides ``after``, so that a browser that reconnects goes on where it was.

    Raises: CursorLost, or InvalidArgument for text that is not a cursor, before the stream begins.
    """
    store = await enter(request, verb.right)
    arguments = await read_arguments(request, verb)
    if last := request.headers.get("last-event-id"):
        arguments["after"] = last
    # The first look, without waiting: a bad cursor is an answer with a status.
    async with store.follow(**{**arguments, "wait": False}) as looked:
        async for _ in looked:
            break
    # The answer to HEAD has no body, so nobody would notice that its stream goes on.
    changes = () if request.method == "HEAD" else _changes(store.follow(**arguments, pulse=PULSE_SECONDS))
    return StreamingResponse(changes, 200, _HEADERS, EVENTS)


async def _changes(stream: Any) -> AsyncIterator[bytes]:
    try:
        async with stream:
            async for change in stream:
                if isinstance(change, Pulse):
                    yield f": still there\nid: {change.cursor}\n\n".encode()
                elif isinstance(change, Live):
                    yield event("live", plain(change), change.cursor)
                else:
                    yield event(change.kind, plain(change), change.cursor)
    except HeadishError as error:
        yield event("problem", _problem(error))


async def ask(request: Request, verb: ApiVerb) -> Response:
    """Ask a model. A caller that accepts events gets ``delta`` with each piece of text, then ``turn`` or ``problem``;
    any other caller gets the turn. If the caller goes away, the call ends; the text that arrived is stored."""
    store = await enter(request, verb.right)
    arguments = await read_arguments(request, verb)
    function = getattr(store, verb.function)
    if EVENTS not in request.headers.get("accept", ""):
        return answer(request, verb, await function(**arguments))
    return StreamingResponse(_answering(function, arguments), 200, _HEADERS, EVENTS)


async def _answering(function: Any, given: dict[str, Any]) -> AsyncIterator[bytes]:
    pieces: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def tell(delta: Any) -> None:
        await pieces.put(event("delta", plain(delta)))

    async def run() -> None:
        try:
            turn = await function(**given, on_delta=tell)
            await pieces.put(event("turn", plain(turn)))
        except HeadishError as error:
            await pieces.put(event("problem", _problem(error)))
        except Exception:
            LOG.exception("%s failed", function.__name__)
            await pieces.put(event("problem", {"status": 500, "code": "InternalError", "detail": SERVER_FAILED}))
        finally:
            await pieces.put(None)

    asking = asyncio.ensure_future(run())
    try:
        while (piece := await pieces.get()) is not None:
            yield piece
    finally:
        # The client has gone: the call ends, and what arrived is stored.
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)


def _problem(error: HeadishError) -> dict[str, Any]:
    # The status that nginx logs when a client closed its connection; RFC 9110 has none for it.
    status = 499 if isinstance(error, CallCancelled) else status_of(error)
    return {
        "status": status,
        "code": type(error).__name__,
        "detail": words_for_callers(error),
        "facts": facts_of(error),
    }
