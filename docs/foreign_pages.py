"""What becomes of the pieces of a foreign file: each is imported by itself, and the page shows what was stored."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from headish import Store
from headish.imports.imported import Imported

PNG = "iVBORw0KGgo="
HOW_TO = "../../how-to/import-from-frameworks-and-services.md"
DATA_URL = f"data:image/png;base64,{PNG}"
Source = Any


def write_frameworks_and_services() -> str:
    """The page: a table for each format, computed by importing each piece."""
    parts = [
        "# What imports make of frameworks' and services' files\n",
        "This page is written by `docs/generate.py`: each piece was imported by itself, and what was stored is shown.",
        f"How to import the files: [Import from frameworks and services]({HOW_TO}). What has no block of its own is a",
        "`provider` block, which holds it whole and is sent to nobody; `app` is the turn's own meta.\n",
    ]
    for format, pieces in PIECES.items():
        parts += [f"## {format}\n", "| piece | becomes |", "|---|---|"]
        parts += [f"| `{_shown(piece)}` | {_becomes(format, piece)} |" for piece in pieces]
        parts.append("")
    return "\n".join(parts)


def _shown(piece: Any) -> str:
    text = piece if isinstance(piece, str) else json.dumps(piece, ensure_ascii=False)
    text = text.replace(PNG, "…").replace("|", "\\|").replace("\n", " ")
    return text if len(text) < 150 else text[:147] + "…"


def _becomes(format: str, piece: Any) -> str:
    with Store.open(":memory:") as store, FILES[format](piece) as source:
        done = store.import_file(source, format)
        turns = [*store.log("@", limit=9)][::-1] if done.added else []
        told = [_turn(store, turn.id) for turn in turns]
        return "; ".join([*told, *_left(done)]) or "nothing"


def _turn(store: Store, id: str) -> str:
    turn = store.get(id)
    [message] = [kept for stored, kept in store.messages(id, limit=1)]
    kinds = ", ".join(f"`{block['type']}`" for block in message.to_dict()["content"])
    facts = [f"reply {key}" for key in turn.meta.reply if key != "provider"]
    facts += [f"`app` {key}" for each in turn.meta.app.values() for key in each]
    facts += ["failed"] if '"is_error": true' in json.dumps(message.to_dict()) else []
    return f"{message.role}: {kinds}" + (f" ({', '.join(facts)})" if facts else "")


def _left(done: Imported) -> Iterator[str]:
    yield from (
        f"left out: {what.removesuffix(' (left out)')}" for what in done.unmapped if what.endswith("(left out)")
    )


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
    said = {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": piece}
    data = json.dumps({"channel_values": {"messages": [said]}}).encode()
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
    said = [{"role": "assistant", "parts": [piece]}]
    attributes = {"gen_ai.output.messages": said, "gen_ai.response.model": "m"}
    return _json({"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "t", "attributes": attributes}]}]}]})


FILES: dict[str, Callable[[Any], Any]] = {
    "openai-agents": _agents, "langgraph": _langgraph, "pydantic-ai": _pydantic_ai, "open-webui": _open_webui,
    "librechat": _librechat, "inspect": _inspect, "otel": _otel,
}  # fmt: skip
PIECES: dict[str, list[Any]] = {
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
        {"type": "image_file", "image_file": {"file_id": "f"}},
        {"messageId": "m", "isCreatedByUser": True, "text": "Hi", "files": [{"file_id": "f", "filename": "a.pdf"}]},
        {"messageId": "m", "text": "Yo", "model": "m", "tokenCount": 3, "error": False},
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
"""Pieces of each format, as small as they can be."""
