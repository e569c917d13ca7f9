"""Gemini's official SDK as the judge: it sends our bodies as they are, and reads the same answers as we do.

The SDK has no door for a body, so ours is taken apart into its own types, which forbid keys that they do not know, and
what its converters then send is compared. Its base64 has another alphabet (``-_``): the cases have neither of the two.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic.alias_generators import to_camel

from headish.providers import Stream, parse_response, prepare_request
from headish.values.blocks import Text, ToolUse
from support.later import Later
from support.loopback import Loopback, event_stream
from support.providers.rules_gemini import check_gemini
from support.shared import SHARED, needs_shared, read_request

pytestmark = pytest.mark.slow

genai = Later("google.genai")
types = Later("google.genai.types")
CASES = sorted(path for path in (Path(__file__).parent / "cases" / "gemini").iterdir() if path.is_dir())
PLAYED = [case for case in CASES if case.name not in ("unknown", "underscores") and "error" not in case.name]
"""What the SDK reads too: it raises for errors, and drops or refuses what it does not know."""
RECORDED = SHARED / "fixtures" / "providers"
STREAMS = ("cache-control", "document-image", "document-text", "mixed-content", "tool-search-only", "tool-use",
           "tool-with-outputschema")  # fmt: skip
PNG = b64encode(b"\x89PNG\r\n").decode()
TOOL = {
    "name": "weather",
    "description": "The weather.",
    "inputSchema": {"type": "object", "properties": {"place": {"type": "string", "format": "city"}}},
}
USER = {"role": "user", "content": "Hi"}


def _document(media_type: str, data: str = PNG) -> dict[str, Any]:
    return {"type": "document", "source": {"type": "base64", "media_type": media_type, "data": data}}


def _called(*content: Any, **result: Any) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": "c1", "name": "weather", "input": {"place": "Oslo"}}
    own = {**call, "id": "g2", "opaque": {"gemini": {"id": "g2", "thoughtSignature": "c2lnbmVk"}}}
    answer = {"type": "tool_result", "tool_use_id": "c1", "content": list(content), **result}
    return [
        USER,
        {"role": "assistant", "content": ["I look.", call, own]},
        {"role": "tool", "content": [answer, {**answer, "tool_use_id": "g2"}]},
    ]


def _own(**data: Any) -> list[dict[str, Any]]:
    return [USER, {"role": "assistant", "content": [{"type": "provider", "provider": "gemini", "data": data}]}, USER]


THREADS: dict[str, list[dict[str, Any]]] = {
    "text of all": [
        {"role": "system", "content": "Be brief."}, USER, {"role": "assistant", "content": "Hello."},
        {"role": "developer", "content": "In German."}, {"role": "user", "content": ["a", "b"]},
    ],
    "begins with the assistant": [{"role": "assistant", "content": "Hello."}],
    "png": [{"role": "user", "content": [_document("image/png")]}],
    "heic": [{"role": "user", "content": [_document("image/heic")]}],
    "pdf": [{"role": "user", "content": [_document("application/pdf"), "What is it?"]}],
    "texts as documents": [
        {"role": role, "content": [_document("text/plain", b64encode(b"abc").decode()), "So."]}
        for role in ("system", "user", "assistant", "user")
    ],
    "json": [{"role": "user", "content": [_document("application/json", b64encode(b"{}").decode())]}],
    "result": _called({"type": "text", "text": "Snow."}),
    "result of several texts": _called({"type": "text", "text": "Snow."}, {"type": "text", "text": "Ice."}),
    "result with a picture": _called({"type": "text", "text": "Look."}, _document("image/png")),
    "result with a pdf": _called(_document("application/pdf")),
    "failed result": _called({"type": "text", "text": "No."}, is_error=True),
    "empty result": _called(),
    "interrupted": _called()[:2],
    "orphan": [USER, {"role": "tool", "content": [{"type": "tool_result", "name": "f", "content": "1"}]}],
    "text beside results": [*_called()[:2], {"role": "user", "content": [*_called()[2]["content"], "Go on."]}],
    "thoughts": [
        USER,
        {"role": "assistant", "content": [
            {"type": "thinking", "text": "Hm.", "provider": "gemini", "signature": "SG1t"},
            {"type": "text", "text": "A", "opaque": {"gemini": {"thoughtSignature": "QUFB"}}},
            {"type": "text", "text": "", "opaque": {"gemini": {"thoughtSignature": "QkJC"}}},
        ]},
        USER,
    ],
    "code": _own(executableCode={"language": "PYTHON", "code": "1"}),
    "code's output": _own(codeExecutionResult={"outcome": "OUTCOME_OK", "output": "1"}),
    "generated picture": _own(inlineData={"mimeType": "image/png", "data": PNG}, thoughtSignature="UElD"),
    "a search's answer": _own(toolResponse={"toolType": "GOOGLE_SEARCH_WEB", "id": "s1", "response": {"a": 1}}),
    "a file of the server's": _own(fileData={"fileUri": "files/1", "mimeType": "video/mp4"}),
}  # fmt: skip
OPTIONS: dict[str, dict[str, Any]] = {
    "none": {},
    "search": {"search": True},
    "must": {"tool_mode": "any"},
    "named": {"tool_mode": "weather"},
    "params": {
        "params": {
            "max_tokens": 9, "temperature": 0.5, "top_p": 0.5, "top_k": 3, "seed": 4, "stop_sequences": ["x"],
            "effort": "low", "frequency_penalty": 0.5, "presence_penalty": 0.5, "schema": {"type": "object"},
            "gemini": {
                "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
                "generationConfig": {"thinkingConfig": {"includeThoughts": True}},
                "toolConfig": {"retrievalConfig": {"languageCode": "de"}},
                "tools": [{"codeExecution": {}}],
            },
        }
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with Loopback() as loopback:
        yield loopback


@pytest.fixture(scope="module")
def client(server: Loopback) -> Iterator[Any]:
    options = types.HttpOptions(base_url=server.url, api_version="v1beta", timeout=10_000)
    client = genai.Client(api_key="key", http_options=options)
    yield client
    client.close()


def sdk_request(body: dict[str, Any]) -> tuple[list[Any], Any]:
    """A body in the SDK's own types, each of which forbids what it does not know."""
    contents = [types.Content.model_validate_json(json.dumps(content)) for content in body["contents"]]
    rest = {key: value for key, value in body.items() if key not in ("contents", "generationConfig")}
    settings = {**rest, **body.get("generationConfig", {}), "automaticContinuation": False}
    return contents, types.GenerateContentConfig.model_validate_json(json.dumps(settings))


