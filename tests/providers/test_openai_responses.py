"""Requests of OpenAI's Responses API: whatever a thread holds, a body that the API takes, or a refusal by name."""

from __future__ import annotations

import copy
import json
from base64 import b64encode
from collections.abc import Iterator
from itertools import pairwise
from mimetypes import MimeTypes
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish import ContextWindow, Message
from headish.errors import Unsupported
from headish.providers import Request, lint, prepare_request
from headish.providers.openai_responses.particulars import FILES
from headish.providers.shared.ledger import INTERRUPTED
from headish.values.blocks import ContentBlock, ProviderBlock, Text, Thinking, ToolUse
from support.later import Later
from support.loopback import Loopback
from support.providers.emitted import calls, documents, results, texts, windows
from support.providers.rules_openai_responses import check_openai_responses, refusal_of_the_sdk

PROVIDER = "openai_responses"
openai = Later("openai")
ALLOWED = (
    "text of a tool", "a tool call of role", "without a message", "a document", "not base64", "not UTF-8",
    "an empty document", "reasoning of role", "a block of its own", "a block of type",
)  # fmt: skip
USER = {"role": "user", "content": "Hi"}
WEATHER = {"name": "weather", "description": "The weather.", "inputSchema": {"type": "object"}}
DATA = b64encode(b"\x89PNG").decode()
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
REASONING = {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}],
             "encrypted_content": "gAAAA"}  # fmt: skip
