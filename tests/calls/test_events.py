"""Bytes become events: the same ones however the bytes are cut, and whatever else arrives has a name."""

from __future__ import annotations

import json
import time
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from zlib import crc32

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headish.content import strictjson
from headish.errors import InvalidReply
from headish.providers.events.decoder import EventReader, read_events
from headish.values.limits import NESTING_LIMIT
from support.clouds import chunk, chunks, frame
from support.shared import SHARED, needs_shared

Outcome = tuple[list[dict[str, Any]], str | None]


def read(*pieces: bytes, limit_bytes: int = 10_000) -> list[dict[str, Any]]:
    """All events of the pieces; what is wrong is raised after them."""
    events, error = outcome(pieces, limit_bytes)
    assert error is None, error
    return events


def outcome(pieces: Iterable[bytes], limit_bytes: int = 10_000) -> Outcome:
    """The events that a reader gives, and the error that ends it."""
    reader, events = EventReader(event_limit_bytes=limit_bytes), []
    try:
        for piece in pieces:
            events += reader.feed(piece)
        events += reader.finish()
    except InvalidReply as error:
        assert error.event == len(events) + 1
        return events, str(error)
    return events, None


def one_by_one(text: bytes) -> Iterator[bytes]:
    return (text[at : at + 1] for at in range(len(text)))


class TestFrames:
    """AWS event streams, as Bedrock sends them."""

    EVENTS: tuple[dict[str, Any], ...] = ({"type": "a", "n": 1}, {"type": "b", "text": "é" * 300}, {"type": "c"})
    WHOLE = b"".join(chunks(EVENTS))

    def test_frames_may_come_in_any_pieces(self) -> None:
        assert read(self.WHOLE) == read(*one_by_one(self.WHOLE)) == list(self.EVENTS)

    def test_botocore_reads_the_same_frames(self) -> None:
        """The frames of these tests are frames, and not only what the reader here takes for one."""
        stream = pytest.importorskip(
            "botocore.eventstream", reason="the extra is not installed: pip install 'headish[bedrock]'"
        )
        buffer = stream.EventStreamBuffer()
        buffer.add_data(self.WHOLE)
        found = [json.loads(b64decode(json.loads(each.payload)["bytes"])) for each in buffer]
        assert found == list(self.EVENTS)

    @pytest.mark.parametrize("at", [0, 3, 6, 9, 13, 60, -20, -1])
    def test_a_changed_byte_is_found_and_what_came_before_is_kept(self, at: int) -> None:
        last = bytearray(chunk({"type": "d"}))
        last[at] ^= 0x10
        events, error = outcome([self.WHOLE + bytes(last)])
        assert events == list(self.EVENTS)
        assert error is not None
        assert "checksum" in error

    @given(st.data())
    def test_whatever_happens_to_a_byte_only_the_expected_error_is_raised(self, data: st.DataObject) -> None:
        frames = bytearray(self.WHOLE)
        frames[data.draw(st.integers(0, len(frames) - 1))] ^= data.draw(st.integers(1, 255))
        events, error = outcome([bytes(frames)])
        assert error is not None
        assert events == list(self.EVENTS[: len(events)])

    def test_one_that_breaks_off_is_named(self) -> None:
        events, error = outcome([self.WHOLE[:-1]])
        assert events == list(self.EVENTS[:2])
        assert error is not None
        assert "ends in the middle" in error

    def test_one_that_says_it_is_too_large_is_refused_before_it_comes(self) -> None:
        prelude = (20_000).to_bytes(4, "big") + bytes(4)
        _, error = outcome([prelude + crc32(prelude).to_bytes(4, "big")])
        assert error is not None
        assert "more than 10,000 bytes" in error

    @pytest.mark.parametrize(
        ("given", "wanted"),
        [
            (frame(b'{"message":"slow down"}', message_type="exception", exception_type="throttlingException"),
             {"type": "error", "error": {"type": "throttlingException", "message": "slow down"}}),
            (frame(b"", message_type="error", error_code="InternalError", error_message="oh"),
             {"type": "error", "error": {"type": "InternalError", "message": "oh"}}),
            (frame(b'{"n":1}', message_type="event", event_type="later"), {"type": "later", "n": 1}),
        ],
    )  # fmt: skip
    def test_errors_and_events_of_the_cloud_s_own_are_told(self, given: bytes, wanted: dict[str, Any]) -> None:
        assert read(given) == [wanted]

    def test_what_holds_no_event_is_left_out_and_what_is_none_is_refused(self) -> None:
        first = frame(b"{}", message_type="event", event_type="initial-response")
        assert read(first + self.WHOLE) == list(self.EVENTS)
        for payload, words in ((b'{"bytes":"%%"}', "base64"), (b'{"bytes":"bm8="}', "JSON"), (b"[1]", "not an object")):
            _, error = outcome([frame(payload, event_type="chunk")])
            assert error is not None
            assert words in error

    ODD = b"\1a\0" + b"\1b\2\7" + b"\1c\x08" + bytes(8) + b"\1d\6\0\2xy" + b"\1e\x09" + bytes(16)
    """Headers of other types than text."""

    @pytest.mark.parametrize("kept", [len(ODD), len(ODD) - 1, 1, 2, 13])
    def test_headers_of_other_types_are_passed_over_and_those_that_break_off_are_named(self, kept: int) -> None:
        payload = json.dumps({"bytes": "e30="}).encode()
        headers = self.ODD[:kept]
        prelude = (16 + kept + len(payload)).to_bytes(4, "big") + kept.to_bytes(4, "big")
        text = prelude + crc32(prelude).to_bytes(4, "big") + headers + payload
        events, error = outcome([text + crc32(text).to_bytes(4, "big")])
        assert events == ([{}] if kept == len(self.ODD) else [])
        assert (error is None) == (kept == len(self.ODD))
        assert error is None or "headers break off" in error


