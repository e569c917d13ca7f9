"""A provider on 127.0.0.1 that speaks the Responses API through WebSockets as a script says, for the tests of the
gateway; and what clients send it.

    with SocketUpstream() as upstream:
        upstream.script = lambda asked: [created("r1"), CUT]
        ...connect to upstream.url...
        assert upstream.asked[0]["input"] == …

A step of a script is an event that is sent as JSON, a text or bytes that are sent as they are, seconds to wait,
``CUT``, which closes the connection there, or a ``Close``.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import Server, ServerConnection, serve

from support.passed import message_item
from support.upstream import CUT


class Close(NamedTuple):
    """The provider closes the WebSocket."""

    code: int
    reason: str


Step = Mapping[str, Any] | str | bytes | float | object
Script = Callable[[dict[str, Any]], Iterable[Step]]


class SocketUpstream:
    """The server. ``asked`` has the messages that came, ``opened`` the headers of each WebSocket, ``closed`` the codes
    with which clients closed theirs."""

    def __init__(self, script: Script | None = None) -> None:
        self.script: Script = script or reply
        self.asked: list[dict[str, Any]] = []
        self.opened: list[dict[str, str]] = []
        self.closed: list[int | None] = []
        self.extra: dict[str, str] = {}
        self._server: Server | None = None

    @property
    def url(self) -> str:
        """Its address, without a slash at its end."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.socket.getsockname()[1]}"

    def __enter__(self) -> Self:
        def extend(_connection: ServerConnection, _request: Any, response: Any) -> None:
            for name, value in self.extra.items():
                response.headers[name] = value

        self._server = serve(self._serve, "127.0.0.1", 0, process_response=extend, max_size=2**28)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.shutdown()

    def _serve(self, connection: ServerConnection) -> None:
        assert connection.request is not None
        self.opened.append({name.lower(): value for name, value in connection.request.headers.raw_items()})
        try:
            for message in connection:
                self.asked.append(json.loads(message))
                for step in self.script(self.asked[-1]):
                    _take(connection, step)
        except ConnectionClosed:
            pass
        self.closed.append(connection.close_code)


def _take(connection: ServerConnection, step: Step) -> None:
    if step is CUT:
        connection.socket.shutdown(socket.SHUT_RDWR)  # a mere close waits for the thread that reads
    elif isinstance(step, Close):
        connection.close(step.code, step.reason)
    elif isinstance(step, float):
        time.sleep(step)
    else:
        assert isinstance(step, str | bytes | Mapping)
        connection.send(json.dumps(step) if isinstance(step, Mapping) else step)


def created(id: str, **more: Any) -> dict[str, Any]:
    """An answer begins."""
    response = {"id": id, "object": "response", "model": "m", "status": "in_progress", "output": []}
    return {"type": "response.created", "response": response, **more}


def completed(id: str, *items: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """An answer has ended."""
    usage = {"input_tokens": 10, "output_tokens": 3, "total_tokens": 13}
    response = {"id": id, "object": "response", "model": "m", "status": "completed", "output": list(items),
                "usage": usage}  # fmt: skip
    return {"type": "response.completed", "response": response, **more}


def said(text: str, id: str = "m", **more: Any) -> list[dict[str, Any]]:
    """The events of one message."""
    item = message_item(text, id)
    return [
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}, **more},
        {"type": "response.output_text.delta", "output_index": 0, "item_id": id, "delta": text, **more},
        {"type": "response.output_item.done", "output_index": 0, "item": item, **more},
    ]


def reply(asked: dict[str, Any]) -> Iterable[Step]:
    """An answer that names the last thing that was said; none to a message that only warms up."""
    listed = asked["input"] if isinstance(asked.get("input"), list) else [asked.get("input")]
    id = f"resp_{abs(hash(json.dumps(asked))) % 10**12}"
    more = {"stream_id": asked["stream_id"]} if "stream_id" in asked else {}
    yield created(id, **more)
    if asked.get("generate") is False:
        yield completed(id, **more)
        return
    text = f"Answer to {_last_words(listed)}."
    yield from said(text, f"msg_{id}", **more)
    yield completed(id, message_item(text, f"msg_{id}"), **more)


def _last_words(listed: list[Any]) -> str:
    content = listed[-1].get("content", listed[-1].get("output")) if listed and isinstance(listed[-1], dict) else ""
    return content[-1]["text"] if isinstance(content, list) else str(content)


def create(*words: str, **more: Any) -> dict[str, Any]:
    """A request for an answer to what a user says."""
    listed = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": each}]} for each in words]
    return {"type": "response.create", "model": "m", "store": False, "input": listed, **more}
