"""Dialects without a server: which one a host speaks, how tags are found in a stream, what odd servers say."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish.errors import InvalidAddress, InvalidArgument, UnknownFormat
from headish.providers import Stream, parse_response, prepare_request
from headish.providers.dialects.choosing import choose_dialect, describe_dialect
from headish.providers.dialects.table import DIALECTS
from headish.providers.dialects.tags import TagSplitter
from headish.providers.pointers import decode_pointer, encode_pointer, make_pointer
from headish.values.blocks import Text, Thinking, to_mapping

CONTENTS = st.lists(
    st.sampled_from(["<think>", "</think>", "<thi", "nk>", "</", "<", ">", "\n", " ", "Hm.", "a", "think", "é"])
).map("".join)


def chunk(delta: dict[str, Any], stop: str | None = None) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": stop}]}


class TestTheHostTells:
    @pytest.mark.parametrize(
        ("base_url", "name"),
        [
            ("https://api.deepseek.com/v1", "deepseek"),
            ("https://API.DeepSeek.com", "deepseek"),
            ("https://api.deepseek.com./v1", "deepseek"),
            ("https://deepseek.com.evil.example/v1", "openai"),
            ("https://api.deepseek.com.evil.example/v1", "openai"),
            ("https://evil-api.deepseek.com.example", "openai"),
            ("https://notapi.deepseek.com", "openai"),
            ("https://example.com/api.deepseek.com", "openai"),
            ("https://me.openai.azure.com/openai/v1", "azure"),
            ("https://openai.azure.com.evil.example", "openai"),
            ("https://evilopenai.azure.com", "openai"),
            ("http://127.0.0.1:11434/v1", "ollama"),
            ("http://localhost:11434/v1", "ollama"),
            ("http://[::1]:1234/v1", "lmstudio"),
            ("https://example.com:11434/v1", "openai"),
            ("http://127.0.0.1:8000/v1", "openai"),
        ],
    )
    def test_and_one_that_only_looks_like_anothers_does_not(self, base_url: str, name: str) -> None:
        spoken = choose_dialect("openai", base_url)
        assert spoken is not None
        assert spoken.name == name

    def test_no_host_is_that_of_two(self) -> None:
        hosts = [host for dialect in DIALECTS.values() for host in dialect.hosts]
        assert len(hosts) == len(set(hosts))

    def test_a_name_wins_and_is_checked(self) -> None:
        assert make_pointer("openai/m", base_url="https://api.deepseek.com", dialect="vllm").spoken is not None
        with pytest.raises(UnknownFormat, match="unknown dialect 'klingon': known are openai, azure, deepseek"):
            make_pointer("openai/m", dialect="klingon")
        with pytest.raises(InvalidArgument, match="anthropic has no dialects"):
            make_pointer("anthropic/m", dialect="vllm")
        with pytest.raises(InvalidArgument, match="gemini has no dialects"):
            prepare_request("gemini", {"messages": []}, dialect="vllm")
        with pytest.raises(InvalidAddress):
            choose_dialect("openai", "https://user@api.deepseek.com")

    def test_a_pointer_without_one_is_stored_as_before(self) -> None:
        pointer = make_pointer("openai/m", base_url="https://api.deepseek.com")
        assert encode_pointer(pointer) == b'{"provider":"openai","model":"m","base_url":"https://api.deepseek.com"}'
        assert decode_pointer(encode_pointer(make_pointer("openai/m", dialect="vllm"))).dialect == "vllm"


class TestTags:
    @given(content=CONTENTS, cuts=st.lists(st.integers(0, 60)))
    def test_nothing_is_lost_however_the_content_is_cut(self, content: str, cuts: list[int]) -> None:
        places = [0, *sorted(cuts), len(content)]
        splitter = TagSplitter(("think",))
        pieces = [piece for start, end in pairwise(places) for piece in splitter.feed(content[start:end])]
        pieces += splitter.flush()
        assert "".join(f"{piece.opened or ''}{piece.text}{piece.closed or ''}" for piece in pieces) == content
        whole = TagSplitter(("think",))
        again = [*whole.feed(content), *whole.flush()]
        for thought in (True, False):
            said = ["".join(each.text for each in found if each.is_thought is thought) for found in (pieces, again)]
            assert said[0] == said[1]

    def test_only_a_content_that_begins_with_a_tag_has_one(self) -> None:
        splitter = TagSplitter(("think",))
        said = [*splitter.feed("The tag <think>"), *splitter.feed(" opens, </think> closes."), *splitter.flush()]
        assert not any(piece.is_thought for piece in said)

    def test_endless_white_space_is_not_held_back(self) -> None:
        splitter = TagSplitter(("think",))
        said = [piece.text for _ in range(5000) for piece in splitter.feed(" ")]
        assert len("".join(said)) > 4000
        splitter = TagSplitter(("think",))
        opened = [*splitter.feed("<think>a</think>"), *(each for _ in range(5000) for each in splitter.feed("\n"))]
        assert len("".join(piece.text for piece in opened)) > 4000

    def test_a_call_that_interrupts_a_tag_loses_nothing(self) -> None:
        stream = Stream("openai", dialect="minimax")
        stream.feed(chunk({"content": "<think>Hm</thi"}))
        call = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{}"}}
        shown = stream.feed(chunk({"tool_calls": [call]}, "tool_calls"))
        assert shown[0].content == "</thi"
        thought, called = stream.finish().content
        assert isinstance(thought, Thinking)
        assert thought.text == "Hm</thi"
        assert to_mapping(called)["name"] == "f"

    def test_an_answer_that_is_a_beginning_of_a_tag_is_shown_at_its_end(self) -> None:
        stream = Stream("openai", dialect="minimax")
        assert stream.feed(chunk({"content": "<thi"})) == []
        assert [delta.content for delta in stream.feed(chunk({}, "stop"))] == ["<thi"]
        assert [to_mapping(block) for block in stream.finish().content] == [{"type": "text", "text": "<thi"}]

    def test_elsewhere_tags_are_text(self) -> None:
        reply = parse_response("openai", chunk({"content": "<think>Hm.</think>So."}, "stop"))
        assert reply.content == (Text("<think>Hm.</think>So."),)


class TestReasoningUnderBothKeys:
    def test_that_says_the_same_is_said_once(self) -> None:
        reply = parse_response("openai", chunk({"reasoning": "Hm.", "reasoning_content": "Hm.", "content": "So."}))
        assert [type(block) for block in reply.content] == [Thinking, Text]

    def test_that_differs_is_kept_twice_and_goes_back_where_keys_go_back(self) -> None:
        said = {"reasoning": "In short.", "reasoning_content": "At length.", "content": "So."}
        reply = parse_response("openai", chunk(said, "stop"))
        messages = [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": list(map(to_mapping, reply.content))},
        ]
        body = prepare_request("openai", {"messages": messages}, dialect="litellm").body
        assert body["messages"][1] == {"role": "assistant", **said}


def test_every_dialect_is_told_in_sentences() -> None:
    assert describe_dialect("deepseek")[0] == (
        "reasoning goes back as reasoning_content, in every answer, empty where nothing was thought"
    )
    assert all(describe_dialect(name) for name in DIALECTS)


def test_a_whole_message_beside_an_empty_delta_repeats_the_pieces_and_is_not_read_again() -> None:
    stream = Stream("openai")
    stream.feed(chunk({"role": "assistant", "content": "Hello."}))
    last = chunk({}, "stop")
    last["choices"][0]["message"] = {"role": "assistant", "content": "Hello."}
    stream.feed(last)
    assert stream.finish().content == (Text("Hello."),)
    assert parse_response("openai", last).content == (Text("Hello."),)
