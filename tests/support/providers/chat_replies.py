"""What the replies of openai, cerebras and cohere promise alike: one suite, run for each of them.

A case is a folder: ``events.jsonl`` is a stream, ``response.json`` the same answer in one piece (one of them may be
missing), ``reply.json`` what they are read as. A provider's test module subclasses the suite and says what its SDK
makes of a stream.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish.content.encoding import encode_payload
from headish.providers import Reply, Stream, parse_response
from headish.values.blocks import Document, ProviderBlock, ToolUse, to_mapping
from support.loopback import Loopback, event_stream
from support.providers.chat_requests import CASES, DONE, TOOLS, request
from support.providers.chat_windows import say
from support.providers.spoiling import spoil
from support.shared import SHARED, needs_shared

ODD = st.sampled_from([None, {}, [], "x", -1, 10**30, 1.5, True, {"x": [1]}, [[{}]], "\ud800"])
"""What a provider may send in place of anything."""
RECORDED = SHARED / "fixtures" / "providers" / "response-stream"
_KEYS = ("choices", "delta", "message", "content", "tool_calls", "index", "type", "usage", "error", "function", "text",
         "id", "citations", "tokens")  # fmt: skip
_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=4),
    max_leaves=12,
)
_events = st.dictionaries(st.sampled_from(_KEYS) | st.text(max_size=2), _values, max_size=4)


class ChatReplies:
    """Replies: what the cases say, the same whole and streamed, whatever is cut off or broken."""

    provider: ClassVar[str]
    check: ClassVar[Callable[[dict[str, Any]], None]]
    play: ClassVar[Callable[[str], dict[str, Any]]]
    """Asks the server at a URL for a stream and says what the SDK makes of it, as ``told`` does."""
    unplayed: ClassVar[Mapping[str, str]] = {}
    """Cases of which the SDK makes something else, and why."""
    recorded: ClassVar[Mapping[str, dict[str, Any]]]
    """The recorded streams, and in what our reading differs from the aggregate that lies with them."""
    unshown: ClassVar[tuple[str, ...]] = ()
    """What the other project's deltas leave out."""

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "case" in metafunc.fixturenames:
            metafunc.parametrize("case", _cases(self.provider), ids=lambda path: path.name)
        if "streamed" in metafunc.fixturenames:
            streamed = [case for case in _cases(self.provider) if (case / "events.jsonl").exists()]
            metafunc.parametrize("streamed", streamed, ids=lambda path: path.name)
        if "recording" in metafunc.fixturenames:
            metafunc.parametrize("recording", list(self.recorded))

    def test_a_case_is_read_as_it_says(self, case: Path) -> None:
        expected = json.loads((case / "reply.json").read_text())
        for reply in _replies(self.provider, case):
            assert record_of(reply) == expected

    def test_a_reply_goes_back_in_a_valid_request(self, case: Path) -> None:
        for reply in _replies(self.provider, case):
            answer = {"role": "assistant", "content": list(reply.content)}
            window = [say("user", "?"), answer, say("user", "And?")]
            type(self).check(request(self.provider, window, model="m", tools=TOOLS).body)

    def test_a_stream_cut_after_any_event_keeps_what_arrived(self, streamed: Path) -> None:
        events = read_events(streamed)
        whole = self._read(events)
        for count in range(len(events)):
            reply = self._read(events[:count])
            ended = any(self._ends(event) for event in events[:count])
            assert reply.incomplete is not ended or reply.error is not None
            assert ended or reply.error is not None or reply.stop_reason == "incomplete"
            assert len(reply.content) <= len(whole.content)
            for early, late in zip(reply.content, whole.content, strict=False):
                if isinstance(early, ProviderBlock):
                    assert early.partial or early == late or "part" not in early.data
                elif isinstance(early, Document):
                    assert isinstance(late, Document)
                elif isinstance(early, ToolUse):
                    assert isinstance(late, ToolUse)
                    assert early.partial or early.input == late.input
                else:
                    assert to_mapping(late)["text"].startswith(to_mapping(early)["text"])

    def test_the_deltas_of_a_stream_are_all_of_its_content(self, streamed: Path) -> None:
        stream = Stream(self.provider)
        shown = [delta for event in read_events(streamed) for delta in stream.feed(event)]
        content = [block for block in stream.finish().content if to_mapping(block).get("text") != ""]
        told = [index for index, block in enumerate(content) if not isinstance(block, ProviderBlock | Document)]
        assert sorted({delta.index for delta in shown if delta.index is not None}) == told
        for index in told:
            block = content[index]
            said = "".join(delta.content for delta in shown if delta.index == index)
            if isinstance(block, ToolUse):
                first = next(delta for delta in shown if delta.index == index)
                assert (first.type, first.id) == ("tool_use", block.id)
                assert any(delta.name == block.name for delta in shown if delta.index == index) or not block.name
                assert said == (block.raw or said)
                assert json.loads(said or "{}") == block.input if block.raw is None else True
            else:
                assert said == to_mapping(block)["text"]

    @pytest.mark.slow
    def test_the_sdk_makes_the_same_of_a_stream(self, streamed: Path) -> None:
        """But for those that the table says it does not take or reads differently, which is checked too."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # pydantic's, of values that the SDK does not know
                self._compare(read_events(streamed))
        except Exception:
            assert streamed.name in self.unplayed
        else:
            assert streamed.name not in self.unplayed

    @pytest.mark.slow
    @needs_shared
    def test_the_sdk_makes_the_same_of_a_recorded_stream(self, recording: str) -> None:
        self._compare(read_events(RECORDED / self.provider / recording))

    @needs_shared
    def test_a_recorded_stream_is_read_as_it_was(self, recording: str) -> None:
        """Less what the table says: made ids and zeros for counts are the other project's."""
        folder = RECORDED / self.provider / recording
        expected = json.loads((folder / "expected-aggregate.json").read_text())["message"]
        reply = self._read(read_events(folder))
        found = reply.to_dict()["message"]
        differences = dict(self.recorded[recording])
        blocks = [block for block in found["content"] if block["type"] != "thinking" or "content" not in differences]
        assert [_less(block, "id", "raw") for block in blocks] == [_less(each, "id") for each in expected["content"]]
        assert found["stop_reason"] == expected["stop_reason"]
        assert found["model"] == differences.get("model", expected["model"])
        assert found.get("usage") == differences["usage"]

    @needs_shared
    def test_the_deltas_of_a_recorded_stream_are_those_that_were_shown(self, recording: str) -> None:
        """Less what the table says that the other project does not show."""
        folder = RECORDED / self.provider / recording
        expected = [json.loads(line) for line in (folder / "expected-streamer.jsonl").read_text().splitlines()]
        stream = Stream(self.provider)
        deltas = [delta.to_dict() for event in read_events(folder) for delta in stream.feed(event)]
        shown = [_less(delta, "index", *(["type"] if _is_piece(delta) else [])) for delta in deltas]
        kept = [each for each in shown if each.get("type", "arguments") not in self.unshown]
        assert kept == expected

    @given(events=st.lists(_events, max_size=5))
    def test_no_event_whatever_its_shape_is_a_crash(self, events: list[dict[str, Any]]) -> None:
        self._survive(events)
        for event in events:
            encode_payload(parse_response(self.provider, event).content)

    @given(data=st.data())
    def test_no_stream_with_wrong_values_in_it_is_a_crash(self, data: st.DataObject) -> None:
        case = data.draw(st.sampled_from([case for case in _cases(self.provider) if (case / "events.jsonl").exists()]))
        events = read_events(case)
        for _ in range(3):
            spoil(data, ODD, data.draw(st.sampled_from(events)))
        self._survive(events)

    def _survive(self, events: list[dict[str, Any]]) -> None:
        stream = Stream(self.provider)
        for event in events:
            assert isinstance(stream.feed(event), list)
        reply = stream.finish()
        encode_payload(reply.content)
        assert reply.stop is None or isinstance(reply.stop, str)
        json.dumps(reply.to_meta(), allow_nan=False).encode()

    def _compare(self, events: list[dict[str, Any]]) -> None:
        with Loopback() as server:
            server.answer(chunks=[*event_stream(events), DONE])
            assert told(self._read(events)) == type(self).play(server.url)

    def _read(self, events: list[dict[str, Any]]) -> Reply:
        stream = Stream(self.provider)
        for event in events:
            stream.feed(event)
        return stream.finish()

    def _ends(self, event: dict[str, Any]) -> bool:
        """Whether an event says that the answer is at its end."""
        said = [choice.get("finish_reason") for choice in event.get("choices") or []]
        return any(said) or event.get("type") == "message-end" or bool(event.get("usage") and not said)


