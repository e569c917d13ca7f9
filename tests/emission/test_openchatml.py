"""Whatever a text says, no reader takes it for a frame; what a frame cannot carry is refused, never altered."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from headish import ContextWindow, Message, emit
from headish.errors import InvalidArgument, Unrepresentable
from headish.transcripts import parse
from headish.transcripts.openchatml.flatten import flatten
from headish.transcripts.shared.native import DROPPABLE
from headish.transcripts.shared.transcript import is_header_value, stop_of, usual_stop
from headish.values.blocks import Text, ToolResult, ToolUse
from headish.values.messages import Attributes
from support.providers.emitted import windows
from support.transcripts.openchatml import read_openchatml

tokens = st.sampled_from(["<|start|>", "<|end|>", "<|message|>", "<|literal|>", "<|endliteral|>", "<", "<<", "|>", "a"])
hostile = st.lists(tokens | st.text(max_size=3), max_size=8).map("".join)


def said(text: Text, role: str = "user") -> ContextWindow:
    return ContextWindow((Message(role=role, content=(text,)),), {})


@given(text=hostile)
def test_any_text_comes_back_from_one_frame(text: str) -> None:
    [frame] = read_openchatml(str(emit(said(Text(text)), "openchatml")))
    assert (frame.role, frame.body, frame.stop) == ("user", text, "end")


@given(text=hostile, before=hostile, after=hostile)
def test_any_literal_text_comes_back_too(text: str, before: str, after: str) -> None:
    content = (Text(before), Text(text, literal=True), Text(after))
    window = ContextWindow((Message(role="user", content=content),), {})
    [frame] = read_openchatml(str(emit(window, "openchatml")))
    assert frame.body == before + text + after


@given(value=st.text(max_size=6) | st.sampled_from(["a<|message|>b", "a b", "a\nb", "\u200b", "é", "x=y", ""]))
def test_a_header_value_comes_back_or_is_refused(value: str) -> None:
    message = Message(role="user", content=(Text("hi"),), attributes=Attributes(speaker=value))
    try:
        text = str(emit(ContextWindow((message,), {}), "openchatml"))
    except Unrepresentable as error:
        assert error.code == "E-EMIT-HEADER-VALUE"
        assert not is_header_value(value)
        return
    [frame] = read_openchatml(text)
    assert frame.attributes == {"name": value}


@given(window=windows(), drop=st.sets(st.sampled_from(DROPPABLE)))
def test_any_window_is_a_transcript_that_reads_or_is_refused(window: ContextWindow, drop: set[str]) -> None:
    try:
        text = str(emit(window, "openchatml", drop=drop))
    except Unrepresentable as error:
        assert error.code in ("E-EMIT-UNREPRESENTABLE", "E-EMIT-HEADER-VALUE")
        assert error.drop not in drop
        return
    flat = tuple(replace(message, turn=None, cache=False) for message in flatten(window.messages, "2.2", drop, {}))
    assert parse(text, partial=True).messages == tuple(_plain(message) for message in flat)
    if flat and stop_of(flat[-1]) == "none":
        text += "<|end|>\n"
    assert text.encode()
    assert len(read_openchatml(text)) == len(flat)


def _plain(message: Message) -> Message:
    """A message as a reader gives it: the usual stop is not said."""
    attributes = message.attributes
    if attributes.stop == usual_stop(message):
        attributes = replace(attributes, stop=None)
    return replace(message, attributes=replace(attributes, tight=False))


def test_a_window_leaves_in_every_format() -> None:
    call = ToolUse("lookup", "c1", {"peak": "K2"})
    window = ContextWindow(
        (
            Message(role="user", content=(Text("How high?"),)),
            Message(role="assistant", content=(Text("I look."), call)),
            Message(role="tool", content=(ToolResult("c1", None, (Text("8611 m"),)),)),
        ),
        {},
    )
    assert str(emit(window, "harmony", drop=["call_id", "intent"])).endswith("<|message|>8611 m<|end|>")
    assert str(emit(window, "rwkv")).startswith("<<USER>>\nHow high?\n<<USER_END>>")
    assert '"name": "lookup", "id": "c1"}' in str(emit(window, "v0.1"))
    assert str(emit(window, "2.0", drop=["call_id", "intent", "constrain"])).startswith("version: 2.0\n\n")


@given(window=windows(), drop=st.just(set(DROPPABLE)))
def test_what_was_emitted_is_the_beginning_of_what_is_emitted_later(window: ContextWindow, drop: set[str]) -> None:
    def emitted(count: int) -> str | None:
        try:
            return str(emit(ContextWindow(window.messages[:count], {}), "openchatml", drop=drop))
        except Unrepresentable:
            return None

    whole = emitted(len(window.messages))
    for count in range(len(window.messages)):
        part = emitted(count)
        if whole is not None and part is not None:
            assert whole.startswith(part)


def test_dropping_needs_a_known_word() -> None:
    with pytest.raises(InvalidArgument, match="nothing named 'everything' can be dropped; known are call_id"):
        emit(said(Text("hi")), "openchatml", drop=["everything"])


@pytest.mark.parametrize("name", ["2.2", "openchatml"])
def test_openchatml_is_the_newest_version(name: str) -> None:
    assert emit(said(Text("hi")), name) == "version: 2.2\n\n<|start|>user<|message|>hi<|end|>\n"
