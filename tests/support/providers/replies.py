"""Answers of a provider whose stream has typed events: one suite, for anthropic and openai_responses.

A case is a folder: ``events.jsonl`` is a stream, ``reply.json`` what it is read as, ``response.json`` the same answer
in one piece. A provider's test module subclasses the suite and says what is its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish.content.encoding import decode_payload, encode_payload
from headish.providers import Reply, Stream, parse_response, prepare_request
from headish.providers.shared.values import Delta
from headish.values.blocks import ContentBlock, ProviderBlock, Text, Thinking, ToolUse, to_mapping
from support.loopback import Loopback, event_stream
from support.providers.spoiling import spoil

CASES = Path(__file__).parents[2] / "providers" / "cases"
USER = {"role": "user", "content": "Hi"}
TOOLS = [{"name": name, "inputSchema": {"type": "object", "properties": {}}} for name in ("weather", "now")]
_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=5,
)


def read_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines() if line]


def read(provider: str, events: Iterable[Mapping[str, Any]], **settings: Any) -> Reply:
    """The reply that a stream gives."""
    stream = Stream(provider, **settings)
    for event in events:
        stream.feed(event)
    return stream.finish()


def show(provider: str, events: Iterable[Mapping[str, Any]]) -> tuple[list[Delta], tuple[ContentBlock, ...]]:
    """What a stream shows, and what is kept of it."""
    stream = Stream(provider)
    deltas = [delta for event in events for delta in stream.feed(event)]
    return deltas, stream.finish().content


def record(reply: Reply) -> dict[str, Any]:
    """A reply as the case files have it."""
    return {"content": [to_mapping(block) for block in reply.content], **reply.to_meta()}


def told(reply: Reply) -> dict[str, Any]:
    """What an SDK says of an answer, too: texts, calls, why it ended, tokens."""
    usage = reply.usage
    texts = [block.text for block in reply.content if isinstance(block, Text)]
    calls = [(block.id, block.name, block.input) for block in reply.content if isinstance(block, ToolUse)]
    counts = (usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens) if usage else ()
    tokens = (sum(filter(None, counts)), usage.output_tokens) if usage else None
    return {"id": reply.id, "model": reply.model, "texts": texts, "calls": calls, "stop": reply.stop, "tokens": tokens}


class Replies:
    """Replies: what the cases say, the same whole and streamed, whatever is cut off or broken."""

    provider: ClassVar[str]
    check: ClassVar[Callable[[dict[str, Any]], None]]
    """The rules of a request, for the one that sends an answer back."""
    play: ClassVar[Callable[[str], dict[str, Any]]]
    """Asks the server at a URL for a stream through the SDK, and says what it makes of it, as ``told`` does."""
    unplayed: ClassVar[Mapping[str, str]] = {}
    """Cases that the SDK does not read to their end, and why."""
    ends: ClassVar[tuple[str, ...]]
    """Types of the events that end an answer."""
    errors: ClassVar[tuple[str, ...]]
    """Types of the events that end it with an error."""
    keys: ClassVar[tuple[str, ...]]
    """Keys that events have."""

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        cases = sorted(path for path in (CASES / self.provider).iterdir() if path.is_dir())
        for name in ("case", "played", "whole"):
            if name in metafunc.fixturenames:
                found = [each for each in cases if name != "whole" or (each / "response.json").exists()]
                found = [each for each in found if name != "played" or each.name not in self.unplayed]
                metafunc.parametrize(name, found, ids=lambda path: path.name)

    def test_a_stream_is_read_as_its_case_says(self, case: Path) -> None:
        found = record(read(self.provider, read_lines(case / "events.jsonl")))
        assert found == json.loads((case / "reply.json").read_text())

    def test_a_whole_response_gives_the_same_reply(self, whole: Path) -> None:
        found = record(parse_response(self.provider, json.loads((whole / "response.json").read_text())))
        assert found == json.loads((whole / "reply.json").read_text())

    def test_a_reply_can_be_stored(self, case: Path) -> None:
        content = read(self.provider, read_lines(case / "events.jsonl")).content
        assert decode_payload(encode_payload(content)) == content

    def test_a_reply_goes_back_in_a_valid_request(self, case: Path) -> None:
        reply = read(self.provider, read_lines(case / "events.jsonl"))
        thread = [USER, {"role": "assistant", "content": list(reply.content)}, USER]
        type(self).check(prepare_request(self.provider, {"messages": thread}, tools=TOOLS).body)

    def test_what_is_shown_is_what_is_kept(self, case: Path) -> None:
        shown, content = show(self.provider, read_lines(case / "events.jsonl"))
        for index, block in enumerate(content):
            _check_shown(block, [delta for delta in shown if delta.index == index])
        assert {delta.index for delta in shown} <= set(range(len(content)))

    def test_a_stream_cut_after_any_event_keeps_what_arrived(self, case: Path) -> None:
        events = read_lines(case / "events.jsonl")
        shown, whole = show(self.provider, events)
        for count in range(len(events)):
            stream = Stream(self.provider)
            early = [delta for event in events[:count] for delta in stream.feed(event)]
            reply, kinds = stream.finish(), {event.get("type") for event in events[:count]}
            assert early == shown[: len(early)]
            assert reply.incomplete is kinds.isdisjoint(self.ends)
            failed = not kinds.isdisjoint(self.errors)
            assert reply.stop_reason == ("error" if failed else "incomplete") or not reply.incomplete
            assert stream.ended is (failed or not reply.incomplete)
            assert len(reply.content) <= len(whole)
            for index, (block, later) in enumerate(zip(reply.content, whole, strict=False)):
                _check_early(block, later, "".join(delta.content for delta in early if delta.index == index))
            said = "".join(delta.content for delta in early if delta.type in ("text", "thinking"))
            assert sum(len(block.text) for block in reply.content if isinstance(block, Text | Thinking)) == len(said)

    @pytest.mark.slow
    def test_the_sdk_makes_the_same_of_a_stream(self, played: Path) -> None:
        self.compare(read_lines(played / "events.jsonl"))

    def compare(self, events: list[Any]) -> None:
        with Loopback() as server:
            server.answer(chunks=event_stream(events, named=True))
            assert type(self).play(server.url) == told(read(self.provider, events))

    @given(data=st.data())
    def test_no_event_of_any_shape_is_a_crash(self, data: st.DataObject) -> None:
        inner = st.recursive(
            _values | st.sampled_from([*self.ends, *self.errors]),
            lambda inner: st.lists(inner, max_size=2)
            | st.dictionaries(st.sampled_from(self.keys), inner, max_size=4),
            max_leaves=8,
        )  # fmt: skip
        kinds = sorted({event["type"] for case in (CASES / self.provider).iterdir()
                        for event in read_lines(case / "events.jsonl")})  # fmt: skip
        event = st.dictionaries(st.sampled_from(self.keys), inner, max_size=5)
        typed = st.builds(lambda kind, event: {**event, "type": kind}, st.sampled_from(kinds), event)
        self.survive(data.draw(st.lists(event | typed, max_size=6)))

    @given(data=st.data())
    def test_no_stream_with_a_wrong_value_in_it_is_a_crash(self, data: st.DataObject) -> None:
        case = data.draw(st.sampled_from(sorted((CASES / self.provider).iterdir())))
        events = read_lines(case / "events.jsonl")
        for _ in range(3):
            spoil(data, _values, data.draw(st.sampled_from(events)))
        self.survive(events)

    def survive(self, events: list[Any]) -> None:
        """Read what makes no sense: nothing raises, and what is read can be stored."""
        for event in events:
            encode_payload(parse_response(self.provider, event).content)
        stream = Stream(self.provider)
        for event in events:
            assert all(isinstance(delta, Delta) for delta in stream.feed(event))
        reply = stream.finish()
        assert decode_payload(encode_payload(reply.content)) == reply.content
        json.dumps(reply.to_meta(), allow_nan=False).encode()
        assert stream.finish() == reply, "the end can be asked for again"


def _check_shown(block: ContentBlock, deltas: list[Delta]) -> None:
    said = "".join(delta.content for delta in deltas)
    if isinstance(block, Text | Thinking):
        assert said == block.text
    elif isinstance(block, ToolUse):
        assert (deltas[0].type, deltas[0].name, deltas[0].id) == ("tool_use", block.name, block.id)
        assert said == block.raw or json.loads(said or "{}") == block.input
    else:
        assert all(delta.type == "server_tool_use" for delta in deltas)


def _check_early(early: ContentBlock, late: ContentBlock, said: str) -> None:
    """A block of a stream that was cut, against what it was to be; ``said`` is what was shown of it."""
    assert type(early) is type(late)
    if isinstance(early, Text | Thinking) and isinstance(late, Text | Thinking):
        assert early.text == said
        assert late.text.startswith(early.text)
    elif isinstance(early, ToolUse) and isinstance(late, ToolUse):
        assert (early.name, early.id) == (late.name, late.id)
        assert early.raw == said if early.partial else early.input == late.input
    elif isinstance(early, ProviderBlock) and isinstance(late, ProviderBlock):
        assert early.partial or early == late
        assert early.data["type"] == late.data["type"]
