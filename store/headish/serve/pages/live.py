"""``/live``: the events of a space, as server-sent events; ``id:`` is the cursor from which a reader goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from headish.aio import AsyncStore
from headish.errors import HeadishError
from headish.serve.access.problems import LOG
from headish.serve.access.state import enter
from headish.serve.pages.arriving import Told
from headish.serve.pages.hub import LOST, Hub, hub_of
from headish.values.results.changes import Change, MoveChange, RecordChange, TurnChange

PULSE_SECONDS = 15.0


async def show_live(request: Request) -> Response:
    """Stream the events of a space: ``change``; ``delta`` and ``answered`` of answers; ``lost``, which asks the page to
    be fetched anew."""
    store = await enter(request, "read")
    after = request.headers.get("last-event-id") or request.query_params.get("after") or await store.position()
    # The answer to HEAD has no body, so nobody would notice that its stream goes on.
    events = () if request.method == "HEAD" else _events(store, hub_of(request), after)
    headers = {"X-Accel-Buffering": "no", "Cache-Control": "no-store"}
    return StreamingResponse(events, 200, headers, "text/event-stream")


async def _events(store: AsyncStore, hub: Hub, after: str) -> AsyncIterator[bytes]:
    with hub.listening(store.space) as queue:  # first: what arrives from here on waits in the queue
        following = asyncio.create_task(_follow(store, after, queue))
        try:
            # A browser that loses the stream connects again after a second.
            yield b"retry: 1000\n\n"
            for arriving in hub.arriving_in(store.space):  # text that came after the page was drawn, before this stream
                for event in arriving.tell_all():
                    yield write_event(event)
            while True:
                event = await queue.get()
                yield write_event(event)
                if event["event"] == "lost":
                    return
        finally:
            following.cancel()


async def _follow(store: AsyncStore, after: str, queue: asyncio.Queue[Told]) -> None:
    """Put the changes of a space, also by other processes, into a queue, and a pulse while nothing happens."""
    try:
        async with store.follow(after, pulse=PULSE_SECONDS) as changes:
            async for change in changes:
                await queue.put(_told(change))
    except HeadishError:  # mostly a lost cursor; the page then fetches itself anew, which reports any other error
        await queue.put(LOST)
    except Exception:
        LOG.exception("/live failed")
        await queue.put(LOST)


def _told(change: Change) -> Told:
    if change.kind in ("pulse", "live"):
        return {"event": "pulse", "cursor": change.cursor}
    event: Told = {"event": "change", "cursor": change.cursor, "kind": change.kind}
    match change:
        case TurnChange(turn=turn):
            event |= {"turn": turn.id, "continues": turn.meta.continues, "name": turn.meta.bookmark}
        case MoveChange(name=name, was=was):
            event |= {"name": name, "was": was}
        case RecordChange(subject=subject):
            event |= {"name": subject}
        case _:
            pass
    return event


def write_event(told: Told) -> bytes:
    """An event in the form of server-sent events; a pulse is a comment with the cursor."""
    cursor = told.get("cursor")
    head = f"id: {cursor}\n" if cursor else ""
    if told["event"] == "pulse":
        return f": pulse\n{head}\n".encode()
    return f"{head}event: {told['event']}\ndata: ".encode() + msgspec.json.encode(told) + b"\n\n"
