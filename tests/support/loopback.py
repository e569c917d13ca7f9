"""A server on 127.0.0.1 that plays back what it was told to answer, and remembers what it was asked.

    with Loopback() as server:
        server.answer(chunks=event_stream([{"type": "ping"}]))
        ...ask server.url...
        assert server.requests[0].path == "/v1/messages"

Answers are given in order, one to a request. A request for which none is left gets status 404. Everything runs on
threads of its own and ends with the block, an endless answer too.

Used wherever something is asked of a server: tests/calls, tests/answers, tests/cli, tests/providers.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from types import TracebackType
from typing import Any, NamedTuple, Self

EVENT_STREAM = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}


class Request(NamedTuple):
    """What was asked. ``headers`` have names in lower case; ``body`` is the JSON, or the bytes of anything else."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


class Answer(NamedTuple):
    """What to send; no ``status`` for bytes as they are."""

    chunks: Iterable[bytes]
    status: int | None = None
    headers: Mapping[str, str] = EVENT_STREAM
    delay_seconds: float = 0
    cut: bool = False


class Loopback:
    """The server. Use it as a context manager; ``url`` has no slash at its end."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.connections = 0
        """How many were opened."""
        self.closing = Event()
        self._answers: deque[Answer] = deque()
        self._server = _Server(self)
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    def answer(
        self,
        status: int = 200,
        headers: Mapping[str, str] = EVENT_STREAM,
        chunks: Iterable[bytes] = (),
        *,
        delay_seconds: float = 0,
        cut: bool = False,
    ) -> None:
        """Answer the next request that has no answer yet.

        ``chunks`` may be lazy and endless; each is sent at once, ``delay_seconds`` after the one before. With ``cut``
        the connection is closed after the last, in the middle of the body. The body is sent in HTTP chunks, or plain
        if ``headers`` give its ``content-length``.
        """
        self._answers.append(Answer(chunks, status, headers, delay_seconds, cut))

    def answer_json(self, value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        """Answer with one JSON value."""
        self.answer(status, {**JSON, **(headers or {})}, [json.dumps(value).encode()])

    def answer_raw(self, chunks: Iterable[bytes], *, delay_seconds: float = 0) -> None:
        """Answer with bytes as they are, status line and headers among them, and close the connection."""
        self._answers.append(Answer(chunks, delay_seconds=delay_seconds))

    def hang_up(self) -> None:
        """Close the connection of the next request without an answer."""
        self.answer_raw([])

    def next_answer(self) -> Answer:
        """For the handler: what to send now."""
        if self._answers:
            return self._answers.popleft()
        refusal = json.dumps({"error": {"message": "the test told the server no answer to this request"}}).encode()
        return Answer([refusal], 404, JSON)


def event_stream(events: Iterable[Any], *, named: bool = False) -> list[bytes]:
    """Events as server-sent events, a chunk each; ``named`` adds the ``event:`` line from their ``type``."""
    return [
        (f"event: {event['type']}\n" if named else "").encode() + b"data: " + json.dumps(event).encode() + b"\n\n"
        for event in events
    ]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, loopback: Loopback) -> None:
        self.loopback = loopback
        super().__init__(("127.0.0.1", 0), _Handler)

    def get_request(self) -> tuple[Any, Any]:
        self.loopback.connections += 1
        return super().get_request()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except OSError:
            # The client went away, which is what some tests are about.
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        loopback = self.server.loopback
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        loopback.requests.append(Request(self.command, self.path, headers, _read_json(raw)))
        answer = loopback.next_answer()
        chunked = answer.status is not None and "content-length" not in answer.headers
        if answer.status is not None:
            self._send_head(answer.status, answer.headers, chunked=chunked)
        for chunk in answer.chunks:
            if loopback.closing.wait(answer.delay_seconds):
                break
            self._send_chunk(chunk, chunked=chunked)
        if answer.cut or answer.status is None:
            self.close_connection = True
        elif chunked:
            self.wfile.write(b"0\r\n\r\n")

    def _send_head(self, status: int, headers: Mapping[str, str], *, chunked: bool) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if chunked:
            self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def _send_chunk(self, chunk: bytes, *, chunked: bool) -> None:
        # An empty chunk would end the body.
        if chunk:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk) if chunked else chunk)


def _read_json(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return raw
