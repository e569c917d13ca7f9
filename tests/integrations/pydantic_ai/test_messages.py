"""Messages of Pydantic AI as turns: each comes back equal, and is read by people."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from support.frameworks import not_installed

pytest.importorskip("pydantic_ai.conversation_store", reason=not_installed("pydantic-ai"))

from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from headish.content.encoding import decode_payload, encode_payload
from headish.integrations.pydantic_ai import messages
from headish.values.blocks import Text, join_texts

pytestmark = [pytest.mark.peers, pytest.mark.xdist_group("pydantic-ai")]

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    SAID: list[Any] = [
        ModelRequest(parts=[UserPromptPart("hello")]),
        ModelRequest(parts=[SystemPromptPart("be brief")]),
        ModelRequest(parts=[SystemPromptPart("be brief"), UserPromptPart("hello")], instructions="answer"),
        ModelRequest(
            parts=[
                UserPromptPart(
                    ["look", ImageUrl(url="https://x.y/z.png"), BinaryContent(data=b"\x00\x01", media_type="image/png")]
                ),
                UserPromptPart(""),
                UserPromptPart([]),
            ]
        ),
        ModelResponse(parts=[]),
        ModelResponse(
            parts=[
                ThinkingPart("hm", signature="s", provider_name="anthropic"),
                ThinkingPart(""),
                TextPart("hello"),
                ToolCallPart("weather", {"city": "Paris"}, "c1"),
                ToolCallPart("weather", '{"city": "Paris"}', "c2"),
                ToolCallPart("weather", '{"city":"Paris"}', "c3"),
                ToolCallPart("weather", '{"city', "c4"),
                ToolCallPart("weather", None, "c5"),
            ],
            usage=RequestUsage(input_tokens=3, output_tokens=4, details={"reasoning": 1}),
            model_name="m",
            provider_details={"api_key_id": 5},
        ),
        ModelRequest(
            parts=[
                ToolReturnPart("weather", "rain", "c1"),
                ToolReturnPart("weather", {"rain": [1, None, {"é": 2.5}]}, "c2", metadata={"k": 1}),
                ToolReturnPart("weather", "", "c3", outcome="failed"),
            ]
        ),
        ModelRequest(
            parts=[ToolReturnPart("weather", None, "c1"), RetryPromptPart("again", tool_name="f", tool_call_id="c")]
        ),
    ]
    ODD: list[Any] = [
        ModelRequest(parts=[UserPromptPart("kept")], metadata={"api_key": "sk-ant-0123456789abcdefghij0123"}),
        ModelRequest(parts=[UserPromptPart("kept")], metadata={"long": "x" * 1_100_000}),
    ]


def through(message: Any) -> tuple[messages.Written, Any]:
    written = messages.write(message)
    return written, messages.read(decode_payload(encode_payload(written.blocks)), written.app)


def dumped(message: Any) -> Any:
    return ModelMessagesTypeAdapter.dump_python([message], mode="json")


class TestAMessage:
    @pytest.mark.parametrize("message", SAID, ids=range(len(SAID)))
    def test_comes_back_from_its_blocks(self, message: Any) -> None:
        written, again = through(message)
        assert again == ModelMessagesTypeAdapter.validate_python(dumped(message))[0]
        assert "opaque" not in written.app["pydantic-ai"]

    @pytest.mark.parametrize("message", ODD, ids=range(len(ODD)))
    def test_that_no_turn_can_say_is_kept_whole(self, message: Any) -> None:
        written, again = through(message)
        assert dumped(again) == dumped(message)
        assert written.app["pydantic-ai"]["opaque"]
        assert join_texts(written.blocks) == "kept"

    @given(
        texts=st.lists(st.text(), max_size=4),
        args=st.none() | st.text() | st.dictionaries(st.text(), st.integers() | st.floats() | st.text(), max_size=3),
    )
    def test_of_any_content_comes_back_healed(self, texts: list[str], args: Any) -> None:
        parts = [*map(TextPart, texts), ToolCallPart("f", args, "c")]
        message = ModelResponse(parts=parts)
        assert repr(dumped(through(message)[1])) == repr([messages.dumped(message)[0]])

    def test_with_half_a_character_is_healed_and_says_so(self) -> None:
        written, again = through(ModelRequest(parts=[UserPromptPart("half \ud800")]))
        assert again.parts[0].content == "half \ufffd"
        assert written.app["pydantic-ai"]["healed"]

    def test_has_the_role_of_who_speaks(self) -> None:
        assert [messages.write(each).role for each in SAID] == [
            "user", "system", "user", "user", "assistant", "assistant", "tool", "user",
        ]  # fmt: skip
        assert messages.write(SAID[2]).blocks == (Text("hello"),)
