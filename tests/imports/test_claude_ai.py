"""Claude.ai's exports: parents where they are named, content before text, attachments as documents."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

from headish import Store
from support.insides import unchanged

ROOT = "00000000-0000-4000-8000-000000000000"


def message(id: str, sender: str, text: str, *content: Any, **more: Any) -> dict[str, Any]:
    time = f"2025-03-01T10:00:{len(id) * 3:02}.000000Z"
    return {
        "uuid": id, "text": text, "content": list(content) or [{"type": "text", "text": text, "citations": []}],
        "sender": sender, "created_at": time, "updated_at": time, "attachments": [], "files": [], **more,
    }  # fmt: skip


def conversation(id: str, name: str, *messages: Any, **more: Any) -> dict[str, Any]:
    return {
        "uuid": id, "name": name, "summary": "", "created_at": "2025-03-01T10:00:00.000000Z",
        "updated_at": "2025-03-01T10:01:00Z", "account": {"uuid": "a"}, "chat_messages": list(messages), **more,
    }  # fmt: skip


THINKS = ({"type": "thinking", "thinking": "rye …", "signature": "c2ln"}, {"type": "text", "text": "An hour."})
RYE = {"file_name": "r.pdf", "file_type": "pdf", "file_size": 3, "extracted_content": "rye"}
BREAD = conversation(
    "c0c0c0c0-1",
    "Bread",
    message(
        "m1", "human", "How long?", attachments=[RYE], files=[{"file_name": "photo.jpg"}], parent_message_uuid=ROOT
    ),
    message("m22", "assistant", "An hour.", *THINKS, parent_message_uuid="m1"),
    message("m333", "assistant", "Two.", parent_message_uuid="m1"),
    message("m4444", "human", "Thanks", parent_message_uuid="m333"),
)


def as_json(*conversations: Any) -> io.BytesIO:
    return io.BytesIO(json.dumps(list(conversations)).encode())


def texts(store: Store, name: str) -> list[str]:
    return [each.text for each in store.resolve(name).messages]


def test_siblings_are_branches_and_the_newest_has_the_name(store: Store) -> None:
    done = store.import_file(as_json(BREAD))
    assert (done.trees, done.messages, done.added, done.bookmarks, done.broken) == (1, 4, 4, 1, 0)
    assert texts(store, "bread") == ["How long?", "Two.", "Thanks"]
    assert len(store.heads()) == 2
    assert store.conversations.find("claude:c0c0c0c0-1").record.tags == ("claude",)
    assert store.verify().problems == ()


def test_the_leaf_that_the_page_shows_has_the_name_where_it_is_told(store: Store) -> None:
    store.import_file(as_json({**BREAD, "current_leaf_message_uuid": "m22", "model": "claude-x"}))
    assert texts(store, "bread") == ["How long?", "An hour."]
    assert store.get("bread").meta.reply == {"provider": "anthropic", "model": "claude-x"}


def test_content_is_read_before_text_and_attachments_are_documents(store: Store) -> None:
    store.import_file(as_json(BREAD))
    [document, _] = store.resolve("bread").messages[0].to_dict()["content"]
    assert document["source"] == {"type": "base64", "media_type": "text/plain", "data": "cnll"}
    assert document["name"] == "r.pdf"
    found = store.find("claude:c0c0c0c0-1:m22")
    said = store.resolve(found.id).messages[-1].to_dict()["content"]
    assert [block["type"] for block in said] == ["thinking", "text"]
    assert store.find("claude:c0c0c0c0-1:m1").meta.app["claude"]["files"] == [{"file_name": "photo.jpg"}]


def test_older_exports_are_flat(store: Store) -> None:
    flat = conversation(
        "f", "Flat", message("a", "human", "one"), message("b", "assistant", "two"), message("c", "human", "3")
    )
    store.import_file(as_json(flat))
    assert texts(store, "flat") == ["one", "two", "3"]


def test_tools_stay_in_the_order_in_which_they_were_used(store: Store) -> None:
    used = [
        {"type": "text", "text": "Looking."},
        {"type": "tool_use", "id": "t1", "name": "search", "input": {"q": "rye"}},
        {
            "type": "tool_result",
            "tool_use_id": "t1",
            "name": "search",
            "content": [{"type": "text", "text": "r"}],
            "is_error": False,
        },
        {"type": "text", "text": "Found."},
        {"type": "token_budget"},
    ]
    store.import_file(
        as_json(conversation("t", "Tools", message("a", "human", "?"), message("b", "assistant", "Found.", *used)))
    )
    kinds = [
        (each.role, [block["type"] for block in each.to_dict()["content"]]) for each in store.resolve("tools").messages
    ]
    assert kinds == [
        ("user", ["text"]),
        ("assistant", ["text", "tool_use"]),
        ("tool", ["tool_result"]),
        ("assistant", ["text", "provider"]),
    ]
    with unchanged(store):
        store.import_file(
            as_json(conversation("t", "Tools", message("a", "human", "?"), message("b", "assistant", "Found.", *used)))
        )


def test_an_archive_is_told_from_chatgpts_and_a_second_import_stores_nothing(store: Store) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("conversations.json", json.dumps([BREAD]))
        archive.writestr("users.json", "[]")
    file.seek(0)
    assert store.import_file(file).added == 4
    assert store.import_file(as_json(BREAD)).added == 0
    with unchanged(store):
        assert store.import_file(as_json(BREAD)).added == 0


def test_a_second_import_of_a_file_with_a_doubled_message_moves_no_name(store: Store) -> None:
    last = message("b", "assistant", "An hour.", parent_message_uuid="a")
    doubled = conversation("d", "Doubled", message("a", "human", "How long?", parent_message_uuid=ROOT), last, last)
    assert store.import_file(as_json(doubled)).added == 3
    with unchanged(store):
        assert store.import_file(as_json(doubled), force=True).bookmarks == 0


def test_a_broken_message_costs_itself(store: Store) -> None:
    told: list[str] = []
    odd = conversation("o", "Odd", message("a", "human", "one"), 5, {"sender": "robot"}, message("b", "human", "two"))
    done = store.import_file(as_json({"chat_messages": 1}, odd), "claude", told=lambda note: told.append(str(note)))
    assert (done.broken, texts(store, "odd")) == (3, ["one", "two"])
    assert told[1].startswith("the input, record 2, message 2: broken: ")


def test_what_continues_a_broken_message_continues_what_is_before_it(store: Store) -> None:
    broken = message("b", "robot", "two", parent_message_uuid="a")
    first, last = message("a", "human", "one", parent_message_uuid=ROOT), message("c", "human", "three")
    done = store.import_file(as_json(conversation("o", "Odd", first, broken, {**last, "parent_message_uuid": "b"})))
    assert (done.broken, len(store.heads()), texts(store, "odd")) == (1, 1, ["one", "three"])
