"""Events while a transcript arrives: visible text at once, hidden text never, whatever the chunks are."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, SupportsIndex

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish.errors import InvalidInterchange, InvalidTranscript
from headish.transcripts import Event, Transcript, TranscriptStream, from_events, parse, visible
from headish.transcripts.stream import _Shown
from headish.transcripts.views import visible_text
from support.transcripts.models import FORMATS, cut, texts_of


def run(format: str, chunks: list[str], **settings: bool) -> tuple[list[Event], Transcript]:
    stream = TranscriptStream(format, **settings)
    events = [event for chunk in chunks for event in stream.feed(chunk)]
    transcript = stream.finish(partial=True)
    return events + stream.rest, transcript


def joined(events: list[Event], kind: str = "response.delta") -> list[tuple[int, str]]:
    texts: defaultdict[int, str] = defaultdict(str)
    for event in events:
        if event.type == kind:
            texts[event.message] += event.text or ""
    return sorted(texts.items())


class CountedText(str):
    """A text that counts the characters of itself that are copied."""

    copied = 0

    def __radd__(self, before: str) -> CountedText:
        return self._counted(before + str(self))

    def __getitem__(self, at: SupportsIndex | slice) -> CountedText:
        return self._counted(super().__getitem__(at))

    def partition(self, mark: str) -> tuple[CountedText, str, CountedText]:
        before, found, behind = super().partition(mark)
        return self._counted(before), found, self._counted(behind)

    @classmethod
    def _counted(cls, text: str) -> CountedText:
        cls.copied += len(text)
        return cls(text)


class TestDeltas:
    def test_text_is_shown_as_it_comes(self) -> None:
        stream = TranscriptStream("2.2")
        assert stream.feed("<|start|>assistant<|channel|>final<|mess") == []
        assert stream.feed("age|>Li") == [Event("response.delta", 0, "Li")]
        assert stream.feed("ma<") == [Event("response.delta", 0, "ma")]
        assert stream.feed("|end|>") == [Event("response.done", 0, stop="end")]

    def test_reasoning_that_slips_into_an_answer_is_not_shown(self) -> None:
        text = "<|start|>assistant<|channel|>final<|message|>a<|start_reason|>secret<|end_reason|>b<|end|>"
        for size in range(1, 12):
            events, _ = run("2.2", [text[at : at + size] for at in range(0, len(text), size)])
            assert joined(events) == [(0, "ab")]

    def test_many_cut_reasonings_are_copied_once(self) -> None:
        text = CountedText("<|start_reason|>x<|end_reason|>y" * 1000)
        assert _Shown(cuts=True).add(text) == "y" * 1000
        assert CountedText.copied < 2 * len(text)

    def test_analysis_is_shown_to_who_opts_in(self) -> None:
        text = "<|start|>assistant<|channel|>analysis<|message|>why<|end|>\n<|start|>assistant<|message|>so<|end|>"
        hidden, _ = run("2.0", [text])
        assert [event.type for event in hidden] == ["response.done", "response.delta", "response.done"]
        opted, _ = run("2.0", [text], reasoning=True)
        assert joined(opted, "response.reasoning_text.delta") == [(0, "why")]
        assert [event.type for event in opted][:3] == [
            "response.reasoning_text.delta", "response.reasoning_text.done", "response.done",
        ]  # fmt: skip

    def test_a_stream_that_ends_early_is_an_error_after_its_deltas(self) -> None:
        stream = TranscriptStream("harmony", start_role="assistant")
        assert [event.text for event in stream.feed("<|channel|>final<|message|>half")] == ["half"]
        with pytest.raises(InvalidTranscript) as error:
            stream.finish()
        assert error.value.code == "E-STREAM-TRUNCATED"

    def test_a_message_of_openchatml_0_1_shows_when_it_is_complete(self) -> None:
        stream = TranscriptStream("v0.1")
        assert stream.feed("<|im_start|>assistant\n<|start_reason|>x<|end_reason|>\nHi") == []
        assert stream.feed("\n<|im_end|>") == [Event("response.delta", 0, "Hi"), Event("response.done", 0, stop="end")]


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
def test_the_deltas_join_to_what_is_visible(format: str, data: st.DataObject) -> None:
    text = data.draw(texts_of(format))
    try:
        whole = parse(text, format, partial=True)
    except InvalidTranscript:
        return
    events, transcript = run(format, data.draw(cut(text)))
    assert transcript == whole
    assert joined(events) == visible(whole)
    assert [event.message for event in events if event.type == "response.done"] == list(range(len(whole.messages)))
    order = [event.message for event in events]
    assert order == sorted(order), "no two messages are mixed"


class TestEventsBack:
    TEXT = (
        "<|start|>assistant<|channel|>analysis<|message|>why<|end|>\n"
        "<|start|>assistant<|channel|>final<|message|>Because.<|return|>\n"
    )

    def test_what_was_shown_becomes_messages(self) -> None:
        events, transcript = run("2.2", [self.TEXT], reasoning=True)
        assert from_events(events) == transcript.messages

    def test_they_may_come_as_json(self) -> None:
        events, transcript = run("2.2", [self.TEXT], reasoning=True)
        plain = [msgspec.to_builtins(event) for event in events]
        assert from_events([*plain, {"type": "response.delta.flush"}]) == transcript.messages

    def test_a_message_that_never_ended_is_incomplete(self) -> None:
        [message] = from_events([Event("response.delta", 0, "half")])
        assert message.attributes.stop == "none"

    def test_a_cancelled_one_is_kept_so_far(self) -> None:
        events = [Event("response.delta", 0, "half"), Event("response.cancel", 0)]
        assert [message.attributes.stop for message in from_events(events)] == ["none"]

    @pytest.mark.parametrize("events", [
        [{"type": "response.unknown", "message": 0}],
        [{"type": "response.delta", "message": "0", "text": "x"}],
        [{"type": "response.delta", "text": "x"}],
        [Event("response.delta", 0, "a"), Event("response.done", 0), Event("response.delta", 0, "b")],
    ])  # fmt: skip
    def test_events_that_make_no_sense_are_refused(self, events: list[Any]) -> None:
        with pytest.raises(InvalidInterchange):
            from_events(events)


class TestInterruptions:
    def test_a_cancelled_message_is_kept_as_far_as_it_came(self) -> None:
        stream = TranscriptStream("2.2")
        shown = stream.feed("<|start|>user<|message|>hi<|end|>\n<|start|>assistant<|message|>Half")
        assert stream.cancel() == [Event("response.cancel", 1)]
        assert stream.feed(" an answer<|end|>\n") == []
        transcript = stream.finish()
        assert [visible_text(message) for message in transcript.messages] == ["hi", "Half"]
        assert transcript.messages[-1].attributes.stop == "none"
        kept = from_events([event for event in [*shown, Event("response.cancel", 1)] if event.message == 1])
        assert kept[0].attributes.stop == "none"

    def test_a_segment_s_end_is_hinted_while_a_message_is_shown(self) -> None:
        stream = TranscriptStream("2.2")
        assert stream.flush() == []
        stream.feed("<|start|>assistant<|message|>One.")
        assert stream.flush() == [Event("response.delta.flush", 0)]

    def test_the_summary_of_2_0_is_no_part_of_a_message(self) -> None:
        events = [
            {"type": "response.reasoning_summary_text.delta", "message": 0, "text": "It thought."},
            {"type": "response.reasoning_summary_text.done", "message": 0},
            {"type": "response.delta", "message": 0, "text": "Yo."}, {"type": "response.done", "message": 0},
        ]  # fmt: skip
        assert [visible_text(message) for message in from_events(events)] == ["Yo."]
