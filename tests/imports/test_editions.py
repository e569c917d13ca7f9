"""A turn that an earlier edition of a reader stored stands for its message, though it is mapped otherwise today."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headish import Store
from headish.errors import TurnErased
from headish.transcripts.frameworks.langchain.older import read_anew
from headish.values.blocks import ProviderBlock, ToolResult, ToolUse
from imports.test_claude_code import answer, line, session
from imports.test_codex import META, item, rollout
from support.langchain.checkpoints import write_checkpoint
from support.langchain.messages import MESSAGES
from support.langchain.rows import read_rows

EARLIER: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "u1": ("user", [
        {"type": "document", "source": {"type": "url", "url": "https://x.test/a.png"}},
        {"type": "text", "text": "See", "opaque": {"anthropic": {"cache_control": {"type": "ephemeral"}}}},
    ]),
    "a1": ("assistant", [
        {"type": "thinking", "text": "So …", "provider": "anthropic"},
        {"type": "tool_use", "name": "Bash", "input": {}, "id": "t1",
         "opaque": {"anthropic": {"caller": {"type": "direct"}}}},
    ]),
    "r1": ("tool", [
        {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "a"}], "uuid": "x"},
    ]),
}  # fmt: skip
"""What the first edition stored of a session, by the uuids of its messages."""
SPEAKERS = {name: fields.get("name") for name, (kind, fields) in MESSAGES.items() if kind in ("human", "ai")}
SESSION = [
    line("user", "u1", None, [
        {"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}},
        {"type": "text", "text": "See", "cache_control": {"type": "ephemeral"}},
    ]),
    answer("a1", "u1", "msg_1",
        {"type": "thinking", "thinking": "So …"},
        {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}, "caller": {"type": "direct"}}),
    line("user", "r1", "a1", [{"type": "tool_result", "tool_use_id": "t1", "content": "a", "uuid": "x"}]),
]  # fmt: skip


def as_before(store: Store) -> None:
    """A space as the first edition has left it."""
    before = None
    for uuid, (role, blocks) in EARLIER.items():
        # As JSON text of blocks that nobody takes for an API's.
        before = store.add_turn(blocks, role=role, continues=before, key=f"claude-code:{uuid}").id


def test_what_was_imported_before_is_not_imported_again(store: Store) -> None:
    as_before(store)
    assert store.import_file(session(*SESSION)).added == 0
    assert store.verify().problems == ()


def test_what_a_session_says_since_follows_what_was_imported_before(store: Store) -> None:
    as_before(store)
    more = answer("a2", "r1", "msg_2", {"type": "text", "text": "One file."})
    assert store.import_file(session(*SESSION, more)).added == 1
    assert store.find("claude-code:a2").meta.continues == (store.find("claude-code:r1").id,)


def test_a_message_that_says_something_else_is_a_version_all_the_same(store: Store) -> None:
    as_before(store)
    changed = line("user", "r1", "a1", [{"type": "tool_result", "tool_use_id": "t1", "content": "b"}])
    assert store.import_file(session(*SESSION[:2], changed)).added == 1
    assert store.find("claude-code:r1").meta.key == "claude-code:r1;2"


def test_what_was_erased_since_stays_erased(store: Store) -> None:
    as_before(store)
    store.erase("@", scope="thread", reason="asked for")
    assert store.import_file(session(*SESSION)).added == 0
    with pytest.raises(TurnErased):
        store.text(store.find("claude-code:r1").id)


def test_an_answer_of_several_texts_keeps_each_once(store: Store) -> None:
    """Responses write such an answer as several items: how it was written is not kept at the price of its words."""
    parts = [{"type": "output_text", "text": "a"}, {"type": "output_text", "text": "b"}]
    store.import_file(rollout(META, item("message", role="assistant", content=parts, id="m1", status="completed")))
    found = store.get("@")
    assert [block.text for block in found.content] == ["a", "b"]  # type: ignore[union-attr]
    assert found.meta.app["codex"]["item"] == {"id": "m1", "status": "completed"}


def test_custom_calls_their_results_and_older_outputs_are_calls_and_results(store: Store) -> None:
    store.import_file(rollout(
        META,
        item("custom_tool_call", name="apply_patch", input="*** Begin", call_id="c", status="completed"),
        item("custom_tool_call_output", call_id="c", output="done"),
        item("function_call_output", call_id="d", output={"content": "no", "success": False}),
    ))  # fmt: skip
    said = [(each.role, each.to_dict()["content"][0]) for each in store.resolve("@").messages]
    assert said[0] == ("assistant", {"type": "tool_use", "name": "apply_patch", "id": "c", "raw": "*** Begin"})
    assert [(role, block["tool_use_id"], block.get("is_error")) for role, block in said[1:]] == [
        ("tool", "c", None), ("tool", "d", True),
    ]  # fmt: skip


def test_messages_come_back_as_their_program_wrote_them(store: Store) -> None:
    store.import_file(session(*SESSION))
    said = [{key: record["message"][key] for key in ("role", "content")} for record in SESSION]
    assert store.messages(form="anthropic") == said


def test_messages_of_langchain_that_were_mapped_otherwise_are_not_imported_again(store: Store, tmp_path: Path) -> None:
    earlier = read_rows("import")
    before = None
    for name, row in earlier.items():
        speaker = {"speaker": named} if (named := SPEAKERS.get(name)) else None
        key = f"langgraph:t:{name}"
        before = store.add_turn(row.blocks, role=row.role, continues=before, key=key, attributes=speaker).id
    said = [(MESSAGES[name][0], {**MESSAGES[name][1], "id": name}) for name in earlier]
    new = ("human", {"content": "And on.", "id": "new"})
    assert store.import_file(write_checkpoint(tmp_path / "a.db", [*said, new]), "langgraph").added == 1
    assert store.find("langgraph:t:new").meta.continues == (before,)
    assert store.verify().problems == ()


def test_a_call_that_stood_twice_is_compared_as_one() -> None:
    call = {"type": "tool_use", "id": "c1", "name": "add", "input": {}}
    blocks = [ProviderBlock("openai", {"part": call}), ProviderBlock("openai", {"part": {**call, "id": "c2"}}),
              ToolUse("add", "c1", {"a": 1}), ToolUse("add", None, {})]  # fmt: skip
    expected = [ToolUse("add", "c1", {"a": 1}), ToolUse("add", "c2", {}), ToolUse("add", None, {})]
    assert read_anew([ToolResult(content=tuple(blocks))]) == [ToolResult(content=tuple(expected))]
