"""Every dialect, through a whole tool loop with a server that behaves as its sources say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from headish import Store
from headish.errors import CallRefused, Unsupported
from headish.providers.dialects.table import DIALECTS
from headish.providers.dialects.values import FORCED, NAMED, STREAM_OPTIONS
from headish.values.blocks import Text, Thinking, ToolResult, ToolUse
from support.providers.compatible import SERVERS, THOUGHTS, TOLERANT, CompatibleServer

pytestmark = pytest.mark.slow

TOOL = {"name": "height", "inputSchema": {"type": "object", "properties": {"peak": {"type": "string"}}}}
ASKED: dict[str, Any] = {"tools": [TOOL], "params": {"max_tokens": 99}}


@pytest.fixture
def serving(request: pytest.FixtureRequest) -> Iterator[CompatibleServer]:
    with CompatibleServer(SERVERS[request.param]) as server:
        yield server


def talk(store: Store, server: CompatibleServer, dialect: str | None) -> None:
    """A developer's word, a question, a call and its result, an answer, another question and its answer."""
    store.pointers.set("near", "openai/m", base_url=f"{server.url}/v1", dialect=dialect)
    store.add_turn("Be brief.", role="developer", bookmark="main", provider_ptr="near")
    store.add_turn([{"type": "text", "text": "How high"}, {"type": "text", "text": "is K2?"}], continues="main")
    store.ask(continues="main", **ASKED)
    store.run_tools("main", lambda calls: [ToolResult(call.id, call.name, (Text("8611"),)) for call in calls])
    store.ask(continues="main", **ASKED)
    store.ask("Really?", continues="main", **ASKED)


def test_every_row_has_a_server_and_sources_with_dates() -> None:
    assert SERVERS.keys() == DIALECTS.keys()
    for dialect in DIALECTS.values():
        assert all(source.page.startswith("https://") and source.says for source in dialect.sources)
        assert any(source.date.startswith("202") for source in dialect.sources)


@pytest.mark.parametrize(("serving", "dialect"), [(name, name) for name in SERVERS], indirect=["serving"])
def test_a_tool_loop_with_reasoning_is_spoken_as_the_server_wants(
    asking: Store, serving: CompatibleServer, dialect: str
) -> None:
    talk(asking, serving, dialect)
    assert serving.refused == []
    assert len(serving.requests) == 3
    blocks = [block for turn in asking.thread("main") for block in asking.blocks(turn.id)]
    assert [block.input for block in blocks if isinstance(block, ToolUse)] == [{"peak": "K2"}]
    said = [block.text for block in blocks if isinstance(block, Text)]
    assert said == ["Be brief.", "How high", "is K2?", "K2 is 8611 m high.", "Really?", "K2 is 8611 m high."]
    thought = [block.text for block in blocks if isinstance(block, Thinking)]
    assert thought == ([] if dialect == "azure" else [*THOUGHTS, THOUGHTS[1]])


@pytest.mark.parametrize(
    ("serving", "dialect"), [(name, name) for name in SERVERS if name not in TOLERANT], indirect=["serving"]
)
def test_the_same_server_refuses_openais_own_spelling(asking: Store, serving: CompatibleServer, dialect: str) -> None:
    with pytest.raises(CallRefused):
        talk(asking, serving, None)
    assert serving.refused


@pytest.mark.parametrize("serving", ["deepseek"], indirect=True)
def test_a_thread_that_another_provider_began_goes_on(asking: Store, serving: CompatibleServer) -> None:
    """Nothing was thought there that this server may see, and it wants the key all the same."""
    serving.behaviour = SERVERS["vllm"]._replace(checks=())
    talk(asking, serving, "vllm")
    thought = {"type": "thinking", "text": "Hm.", "signature": "c2ln", "provider": "anthropic"}
    asking.add_turn([thought, {"type": "text", "text": "So."}], role="assistant", continues="main")
    request = asking.request("main", dialect="deepseek")
    answers = [message for message in request.body["messages"] if message["role"] == "assistant"]
    assert [message["reasoning_content"] for message in answers] == [*THOUGHTS, THOUGHTS[1], ""]


