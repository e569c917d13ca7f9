"""Connections stay open between calls, and whoever waits on one can be stopped."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest

from headish.calls import Call, Stop, Timeouts, open_call
from headish.calls import deadline as deadlines
from headish.calls.deadline import Deadline
from headish.errors import (
    CallCancelled,
    CallError,
    CallRefused,
    CallTimedOut,
    ConnectTimedOut,
    FirstByteTimedOut,
    SilenceTimedOut,
)
from support.loopback import EVENT_STREAM, Loopback, event_stream

pytestmark = pytest.mark.slow

BODY = {"model": "m", "messages": [], "stream": True}
EVENTS = [{"type": "a", "n": 1}, {"type": "b", "n": 2}]


def begin(server: Loopback, **options: Any) -> Call:
    return open_call("openai", BODY, base_url=server.url, **options)


def ask(server: Loopback, **options: Any) -> list[Any]:
    with begin(server, **options) as call:
        return list(call)


def forever(server: Loopback, chunks: list[bytes]) -> Iterator[bytes]:
    yield from chunks
    while not server.closing.wait(0.02):
        yield b""


class TestAConnection:
    def test_serves_the_calls_that_come_after_one_another(self, server: Loopback) -> None:
        for _ in range(3):
            server.answer(chunks=event_stream(EVENTS))
            assert ask(server) == EVENTS
        assert server.connections == 1

    def test_is_kept_although_nothing_is_read_behind_the_last_event(self, server: Loopback) -> None:
        for _ in range(3):
            server.answer(chunks=[*event_stream(EVENTS), b"data: [DONE]\n\n"])
            assert ask(server) == EVENTS
        assert server.connections == 1

    def test_is_not_waited_for_where_the_server_never_ends_its_answer(self, server: Loopback) -> None:
        for _ in range(2):
            server.answer(chunks=forever(server, [*event_stream(EVENTS), b"data: [DONE]\n\n"]))
            assert ask(server) == EVENTS
        assert server.connections == 2

    def test_is_kept_after_a_refusal_that_was_read(self, server: Loopback) -> None:
        server.answer_json({"error": {"message": "no"}}, 400, {"content-length": "28"})
        with pytest.raises(CallRefused):
            ask(server)
        server.answer(chunks=event_stream(EVENTS))
        assert ask(server) == EVENTS

    def test_belongs_to_one_call_at_a_time(self, server: Loopback) -> None:
        for _ in range(3):
            server.answer(chunks=event_stream(EVENTS))
        with begin(server) as one, begin(server) as other:
            assert list(one) == list(other) == EVENTS
        assert server.connections == 2
        assert ask(server) == EVENTS
        assert server.connections == 2

    def test_that_was_left_in_the_middle_is_not_used_again(self, server: Loopback) -> None:
        server.answer(chunks=forever(server, event_stream(EVENTS)))
        with begin(server) as call:
            assert next(iter(call)) == EVENTS[0]
        server.answer(chunks=event_stream(EVENTS))
        assert ask(server) == EVENTS
        assert server.connections == 2

    def test_that_the_server_has_closed_is_opened_anew_at_once(self, server: Loopback) -> None:
        server.answer(chunks=event_stream(EVENTS))
        ask(server)
        server.hang_up()
        server.answer(chunks=event_stream(EVENTS))
        assert ask(server, attempts=1) == EVENTS
        assert server.connections == 2

    def test_brings_no_cookie_along(self, server: Loopback) -> None:
        for _ in range(2):
            server.answer(200, {**EVENT_STREAM, "set-cookie": "who=ann"}, event_stream(EVENTS))
            ask(server)
        assert "cookie" not in server.requests[1].headers

    def test_of_the_parent_is_left_alone_by_a_forked_child(self, server: Loopback) -> None:
        for _ in range(3):
            server.answer(chunks=event_stream(EVENTS))
        ask(server)
        child = os.fork()
        if not child:
            try:
                os._exit(0 if ask(server) == EVENTS else 1)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert ask(server) == EVENTS
        assert server.connections == 2

    def test_of_many_threads_never_mixes_answers_up(self, server: Loopback) -> None:
        found: list[Any] = []

        def work() -> None:
            for _ in range(5):
                found.append(ask(server))  # noqa: PERF401 - each as it comes, between those of others

        for _ in range(40):
            server.answer(chunks=event_stream(EVENTS))
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert found == [EVENTS] * 40
        assert server.connections <= 8


class TestStopping:
    def test_ends_a_silent_answer_after_what_had_arrived(self, server: Loopback) -> None:
        server.answer(chunks=forever(server, event_stream(EVENTS)))
        events: list[Any] = []
        with begin(server) as call:
            events += [next(iter(call)), next(iter(call))]
            threading.Timer(0.02, call.cancel).start()
            with pytest.raises(CallCancelled):
                next(iter(call))
        assert events == EVENTS

    def test_ends_the_wait_for_the_first_byte(self, server: Loopback) -> None:
        server.answer_raw(forever(server, []))
        stop = Stop()

        def stop_once_asked() -> None:
            while not server.requests:
                time.sleep(0.01)
            stop.now()

        threading.Thread(target=stop_once_asked, daemon=True).start()
        with pytest.raises(CallCancelled):
            ask(server, stop=stop)
        assert len(server.requests) == 1

    def test_ends_the_wait_on_a_connection_that_was_kept(self, server: Loopback) -> None:
        server.answer(chunks=event_stream(EVENTS))
        ask(server)
        server.answer_raw(forever(server, []))
        stop = Stop()
        threading.Timer(0.05, stop.now).start()
        with pytest.raises(CallCancelled):
            ask(server, stop=stop)
        assert server.connections == 1

    def test_ends_the_wait_between_two_attempts(self, server: Loopback) -> None:
        server.answer_json({}, 503, {"retry-after": "30"})
        stop = Stop()
        with pytest.raises(CallCancelled):
            ask(server, stop=stop, told=lambda *_: threading.Timer(0.02, stop.now).start())
        assert len(server.requests) == 1

    def test_before_the_call_asks_nobody(self, server: Loopback) -> None:
        stop = Stop()
        stop.now()
        with pytest.raises(CallCancelled):
            ask(server, stop=stop)
        assert server.requests == []

    def test_an_answer_that_has_ended_changes_nothing(self, server: Loopback) -> None:
        server.answer(chunks=event_stream(EVENTS))
        with begin(server) as call:
            assert list(call) == EVENTS
            call.cancel()
        server.answer(chunks=event_stream(EVENTS))
        assert ask(server) == EVENTS

    def test_one_call_leaves_the_next_one_of_its_connection_alone(self, server: Loopback) -> None:
        server.answer(chunks=event_stream(EVENTS))
        with begin(server) as first:
            list(first)
        server.answer(chunks=event_stream(EVENTS))
        with begin(server) as second:
            first.cancel()
            assert list(second) == EVENTS


class TestTimes:
    """Each limit has an error of its own."""

    def failure(self, server: Loopback, timeouts: Timeouts) -> CallError:
        with pytest.raises(CallError) as caught:
            ask(server, timeouts=timeouts, attempts=1)
        return caught.value

    def test_until_the_headers_is_until_the_first_byte(self, server: Loopback) -> None:
        server.answer_raw(forever(server, []))
        error = self.failure(server, Timeouts(first_byte_seconds=0.2, silence_seconds=20))
        assert isinstance(error, FirstByteTimedOut)
        assert error.limit_seconds == 0.2

    def test_headers_are_no_first_byte(self, server: Loopback) -> None:
        server.answer(chunks=forever(server, []))
        error = self.failure(server, Timeouts(first_byte_seconds=0.2, silence_seconds=20))
        assert isinstance(error, FirstByteTimedOut)

    def test_headers_leave_the_first_byte_what_they_did_not_take(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Else a server that sends its headers late would have the limit twice."""
        clock = SimpleNamespace(now=0.0)
        monkeypatch.setattr(deadlines, "time", SimpleNamespace(monotonic=lambda: clock.now))
        watched = Deadline(Timeouts(first_byte_seconds=60, silence_seconds=600, total_seconds=None))
        due = []
        for seconds in (0, 45, 10, 20):  # the last one comes late: no time is left, and none is owed
            clock.now += seconds
            watched.heard()
            watched.await_first_byte() if due else watched.begin()
            assert watched._due is not None
            due.append(watched._due)
        assert [(each.limit, each.moment) for each in due] == [("first_byte", each) for each in (60, 60, 60, 75.001)]
        watched.begin()
        assert watched._due.moment == 135, "another attempt has all of it"
        watched.cancel()

    def test_a_slow_first_byte_is_no_silence(self, server: Loopback) -> None:
        server.answer(chunks=event_stream(EVENTS[:1]), delay_seconds=0.5)
        assert ask(server, timeouts=Timeouts(first_byte_seconds=20, silence_seconds=0.2)) == EVENTS[:1]

    def test_silence_comes_after_the_first_byte(self, server: Loopback) -> None:
        server.answer(chunks=forever(server, event_stream(EVENTS)))
        error = self.failure(server, Timeouts(first_byte_seconds=20, silence_seconds=0.2))
        assert isinstance(error, SilenceTimedOut)

    def test_the_callers_own_time_is_no_silence(self, server: Loopback) -> None:
        server.answer(chunks=event_stream(EVENTS))
        with begin(server, timeouts=Timeouts(first_byte_seconds=0.2, silence_seconds=0.2)) as call:
            time.sleep(0.3)
            events = []
            for event in call:
                events.append(event)
                time.sleep(0.3)
        assert events == EVENTS

    def test_the_whole_counts_everything(self, server: Loopback) -> None:
        server.answer(chunks=(b": still there\n\n" for _ in range(1000)), delay_seconds=0.02)
        error = self.failure(server, Timeouts(total_seconds=0.3))
        assert isinstance(error, CallTimedOut)

    def test_a_host_that_takes_no_connection_is_named(self) -> None:
        with ExitStack() as open_ones, socket.create_server(("127.0.0.1", 0), backlog=0) as deaf:
            host = deaf.getsockname()
            for _ in range(4):  # nobody accepts them, and there is no room for more
                waiting = open_ones.enter_context(socket.socket())
                waiting.setblocking(False)
                waiting.connect_ex(host)
            with pytest.raises(ConnectTimedOut, match=r"no connection within 0\.2 s"):
                open_call(
                    "openai", BODY, base_url=f"http://127.0.0.1:{host[1]}", attempts=1,
                    timeouts=Timeouts(connect_seconds=0.2),
                )  # fmt: skip

    def test_a_number_is_for_the_first_byte_and_for_silence(self) -> None:
        assert Timeouts.of(7) == Timeouts(first_byte_seconds=7, silence_seconds=7)
        assert Timeouts.of(None) == Timeouts()
