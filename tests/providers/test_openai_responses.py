"""Requests of OpenAI's Responses API: whatever a thread holds, a body that the API takes, or a refusal by name."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish import ContextWindow, Message
from headish.errors import Unsupported
from headish.providers import lint, prepare_request
from headish.providers.shared.ledger import INTERRUPTED
from headish.values.blocks import ContentBlock, ProviderBlock, Text, Thinking, ToolUse
from support.later import Later
from support.loopback import Loopback
from support.providers.emitted import calls, documents, results, texts, windows
from support.providers.responses_requests import (
    DOCX,
    FUNCTION,
    PROVIDER,
    REASONING,
    SEARCH,
    SHELL,
    SHELL_OUTPUT,
    USER,
    WEATHER,
    call,
    document,
    notes,
    own,
    refused,
    request,
    result,
    said,
    text,
    thought,
)
from support.providers.rules_openai_responses import check_openai_responses, refusal_of_the_sdk

openai = Later("openai")
ALLOWED = (
    "text of a tool", "a tool call of role", "without a message", "a document", "not base64", "not UTF-8",
    "an empty document", "reasoning of role", "a block of its own", "a block of type",
)  # fmt: skip
_reasoning = st.sampled_from(
    [
        REASONING, {**REASONING, "status": None, "content": None}, {**REASONING, "encrypted_content": None}, {},
        {"type": "reasoning", "encrypted_content": "gAAAA", "id": "rs_2", "summary": None}, None,
    ]
)  # fmt: skip
_beside = st.sampled_from([{}, {"phase": "commentary"}, {"phase": "loud"}, {"annotations": [{}]}, None, 3])
_own_items = st.sampled_from([SEARCH, SHELL, SHELL_OUTPUT, SHELL_OUTPUT, {}, {**SHELL, "call_id": "k2"}, FUNCTION]).map(
    lambda data: ProviderBlock(PROVIDER, data)
)
_said = (
    st.builds(lambda text, own: Text(text, opaque={PROVIDER: own}), texts, _beside)
    | st.builds(lambda item: Thinking("Hm.", provider=PROVIDER, opaque={PROVIDER: item}), _reasoning)
    | st.just(ToolUse("weather", "c1", {}, opaque={PROVIDER: {"namespace": "geo", "caller": {"type": "direct"}}}))
    | _own_items
    | calls
)


def _messages(role: str, block: st.SearchStrategy[Any]) -> st.SearchStrategy[Message]:
    content: st.SearchStrategy[tuple[ContentBlock, ...]] = st.lists(block, max_size=5).map(tuple)
    return st.builds(Message, role=st.just(role), content=content, cache=st.booleans())


own_windows = st.builds(
    ContextWindow,
    st.lists(
        _messages("user", st.builds(Text, texts) | documents | results | _own_items)
        | _messages("assistant", _said)
        | _messages("tool", results)
        | _messages("developer", st.builds(Text, texts)),
        max_size=7,
    ).map(tuple),
    st.just({}),
)
"""Threads that the API itself went on in."""


class TestEveryThread:
    @given(
        window=windows() | own_windows,
        settings=st.sampled_from([{}, {"cache_breakpoints": True}, {"stream": False, "tools": [WEATHER]}]),
    )
    def test_it_is_a_valid_request_or_is_refused(self, window: ContextWindow, settings: dict[str, Any]) -> None:
        before = copy.deepcopy(window)
        try:
            prepared = prepare_request(PROVIDER, window, **settings)
        except Unsupported as error:
            assert any(reason in str(error) for reason in ALLOWED), str(error)
            return
        check_openai_responses(prepared.body)
        assert window == before
        assert prepare_request(PROVIDER, window, **settings) == prepared
        assert json.loads(json.dumps(prepared.body)) == prepared.body
        assert [origin.place for origin in prepared.origins] == [
            f"input[{index}]" for index in range(len(prepared.body["input"]))
        ]

    @given(window=windows() | own_windows)
    def test_the_sdk_knows_all_of_it(self, window: ContextWindow) -> None:
        try:
            body = prepare_request(PROVIDER, window, tools=[WEATHER]).body
        except Unsupported:
            return
        items = [item for item in body["input"] if item.get("type") != "redacted_thinking"]
        assert refusal_of_the_sdk({**body, "input": items}) is None

    @given(window=windows(odd_too=False) | own_windows, marked=st.booleans())
    def test_what_was_sent_is_the_beginning_of_what_is_sent_later(self, window: ContextWindow, marked: bool) -> None:
        bodies = [self._sent(window, count, marked) for count in range(1, len(window.messages) + 1)]
        for earlier, later in pairwise(bodies):
            if earlier is None or later is None or any(INTERRUPTED in item for item in earlier):
                continue  # an interrupted call whose result comes after all is a permitted break
            assert later[: len(earlier)] == earlier

    def _sent(self, window: ContextWindow, count: int, marked: bool) -> list[str] | None:
        """The items of a window's beginning, less the cache marks.

        Without the calls of the provider's own that a client answers: one whose output comes later is an interrupted
        call, too.
        """
        messages = tuple(message for message in window.messages if not any(map(_is_client_call, message.content)))
        try:
            part = ContextWindow(messages[:count], {})
            body = prepare_request(PROVIDER, part, cache_breakpoints=marked).body
        except Unsupported:
            return None
        return [json.dumps(item).replace(', "prompt_cache_breakpoint": {"mode": "explicit"}', "") for item in
                body["input"]]  # fmt: skip


def _is_client_call(block: ContentBlock) -> bool:
    return isinstance(block, ProviderBlock) and "custom" in json.dumps(block.data)


class TestBody:
    def test_nothing_is_stored_and_reasoning_comes_back_encrypted(self) -> None:
        assert request([USER], model="gpt-6").body == {
            "model": "gpt-6",
            "stream": True,
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "input": [{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}],
        }

    def test_parameters_stand_where_the_api_has_them(self) -> None:
        params = {"max_tokens": 9, "temperature": 0.5, "effort": "low", "schema": {"title": "Answer", "type": "object"}}
        body = request([USER], {"params": params}, stream=False).body
        assert (body["max_output_tokens"], body["temperature"], body["reasoning"]) == (9, 0.5, {"effort": "low"})
        assert body["text"]["format"]["name"] == "Answer"
        assert body["stream"] is False

    def test_what_is_sent_by_default_can_be_set(self) -> None:
        more = ["reasoning.encrypted_content", "web_search_call.action.sources"]
        assert request([USER], {"params": {"include": more}}).body["include"] == more
        assert request([USER], {"params": {PROVIDER: {"include": []}}}).body["include"] == []
        assert request([USER], {"params": {PROVIDER: {"store": True}}}).body["store"] is True
        unset = {"store": True, PROVIDER: {"store": None, "include": None}}
        assert request([USER], {"params": unset}).body == request([USER]).body

    def test_a_parameters_own_form_is_merged_with_the_common_one(self) -> None:
        params = {"effort": "high", "reasoning": {"summary": "auto"}, PROVIDER: {"reasoning": {"mode": "pro"}}}
        assert request([USER], {"params": params}).body["reasoning"] == {
            "effort": "high", "summary": "auto", "mode": "pro"
        }  # fmt: skip

    def test_an_effort_that_there_is_not_is_refused(self) -> None:
        assert "the reasoning effort 'huge'" in refused([USER], {"params": {"effort": "huge"}})

    @pytest.mark.parametrize("name", ["seed", "stop_sequences", "top_k", "frequency_penalty"])
    def test_what_the_api_has_no_parameter_for_is_refused(self, name: str) -> None:
        value = ["x"] if name == "stop_sequences" else 1
        assert f"params.{name}: its requests have no such parameter" in refused([USER], {"params": {name: value}})

    @pytest.mark.parametrize(
        "key", ["input", "instructions", "model", "stream", "previous_response_id", "conversation"]
    )
    def test_what_the_thread_says_cannot_be_said_by_a_parameter(self, key: str) -> None:
        assert "that is what the thread says" in refused([USER], {"params": {PROVIDER: {key: "x"}}})

    def test_what_belongs_to_a_stream_goes_with_it(self) -> None:
        options = {"params": {PROVIDER: {"stream_options": {"include_obfuscation": False}}}}
        assert request([USER], options).body["stream_options"] == {"include_obfuscation": False}
        prepared = request([USER], options, stream=False)
        assert "stream_options" not in prepared.body
        assert notes(prepared) == ["the option params.stream_options is not sent: the answer is not streamed"]


class TestCacheFlags:
    flagged = [{**USER, "cache": True} for _ in range(6)]

    def test_they_are_not_sent_unless_asked(self) -> None:
        prepared = request(self.flagged)
        assert "prompt_cache_breakpoint" not in json.dumps(prepared.body)
        assert notes(prepared) == ["6 cache flags are not sent: openai_responses caches by itself"]

    def test_the_last_four_become_breakpoints(self) -> None:
        prepared = request(self.flagged, cache_breakpoints=True)
        marks = ["prompt_cache_breakpoint" in item["content"][-1] for item in prepared.body["input"]]
        assert marks == [False, False, True, True, True, True]
        assert notes(prepared) == ["the first 2 of 6 cache flags are left out: 4 fit"]

    def test_an_answer_takes_none(self) -> None:
        prepared = request([USER, {**said("Yes."), "cache": True}], cache_breakpoints=True)
        assert "1 cache flag left out: nothing of the message can be marked" in notes(prepared)

    def test_the_window_stays_as_it_was(self) -> None:
        block = own({"type": "input_text", "text": "Hi"})
        messages = [{"role": "user", "content": [block], "cache": True}]
        before = copy.deepcopy(messages)
        assert "prompt_cache_breakpoint" in request(messages, cache_breakpoints=True).body["input"][0]["content"][0]
        assert messages == before


def bodies() -> Iterator[dict[str, Any]]:
    """Requests with every kind of block at every place, tools and parameters."""
    commentary = {**text("So."), "opaque": {PROVIDER: {"phase": "commentary"}}}
    thread = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": ["Look.", document("image/png"), document("application/pdf"), document(DOCX)]},
        said(thought(), own(SEARCH), commentary, call(), call("c2")),
        {"role": "tool", "content": [result(text("Snow."), document("image/png"))["content"][0],
                                     result(id="c2", is_error=True)["content"][0]]},
        {"role": "developer", "content": "In German."},
        said(own(SHELL)),
        {"role": "user", "content": [own(SHELL_OUTPUT), "Thanks."], "cache": True},
    ]  # fmt: skip
    options = {"search": True, "tool_mode": "any", "params": {"max_tokens": 9, "effort": "low", "text": {}}}
    yield request(thread, model="gpt-6", stream=False).body
    yield request(thread, options, model="gpt-6", stream=False, tools=[WEATHER], cache_breakpoints=True).body
    yield request(
        [USER], {"params": {"schema": {"type": "object"}, "metadata": {"a": "b"}}}, model="m", stream=False
    ).body


@pytest.mark.slow
def test_the_client_of_the_sdk_sends_the_body_as_it_is() -> None:
    answer = {"id": "resp_1", "object": "response", "status": "completed", "model": "m", "output": []}
    with Loopback() as server:
        client = openai.OpenAI(api_key="none", base_url=server.url, max_retries=0)
        for body in bodies():
            server.answer_json(answer)
            client.responses.create(**body)
            assert server.requests[-1].path == "/responses"
            assert server.requests[-1].body == body


def test_the_rules_and_the_types_refuse_what_is_wrong() -> None:
    """The judges can fail."""
    body = next(bodies())
    broken: list[dict[str, Any]] = [copy.deepcopy(body) for _ in range(4)]
    broken[0]["surprise"] = 1
    broken[1]["input"][0]["content"][0]["surprise"] = 1
    broken[2]["input"][1]["content"][0]["text"] = 7
    broken[3]["input"] = [{"type": "function_call", "name": "f", "arguments": {}}]
    for each in broken:
        assert refusal_of_the_sdk(each)
    for kind in ("function_call", "function_call_output"):
        less = {**body, "input": [item for item in body["input"] if item.get("type") != kind]}
        with pytest.raises(AssertionError):
            check_openai_responses(less)
    cut = {**body, "input": body["input"][: [item.get("type") for item in body["input"]].index("reasoning") + 1]}
    with pytest.raises(AssertionError):
        check_openai_responses(cut)


def test_lint_says_the_same_without_a_request() -> None:
    findings = lint(
        PROVIDER, {"messages": [USER, said(thought(), " "), {"role": "user", "content": [document("x/y")]}]}
    )
    assert [(finding.kind, finding.what) for finding in findings] == [
        ("refused", "a document of type x/y"),
        ("note", "a blank text is left out"),
        ("note", "reasoning without what it led to is left out"),
    ]


def test_a_document_inside_a_result_is_read_by_the_same_rules() -> None:
    assert "a document of type audio/wav" in refused([USER, said(call()), result(document("audio/wav"))])