def camel_keys(value: Any) -> Any:
    """Below the first levels the SDK sends its own names, with underscores; the API takes both."""
    if isinstance(value, list):
        return [camel_keys(each) for each in value]
    return {to_camel(key): camel_keys(each) for key, each in value.items()} if isinstance(value, dict) else value


class TestRequests:
    @pytest.mark.parametrize(
        ("thread", "options"),
        [(thread, "none") for thread in THREADS] + [("result", each) for each in OPTIONS if each != "none"],
    )
    def test_the_sdk_sends_the_body_as_it_is(self, server: Loopback, client: Any, thread: str, options: str) -> None:
        window = {"messages": THREADS[thread], "options": OPTIONS[options]}
        body = prepare_request("gemini", window, tools=[TOOL], model="gemini-3-pro").body
        contents, config = sdk_request(body)
        server.answer(chunks=event_stream([{"candidates": [{"finishReason": "STOP"}]}]))
        list(client.models.generate_content_stream(model="gemini-3-pro", contents=contents, config=config))
        request = server.requests[-1]
        assert request.path == "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse"
        assert camel_keys(request.body) == {"generationConfig": {}, **body}


def play(server: Loopback, client: Any, events: list[dict[str, Any]]) -> list[Any]:
    """What the SDK makes of a stream."""
    server.answer(chunks=event_stream(events))
    config = types.GenerateContentConfig(automatic_continuation=False)
    return list(client.models.generate_content_stream(model="gemini-3-pro", contents="Hi", config=config))


