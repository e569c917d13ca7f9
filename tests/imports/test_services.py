"""Open WebUI, LibreChat, Inspect AI and OpenTelemetry: their own files where they are packages, and bad ones."""

from __future__ import annotations

import copy
import io
import json
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from headish import Store
from headish.errors import InvalidImport
from imports.test_hostile import ODD, places
from support.insides import unchanged

pytestmark = pytest.mark.slow

FIXTURES = Path(__file__).parent / "fixtures"
DETAILS = (
    '<details type="reasoning" done="true" duration="1">\n<summary>Thought for 1 second</summary>\n&gt; hm\n&gt; so\n'
    '</details>\n<details type="tool_calls" done="true" id="call_1" name="add" '
    'arguments="&quot;{\\&quot;a\\&quot;: 2}&quot;" result="&quot;4&quot;">\n'
    "<summary>Tool Executed</summary>\n</details>\nFour."
)
SUMS = {
    "id": "w",
    "user_id": "u",
    "title": "Sums",
    "created_at": 1700000000,
    "pinned": True,
    "meta": {"tags": ["maths"]},
    "chat": {
        "models": ["m"],
        "history": {
            "currentId": "b",
            "messages": {
                "a": {
                    "id": "a",
                    "parentId": None,
                    "childrenIds": ["b"],
                    "role": "user",
                    "content": "2+2?",
                    "timestamp": 1700000000,
                    "files": [
                        {"type": "image", "url": "data:image/png;base64,iVBORw0KGgo="},
                        {"type": "file", "name": "a.txt", "file": {"data": {"content": "words"}}},
                        {"type": "file", "name": "gone.pdf", "id": "f"},
                    ],
                },
                "b": {
                    "id": "b",
                    "parentId": "a",
                    "role": "assistant",
                    "content": DETAILS,
                    "model": "m",
                    "timestamp": 1700000001,
                    "done": True,
                    "usage": {"prompt_tokens": 3, "completion_tokens": 4},
                },
                "c": {
                    "id": "c",
                    "parentId": "a",
                    "role": "assistant",
                    "content": "Five.",
                    "model": "n",
                    "timestamp": 1700000002,
                    "output": [
                        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hm"}]},
                        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Five."}]},
                    ],
                },
            },
        },
    },
}
TIDES = {
    "conversationId": "c",
    "endpoint": "openAI",
    "title": "Tides",
    "recursive": True,
    "options": {"model": "m", "promptPrefix": "Be brief."},
    "messages": [
        {
            "messageId": "1",
            "parentMessageId": None,
            "isCreatedByUser": True,
            "sender": "User",
            "text": "Why?",
            "children": [
                {
                    "messageId": "2",
                    "parentMessageId": "1",
                    "isCreatedByUser": False,
                    "model": None,
                    "text": "",
                    "content": [
                        {"type": "think", "think": "hm"},
                        {"type": "text", "text": "Let me see."},
                        {
                            "type": "tool_call",
                            "tool_call": {"id": "t", "name": "look", "args": '{"a":1}', "output": "moon"},
                        },
                        {"type": "text", "text": {"value": "The moon."}},
                    ],
                    "children": [],
                },
                {
                    "messageId": "3",
                    "parentMessageId": "1",
                    "isCreatedByUser": False,
                    "text": "Gravity.",
                    "createdAt": "2026-01-02T03:04:06Z",
                },
            ],
        },
        {
            "messageId": "4",
            "parentMessageId": "00000000-0000-0000-0000-000000000000",
            "isCreatedByUser": True,
            "text": "Why two?",
            "files": [{"file_id": "f", "filename": "a.pdf"}],
        },
    ],
}
ASKED = {"role": "user", "parts": [{"type": "text", "content": "2+2?"}]}
CALLED = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "add", "arguments": {"a": 2}}]}
ADDED = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": 4}]}


def attributes(facts: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
        for key, value in facts.items()
    ]


def span(id: str, second: int, facts: dict[str, Any], trace: str = "t1", **further: Any) -> dict[str, Any]:
    began = 1_700_000_000_000_000_000 + second * 1_000_000_000
    return {
        "traceId": trace, "spanId": id, "startTimeUnixNano": str(began), "endTimeUnixNano": str(began + 500_000_000),
        "attributes": attributes(facts), **further,
    }  # fmt: skip


