"""What the clients of APIs re-send is recorded as it is, recognised when it comes again, and given back equal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from headish import Store
from headish.errors import HeadishError, InvalidArgument, InvalidContent, Unmappable, Unsupported
from headish.providers import parse_response, prepare_request
from headish.values.blocks import Document, ProviderBlock, Text, TurnSource
from headish.values.messages import ContextWindow, Message

MARK = {"cache_control": {"type": "ephemeral"}}
CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2}'}}
CHAT: list[dict[str, Any]] = [
    {"role": "user", "content": "2+3?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL], "reasoning": "Add.", "reasoning_details": [{"n": 1}]},
    {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "5"}]},
]
SIGNED: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "text", "text": "Hi", **MARK}]},
    {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "ZGF0YQ=="},
        {"type": "text", "text": "Hello."},
    ]},
    {"role": "user", "content": "And now?"},
]  # fmt: skip
ITEMS: list[dict[str, Any]] = [
    {"role": "user", "content": "2+3?"},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "enc"},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "add", "arguments": "{}", "status": "completed"},
    {"type": "function_call_output", "call_id": "c1", "output": "5"},
]

REFUSED: dict[str, Any] = {"role": "assistant", "content": "secret", "refusal": "a secret"}
"""An entry that no blocks give back without what stands beside them."""
FORM_OF = {"form"}


def kind_of_data(block: Any) -> Any:
    return set(block.data) if isinstance(block, ProviderBlock) else None


@pytest.fixture
def memory_store() -> Iterator[Store]:
    with Store.open(":memory:") as store:
        yield store


class TestRecording:
    @pytest.mark.parametrize(("name", "given"), [("chat", CHAT), ("anthropic", SIGNED), ("responses", ITEMS)])
    def test_a_list_comes_back_equal_and_is_stored_once(self, store: Store, name: str, given: list[Any]) -> None:
        recorded = store.record(given)
        assert store.messages(recorded.tip.id, form=name) == given
        assert store.record(given).added == 0
        [body] = json.loads(store.export(recorded.tip.id, name)).values()
        assert body == given

    def test_a_mark_that_moves_on_makes_no_other_turn(self, memory_store: Store) -> None:
        memory_store.record(SIGNED, bookmark="main")
        moved = [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}, *SIGNED[1:-1]]
        moved.append({"role": "user", "content": [{"type": "text", "text": "And now?", **MARK}]})
        assert memory_store.record(moved, bookmark="main").added == 0

    def test_a_plain_list_is_stored_as_it_always_was(self, memory_store: Store) -> None:
        recorded = memory_store.record([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}])
        assert recorded.tip.meta.system == {}
        assert memory_store.payload(recorded.tip.id) == b'[{"type":"text","text":"Hello."}]'

    def test_a_body_is_recorded_with_its_instructions(self, memory_store: Store) -> None:
        body = {"system": "Be brief.", "messages": SIGNED}
        recorded = memory_store.record(body)
        assert recorded.added == 4
        assert json.loads(memory_store.export(recorded.tip.id, "anthropic")) == body
        with pytest.raises(InvalidArgument, match="without max_tokens, model"):
            memory_store.record({**body, "model": "m", "max_tokens": 1})

    def test_options_of_headish_stand_beside_a_message_of_any_form(self, memory_store: Store) -> None:
        wrapped = [{"message": ITEMS[0], "key": "k1", "meta": {"a": 1}}, *ITEMS[1:]]
        recorded = memory_store.record(wrapped)
        found = memory_store.find("k1")
        assert found is not None
        assert found.meta.app == {"a": 1}
        assert memory_store.messages(recorded.tip.id, form="responses") == ITEMS

    def test_what_was_captured_is_what_the_client_re_sends(self, memory_store: Store) -> None:
        message = {"role": "assistant", "content": "Five.", "reasoning_content": "Add.", "refusal": None,
                   "tool_calls": [CALL], "annotations": [{"type": "url_citation"}], "new": {"a": 1}}  # fmt: skip
        choice = {"message": message, "finish_reason": "stop"}
        reply = parse_response("openai", {"object": "chat.completion", "choices": [choice]})
        turn = memory_store.record([{"role": "user", "content": "2+3?"}, message]).tip
        assert memory_store.blocks(turn.id) == reply.content

    @pytest.mark.parametrize(
        ("provider", "response", "entry"),
        [
            ("anthropic", {"type": "message", "stop_reason": "end_turn", **SIGNED[1]}, SIGNED[1]),
            (
                "gemini",
                {"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [
                    {"text": "Hm.", "thought": True, "thoughtSignature": "c2ln"},
                    {"functionCall": {"id": "g1", "name": "add", "args": {"a": 1}}, "thoughtSignature": "c2ln"},
                    {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
                ]}}]},
                None,
            ),
        ],
    )  # fmt: skip
    def test_other_answers_too(
        self, memory_store: Store, provider: str, response: dict[str, Any], entry: dict[str, Any] | None
    ) -> None:
        entry = entry or response["candidates"][0]["content"]
        turn = memory_store.record([entry], form=provider).tip
        assert memory_store.blocks(turn.id) == parse_response(provider, response).content

    def test_the_items_of_a_response_too(self, memory_store: Store) -> None:
        text = {"type": "output_text", "text": "Ok.", "annotations": [{"type": "url_citation"}], "logprobs": []}
        said = {"type": "message", "id": "m", "role": "assistant", "phase": "final_answer", "content": [text]}
        output = [{**ITEMS[1], "status": None}, ITEMS[2], {"type": "web_search_call", "id": "w"}, said]
        reply = parse_response("openai_responses", {"object": "response", "status": "completed", "output": output})
        assert memory_store.blocks(memory_store.record(output).tip.id) == reply.content

    def test_reasoning_goes_back_to_its_maker_and_to_nobody_else(self, memory_store: Store) -> None:
        tip = memory_store.record(SIGNED).tip.id
        own = memory_store.request(tip, "anthropic")
        assert [part["type"] for part in own.body["messages"][1]["content"]] == [
            "thinking",
            "redacted_thinking",
            "text",
        ]
        assert own.notes == ()
        other = memory_store.request(tip, "gemini")
        assert "another provider's reasoning is left out" in {note.what for note in other.notes}

    def test_items_of_one_answer_are_one_turn_so_reasoning_stays_with_its_call(self, memory_store: Store) -> None:
        recorded = memory_store.record(ITEMS)
        assert recorded.added == 3
        sent = memory_store.request(recorded.tip.id, "openai_responses").body["input"]
        assert [item.get("type") for item in sent] == [None, "reasoning", "function_call", "function_call_output"]

    def test_one_turn_may_be_an_entry_or_its_parts(self, memory_store: Store) -> None:
        picture = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
        told = memory_store.add_turn([{"type": "text", "text": "See"}, picture])
        given = memory_store.add_turn({"role": "assistant", "content": None, "tool_calls": [CALL]}, continues=told.id)
        written = memory_store.add_turn(json.dumps([picture]), json=True)
        assert memory_store.blocks(written.id) == memory_store.blocks(told.id)[1:]
        item = memory_store.add_turn(ITEMS[2], form="responses")
        assert (told.meta.role, given.meta.role, item.meta.role) == ("user", "assistant", "assistant")
        assert memory_store.messages(item.id, form="responses") == [ITEMS[2]]
        with pytest.raises(InvalidArgument, match="the message is of role assistant"):
            memory_store.add_turn(ITEMS[2], form="responses", role="user")

    @pytest.mark.parametrize("native", [[], 5, [5], None])
    def test_an_entry_with_options_holds_a_message(self, memory_store: Store, native: Any) -> None:
        with pytest.raises(InvalidContent):
            memory_store.record([{"message": native}], form="chat")

    @pytest.mark.parametrize(
        ("entry", "form"),
        [({"role": "boss", "content": "x"}, "chat"), ({"role": "user", "content": 5}, "anthropic"), (5, "gemini"),
         ({"role": "assistant", "tool_calls": [5]}, "cohere"),
         ({"type": 5}, "responses"), ({"role": "user", "content": "\ud800"}, "chat")],
    )  # fmt: skip
    def test_what_no_client_sends_is_refused_and_nothing_is_stored(
        self, memory_store: Store, entry: Any, form: str
    ) -> None:
        with pytest.raises(InvalidContent):
            memory_store.record([{"role": "user", "content": "a", "parts": []}, entry], form=form)
        assert memory_store.heads() == []


class TestOtherForms:
    def test_a_thread_is_written_in_another_form_and_a_loss_has_a_word(self, memory_store: Store) -> None:
        tip = memory_store.record(SIGNED).tip.id
        with pytest.raises(Unmappable, match="drop=") as refused:
            memory_store.messages(tip, form="chat")
        assert refused.value.drops == ("thinking", "provider")
        assert memory_store.messages(tip, form="chat", drop=("thinking", "provider")) == [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": "And now?"},
        ]

    @pytest.mark.parametrize("alone", [False, True])
    @pytest.mark.parametrize("form", ["chat", "cohere", "responses"])
    def test_a_result_inside_a_result_is_refused_as_what_it_is(
        self, memory_store: Store, form: str, alone: bool
    ) -> None:
        picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
        inner = {"type": "tool_result", "tool_use_id": "b", "content": "4"}
        content = [inner] if alone else [{"type": "text", "text": "two"}, picture, inner]
        result = {"type": "tool_result", "tool_use_id": "a", "content": content}
        call = {"type": "tool_use", "id": "a", "name": "look", "input": {}}
        tip = memory_store.record([{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]).tip
        with pytest.raises(Unmappable, match="a block of type 'tool_result' inside a tool result"):
            memory_store.messages(tip.id, form=form, drop=("document",))

    def test_reasoning_of_a_transcript_is_no_text_of_a_form(self, memory_store: Store) -> None:
        turn = memory_store.add_turn("Hm.", role="assistant", attributes={"channel": "analysis"})
        with pytest.raises(Unmappable, match="reasoning"):
            memory_store.export(turn.id, "cohere")

    def test_a_thread_of_many_makers_is_one_list(self, memory_store: Store) -> None:
        tip = memory_store.record(CHAT).tip.id
        last = memory_store.add_turn("Five.", role="assistant", continues=tip)
        assert memory_store.messages(last.id, form="chat") == [*CHAT, {"role": "assistant", "content": "Five."}]
        [written] = json.loads(memory_store.export(last.id, "gemini", drop=("thinking", "provider"))).values()
        assert written[2]["parts"] == [{"functionResponse": {"id": "c1", "name": "add", "response": {"output": "5"}}}]


class TestDocumentTurns:
    def test_bytes_are_read_where_the_message_leaves(self, store: Store) -> None:
        document = store.add_document(b"\x89PNG", name="a.png")
        block = {"type": "document", "source": {"type": "turn", "turn": document.id}}
        turn = store.add_turn([{"type": "text", "text": "See"}, block])
        [_, stored] = store.blocks(turn.id)
        assert isinstance(stored, Document)
        assert stored.source == TurnSource(document.id)
        [message] = store.request(turn.id, "anthropic").body["messages"]
        assert message["content"][1]["source"] == {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}
        [entry] = store.messages(turn.id, form="chat")
        assert entry["content"][1]["image_url"]["url"] == "data:image/png;base64,iVBORw=="

    def test_a_reference_to_no_document_names_it(self, memory_store: Store) -> None:
        other = memory_store.add_turn("no document")
        for named in (other.id, "nobody"):
            turn = memory_store.add_turn([{"type": "document", "source": {"type": "turn", "turn": named}}])
            with pytest.raises(InvalidContent, match=f"no document of the space is the turn '{named}'"):
                memory_store.request(turn.id, "anthropic")

    def test_without_a_store_it_is_refused(self) -> None:
        message = Message(role="user", content=(Text("See"), Document(TurnSource("0123"))))
        with pytest.raises(Unsupported, match="whose bytes only its store has"):
            prepare_request("gemini", ContextWindow((message,), {}))


@pytest.mark.parametrize("form", ["chats", "", 5])
def test_an_unknown_form_is_refused_by_name(memory_store: Store, form: Any) -> None:
    for call in (
        lambda: memory_store.record([], form=form),
        lambda: memory_store.add_turn("x", form=form),
        lambda: memory_store.messages(form=form),
    ):
        with pytest.raises(HeadishError, match=r"form|needs at least|no turn"):
            call()


class TestBesideOverlays:
    """A list is what a model sees: a client that is given it sends it back."""

    @pytest.mark.parametrize(("name", "given"), [("chat", CHAT), ("anthropic", SIGNED), ("responses", ITEMS)])
    def test_a_summary_that_comes_back_in_a_form_is_recognised(self, name: str, given: list[Any]) -> None:
        with Store.open(":memory:") as store:
            store.record(given, form=name, bookmark="main")
            store.add_turn("And then?", continues="main")
            store.summarize("main~1", "main", "In short.")
            sent = store.messages("main", form=name)
            assert "In short." in json.dumps(sent)
            assert "And then?" not in json.dumps(sent)
            assert store.record(sent, form=name, bookmark="main").added == 0
            recorded = store.record([*sent, {"role": "user", "content": "New."}], form=name, bookmark="main")
            assert (recorded.added, recorded.tip.meta.continues) == (1, (store.get("main~1").id,))
            assert store.messages("main", form=name, limit=1) == [{"role": "user", "content": "New."}]

    def test_raw_gives_the_list_as_it_was_recorded(self, memory_store: Store) -> None:
        memory_store.record(CHAT, bookmark="main")
        memory_store.hide("main~2", "main")
        assert json.loads(memory_store.export("main", "chat", raw=True)) == {"messages": CHAT}
        assert json.loads(memory_store.export("main", "chat")) == {"messages": []}
        assert memory_store.messages("main", form="chat") == []

    def test_words_in_the_place_of_others_bring_none_of_the_old_ones_back(self, memory_store: Store) -> None:
        said = memory_store.record([REFUSED], form="chat", bookmark="main").tip.id
        assert FORM_OF in map(kind_of_data, memory_store.blocks(said))
        memory_store.replace("main", "open")
        assert memory_store.messages("main", form="chat") == [{"role": "assistant", "content": "open"}]
        assert memory_store.record(memory_store.messages("main", form="chat"), bookmark="main").added == 0
        memory_store.edit(said, "open")
        assert memory_store.messages("@", form="chat") == [{"role": "assistant", "content": "open"}]

    def test_an_edit_and_a_replacement_are_written_anew(self, memory_store: Store) -> None:
        parts = [{"type": "text", "text": "one", **MARK}, {"type": "text", "text": "two", "x": 1}]
        memory_store.record([{"role": "user", "content": parts}], form="anthropic", bookmark="main")
        memory_store.replace("main", "instead")
        assert memory_store.messages("main", form="anthropic") == [{"role": "user", "content": "instead"}]
        memory_store.edit("main~1", "three")
        assert memory_store.messages("@", form="anthropic") == [{"role": "user", "content": "three"}]

    def test_a_copy_behind_an_edit_comes_back_equal(self, memory_store: Store) -> None:
        memory_store.record(SIGNED, bookmark="main")
        memory_store.edit("main~2", "Hello?", keep=True)
        assert memory_store.messages("main", form="anthropic")[1:] == SIGNED[1:]

    def test_results_of_which_one_is_hidden_are_written_without_the_layout_of_all(self, memory_store: Store) -> None:
        calls = [{"type": "tool_use", "id": id, "name": "f", "input": {}} for id in ("c1", "c2")]
        results: list[dict[str, Any]] = [
            {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "x"}], "y": None},
            {"type": "tool_result", "tool_use_id": "c2", "content": "z"},
        ]
        memory_store.record(
            [
                {"role": "assistant", "content": calls[:1], "attributes": {"hidden": "model"}},
                {"role": "assistant", "content": calls[1:]},
                {"role": "user", "content": results},
            ],
            form="anthropic",
            bookmark="main",
        )
        sent = [{"role": "assistant", "content": calls[1:]}, {"role": "user", "content": results[1:]}]
        assert memory_store.messages("main", form="anthropic") == sent
        assert memory_store.record(sent, form="anthropic", bookmark="main").added == 0


class TestBesideBudgets:
    def test_a_document_turn_weighs_what_it_holds_and_goes_out_within_a_budget(self, memory_store: Store) -> None:
        document = memory_store.add_document(b"long words " * 4000, name="a.txt")
        content = [{"type": "document", "source": {"type": "turn", "turn": document.id}}]
        memory_store.add_turn([*content, {"type": "text", "text": "Read."}], bookmark="main")
        weight = memory_store.tokens("main").tokens
        assert weight > 8000
        request = memory_store.request("main", "anthropic", model="m", max_tokens=5, budget=2 * weight)
        assert "long words" in json.dumps(request.body)
        assert memory_store.tokens("main", count=len).tokens > 40_000

    @pytest.mark.parametrize("source", [{"type": "url", "url": "https://a/b"}, {"type": "file", "file_id": "f1"}])
    def test_a_document_elsewhere_has_a_weight_and_a_difference(self, memory_store: Store, source: Any) -> None:
        memory_store.add_turn("See", bookmark="main")
        memory_store.bookmarks.set("other", "main")
        memory_store.add_turn([{"type": "document", "source": source}], continues="main")
        memory_store.add_turn("none", continues="other")
        assert memory_store.tokens("main").tokens > 1000
        assert memory_store.diff("main", "other").changes
        assert memory_store.messages("main")

    def test_what_says_only_how_others_were_written_weighs_nothing(self, memory_store: Store) -> None:
        recorded = memory_store.record([REFUSED], form="chat").tip.id
        *others, last = memory_store.blocks(recorded)
        assert kind_of_data(last) == FORM_OF
        plain = memory_store.add_turn(others, role="assistant").id
        assert memory_store.tokens(recorded).tokens == memory_store.tokens(plain).tokens
