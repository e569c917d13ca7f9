"""Servers that answer badly, slowly, endlessly or not at all."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import repeat

import pytest

from headish.calls import Limits, Timeouts, open_call
from headish.errors import (
    CallRefused,
    CallTimedOut,
    Interrupted,
    InvalidArgument,
    InvalidReply,
    TimedOut,
    UnreadableAnswer,
)
from support.asking import BODY, EVENTS, HTML, ask, keep
from support.loopback import EVENT_STREAM, Loopback, event_stream


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
            (b"data: [1]\n\n", "not an object"),
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
