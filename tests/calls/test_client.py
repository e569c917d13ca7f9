"""Calls over real HTTP, to servers that answer well, badly, slowly, endlessly or not at all."""

from __future__ import annotations

import gzip
import json
import logging
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from email.utils import formatdate
from itertools import repeat
from typing import Any

import httpx2
import pytest

from headish.calls import ENDPOINTS, Limits, Timeouts, open_call
from headish.calls.refusals import read_retry_after
from headish.errors import (
    CallError,
    CallRefused,
    CallTimedOut,
    Interrupted,
    InvalidAddress,
    InvalidArgument,
    InvalidContent,
    InvalidReply,
    MissingKey,
    Redirected,
    TimedOut,
    UnknownFormat,
    Unreachable,
    UnreadableAnswer,
)
from headish.values.limits import REFUSAL_LIMIT_BYTES
from support.loopback import EVENT_STREAM, JSON, Loopback, Request, event_stream

BODY = {"model": "m", "messages": [], "stream": True}
KEY = "sk-very-secret+key/123"
SOON = {"retry-after-ms": "1"}
EVENTS = [{"type": "a", "n": 1}, {"type": "b", "n": 2}]
HTML = {"content-type": "text/html; charset=utf-8"}


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as server:
        yield server


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits are short, and a key for the servers of these tests lies in the environment."""
    monkeypatch.setattr("headish.calls.client.FIRST_DELAY_SECONDS", 0.001)
    monkeypatch.setenv("TEST_KEY", KEY)


def ask(server: Loopback, provider: str = "openai", **settings: Any) -> list[Any]:
    """The events of a call to the server."""
    settings = {"base_url": server.url, "key_env": "TEST_KEY", **settings}
    with open_call(provider, BODY, **settings) as call:
        return list(call)


def keep(server: Loopback, **settings: Any) -> tuple[list[Any], Exception]:
    """The events of a call that breaks off, and what broke it off."""
    events: list[Any] = []
    with open_call("openai", BODY, base_url=server.url, **settings) as call:
        try:
            for event in call:
                events.append(event)  # noqa: PERF402
        except Exception as error:
            return events, error
    pytest.fail("the call ended well")


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


class TestEndpoints:
    """The official clients, asked to do the same, post to the same place with the same key and version."""

    def sdk_calls(self, server: Loopback, opened: ExitStack) -> dict[str, list[Callable[[], Any]]]:
        import anthropic
        import cohere
        import openai
        from cerebras.cloud.sdk import Cerebras
        from google import genai

        messages: Any = [{"role": "user", "content": "hi"}]
        claude = opened.enter_context(anthropic.Anthropic(api_key=KEY, base_url=server.url, max_retries=0))
        gpt = opened.enter_context(openai.OpenAI(api_key=KEY, base_url=f"{server.url}/v1", max_retries=0))
        gemini = opened.enter_context(genai.Client(api_key=KEY, http_options={"base_url": server.url}))
        command = opened.enter_context(cohere.ClientV2(api_key=KEY, base_url=server.url))
        cerebras = opened.enter_context(
            Cerebras(api_key=KEY, base_url=server.url, max_retries=0, warm_tcp_connection=False)
        )
        return {
            "anthropic": [
                lambda: claude.messages.create(model="m", max_tokens=9, messages=messages),
                lambda: claude.messages.create(model="m", max_tokens=9, messages=messages, stream=True),
            ],
            "openai": [
                lambda: gpt.chat.completions.create(model="m", messages=messages),
                lambda: gpt.chat.completions.create(model="m", messages=messages, stream=True),
            ],
            "openai_responses": [
                lambda: gpt.responses.create(model="m", input="hi"),
                lambda: gpt.responses.create(model="m", input="hi", stream=True),
            ],
            "gemini": [
                lambda: gemini.models.generate_content(model="m", contents="hi"),
                lambda: list(gemini.models.generate_content_stream(model="m", contents="hi")),
            ],
            "cohere": [
                lambda: command.chat(model="m", messages=messages),
                lambda: list(command.chat_stream(model="m", messages=messages)),
            ],
            "cerebras": [
                lambda: cerebras.chat.completions.create(model="m", messages=messages),
                lambda: cerebras.chat.completions.create(model="m", messages=messages, stream=True),
            ],
        }

    @pytest.mark.slow
    @pytest.mark.parametrize("provider", ENDPOINTS)
    def test_a_request_goes_where_the_sdk_sends_it(self, provider: str, server: Loopback) -> None:
        base_url = server.url + ("/v1" if provider.startswith("openai") else "")
        with ExitStack() as opened:
            for sdk_call, stream in zip(self.sdk_calls(server, opened)[provider], (False, True), strict=True):
                with suppress(Exception):  # The server answers 404, which each of them names in its own way.
                    sdk_call()
                with pytest.raises(CallRefused, match="404"):
                    ask(server, provider, base_url=base_url, model="m", stream=stream)
                theirs, ours = server.requests
                server.requests.clear()
                assert ours.path == theirs.path
                for header in ("authorization", "x-api-key", "x-goog-api-key", "anthropic-version", "content-type"):
                    assert ours.headers.get(header) == theirs.headers.get(header), header

    @pytest.mark.slow
    @pytest.mark.parametrize("provider", ENDPOINTS)
    def test_without_a_base_url_the_sdks_own_is_called(
        self, provider: str, server: Loopback, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(ENDPOINTS[provider].key_variables[0], KEY)
        server.answer(chunks=event_stream(EVENTS))
        with open_call(provider, BODY, model="m", transport=Rerouted(server)) as call:
            assert list(call) == EVENTS
        [request] = server.requests
        assert request.headers["host"] == ENDPOINTS[provider].base_url.split("/")[2]
        assert KEY in request.headers[ENDPOINTS[provider].key_header]
        assert call.url.startswith(ENDPOINTS[provider].base_url)

    def test_a_model_stays_in_its_place_in_the_path(self, server: Loopback) -> None:
        for model, path in (
            ("gemini-2.5-pro", "models/gemini-2.5-pro"),
            ("models/x", "models/x"),
            ("tunedModels/x-1", "tunedModels/x-1"),
            ("a?b#c%2f..&d e", "models/a%3Fb%23c%252f..%26d%20e"),
            ("ü:generateContent", "models/%C3%BC%3AgenerateContent"),
        ):
            server.answer()
            ask(server, "gemini", model=model)
            assert server.requests.pop().path == f"/v1/{path}:streamGenerateContent?alt=sse"
        for model in (
            "",
            ".",
            "..",
            "models/..",
            "a/b",
            "models/a/../b",
            "tunedModels/",
            "a\\b",
            "a\nb",
            "\ud800",
            None,
        ):
            with pytest.raises(InvalidArgument):
                ask(server, "gemini", model=model)
        assert server.requests == []

    def test_an_unknown_provider_is_refused(self) -> None:
        with pytest.raises(UnknownFormat):
            open_call("nobody", BODY)


class Rerouted(httpx2.HTTPTransport):
    """What would go to a provider goes to a server of the test, over real HTTP."""

    def __init__(self, server: Loopback) -> None:
        super().__init__()
        self._port = int(server.url.rpartition(":")[2])

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        request = httpx2.Request(
            request.method,
            request.url.copy_with(scheme="http", host="127.0.0.1", port=self._port),
            headers=request.headers,
            stream=request.stream,
            extensions=request.extensions,
        )
        return super().handle_request(request)


class TestRetries:
    @pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
    def test_what_may_pass_is_tried_again_and_told(self, status: int, server: Loopback) -> None:
        server.answer_json({"error": {"message": "busy"}}, status, SOON)
        server.answer(chunks=event_stream(EVENTS))
        told: list[tuple[int, float, CallError]] = []
        assert ask(server, told=lambda *what: told.append(what)) == EVENTS
        [(attempt, delay_seconds, error)] = told
        assert (attempt, delay_seconds) == (1, 0.001)
        assert isinstance(error, CallRefused)
        assert (error.status, error.message, error.retry_after_seconds) == (status, "busy", 0.001)
        first, second = server.requests
        assert first == second

    @pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
    def test_what_will_not_pass_is_not_tried_again(self, status: int, server: Loopback) -> None:
        server.answer_json({"message": "no"}, status, SOON)
        with pytest.raises(CallRefused, match=f"openai: status {status}: no") as caught:
            ask(server)
        assert not caught.value.transient
        assert len(server.requests) == 1

    def test_the_servers_own_word_on_trying_again_holds(self, server: Loopback) -> None:
        server.answer_json({}, 500, {"x-should-retry": "false"})
        with pytest.raises(CallRefused):
            ask(server)
        server.answer_json({}, 400, {"x-should-retry": "true"})
        server.answer(chunks=event_stream(EVENTS))
        assert ask(server) == EVENTS
        assert len(server.requests) == 3

    def test_attempts_come_to_an_end(self, server: Loopback) -> None:
        for number in range(9):
            server.answer_json({"error": f"busy {number}"}, 503)
        told: list[int] = []
        with pytest.raises(CallRefused, match="busy 2"):
            ask(server, attempts=3, told=lambda attempt, *_: told.append(attempt))
        assert (told, len(server.requests)) == ([1, 2], 3)
        with pytest.raises(InvalidArgument, match="attempt"):
            ask(server, attempts=0)

    def test_waits_grow_when_the_server_asks_for_none(self, server: Loopback) -> None:
        for _ in range(4):
            server.answer_json({}, 500)
        delays: list[float] = []
        with pytest.raises(CallRefused):
            ask(server, told=lambda _, delay_seconds, __: delays.append(delay_seconds))
        for delay_seconds, longest in zip(delays, (0.001, 0.002, 0.004), strict=True):
            assert 0.75 * longest <= delay_seconds <= longest

    def test_a_lost_connection_is_tried_again_before_the_answer_begins(self, server: Loopback) -> None:
        server.hang_up()
        server.answer_raw([b"HTTP/1.1 200 OK\r\ncontent-"])
        server.answer(chunks=event_stream(EVENTS))
        told: list[CallError] = []
        assert ask(server, told=lambda _, __, error: told.append(error)) == EVENTS
        assert [type(error) for error in told] == [Unreachable, Unreachable]

    def test_a_server_that_is_not_there_is_named(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # Bound and not listening: nobody else gets the port.
            address = f"http://127.0.0.1:{taken.getsockname()[1]}"
            with pytest.raises(Unreachable, match=f"^openai: {address} cannot be reached: .*refused") as caught:
                open_call("openai", BODY, base_url=f"{address}/v1", attempts=2)
        assert caught.value.transient

    def test_nothing_is_tried_again_once_an_answer_has_begun(self, server: Loopback) -> None:
        server.answer(chunks=[], cut=True)
        events, error = keep(server)
        assert (events, type(error), len(server.requests)) == ([], Interrupted, 1)

    def test_a_wait_beyond_the_bound_or_the_deadline_is_not_waited(self, server: Loopback) -> None:
        server.answer_json({}, 429, {"retry-after": "100000"})
        with pytest.raises(CallRefused, match="asks to wait 100000 s") as caught:
            ask(server, timeouts=Timeouts(total_seconds=None), told=lambda *_: pytest.fail("it waits"))
        assert caught.value.retry_after_seconds == 100_000
        assert caught.value.transient
        server.answer_json({}, 429, {"retry-after": "60"})
        with pytest.raises(CallRefused, match="asks to wait 60 s"):
            ask(server, timeouts=Timeouts(total_seconds=30), told=lambda *_: pytest.fail("it waits"))
        assert len(server.requests) == 2

    def test_a_wait_is_asked_for_in_three_ways(self) -> None:
        assert read_retry_after("1500", "9") == 1.5
        assert read_retry_after(None, "2") == 2
        assert read_retry_after("soon", " 0.25 ") == 0.25
        assert 50 < (read_retry_after(None, formatdate(time.time() + 60, usegmt=True)) or 0) <= 60
        assert 50 < (read_retry_after(None, formatdate(time.time() + 60).replace("+0000", "-0000")) or 0) <= 60
        for nothing in (None, "", "soon", "nan", "inf", "-1", "0", formatdate(0, usegmt=True), "Mon, 99 Foo 99999999"):
            assert read_retry_after(nothing, nothing) is None


class TestRefusals:
    @pytest.mark.parametrize(
        ("answer", "message"),
        [
            ({"error": {"message": "a", "type": "x"}}, "a"),  # Anthropic, OpenAI, Gemini
            ([{"error": {"message": "b"}}], "b"),  # Gemini, as an array
            ({"message": "c", "id": "1"}, "c"),  # Cohere, Cerebras
            ({"error": "d"}, "d"),  # Ollama
            ({"detail": "e"}, "e"),  # FastAPI
            ({"detail": [{"msg": "f"}]}, '{"detail": [{"msg": "f"}]}'),
            ({"error": {"message": "g\n\x1b[31m  h\u202e"}}, "g [31m h"),
        ],
    )
    def test_the_providers_own_message_is_shown_on_one_line(self, answer: Any, message: str, server: Loopback) -> None:
        server.answer_json(answer, 400)
        with pytest.raises(CallRefused) as caught:
            ask(server)
        assert caught.value.message == message

    def test_a_refusal_without_a_message_shows_what_there_is(self, server: Loopback) -> None:
        for headers, chunks, message in (
            (HTML, [b"<h1>Bad\xff Gateway</h1>"], "<h1>Bad\ufffd Gateway</h1>"),
            (JSON, [], "Bad Gateway"),
            ({**JSON, "content-encoding": "gzip"}, [gzip.compress(b"{}")], "Bad Gateway"),
            (JSON, [b"[" * 5000], "[" * 1999 + "…"),
        ):
            server.answer(502, headers, chunks)
            with pytest.raises(CallRefused) as caught:
                ask(server, attempts=1)
            assert caught.value.message == message

    def test_an_endless_refusal_is_read_to_a_bound(self, server: Loopback) -> None:
        server.answer(400, HTML, repeat(b"x" * 1000))
        with pytest.raises(CallRefused) as caught:
            ask(server)
        assert len(caught.value.message) == 2000 < REFUSAL_LIMIT_BYTES

    def test_a_redirect_is_not_followed(self, server: Loopback) -> None:
        with Loopback() as other:
            for status in (301, 302, 303, 307, 308):
                server.answer(status, {"location": f"{other.url}/v1/steal"})
                with pytest.raises(Redirected, match=f"status {status} redirects to {other.url}/v1/steal") as caught:
                    ask(server)
                assert caught.value.location == f"{other.url}/v1/steal"
            assert other.requests == []
        assert len(server.requests) == 5

    def test_a_page_is_no_answer(self, server: Loopback) -> None:
        server.answer(headers=HTML, chunks=[b"<!doctype html>\n<title>Sign in</title>" + b"x" * 1000])
        with pytest.raises(UnreadableAnswer, match=r"'text/html', no JSON.*begins '<!doctype html> <title>Sign in"):
            ask(server)
        assert len(server.requests) == 1

    def test_an_answer_that_is_encoded_unasked_is_refused(self, server: Loopback) -> None:
        server.answer(headers={**JSON, "content-encoding": "gzip"}, chunks=[gzip.compress(b'{"n":1}')])
        with pytest.raises(UnreadableAnswer, match="encoded as 'gzip'"):
            ask(server)


@pytest.mark.slow
class TestHostileStreams:
    def test_an_endless_stream_is_bounded(self, server: Loopback) -> None:
        server.answer(chunks=repeat(event_stream(EVENTS)[0]))
        events, error = keep(server, limits=Limits(reply_bytes=100_000))
        assert isinstance(error, UnreadableAnswer)
        assert "more than 100,000 bytes" in str(error)
        assert events[0] == EVENTS[0]
        assert len(events) < 100_000

    @pytest.mark.parametrize("chunk", [b": still there\n\n", b"\n", b" " * 1000])
    def test_a_stream_of_nothing_is_bounded(self, chunk: bytes, server: Loopback) -> None:
        server.answer(chunks=repeat(chunk * 100))
        events, error = keep(server, limits=Limits(reply_bytes=100_000))
        assert (events, type(error)) == ([], UnreadableAnswer)

    def test_an_event_of_100_megabytes_is_refused_before_it_has_come(self, server: Loopback) -> None:
        sent = 0

        def chunks() -> Iterator[bytes]:
            nonlocal sent
            yield from event_stream(EVENTS)
            yield b'data: {"text": "'
            while sent < 100_000_000:
                yield b"x" * 100_000
                sent += 100_000
            yield b'"}\n\n'

        server.answer(chunks=chunks())
        events, error = keep(server, limits=Limits(event_bytes=1_000_000))
        assert events == EVENTS
        assert isinstance(error, InvalidReply)
        assert (error.event, error.reason) == (3, "it has more than 1,000,000 bytes")
        assert sent < 100_000_000

    @pytest.mark.parametrize(
        ("bad", "reason"),
        [
            (b'data: {"text": "\xff"}\n\n', "not UTF-8"),
            (b"data: {oops}\n\n", "not JSON"),
            (b"data: [1]\n\n", "no object"),
            (b'data: {"a":' + b"[" * 100_000 + b"\n\n", "lie inside each other"),
        ],
    )
    def test_what_is_no_event_is_named_after_the_events_before_it(
        self, bad: bytes, reason: str, server: Loopback
    ) -> None:
        server.answer(chunks=[b"".join(event_stream(EVENTS)) + bad])
        events, error = keep(server)
        assert events == EVENTS
        assert isinstance(error, InvalidReply)
        assert str(error).startswith("the answer of openai cannot be read: ")
        assert reason in error.reason
        assert error.event == 3

    def test_a_connection_that_is_lost_keeps_what_arrived(self, server: Loopback) -> None:
        *whole, last = event_stream(EVENTS)
        for end, wanted in ((last[:-2], EVENTS), (last[:-5], EVENTS[:1]), (b"", EVENTS[:1])):
            server.answer(chunks=[*whole, end], cut=True)
            events, error = keep(server)
            assert events == wanted
            assert isinstance(error, Interrupted)
            assert str(error).startswith("openai: the answer broke off: ")

    def test_a_slow_drip_is_ended_by_the_deadline(self, server: Loopback) -> None:
        def chunks() -> Iterator[bytes]:
            yield from event_stream(EVENTS)
            while not server.closing.wait(0.02):
                yield b"x"

        server.answer(chunks=chunks())
        events, error = keep(server, timeouts=Timeouts(total_seconds=1, silence_seconds=20))
        assert events == EVENTS
        assert isinstance(error, TimedOut)
        assert error.limit_seconds == 1

    def test_a_server_that_falls_silent_is_ended_by_the_deadline_and_by_the_time_between_bytes(
        self, server: Loopback
    ) -> None:
        for timeouts, reason in (
            (Timeouts(total_seconds=1, silence_seconds=20), "the answer did not end within 1 s"),
            (Timeouts(silence_seconds=1), "no further byte of the answer came within 1 s"),
        ):
            server.answer(chunks=silent_after(server, event_stream(EVENTS)))
            events, error = keep(server, timeouts=timeouts)
            assert events == EVENTS
            with pytest.raises(TimedOut, match=reason):
                raise error

    def test_headers_that_drip_are_ended_by_the_deadline(self, server: Loopback) -> None:
        server.answer_raw([b"HTTP/1.1 200 OK\r\n", *(b"x-a: b\r\n" for _ in range(1000))], delay_seconds=0.05)
        with pytest.raises(TimedOut, match=r"within 0\.3 s"):
            ask(server, timeouts=Timeouts(total_seconds=0.3, silence_seconds=20))
        assert len(server.requests) == 1

    def test_a_server_that_never_answers_is_not_asked_again(self, server: Loopback) -> None:
        for timeouts in (Timeouts(total_seconds=0.2, silence_seconds=20), Timeouts(first_byte_seconds=0.2)):
            server.answer_raw(silent_after(server, []))
            with pytest.raises(TimedOut, match=r"within 0\.2 s"):
                ask(server, timeouts=timeouts)
        assert len(server.requests) == 2

    def test_a_refusal_that_drips_is_ended_by_the_deadline(self, server: Loopback) -> None:
        server.answer(500, HTML, silent_after(server, [b"oops"]))
        with pytest.raises(CallRefused, match="oops"):
            ask(server, timeouts=Timeouts(total_seconds=1, silence_seconds=20))
        assert len(server.requests) == 1

    def test_a_deadline_is_not_taken_for_the_end_of_an_answer_without_a_length(self, server: Loopback) -> None:
        head = b"HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
        server.answer_raw(silent_after(server, [head, *event_stream(EVENTS)]))
        events, error = keep(server, timeouts=Timeouts(total_seconds=1, silence_seconds=20))
        assert (events, type(error)) == (EVENTS, CallTimedOut)

    def test_an_answer_that_had_come_in_time_is_whole_however_late_it_is_read(self, server: Loopback) -> None:
        text = b"".join(event_stream(EVENTS))
        server.answer(200, {**EVENT_STREAM, "content-length": str(len(text))}, [text])
        with open_call("openai", BODY, base_url=server.url, timeouts=Timeouts(total_seconds=0.5)) as call:
            first = next(iter(call))
            time.sleep(0.6)
            assert [first, *call] == EVENTS

    @pytest.mark.parametrize("name", ["connect_seconds", "first_byte_seconds", "silence_seconds", "total_seconds"])
    @pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
    def test_times_are_above_zero(self, name: str, seconds: float) -> None:
        with pytest.raises(InvalidArgument, match=name):
            Timeouts(**{name: seconds})
        assert Timeouts(total_seconds=None).total_seconds is None


def silent_after(server: Loopback, chunks: list[bytes]) -> Iterator[bytes]:
    """The chunks, and then nothing for as long as the server lives."""
    yield from chunks
    server.closing.wait()


class TestKeysStayWhereTheyBelong:
    def test_a_usual_key_is_not_sent_to_another_address(
        self, server: Loopback, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for provider, endpoint in ENDPOINTS.items():
            for variable in endpoint.key_variables:
                monkeypatch.setenv(variable, KEY)
            server.answer(chunks=event_stream(EVENTS))
            assert ask(server, provider, key_env=None, model="m") == EVENTS
            assert holds_no_key(server.requests.pop())

    def test_no_error_no_log_and_no_repr_shows_a_key(self, server: Loopback, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG)
        shown = []
        quoted = KEY.replace("+", "%2B").replace("/", "%2F")
        server.answer_json({"error": {"message": f"Incorrect API key provided: {KEY}."}}, 401)
        server.answer(403, HTML, [f"<b>{KEY}</b>{quoted}".encode()])
        server.answer(302, {"location": f"https://example.com/?from={quoted}"})
        server.answer(headers={"content-type": f"text/{KEY}"}, chunks=[KEY.encode()])
        server.answer_raw([f"HTTP/1.1 200 {KEY}\r\n{KEY}\r\n\r\n".encode()])
        for _ in range(5):
            with pytest.raises(CallError) as caught:
                ask(server, attempts=1)
            assert KEY in server.requests.pop().headers["authorization"]
            shown += [str(caught.value), repr(caught.value), repr(vars(caught.value))]
        assert "***" in shown[0]
        server.answer(chunks=[b'data: {"a": "' + KEY.encode() + b"\n\n"])
        with open_call("openai", BODY, base_url=server.url, key_env="TEST_KEY") as call:
            shown += [repr(call), repr(vars(call))]
            with pytest.raises(InvalidReply) as broken:
                list(call)
        shown.append(str(broken.value))
        assert not [text for text in shown if KEY in text or quoted in text or "very-secret" in text]

    def test_a_key_among_the_callers_headers_is_a_key(self, server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("Authorization", "x-api-key", "Cookie"):
            server.answer_json({"error": {"message": f"not {KEY} Bearer {KEY}"}}, 401)
            with pytest.raises(CallRefused) as caught:
                ask(server, key_env=None, headers={name: f"Bearer {KEY}"})
            assert KEY not in str(caught.value)
            with pytest.raises(InvalidAddress, match="unencrypted"):
                open_call("openai", BODY, base_url="http://example.com/v1", headers={name: KEY})
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        server.answer(chunks=event_stream(EVENTS))
        with open_call("openai", BODY, headers={"authorization": "Basic x"}, transport=Rerouted(server)) as call:
            assert list(call) == EVENTS
        assert server.requests[-1].headers["authorization"] == "Basic x"

    def test_a_missing_key_asks_nobody(self, server: Loopback) -> None:
        with pytest.raises(MissingKey, match="NO_SUCH_VARIABLE"):
            ask(server, key_env="NO_SUCH_VARIABLE")
        assert server.requests == []

    def test_what_goes_to_this_machine_passes_no_proxy(self, server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
        with Loopback() as proxy:
            for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
                monkeypatch.setenv(name, proxy.url)
            for name in ("no_proxy", "NO_PROXY"):
                monkeypatch.delenv(name, raising=False)
            server.answer(chunks=event_stream(EVENTS))
            assert ask(server) == EVENTS
            assert proxy.requests == []
            proxy.answer(chunks=event_stream(EVENTS))
            with open_call("openai", BODY, base_url="http://model.invalid/v1") as call:
                assert list(call) == EVENTS
            assert proxy.requests[0].path == "http://model.invalid/v1/chat/completions"

    def test_a_proxy_that_cannot_be_used_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("http_proxy", "gopher://me:hunter2@127.0.0.1:1")
        monkeypatch.delenv("no_proxy", raising=False)
        with pytest.raises(Unreachable, match="the proxy cannot be used") as caught:
            open_call("openai", BODY, base_url="http://model.invalid/v1")
        assert "hunter2" not in str(caught.value)

    @pytest.mark.parametrize("host", ["999.1.1.1", "[:::::]"])
    def test_a_number_that_is_no_address_is_refused(self, host: str) -> None:
        with pytest.raises(InvalidAddress):
            open_call("openai", BODY, base_url=f"https://{host}/v1")


def holds_no_key(request: Request) -> bool:
    return KEY not in request.path and not any(KEY in value for value in request.headers.values())


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(InvalidArgument, match=r"pip install 'headish\[call\]'"):
        open_call("openai", BODY, base_url="http://127.0.0.1:1")