def chat(id: str, second: int, asked: list[Any], answer: Any, **further: Any) -> dict[str, Any]:
    return span(
        id, second,
        {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "conv", "gen_ai.request.model": "m",
         "gen_ai.input.messages": json.dumps(asked), "gen_ai.output.messages": json.dumps([answer]), **further},
    )  # fmt: skip


def request(*spans: Any) -> dict[str, Any]:
    resource = {"attributes": attributes({"service.name": "sums"})}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": list(spans)}]}]}


FIRST = chat("s1", 1, [ASKED], {**CALLED, "finish_reason": "tool_calls"}, **{"gen_ai.usage.input_tokens": 9})
SECOND = chat("s2", 3, [ASKED, CALLED, ADDED], {"role": "assistant", "parts": [{"type": "text", "content": "Four."}]})
TOOL = span("s3", 2, {"gen_ai.operation.name": "execute_tool", "gen_ai.conversation.id": "conv"})


def as_json(value: Any) -> io.BytesIO:
    return io.BytesIO(json.dumps(value).encode())


def as_lines(*values: Any) -> io.BytesIO:
    return io.BytesIO(b"".join(json.dumps(each).encode() + b"\n" for each in values))


def told(store: Store, headish: str) -> list[tuple[str | None, list[str]]]:
    return [(each.role, [to["type"] for to in each.to_dict()["content"]]) for each in store.resolve(headish).messages]


