"""Calls over real HTTP, and the events of what comes back."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from itertools import repeat

import pytest

from headish.calls import open_call
from headish.errors import Interrupted, InvalidArgument, InvalidContent
from support.asking import BODY, EVENTS, ask
from support.loopback import Loopback, event_stream


class TestAnswers:
    def test_the_events_of_a_stream_come_one_by_one(self, server: Loopback) -> None:
        given = threading.Semaphore(0)

        def chunks() -> Iterator[bytes]:
            for chunk in event_stream(EVENTS):
                yield chunk
                assert given.acquire(timeout=10), "the first event was held back"

        server.answer(chunks=chunks())
        with open_call("openai", BODY, base_url=server.url) as call:
            for event, wanted in zip(call, EVENTS, strict=True):
                assert event == wanted
                given.release()

    def test_a_stream_that_says_it_is_done_is_not_waited_for(self, server: Loopback) -> None:
        """Some servers keep the connection open behind it."""
        read = threading.Event()

        def chunks() -> Iterator[bytes]:
            yield from [*event_stream(EVENTS), b"data: [DONE]\n\n"]
            assert read.wait(10), "the end was not seen before the connection's"

        server.answer(chunks=chunks())
        with open_call("openai", BODY, base_url=server.url) as call:
            assert list(call) == EVENTS
            read.set()

    @pytest.mark.parametrize("kind", ["application/x-ndjson", "application/json; charset=utf-8", "application/jsonl"])
    def test_lines_and_whole_answers_are_read_too(self, kind: str, server: Loopback) -> None:
        server.answer(headers={"content-type": kind}, chunks=[b'{"n":1}\n{"n"', b":2}\n"])
        assert ask(server) == [{"n": 1}, {"n": 2}]
        server.answer(headers={"content-type": kind}, chunks=[json.dumps(EVENTS, indent=2).encode()])
        assert ask(server) == EVENTS
        server.answer_json({"whole": True})
        assert ask(server, stream=False) == [{"whole": True}]

    def test_an_answer_without_content_type_or_body_holds_no_events(self, server: Loopback) -> None:
        server.answer(headers={}, chunks=[])
        assert ask(server) == []

    def test_the_body_is_sent_as_it_is(self, server: Loopback) -> None:
        server.answer()
        body = {"z": [1, "ü", None], "a": {"stream": False}}
        with open_call("openai", body, base_url=server.url):
            pass
        [request] = server.requests
        assert (request.method, request.path, request.body) == ("POST", "/chat/completions", body)
        assert request.headers["content-type"] == "application/json"
        assert request.headers["accept-encoding"] == "identity"
        assert request.headers["user-agent"].startswith("headish/")

    def test_a_body_that_is_no_json_is_refused_unsent(self, server: Loopback) -> None:
        for body in ({"a": object()}, {"a": "\ud800"}):
            with pytest.raises(InvalidContent, match="a request"):
                open_call("openai", body, base_url=server.url)
        assert server.requests == []

    def test_headers_of_the_caller_are_added_and_win(self, server: Loopback) -> None:
        server.answer()
        ask(server, "anthropic", headers={"Anthropic-Version": "2023-06-01", "x-team": "blue red"})
        headers = server.requests[0].headers
        assert (headers["anthropic-version"], headers["x-team"]) == ("2023-06-01", "blue red")

    @pytest.mark.parametrize("header", [("x y", "1"), ("", "1"), ("x", "a\r\ny: b"), ("x", " a"), ("x", "ü")])
    def test_headers_that_cannot_be_sent_are_refused(self, header: tuple[str, str], server: Loopback) -> None:
        with pytest.raises(InvalidArgument, match="header"):
            ask(server, headers=dict([header]))
        assert server.requests == []

    def test_closing_early_ends_the_connection(self, server: Loopback) -> None:
        gone = threading.Event()

        def chunks() -> Iterator[bytes]:
            try:
                yield from repeat(event_stream(EVENTS)[0])
            finally:
                gone.set()

        server.answer(chunks=chunks())
        with open_call("openai", BODY, base_url=server.url) as call:
            assert next(iter(call)) == EVENTS[0]
        assert gone.wait(10)
        for thread in threading.enumerate():
            if isinstance(thread, threading.Timer):
                thread.join(10)
                assert not thread.is_alive(), "the deadline goes on"
        with pytest.raises(Interrupted):
            list(call)


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(InvalidArgument, match=r"pip install 'headish\[call\]'"):
        open_call("openai", BODY, base_url="http://127.0.0.1:1")
