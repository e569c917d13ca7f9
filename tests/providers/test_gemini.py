"""Requests of Gemini: whatever a thread holds, a body that the API takes, or a refusal that names what it does not."""

from __future__ import annotations

import copy
import json
from base64 import b64encode
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish import ContextWindow, Message
from headish.errors import Unsupported
from headish.providers import Request, lint, prepare_request
from headish.providers.gemini.calls import SKIP, GeminiNames
from headish.providers.gemini.request import OPENING, GeminiWriter
from headish.providers.shared.ledger import INTERRUPTED
from headish.values.blocks import (
    Base64Source,
    ContentBlock,
    Document,
    ProviderBlock,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from support.later import Later
from support.providers.emitted import calls, ids, names, texts, windows
from support.providers.rules_gemini import check_gemini

types = Later("google.genai.types")
TOOL = {"name": "weather", "inputSchema": {"type": "object"}}
PNG = b64encode(b"\x89PNG").decode()
ALLOWED = ("text of a tool", "a tool call of role", "without a message", "a document", "not base64", "not UTF-8",
           "an empty document")  # fmt: skip
signatures = st.sampled_from(["c2ln", "c2lnbmVk", "not base64!"])
beside = st.fixed_dictionaries({}, optional={"thoughtSignature": signatures, "id": st.sampled_from(["g1", "g2"])})
_said: st.SearchStrategy[ContentBlock] = st.builds(Text, texts | st.sampled_from(["So.", "Hi"]))
_picture = Document(Base64Source("image/png", PNG), "a.png")
_results: st.SearchStrategy[ContentBlock] = st.builds(
    ToolResult, ids, st.none() | names, st.lists(_said | st.just(_picture), max_size=2).map(tuple), st.booleans()
)
_own: st.SearchStrategy[ContentBlock] = (
    st.builds(lambda text, own: Text(text, opaque={"gemini": own}), texts, beside)
    | st.builds(lambda name, own: ToolUse(name, own.get("id"), {}, opaque={"gemini": own}), names, beside)
    | st.builds(lambda text, own: Thinking(text, provider="gemini", opaque={"gemini": own}), texts, beside)
    | st.sampled_from(
        [
            ProviderBlock("gemini", {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "s1"}}),
            ProviderBlock("gemini", {"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "id": "s1"}}),
            ProviderBlock("gemini", {"inlineData": {"mimeType": "image/png", "data": PNG}, "thoughtSignature": "c2ln"}),
            ProviderBlock("gemini", {"executableCode": {"language": "PYTHON", "code": "1"}}),
        ]
    )
)


def _messages(role: str, *blocks: st.SearchStrategy[ContentBlock]) -> st.SearchStrategy[Message]:
    turns = st.none() | st.just("03h9y0v2b3kwwnz05szmqutr9")
    content = st.lists(st.one_of(*blocks), max_size=4).map(tuple)
    return st.builds(Message, role=st.just(role), content=content, cache=st.booleans(), turn=turns)


own_windows = st.builds(
    ContextWindow,
    st.lists(
        _messages("user", _said, _said, _results, st.just(_picture))
        | _messages("assistant", _said, _own, calls)
        | _messages("tool", _results)
        | _messages("system", _said),
        max_size=8,
    ).map(tuple),
    st.sampled_from([{}, {"search": True}, {"tool_mode": "weather"}]),
)
"""Threads that Gemini itself went on in: all that stands in them can be sent."""
models = st.sampled_from([None, "gemini-2.5-flash", "models/gemini-3-pro-preview", "gemini-flash-latest"])


def sent(content: Any, role: str = "assistant", **settings: Any) -> tuple[list[dict[str, Any]], list[str]]:
    """The parts that a message becomes behind a user's, and the notes."""
    thread = [{"role": "user", "content": "Hi"}, {"role": role, "content": content}]
    prepared = prepare_request("gemini", {"messages": thread}, **settings)
    check_gemini(prepared.body)
    parts = [part for each in prepared.body["contents"] for part in each["parts"]]
    return parts[1:], [note.what for note in prepared.notes]


def refused(content: Any, role: str = "user", **settings: Any) -> str:
    with pytest.raises(Unsupported) as error:
        prepare_request("gemini", {"messages": [{"role": role, "content": content}]}, **settings)
    return str(error.value)


def asked(options: dict[str, Any], **settings: Any) -> Request:
    prepared = prepare_request(
        "gemini", {"messages": [{"role": "user", "content": "Hi"}], "options": options}, **settings
    )
    check_gemini({**prepared.body, "generationConfig": {}})
    return prepared


class TestEveryThread:
    @given(window=windows() | own_windows, model=models)
    def test_it_is_a_valid_request_or_is_refused(self, window: ContextWindow, model: str | None) -> None:
        before = copy.deepcopy(window)
        try:
            prepared = prepare_request("gemini", window, tools=[TOOL], model=model)
        except Unsupported:
            return
        check_gemini(prepared.body)
        assert window == before
        assert prepare_request("gemini", window, tools=[TOOL], model=model) == prepared
        assert json.loads(json.dumps(prepared.body)) == prepared.body

    @given(window=windows(odd_too=False))
    def test_a_usual_one_is_never_refused_for_its_tools(self, window: ContextWindow) -> None:
        try:
            check_gemini(prepare_request("gemini", window, tools=[TOOL]).body)
        except Unsupported as error:
            assert any(reason in str(error) for reason in ALLOWED)

    @given(window=own_windows)
    def test_its_own_is_only_refused_where_nobody_says_anything(self, window: ContextWindow) -> None:
        try:
            check_gemini(prepare_request("gemini", window, tools=[TOOL]).body)
        except Unsupported as error:
            assert "a request without a message" in str(error)

    @given(window=windows(odd_too=False) | own_windows, model=models)
    def test_what_was_sent_is_the_beginning_of_what_is_sent_later(
        self, window: ContextWindow, model: str | None
    ) -> None:
        bodies: list[Any] = []
        for count in range(1, len(window.messages) + 1):
            part = ContextWindow(window.messages[:count], window.options)
            try:
                bodies.append(prepare_request("gemini", part, tools=[TOOL], model=model).body)
            except Unsupported:
                bodies.append(None)
        for earlier, later in pairwise(bodies):
            if earlier is None or later is None or INTERRUPTED in json.dumps(earlier):
                continue  # an interrupted call whose result comes after all is a permitted break
            assert _parts(later)[: len(_parts(earlier))] == _parts(earlier)

    @given(window=windows() | own_windows, model=models)
    @pytest.mark.slow
    def test_the_sdk_knows_every_key(self, window: ContextWindow, model: str | None) -> None:
        try:
            body = prepare_request("gemini", window, tools=[TOOL], model=model).body
        except Unsupported:
            return
        for content in [*body["contents"], *([body["systemInstruction"]] if "systemInstruction" in body else [])]:
            known = types.Content.model_validate_json(json.dumps(content))
            assert len(known.parts) == len(content["parts"])

    @given(window=windows() | own_windows)
    def test_every_part_says_where_it_came_from(self, window: ContextWindow) -> None:
        try:
            prepared = prepare_request("gemini", window)
        except Unsupported:
            return
        places = {f"contents[{index}]" for index in range(len(prepared.body["contents"]))}
        system = prepared.body.get("systemInstruction", {"parts": []})["parts"]
        places |= {f"systemInstruction.parts[{index}]" for index in range(len(system))}
        assert {origin.place for origin in prepared.origins} == places


def _parts(body: dict[str, Any]) -> list[tuple[str, str]]:
    return [(content["role"], json.dumps(part)) for content in body["contents"] for part in content["parts"]]


class TestContents:
    def test_messages_of_one_role_become_one_content(self) -> None:
        thread = [{"role": role, "content": role} for role in ("user", "user", "assistant", "assistant", "user")]
        body = prepare_request("gemini", {"messages": thread}).body
        assert [(content["role"], len(content["parts"])) for content in body["contents"]] == [
            ("user", 2), ("model", 2), ("user", 1),
        ]  # fmt: skip

    def test_what_the_system_says_is_lifted_out_with_a_note_where_it_stood_inside(self) -> None:
        thread = [{"role": "system", "content": "A"}, {"role": "user", "content": "Hi"},
                  {"role": "developer", "content": ["B", " "]}]  # fmt: skip
        prepared = prepare_request("gemini", {"messages": thread})
        assert prepared.body == {
            "systemInstruction": {"parts": [{"text": "A"}, {"text": "B"}]},
            "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        }
        assert [note.what for note in prepared.notes] == [
            "a blank text is left out",
            "a developer message inside the conversation is moved to its head",
        ]

    def test_a_thread_that_begins_with_the_assistant_gets_a_user_before_it(self) -> None:
        prepared = prepare_request("gemini", {"messages": [{"role": "assistant", "content": "Welcome."}]})
        assert [content["parts"] for content in prepared.body["contents"]] == [
            [{"text": OPENING}],
            [{"text": "Welcome."}],
        ]
        assert "stands before it" in prepared.notes[0].what

    def test_neither_model_nor_stream_stand_in_the_body(self) -> None:
        window = {"messages": [{"role": "user", "content": "Hi"}]}
        for stream in (True, False):
            prepared = prepare_request("gemini", window, model="gemini-3-pro", stream=stream)
            assert list(prepared.body) == ["contents"]
            assert prepared.model == "gemini-3-pro"

    def test_cache_flags_are_noted_once(self) -> None:
        thread = [{"role": "user", "content": "Hi", "cache": True}, {"role": "user", "content": "Ho", "cache": True}]
        (finding,) = lint("gemini", {"messages": thread})
        assert finding.what == "2 cache flags are not sent: gemini caches by itself"
        (finding,) = lint("gemini", {"messages": thread[:1]})
        assert finding.what == "1 cache flag is not sent: gemini caches by itself"


class TestMedia:
    @pytest.mark.parametrize(
        "media_type", ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif", "application/pdf"]
    )
    def test_pictures_and_pdfs_are_inline_data(self, media_type: str) -> None:
        parts, notes = sent([_document(media_type)], role="user")
        assert parts == [{"inlineData": {"mimeType": media_type, "data": PNG}}]
        assert not notes

    def test_a_name_has_no_place(self) -> None:
        _, notes = sent([{**_document("application/pdf"), "name": "a.pdf"}], role="user")
        assert notes == ["the name of the document 'a.pdf' has no place"]

    def test_a_text_document_is_a_text(self) -> None:
        parts, _ = sent([_document("text/csv", b64encode(b"a,b").decode())], role="user")
        assert parts == [{"text": "a,b"}]

    @pytest.mark.parametrize("media_type", ["image/gif", "image/tiff", "audio/midi", "application/zip", ""])
    def test_what_the_api_cannot_read_is_refused(self, media_type: str) -> None:
        assert f"a document of type {media_type or 'unknown'}" in refused([_document(media_type)])

    def test_a_document_without_a_byte_is_refused(self) -> None:
        assert "an empty document of type image/png" in refused([_document("image/png", "")])

    def test_the_assistant_holds_no_documents(self) -> None:
        assert "a document of type image/png of role assistant" in refused([_document("image/png")], role="assistant")


def _document(media_type: str, data: str = PNG) -> dict[str, Any]:
    return {"type": "document", "source": {"type": "base64", "media_type": media_type, "data": data}}


class TestCallsAndResults:
    def result(self, **block: Any) -> tuple[dict[str, Any], list[str]]:
        thread: list[dict[str, Any]] = [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {}}]},
            {"role": "tool", "content": [{"type": "tool_result", "tool_use_id": "c1", **block}]},
        ]
        prepared = prepare_request("gemini", {"messages": thread}, model="gemini-2.5-pro")
        check_gemini(prepared.body)
        part: dict[str, Any] = prepared.body["contents"][-1]["parts"][0]["functionResponse"]
        return part, [note.what for note in prepared.notes]

    def test_a_result_is_an_object_of_its_texts(self) -> None:
        part, _ = self.result(content=[{"type": "text", "text": "A"}, {"type": "text", "text": "B"}])
        assert part == {"name": "f", "response": {"output": "A\nB"}}

    def test_a_failure_stands_under_its_own_key(self) -> None:
        part, _ = self.result(content="No.", is_error=True)
        assert part == {"name": "f", "response": {"error": "No."}}

    def test_an_empty_result_is_an_empty_output(self) -> None:
        assert self.result()[0] == {"name": "f", "response": {"output": ""}}

    def test_pictures_stand_in_the_parts_of_a_result(self) -> None:
        part, notes = self.result(content=[{"type": "text", "text": "Look:"}, _document("image/png")])
        media = {"inlineData": {"mimeType": "image/png", "data": PNG}}
        assert part == {"name": "f", "response": {"output": "Look:"}, "parts": [media]}
        assert not notes

    def test_an_id_goes_back_where_gemini_gave_it(self) -> None:
        call = {"type": "tool_use", "id": "g1", "name": "f", "input": {"a": 1}, "opaque": {"gemini": {"id": "g1"}}}
        parts, _ = sent([call], model="gemini-2.5-pro")
        assert parts[0] == {"functionCall": {"id": "g1", "name": "f", "args": {"a": 1}}}
        assert parts[1]["functionResponse"]["id"] == "g1"

    def test_an_id_that_came_from_elsewhere_stays_here(self) -> None:
        parts, _ = sent([{"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}], model="gemini-2.5-pro")
        assert [list(*part.values()) for part in parts] == [["name", "args"], ["name", "response"]]

    def test_a_call_that_stands_in_the_thread_twice_has_two_ids(self) -> None:
        call = {"type": "tool_use", "id": "g1", "name": "f", "input": {}, "opaque": {"gemini": {"id": "g1"}}}
        thread = [{"role": "user", "content": "Hi"}, *[{"role": "assistant", "content": [call]}] * 2]
        body = prepare_request("gemini", {"messages": thread}).body
        check_gemini(body)
        assert [part["functionCall"]["id"] for _, part in _calls(body)] == ["g1", "call_2_0"]

    def test_arguments_that_are_no_object_are_wrapped(self) -> None:
        parts, notes = sent([{"type": "tool_use", "id": "c1", "name": "f", "input": [1]}], model="gemini-2.5-pro")
        assert parts[0]["functionCall"]["args"] == {"value": [1]}
        assert "the arguments of f are not a JSON object: wrapped in one" in notes

    def test_results_come_before_what_the_user_says_next(self) -> None:
        thread: list[dict[str, Any]] = [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "name": "f", "input": {}}] * 2},
            {"role": "user", "content": ["By the way", {"type": "tool_result", "name": "f", "content": "1"}]},
            {"role": "tool", "content": [{"type": "tool_result", "name": "f", "content": "2"}]},
        ]
        body = prepare_request("gemini", {"messages": thread}).body
        check_gemini(body)
        said = [next(iter(part)) for part in body["contents"][-1]["parts"]]
        assert said == ["functionResponse", "functionResponse", "text"]