class TestOpenWebUI:
    def test_edits_are_branches_and_what_stands_as_html_is_read(self, memory: Store) -> None:
        done = memory.import_file(as_json([SUMS]))
        assert (done.trees, done.added, done.bookmarks, done.broken) == (1, 5, 1, 0)
        assert told(memory, "sums") == [
            ("user", ["document", "document", "provider", "text"]), ("assistant", ["thinking", "tool_use"]),
            ("tool", ["tool_result"]), ("assistant", ["text"]),
        ]  # fmt: skip
        thought, call = memory.resolve("sums").messages[1].to_dict()["content"]
        assert (thought["text"], call["name"], call["input"]) == ("hm\nso", "add", {"a": 2})
        assert told(memory, memory.find("open-webui:w:c").id)[1] == ("assistant", ["thinking", "text"])
        record = memory.conversations.find("open-webui:w").record
        assert (record.title, record.pinned, record.tags) == ("Sums", True, ("open-webui", "maths"))
        assert memory.resolve("sums").messages[3].text == "Four."
        assert memory.get("sums").meta.reply["usage"] == {"input_tokens": 3, "output_tokens": 4}
        assert memory.import_file(as_json([SUMS])).added == 0

    @staticmethod
    def answered(content: Any, *output: Any) -> io.BytesIO:
        message = {"id": "a", "parentId": None, "role": "assistant", "content": content, "output": list(output)}
        return as_json([{"id": "o", "chat": {"history": {"currentId": "a", "messages": {"a": message}}}}])

    @staticmethod
    def item(text: str) -> dict[str, Any]:
        return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}

    RUN = (
        {"type": "function_call", "call_id": "c", "name": "add", "arguments": '{"a":2}'},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "5"}]},
    )

    def test_the_words_of_an_edited_answer_are_those_of_the_page(self, memory: Store) -> None:
        """The program writes an edit into the content alone; calls, and what was said before, are kept."""
        output = (self.item("Let me add."), *self.RUN, self.item("Five."))
        done = memory.import_file(self.answered("Six.\nSurely.", *output))
        call, result, text = memory.log(memory.find("open-webui:o:a/3").id)[::-1]
        said = [memory.resolve(each.id).messages[-1] for each in (call, result, text)]
        assert [each.to_dict()["content"][0]["type"] for each in said] == ["tool_use", "tool_result", "text"]
        assert said[2].text == "Six.\nSurely."
        assert memory.find("open-webui:o:a").meta.app["open-webui"]["output"] == list(output)
        assert done.unmapped == {"output of an answer that was edited (kept in meta)": 1}

    @pytest.mark.parametrize("content", [
        "", None, "Five.", "Let me add.\n\n Five.", "Let me add.Five.",
        'Let me add.\n<details type="tool_calls" name="add" id="c">\n</details>\nFive.',
    ])  # fmt: skip
    def test_the_words_of_an_answer_that_was_not_edited_are_those_of_its_output(
        self, memory: Store, content: Any
    ) -> None:
        done = memory.import_file(self.answered(content, self.item("Let me add."), *self.RUN, self.item("Five.")))
        said = [each.text for each in memory.resolve(memory.find("open-webui:o:a/3").id).messages]
        assert (said[0], said[-1], done.unmapped) == ("Let me add.", "Five.", {})

    def test_a_database_says_the_same_as_an_export(self, memory: Store, tmp_path: Path) -> None:
        path = tmp_path / "webui.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(
                "CREATE TABLE chat (id TEXT PRIMARY KEY, user_id TEXT, title TEXT, chat JSON, created_at INTEGER, "
                "archived INTEGER, pinned INTEGER, meta JSON)"
            )
            values = ("w", "u", "Sums", json.dumps(SUMS["chat"]), 1700000000, 0, 1, json.dumps(SUMS["meta"]))
            connection.execute("INSERT INTO chat VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
            connection.execute("INSERT INTO chat VALUES ('x', 5, 5, '{', 5, 5, 5, 5)")
            connection.commit()
        done = memory.import_file(path)
        assert (done.trees, done.added, done.broken) == (1, 5, 1)
        assert memory.import_file(as_json([SUMS])).added == 0

    def test_an_older_chat_is_a_list(self, memory: Store) -> None:
        messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo"}]
        memory.import_file(as_json([{"id": "o", "chat": {"title": "Old", "messages": messages}}]), "open-webui")
        assert [each.text for each in memory.resolve("old").messages] == ["Hi", "Yo"]

    def test_an_answer_that_ends_with_a_result_keeps_its_token_counts(self, memory: Store) -> None:
        cut_off = copy.deepcopy(SUMS)
        cut_off["chat"]["history"]["messages"]["b"]["content"] = DETAILS.removesuffix("Four.")
        memory.import_file(as_json([cut_off]))
        call, result = memory.find("open-webui:w:b"), memory.find("open-webui:w:b/2")
        assert (call.meta.reply["usage"], result.meta.role) == ({"input_tokens": 3, "output_tokens": 4}, "tool")

    @pytest.mark.parametrize(
        "content",
        [
            '<details type="reasoning">' * 20_000,
            '<details type="tool_calls" name="' + "x" * 99_999,
            "</details>" * 1000,
            '<details type="other">x</details>',
        ],
    )
    def test_html_without_an_end_is_text(self, memory: Store, content: str) -> None:
        message = {"id": "a", "parentId": None, "role": "assistant", "content": content}
        memory.import_file(as_json([{"id": "o", "chat": {"history": {"messages": {"a": message}}}}]), "open-webui")
        assert memory.find("open-webui:o:a").text == content

    def test_only_the_program_writes_reasoning_into_an_answer(self, memory: Store) -> None:
        message = {"id": "a", "role": "user", "content": DETAILS}
        memory.import_file(as_json([{"id": "o", "chat": {"history": {"messages": {"a": message}}}}]), "open-webui")
        assert memory.find("open-webui:o:a").text == DETAILS

    def test_an_answer_that_failed_says_so_and_files_are_kept_once(self, memory: Store) -> None:
        failed = {"id": "a", "role": "assistant", "content": "", "error": {"content": "overloaded"}}
        file = {"type": "file", "name": "a.pdf", "id": "f"}
        asked = {"id": "b", "role": "user", "content": "Hi", "files": [file]}
        chat = {"history": {"messages": {"b": asked, "a": {**failed, "parentId": "b"}}}}
        memory.import_file(as_json([{"id": "o", "chat": chat}]), "open-webui")
        asking, failing = memory.resolve("open-webui-o").messages
        assert failing.to_dict()["content"][0]["data"] == {"type": "error", "error": {"content": "overloaded"}}
        assert asking.to_dict()["content"][0]["data"] == file
        assert "files" not in memory.find("open-webui:o:b").meta.app.get("open-webui", {})

    def test_parents_in_a_circle_and_missing_ones_lose_nothing(self, memory: Store) -> None:
        messages = {
            each: {"id": each, "parentId": parent, "role": "user", "content": each}
            for each, parent in (("a", "b"), ("b", "a"), ("c", "c"), ("d", "nowhere"))
        }
        done = memory.import_file(as_json([{"id": "o", "chat": {"history": {"messages": messages}}}]), "open-webui")
        assert (done.added, done.broken) == (4, 0)
        assert memory.verify().problems == ()

    def test_an_export_from_before_there_were_branches_is_recognised(self, memory: Store) -> None:
        said = [{"role": "user", "content": "Hi", "timestamp": 1700000000}, {"role": "assistant", "content": "Hello"}]
        chat = {"title": "Old", "models": ["m"], "options": {}, "messages": said, "timestamp": 1700000000}
        done = memory.import_file(as_json([{"id": "o", "user_id": "u", "title": "Old", "chat": chat}]))
        assert (done.added, memory.text("old")) == (2, "Hello")


class TestLibreChat:
    def test_nested_messages_are_one_tree_behind_the_instructions(self, memory: Store) -> None:
        done = memory.import_file(as_json(TIDES))
        assert (done.trees, done.added, done.bookmarks, done.broken) == (1, 7, 1, 0)
        assert done.unmapped == {"file without its bytes (kept in meta)": 1}
        assert [each.text for each in memory.resolve("tides").messages] == ["Be brief.", "Why?", "Gravity."]
        tip = memory.find("librechat:c:2/3")
        assert told(memory, tip.id)[2:] == [
            ("assistant", ["thinking", "text", "tool_use"]), ("tool", ["tool_result"]), ("assistant", ["text"]),
        ]  # fmt: skip
        assert (tip.text, tip.meta.reply["model"]) == ("The moon.", "m")
        assert len(memory.heads()) == 3
        assert memory.import_file(as_json(TIDES)).added == 0

    def test_what_was_typed_while_an_answer_was_written_is_said_by_the_user(self, memory: Store) -> None:
        call = {"type": "tool_call", "tool_call": {"id": "t", "name": "look", "args": "{}", "output": "moon"}}
        steer = {"type": "steer", "steer": "In Lima, please", "steerId": "s", "quotes": ["tide"]}
        content = [{"type": "think", "think": {"value": "hm"}}, call, steer, {"type": "text", "text": "The moon."}]
        asked = {"messageId": "1", "isCreatedByUser": True, "text": "Why?"}
        answer = {"messageId": "2", "parentMessageId": "1", "model": "m", "content": content, "finish_reason": "stop"}
        after = {"messageId": "3", "parentMessageId": "2", "isCreatedByUser": True, "text": "Thanks"}
        talk = {"conversationId": "c", "title": "Tides", "messages": [asked, answer, after]}
        memory.import_file(as_json(talk), "librechat")
        assert told(memory, "tides") == [
            ("user", ["text"]), ("assistant", ["thinking", "tool_use"]), ("tool", ["tool_result"]),
            ("user", ["text"]), ("assistant", ["text"]), ("user", ["text"]),
        ]  # fmt: skip
        typed, last = memory.find("librechat:c:2/3"), memory.find("librechat:c:2/4")
        assert (typed.text, typed.meta.reply, last.meta.reply["stop"]) == ("In Lima, please", {}, "stop")
        kept = memory.resolve("tides").messages[3].to_dict()["content"][0]["opaque"]["librechat"]
        assert kept == {"steerId": "s", "quotes": ["tide"]}
        assert memory.import_file(as_json(talk), "librechat").added == 0

    def test_the_reasoning_in_an_older_text_is_reasoning(self, memory: Store) -> None:
        asked = {"messageId": "1", "isCreatedByUser": True, "text": ":::thinking\nWhy?\n:::\nWhy so?"}
        answer = {
            "messageId": "2",
            "parentMessageId": "1",
            "text": ":::thinking\nTwo\nbulges.\n:::\n\nGravity. ::: So.",
        }
        memory.import_file(as_json({"conversationId": "c", "title": "Tides", "messages": [asked, answer]}), "librechat")
        question, said = memory.resolve("tides").messages
        assert question.text == asked["text"]
        assert [block.get("text") for block in said.to_dict()["content"]] == ["Two\nbulges.", "Gravity. ::: So."]
        assert said.to_dict()["content"][0]["type"] == "thinking"

    @pytest.mark.parametrize(
        "text", [":::thinking", "See :::thinking\nx\n:::", ":::thinkings x:::", ":::thinking\nx\n::"]
    )
    def test_a_text_that_only_looks_like_reasoning_stays(self, memory: Store, text: str) -> None:
        answer = {"messageId": "2", "text": text, "isCreatedByUser": False}
        memory.import_file(as_json({"conversationId": "c", "messages": [answer]}), "librechat")
        assert memory.resolve(memory.find("librechat:c:2").id).messages[0].text == text

    @pytest.mark.parametrize("steer", [7, None, {"value": "x"}])
    def test_a_steer_of_another_shape_is_kept_whole(self, memory: Store, steer: Any) -> None:
        content = [{"type": "text", "text": "The moon."}, {"type": "steer", "steer": steer}]
        memory.import_file(as_json({"conversationId": "c", "messages": [{"messageId": "2", "content": content}]}),
                           "librechat")  # fmt: skip
        assert told(memory, memory.find("librechat:c:2").id) == [("assistant", ["text", "provider"])]

    def test_the_name_is_on_a_leaf_where_only_the_first_message_has_a_time(self, memory: Store) -> None:
        answer = {"messageId": "2", "text": "Gravity.", "isCreatedByUser": False, "children": []}
        first = {"messageId": "1", "text": "Why?", "isCreatedByUser": True, "children": [answer]}
        first["createdAt"] = "2026-01-02T03:04:05Z"
        memory.import_file(as_json({"conversationId": "n", "title": "Leaf", "messagesTree": [first]}))
        assert memory.text("leaf") == "Gravity."
        assert memory.get("leaf") in memory.heads()

    def test_a_flat_list_says_the_same(self, memory: Store) -> None:
        memory.import_file(as_json(TIDES))
        flat = copy.deepcopy(TIDES)
        first: Any = flat["messages"][0]  # type: ignore[index]
        flat["messages"] = [*first.pop("children"), first, flat["messages"][1]]  # type: ignore[index]
        assert memory.import_file(as_json(flat)).added == 0

    def test_a_deep_thread_is_read(self, memory: Store) -> None:
        message: dict[str, Any] = {"messageId": "0", "text": "0", "isCreatedByUser": True}
        for number in range(1, 300):
            message = {"messageId": str(number), "text": str(number), "children": [message], "isCreatedByUser": True}
        done = memory.import_file(as_json({"conversationId": "d", "messagesTree": [message]}))
        assert (done.added, len(memory.heads())) == (300, 1)


class TestInspect:
    @pytest.mark.parametrize("name", ["inspect.json", "inspect.eval"])
    def test_a_sample_is_a_conversation(self, memory: Store, name: str) -> None:
        if name.endswith("eval"):
            pytest.importorskip(
                "zstandard", reason="members of a log are packed with zstd: pip install 'headish[zstd]'"
            )
        done = memory.import_file(FIXTURES / name)
        assert (done.trees, done.added, done.bookmarks, done.broken) == (2, 8, 2, 0)
        assert told(memory, "sums-sum") == [
            ("system", ["text"]), ("user", ["text"]), ("assistant", ["text", "tool_use"]), ("tool", ["tool_result"]),
            ("assistant", ["text"]),
        ]  # fmt: skip
        reply = memory.get("sums-sum").meta.reply
        assert (reply["provider"], reply["model"], reply["usage"]["output_tokens"]) == ("mockllm", "model", 1)
        record = memory.conversations.get("sums-2").record
        assert record.app["inspect"]["scores"]["includes"]["value"] == "C"
        assert memory.import_file(FIXTURES / name).added == 0

    def test_lists_that_a_model_was_asked_with_are_branches(self, memory: Store) -> None:
        pool = [{"id": each, "role": "user", "content": each} for each in ("a", "b")]
        output = {"choices": [{"message": {"id": "x", "role": "assistant", "content": "aside"}}]}
        event = {"event": "model", "input": [], "input_refs": [[0, 2], [-1, 5], "x", [5, 9]], "output": output}
        sample = {"id": 1, "epoch": 2, "messages": [pool[0], {"id": "y", "role": "assistant", "content": "main"}],
                  "events": [event, 5], "events_data": {"messages": pool}}  # fmt: skip
        memory.import_file(as_json({"eval": {"task": "t", "eval_id": "e"}, "samples": [sample]}), "inspect")
        assert [each.text for each in memory.resolve("t-1-epoch-2").messages] == ["a", "main"]
        assert [each.text for each in memory.resolve(memory.find("inspect:e/1/2:x").id).messages] == ["a", "b", "aside"]

    def test_texts_that_lie_apart_are_put_back_and_never_without_end(self, memory: Store) -> None:
        hash, other = "a" * 32, "b" * 32
        sample = {"id": 1, "messages": [{"id": "m", "role": "user", "content": f"attachment://{hash} tc://{other}"}],
                  "attachments": {hash: f"long attachment://{hash}"}}  # fmt: skip
        done = memory.import_file(as_json({"eval": {"task": "t"}, "samples": [sample]}), "inspect")
        assert memory.resolve("t-1").messages[0].text == f"long attachment://{hash} tc://{other}"
        assert done.unmapped == {"text that lies apart, and is missing or too long (left out)": 1}
        bomb = " ".join([f"attachment://{hash}"] * 3000)
        sample = {"id": 2, "messages": [{"role": "user", "content": bomb}], "attachments": {hash: "x" * 100_000}}
        done = memory.import_file(as_json({"eval": {"task": "t"}, "samples": [sample]}), "inspect")
        assert done.unmapped["text that lies apart, and is missing or too long (left out)"] > 1000

    def test_a_text_is_the_same_wherever_it_stands(self, memory: Store) -> None:
        """The lists that a model was asked with are condensed, and the messages of the sample are not."""
        hash, long = "c" * 32, "A long question. " * 20
        asked = {"id": "q", "role": "user", "content": f"attachment://{hash}"}
        said = {"id": "a", "role": "assistant", "content": "Yes."}
        event = {"event": "model", "input": [asked], "output": {"choices": [{"message": said}]}}
        sample = {
            "id": 1,
            "messages": [{**asked, "content": long}, said],
            "events": [event],
            "attachments": {hash: long},
        }
        log = {"eval": {"task": "t", "eval_id": "e"}, "samples": [sample]}
        assert memory.import_file(as_json(log), "inspect").added == 2
        assert len(memory.heads()) == 1
        with unchanged(memory):
            assert memory.import_file(as_json(log), "inspect").added == 0

    def test_messages_of_a_pool_are_named_by_their_places(self, memory: Store) -> None:
        pool = [{"id": each, "role": "user", "content": each} for each in ("a", "b")]
        output = {"choices": [{"message": {"id": "x", "role": "assistant", "content": "aside"}}]}
        event = {"event": "model", "input": [], "input_refs": [0, 1], "output": output}
        sample = {"id": 1, "messages": [pool[0]], "events": [event], "message_pool": pool}
        memory.import_file(as_json({"eval": {"task": "t", "eval_id": "e"}, "samples": [sample]}), "inspect")
        assert [each.text for each in memory.resolve(memory.find("inspect:e/1/1:x").id).messages] == ["a", "b", "aside"]

    def test_a_damaged_member_costs_itself(self, memory: Store) -> None:
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as archive:
            archive.writestr("header.json", json.dumps({"eval": {"task": "t", "eval_id": "e"}}))
            archive.writestr(
                "samples/1_epoch_1.json", json.dumps({"id": 1, "messages": [{"role": "user", "content": "Hi"}]})
            )
            archive.writestr("samples/2_epoch_1.json", "{")
            archive.writestr("samples/../../evil.json", "{}")
        done = memory.import_file(io.BytesIO(data.getvalue()))
        assert (done.trees, done.broken) == (1, 1)


class TestOpenTelemetry:
    def test_spans_of_any_order_are_one_thread(self, memory: Store) -> None:
        done = memory.import_file(as_lines(request(SECOND, TOOL), request(FIRST)))
        assert (done.trees, done.added, done.bookmarks) == (1, 4, 1)
        assert done.unmapped == {"span execute_tool without messages (left out)": 1}
        assert told(memory, "2+2") == [
            ("user", ["text"]), ("assistant", ["tool_use"]), ("tool", ["tool_result"]), ("assistant", ["text"]),
        ]  # fmt: skip
        call = memory.find("otel:t1:s1")
        assert call.meta.reply == {"provider": "otel", "model": "m", "stop": "tool_calls", "usage": {"input_tokens": 9}}
        assert "sums" in memory.conversations.find("otel:conv").record.tags

    def test_spans_by_themselves_have_their_times_as_text(self, memory: Store) -> None:
        def alone(span: dict[str, Any], second: int) -> dict[str, Any]:
            context = {"trace_id": span["traceId"], "span_id": span["spanId"]}
            times = {"start_time": f"2025-01-01T00:00:0{second}.000000Z", "end_time": f"2025-01-01T00:00:0{second}.5Z"}
            return {"context": context, **times, "attributes": span["attributes"]}

        memory.import_file(as_lines(alone(SECOND, 3), alone(FIRST, 1)), "otel")
        call = memory.find("otel:t1:s1")
        assert (call.said_at.isoformat(), call.meta.reply["usage"]) == (
            "2025-01-01T00:00:01.500000+00:00", {"input_tokens": 9},
        )  # fmt: skip

    def test_an_answer_that_an_earlier_span_repeats_keeps_its_token_counts(self, memory: Store) -> None:
        began = {"startTimeUnixNano": SECOND["startTimeUnixNano"]}
        memory.import_file(as_lines(request(SECOND, {**FIRST, **began})), "otel")
        assert memory.get("@~2").meta.reply["usage"] == {"input_tokens": 9}

    def test_an_empty_result_stays_empty(self, memory: Store) -> None:
        tool = {"name": "gen_ai.tool.message", "attributes": attributes({"id": "c1", "content": ""})}
        memory.import_file(as_json(request(span("s1", 1, {"gen_ai.operation.name": "chat"}, events=[tool]))), "otel")
        [result] = memory.resolve("@").messages[0].to_dict()["content"]
        assert (result["tool_use_id"], result["content"]) == ("c1", [{"type": "text", "text": ""}])

    def test_files_of_one_conversation_meet(self, memory: Store) -> None:
        memory.import_file(as_lines(request(SECOND)), "otel")
        assert memory.import_file(as_lines(request(FIRST)), "otel").added == 0
        assert memory.import_file(as_lines(request(FIRST, SECOND), request(SECOND)), "otel").added == 0
        assert len(memory.heads()) == 1

    @pytest.mark.parametrize(
        "said",
        [
            {"events": [{"name": "gen_ai.user.message", "attributes": attributes({"content": "Hi"})},
                        {"name": "gen_ai.choice", "attributes": attributes({"message": '{"content": "Yo"}'})}]},
            {"attributes": attributes({"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Hi",
                                       "gen_ai.completion.0.content": "Yo"})},
            {"attributes": attributes({"openinference.span.kind": "LLM", "llm.input_messages.0.message.role": "user",
                                       "llm.input_messages.0.message.content": "Hi",
                                       "llm.output_messages.0.message.content": "Yo"})},
            {"attributes": {"gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}],
                            "gen_ai.output.messages": [{"role": "assistant", "parts": ["Yo"]}]}},
        ],
        ids=["events", "openllmetry", "openinference", "plain attributes"],
    )  # fmt: skip
    def test_every_convention_is_read(self, memory: Store, said: dict[str, Any]) -> None:
        memory.import_file(as_lines(request({**span("s", 1, {}), **said})), "otel")
        assert [(each.role, each.text) for each in memory.resolve("hi").messages] == [
            ("user", "Hi"),
            ("assistant", "Yo"),
        ]

    def test_several_answers_are_siblings(self, memory: Store) -> None:
        answers = [{"role": "assistant", "parts": [{"type": "text", "content": each}]} for each in ("a", "b")]
        facts = {"gen_ai.input.messages": json.dumps([ASKED]), "gen_ai.output.messages": json.dumps(answers)}
        memory.import_file(as_lines(request(span("s", 1, facts))), "otel")
        assert {each.text for each in memory.heads()} == {"a", "b"}
        assert memory.resolve("2+2").messages[-1].text == "a"

    @pytest.mark.parametrize(
        "value", [5, [], {"resourceSpans": 5}, {"resourceSpans": [5, {"scopeSpans": [5, {"spans": [5]}]}]}]
    )
    def test_what_is_no_request_is_told(self, memory: Store, value: Any) -> None:
        done = memory.import_file(as_lines(value, request(FIRST)), "otel")
        assert done.added == 2

    def test_a_first_line_that_was_cut_off_costs_only_itself(self, memory: Store) -> None:
        """As in a log that was rotated, or whose program was killed."""
        whole, line = as_lines(request(FIRST), request(SECOND)).getvalue(), as_lines(request(FIRST)).getvalue()
        for cut in (line[:-40], line[40:-1], line[:-2]):
            told: list[str] = []
            file = io.BytesIO(cut + b"\n" + whole)
            with Store.open(":memory:") as store:
                done = store.import_file(file, "otel", told=lambda note, told=told: told.append(str(note)))
                assert (done.broken, done.added) == (1, memory.import_file(io.BytesIO(whole)).messages)
            assert "line 1: broken: it is not JSON" in told[0]

    def test_an_array_of_one_item_to_a_line_is_an_array(self, memory: Store) -> None:
        for indent in (None, 0, 2):
            text = "[\n" + ",\n".join(json.dumps(request(each), indent=indent) for each in (FIRST, SECOND)) + "\n]\n"
            done = memory.import_file(io.BytesIO(text.encode()), "otel")
            assert (done.broken, done.messages) == (0, 4)
            assert memory.import_file(io.BytesIO(("[\n" + json.dumps(request(FIRST)) + "\n]").encode())).broken == 0


FILES: dict[str, Callable[[], Any]] = {
    "open-webui": lambda: [SUMS],
    "librechat": lambda: TIDES,
    "otel": lambda: request(FIRST, SECOND),
    "inspect": lambda: json.loads((FIXTURES / "inspect.json").read_bytes()),
    "pydantic-ai": lambda: json.loads((FIXTURES / "pydantic-ai.json").read_bytes()),
}


@pytest.mark.parametrize("format", FILES)
@examples(max_examples=25)
@given(data=st.data())
def test_odd_values_anywhere_cost_a_record_at_most(format: str, data: st.DataObject) -> None:
    record = copy.deepcopy(FILES[format]())
    for _ in range(data.draw(st.integers(1, 3))):
        spots = list(places(record))
        if spots:
            container, key = data.draw(st.sampled_from(spots))
            container[key] = json.loads(data.draw(ODD))
    encoded = json.dumps(record).encode()
    with Store.open(":memory:") as store:
        try:
            done = store.import_file(io.BytesIO(encoded), format)
        except InvalidImport as error:
            assert str(error)
            return
        assert store.stats().turns == done.added
        assert store.import_file(io.BytesIO(encoded), format).added == 0
        assert store.verify().problems == ()


def test_a_log_of_inspect_that_is_too_large_as_json_is_refused_with_the_way_out(
    memory: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headish.imports.readers.shared.json_arrays.IMPORT_LINE_BYTES", 1_000_000)
    log = {"eval": {"task": "t"}, "samples": [{"id": 1, "messages": [{"role": "user", "content": "x" * 3_000_000}]}]}
    with pytest.raises(InvalidImport, match="inspect log convert LOG --to eval"):
        memory.import_file(io.BytesIO(json.dumps(log, indent=1).encode()), "inspect")
