"""Servers that answer badly: whatever they send is bounded, and ends as a named error or as an incomplete turn.

What happens on the wire is the chapter of tests/calls; here it is what becomes of the thread.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from typing import Any

import pytest

from headish import Store, Turn
from headish.calls import Timeouts
from headish.errors import (
    CallRefused,
    HeadishError,
    Interrupted,
    InvalidReply,
    Redirected,
    TimedOut,
    TooLarge,
    UnreadableAnswer,
)
from headish.values.blocks import Text, ToolUse
from headish.values.limits import EVENT_LIMIT_BYTES
from support.growing import texts
from support.loopback import EVENT_STREAM, JSON, Loopback, event_stream
from support.providers.answers import anthropic_call, anthropic_text

HELLO = anthropic_text("Hel", "lo.")
BEGUN = event_stream(HELLO[:3])
"""An answer as far as its first piece."""
MORE = b"".join(event_stream([HELLO[2]]))
PING = b'event: ping\ndata: {"type": "ping"}\n\n'


def ask(store: Store, **call: Any) -> tuple[Turn, HeadishError | None]:
    """The turn that an answer became, and what ended it before its end."""
    asked = store.say("Hi", bookmark="main", ptr="milli")
    with store.open_answer(*asked, attempts=1, **call) as answer:
        list(answer)
    turn = answer.finish()
    assert store.get("main") == turn
    assert store.streams.list() == []
    assert store.verify().problems == ()
    return turn, answer.failure


def refused(store: Store, error: type[HeadishError], match: str) -> None:
    """Asks, and nothing but the question is stored."""
    with pytest.raises(error, match=match):
        store.ask("Hi", bookmark="main", ptr="milli", attempts=1)
    assert texts(store, "main") == ["Hi"]
    assert store.streams.list() == []
    assert store.verify().problems == ()


def broken(text: bytes) -> Iterator[bytes]:
    """The beginning of an answer, and then something else."""
    return chain(BEGUN, [text])


BROKEN: dict[str, tuple[Callable[[], Iterator[bytes]], bool, type[HeadishError] | None, str]] = {
    "bytes that are not UTF-8": (lambda: broken(b'data: {"type": "\xff"}\n\n'), False, InvalidReply, "is not UTF-8"),
    "text that is no JSON": (lambda: broken(b"data: {broken\n\n"), False, InvalidReply, "is not JSON"),
    "JSON that is no object": (lambda: broken(b"data: [1]\n\n"), False, InvalidReply, "but not an object"),
    "a page instead of events": (lambda: broken(b"<html>Bad gateway</html>\n\n"), False, None, ""),
    "half an event": (lambda: broken(b'data: {"type": "content_bl'), False, InvalidReply, "is not JSON"),
    "a lost connection": (lambda: iter(BEGUN), True, Interrupted, "the answer broke off"),
    "a lost connection in the middle of an event": (lambda: broken(b'data: {"ty'), True, Interrupted, "broke off"),
    "JSON that nests without end": (lambda: broken(b"data: " + b'{"a":' * 5000 + b"\n\n"), False, InvalidReply, ""),
    "a number without end": (
        lambda: broken(b'data: {"a": ' + b"9" * 9000 + b"}\n\n"),
        False,
        InvalidReply,
        "is not JSON",
    ),
}
"""What comes behind the first piece of an answer, whether the connection is then cut, and what is said of it."""


class TestInTheMiddle:
    @pytest.mark.parametrize("what", BROKEN)
    def test_what_came_before_is_an_incomplete_turn(self, asking: Store, server: Loopback, what: str) -> None:
        chunks, cut, error, reason = BROKEN[what]
        server.answer(chunks=chunks(), cut=cut)
        turn, failure = ask(asking)
        assert asking.blocks(turn.id) == (Text("Hel"),)
        assert (turn.meta.reply["stop_reason"], turn.meta.reply["incomplete"]) == ("incomplete", True)
        if error is None:
            assert failure is None
        else:
            assert isinstance(failure, error)
            assert reason in str(failure)
            assert turn.meta.reply["error"] == {"message": str(failure)}

    def test_an_error_of_the_providers_is_kept_with_what_came_before(self, asking: Store, server: Loopback) -> None:
        overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        server.answer(chunks=event_stream([*HELLO[:3], overloaded]))
        turn, failure = ask(asking)
        assert asking.blocks(turn.id) == (Text("Hel"),)
        assert turn.meta.reply["error"] == {"type": "overloaded_error", "message": "Overloaded"}
        assert (turn.meta.reply["stop_reason"], failure) == ("error", None)

    def test_a_call_that_was_cut_off_is_kept_and_nobody_runs_it(self, asking: Store, server: Loopback) -> None:
        server.answer(chunks=event_stream(anthropic_call("rm", {"path": "/"}, text="Well.")[:6]), cut=True)
        turn, _ = ask(asking)
        text, call = asking.blocks(turn.id)
        assert (text, isinstance(call, ToolUse) and call.partial) == (Text("Well."), True)
        assert asking.open_calls(turn.id) == []
        assert asking.run_tools("main", lambda calls: pytest.fail(f"{calls} ran")) is None

    def test_a_thread_with_all_of_that_in_it_goes_on(self, asking: Store, server: Loopback) -> None:
        for chunks, cut, _, _ in BROKEN.values():
            server.answer(chunks=chunks(), cut=cut)
            asking.ask("Hi", continues="main" if server.requests else None, bookmark="main", ptr="milli")
        server.answer(chunks=event_stream(HELLO))
        asking.ask("Still there?", continues="main")
        assert texts(asking, "main")[-2:] == ["Still there?", "Hello."]
        roles = [message["role"] for message in server.requests[-1].body["messages"]]
        assert roles == ["user", "assistant"] * len(BROKEN) + ["user"]


class TestWithoutEnd:
    @pytest.mark.parametrize(
        "endless", [lambda: chain(BEGUN, repeat(MORE)), lambda: chain(BEGUN, repeat(PING * 50))], ids=["text", "pings"]
    )
    def test_a_stream_is_ended_where_no_turn_can_hold_more(
        self, small: Store, server: Loopback, endless: Callable[[], Iterator[bytes]]
    ) -> None:
        server.answer(chunks=endless())
        turn, failure = ask(small)
        assert isinstance(failure, TooLarge)
        assert failure.limit_bytes == 20_000
        [block] = small.blocks(turn.id)
        assert isinstance(block, Text)
        assert block.text == "Hel" * (len(block.text) // 3)
        assert turn.meta.reply["incomplete"]

    def test_events_behind_the_end_are_bounded_too_and_the_answer_is_whole(
        self, small: Store, server: Loopback
    ) -> None:
        server.answer(chunks=chain(event_stream(HELLO), repeat(PING * 50)))
        turn, failure = ask(small)
        assert isinstance(failure, TooLarge)
        assert small.blocks(turn.id) == (Text("Hello."),)
        assert "incomplete" not in turn.meta.reply
        assert "error" not in turn.meta.reply

    def test_an_event_behind_the_end_harms_nothing(self, small: Store, server: Loopback) -> None:
        late = [{"type": "content_block_stop", "index": 9}, {"type": "surprise"}, HELLO[-1], {"type": None}]
        server.answer(chunks=event_stream([*HELLO, *late]))
        turn, failure = ask(small)
        assert small.blocks(turn.id) == (Text("Hello."),)
        assert (turn.meta.reply["stop_reason"], failure) == ("end_turn", None)

    def test_a_huge_event_is_refused_while_it_comes(self, asking: Store, server: Loopback) -> None:
        sent = 0

        def huge() -> Iterator[bytes]:
            nonlocal sent
            yield from BEGUN
            yield b'data: {"type": "'
            for chunk in repeat(b"x" * 1_000_000):
                sent += len(chunk)
                yield chunk

        server.answer(chunks=huge())
        turn, failure = ask(asking)
        assert isinstance(failure, InvalidReply)
        assert f"more than {EVENT_LIMIT_BYTES:,} bytes" in str(failure)
        assert EVENT_LIMIT_BYTES < sent < 2 * EVENT_LIMIT_BYTES
        assert asking.blocks(turn.id) == (Text("Hel"),)

    def test_blocks_that_are_larger_in_a_turn_than_on_the_wire_are_kept_as_far_as_they_fit(
        self, small: Store, server: Loopback
    ) -> None:
        call = {"functionCall": {"name": "f"}}
        whole = {"candidates": [{"content": {"parts": [call] * 500}, "finishReason": "STOP"}]}
        assert len(json.dumps(whole)) < 20_000
        server.answer_json(whole)
        turn = small.ask("Hi", to="gemini", model="m", base_url=server.url)
        kept = len(small.blocks(turn.id))
        assert 100 < kept < 500
        assert f"of the answer's 500 blocks the first {kept} are kept" in turn.meta.reply["notes"][-1]
        assert turn.meta.reply["incomplete"]
        assert len(small.payload(turn.id)) <= 20_000
        assert small.streams.list() == []

    def test_a_slow_drip_ends_with_the_time_for_all_of_it(self, asking: Store, server: Loopback) -> None:
        server.answer(chunks=chain(BEGUN, repeat(b":\n")), delay_seconds=0.01)
        turn, failure = ask(asking, timeouts=Timeouts(total_seconds=0.3))
        assert isinstance(failure, TimedOut)
        assert asking.blocks(turn.id) == (Text("Hel"),)
        assert turn.meta.reply["incomplete"]

    def test_silence_ends_with_the_time_between_two_bytes(self, asking: Store, server: Loopback) -> None:
        server.answer(chunks=self._fall_silent(server))
        turn, failure = ask(asking, timeouts=Timeouts(silence_seconds=0.2))
        assert isinstance(failure, TimedOut)
        assert asking.blocks(turn.id) == (Text("Hel"),)

    def _fall_silent(self, server: Loopback) -> Iterator[bytes]:
        yield from BEGUN
        server.closing.wait(20)


class TestFromTheFirstByte:
    @pytest.mark.parametrize("text", [b"nonsense", b"[1, 2]", b"\xff\xfe\x00", b"data: 3\n\n", b'{"a": ', b'"Hello"'])
    def test_what_is_no_answer_is_an_empty_incomplete_turn(self, asking: Store, server: Loopback, text: bytes) -> None:
        server.answer(headers=JSON, chunks=[text])
        turn, failure = ask(asking)
        assert isinstance(failure, InvalidReply)
        assert asking.blocks(turn.id) == ()
        assert turn.meta.reply["incomplete"]

    @pytest.mark.parametrize("value", [{}, {"hello": 1}, {"type": "message", "content": 3, "usage": []}, {"type": 7}])
    def test_json_of_a_wrong_shape_is_one_too(self, asking: Store, server: Loopback, value: Any) -> None:
        server.answer_json(value)
        turn, _ = ask(asking)
        assert asking.blocks(turn.id) == ()
        assert turn.meta.reply["stop_reason"] == "incomplete"

    def test_nothing_at_all_is_one_too(self, asking: Store, server: Loopback) -> None:
        server.answer(chunks=[])
        turn, failure = ask(asking)
        assert (asking.blocks(turn.id), failure) == ((), None)
        assert turn.meta.reply["incomplete"]
        server.answer(chunks=event_stream(HELLO))
        asking.retry("main")
        assert texts(asking, "main") == ["Hi", "Hello."]

    def test_a_page_is_refused(self, asking: Store, server: Loopback) -> None:
        server.answer(headers={"content-type": "text/html"}, chunks=repeat(b"<p>Log in</p>"))
        refused(asking, UnreadableAnswer, r"'text/html', neither JSON nor events; it begins '<p>Log in")

    def test_a_compressed_answer_is_refused(self, asking: Store, server: Loopback) -> None:
        server.answer(headers={**EVENT_STREAM, "content-encoding": "gzip"}, chunks=[b"\x1f\x8b"])
        refused(asking, UnreadableAnswer, "encoded as 'gzip', unasked")

    def test_a_redirect_to_another_host_is_not_followed(self, asking: Store, server: Loopback) -> None:
        with Loopback() as other:
            server.answer(307, {"location": f"{other.url}/v1/messages"})
            refused(asking, Redirected, "redirects are not followed")
            assert other.requests == []

    def test_a_server_that_hangs_up_is_a_named_error(self, asking: Store, server: Loopback) -> None:
        server.hang_up()
        refused(asking, HeadishError, "anthropic: ")

    def test_a_refusal_without_end_is_read_no_further_than_its_beginning(self, asking: Store, server: Loopback) -> None:
        server.answer(500, JSON, repeat(b"x" * 10_000))
        refused(asking, CallRefused, "status 500: x{100}")

    def test_a_refusal_cannot_write_to_the_terminal_nor_show_the_key(self, asking: Store, server: Loopback) -> None:
        echo = "no \x1b[31mred\x07 for Bearer sk-very-secret-key-of-the-test"
        server.answer_json({"error": {"message": echo}}, 401)
        refused(asking, CallRefused, r"status 401: no \[31mred for Bearer \*\*\*$")


@pytest.mark.parametrize("at", range(len(HELLO) + 1))
def test_a_stream_cut_after_any_event_loses_nothing_that_came(asking: Store, server: Loopback, at: int) -> None:
    server.answer(chunks=event_stream(HELLO[:at]), cut=True)
    turn, failure = ask(asking)
    said = "".join(event["delta"]["text"] for event in HELLO[:at] if event["type"] == "content_block_delta")
    assert "".join(block.text for block in asking.blocks(turn.id) if isinstance(block, Text)) == said
    assert isinstance(failure, Interrupted)
    assert turn.meta.reply.get("incomplete", False) is (at < len(HELLO))