class TestServerSentEvents:
    def test_a_blank_line_ends_an_event(self) -> None:
        reader = EventReader()
        assert reader.feed(b'data: {"n":1}\n') == []
        assert reader.feed(b"\n") == [{"n": 1}]
        assert reader.finish() == []

    @pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
    def test_lines_end_in_any_of_three_ways_also_between_two_pieces(self, end: bytes) -> None:
        text = b'data: {"n":1}\n\nid: 7\ndata: {"n":\ndata: 2}\n\ndata:{"n":3}\n\n'.replace(b"\n", end)
        assert read(text) == read(*one_by_one(text)) == [{"n": 1}, {"n": 2}, {"n": 3}]

    def test_an_event_is_given_as_soon_as_a_return_ends_it(self) -> None:
        reader = EventReader()
        assert reader.feed(b'data: {"n":1}\r\n\r') == [{"n": 1}]
        assert reader.feed(b"") == []
        assert reader.feed(b'\ndata: {"n":2}\r\n\r\n') == [{"n": 2}]

    def test_lines_of_data_are_joined_by_line_feeds(self) -> None:
        assert read(b'data: {"a":\r\ndata:\r\ndata:  1}\r\n\r\n') == [{"a": 1}]
        assert outcome([b'data: {"a": "x\ndata: y"}\n\n'])[1] is not None, "a line feed inside a JSON string"

    def test_comments_ids_retries_and_unknown_fields_are_no_events(self) -> None:
        assert read(b': hi\n\nid: 1\nretry: 10\n\nother: {}\nevent: x\n\ndata: {"n":1}\nevent\n\n') == [{"n": 1}]

    def test_done_is_no_event_and_the_end(self) -> None:
        assert read(b'data: {"n":1}\n\ndata:  [DONE] \n\ndata: {"n":2}\n\n') == [{"n": 1}]

    def test_the_name_of_an_event_is_its_type_where_the_data_has_none(self) -> None:
        text = (
            b'event: error\ndata: {"n":1}\n\nevent: a\ndata: {"type":"b"}\n\nevent: message\ndata: {}\n\ndata: {}\n\n'
        )
        assert read(text) == [{"n": 1, "type": "error"}, {"type": "b"}, {}, {}]

    def test_an_event_that_nothing_ends_counts(self) -> None:
        assert read(b'data: {"n":1}\n\ndata: {"n":2}') == [{"n": 1}, {"n": 2}]
        assert read(b'event: x\ndata: {"n":2}\n') == [{"n": 2, "type": "x"}]

    def test_an_event_that_is_cut_in_its_middle_is_named(self) -> None:
        reader = EventReader("the answer of openai")
        reader.feed(b'data: {"n":1}\n\ndata: {"n"')
        with pytest.raises(InvalidReply, match=r"^the answer of openai cannot be read: it is not JSON.* \(event 2\)$"):
            reader.finish()

    def test_a_byte_order_mark_is_passed_over_also_in_pieces(self) -> None:
        text = b'\xef\xbb\xbfdata: {"n":1}\n\n'
        assert read(text) == read(*one_by_one(text)) == [{"n": 1}]