def record_of(reply: Reply) -> dict[str, Any]:
    """A reply as the case files have it."""
    return {**reply.to_meta(), "content": [to_mapping(block) for block in reply.content]}


def told(reply: Reply) -> dict[str, Any]:
    """What an SDK can say of an answer, too: texts, calls with their arguments as values, why it ended, tokens."""
    blocks = [to_mapping(block) for block in reply.content]
    calls = [(block["id"], block["name"], block.get("input")) for block in blocks if block["type"] == "tool_use"]
    usage = reply.usage
    prompt = None if usage is None else _sum(
        usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens)  # fmt: skip
    return {
        "text": "".join(block["text"] for block in blocks if block["type"] == "text"),
        "thinking": "".join(block["text"] for block in blocks if block["type"] == "thinking"),
        "calls": calls,
        "stop": reply.stop,
        "tokens": None if usage is None else (prompt, usage.output_tokens),
    }


def arguments_of(text: str | None) -> Any:
    """The value of a call's arguments, None where they are broken."""
    try:
        return json.loads(text or "{}")
    except ValueError:
        return None


def read_events(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines() if line]


def _sum(*counts: int | None) -> int | None:
    said = [count for count in counts if count is not None]
    return sum(said) if said else None


def _cases(provider: str) -> list[Path]:
    return sorted(path for path in (CASES / provider).iterdir() if path.is_dir())


def _replies(provider: str, case: Path) -> Iterable[Reply]:
    if (case / "events.jsonl").exists():
        stream = Stream(provider)
        for event in read_events(case):
            stream.feed(event)
        yield stream.finish()
    if (case / "response.json").exists():
        response = json.loads((case / "response.json").read_text())
        yield parse_response(provider, response)
        stream = Stream(provider)
        stream.feed(response)
        yield stream.finish()


def _is_piece(delta: Mapping[str, Any]) -> bool:
    return delta["type"] == "tool_use" and "name" not in delta


def _less(block: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key not in keys}
