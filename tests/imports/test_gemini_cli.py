"""Gemini CLI's sessions: the last line of a message counts, rewinds are branches, results stand behind their calls."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from headish import Store
from headish.imports.folders import files_in

SESSION = "5f1c0a52-0000-4000-8000-00000000000a"
META = {
    "sessionId": SESSION,
    "projectHash": "p",
    "startTime": "2026-01-02T03:04:05Z",
    "lastUpdated": "x",
    "kind": "main",
}
CALL = {
    "id": "k", "name": "ls", "args": {"path": "."}, "status": "success", "timestamp": "2026-01-02T03:04:08Z",
    "result": [{"functionResponse": {"id": "k", "name": "ls", "response": {"output": "a b"}}}], "displayName": "List",
}  # fmt: skip


def say(id: str, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"id": id, "timestamp": f"2026-01-02T03:04:0{len(id) + 5}Z", "type": kind, "content": content, **more}


def model(id: str, content: str, **more: Any) -> dict[str, Any]:
    tokens = {"input": 100, "output": 7, "cached": 60, "thoughts": 2, "total": 109}
    return say(id, "gemini", content, model="gemini-x", tokens=tokens, **more)


WORK = [
    META,
    say("1", "user", [{"text": "List the files"}]),
    model("2", "Let me look."),
    model("2", "Let me look.", toolCalls=[CALL], thoughts=[{"subject": "Files", "description": "ls"}]),
    {"$set": {"lastUpdated": "y"}},
    model("3", "Two files."),
]

SENT = say("44", "user", CALL["result"])
TWICE = [
    META,
    {"$set": {"messages": [say("0", "user", [{"text": "<session_context>\nToday is Friday."}])]}},
    *WORK[1:4],
    SENT,
    WORK[5],
]


def lines(*records: Any) -> io.BytesIO:
    file = io.BytesIO(b"".join(json.dumps(each).encode() + b"\n" for each in records))
    file.name = "session-2026-01-02T03-04-5f1c0a52.jsonl"
    return file


def said(store: Store, name: str) -> list[tuple[str | None, list[str]]]:
    return [(each.role, [to["type"] for to in each.to_dict()["content"]]) for each in store.resolve(name).messages]


def test_results_that_are_written_a_second_time_are_one_turn(store: Store) -> None:
    """As @google/gemini-cli 0.61.0 writes them; a resumed session has them as messages of the user alone."""
    done = store.import_file(lines(*TWICE))
    assert (done.messages, done.added) == (5, 5)
    roles = ["user", "user", "assistant", "tool", "assistant"]
    assert [each.role for each in store.resolve("list-the-files").messages] == roles
    again = [META | {"sessionId": "resumed"}, *WORK[1:3], SENT, WORK[5]]
    store.import_file(lines(*again))
    assert [role for role, _ in said(store, "list-the-files-resumed")] == ["user", "assistant", "tool", "assistant"]


def test_what_the_program_says_before_the_first_prompt_is_no_title(store: Store) -> None:
    setup = say("0", "user", [{"text": "This is the Gemini CLI. We are setting up the context for our chat."}])
    store.import_file(lines(META, setup, *WORK[1:]))
    assert [*store.bookmarks] == ["list-the-files"]


def test_words_beside_results_that_are_written_a_second_time_are_a_turn_of_the_user(store: Store) -> None:
    both = say("44", "user", [*CALL["result"], {"text": "And the hidden ones?"}])
    store.import_file(lines(*WORK[:4], both, WORK[5]))
    assert said(store, "list-the-files")[2:] == [
        ("tool", ["tool_result"]), ("user", ["tool_result", "text"]), ("assistant", ["text"]),
    ]  # fmt: skip


def test_the_last_line_of_a_message_counts_and_its_results_stand_behind_it(store: Store) -> None:
    done = store.import_file(lines(*WORK))
    assert (done.trees, done.messages, done.added, done.bookmarks, done.broken) == (1, 4, 4, 1, 0)
    assert said(store, "list-the-files") == [
        ("user", ["text"]), ("assistant", ["thinking", "text", "tool_use"]), ("tool", ["tool_result"]),
        ("assistant", ["text"]),
    ]  # fmt: skip
    [_, call, result, _] = store.resolve("list-the-files").messages
    assert call.to_dict()["content"][2] == {"type": "tool_use", "name": "ls", "id": "k", "input": {"path": "."}}
    assert result.to_dict()["content"][0]["content"] == [{"type": "text", "text": "a b"}]
    assert store.find(f"gemini-cli:{SESSION}:2").meta.reply == {
        "provider": "gemini", "model": "gemini-x", "usage": {
            "input_tokens": 40, "output_tokens": 9, "cache_read_input_tokens": 60, "reasoning_tokens": 2,
        },
    }  # fmt: skip
    assert store.find(f"gemini-cli:{SESSION}:2/2").meta.app["gemini-cli"]["calls"][0]["displayName"] == "List"
    assert store.verify().problems == ()
    assert store.import_file(lines(*WORK)).added == 0


def test_what_a_rewind_drops_is_a_branch(store: Store) -> None:
    again = [{"$rewindTo": "3"}, say("4", "user", "Sort them"), model("5", "Sorted.")]
    store.import_file(lines(*WORK))
    store.import_file(lines(*WORK, *again))
    assert [each.text for each in store.resolve("list-the-files").messages][-2:] == ["Sort them", "Sorted."]
    assert len(store.heads()) == 2
    store.import_file(lines(*WORK, *again, {"$rewindTo": "nobody"}, say("6", "user", "Thanks")))
    assert [each.text for each in store.resolve("list-the-files").messages] == ["Thanks"]


def test_messages_that_are_set_anew_keep_the_old_ones_as_a_branch(store: Store) -> None:
    kept = [say("8", "user", "So far: files."), WORK[5]]
    done = store.import_file(lines(*WORK, {"$set": {"messages": kept}}, say("9", "user", "Go on")))
    assert [each.text for each in store.resolve("list-the-files").messages] == ["So far: files.", "Two files.", "Go on"]
    assert done.added == 7
    assert len(store.heads()) == 2


def test_what_was_read_while_it_was_written_has_a_newer_version_and_what_follows_it_too(store: Store) -> None:
    store.import_file(lines(*WORK[:3]))
    assert store.import_file(lines(*WORK)).added == 3
    assert said(store, "list-the-files")[-1] == ("assistant", ["text"])
    assert store.import_file(lines(*WORK)).added == 0


def test_what_only_people_saw_is_hidden_from_the_model(store: Store) -> None:
    store.import_file(lines(*WORK, say("7", "info", "Request cancelled."), say("8", "user", "Why?")))
    assert [each.text for each in store.resolve("list-the-files").messages][-2:] == ["Two files.", "Why?"]
    assert store.find(f"gemini-cli:{SESSION}:7").meta.attributes.hidden == "model"


def test_older_files_hold_one_object(store: Store) -> None:
    messages = [WORK[1], WORK[3], WORK[5]]
    file = io.BytesIO(json.dumps({**META, "messages": messages, "summary": "Files"}, indent=2).encode())
    done = store.import_file(file)
    assert (done.messages, done.added) == (4, 4)
    assert store.conversations.find(f"gemini-cli:{SESSION}").name == "files"
    assert store.import_file(lines(*WORK)).added == 0


def test_a_saved_chat_is_a_conversation_named_by_its_tag(store: Store, tmp_path: Path) -> None:
    contents = [
        {"role": "user", "parts": [{"text": "ls"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"output": "a"}}}]},
    ]
    path = tmp_path / "checkpoint-tides.json"
    path.write_text(json.dumps(contents))
    assert store.import_file(path).added == 3
    assert [role for role, _ in said(store, "tides")] == ["user", "assistant", "tool"]
    assert store.messages("tides", form="gemini") == contents
    assert store.import_file(path).added == 0


def test_of_a_folder_sessions_alone_are_read(tmp_path: Path) -> None:
    chats = tmp_path / "p" / "chats"
    chats.mkdir(parents=True)
    (chats / "session-a.jsonl").write_bytes(lines(*WORK).getvalue())
    (chats / "session-b.json").write_text(json.dumps({**META, "startTime": "2025-01-02T03:04:05Z", "messages": []}))
    (tmp_path / "p" / "logs.json").write_text('[{"sessionId": "x", "messageId": 0, "message": "hi"}]')
    assert [Path(each).name for each in files_in(tmp_path)] == ["session-b.json", "session-a.jsonl"]


class TestAMessageThatASetPutBehindAnotherOne:
    """It is a copy with an id of its own here, and the file goes on to name it by its id."""

    MOVED = (
        META, say("1", "user", "Hello"), say("3", "user", "Sort them"), model("4", "Sorted."),
        {"$set": {"messages": [say("9", "user", "Context"), say("3", "user", "Sort them"), model("4", "Sorted.")]}},
    )  # fmt: skip

    def thread(self, store: Store) -> list[str]:
        [name] = store.bookmarks
        return [each.text for each in store.resolve(name).messages]

    def test_a_rewind_to_it_drops_it_and_nothing_before_it(self, store: Store) -> None:
        store.import_file(lines(*self.MOVED, {"$rewindTo": "4"}, say("5", "user", "Thanks")))
        assert self.thread(store) == ["Context", "Sort them", "Thanks"]

    def test_its_line_written_again_replaces_it(self, store: Store) -> None:
        store.import_file(lines(*self.MOVED, model("4", "Sorted, all of them."), say("5", "user", "Thanks")))
        assert self.thread(store) == ["Context", "Sort them", "Sorted, all of them.", "Thanks"]


def test_calls_that_are_not_the_models_put_nothing_before_what_follows(store: Store) -> None:
    store.import_file(lines(META, say("1", "user", "Hello", toolCalls=[CALL]), model("2", "Hi.")))
    [name] = store.bookmarks
    assert [each.text for each in store.resolve(name).messages] == ["Hello", "Hi."]
