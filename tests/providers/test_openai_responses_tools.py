"""Tools of a Responses request, and the items that only this API has."""

from __future__ import annotations

from typing import Any

import pytest

from support.providers.responses_requests import (
    FUNCTION,
    PROVIDER,
    SEARCH,
    SHELL,
    SHELL_OUTPUT,
    USER,
    WEATHER,
    call,
    items,
    notes,
    own,
    refused,
    request,
    result,
    said,
)


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