def _calls(body: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    contents = enumerate(body["contents"])
    return [(index, part) for index, content in contents for part in content["parts"] if "functionCall" in part]


class TestSignatures:
    def call(self, **own: Any) -> dict[str, Any]:
        return {"type": "tool_use", "id": "c1", "name": "f", "input": {}} | ({"opaque": {"gemini": own}} if own else {})

    def test_a_signature_goes_back_to_the_part_that_it_came_on(self) -> None:
        parts, notes = sent([
            {"type": "text", "text": "A", "opaque": {"gemini": {"thoughtSignature": "c2lnQQ=="}}},
            {"type": "text", "text": "B"},
            {"type": "text", "text": "", "opaque": {"gemini": {"thoughtSignature": "c2lnQw=="}}},
            self.call(thoughtSignature="c2lnRA=="),
        ])  # fmt: skip
        assert parts[:4] == [
            {"text": "A", "thoughtSignature": "c2lnQQ=="},
            {"text": "B"},
            {"text": "", "thoughtSignature": "c2lnQw=="},
            {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2lnRA=="},
        ]
        assert notes == ["the call of f has no result: settled as interrupted"]

    def test_a_signed_thought_goes_back_and_an_unsigned_one_is_left_out(self) -> None:
        parts, notes = sent([
            {"type": "thinking", "text": "Hm.", "signature": "c2ln", "provider": "gemini"},
            {"type": "thinking", "text": "Hm?", "provider": "gemini"},
            {"type": "thinking", "text": "Hm!", "signature": "c2ln", "provider": "anthropic"},
            "So.",
        ])  # fmt: skip
        assert parts == [{"text": "Hm.", "thought": True, "thoughtSignature": "c2ln"}, {"text": "So."}]
        assert notes[:2] == ["reasoning without a signature is left out", "another provider's reasoning is left out"]

    def test_a_signature_that_is_none_is_left_out(self) -> None:
        parts, notes = sent([{"type": "text", "text": "A", "opaque": {"gemini": {"thoughtSignature": "é"}}}])
        assert parts == [{"text": "A"}]
        assert "a signature that is not base64 is left out" in notes

    def test_what_gemini_keeps_beside_a_text_goes_nowhere_else(self) -> None:
        text = {"type": "text", "text": "A", "opaque": {"gemini": {"thoughtSignature": "c2ln"}}}
        parts, notes = sent([text], role="user")
        assert parts == [{"text": "A"}]
        assert notes == ["what gemini keeps beside a text of role user is left out"]
        other = prepare_request("anthropic", {"messages": [{"role": "user", "content": [text]}]})
        assert "c2ln" not in json.dumps(other.body)

    @pytest.mark.parametrize("model", ["gemini-3-pro-preview", "models/gemini-3.5-flash", "gemini-12-x"])
    def test_calls_of_others_go_to_gemini_3_with_the_documented_stand_in(self, model: str) -> None:
        parts, notes = sent([self.call(), {**self.call(), "id": "c2"}], model=model)
        assert [part.get("thoughtSignature") for part in parts[:2]] == [SKIP, None]
        assert "1 turn with calls that no Gemini signed: sent with the signature that skips the check" in notes

    def test_a_model_that_looks_at_none_gets_none(self) -> None:
        parts, notes = sent([self.call()], model="gemini-2.5-flash")
        assert "thoughtSignature" not in parts[0]
        assert notes == ["the call of f has no result: settled as interrupted"]

    @pytest.mark.parametrize("model", [None, "gemini-flash-latest"])
    def test_a_model_that_may_look_for_one_is_spoken_of(self, model: str | None) -> None:
        parts, notes = sent([self.call()], model=model)
        assert "thoughtSignature" not in parts[0]
        assert "1 turn with calls that no Gemini signed: from Gemini 3 on, models refuse the request" in notes


class TestOwnParts:
    @pytest.mark.parametrize(
        "data",
        [
            {"executableCode": {"language": "PYTHON", "code": "print(1)", "id": "x"}, "thoughtSignature": "c2ln"},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}},
            {"inlineData": {"mimeType": "image/png", "data": PNG}, "thoughtSignature": "c2ln"},
            {"toolResponse": {"toolType": "URL_CONTEXT", "response": {}}},
            {"aKindThatNobodyKnows": {}},
        ],
    )
    def test_they_go_back_as_they_came(self, data: dict[str, Any]) -> None:
        parts, _ = sent([{"type": "provider", "provider": "gemini", "data": data}])
        assert parts == [data]

    def test_a_search_goes_back_with_its_answer_or_not_at_all(self) -> None:
        calls: list[dict[str, Any]] = [
            {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": each, "args": {}}} for each in ("s1", "s2")
        ]
        answer = {"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "id": "s1", "response": {}}}
        blocks = [{"type": "provider", "provider": "gemini", "data": data} for data in (*calls, answer)]
        parts, notes = sent(blocks)
        assert parts == [calls[0], answer]
        assert "a search that was cut off is left out" in notes

    def test_those_of_others_are_left_out(self) -> None:
        parts, notes = sent([{"type": "provider", "provider": "openai_responses", "data": {"a": 1}}, "So."])
        assert parts == [{"text": "So."}]
        assert any(each.startswith("a block of openai_responses") for each in notes)

    @pytest.mark.parametrize("data", [{}, {"functionCall": {"name": "f"}}, {"functionResponse": {"name": "f"}}])
    def test_one_that_would_unpair_calls_and_results_is_refused(self, data: dict[str, Any]) -> None:
        block = {"type": "provider", "provider": "gemini", "data": data}
        assert "a block of its own that is empty, a call or a result" in refused([block], role="assistant")


class TestToolsAndParameters:
    def test_a_tool_keeps_its_json_schema(self) -> None:
        schema = {
            "$schema": "x",
            "type": "object",
            "properties": {"format": {"const": 1}},
            "additionalProperties": False,
        }
        tool = {"name": "files___read.it", "description": "Reads.", "inputSchema": schema, "title": "Read"}
        prepared = asked({}, tools=[tool])
        (declared,) = prepared.body["tools"][0]["functionDeclarations"]
        assert declared == {"name": "files___read.it", "description": "Reads.", "parametersJsonSchema": schema}
        assert [note.what for note in prepared.notes] == ["not sent of tool definitions: title"]

    def test_names_that_are_refused_are_rewritten_one_for_one(self) -> None:
        names = GeminiNames(GeminiWriter.tool_name, GeminiWriter.tool_name_limit)
        given = ["1st", "2st", "-a", "a b", "é", "x" * 200, "fine.name:1-2"]
        rewritten = [names.send(name) for name in given]
        assert all(GeminiWriter.tool_name.fullmatch(name) and len(name) <= 128 for name in rewritten)
        assert rewritten[-1] == given[-1]
        assert [names.rewritten[name] for name in rewritten[:-1]] == given[:-1]
        assert [names.send(name) for name in given] == rewritten
        assert len(names.rewritten) == 6

    @pytest.mark.parametrize(
        ("mode", "config"),
        [
            ("auto", {"mode": "AUTO"}),
            ("any", {"mode": "ANY"}),
            ("required", {"mode": "ANY"}),
            ("none", {"mode": "NONE"}),
            ("weather", {"mode": "ANY", "allowedFunctionNames": ["weather"]}),
        ],
    )
    def test_tool_mode(self, mode: str, config: dict[str, Any]) -> None:
        assert asked({"tool_mode": mode}, tools=[TOOL]).body["toolConfig"] == {"functionCallingConfig": config}

    def test_a_search_alone_and_beside_functions(self) -> None:
        assert asked({"search": True}).body["tools"] == [{"googleSearch": {}}]
        assert "toolConfig" not in asked({"search": True}).body
        body = asked({"search": True}, tools=[TOOL]).body
        assert [list(tool) for tool in body["tools"]] == [["googleSearch"], ["functionDeclarations"]]
        assert body["toolConfig"] == {"includeServerSideToolInvocations": True}

    def test_tools_of_the_servers_own_stand_beside_the_others(self) -> None:
        own: dict[str, Any] = {"tools": [{"codeExecution": {}}]}
        own["toolConfig"] = {"retrievalConfig": {"languageCode": "de"}}
        body = asked({"params": {"gemini": own}}, tools=[TOOL]).body
        assert [list(tool) for tool in body["tools"]] == [["codeExecution"], ["functionDeclarations"]]
        assert body["toolConfig"] == {"includeServerSideToolInvocations": True, **own["toolConfig"]}

    def test_parameters_have_their_places(self) -> None:
        params = {"max_tokens": 5, "temperature": 0.5, "top_p": 0.9, "top_k": 3, "seed": 1, "stop_sequences": ["x"],
                  "frequency_penalty": 0.1, "presence_penalty": 0.2, "effort": "low", "schema": {"type": "object"},
                  "thinkingConfig": {"includeThoughts": True}, "cachedContent": "cachedContents/1",
                  "serviceTier": "flex", "model": "gemini-3-pro"}  # fmt: skip
        body = prepare_request(
            "gemini", {"messages": [{"role": "user", "content": "Hi"}], "options": {"params": params}}
        ).body
        assert body == {
            "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
            "generationConfig": {
                "maxOutputTokens": 5, "temperature": 0.5, "topP": 0.9, "topK": 3, "seed": 1, "stopSequences": ["x"],
                "frequencyPenalty": 0.1, "presencePenalty": 0.2, "responseMimeType": "application/json",
                "responseJsonSchema": {"type": "object"},
                "thinkingConfig": {"thinkingLevel": "LOW", "includeThoughts": True},
            },
            "cachedContent": "cachedContents/1",
            "serviceTier": "flex",
        }  # fmt: skip

    def test_what_a_cached_content_holds_is_not_said_again(self) -> None:
        thread = [{"role": "system", "content": "A"}, {"role": "user", "content": "Hi"}]
        options = {"params": {"cachedContent": "cachedContents/1"}}
        prepared = prepare_request("gemini", {"messages": thread, "options": options}, tools=[TOOL])
        assert prepared.body.keys() == {"contents", "cachedContent"}
        assert [note.what for note in prepared.notes] == [
            "systemInstruction, tools left out: a cached content has its own"
        ]

    @pytest.mark.parametrize(
        ("options", "reason"),
        [
            ({"params": {"effort": "max"}}, "params.effort='max': it is minimal, low, medium, high or xhigh"),
            ({"params": {"parallel_tool_calls": True}}, "params.parallel_tool_calls"),
            ({"params": {"gemini": {"tools": {}}}}, "params.gemini.tools={}: it is a list of tools"),
            ({"params": {"gemini": {"toolConfig": []}}}, "params.gemini.toolConfig that is not an object"),
            ({"params": {"thinking": {}}}, "params.thinking, which is anthropic's"),
            ({"tool_mode": "nobody"}, "tool_mode='nobody'"),
            ({"search": "yes"}, "search='yes'"),
        ],
    )
    def test_what_it_cannot_do_is_refused(self, options: dict[str, Any], reason: str) -> None:
        with pytest.raises(Unsupported) as error:
            asked(options, tools=[TOOL])
        assert reason in str(error.value)

    def test_more_tools_than_fit_are_refused(self) -> None:
        with pytest.raises(Unsupported, match="513 tools: 512 fit into a request"):
            asked({}, tools=[{"name": f"t{index}"} for index in range(513)])
