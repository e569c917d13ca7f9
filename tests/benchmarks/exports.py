"""Made exports: ChatGPT's, and sessions of Claude Code, of any size and the same in every run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

WORDS = "the tide of a moon pulls water up and lets it down again so that a harbour fills twice".split()  # noqa: SIM905
Record = dict[str, Any]


def chatgpt(turns: int, seed: int = 7) -> list[Record]:
    """Conversations of 4 to 120 turns, every tenth answer regenerated. Of another ``seed``: other ones."""
    chance, talks, left = Random(seed), list[Record](), turns
    while left > 0:
        size = min(left, chance.choice((4, 8, 16, 30, 60, 120)))
        talks.append(_talk(chance, size))
        left -= size
    return talks


def _talk(chance: Random, size: int) -> Record:
    id = _uuid(chance)
    mapping: dict[str, Record] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    asked = last = "root"
    for index in range(size):
        if index % 20 == 19:
            last = _add(chance, mapping, "assistant", asked, index)
            continue
        role = "assistant" if index % 2 else "user"
        last = _add(chance, mapping, role, last, index)
        asked = last if role == "user" else asked
    return {
        "title": " ".join(chance.choices(WORDS, k=5)), "create_time": 1.7e9, "update_time": 1.7e9, "mapping": mapping,
        "moderation_results": [], "current_node": last, "plugin_ids": None, "conversation_id": id, "id": id,
        "conversation_template_id": None, "gizmo_id": None, "is_archived": False, "is_starred": None, "safe_urls": [],
        "default_model_slug": "gpt-x", "voice": None,
    }  # fmt: skip


def _add(chance: Random, mapping: dict[str, Record], role: str, parent: str, index: int) -> str:
    id = _uuid(chance)
    details: Record = {"request_id": f"{chance.getrandbits(64):016x}-FRA", "timestamp_": "absolute"}
    if role == "assistant":
        details |= {
            "finish_details": {"type": "stop", "stop_tokens": [200002]}, "is_complete": True, "citations": [],
            "content_references": [], "model_slug": "gpt-x", "default_model_slug": "gpt-x", "parent_id": parent,
            "message_type": "next", "model_adjustments": [],
        }  # fmt: skip
    message = {
        "id": id, "author": {"role": role, "name": None, "metadata": {}}, "create_time": 1.7e9 + index * 30.25,
        "update_time": None, "content": {"content_type": "text", "parts": [words(chance, role)]},
        "status": "finished_successfully", "end_turn": True, "weight": 1.0, "metadata": details, "recipient": "all",
        "channel": None,
    }  # fmt: skip
    mapping[id] = {"id": id, "message": message, "parent": parent, "children": []}
    mapping[parent]["children"].append(id)
    return id


def words(chance: Random, role: str) -> str:
    """What somebody says: an answer is longer than a question."""
    return " ".join(chance.choices(WORDS, k=chance.randint(3, 300 if role == "assistant" else 80)))


def _uuid(chance: Random) -> str:
    return f"{chance.getrandbits(32):08x}-{chance.getrandbits(16):04x}-4ddd-9eee-{chance.getrandbits(48):012x}"


def items_of(talks: list[Record]) -> list[Record]:
    """The same turns as items of ``add_turns``, with all that an import keeps of them."""
    items: list[Record] = []
    for talk in talks:
        places: dict[str, int] = {}
        for id, node in talk["mapping"].items():
            message = node["message"]
            if message is None:
                continue
            kept = {key: each for key, each in message.items() if key not in _OWN and each not in (None, [], {})}
            item = {
                "content": message["content"]["parts"][0], "role": message["author"]["role"],
                "said_at": round(message["create_time"] * 1000), "key": f"chatgpt:{talk['id']}:{id}",
                "meta": {"chatgpt": {"message_id": id, **kept}},
            }  # fmt: skip
            if node["parent"] in places:
                item["continues"] = places[node["parent"]]
            places[id] = len(items)
            items.append(item)
    return items


_OWN = ("id", "content", "create_time")


def claude_code(size_bytes: int, seed: int = 7) -> Iterator[bytes]:
    """The lines of a session: questions, answers of several lines with calls, and their results, until there are so
    many bytes."""
    chance, parent, number = Random(seed), None, 0
    while size_bytes > 0:
        for record in _exchange(chance, parent, number):
            line = json.dumps(record).encode() + b"\n"
            size_bytes -= len(line)
            yield line
            parent = record["uuid"]
        number += 1


def _exchange(chance: Random, parent: str | None, number: int) -> Iterator[Record]:
    def line(kind: str, content: Any, **more: Any) -> Record:
        nonlocal parent
        message = {"role": kind, "content": content, **more.pop("message", {})}
        record = {
            "parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": "/home/ada/tides",
            "sessionId": "5f1c0a52-0000-4000-8000-000000000001", "version": "2.1.0", "gitBranch": "main", "type": kind,
            "message": message, "uuid": _uuid(chance),
            "timestamp": f"2026-01-02T03:{number // 60 % 60:02}:{number % 60:02}.000Z",
            **more,
        }  # fmt: skip
        parent = record["uuid"]
        return record

    yield line("user", words(chance, "user"))
    for step in range(3):
        id, call = f"msg_{number}_{step}", f"toolu_{number}_{step}"
        usage = {"input_tokens": 5, "output_tokens": 70, "cache_read_input_tokens": 9000, "service_tier": "standard"}
        said = {"message": {"id": id, "type": "message", "model": "claude-x", "stop_reason": None, "usage": usage}}
        thought = {"type": "thinking", "thinking": words(chance, "assistant"), "signature": "c2ln" * 40}
        yield line("assistant", [thought], requestId=f"req_{id}", **said)
        yield line("assistant", [{"type": "text", "text": words(chance, "user")}], requestId=f"req_{id}", **said)
        command = {"command": words(chance, "user"), "description": "List"}
        yield line("assistant", [{"type": "tool_use", "id": call, "name": "Bash", "input": command}],
                   requestId=f"req_{id}", **said)  # fmt: skip
        output = "\n".join(words(chance, "assistant") for _ in range(3))
        result = {"type": "tool_result", "tool_use_id": call, "content": output, "is_error": False}
        yield line("user", [result], toolUseResult={"stdout": output, "stderr": "", "interrupted": False})
