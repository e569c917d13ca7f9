"""A file of every format that is imported, as the tests of each reader make them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from imports import test_claude_code, test_codex, test_cross_stream, test_gemini_cli, test_llm, test_rows, test_services
from imports.test_chatgpt import TIDES, as_zip
from imports.test_claude_ai import BREAD
from imports.test_importing import CAPITAL, as_file

FIXTURES = Path(__file__).parent / "fixtures"
Make = Callable[[], bytes]


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


MADE: dict[str, tuple[str, Make]] = {
    "claude-code": ("session.jsonl", lambda: test_claude_code.session(*test_claude_code.WORK).getvalue()),
    "codex": ("rollout-a.jsonl", lambda: test_codex.rollout(*test_codex.WORK).getvalue()),
    "gemini-cli": ("session-g.jsonl", lambda: test_gemini_cli.lines(*test_gemini_cli.WORK).getvalue()),
    "chatgpt": ("chatgpt.zip", lambda: as_zip({"conversations.json": [TIDES]}).getvalue()),
    "claude": ("conversations.json", lambda: as_json([BREAD])),
    "hf": ("train.jsonl", lambda: test_rows.lines({"messages": test_rows.TOOLS}).getvalue()),
    "openai-finetune": ("pairs.jsonl", lambda: as_json({"input": {"messages": [test_rows.ASK]}, "preferred_output": [
        test_rows.FOUR]}) + b"\n"),
    "sharegpt": ("share.json", lambda: as_json([test_rows.SHARE])),
    "openai-log": ("calls.jsonl", lambda: test_rows.lines(test_rows.called(test_rows.ASK, answer="4")).getvalue()),
    "oasst": ("trees.jsonl", lambda: as_file(CAPITAL).getvalue()),
    "records": ("records.jsonl", lambda: as_json({"id": "a", "role": "user", "content": "Hello"}) + b"\n"),
    "pydantic-ai": ("pydantic.json", (FIXTURES / "pydantic-ai.json").read_bytes),
    "open-webui": ("webui.json", lambda: as_json([test_services.SUMS])),
    "librechat": ("librechat.json", lambda: as_json(test_services.TIDES)),
    "inspect": ("inspect.eval", (FIXTURES / "inspect.eval").read_bytes),
    "otel": ("spans.json", lambda: as_json(test_services.request(test_services.FIRST, test_services.SECOND))),
    "chat": ("chat.json", lambda: as_json({"messages": [test_rows.ASK, {"role": "assistant", "content": "4"}]})),
    "responses": ("responses.json", lambda: as_json({"input": [test_rows.ASK]})),
    "anthropic": ("anthropic.json", lambda: as_json({"system": "Be brief.", "messages": [test_rows.ASK]})),
    "v0.1": ("old.txt", lambda: b"[BOS]<|im_start|>user\nHello<|im_end|>\n[EOS]"),
    "2.2": ("new.txt", lambda: b"version: 2.2\n\n<|start|>user<|message|>Hello<|end|>\n"),
    "harmony": ("harmony.txt", lambda: b"<|start|>user<|message|>Hello<|end|>"),
    "rwkv": ("rwkv.txt", lambda: b"<<USER>>\nHello\n<<USER_END>>\n"),
}  # fmt: skip
"""The name of the file, and what is in it."""
DATABASES: dict[str, tuple[str, Callable[[], str]]] = {
    "llm": ("logs.db", lambda: test_llm.OLD + test_llm.NEW + test_llm.THREAD + test_llm.RESPONSES),
    "openai-agents": ("agents.db", lambda: (FIXTURES / "openai-agents.sql").read_text("utf-8")),
    "langgraph": ("graph.db", lambda: (FIXTURES / "langgraph.sql").read_text("utf-8")),
}
"""The name of the file, and the statements that make it."""


def write_samples(folder: Path) -> dict[str, Path]:
    """A file of each format, by the format."""
    folder.mkdir(parents=True, exist_ok=True)
    written = {format: folder / name for format, (name, _) in MADE.items()}
    for format, path in written.items():
        path.write_bytes(MADE[format][1]())
    for format, (name, statements) in DATABASES.items():
        written[format] = folder / name
        with closing(sqlite3.connect(written[format])) as connection:
            connection.executescript(statements())
    export = test_cross_stream.Export(folder / "frames")
    export.turn(1, "Hello", continues=[], head="hello")
    return {**written, "cross-stream": export.write()}
