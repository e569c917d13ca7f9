"""Codex CLI's rollouts: an item a turn, rollbacks as branches, counts of tokens with the answer that they are of."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from headish import Store
from headish.imports.folders import files_in
from support.insides import unchanged

SESSION = "0197aaaa-0000-7000-8000-000000000001"


def line(kind: str, payload: Any, second: int = 5) -> dict[str, Any]:
    return {"timestamp": f"2026-01-02T03:04:{second:02}.000Z", "type": kind, "payload": payload}


def item(kind: str, **payload: Any) -> dict[str, Any]:
    return line("response_item", {"type": kind, **payload})


def user(text: str) -> dict[str, Any]:
    return item("message", role="user", content=[{"type": "input_text", "text": text}])


def assistant(text: str) -> dict[str, Any]:
    return item("message", role="assistant", content=[{"type": "output_text", "text": text}])


def event(kind: str, **payload: Any) -> dict[str, Any]:
    return line("event_msg", {"type": kind, **payload})


def tokens(given: int, cached: int, made: int) -> dict[str, Any]:
    usage = {"input_tokens": given, "cached_input_tokens": cached, "output_tokens": made, "reasoning_output_tokens": 1}
    return event("token_count", info={"last_token_usage": usage, "total_token_usage": usage}, rate_limits=None)


META = line("session_meta", {
    "id": SESSION, "timestamp": "2026-01-02T03:04:05.000Z", "cwd": "/home/ada/tides", "originator": "codex_cli_rs",
    "cli_version": "0.128.0", "source": "cli", "model_provider": "openai", "git": {"branch": "main"},
})  # fmt: skip
CONTEXT = line("turn_context", {"cwd": "/home/ada/tides", "model": "gpt-x", "effort": "high"})
WORK = [
    META,
    user("<environment_context>\n  <cwd>/home/ada/tides</cwd>\n</environment_context>"),
    CONTEXT,
    user("List the files"),
    event("user_message", message="List the files"),
    item("reasoning", summary=[{"type": "summary_text", "text": "So …"}], content=None, encrypted_content="gAAA"),
    item("function_call", name="shell", arguments='{"command": ["ls"]}', call_id="k"),
    tokens(100, 60, 7),
    tokens(100, 60, 7),
    item("function_call_output", call_id="k", output="a b"),
    assistant("Two files."),
]


def rollout(*records: Any) -> io.BytesIO:
    file = io.BytesIO(b"".join(json.dumps(each).encode() + b"\n" for each in records))
    file.name = f"rollout-2026-01-02T03-04-05-{SESSION}.jsonl"
    return file


def test_a_title_is_what_a_person_said_first_and_no_instruction_before_it(store: Store) -> None:
    text = {"type": "input_text", "text": "Filesystem sandboxing is on."}
    store.import_file(rollout(META, item("message", role="developer", content=[text]), *WORK[1:]))
    [thread] = store.bookmarks
    assert store.log(thread)[-1].meta.role == "developer"
    assert store.conversations.get(thread).record.title == "List the files"


def test_what_the_program_sends_in_items_of_its_own_is_no_answer(store: Store) -> None:
    """As @openai/codex 0.171.0 writes it before everything else."""
    tools = item("additional_tools", id=None, role="developer", tools=[{"type": "function", "name": "shell"}])
    store.import_file(rollout(META, tools, CONTEXT, *WORK[3:]))
    [thread] = store.bookmarks
    first = store.log(thread)[-1]
    assert (first.meta.role, first.meta.reply) == ("user", {})
    assert store.conversations.get(thread).record.title == "List the files"


def texts(store: Store, name: str) -> list[str]:
    return [each.text for each in store.resolve(name).messages]


def test_an_item_is_a_turn(store: Store) -> None:
    done = store.import_file(rollout(*WORK))
    assert (done.trees, done.messages, done.added, done.bookmarks, done.broken) == (1, 6, 6, 1, 0)
    said = [(each.role, each.to_dict()["content"]) for each in store.resolve("list-the-files").messages]
    assert [(role, blocks[0]["type"]) for role, blocks in said] == [
        ("user", "text"), ("user", "text"), ("assistant", "thinking"), ("assistant", "tool_use"),
        ("tool", "tool_result"), ("assistant", "text"),
    ]  # fmt: skip
    assert said[3][1][0] == {
        "type": "tool_use", "name": "shell", "id": "k", "input": {"command": ["ls"]}, "raw": '{"command": ["ls"]}',
    }  # fmt: skip
    assert said[4][1][0]["content"] == [{"type": "text", "text": "a b"}]
    assert store.verify().problems == ()


def test_the_session_its_project_and_its_model_are_kept(store: Store) -> None:
    store.import_file(rollout(*WORK))
    conversation = store.conversations.find(f"codex:{SESSION}")
    assert (conversation.record.title, conversation.record.tags) == ("List the files", ("codex", "tides"))
    assert conversation.record.app["git"] == {"branch": "main"}
    call = store.find(f"codex:{SESSION}:7")
    assert call.meta.reply["model"] == "gpt-x"
    assert call.said_at.isoformat() == "2026-01-02T03:04:05+00:00"


def test_tokens_count_once_and_apart_from_cached_ones(store: Store) -> None:
    store.import_file(rollout(*WORK))
    [count] = store.usage(by="model")
    assert (count.usage.input_tokens, count.usage.cache_read_input_tokens, count.usage.output_tokens) == (40, 60, 7)


def test_what_was_rolled_back_is_a_branch(store: Store) -> None:
    again = [event("thread_rolled_back", num_turns=1), user("Sort them"), assistant("Sorted.")]
    more = [event("thread_rolled_back", num_turns=2), user("Thanks")]
    store.import_file(rollout(*WORK, user("More"), assistant("No."), *again))
    assert texts(store, "list-the-files")[-3:] == ["Two files.", "Sort them", "Sorted."]
    store.import_file(rollout(*WORK, user("More"), assistant("No."), *again, *more))
    assert texts(store, "list-the-files")[1:] == ["Thanks"]
    assert len(store.heads()) == 3


def routed(*texts: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "input_text", "text": each} for each in texts]
    return item("agent_message", author="/lead", recipient="/lead/look", content=[*content, *more.pop("parts", ())])


def test_a_message_of_another_agent_is_said_to_the_model(store: Store) -> None:
    sealed = {"type": "encrypted_content", "encrypted_content": "gAAA"}
    store.import_file(rollout(META, CONTEXT, routed("Look for tides", parts=[sealed]), assistant("Two.")))
    [name] = store.bookmarks
    first, last = store.resolve(name).messages
    assert (first.role, first.text, last.role, last.text) == ("user", "Look for tides", "assistant", "Two.")
    assert [block["type"] for block in first.to_dict()["content"]] == ["text", "provider"]
    assert "gAAA" in store.payload(store.find(f"codex:{SESSION}:3").id).decode()
    kept = store.find(f"codex:{SESSION}:3").meta.app["codex"]["item"]
    assert kept == {"type": "agent_message", "author": "/lead", "recipient": "/lead/look"}


def test_no_message_of_another_agent_counts_as_what_the_user_said(store: Store) -> None:
    """It is neither the title, nor what a rollback goes back to, nor what a compaction leaves."""
    back = event("thread_rolled_back", num_turns=1)
    store.import_file(rollout(META, routed("A task"), user("Why two?"), routed("A report"), back, assistant("Hm.")))
    [name] = store.bookmarks
    assert store.conversations.get(name).record.title == "Why two?"
    assert [each.text for each in store.resolve(name).messages] == ["A task", "Hm."]


def test_a_compaction_sums_up_the_messages_of_other_agents(store: Store) -> None:
    compacted = line("compacted", {"message": "So far: one report."})
    store.import_file(rollout(META, user("Why two?"), routed("A report"), compacted))
    [name] = store.bookmarks
    assert [each.text for each in store.resolve(name).messages] == ["Why two?", "So far: one report."]


def test_a_message_of_another_agent_in_another_shape_is_kept_whole(store: Store) -> None:
    store.import_file(rollout(META, item("agent_message", author="/lead", content="A report"), user("Hi")))
    assert "A report" in store.payload(store.find(f"codex:{SESSION}:2").id).decode()


def test_the_summary_of_a_compaction_continues_what_it_sums_up(store: Store) -> None:
    compacted = line("compacted", {"message": "Files were listed.", "replacement_history": [{"type": "message"}]})
    store.import_file(rollout(*WORK, compacted, user("Go on")))
    assert texts(store, "list-the-files")[-2:] == ["Files were listed.", "Go on"]
    assert store.get("list-the-files~1").meta.app["codex"]["compacted"] == {
        "replacement_history": [{"type": "message"}]
    }


def test_a_second_import_stores_nothing_and_a_longer_file_its_tail(store: Store) -> None:
    store.import_file(rollout(*WORK))
    with unchanged(store):
        assert store.import_file(rollout(*WORK)).added == 0
    assert store.import_file(rollout(*WORK, user("More"))).added == 1
    assert texts(store, "list-the-files")[-1] == "More"


def test_unknown_records_and_items_do_not_stop_a_file(store: Store) -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,aGk="}
    records = [
        line("world_state", {"x": 1}), line("event_msg", {}), item("web_search_call", id="w", action={"query": "q"}),
        item("local_shell_call", call_id="l", status="completed", action={"type": "exec", "command": ["ls"]}),
        item("custom_tool_call", call_id="c", name="apply_patch", input="*** Begin Patch"),
        item("function_call_output", call_id="c", output={"content": "failed", "success": False}),
        item("message", role="user", content=[image, {"type": "input_text", "text": "See"}]),
        item("message", role="user"),
    ]  # fmt: skip
    done = store.import_file(rollout(META, *records))
    assert (done.broken, done.added) == (0, 5)
    assert done.unmapped["record of type world_state (left out)"] == 1
    kinds = [block["type"] for each in store.resolve("@").messages for block in each.to_dict()["content"]]
    assert kinds == ["provider", "tool_use", "tool_use", "tool_result", "document", "text"]


def test_the_first_versions_wrote_items_without_an_envelope(store: Store) -> None:
    bare = [{"id": "old", "timestamp": "2025-05-01T10:00:00Z", "instructions": None}, {"record_type": "state"},
            WORK[3]["payload"], {**WORK[10]["payload"], "id": None}]  # fmt: skip
    assert store.import_file(rollout(*bare), "codex").added == 2
    assert texts(store, "list-the-files") == ["List the files", "Two files."]


def test_of_a_folder_sessions_alone_are_read_the_oldest_first(store: Store, tmp_path: Path) -> None:
    later = [{**each, "timestamp": "2026-02-01T00:00:00Z"} for each in WORK]
    for name, records in (("2026/01/rollout-b.jsonl", WORK), ("2026/01/rollout-a.jsonl", later)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(rollout(*records).getvalue())
    (tmp_path / "config.toml").write_text("x = 1")
    (tmp_path / "history.jsonl").write_text('{"session_id": "x", "text": "y"}\n')
    (tmp_path / "out.jsonl").symlink_to("/dev/null")
    assert [Path(each).name for each in files_in(tmp_path)] == ["rollout-b.jsonl", "rollout-a.jsonl"]
    assert files_in(tmp_path, "claude-code") == []