@pytest.mark.parametrize("serving", ["mistral"], indirect=True)
def test_ids_of_another_are_rewritten_the_same_way_each_time(asking: Store, serving: CompatibleServer) -> None:
    serving.behaviour = serving.behaviour._replace(id="toolu_01A09q90qw90lq917835lq9")
    talk(asking, serving, "mistral")
    assert serving.refused == []
    first, second = (request.body["messages"][2]["tool_calls"][0]["id"] for request in serving.requests[1:])
    assert first == second == serving.requests[1].body["messages"][3]["tool_call_id"]


def test_an_answer_that_is_recovered_is_read_in_its_dialect(asking: Store) -> None:
    asking.pointers.set("near", "openai/m", base_url="http://127.0.0.1:9/v1", dialect="llamacpp")
    turn = asking.add_turn("Hi", provider_ptr="near")
    capture = asking.capture(asking.request(turn.id), "openai")
    capture.feed({"choices": [{"index": 0, "delta": {"content": "<think>Hm."}}]})
    capture._journal.keep()
    [recovered] = asking.streams.recover(force=True)
    [block] = asking.blocks(recovered.id)
    assert isinstance(block, Thinking)
    assert block.text == "Hm."
    assert recovered.meta.reply["dialect"] == "llamacpp"


class TestWhatAServerRefuses:
    @pytest.mark.parametrize(
        ("dialect", "feature"), [(name, each) for name, row in DIALECTS.items() for each in row.refused]
    )  # fmt: skip
    def test_is_refused_by_name_before_anything_is_sent(self, asking: Store, dialect: str, feature: str) -> None:
        turn = asking.add_turn("Hi")
        given = prepare_with(feature)
        if feature == STREAM_OPTIONS:
            assert feature not in asking.request(turn.id, "openai", dialect=dialect).body
            return
        turn = asking.add_turn("Hi", **given.pop("turn", {}))
        with pytest.raises(Unsupported, match=re.escape(DIALECTS[dialect].title)):
            asking.request(turn.id, "openai", dialect=dialect, tools=[TOOL], **given)

    @pytest.mark.parametrize(
        ("dialect", "feature"), [(name, each) for name, row in DIALECTS.items() for each in row.ignored]
    )  # fmt: skip
    def test_and_what_it_passes_over_is_left_out_with_a_note(self, asking: Store, dialect: str, feature: str) -> None:
        given = prepare_with(feature)
        turn = asking.add_turn("Hi", **given.pop("turn", {}))
        request = asking.request(turn.id, "openai", dialect=dialect, tools=[TOOL], **given)
        assert not {"tool_choice", "parallel_tool_calls"} & request.body.keys()
        assert "strict" not in request.body["tools"][0]["function"]
        assert any(DIALECTS[dialect].title in note.what for note in request.notes)

    def test_a_parameter_under_the_providers_name_is_sent_as_it_is(self, asking: Store) -> None:
        turn = asking.add_turn("Hi")
        own = {"openai": {"temperature": 1, "stream_options": {"include_usage": True}, "top_k": 4}}
        body = asking.request(turn.id, "openai", dialect="mistral", params=own).body
        assert (body["temperature"], body["stream_options"], body["top_k"]) == (1, {"include_usage": True}, 4)

    def test_false_takes_the_stream_options_away(self, asking: Store) -> None:
        turn = asking.add_turn("Hi")
        assert "stream_options" in asking.request(turn.id, "openai").body
        own = {"openai": {"stream_options": False}}
        assert "stream_options" not in asking.request(turn.id, "openai", params=own).body


def prepare_with(feature: str) -> dict[str, Any]:
    """What asks for a feature: options of the turn, and of the request."""
    if feature == FORCED:
        return {"turn": {"tool_mode": "any"}}
    if feature == NAMED:
        return {"turn": {"tool_mode": "height"}}
    return {"params": {feature: EXAMPLES[feature]}}


EXAMPLES: dict[str, Any] = {
    "schema": {"type": "object"}, "temperature": 0.2, "effort": "low", "presence_penalty": 0.5, "seed": 7,
    "frequency_penalty": 0.5, "stop_sequences": ["END"], "parallel_tool_calls": False, "strict": True,
    STREAM_OPTIONS: None,
}  # fmt: skip
