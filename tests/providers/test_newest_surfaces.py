"""What the newest APIs take beside text and calls: compactions, containers, citations, caches of an hour."""

from __future__ import annotations

from typing import Any

import pytest

from headish.errors import Unsupported
from headish.providers import lint, parse_response, prepare_request

USER = {"role": "user", "content": "Hi"}
ANSWER = {"role": "assistant", "content": "Hello."}
PDF = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}}
CSV = {"type": "document", "source": {"type": "base64", "media_type": "text/csv", "data": "YSxi"}}


def of(provider: str, *data: dict[str, Any]) -> dict[str, Any]:
    blocks = [{"type": "provider", "provider": provider, "data": each} for each in data]
    return {"role": "assistant", "content": [*blocks, {"type": "text", "text": "So."}]}


def anthropic(messages: list[Any], **params: Any) -> dict[str, Any]:
    return prepare_request("anthropic", {"messages": messages, "options": {"params": params}}).body


class TestAnthropicsCompaction:
    BLOCK = {"type": "compaction", "content": "They spoke of Lima.", "encrypted_content": "ZW5j"}

    def test_stands_for_all_before_it(self) -> None:
        window = {"messages": [USER, ANSWER, USER, of("anthropic", self.BLOCK), USER]}
        request = prepare_request("anthropic", window)
        assert [message["role"] for message in request.body["messages"]] == ["assistant", "user"]
        assert request.body["messages"][0]["content"] == [self.BLOCK, {"type": "text", "text": "So."}]
        assert [note.what for note in request.notes] == ["3 messages before a compaction are not sent"]
        assert len(request.origins) == 2

    def test_the_last_one_counts_and_what_instructs_stays(self) -> None:
        system = {"role": "system", "content": "Be brief."}
        later = {**self.BLOCK, "content": "And of Cusco."}
        body = anthropic([system, USER, of("anthropic", self.BLOCK), USER, of("anthropic", self.BLOCK, later), USER])
        assert body["messages"][0]["content"][0] == later
        assert body["system"] == [{"type": "text", "text": "Be brief."}]

    def test_leaves_the_marks_to_what_is_sent(self) -> None:
        system = {"role": "system", "content": "Be brief.", "cache": True}
        flagged = {**USER, "cache": True}
        thread = [system, *[flagged] * 4, of("anthropic", self.BLOCK), flagged]
        request = prepare_request("anthropic", {"messages": thread, "options": {}})
        mark = {"cache_control": {"type": "ephemeral"}}
        assert request.body["system"] == [{"type": "text", "text": "Be brief.", **mark}]
        assert request.body["messages"][-1]["content"] == [{"type": "text", "text": USER["content"], **mark}]
        assert [note.what for note in request.notes] == ["1 message before a compaction is not sent"]

    def test_that_failed_stands_for_nothing(self) -> None:
        body = anthropic([USER, of("anthropic", {**self.BLOCK, "content": None}), USER])
        assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]


class TestResponsesCompaction:
    ITEM = {"type": "compaction", "id": "cmp_1", "encrypted_content": "ZW5j"}

    def test_shortens_what_is_sent(self) -> None:
        system = {"role": "developer", "content": "Be brief."}
        window = {"messages": [system, USER, ANSWER, USER, of("openai_responses", self.ITEM), USER]}
        request = prepare_request("openai_responses", window)
        kinds = [item.get("type") or item["role"] for item in request.body["input"]]
        assert kinds == ["developer", "compaction", "assistant", "user"]
        assert [note.what for note in request.notes] == ["3 messages before a compaction are not sent"]

    def test_leaves_the_breakpoints_to_what_is_sent(self) -> None:
        system = {"role": "developer", "content": "Be brief.", "cache": True}
        flagged = {**USER, "cache": True}
        thread = [system, *[flagged] * 4, of("openai_responses", self.ITEM), flagged]
        request = prepare_request("openai_responses", {"messages": thread}, cache_breakpoints=True)
        marked = [item["role"] for item in request.body["input"] if "breakpoint" in str(item)]
        assert marked == ["developer", "user"]
        assert [note.what for note in request.notes] == ["4 messages before a compaction are not sent"]

    def test_keeps_a_call_that_is_answered_behind_it(self) -> None:
        call = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
        said = {
            "role": "assistant",
            "content": [call, {"type": "provider", "provider": "openai_responses", "data": self.ITEM}],
        }
        result = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "1"}]}
        tools = [{"name": "f", "inputSchema": {"type": "object"}}]
        window = {"messages": [USER, said, {"role": "tool", "content": [result]}]}
        body = prepare_request("openai_responses", window, tools=tools).body
        assert [item["type"] for item in body["input"]] == ["function_call", "compaction", "function_call_output"]

    def test_of_an_answer_is_the_one_that_goes_back(self) -> None:
        reply = parse_response("openai_responses", {"object": "response", "status": "completed", "output": [self.ITEM]})
        window = {"messages": [USER, {"role": "assistant", "content": list(reply.content)}, USER]}
        assert prepare_request("openai_responses", window).body["input"][0] == self.ITEM


class TestAnthropicsParameters:
    def test_citations_are_asked_of_all_documents(self) -> None:
        body = anthropic([{"role": "user", "content": [PDF, CSV]}], citations=True)
        documents = body["messages"][0]["content"]
        assert [document["citations"] for document in documents] == [{"enabled": True}] * 2
        assert documents[1]["source"] == {"type": "text", "media_type": "text/plain", "data": "a,b"}
        assert "citations" not in body
        without = anthropic([{"role": "user", "content": [PDF, CSV]}])
        assert without["messages"][0]["content"][1] == {"type": "text", "text": "a,b"}

    def test_what_is_flagged_is_cached_for_an_hour(self) -> None:
        flagged = {**USER, "cache": True}
        body = anthropic([flagged], cache_ttl="1h")
        assert body["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
        assert "cache_ttl" not in body
        with pytest.raises(Unsupported, match=r"params.cache_ttl='2h': it is 5m or 1h"):
            anthropic([flagged], anthropic={"cache_ttl": "2h"})

    def test_context_management_and_the_mcp_connector_go_out_as_they_are(self) -> None:
        edits = {"edits": [{"type": "clear_tool_uses_20250919"}]}
        servers = [{"type": "url", "name": "geo", "url": "https://geo.example/mcp"}]
        tools = [{"type": "mcp_toolset", "mcp_server_name": "geo"}]
        body = anthropic([USER], context_management=edits, mcp_servers=servers, anthropic={"tools": tools})
        assert (body["context_management"], body["mcp_servers"], body["tools"]) == (edits, servers, tools)

    def test_a_call_of_the_connector_that_was_cut_off_is_left_out(self) -> None:
        call = {"type": "mcp_tool_use", "id": "m1", "name": "f", "server_name": "geo", "input": {}}
        findings = lint("anthropic", {"messages": [USER, of("anthropic", call), USER]})
        assert [each.what for each in findings] == ["a search that was cut off is left out"]
        result = {"type": "mcp_tool_result", "tool_use_id": "m1", "content": [], "is_error": False}
        body = anthropic([USER, of("anthropic", call, result), USER])
        assert [part["type"] for part in body["messages"][1]["content"]] == ["mcp_tool_use", "mcp_tool_result", "text"]
