"""An answer that has to follow a JSON schema is checked when it arrives, and kept whatever it is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headish import Store, Turn
from headish.errors import InvalidContent
from headish.providers import prepare_request
from headish.providers.shared.schemas import strict_problem
from support.loopback import Loopback, event_stream
from support.providers.answers import anthropic_calls, anthropic_text

SCHEMA: dict[str, Any] = {
    "type": "object", "properties": {"peak": {"type": "string"}, "height": {"type": "integer"}},
    "required": ["peak", "height"], "additionalProperties": False,
}  # fmt: skip
LOOSE = {"type": "object", "properties": {"peak": {"type": "string"}}}
NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}


def ask(store: Store, server: Loopback, said: str, schema: dict[str, Any] | None = None) -> Turn:
    server.answer(chunks=event_stream(anthropic_text(said)))
    return store.ask("How high is K2?", ptr="milli", params={"schema": SCHEMA if schema is None else schema})


class TestAnAnswer:
    def test_that_follows_its_schema_has_nothing_beside_it(self, asking: Store, server: Loopback) -> None:
        turn = ask(asking, server, '{"peak": "K2", "height": 8611}')
        assert not turn.meta.reply.keys() & {"schema_error", "schema_unchecked"}
        format = {"type": "json_schema", "schema": SCHEMA}
        assert server.requests[0].body["output_config"] == {"format": format}

    @pytest.mark.parametrize(
        ("said", "error"),
        [
            ("It is 8611 m high.", "it is not JSON: "),
            ('{"peak": "K2", "height": "8611"}', "'8611' is not of type 'integer' (at $.height)"),
            ('{"peak": "K2"}', "'height' is a required property (at $)"),
            ('{"peak": "K2", "height": 1, "height": 2}', "it is not JSON: "),
            ("[" * 10_000, "it is not JSON: "),
        ],
    )
    def test_that_does_not_is_kept_and_the_error_is_named(
        self, asking: Store, server: Loopback, said: str, error: str
    ) -> None:
        turn = ask(asking, server, said)
        assert turn.meta.reply["schema_error"].startswith(error)
        assert asking.text(turn.id) == said
        assert asking.get(turn.id) == turn

    def test_that_calls_a_tool_or_is_cut_off_is_not_checked(self, asking: Store, server: Loopback) -> None:
        server.answer(chunks=event_stream(anthropic_calls(("f", {}, "c1"), text="Let me look.")))
        turn = asking.ask("How high?", ptr="milli", params={"schema": SCHEMA})
        assert "schema_error" not in turn.meta.reply
        server.answer(chunks=event_stream(anthropic_text("It is")[:-2]))
        turn = asking.ask("How high?", ptr="milli", params={"schema": SCHEMA})
        assert turn.meta.reply["incomplete"]
        assert "schema_error" not in turn.meta.reply

    def test_that_is_recovered_or_stored_by_hand_is_checked_too(self, asking: Store) -> None:
        turn = asking.add_turn("Hi", inherited={"params": {"schema": SCHEMA}})
        answer = asking.reply(turn.id, "anthropic", {"type": "message", "content": [{"type": "text", "text": "8611"}],
                                                     "stop_reason": "end_turn"})  # fmt: skip
        assert answer.meta.reply["schema_error"] == "8611 is not of type 'object' (at $)"
        capture = asking.capture(asking.request(turn.id, "anthropic"), "anthropic")
        for event in anthropic_text("{}"):
            capture.feed(event)
        capture._journal.keep()
        [recovered] = asking.streams.recover(force=True)
        assert recovered.meta.reply["schema_error"] == "'peak' is a required property (at $)"


class TestASchema:
    def test_that_is_none_leaves_the_answer_unchecked(self, asking: Store, server: Loopback) -> None:
        turn = ask(asking, server, "{}", {"type": "nonsense"})
        assert turn.meta.reply["schema_unchecked"].startswith("this is not a JSON Schema: 'nonsense' is not valid")

    def test_that_refers_to_an_address_fetches_nothing(self, asking: Store, server: Loopback) -> None:
        turn = ask(asking, server, "{}", {"type": "object", "$ref": f"{server.url}/secret.json"})
        assert "refers to something that does not exist" in turn.meta.reply["schema_error"]
        assert [request.path for request in server.requests] == ["/v1/messages"]

    def test_of_ten_thousand_levels_is_refused_before_anything_is_sent(self, asking: Store, server: Loopback) -> None:
        schema: dict[str, Any] = {"type": "string"}
        for _ in range(10_000):
            schema = {"type": "object", "properties": {"a": schema}}
        with pytest.raises(InvalidContent, match="lie inside each other"):
            asking.ask("Hi", ptr="milli", params={"schema": schema})
        with pytest.raises(InvalidContent, match="lie inside each other"):
            prepare_request("openai", {"messages": [], "options": {"params": {"schema": schema}}})
        assert server.requests == []

    def test_that_names_itself_checks_an_answer_as_deep_as_a_turn_can_hold(
        self, asking: Store, server: Loopback
    ) -> None:
        said: dict[str, Any] = {}
        for _ in range(100):
            said = {"next": said}
        turn = ask(asking, server, json.dumps(said), {"$ref": "#/$defs/node", "$defs": {"node": NODE}})
        assert "schema_error" not in turn.meta.reply


class TestWhatAnApiHoldsAModelTo:
    @pytest.mark.parametrize(
        ("schema", "problem"),
        [
            (SCHEMA, None),
            (LOOSE, "$ allows other properties (additionalProperties is not false)"),
            ({**SCHEMA, "required": ["peak"]}, "$ does not require 'height'"),
            ({"type": "array"}, "$ is not an object"),
            ({**SCHEMA, "properties": {"peak": LOOSE, "height": {}}}, "$.properties.peak allows other properties"),
            ({**SCHEMA, "oneOf": []}, "$ has oneOf"),
            ({**SCHEMA, "$defs": {"a": {"not": {}}}}, "$.$defs.a has not"),
            ({**SCHEMA, "properties": {"peak": True, "height": {}}}, "$.properties.peak allows anything"),
        ],
    )
    def test_is_told_by_the_schema(self, schema: dict[str, Any], problem: str | None) -> None:
        found = strict_problem(schema)
        assert found == problem or (found or "").startswith(problem or "?")

    @pytest.mark.parametrize("provider", ["openai", "openai_responses", "cerebras"])
    def test_is_asked_for_where_it_can_be_and_told_where_not(self, provider: str) -> None:
        window = {"messages": [{"role": "user", "content": "Hi"}], "options": {"params": {"schema": SCHEMA}}}
        request = prepare_request(provider, window)
        assert '"strict": true' in json.dumps(request.body)
        assert request.notes == ()
        window["options"] = {"params": {"schema": LOOSE}}
        request = prepare_request(provider, window)
        assert '"strict": false' in json.dumps(request.body)
        assert [note.what for note in request.notes] == [
            f"the API does not hold the answer to its schema: {strict_problem(LOOSE)}"
        ]

    @pytest.mark.parametrize("provider", ["anthropic", "openai", "openai_responses", "cerebras"])
    def test_calls_of_tools_are_held_to_their_schemas_on_request(self, provider: str) -> None:
        window = {"messages": [{"role": "user", "content": "Hi"}], "options": {"params": {"strict": True}}}
        tools = [{"name": "f", "inputSchema": SCHEMA}, {"name": "g", "inputSchema": LOOSE}]
        request = prepare_request(provider, window, tools=tools)
        held = [tool.get("function", tool).get("strict", False) for tool in request.body["tools"]]
        assert held == [True, False]
        assert [note.what for note in request.notes] == [
            f"the calls of g are not held to its schema: {strict_problem(LOOSE)}"
        ]
        without = prepare_request(provider, {**window, "options": {}}, tools=tools)
        assert not any(tool.get("function", tool).get("strict") for tool in without.body["tools"])