class TestJson:
    def test_lines_are_events(self) -> None:
        reader = EventReader()
        assert reader.feed(b'{"n":1}\n{"n":2}\r\n\n{"n"') == [{"n": 1}, {"n": 2}]
        assert reader.feed(b":3}") == [{"n": 3}]

    def test_a_whole_answer_is_one_event_however_it_is_indented(self) -> None:
        answer = {"content": [{"type": "text", "text": 'a "quoted" {brace} \\'}], "usage": {}}
        for text in (json.dumps(answer), json.dumps(answer, indent=4), " \n" + json.dumps(answer) + "\n"):
            assert read(text.encode()) == read(*one_by_one(text.encode())) == [answer]

    def test_the_elements_of_an_array_are_given_while_it_grows(self) -> None:
        reader = EventReader()
        assert reader.feed(b'[{\n  "n": 1\n}\n') == [{"n": 1}]
        assert reader.feed(b',\r\n{"n": [2, {}]}') == [{"n": [2, {}]}]
        assert reader.feed(b"\n]\n") == []
        assert reader.finish() == []
        assert read(b"[]") == read(b"") == read(b" \n") == []

    def test_an_array_that_is_cut_between_two_elements_keeps_them(self) -> None:
        assert read(b'[{"n":1},') == [{"n": 1}]

    def test_an_object_that_is_cut_is_named(self) -> None:
        assert outcome([b'{"n":1}\n{"n":']) == (
            [{"n": 1}],
            "a reply cannot be read: the text ends in the middle of it (event 2)",
        )

    @pytest.mark.parametrize("text", ["[1]", '[[{"n":1}]]', '["x"]', "[,{}]", "[{},,{}]", "[{} {}]", "[{}]{}", "{},{}"])
    def test_what_is_no_row_of_objects_is_refused(self, text: str) -> None:
        assert "begins with" in str(outcome([text.encode()])[1])

    def test_a_key_that_stands_twice_is_read_as_its_last(self) -> None:
        assert read(b'{"a":1,"a":2}') == [{"a": 2}]


class TestRefusals:
    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            (b'{"a":"\xff"}', "not UTF-8"),
            (b'{"\xff":1}', "not UTF-8"),
            (b'{"a":\xff}', "not JSON"),
            (b"{oops}", "not JSON"),
            (b'{"a":nan}', "not JSON"),
            (b'{"a":"NaN",b}', "not JSON"),
            (b'{"a":1e999}', "not JSON"),
            (b'{"a":' + b"9" * 5000 + b"}", "not JSON"),
            (b'{"a":' + b"9" * 4300 + b"}", "an integer of more than 4300 digits"),
            (b'{"a":' * NESTING_LIMIT + b"[]" + b"}" * NESTING_LIMIT, "lie inside each other"),
            (b'{"a":' + b"[" * 4000 + b"]" * 4000 + b"}", "lie inside each other"),
        ],
    )
    def test_what_cannot_be_kept_is_refused_in_every_form(self, data: bytes, reason: str) -> None:
        for text in (b'data: {"n":1}\n\ndata: %b\n\n', b'{"n":1}\n%b\n', b'[{"n":1},%b]'):
            events, error = outcome([text % data])
            assert events == [{"n": 1}], "what came before is kept"
            assert reason in str(error)
            assert str(error).endswith("(event 2)")

    def test_halves_of_a_character_are_left_to_who_joins_them(self) -> None:
        assert read(rb'{"a":"\ud83d"}{"a":"\uDE00"}') == [{"a": "\ud83d"}, {"a": "\ude00"}]
        assert "not JSON" in str(outcome([rb'{"a":"\ud83d","b":nan}'])[1])

    def test_numbers_that_only_python_writes_are_left_to_who_replaces_them(self) -> None:
        """A server in Python may write them; a paid answer must not be lost for that (I9)."""
        data = b'{"a":[NaN,1.5],"b":Infinity,"c":-Infinity,"d":"\\ud83d"}'
        wanted = "{'a': [nan, 1.5], 'b': inf, 'c': -inf, 'd': '\\ud83d'}"
        for text in (b"data: %b\n\n", b"%b\n", b"[%b]", b"\n %b"):
            assert [str(each) for each in read(text % data)] == [wanted], "NaN is not equal to itself"

    @pytest.mark.parametrize("data", [b"1", b"null", b'"x"', b"[{}]"])
    def test_data_that_is_no_object_is_refused(self, data: bytes) -> None:
        assert "not an object" in str(outcome([b"data: " + data + b"\n\n"])[1])

    @pytest.mark.parametrize("text", [b"<html></html>", b"Bad Gateway", b"null", b"12", b"x", b"\xff\xfe{\x00"])
    def test_text_of_another_kind_is_refused(self, text: bytes) -> None:
        assert "neither server-sent events nor" in str(outcome([text])[1])

    def test_nesting_up_to_the_limit_is_kept(self) -> None:
        text = b'{"a":' * (NESTING_LIMIT - 1) + b"[]" + b"}" * (NESTING_LIMIT - 1)
        [event] = read(text)
        assert json.dumps(event, separators=(",", ":")).encode() == text
        strictjson.check(event, "an event")  # raises where it could not be stored

    def test_a_name_that_is_not_utf_8_is_refused(self) -> None:
        assert "not UTF-8" in str(outcome([b"event: \xff\ndata: {}\n\n"])[1])

    def test_a_failure_is_raised_again_and_nothing_more_is_read(self) -> None:
        reader = EventReader()
        assert reader.feed(b'{"n":1}\n!') == [{"n": 1}]
        assert reader.failure is not None
        for call in (lambda: reader.feed(b'{"n":2}\n'), reader.finish):
            with pytest.raises(InvalidReply, match=r"\(event 2\)"):
                call()


