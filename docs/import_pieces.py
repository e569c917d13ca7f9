"""Pieces of other programs' files, each as small as possible, and functions that wrap a piece into an importable file.

A piece is a part of a file as the program writes it, with a description if the part alone does not say what it shows.
"""

from __future__ import annotations

import hashlib
import io
import json
import sqlite3
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, NamedTuple

PNG = "iVBORw0KGgo="  # the signature of a PNG alone: enough to recognise the type
DATA_URL = f"data:image/png;base64,{PNG}"


class Said(NamedTuple):
    """A piece with a description."""

    words: str
    piece: Any


@contextmanager
def _json(value: Any) -> Iterator[BinaryIO]:
    yield io.BytesIO(json.dumps(value).encode())


@contextmanager
def _database(table: str, row: tuple[Any, ...]) -> Iterator[Path]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(table)
            connection.execute(f"INSERT INTO t VALUES ({', '.join('?' * len(row))})", row)
            connection.commit()
        yield path


def _agents(piece: Any) -> Any:
    return _database("CREATE TABLE t (id INTEGER, session_id TEXT, message_data TEXT)", (1, "s", json.dumps(piece)))


def _langgraph(piece: Any) -> Any:
    name = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage", "system": "SystemMessage"}.get(
        piece["type"]
    )
    message = {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": piece}
    data = json.dumps({"channel_values": {"messages": [message]}}).encode()
    table = "CREATE TABLE t (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, type TEXT, checkpoint BLOB)"
    return _database(table, ("t", "", "1", "json", data))


def _pydantic_ai(piece: Any) -> Any:
    kind = (
        "request"
        if piece["part_kind"] in ("system-prompt", "user-prompt", "tool-return", "retry-prompt")
        else "response"
    )
    return _json([{"kind": kind, "parts": [piece]}])


def _open_webui(piece: Any) -> Any:
    message = {"role": "assistant", "content": piece} if isinstance(piece, str) else piece
    return _json([{"id": "c", "chat": {"history": {"messages": {"m": {"id": "m", **message}}}}}])


def _librechat(piece: Any) -> Any:
    message = piece if "messageId" in piece else {"messageId": "m", "content": [piece]}
    return _json({"conversationId": "c", "messages": [message]})


def _inspect(piece: Any) -> Any:
    message = piece if "role" in piece else {"role": "assistant", "content": [piece]}
    return _json({"eval": {"task": "t"}, "samples": [{"id": 1, "messages": [{"id": "m", **message}]}]})


def _otel(piece: Any) -> Any:
    messages = [{"role": "assistant", "parts": [piece]}]
    attributes = {"gen_ai.output.messages": messages, "gen_ai.response.model": "m"}
    return _json({"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "t", "attributes": attributes}]}]}]})


@contextmanager
def _lines(*records: Any) -> Iterator[BinaryIO]:
    yield io.BytesIO(b"".join(json.dumps(each).encode() + b"\n" for each in records))


TIME = "2026-01-02T03:04:05Z"


def _claude_code(piece: Any) -> Any:
    """Lines of a session. Each gets an id and continues the line before, unless the piece says otherwise."""
    records = piece if isinstance(piece, list) else [piece]
    lines: list[Any] = []
    for number, each in enumerate(records, 1):
        before = lines[-1]["uuid"] if lines else None
        lines.append({"uuid": f"u{number}", "parentUuid": before, "sessionId": "s", "timestamp": TIME, **each})
    return _lines(*lines)


def _codex(piece: Any) -> Any:
    records = piece if isinstance(piece, list) else [piece]
    meta = {"timestamp": TIME, "type": "session_meta", "payload": {"id": "s", "cwd": "/home/ada/tides"}}
    return _lines(meta, *({"timestamp": TIME, **each} for each in records))


def _gemini_cli(piece: Any) -> Any:
    records = piece if isinstance(piece, list) else [piece]
    return _lines(
        {"sessionId": "s", "projectHash": "p", "startTime": TIME}, *({"timestamp": TIME, **to} for to in records)
    )


def _chatgpt(piece: Any) -> Any:
    """Messages, each of which continues the one before unless it has a ``parent``; or facts of a conversation, which
    then gets one message."""
    authored = piece if isinstance(piece, list) else [piece] if "author" in piece else None
    about = {} if authored is not None else piece
    mapping: dict[str, Any] = {}
    for number, each in enumerate(authored or [{"author": {"role": "user"}, "content": _text("Hi")}], 1):
        id = f"n{number}"
        parent = each.get("parent", f"n{number - 1}" if number > 1 else None)
        message = {"id": id, "create_time": 1700000000 + number, **{k: v for k, v in each.items() if k != "parent"}}
        mapping[id] = {"id": id, "parent": parent, "message": message}
    return _json([{"id": "c", "title": "Tides", "mapping": mapping, **about}])


def _text(words: str) -> dict[str, Any]:
    return {"content_type": "text", "parts": [words]}


def _claude(piece: Any) -> Any:
    authored = piece if isinstance(piece, list) else [piece] if "sender" in piece else None
    about = {} if authored is not None else piece
    messages = authored or [{"sender": "human", "text": "Hi"}]
    dated = [{"uuid": f"m{number}", "created_at": TIME, **each} for number, each in enumerate(messages, 1)]
    return _json([{"uuid": "c", "name": "Bread", "chat_messages": dated, **about}])


_LLM = """
CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
CREATE TABLE messages (hash TEXT PRIMARY KEY, parent_hash TEXT, role TEXT, provider_metadata TEXT);
CREATE TABLE parts (id INTEGER PRIMARY KEY, message_hash TEXT, position INTEGER, type TEXT, tool_name TEXT, text TEXT,
  payload TEXT);
CREATE TABLE threads (id TEXT PRIMARY KEY, name TEXT, tip_message_hash TEXT, forked_from TEXT, datetime_utc TEXT);
CREATE TABLE turns (id TEXT PRIMARY KEY, thread_id TEXT, parent_message_hash TEXT, tip_message_hash TEXT, model TEXT,
  resolved_model TEXT, options_json TEXT, schema_id TEXT, input_tokens INTEGER, output_tokens INTEGER,
  token_details TEXT, duration_ms INTEGER, datetime_utc TEXT, response_json TEXT);
CREATE TABLE fragments (id INTEGER PRIMARY KEY, hash TEXT, content TEXT, datetime_utc TEXT, source TEXT);
CREATE TABLE attachments (id TEXT PRIMARY KEY, type TEXT, path TEXT, url TEXT, content BLOB);
INSERT INTO fragments VALUES (1, 'f', 'A long text. ', '2026-01-02', NULL);
INSERT INTO attachments VALUES ('a1', 'image/png', NULL, NULL, X'89504E47'),
  ('a2', 'image/png', '/etc/hosts', NULL, NULL);
INSERT INTO threads VALUES ('t', 'Sums', 'b2:1', NULL, '2026-01-02 03:04:05+00:00');
INSERT INTO turns VALUES ('u', 't', NULL, 'b2:1', 'm', NULL, '{"temperature": 0.5}', NULL, 3, 2, NULL, 12,
  '2026-01-02T03:04:05+00:00', NULL);
"""


@contextmanager
def _llm(piece: Any) -> Iterator[Path]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "logs.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(_LLM)
            connection.execute("INSERT INTO messages VALUES ('b2:1', NULL, ?, NULL)", (piece["role"],))
            payload = None if piece.get("payload") is None else json.dumps(piece["payload"])
            row = (piece["type"], piece.get("tool_name"), piece.get("text"), payload)
            connection.execute("INSERT INTO parts VALUES (1, 'b2:1', 0, ?, ?, ?, ?)", row)
            connection.commit()
        yield path


@contextmanager
def _cross_stream(piece: Any) -> Iterator[Path]:
    with TemporaryDirectory() as folder:
        cas = Path(folder) / "cas"
        cas.mkdir()
        data = b"a text" if piece.get("meta", {}).get("type") == "document" else b'[{"type": "text", "text": "Hi"}]'
        hash = "sha256-" + b64encode(hashlib.sha256(data).digest()).decode()
        (cas / b64encode(hash.encode()).decode()).write_bytes(data)
        path = Path(folder) / "frames.jsonl"
        frame = {"topic": "gpt.turn", "id": "03DXL6W8Q53VJHS6I91Q9R701", "hash": hash, "ttl": "forever", **piece}
        path.write_text(json.dumps(frame) + "\n")
        yield path


def _oasst(piece: Any) -> Any:
    return _lines({"message_tree_id": "tree", "prompt": piece})


def _records(piece: Any) -> Any:
    return _lines(*(piece if isinstance(piece, list) else [piece]))


FILES: dict[str, Callable[[Any], Any]] = {
    "openai-agents": _agents, "langgraph": _langgraph, "pydantic-ai": _pydantic_ai, "open-webui": _open_webui,
    "librechat": _librechat, "inspect": _inspect, "otel": _otel, "claude-code": _claude_code, "codex": _codex,
    "gemini-cli": _gemini_cli, "chatgpt": _chatgpt, "claude": _claude, "llm": _llm, "cross-stream": _cross_stream,
    "hf": _records, "openai-log": _records, "records": _records, "oasst": _oasst,
}  # fmt: skip
PIECES: dict[str, list[Any]] = {
    "claude-code": [
        {"type": "user", "message": {"role": "user", "content": "Hi"}},
        Said(
            "two lines with one `message.id`",
            [
                {"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": "a"}], "model": "x"}},
                {"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": "b"}], "model": "x"}},
            ],
        ),
        {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "c", "content": "a b"}]}},
        Said(
            "two lines with one `parentUuid`",
            [
                {"type": "user", "message": {"content": "Hi"}},
                {"type": "assistant", "message": {"content": "a"}, "parentUuid": "u1"},
                {"type": "assistant", "message": {"content": "b"}, "parentUuid": "u1"},
            ],
        ),
        {"type": "user", "isSidechain": True, "agentId": "a", "message": {"content": "Look"}},
        {"type": "user", "isCompactSummary": True, "message": {"content": "So far: …"}},
        {"type": "user", "isMeta": True, "message": {"content": "a reminder"}},
        {
            "type": "attachment",
            "attachment": {"type": "queued_command", "prompt": "Also Lima", "commandMode": "prompt"},
        },
        Said(
            "`custom-title`, behind a message",
            [
                {"type": "user", "message": {"content": "Hi"}},
                {"type": "custom-title", "customTitle": "Tides", "sessionId": "s"},
            ],
        ),
        {"type": "user", "cwd": "/home/ada/tides", "gitBranch": "main", "message": {"content": "Hi"}},
        {"type": "file-history-snapshot", "snapshot": {}},
    ],
    "codex": [
        {
            "type": "response_item",
            "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
        },
        {
            "type": "response_item",
            "payload": {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        },
        {
            "type": "response_item",
            "payload": {"type": "function_call", "call_id": "c", "name": "ls", "arguments": "{}"},
        },
        {"type": "response_item", "payload": {"type": "function_call_output", "call_id": "c", "output": "a b"}},
        {"type": "response_item", "payload": {"type": "web_search_call", "id": "w", "status": "completed"}},
        Said(
            "`agent_message`, from another agent",
            {
                "type": "response_item",
                "payload": {
                    "type": "agent_message",
                    "author": "/lead",
                    "recipient": "/lead/a",
                    "content": [{"type": "input_text", "text": "Look"}],
                },
            },
        ),
        {"type": "compacted", "payload": {"message": "So far: …"}},
        Said(
            "`turn_context`, before an answer",
            [
                {"type": "turn_context", "payload": {"model": "m", "cwd": "/home/ada/tides"}},
                {
                    "type": "response_item",
                    "payload": {
                        "type": "message",
                        "role": "assistant",
                        "content": [{"type": "output_text", "text": "Yo"}],
                    },
                },
            ],
        ),
        Said(
            "`thread_rolled_back`, and another message",
            [
                {
                    "type": "response_item",
                    "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
                },
                {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}},
                {
                    "type": "response_item",
                    "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Else"}]},
                },
            ],
        ),
        {"type": "event_msg", "payload": {"type": "agent_message", "message": "Yo"}},
    ],
    "gemini-cli": [
        {"id": "1", "type": "user", "content": [{"text": "Hi"}]},
        {"id": "1", "type": "gemini", "content": "Yo", "model": "m", "tokens": {"input": 9, "output": 2, "cached": 3}},
        {"id": "1", "type": "gemini", "content": "", "thoughts": [{"subject": "Files", "description": "ls"}]},
        {
            "id": "1",
            "type": "gemini",
            "content": "",
            "toolCalls": [
                {
                    "id": "c",
                    "name": "ls",
                    "args": {},
                    "status": "error",
                    "result": [{"functionResponse": {"id": "c", "name": "ls", "response": {"error": "no"}}}],
                }
            ],
        },
        {"id": "1", "type": "info", "content": "Signed in"},
        Said(
            "a line with the id of an earlier message",
            [
                {"id": "1", "type": "user", "content": "Hi"},
                {"id": "1", "type": "user", "content": "Hi again"},
            ],
        ),
        Said(
            "`$rewindTo`, and another message",
            [
                {"id": "1", "type": "user", "content": "Hi"},
                {"$rewindTo": "1"},
                {"id": "2", "type": "user", "content": "Else"},
            ],
        ),
    ],
    "chatgpt": [
        {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Hi"]}},
        {
            "author": {"role": "assistant"},
            "content": {"content_type": "text", "parts": ["Yo"]},
            "metadata": {"model_slug": "m"},
        },
        {"author": {"role": "assistant"}, "content": {"content_type": "code", "text": "1+1"}, "recipient": "python"},
        Said(
            "role `tool`, behind a call",
            [
                {
                    "author": {"role": "assistant"},
                    "content": {"content_type": "code", "text": "1+1"},
                    "recipient": "python",
                },
                {
                    "author": {"role": "tool", "name": "python"},
                    "content": {"content_type": "execution_output", "text": "2"},
                },
            ],
        ),
        {
            "author": {"role": "user"},
            "content": {
                "content_type": "multimodal_text",
                "parts": [{"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1"}],
            },
        },
        {
            "author": {"role": "assistant"},
            "content": {"content_type": "thoughts", "thoughts": [{"summary": "hm", "content": "so"}]},
        },
        {"author": {"role": "system"}, "content": {"content_type": "text", "parts": ["x"]}, "weight": 0},
        {
            "author": {"role": "user"},
            "content": {"content_type": "text", "parts": ["x"]},
            "metadata": {"is_visually_hidden_from_conversation": True},
        },
        Said(
            "two messages with one `parent`",
            [
                {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Hi"]}},
                {"author": {"role": "assistant"}, "content": {"content_type": "text", "parts": ["a"]}, "parent": "n1"},
                {"author": {"role": "assistant"}, "content": {"content_type": "text", "parts": ["b"]}, "parent": "n1"},
            ],
        ),
        {"is_starred": True, "is_archived": True, "gizmo_id": "g-1"},
    ],
    "claude": [
        {"sender": "human", "text": "Hi"},
        {
            "sender": "assistant",
            "text": "",
            "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Yo"}],
        },
        {
            "sender": "assistant",
            "text": "",
            "content": [
                {"type": "tool_use", "id": "c", "name": "f", "input": {}},
                {"type": "tool_result", "tool_use_id": "c", "content": []},
                {"type": "text", "text": "Yo"},
            ],
        },
        {"sender": "human", "text": "See", "attachments": [{"file_name": "a.txt", "extracted_content": "rye"}]},
        {"sender": "human", "text": "See", "files": [{"file_name": "photo.jpg"}]},
        Said(
            "two messages with one `parent_message_uuid`",
            [
                {"sender": "human", "text": "Hi"},
                {"sender": "assistant", "text": "a", "parent_message_uuid": "m1"},
                {"sender": "assistant", "text": "b", "parent_message_uuid": "m1"},
            ],
        ),
        {"is_starred": True, "project_uuid": "p"},
    ],
    "llm": [
        {"role": "system", "type": "text", "text": "Be brief."},
        {"role": "assistant", "type": "text", "text": "Yo"},
        {"role": "user", "type": "text", "payload": {"text_ref": [{"fragment": 1}, {"literal": "Sum?"}]}},
        {"role": "user", "type": "attachment", "payload": {"attachment": {"id": "a1"}}},
        Said(
            "an attachment of which only the path is kept",
            {"role": "user", "type": "attachment", "payload": {"attachment": {"id": "a2"}}},
        ),
        {"role": "assistant", "type": "reasoning", "text": "hm"},
        {"role": "assistant", "type": "tool_call", "payload": {"name": "add", "arguments": {}, "tool_call_id": "c"}},
        {"role": "tool", "type": "tool_result", "payload": {"name": "add", "output": "5", "tool_call_id": "c"}},
        {"role": "assistant", "type": "from_the_future"},
    ],
    "cross-stream": [
        {"topic": "gpt.turn", "meta": {"role": "user"}},
        {"topic": "gpt.turn", "meta": {"role": "user", "head": "main", "cache": True, "options": {"search": True}}},
        {
            "topic": "gpt.turn",
            "meta": {"role": "assistant", "model": "m", "usage": {"input_tokens": 1, "output_tokens": 1}},
        },
        {"topic": "gpt.turn", "meta": {"type": "document", "document_name": "a.txt", "content_type": "text/plain"}},
        {"topic": "xs.start", "meta": {}},
    ],
    "hf": [
        {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo", "weight": 0}]},
        {"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Yo", "weight": 0}]},
        {
            "conversations": [
                {"from": "function_call", "value": '{"name": "f", "arguments": {}}'},
                {"from": "observation", "value": "1"},
            ]
        },
        {"prompt": "Hi", "chosen": "a", "rejected": "b"},
        {"prompt": [{"role": "user", "content": "Hi"}], "completion": [{"role": "assistant", "content": "Yo"}]},
        {"system": "Be brief.", "messages": [{"role": "user", "content": "Hi"}], "source": "sums"},
    ],
    "openai-log": [
        {"custom_id": "1", "body": {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}},
        {
            "request": {"messages": [{"role": "user", "content": "Hi"}]},
            "response": {
                "model": "m",
                "created": 1700000000,
                "choices": [
                    {"message": {"role": "assistant", "content": "a"}, "finish_reason": "stop"},
                    {"index": 1, "message": {"role": "assistant", "content": "b"}},
                ],
                "usage": {"prompt_tokens": 1},
            },
        },
    ],
    "records": [
        {"id": "1", "role": "user", "content": "Hi", "inherited": {"search": True}, "cache": True},
        {"content": "Hi", "head": "main", "options": {"params": {}}},
        Said(
            "`continues`",
            [
                {"id": "1", "content": "Hi"},
                {"id": "2", "content": "a"},
                {"role": "assistant", "content": "b", "continues": ["1"]},
            ],
        ),
        {"content": "Hi", "role": "robot"},
    ],
    "oasst": [
        {"role": "prompter", "text": "Hi", "message_id": "m", "created_date": "2023-02-05T14:23:50+00:00"},
        {
            "role": "prompter",
            "text": "Hi",
            "replies": [{"role": "assistant", "text": "a", "rank": 0}, {"role": "assistant", "text": "b", "rank": 1}],
        },
    ],
    "openai-agents": [
        {"role": "user", "content": "Hi"},
        {"role": "user", "content": [{"type": "input_image", "image_url": DATA_URL}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yo", "annotations": []}]},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "function_call", "call_id": "c", "name": "add", "arguments": '{"a": 1}'},
        {"type": "function_call_output", "call_id": "c", "output": "1"},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "compaction", "encrypted_content": "…"},
        {"__enc__": 1, "v": 1, "kid": "k", "payload": "…"},
    ],
    "langgraph": [
        {"type": "system", "content": "Be brief."},
        {"type": "human", "content": [{"type": "image", "base64": PNG, "mime_type": "image/png"}]},
        {
            "type": "ai",
            "content": "Yo",
            "usage_metadata": {"input_tokens": 1},
            "response_metadata": {"model_name": "m"},
        },
        {"type": "ai", "content": [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]},
        {"type": "ai", "content": [{"type": "reasoning", "reasoning": "hm"}]},
        {"type": "ai", "content": "", "tool_calls": [{"name": "add", "args": {"a": 1}, "id": "c"}]},
        {"type": "ai", "content": "", "invalid_tool_calls": [{"name": "add", "args": "{", "id": "c"}]},
        {"type": "tool", "content": "1", "tool_call_id": "c", "status": "error", "artifact": {"x": 1}},
        {"type": "remove", "id": "m", "content": ""},
    ],
    "pydantic-ai": [
        {"part_kind": "system-prompt", "content": "Be brief."},
        {"part_kind": "user-prompt", "content": ["See", {"kind": "binary", "data": PNG, "media_type": "image/png"}]},
        {
            "part_kind": "tool-return",
            "tool_name": "add",
            "content": {"sum": 1},
            "tool_call_id": "c",
            "outcome": "success",
        },
        {"part_kind": "retry-prompt", "tool_name": "add", "content": "again", "tool_call_id": "c"},
        {"part_kind": "text", "content": "Yo"},
        {"part_kind": "thinking", "content": "hm", "signature": "c2ln", "provider_name": "anthropic"},
        {"part_kind": "tool-call", "tool_name": "add", "args": {"a": 1}, "tool_call_id": "c"},
        {"part_kind": "builtin-tool-call", "tool_name": "web_search", "args": {}, "tool_call_id": "c"},
        {"part_kind": "compaction", "content": "…"},
    ],
    "open-webui": [
        {"role": "user", "content": "Hi", "files": [{"type": "image", "url": DATA_URL}]},
        {"role": "user", "content": "Hi", "files": [{"type": "file", "name": "a.pdf", "id": "f"}]},
        {"role": "assistant", "content": "Yo", "model": "m", "usage": {"prompt_tokens": 1, "completion_tokens": 1}},
        '<details type="reasoning" done="true"><summary>Thought</summary>&gt; hm</details>Yo',
        '<details type="tool_calls" id="c" name="add" arguments="&quot;{}&quot;" result="&quot;1&quot;"></details>',
        {
            "role": "assistant",
            "content": "",
            "output": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}],
        },
        {"role": "assistant", "content": "", "error": {"content": "overloaded"}},
    ],
    "librechat": [
        {"type": "text", "text": "Yo"},
        {"type": "think", "think": "hm"},
        {"type": "tool_call", "tool_call": {"id": "c", "name": "add", "args": "{}", "output": "1"}},
        {"type": "steer", "steer": "Also Lima", "steerId": "s"},
        {"type": "image_file", "image_file": {"file_id": "f"}},
        {"messageId": "m", "isCreatedByUser": True, "text": "Hi", "files": [{"file_id": "f", "filename": "a.pdf"}]},
        {"messageId": "m", "text": "Yo", "model": "m", "tokenCount": 3, "error": False},
        {"messageId": "m", "text": ":::thinking\nhm\n:::\nYo"},
    ],
    "inspect": [
        {"role": "user", "content": "Hi", "source": "input"},
        {"role": "assistant", "content": "Yo", "model": "openai/m"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "function": "add", "arguments": {"a": 1}}]},
        {
            "role": "tool",
            "content": "",
            "tool_call_id": "c",
            "function": "add",
            "error": {"type": "timeout", "message": "late"},
        },
        {"type": "reasoning", "reasoning": "hm", "signature": "c2ln"},
        {"type": "image", "image": DATA_URL},
        {"type": "tool_use", "tool_type": "web_search", "id": "c", "name": "search", "arguments": "{}", "result": "…"},
    ],
    "otel": [
        {"type": "text", "content": "Yo"},
        {"type": "reasoning", "content": "hm"},
        {"type": "tool_call", "id": "c", "name": "add", "arguments": {"a": 1}},
        {"type": "tool_call_response", "id": "c", "response": 1},
        {"type": "blob", "modality": "image", "mime_type": "image/png", "content": PNG},
        {"type": "uri", "modality": "image", "uri": "https://example.org/a.png"},
        {"type": "from_the_future", "x": 1},
    ],
}
"""The pieces of each format."""