def agree(events: list[dict[str, Any]], chunks: list[Any]) -> None:
    """Assert that the SDK and headish have read the same."""
    stream = Stream("gemini")
    for event in events:
        stream.feed(event)
    reply = stream.finish()
    texts = [chunk.text for chunk in chunks if chunk.candidates]
    assert "".join(text or "" for text in texts) == "".join(
        block.text for block in reply.content if isinstance(block, Text)
    )
    called = [call for chunk in chunks for call in chunk.function_calls or []]
    calls = [block for block in reply.content if isinstance(block, ToolUse)]
    assert [(call.name, call.args or {}) for call in called] == [(call.name, call.input) for call in calls]
    assert all(one.id in (None, other.id) for one, other in zip(called, calls, strict=True))
    reasons = [chunk.candidates[0].finish_reason for chunk in chunks if chunk.candidates]
    assert reply.details.get("promptFeedback") or reply.stop == next(
        (str(reason.value) for reason in reversed(reasons) if reason), None
    )
    assert reply.id == next((chunk.response_id for chunk in chunks if chunk.response_id), None)
    assert reply.model == chunks[-1].model_version
    usage = [
        chunk.usage_metadata for chunk in chunks if chunk.usage_metadata and chunk.usage_metadata.prompt_token_count
    ]
    if usage:
        said, counted = usage[-1], reply.usage
        assert counted is not None
        total = (counted.input_tokens or 0) + (counted.cache_read_input_tokens or 0) + (counted.output_tokens or 0)
        assert total == said.total_token_count
        assert counted.reasoning_tokens == said.thoughts_token_count


class TestReplies:
    @pytest.mark.parametrize("case", PLAYED, ids=lambda path: path.name)
    def test_the_sdk_reads_a_stream_as_we_do(self, server: Loopback, client: Any, case: Path) -> None:
        events = [json.loads(line) for line in (case / "events.jsonl").read_text().splitlines()]
        chunks = play(server, client, events)
        # The total of the first counts the other candidate, too; of the second, the SDK makes each piece a call.
        if case.name not in ("two-candidates", "streamed-calls"):
            agree(events, chunks)
        ours, theirs = Stream("gemini"), Stream("gemini")
        for event, chunk in zip(events, chunks, strict=True):
            assert ours.feed(event) == theirs.feed(chunk), "the SDK's objects are events as well"
        assert ours.finish().content == theirs.finish().content

    @pytest.mark.parametrize("case", PLAYED, ids=lambda path: path.name)
    def test_a_whole_response_of_the_sdk_is_one_too(self, server: Loopback, client: Any, case: Path) -> None:
        if not (case / "response.json").exists():
            return
        response = json.loads((case / "response.json").read_text())
        server.answer_json(response)
        config = types.GenerateContentConfig(automatic_continuation=False)
        whole = client.models.generate_content(model="gemini-3-pro", contents="Hi", config=config)
        assert server.requests[-1].path == "/v1beta/models/gemini-3-pro:generateContent"
        ours, theirs = parse_response("gemini", response), parse_response("gemini", whole)
        assert (ours.content, ours.stop_reason, ours.usage) == (theirs.content, theirs.stop_reason, theirs.usage)

    def test_what_the_sdk_raises_is_an_error_of_the_reply(self, server: Loopback, client: Any) -> None:
        (case,) = (case for case in CASES if case.name == "error-inside")
        events = [json.loads(line) for line in (case / "events.jsonl").read_text().splitlines()]
        with pytest.raises(genai.errors.APIError) as error:
            play(server, client, events)
        stream = Stream("gemini")
        for event in events:
            stream.feed(event)
        assert stream.finish().error == {"type": error.value.status, "message": error.value.message}