class TestLimits:
    @pytest.mark.parametrize("form", [b'data: {"a":"%b"}\n\n', b'{"a":"%b"}\n', b'[{"a":"%b"}]', b": %b\n\n"])
    def test_an_event_beyond_the_limit_is_refused_however_it_comes(self, form: bytes) -> None:
        text = form % (b"x" * 2000)
        for pieces in ([text], one_by_one(text)):
            assert "more than 1,000 bytes" in str(outcome(pieces, limit_bytes=1000)[1])
        assert outcome([text], limit_bytes=3000)[1] is None

    def test_the_limit_is_one_events_not_the_streams(self) -> None:
        assert len(read(b'data: {"a":"xxxxxxxxxx"}\n\n' * 100, limit_bytes=50)) == 100

    def test_many_short_lines_of_data_are_bounded_too(self) -> None:
        assert "more than 1,000 bytes" in str(outcome([b"data:\n"] * 2000, limit_bytes=1000)[1])

    @pytest.mark.slow
    @pytest.mark.parametrize("form", [b"data: %b\n\n", b"%b", b"[%b]"])
    def test_a_large_event_in_small_pieces_is_read_in_one_pass(self, form: bytes) -> None:
        small, large = (self._seconds_to_read(form, size) for size in (12_500, 100_000))
        # In one pass, eight times as much takes eight times as long; a reader that looks twice takes 64 times.
        assert large < 24 * small

    def _seconds_to_read(self, form: bytes, size: int) -> float:
        """Of the processor, for an event of this many objects and five times as many quotes."""
        event = {"a": 'x"\n' * (5 * size), "b": [{}] * size}
        text = form % json.dumps(event).encode()
        began = time.process_time()
        read = outcome((text[at : at + 64] for at in range(0, len(text), 64)), limit_bytes=len(text))
        took = time.process_time() - began
        assert read == ([event], None)
        return took

    @pytest.mark.slow
    def test_many_objects_on_one_line_are_read_in_one_pass(self) -> None:
        assert len(read(b"{}" * 500_000)) == 500_000


class TestReadingFromAnySource:
    def test_text_bytes_pieces_and_events_give_the_same(self) -> None:
        text = 'data: {"n":"ü"}\n\ndata: {"n":2}\n\n'
        wanted = [{"n": "ü"}, {"n": 2}]
        for source in (text, text.encode(), list(text), [text.encode()[:9], text.encode()[9:]], wanted):
            assert list(read_events(source)) == wanted
        assert list(read_events({"n": 1})) == [{"n": 1}]

    def test_what_comes_before_something_wrong_is_given_first(self) -> None:
        events = read_events(['{"n":1}\n{"n":2}\n{', "}}"])
        assert [next(events), next(events), next(events)] == [{"n": 1}, {"n": 2}, {}]
        with pytest.raises(InvalidReply, match=r"\(event 4\)"):
            next(events)

    def test_something_wrong_is_raised_without_waiting_for_more(self) -> None:
        def source() -> Iterator[bytes]:
            yield b'{"n":1}\n!'
            pytest.fail("the reader waited for more")

        events = read_events(source())
        assert next(events) == {"n": 1}
        with pytest.raises(InvalidReply):
            next(events)

    def test_what_arrived_before_the_source_failed_is_given_first(self) -> None:
        def source() -> Iterator[bytes]:
            yield b'data: {"n":1}'
            raise ConnectionError("gone")

        events = read_events(source())
        assert next(events) == {"n": 1}
        with pytest.raises(ConnectionError, match="gone"):
            next(events)

    def test_a_lone_surrogate_is_refused(self) -> None:
        with pytest.raises(InvalidReply, match="not UTF-8"):
            list(read_events('{"a":"\ud800"}'))

    @needs_shared
    def test_recorded_streams_are_read_as_lines_as_events_and_as_arrays(self) -> None:
        files = sorted((SHARED / "fixtures" / "providers" / "response-stream").glob("*/*/events.jsonl"))
        assert files
        for file in files:
            events = [json.loads(line) for line in file.read_text().splitlines() if line]
            assert list(read_events(file.read_bytes())) == events
            assert list(read_events(json.dumps(events, indent=2))) == events
            assert list(read_events(f"data: {json.dumps(event)}\n\n" for event in events)) == events


