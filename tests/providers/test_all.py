"""What holds for every provider: a thread moves from any to any other, and gives the same bytes everywhere.

The threads: what every provider was recorded to answer (from where the recordings lie, and our own cases), continued.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from headish import ContextWindow, Message
from headish.errors import InvalidArgument, UnknownFormat, Unsupported
from headish.providers import PROVIDERS, Reply, Stream, lint, parse_response, prepare_request
from headish.providers.events.decoder import read_events
from headish.providers.registry import find_provider
from headish.values.blocks import Base64Source, ContentBlock, Document, Text, Thinking, ToolResult, ToolUse
from support.providers.emitted import windows
from support.shared import SHARED, needs_shared

RECORDED = SHARED / "fixtures" / "providers" / "response-stream"
OWN = Path(__file__).parent / "cases"
USER = Message(role="user", content=(Text("Go on."),))


def recorded(root: Path) -> Iterator[tuple[str, Path]]:
    """``(provider, events)`` of every recording below a folder."""
    for path in sorted(root.glob("*/*/events.jsonl")):
        yield path.parent.parent.name, path


def read(provider: str, path: Path) -> Reply:
    stream = Stream(provider)
    for line in path.read_text().splitlines():
        if line:
            stream.feed(json.loads(line))
    return stream.finish()


def continued(reply: Reply) -> ContextWindow:
    """A question, the reply to it, what its calls gave, and the next question."""
    answer = Message(role="assistant", content=reply.content, turn=None)
    results = tuple(
        ToolResult(block.id, block.name, (Text("4"),)) for block in reply.content if isinstance(block, ToolUse)
    )
    answered = (Message(role="tool", content=results),) if results else ()
    return ContextWindow((USER, answer, *answered, USER), {})


def assert_it_goes_everywhere(provider: str, path: Path) -> None:
    window = continued(read(provider, path))
    for other in PROVIDERS:
        refused = [finding for finding in lint(other, window) if finding.kind == "refused"]
        assert not refused, (other, refused)


@needs_shared
@pytest.mark.parametrize(
    ("provider", "path"), list(recorded(RECORDED)), ids=lambda each: getattr(each, "parts", [each])[-2:][0]
)
def test_every_recorded_reply_is_continued_on_every_provider(provider: str, path: Path) -> None:
    assert_it_goes_everywhere(provider, path)


@needs_shared
def test_the_recordings_are_found() -> None:
    assert {provider for provider, _ in recorded(RECORDED)} == {"anthropic", "cerebras", "cohere", "gemini", "openai"}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_case_of_ours_is_continued_on_every_provider(provider: str) -> None:
    cases = [path for each, path in recorded(OWN) if each == provider]
    assert len(cases) >= 10
    for path in cases:
        assert_it_goes_everywhere(provider, path)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_reasoning_never_reaches_another_provider(provider: str) -> None:
    """Neither its words nor its signature, wherever it was made."""
    for maker in PROVIDERS:
        secret = Thinking("a secret", signature="c2lnbmF0dXJl", provider=maker, opaque={maker: {"own": "a secret"}})
        said = Text("Lima.", opaque={maker: {"citations": ["a secret"], "phase": "a secret"}})
        window = ContextWindow((USER, Message(role="assistant", content=(secret, said)), USER), {})
        body = json.dumps(prepare_request(provider, window).body)
        assert maker == provider or ("secret" not in body and "c2lnbmF0dXJl" not in body)


def content_blocks(provider: str, body: dict[str, Any]) -> list[str]:
    """What a body says, block by block in order, without cache marks: what a prompt cache compares (rule R19, every
    call has a result)."""
    found: list[str] = []
    for message in body[find_provider(provider).writer.list_name]:
        listed = message.get("content", message.get("parts"))
        about = {key: value for key, value in message.items() if key not in ("content", "parts", "tool_calls")}
        blocks = [*(listed if isinstance(listed, list) else [listed]), *message.get("tool_calls", ())]
        for block in blocks:
            marked = isinstance(block, dict)
            plain = {key: value for key, value in block.items() if key != "cache_control"} if marked else block
            found.append(json.dumps([about, plain]))
    return found


texts = st.builds(Text, st.text(min_size=1, max_size=5))
steps = st.lists(
    st.sampled_from(["user", "assistant", "call", "two calls", "system"]) | st.lists(texts, min_size=1, max_size=2),
    min_size=1,
    max_size=8,
)


def grow(drawn: list[Any]) -> list[list[Message]]:
    """Messages by steps of an append-only thread; a call and its results are one step (rule R19, every call has a
    result)."""
    grown: list[list[Message]] = []
    for index, step in enumerate(drawn):
        if isinstance(step, list):
            grown.append([Message(role="user", content=tuple(step))])
        elif step in ("call", "two calls"):
            names = ("f", "g")[: 1 if step == "call" else 2]
            calls: tuple[ContentBlock, ...] = tuple(ToolUse(name, f"{name}{index}", {"a": index}) for name in names)
            results = tuple(ToolResult(f"{name}{index}", name, (Text("4"),)) for name in reversed(names))
            grown.append([Message(role="assistant", content=calls), Message(role="tool", content=results)])
        else:
            grown.append([Message(role=step, content=(Text(f"{step} {index}"),), cache=index % 3 == 0)])
    return [[USER], *grown]


@pytest.mark.parametrize("provider", PROVIDERS)
@given(drawn=steps)
def test_an_append_leaves_what_was_sent_as_it_was(provider: str, drawn: list[Any]) -> None:
    grown = grow(drawn)
    before: list[str] = []
    for count in range(1, len(grown) + 1):
        messages = tuple(message for step in grown[:count] for message in step)
        now = content_blocks(provider, prepare_request(provider, ContextWindow(messages, {})).body)
        assert now[: len(before)] == before
        before = now


@pytest.mark.parametrize("provider", PROVIDERS)
@given(window=windows())
@settings(max_examples=25)
def test_a_window_is_sent_or_refused_and_lint_says_which(provider: str, window: ContextWindow) -> None:
    findings = lint(provider, window)
    refused = [finding.what for finding in findings if finding.kind == "refused"]
    try:
        prepared = prepare_request(provider, window)
    except Unsupported as error:
        assert error.what == refused[0]
    else:
        assert not refused
        assert [note.what for note in prepared.notes] == [finding.what for finding in findings]


@pytest.mark.slow
def test_requests_are_the_same_under_every_hash_seed() -> None:
    """In processes of their own: what depends on the order of a set or on an address differs between them."""
    script = Path(__file__).parents[1] / "support" / "providers" / "seeded.py"
    digests = set()
    for seed in ("0", "1", "4711"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(script.parents[2])}
        done = subprocess.run(
            [sys.executable, str(script)], env=environment, capture_output=True, text=True, check=True, timeout=120
        )
        digests.add(done.stdout)
    assert len(digests) == 1


class TestWhatAWindowMayBe:
    record: dict[str, Any] = {
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
        "options": {"params": {"max_tokens": 9}},
    }

    @pytest.mark.parametrize("provider", PROVIDERS)
    def test_its_json_is_as_good_and_is_left_as_it_is(self, provider: str) -> None:
        before = json.dumps(self.record)
        window = ContextWindow((Message(role="user", content=(Text("Hi"),)),), self.record["options"])
        assert prepare_request(provider, self.record) == prepare_request(provider, window)
        assert json.dumps(self.record) == before

    @pytest.mark.parametrize(
        "window", [None, [], {}, {"messages": 1}, {"messages": [1]}, {"messages": [{"role": 1, "content": "x"}]},
                   {"messages": [], "options": 1}, {"messages": [{"role": "user"}]}]
    )  # fmt: skip
    def test_anything_else_is_refused(self, window: Any) -> None:
        with pytest.raises(InvalidArgument, match="window"):
            prepare_request("anthropic", window)

    def test_an_unknown_provider_or_setting_is_refused(self) -> None:
        with pytest.raises(UnknownFormat, match="unknown provider 'nobody'"):
            lint("nobody", self.record)
        with pytest.raises(InvalidArgument, match="a setting of the request cannot be taken"):
            prepare_request("anthropic", self.record, stream="yes")

    @pytest.mark.parametrize("role", ["narrator", None])
    @pytest.mark.parametrize("provider", PROVIDERS)
    def test_a_role_that_nobody_knows_is_refused(self, provider: str, role: str | None) -> None:
        """Also with a document that is text, in which no role is looked at."""
        note = Document(Base64Source("text/plain", "SGk="))
        with pytest.raises(Unsupported, match=f"a message of role {role!r}"):
            prepare_request(provider, ContextWindow((USER, Message(role=role, content=(note,))), {}))

    @pytest.mark.parametrize("search", [0, 1, 0.0, "yes"])
    @pytest.mark.parametrize("provider", PROVIDERS)
    def test_a_switch_that_is_a_number_is_refused(self, provider: str, search: Any) -> None:
        with pytest.raises(Unsupported, match=f"the option search={search!r}"):
            prepare_request(provider, {**self.record, "options": {"search": search}})


class TestCallsOfOneId:
    """Some servers give every call of an answer the same id."""

    calls = Message(role="assistant", content=(ToolUse("f", "x", {"a": 1}), ToolUse("g", "x", {"a": 2})))

    @pytest.mark.parametrize("named", [True, False])
    @pytest.mark.parametrize("provider", PROVIDERS)
    def test_their_results_are_told_apart_by_name_and_order(self, provider: str, named: bool) -> None:
        results = tuple(ToolResult("x", name if named else None, (Text(f"of {name}"),)) for name in ("f", "g"))
        window = ContextWindow((USER, self.calls, Message(role="tool", content=results)), {})
        prepared = prepare_request(provider, window)
        told = [json.dumps(message) for message in prepared.body[find_provider(provider).writer.list_name][2:]]
        said = "".join(told)
        assert said.index("of f") < said.index("of g")
        assert not [note for note in prepared.notes if "no result" in note.what or "no open call" in note.what]

    def test_a_result_by_another_name_finds_the_older_call_of_its_id(self) -> None:
        older = Message(role="assistant", content=(ToolUse("f", "x", {}),))
        newer = Message(role="assistant", content=(ToolUse("g", "x", {}),))
        result = Message(role="tool", content=(ToolResult("x", "f", (Text("of f"),)),))
        body = prepare_request("openai", ContextWindow((USER, older, newer, result), {})).body
        assert body["messages"][2] == {"role": "tool", "tool_call_id": "x", "content": "of f"}


def chat_calls(reason: str, *calls: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": None, "tool_calls": list(calls)}
    return {"object": "chat.completion", "choices": [{"index": 0, "finish_reason": reason, "message": message}]}


def responses_calls(reason: str, *items: dict[str, Any]) -> dict[str, Any]:
    ended = "completed" if reason == "completed" else "incomplete"
    return {"object": "response", "status": ended, "incomplete_details": {"reason": reason}, "output": list(items)}


NAMED = {"type": "tool_use", "id": "c1", "name": "wipe", "input": {}}
FUNCTION = {"id": "c1", "type": "function", "function": {"name": "wipe", "arguments": ""}}
CUSTOM = {"id": "c1", "type": "custom", "custom": {"name": "shell", "input": "rm -r /"}}
ITEM = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "wipe", "arguments": ""}
CUSTOM_ITEM = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "shell", "input": "rm -r /"}


class TestACallInWhichALimitEndedTheAnswer:
    """Half of an object shows that it is half of one; no arguments and text do not."""

    @pytest.mark.parametrize(
        ("provider", "response"),
        [
            ("anthropic", {"type": "message", "content": [NAMED], "stop_reason": "max_tokens"}),
            ("anthropic", {"type": "message", "content": [NAMED], "stop_reason": "stop_sequence"}),
            ("openai", chat_calls("length", FUNCTION)),
            ("openai", chat_calls("length", CUSTOM)),
            ("openai", chat_calls("content_filter", FUNCTION)),
            ("cerebras", chat_calls("length", FUNCTION)),
            ("cohere", {"finish_reason": "MAX_TOKENS", "message": {"tool_calls": [FUNCTION]}}),
            ("openai_responses", responses_calls("max_output_tokens", ITEM)),
            ("openai_responses", responses_calls("max_output_tokens", CUSTOM_ITEM)),
        ],
    )
    def test_is_not_taken_for_a_whole_one(self, provider: str, response: dict[str, Any]) -> None:
        [call] = parse_response(provider, response).content
        assert isinstance(call, ToolUse)
        assert (call.partial, call.input) == (True, UNSET)
        assert call.raw in ("", "rm -r /")

    @pytest.mark.parametrize(
        ("provider", "response"),
        [
            ("anthropic", {"type": "message", "content": [NAMED, NAMED | {"id": "c2"}], "stop_reason": "max_tokens"}),
            ("anthropic", {"type": "message", "content": [NAMED], "stop_reason": "tool_use"}),
            ("openai", chat_calls("length", FUNCTION, FUNCTION | {"id": "c2"})),
            ("openai", chat_calls("tool_calls", FUNCTION)),
            ("openai", chat_calls("tool_calls", CUSTOM)),
            ("cohere", {"finish_reason": "TOOL_CALL", "message": {"tool_calls": [FUNCTION]}}),
            ("openai_responses", responses_calls("completed", ITEM)),
            ("openai_responses", responses_calls("completed", CUSTOM_ITEM)),
        ],
    )
    def test_leaves_the_calls_before_it_and_those_of_other_answers_whole(
        self, provider: str, response: dict[str, Any]
    ) -> None:
        call = parse_response(provider, response).content[0]
        assert isinstance(call, ToolUse)
        assert not call.partial


LARGE = 10**400
"""Larger than any floating point number."""


TEXT, ARGUMENTS = ("a\ud83d", "\ude00b"), ('{"a":"\ud83d', '\ude00"}')
CALL = {"id": "c1", "type": "function", "function": {"name": "f"}}
HALVES: dict[str, list[dict[str, Any]]] = {
    "anthropic": [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": each}} for each in TEXT),
        {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "c1", "name": "f"}},
        *({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": each}}
          for each in ARGUMENTS),
    ],
    "openai": [
        *({"choices": [{"index": 0, "delta": {"content": each}}]} for each in TEXT),
        {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, **CALL}]}}]},
        *({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": each}}]}}]}
          for each in ARGUMENTS),
    ],
    "gemini": [{"candidates": [{"content": {"role": "model", "parts": [{"text": each}]}}]} for each in TEXT],
    "cohere": [
        {"type": "content-start", "index": 0, "delta": {"message": {"content": {"type": "text", "text": ""}}}},
        *({"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": each}}}} for each in TEXT),
        {"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": CALL}}},
        *({"type": "tool-call-delta", "index": 0,
           "delta": {"message": {"tool_calls": {"function": {"arguments": each}}}}} for each in ARGUMENTS),
    ],
}  # fmt: skip
HALVES["cerebras"] = HALVES["openai"]


class TestOddAnswers:
    @pytest.mark.parametrize(
        ("provider", "response"),
        [
            ("anthropic", {"type": "message", "usage": {"input_tokens": LARGE}}),
            ("openai", {"object": "chat.completion", "choices": [], "usage": {"prompt_tokens": LARGE}}),
            ("openai_responses", {"output": [], "usage": {"input_tokens": LARGE}}),
            ("gemini", {"candidates": [], "usageMetadata": {"promptTokenCount": LARGE}}),
            ("cohere", {"finish_reason": "COMPLETE", "usage": {"tokens": {"input_tokens": LARGE}}}),
            ("cerebras", {"object": "chat.completion", "choices": [], "usage": {"prompt_tokens": LARGE}}),
        ],
    )
    def test_a_count_that_no_64_bits_hold_is_none(self, provider: str, response: dict[str, Any]) -> None:
        assert parse_response(provider, response).usage is None

    @pytest.mark.parametrize("provider", PROVIDERS)
    def test_an_event_that_says_nothing_we_know_is_kept(self, provider: str) -> None:
        stream = Stream(provider)
        assert stream.feed({"weather": "fine"}) == []
        reply = stream.finish()
        assert reply.details["unknown_events"] == [{"weather": "fine"}]
        assert reply.incomplete
        assert reply == parse_response(provider, {"weather": "fine"})

    @pytest.mark.parametrize("provider", ["anthropic", "openai", "cerebras", "gemini", "cohere"])
    def test_two_halves_of_a_character_are_one_and_nothing_is_said_to_be_replaced(self, provider: str) -> None:
        """Some gateways cut text between UTF-16 units, arguments of calls too."""
        stream = Stream(provider)
        for event in HALVES[provider]:
            stream.feed(event)
        reply = stream.finish()
        said = [block.input if isinstance(block, ToolUse) else block for block in reply.content]
        assert said == [Text("a\U0001f600b"), {"a": "\U0001f600"}][: len(said)]
        assert reply.notes == ()

    @pytest.mark.parametrize("provider", ["openai", "cerebras"])
    def test_an_event_that_is_named_an_error_is_one(self, provider: str) -> None:
        chunk = b'data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n'
        stream = Stream(provider)
        for event in read_events(chunk + b'event: error\ndata: {"message":"Overloaded"}\n\n'):
            stream.feed(event)
        reply = stream.finish()
        assert (reply.stop_reason, reply.error) == ("error", {"type": "error", "message": "Overloaded"})
        assert reply.content == (Text("Hi"),)

    @pytest.mark.parametrize("provider", PROVIDERS)
    def test_an_error_without_a_type_is_one(self, provider: str) -> None:
        stream = Stream(provider)
        stream.feed({"error": {"message": "overloaded"}})
        reply = stream.finish()
        assert (reply.stop_reason, reply.error) == ("error", {"message": "overloaded"})
        assert reply == parse_response(provider, {"error": {"message": "overloaded"}})