SEARCH = {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "x"}}
SHELL = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "k1", "name": "shell", "input": "ls"}
FUNCTION = {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{}"}
SHELL_OUTPUT = {"type": "custom_tool_call_output", "call_id": "k1", "output": "a.txt"}


def own(data: Any) -> dict[str, Any]:
    return {"type": "provider", "provider": PROVIDER, "data": data}


def thought(item: Any = REASONING) -> dict[str, Any]:
    return {"type": "thinking", "text": "Hm.", "provider": PROVIDER, "opaque": {PROVIDER: item}}


def document(media_type: str, data: str = DATA, **more: Any) -> dict[str, Any]:
    return {"type": "document", "source": {"type": "base64", "media_type": media_type, "data": data}, **more}


def call(id: str = "c1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "weather", "input": {"place": "Oslo"}, **more}


def result(*content: Any, id: str = "c1", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "content": [{"type": "tool_result", "tool_use_id": id, "content": list(content), **more}]}


def said(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content)}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def request(messages: list[dict[str, Any]], options: Any = None, **settings: Any) -> Request:
    """A request, checked."""
    prepared = prepare_request(PROVIDER, {"messages": messages, "options": options or {}}, **settings)
    check_openai_responses(prepared.body)
    assert refusal_of_the_sdk(prepared.body) is None
    return prepared


def items(*messages: dict[str, Any], **settings: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = request(list(messages), **settings).body["input"]
    return found


def notes(prepared: Request) -> list[str]:
    return [note.what for note in prepared.notes]


def refused(messages: list[dict[str, Any]], options: Any = None, **settings: Any) -> str:
    with pytest.raises(Unsupported) as error:
        prepare_request(PROVIDER, {"messages": messages, "options": options or {}}, **settings)
    return str(error.value)


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


class TestMessages:
    def test_system_and_developer_messages_stay_in_place(self) -> None:
        found = items({"role": "system", "content": "Be brief."}, USER, said("Yes."),
                      {"role": "developer", "content": ["In German.", "Always."]}, USER)  # fmt: skip
        assert [item["role"] for item in found] == ["system", "user", "assistant", "developer", "user"]
        assert found[3]["content"] == [
            {"type": "input_text", "text": "In German."},
            {"type": "input_text", "text": "Always."},
        ]

    def test_an_answer_is_text_without_the_ids_of_its_items(self) -> None:
        assert items(USER, said("Yes.", "Or no."))[1:] == [
            {"role": "assistant", "content": "Yes."},
            {"role": "assistant", "content": "Or no."},
        ]

    def test_the_phase_of_an_answer_goes_back_with_it(self) -> None:
        first = {**text("I look."), "opaque": {PROVIDER: {"phase": "commentary"}}}
        second = {**text("Snow."), "opaque": {PROVIDER: {"phase": "final_answer", "annotations": [{"a": 1}]}}}
        prepared = request([USER, said(first, second)])
        assert prepared.body["input"][1:] == [
            {"role": "assistant", "content": "I look.", "phase": "commentary"},
            {"role": "assistant", "content": "Snow.", "phase": "final_answer"},
        ]
        assert "what openai_responses keeps beside 1 block is left out" in notes(prepared)

    def test_a_phase_of_the_user_is_not_sent(self) -> None:
        block = {**text("Hi"), "opaque": {PROVIDER: {"phase": "commentary"}}}
        assert items({"role": "user", "content": [block]}) == [
            {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}
        ]

    def test_blank_texts_are_left_out(self) -> None:
        assert items(USER, said(" "), {"role": "user", "content": ["", "So?"]})[1:] == [
            {"role": "user", "content": [{"type": "input_text", "text": "So?"}]}
        ]

    def test_each_item_says_which_turn_it_came_from(self) -> None:
        turns = ["03h9y0v2b3kwwnz05szmqutr9", "03h9y0v2b3kwwnz05szmqutra"]
        window = ContextWindow(
            (
                Message(role="user", content=(Text("Hi"),), turn=turns[0]),
                Message(role="assistant", content=(Text("A"), Text("B")), turn=turns[1]),
            ),
            {},
        )
        origins = prepare_request(PROVIDER, window).origins
        assert [(origin.place, list(origin.turns)) for origin in origins] == [
            ("input[0]", turns[:1]),
            ("input[1]", turns[1:]),
            ("input[2]", turns[1:]),
        ]


class TestDocuments:
    def test_an_image_is_sent_with_its_detail(self) -> None:
        prepared = request([{"role": "user", "content": [document("image/webp", name="a.webp")]}])
        assert prepared.body["input"][0]["content"] == [
            {"type": "input_image", "detail": "auto", "image_url": f"data:image/webp;base64,{DATA}"}
        ]
        assert notes(prepared) == ["the name of the document 'a.webp' has no place"]

    @pytest.mark.parametrize(
        ("media_type", "name", "sent"),
        [
            ("application/pdf", None, "document.pdf"),
            ("application/pdf", "Report.PDF", "Report.PDF"),
            ("application/pdf", "report", "report.pdf"),
            (DOCX, "letter.docx", "letter.docx"),
            (DOCX, "letter.doc", "letter.doc.docx"),
            ("application/vnd.ms-excel", None, "document.xls"),
        ],
    )
    def test_a_file_has_a_name_that_says_its_type(self, media_type: str, name: str | None, sent: str) -> None:
        block = document(media_type) | ({"name": name} if name else {})
        prepared = request([{"role": "user", "content": [block]}])
        assert prepared.body["input"][0]["content"] == [
            {"type": "input_file", "filename": sent, "file_data": f"data:{media_type};base64,{DATA}"}
        ]
        changed = [f"the file {name!r} goes out as {sent!r}: its ending says what it is"]
        assert notes(prepared) == (changed if name not in (None, sent) else [])

    def test_the_endings_are_those_of_their_types(self) -> None:
        """The standard table of Python is the judge, as far as it knows them; it calls RTF text since 3.13."""
        guessed = {(media_type, MimeTypes(filenames=()).guess_type(f"x{ending}")[0])
                   for media_type, endings in FILES.items() for ending in endings}  # fmt: skip
        assert {pair for pair in guessed if pair[1] not in (pair[0], None)} <= {("application/rtf", "text/rtf")}
        assert ("application/msword", "application/msword") in guessed

    @pytest.mark.parametrize("role", ["user", "system", "assistant"])
    def test_a_text_document_is_text(self, role: str) -> None:
        block = document("text/csv", b64encode(b"a,b").decode())
        found = items(USER, {"role": role, "content": [block]})[1]["content"]
        assert found == ("a,b" if role == "assistant" else [{"type": "input_text", "text": "a,b"}])

    @pytest.mark.parametrize(
        "media_type", ["image/bmp", "audio/wav", "application/zip", "application/octet-stream", ""]
    )
    def test_another_type_is_refused(self, media_type: str) -> None:
        message = refused([{"role": "user", "content": [document(media_type)]}])
        assert f"a document of type {media_type or 'unknown'}" in message

    @pytest.mark.parametrize("media_type", ["image/png", DOCX])
    def test_an_empty_one_is_refused(self, media_type: str) -> None:
        message = refused([{"role": "user", "content": [document(media_type, "")]}])
        assert f"an empty document of type {media_type}" in message

    def test_a_document_of_a_tool_that_is_in_no_result_goes_into_a_message_of_the_user(self) -> None:
        prepared = request([USER, said(call()), result("Snow."), {"role": "tool", "content": [document("image/png")]}])
        assert prepared.body["input"][-1]["role"] == "user"
        assert "a document of a tool that is in no result goes into a message of the user" in notes(prepared)


class TestCallsAndResults:
    def test_a_call_and_its_output_are_items_that_share_an_id(self) -> None:
        assert items(USER, said("I look.", call()), result("Snow."))[1:] == [
            {"role": "assistant", "content": "I look."},
            {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"place":"Oslo"}'},
            {"type": "function_call_output", "call_id": "c1", "output": "Snow."},
        ]

    def test_what_the_api_keeps_beside_a_call_goes_back(self) -> None:
        program = {"type": "program", "id": "p1", "call_id": "p1", "code": "1", "fingerprint": "f"}
        caller = {"type": "program", "caller_id": "p1"}
        block = call(opaque={PROVIDER: {"namespace": "geo", "caller": caller}})
        found = items(USER, said(own(program), block), result("Snow."))
        assert (found[2]["namespace"], found[2]["caller"], found[3]["caller"]) == ("geo", caller, caller)

    @pytest.mark.parametrize(
        ("content", "output"),
        [
            ([], ""),
            (["Snow."], "Snow."),
            (["Snow.", "Ice."], "Snow.\nIce."),
            ([" "], ""),
        ],
    )
    def test_texts_are_joined(self, content: list[str], output: str) -> None:
        assert items(USER, said(call()), result(*map(text, content)))[-1]["output"] == output

    @pytest.mark.parametrize(
        ("content", "output"),
        [
            ([], "Error: (empty result)"),
            ([text("No."), text("Why?")], "Error: No.\nWhy?"),
        ],
    )
    def test_an_error_says_so_in_its_text(self, content: list[Any], output: str) -> None:
        assert items(USER, said(call()), result(*content, is_error=True))[-1]["output"] == output

    def test_media_stand_in_the_output(self) -> None:
        image = {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{DATA}"}
        file = {"type": "input_file", "filename": "document.pdf", "file_data": f"data:application/pdf;base64,{DATA}"}
        content = [document("image/png"), text("Look."), document("application/pdf")]
        assert items(USER, said(call()), result(*content))[-1]["output"] == [
            image, {"type": "input_text", "text": "Look."}, file
        ]  # fmt: skip
        assert items(USER, said(call()), result(*content, is_error=True))[-1]["output"] == [
            image, {"type": "input_text", "text": "Error: Look."}, file
        ]  # fmt: skip
        assert items(USER, said(call()), result(content[0], is_error=True))[-1]["output"] == [
            {"type": "input_text", "text": "Error:"}, image
        ]  # fmt: skip

    def test_an_interrupted_call_is_settled(self) -> None:
        assert items(USER, said(call()), USER)[2]["output"] == f"Error: {INTERRUPTED}"


class TestReasoning:
    def test_an_item_goes_back_verbatim_in_front_of_what_it_led_to(self) -> None:
        assert items(USER, said(thought(), "Yes."))[1:] == [REASONING, {"role": "assistant", "content": "Yes."}]
        assert items(USER, said(thought(), call()), result("Snow."))[1] == REASONING
        assert items(USER, said(thought(), own(SEARCH), "Yes."))[1:3] == [REASONING, SEARCH]

    def test_nulls_that_an_sdk_adds_are_not_sent(self) -> None:
        item = {**REASONING, "status": None, "content": None}
        assert items(USER, said(thought(item), "Yes."))[1] == REASONING

    @pytest.mark.parametrize(
        "item", [{**REASONING, "encrypted_content": None}, {**REASONING, "encrypted_content": ""}, {}, None, "x", []]
    )
    def test_without_its_encrypted_content_it_is_left_out(self, item: Any) -> None:
        prepared = request([USER, said(thought(item), "Yes.")])
        assert prepared.body["input"][1:] == [{"role": "assistant", "content": "Yes."}]
        assert "reasoning without its encrypted content is left out" in notes(prepared)

    @pytest.mark.parametrize(
        "content",
        [
            (thought(),),
            (thought(), " "),
            (thought(), thought()),
            (thought(), own(SHELL)),
            (thought(), {"type": "provider", "provider": "gemini", "data": {}}),
            (thought(), {**call(), "partial": True}),
        ],
        ids=["at the end", "a blank text", "reasoning at the end", "a call without output", "another's", "half a call"],
    )
    def test_it_is_left_out_where_what_it_led_to_is_not_sent(self, content: tuple[Any, ...]) -> None:
        prepared = request([USER, said(*content), USER])
        assert [item.get("role") for item in prepared.body["input"]] == ["user", "user"]
        assert "reasoning without what it led to is left out" in notes(prepared)

    def test_what_follows_in_a_later_message_is_not_what_it_led_to(self) -> None:
        """What a message becomes may not depend on later ones."""
        assert [item.get("type") for item in items(USER, said(thought()), said("Yes."))] == [None, None]

    def test_where_the_server_stores_answers_it_is_left_out(self) -> None:
        for params in ({"store": True}, {"store": False, PROVIDER: {"store": True}}):
            prepared = request([USER, said(thought(), "Yes.")], {"params": params})
            assert prepared.body["store"] is True
            assert len(prepared.body["input"]) == 2
        assert len(items(USER, said(thought(), "Yes."))) == 3

    def test_anothers_reasoning_is_left_out(self) -> None:
        prepared = request([USER, said({"type": "thinking", "text": "Hm.", "provider": "anthropic"}, "Yes.")])
        assert len(prepared.body["input"]) == 2
        assert "another provider's reasoning is left out" in notes(prepared)


class TestItemsOfItsOwn:
    def test_they_go_back_verbatim(self) -> None:
        mcp = {"type": "mcp_call", "id": "m", "server_label": "w", "name": "f", "arguments": "{}", "error": None}
        assert items(USER, said(own(SEARCH), own(mcp), "Yes."))[1:3] == [SEARCH, mcp]

    def test_a_clients_call_goes_with_its_output(self) -> None:
        found = items(USER, said(own(SHELL)), {"role": "user", "content": [own(SHELL_OUTPUT), "So?"]})
        assert found[1:] == [
            SHELL, SHELL_OUTPUT, {"role": "user", "content": [{"type": "input_text", "text": "So?"}]}
        ]  # fmt: skip

    def test_one_without_the_other_is_left_out(self) -> None:
        prepared = request([USER, said(own(SHELL)), USER])
        assert len(prepared.body["input"]) == 2
        assert "a custom_tool_call without an output is left out" in notes(prepared)
        prepared = request([{"role": "user", "content": [own(SHELL_OUTPUT), "So?"]}, said(own(SHELL))])
        assert len(prepared.body["input"]) == 1
        assert "a custom_tool_call_output without its call is left out" in notes(prepared)

    def test_each_is_sent_once(self) -> None:
        prepared = request([USER, said(own(SHELL), own(SHELL), own(SHELL_OUTPUT), own(SHELL), own(SHELL_OUTPUT))])
        assert prepared.body["input"][1:] == [SHELL, SHELL_OUTPUT]

    def test_a_function_is_called_by_a_call_and_by_nothing_else(self) -> None:
        prepared = request([USER, said(own(FUNCTION), call()), result("Snow.")])
        assert [item.get("type") for item in prepared.body["input"][1:]] == ["function_call", "function_call_output"]
        assert "a function_call in a block of its own is left out" in notes(prepared)

    def test_what_the_server_answers_itself_needs_no_output(self) -> None:
        found = {"type": "tool_search_call", "id": "t", "call_id": None, "execution": "server", "arguments": {}}
        answer = {"type": "tool_search_output", "id": "o", "call_id": None, "execution": "server", "tools": []}
        assert items(USER, said(own(found), own(answer), "Yes."))[1:3] == [found, answer]

    def test_one_without_a_type_is_left_out(self) -> None:
        prepared = request([USER, said(own({"type": None}), "Yes.")])
        assert "a block of its own without a type is left out" in notes(prepared)

    def test_anothers_is_left_out(self) -> None:
        prepared = request([USER, said({"type": "provider", "provider": "anthropic", "data": {}}, "Yes.")])
        assert any(each.startswith("a block of anthropic") for each in notes(prepared))


class TestTools:
    def test_they_are_flat_and_not_strict(self) -> None:
        assert request([USER], tools=[WEATHER]).body["tools"] == [
            {
                "type": "function",
                "name": "weather",
                "description": "The weather.",
                "parameters": {"type": "object", "properties": {}},
                "strict": False,
            }
        ]

    def test_what_the_api_refuses_in_a_schema_is_mended(self) -> None:
        """Objects need properties, arrays items, and the top is one object."""
        schema = {
            "type": "object",
            "anyOf": [
                {"properties": {"a": {"type": "array"}, "b": {"type": "string"}}, "required": ["a", "b"]},
                {"$ref": "#/$defs/c"},
            ],
            "not": {"required": ["x"]},
            "$defs": {"c": {"properties": {"b": {"type": "integer"}}, "required": ["b"]}},
        }
        prepared = request([USER], tools=[{"name": "f", "inputSchema": schema}])
        assert prepared.body["tools"][0]["parameters"] == {
            "type": "object",
            "$defs": schema["$defs"],
            "properties": {
                "a": {"type": "array", "items": {}},
                "b": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            },
            "required": ["b"],
        }
        assert notes(prepared) == ["the top of the schema of f is made one object, without anyOf, not"]

    def test_a_schema_that_fits_stays_as_it_is(self) -> None:
        properties = {"enum": {"enum": ["a"]}, "anyOf": {"anyOf": [{"type": "array", "items": {"type": "string"}}]}}
        schema = {"type": "object", "properties": properties, "required": ["enum"], "additionalProperties": False}
        prepared = request([USER], tools=[{"name": "f", "inputSchema": schema}])
        assert prepared.body["tools"][0]["parameters"] == schema
        assert notes(prepared) == []

    def test_none_are_no_key(self) -> None:
        assert not {"tools", "tool_choice"} & request([USER, said(call()), result("Snow.")]).body.keys()

    def test_search_is_a_tool_among_others(self) -> None:
        body = request([USER], {"search": True}, tools=[WEATHER]).body
        assert [tool["type"] for tool in body["tools"]] == ["function", "web_search"]

    @pytest.mark.parametrize(
        ("mode", "choice"),
        [
            ("auto", "auto"),
            ("any", "required"),
            ("none", "none"),
            ("weather", {"type": "function", "name": "weather"}),
            ("web_search", {"type": "allowed_tools", "mode": "required", "tools": [{"type": "web_search"}]}),
        ],
    )
    def test_the_choice_of_a_tool(self, mode: str, choice: Any) -> None:
        body = request([USER], {"tool_mode": mode, "search": True}, tools=[WEATHER]).body
        assert body["tool_choice"] == choice

    def test_the_providers_own_tools_stand_beside_the_others(self) -> None:
        code = {"type": "code_interpreter", "container": {"type": "auto"}}
        own = {PROVIDER: {"tools": [code], "tool_choice": "required"}}
        body = request([USER], {"params": own}, tools=[WEATHER]).body
        assert [tool["type"] for tool in body["tools"]] == ["function", "code_interpreter"]
        assert body["tool_choice"] == "required"
        assert request([USER], {"params": own, "tool_mode": "auto"}).body["tool_choice"] == "auto"

    @pytest.mark.parametrize("tools", [{}, [1], [{}], [{"type": 1}], "x"])
    def test_tools_of_its_own_that_are_none_are_refused(self, tools: Any) -> None:
        assert "it is a list of tools" in refused([USER], {"params": {PROVIDER: {"tools": tools}}})

    def test_a_choice_without_tools_is_not_sent(self) -> None:
        prepared = request([USER], {"params": {PROVIDER: {"tool_choice": "required"}}})
        assert "tool_choice" not in prepared.body
        assert notes(prepared) == ["the option params.tool_choice is not sent: there are no tools"]

    def test_a_name_that_the_api_refuses_is_rewritten_everywhere(self) -> None:
        prepared = request([USER, said({**call(), "name": "a.b"}), result("x")], tools=[{"name": "a.b"}])
        (sent,) = prepared.tool_names
        assert prepared.body["input"][1]["name"] == prepared.body["tools"][0]["name"] == sent


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
        assert notes(prepared) == ["the option params.stream_options is not sent: the answer is no stream"]


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