def as_stream(events: list[dict[str, Any]], end: str) -> str:
    return "".join(f": x{end}event: e{end}data: {json.dumps(event)}{end}{end}" for event in events)


FORMS: list[Callable[[list[dict[str, Any]]], str]] = [
    lambda events: as_stream(events, "\n"),
    lambda events: as_stream(events, "\r"),
    lambda events: as_stream(events, "\r\n"),
    lambda events: "".join(f"{json.dumps(event)}\n" for event in events),
    lambda events: "".join(json.dumps(event, ensure_ascii=False) for event in events),
    lambda events: "\n".join(json.dumps(event, indent=2) for event in events),
    lambda events: json.dumps(events, indent=1, ensure_ascii=False),
    json.dumps,
]
ODD = 'a"\\{[]}é\n😀\0'
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(ODD),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
EVENTS = st.lists(st.dictionaries(st.text('"\\]}ab', max_size=3) | st.just("type"), VALUES, max_size=3), max_size=5)
CUTS = st.lists(st.integers(min_value=1, max_value=40), max_size=200)
TOKENS = [
    b"data:", b"event:", b": ", b"id:", b"[DONE]", b"\n", b"\r", b"\r\n", b"\n\n", b'{"a":1}', b"{", b"}", b"[", b"]",
    b",", b'"', b"\\", b"1", b" ", b"\xef\xbb\xbf", b"\xff", b'{"type":"x"}', b"e", b'{"a":"\\u00e9\\\\"}', b"null",
]  # fmt: skip


def cut(text: bytes, sizes: list[int]) -> list[bytes]:
    pieces = []
    for size in sizes:
        pieces.append(text[:size])
        text = text[size:]
    return [*pieces, text]


class TestProperties:
    @given(EVENTS, st.sampled_from(FORMS), CUTS, st.booleans())
    def test_any_cutting_gives_the_events_that_were_written(
        self, events: list[dict[str, Any]], form: Callable[[list[dict[str, Any]]], str], sizes: list[int], mark: bool
    ) -> None:
        text = (b"\xef\xbb\xbf" if mark else b"") + form(events).encode()
        named = [{"type": "e", **event} if "event: e" in form([{}]) else event for event in events]
        assert read(*cut(text, sizes)) == read(*one_by_one(text)) == named

    @given(st.lists(st.sampled_from(TOKENS) | st.binary(max_size=3), max_size=30).map(b"".join), CUTS)
    @example(b'{"a":"\\', [7])
    @example(b"data:\r", [5, 1])
    @example(b"\r\1\0\0\0\0\0\0", [1])
    def test_any_cutting_of_any_bytes_gives_the_same_events_and_the_same_error(
        self, text: bytes, sizes: list[int]
    ) -> None:
        whole = outcome([text], limit_bytes=20)
        assert outcome(cut(text, sizes), limit_bytes=20) == outcome(one_by_one(text), limit_bytes=20) == whole
        for event in whole[0]:
            strictjson.check(event, "an event")

    @given(EVENTS, st.sampled_from(FORMS), st.data())
    def test_a_text_with_one_byte_changed_gives_the_events_before_it(
        self, events: list[dict[str, Any]], form: Callable[[list[dict[str, Any]]], str], data: st.DataObject
    ) -> None:
        text = bytearray(form([*events, {"last": 1}]).encode())
        at = data.draw(st.integers(0, len(text) - 1))
        text[at] = data.draw(st.integers(0, 255))
        found, _ = outcome([bytes(text)])
        # The last one may only have been an event because the text ended there.
        before = outcome([bytes(text[:at])])[0][:-1]
        assert found[: len(before)] == before