class TestRecorded:
    """Cases of another project, from where they lie. What is not in the tables must be equal."""

    @needs_shared
    @pytest.mark.parametrize("case", STREAMS)
    def test_the_sdk_and_we_read_a_recorded_stream_alike(self, server: Loopback, client: Any, case: str) -> None:
        events = _events(case)
        agree(events, play(server, client, events))

    @needs_shared
    @pytest.mark.parametrize("case", STREAMS)
    def test_a_recorded_stream_is_the_recorded_reply(self, case: str) -> None:
        """Different on purpose (PROVIDERS §8): their ids are random, their usage leaves out thoughts and the search,
        they keep no signatures, and say how it ended for calls alone."""
        stream = Stream("gemini")
        for event in _events(case):
            stream.feed(event)
        reply = stream.finish()
        expected = json.loads((RECORDED / "response-stream" / "gemini" / case / "expected-aggregate.json").read_text())
        message, ours = expected["message"], reply.to_dict()["message"]
        assert [_comparable(block) for block in ours["content"]] == [_comparable(block) for block in message["content"]]
        assert ours["model"] == message["model"]
        assert ours["stop_reason"] == message.get("stop_reason", "end_turn")
        last = [event["usageMetadata"] for event in _events(case)][-1]
        assert ours["usage"]["input_tokens"] == message["usage"]["input_tokens"] + last.get(
            "toolUsePromptTokenCount", 0
        )
        assert ours["usage"]["output_tokens"] == message["usage"]["output_tokens"] + last["thoughtsTokenCount"]

    @needs_shared
    @pytest.mark.parametrize("case", STREAMS)
    def test_a_recorded_stream_is_shown_as_recorded(self, case: str) -> None:
        """Different on purpose: ours have ids and places, and arguments as text (PROVIDERS §7)."""
        stream = Stream("gemini")
        deltas = [delta for event in _events(case) for delta in stream.feed(event)]
        shown = [
            {"type": delta.type, "content": delta.content} | ({"name": delta.name} if delta.name else {})
            for delta in deltas
        ]
        path = RECORDED / "response-stream" / "gemini" / case / "expected-streamer.jsonl"
        expected = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
        for delta in expected:
            if not isinstance(delta["content"], str):
                delta["content"] = json.dumps(delta["content"], separators=(",", ":"))
        assert shown == expected

    @needs_shared
    @pytest.mark.parametrize("case", STREAMS)
    def test_a_request_is_the_recorded_one(self, case: str) -> None:
        """Different on purpose (PROVIDERS §8 and §9): messages of one role are joined, keys are in camel case, a schema
        goes as it is, and nothing forces the sampling."""
        record, tools = read_request(case)
        body = prepare_request("gemini", record, tools=tools).body
        check_gemini(body)
        expected = json.loads((RECORDED / "prepare-request" / case / "expected-gemini.json").read_text())
        assert expected.pop("generationConfig") == {"temperature": 1, "topP": 0.95, "maxOutputTokens": 81920}
        assert json.loads(json.dumps(body), object_hook=_as_recorded) == _joined(expected)


def _events(case: str) -> list[dict[str, Any]]:
    path = RECORDED / "response-stream" / "gemini" / case / "events.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def _comparable(block: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key not in ("id", "opaque")}


def _as_recorded(record: dict[str, Any]) -> dict[str, Any]:
    """Our keys as theirs; of a tool's schema, what they keep."""
    renamed = {"inlineData": "inline_data", "mimeType": "mime_type", "googleSearch": "google_search",
               "parametersJsonSchema": "parameters"}  # fmt: skip
    dropped = {"$schema", "additionalProperties", "format"}
    return {renamed.get(key, key): value for key, value in record.items() if key not in dropped}


def _joined(body: dict[str, Any]) -> dict[str, Any]:
    contents: list[dict[str, Any]] = []
    for content in body["contents"]:
        if contents and contents[-1]["role"] == content["role"]:
            contents[-1]["parts"] += content["parts"]
        else:
            contents.append(content)
    return {**body, "contents": contents}
