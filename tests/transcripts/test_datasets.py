"""Rows of data sets, and what of a thread a trainer may see."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from headish import Store
from headish.content import strictjson
from headish.errors import InvalidArgument, Unmappable
from headish.values.messages import Note

KEY = "sk-abc123def456ghi789jkl"
JSON_FORMATS = ("chat", "responses", "anthropic", "gemini", "cohere", "openai-finetune", "hf", "sharegpt")
PNG = "iVBORw0KGgo="


@pytest.fixture
def store() -> Iterator[Store]:
    """In memory: rows are made of what was read, and no database knows of them."""
    with Store.open(":memory:") as memory:
        yield memory


def add(store: Store, content: Any, role: str = "user", name: str = "main", **further: Any) -> str:
    """A turn behind the bookmark, which moves along."""
    place = {"continues": name} if name in store.bookmarks else {"bookmark": name}
    return store.add_turn(content, role=role, **place, **further).id


def call(id: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "add", "input": arguments}


def result(id: str, text: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": text}


@pytest.fixture
def worked(store: Store) -> Store:
    """A thread with reasoning, calls whose ids repeat, and a key that somebody pasted."""
    add(store, "Be brief.", "system")
    add(store, f"Add with {KEY}")
    add(
        store,
        [
            {"type": "thinking", "text": "hm", "signature": "c2ln", "provider": "anthropic"},
            {"type": "text", "text": "So:", "opaque": {"openai": {"annotations": [{"url": "x"}]}}},
            call("toolu_9", a=1, api_key="abcdef"),
        ],
        "assistant",
    )
    add(store, [result("toolu_9", "1")], "tool")
    add(store, [call("toolu_9", a=2)], "assistant")
    add(store, [result("toolu_9", "2")], "tool")
    add(store, "Two.", "assistant")
    add(store, "Thanks")
    return store


def row(store: Store, format: str, headish: str = "main", **settings: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(store.export(headish, format, **settings))
    return found


class TestRows:
    def test_a_row_of_hugging_face_has_arguments_as_objects(self, worked: Store) -> None:
        messages = row(worked, "hf", for_training=True)["messages"]
        assert messages[2]["tool_calls"][0]["function"]["arguments"]["a"] == 1
        assert [each["role"] for each in messages] == [
            "system",
            "user",
            "assistant",
            "tool",
            "assistant",
            "tool",
            "assistant",
        ]

    def test_a_row_of_openai_has_arguments_as_text_and_the_tools(self, store: Store) -> None:
        store.tools.set("sums", [{"name": "add", "description": "Adds", "inputSchema": {"type": "object"}}])
        add(store, "1+1?", inherited={"servers": ["sums"]})
        add(store, [call("c", a=1)], "assistant")
        made = row(store, "openai-finetune")
        assert made["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"a":1}'
        assert made["tools"] == [
            {
                "type": "function",
                "function": {"name": "sums___add", "description": "Adds", "parameters": {"type": "object"}},
            }
        ]

    def test_a_row_of_sharegpt_has_calls_and_results_of_their_own(self, worked: Store) -> None:
        said = row(worked, "sharegpt", for_training=True, with_reasoning=True)["conversations"]
        assert [each["from"] for each in said] == [
            "system", "human", "function_call", "observation", "function_call", "observation", "gpt",
        ]  # fmt: skip
        assert said[2]["value"] == (
            "<think>\nhm\n</think>\n\nSo:\n"
            '<tool_call>{"name": "add", "arguments": {"a": 1, "api_key": "<hidden: it looked like a key>"}}</tool_call>'
        )
        assert json.loads(said[4]["value"]) == {"name": "add", "arguments": {"a": 2}}

    def test_people_and_answers_of_sharegpt_take_turns_as_llama_factory_asks(self, store: Store) -> None:
        """LLaMA-Factory skips a row in which they do not, and stops at calls that are not JSON."""
        thought = {"type": "thinking", "text": "hm", "provider": "openai"}
        add(store, "Add.")
        add(store, [thought, {"type": "text", "text": "So:"}, call("a", a=1), call("b", a=2)], "assistant")
        add(store, [result("a", "1")], "tool")
        add(store, [result("b", "[2]")], "tool")
        add(store, [thought, call("c", a=3)], "assistant")
        add(store, [result("c", "3")], "tool")
        add(store, "Six.", "assistant")
        said = row(store, "sharegpt")["conversations"]
        assert [each["from"] for each in said[::2]] == ["human", "observation", "observation"]
        assert [each["from"] for each in said[1::2]] == ["function_call", "function_call", "gpt"]
        assert said[2]["value"] == '["1", "[2]"]'
        assert said[3]["value"].partition("<think>\nhm\n</think>\n\n")[::2] == (
            "", '{"name": "add", "arguments": {"a": 3}}',
        )  # fmt: skip

    @pytest.mark.parametrize("format", ["sharegpt", "hf", "openai-finetune"])
    def test_a_picture_in_a_result_is_given_up_where_that_is_said(self, store: Store, format: str) -> None:
        picture = {"type": "document", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
        add(store, [call("a")], "assistant")
        add(store, [{**result("a", ""), "content": [{"type": "text", "text": "This:"}, picture]}], "tool")
        with pytest.raises(Unmappable) as refused:
            store.export("main", format)
        assert refused.value.drops == ("document",)
        assert PNG not in store.export("main", format, drop=["document"])

    def test_a_file_at_an_address_is_none_that_a_row_can_hold(self, store: Store) -> None:
        """Its address was written where its bytes belong."""
        url = "https://example.org/a.pdf"
        file = {"type": "document", "source": {"type": "url", "url": url, "media_type": "application/pdf"}}
        add(store, [{"type": "text", "text": "Read"}, file])
        for format in ("sharegpt", "hf", "openai-finetune"):
            with pytest.raises(Unmappable) as refused:
                store.export("main", format)
            assert refused.value.drops == ("document",)
            assert url not in store.export("main", format, drop=["document"])
        image = {"type": "document", "source": {"type": "url", "url": url, "media_type": "image/png"}}
        add(store, [image], name="seen")
        assert row(store, "hf", "seen")["messages"][0]["content"] == [{"type": "image", "url": url}]

    @pytest.mark.parametrize("raw", ['{"a": NaN}', '{"a": 1e999}', '{"a": "\\ud800"}', '{"a": 1, "a": 2}'])
    def test_arguments_that_not_every_reader_takes_stay_text(self, store: Store, raw: str) -> None:
        """The row was not JSON, or not UTF-8, and no trainer read the file; or a key was lost."""
        add(store, "?")
        add(store, [{"type": "tool_use", "id": "a", "name": "add", "raw": raw}], "assistant")
        function = strictjson.decode(store.export("main", "hf").encode(), "a row")["messages"][1]["tool_calls"][0]
        assert function["function"]["arguments"] == raw
        said = strictjson.decode(store.export("main", "sharegpt").encode(), "a row")["conversations"][1]
        assert strictjson.decode(said["value"], "a call") == {"name": "add", "arguments": raw}

    def test_tags_of_calls_that_somebody_wrote_are_not_taken_for_calls(self, store: Store) -> None:
        add(store, "?")
        add(store, [{"type": "text", "text": "As <tool_call>:"}, call("a", a=1)], "assistant")
        with pytest.raises(Unmappable, match="tag of calls"):
            store.export("main", "sharegpt")

    def test_calls_that_are_made_together_are_a_list(self, store: Store) -> None:
        add(store, "?")
        add(store, [call("a", a=1), call("b", a=2)], "assistant")
        [_, calls] = row(store, "sharegpt")["conversations"]
        assert [each["arguments"] for each in json.loads(calls["value"])] == [{"a": 1}, {"a": 2}]

    def test_media_of_sharegpt_stand_beside_the_texts(self, store: Store) -> None:
        picture = {"type": "document", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
        add(store, [{"type": "text", "text": "What is "}, picture, {"type": "text", "text": "?"}])
        made = row(store, "sharegpt")
        assert made["conversations"] == [{"from": "human", "value": "What is <image>?"}]
        assert made["images"] == [f"data:image/png;base64,{PNG}"]

    def test_a_text_that_looks_like_a_mark_is_not_mistaken_for_a_picture(self, store: Store) -> None:
        picture = {"type": "document", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
        add(store, [{"type": "text", "text": "Write <image> here: "}, picture])
        with pytest.raises(Unmappable, match="<image>"):
            store.export("main", "sharegpt")
        assert row(store, "hf")["messages"][0]["content"][1] == {"type": "image", "url": f"data:image/png;base64,{PNG}"}

    def test_the_weight_of_an_answer_goes_out(self, store: Store) -> None:
        given = [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "5", "weight": 0}]
        store.record(given, form="chat", bookmark="main")
        for format, key in (("openai-finetune", "messages"), ("hf", "messages"), ("sharegpt", "conversations")):
            for settings in ({}, {"for_training": True}):
                assert row(store, format, **settings)[key][1]["weight"] == 0
        assert row(store, "openai-finetune") == {"messages": given}

    @pytest.mark.parametrize(
        ("media_type", "name"),
        [("text/plain", "document.txt"), ("application/pdf", "document.pdf"), ("text/csv", "document")],
    )
    def test_a_file_without_a_name_is_called_by_its_type(self, store: Store, media_type: str, name: str) -> None:
        source = {"type": "base64", "media_type": media_type, "data": "Y2Fmw6k="}
        store.add_turn([{"type": "text", "text": "?"}, {"type": "document", "source": source}], bookmark="main")
        file = {"filename": name, "file_data": f"data:{media_type};base64,Y2Fmw6k="}
        assert row(store, "openai-finetune")["messages"][0]["content"][1] == {"type": "file", "file": file}

    def test_what_a_row_cannot_say_is_refused_with_the_word_that_gives_it_up(self, worked: Store) -> None:
        with pytest.raises(Unmappable) as refused:
            worked.export("main", "sharegpt")
        assert set(refused.value.drops) == {"thinking", "provider"}
        assert "<think>" not in worked.export("main", "sharegpt", drop=refused.value.drops)

    def test_a_row_is_one_line_for_every_reader(self, store: Store) -> None:
        add(store, "a\u2028b\u2029c\x85d\ne")
        text = store.export("main", "hf")
        assert text.splitlines() == [text[:-1]]
        assert row(store, "hf")["messages"][0]["content"] == "a\u2028b\u2029c\x85d\ne"

    @pytest.mark.parametrize("setting", ["for_completion", "tight", "raw"])
    def test_a_row_for_a_trainer_has_neither_a_prompt_nor_a_layout(self, worked: Store, setting: str) -> None:
        with pytest.raises(InvalidArgument):
            worked.export("main", "hf", for_training=True, **{setting: True})
        with pytest.raises(InvalidArgument, match="with_reasoning"):
            worked.export("main", "hf", with_reasoning=True)


class TestTrainers:
    @pytest.mark.parametrize("format", JSON_FORMATS)
    def test_a_trainer_sees_neither_keys_nor_reasoning_nor_ids(self, worked: Store, format: str) -> None:
        told: list[Note] = []
        text = worked.export("main", format, for_training=True, told=told.append)
        assert not [
            secret for secret in (KEY, "abcdef", "hm", "c2ln", "toolu_9", "annotations", "Thanks") if secret in text
        ]
        assert "Two." in text
        assert {note.what for note in told} >= {"reasoning", "what looks like a key", "a message that nothing answers"}
        assert all(note.turn for note in told)

    def test_calls_that_had_one_id_are_told_apart(self, worked: Store) -> None:
        messages = row(worked, "chat", for_training=True)["messages"]
        calls = [each["tool_calls"][0]["id"] for each in messages if "tool_calls" in each]
        assert calls == ["call_1", "call_2"]
        assert [each["tool_call_id"] for each in messages if each["role"] == "tool"] == calls

    @pytest.mark.parametrize("viewer", ["model", "people", "both"])
    def test_what_is_hidden_from_anybody_is_hidden_from_a_trainer(self, store: Store, viewer: str) -> None:
        add(store, "secret one", attributes={"hidden": viewer})
        add(store, "?")
        later = add(store, "secret two", "assistant")
        add(store, "!", "assistant")
        store.hide(later, viewer=viewer, continues="main")
        told: list[Note] = []
        text = store.export("main", "hf", for_training=True, told=told.append)
        assert "secret" not in text
        assert len(told) == 2

    def test_a_summary_of_what_people_do_not_see_is_hidden_as_well(self, store: Store) -> None:
        add(store, "open")
        hidden = add(store, "secret", attributes={"hidden": "people"})
        add(store, "!", "assistant")
        store.summarize(hidden, hidden, "They spoke of the secret", continues="main")
        add(store, "?")
        add(store, "Yes", "assistant")
        assert "secret" not in store.export("main", "hf", for_training=True)
        assert "secret" in store.export("main", "hf")

    def test_an_erased_message_is_left_out_and_said(self, store: Store) -> None:
        gone = add(store, "Ada Lovelace, born 1815")
        add(store, "Noted.", "assistant")
        store.erase(gone, reason="asked for")
        told: list[Note] = []
        assert "Ada" not in store.export("main", "hf", for_training=True, told=told.append)
        assert [(note.what, note.turn) for note in told] == [("a message that was erased", gone)]

    def test_an_answer_that_was_cut_off_is_no_example(self, store: Store) -> None:
        add(store, "?")
        add(store, "Whole.", "assistant")
        add(store, "More?")
        add(store, "Half", "assistant", attributes={"stop": "none"})
        assert [each["content"] for each in row(store, "hf", for_training=True)["messages"]] == ["?", "Whole."]

    def test_a_thread_without_an_answer_is_refused(self, store: Store) -> None:
        add(store, "?")
        with pytest.raises(Unmappable, match="without an answer"):
            store.export("main", "hf", for_training=True)
        [each] = store.export_each(format="hf", for_training=True)
        assert (each.text, each.refused, len(each.notes)) == ("", None, 2)

    def test_a_private_key_goes_with_all_its_lines(self, store: Store) -> None:
        add(store, "-----BEGIN RSA PRIVATE KEY-----\nMIIEsecret\n-----END RSA PRIVATE KEY-----\nWhat is it?")
        add(store, "A key.", "assistant")
        text = row(store, "hf", for_training=True)["messages"][0]["content"]
        assert text == "<hidden: it looked like a key>\nWhat is it?"

    def test_what_was_recorded_in_a_form_is_cleaned_as_well(self, store: Store) -> None:
        given = [
            {"role": "user", "content": [{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}]},
            {
                "role": "assistant",
                "content": [{"type": "redacted_thinking", "data": "AAAA"}, {"type": "text", "text": "Yo"}],
            },
        ]
        store.record(given, form="anthropic", bookmark="main")
        assert row(store, "anthropic", for_training=True) == {
            "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo"}]
        }


class TestRoundTrips:
    """What is written as a row is read as the same messages."""

    @pytest.mark.parametrize("format", ["hf", "openai-finetune", "sharegpt"])
    def test_a_row_that_was_exported_is_imported_as_it_was(self, store: Store, format: str) -> None:
        picture = {"type": "document", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
        add(store, "Be brief.", "system")
        add(store, [{"type": "text", "text": "See "}, picture] if format != "sharegpt" else "Add")
        add(store, [call("c1", a=1)], "assistant")
        add(store, [result("c1", "1")], "tool")
        add(store, "One.", "assistant")
        line = store.export("main", format)
        with Store.open(":memory:") as other:
            other.import_file(io.BytesIO(line.encode()), format)
            [head] = other.heads()
            assert json.loads(other.export(head.id, format)) == json.loads(line)
            roles = [message.role for message in other.resolve(head.id).messages]
            assert roles == ["system", "user", "assistant", "tool", "assistant"]
            if format != "sharegpt":  # which has no place for it in its turn
                assert other.resolve(head.id).messages[1].to_dict()["content"][1] == picture

    def test_what_stands_beside_calls_of_sharegpt_comes_back(self, store: Store) -> None:
        thought = {"type": "thinking", "text": "hm", "provider": "openai"}
        said = [thought, {"type": "text", "text": "So:\n"}, call("a", a=1), {**call("b", a=2), "name": "sub"}]
        add(store, "Add.")
        add(store, said, "assistant")
        add(store, [result("a", "1"), result("b", "2")], "tool")
        add(store, [thought, call("c", a=3)], "assistant")
        line = store.export("main", "sharegpt")
        with Store.open(":memory:") as other:
            other.import_file(io.BytesIO(line.encode()), "sharegpt")
            [head] = other.heads()
            messages = [each.to_dict()["content"] for each in other.resolve(head.id).messages]
            types = [[block["type"] for block in content if block["type"] != "provider"] for content in messages]
            assert types == [
                ["text"], ["thinking", "text", "tool_use", "tool_use"], ["tool_result"], ["tool_result"],
                ["thinking", "tool_use"],
            ]  # fmt: skip
            assert messages[1][1]["text"] == "So:\n"
            assert [messages[at][0]["name"] for at in (2, 3)] == ["add", "sub"]
            assert json.loads(other.export(head.id, "sharegpt")) == json.loads(line)

    @pytest.mark.parametrize("format", ["hf", "openai-finetune"])
    def test_a_weight_comes_back(self, store: Store, format: str) -> None:
        given = [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "5", "weight": 0}]
        store.record(given, form="chat", bookmark="main")
        line = store.export("main", format)
        with Store.open(":memory:") as other:
            other.import_file(io.BytesIO(line.encode()), format)
            assert json.loads(other.export(other.heads()[0].id, format)) == json.loads(line)
