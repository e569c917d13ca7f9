"""What is asked again, how soon, and what is refused at once."""

from __future__ import annotations

import gzip
import socket
import time
from email.utils import formatdate
from itertools import repeat
from typing import Any

import pytest

from headish.calls import Timeouts, open_call
from headish.calls.refusals import read_retry_after
from headish.errors import (
    CallError,
    CallRefused,
    Interrupted,
    InvalidArgument,
    Redirected,
    Unreachable,
    UnreadableAnswer,
)
from headish.values.limits import REFUSAL_LIMIT_BYTES
from support.asking import BODY, EVENTS, HTML, ask, keep
from support.loopback import JSON, Loopback, event_stream

SOON = {"retry-after-ms": "1"}


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
        with pytest.raises(
            UnreadableAnswer, match=r"'text/html', neither JSON.*begins '<!doctype html> <title>Sign in"
        ):
            ask(server)
        assert len(server.requests) == 1

    def test_an_answer_that_is_encoded_unasked_is_refused(self, server: Loopback) -> None:
        server.answer(headers={**JSON, "content-encoding": "gzip"}, chunks=[gzip.compress(b'{"n":1}')])
        with pytest.raises(UnreadableAnswer, match="encoded as 'gzip'"):
            ask(server)
