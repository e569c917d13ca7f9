"""Facts on each import format that its reader cannot tell; reference/imports.md is generated from them.

A test checks that the keys are those that turns get, and that headish imports every format listed here.
"""

from __future__ import annotations

from msgspec import Struct

Rows = tuple[tuple[str, str], ...]


class FormatFacts(Struct, frozen=True):
    """A format: where people find its files, the keys of its turns, what is lost and why, and which versions were seen."""

    title: str
    where: str
    key: str
    lost: Rows
    seen: str


FORMATS: dict[str, FormatFacts] = {
    "claude-code": FormatFacts(
        "Claude Code",
        "`~/.claude/projects/PROJECT/SESSION.jsonl`, sub-agents beside it or below `SESSION/subagents/`. A file, a project or the folder.",
        "`claude-code:UUID`",
        (
            (
                "snapshots, progress, other attachments, modes",
                "left out, counted: they say nothing in the conversation",
            ),
            ("a queued message that was taken back", "left out, counted: the model never saw it"),
            ("large outputs in `tool-results/`", "not read: the session says what the model saw of them"),
        ),
        "2.0 and 2.1, projects of 2025 and 2026",
    ),
    "codex": FormatFacts(
        "Codex CLI",
        "`~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`, older ones in `~/.codex/archived_sessions/`, packed ones as `.jsonl.zst` (Python 3.14, or `pip install 'headish[zstd]'`).",
        "`codex:SESSION:LINE`",
        (
            (
                "`event_msg`",
                "left out, counted, but for rollbacks, titles and token counts: they repeat what items say",
            ),
            ("`session_index.jsonl`", "not read: titles come from the session"),
        ),
        "0.128 and 0.171; items without an envelope, of the first versions",
    ),
    "gemini-cli": FormatFacts(
        "Gemini CLI",
        "`~/.gemini/tmp/PROJECT/chats/session-*.jsonl` (before, `.json`), and chats saved with `/chat save`: `checkpoint-TAG.json`.",
        "`gemini-cli:SESSION:MESSAGE`",
        (
            ("signatures of thoughts", "not in the file: the reasoning cannot be sent back"),
            ("the order of text and calls in an answer", "not in the file: calls stand behind the text"),
            ("times and keys of saved chats", "not in the file: they are recognised by their words"),
        ),
        "0.61.0; older files made after its source of 2026-11",
    ),
    "chatgpt": FormatFacts(
        "ChatGPT",
        "*Settings*, *Data controls*, *Export data*: the ZIP that arrives, or its `conversations.json` (`conversations-000.json` …).",
        "`chatgpt:CONVERSATION:MESSAGE`",
        (
            ("files that are not in the ZIP", "their pointers are kept"),
            ("`chat.html`, `user.json`, feedback", "not read: they hold no conversation"),
        ),
        "exports of 2023 to 2026, as others describe them",
    ),
    "claude": FormatFacts(
        "Claude.ai",
        "*Settings*, *Privacy*, *Export data*: the ZIP that arrives, or its `conversations.json`.",
        "`claude:CONVERSATION:MESSAGE`",
        (
            ("the model, and which branch the page shows", "not in the export: the newest message has the bookmark"),
            ("bytes of files", "not in the export: their names are kept"),
            ("`projects.json`, `memories.json`", "not read: they hold no conversation"),
        ),
        "exports of 2024 to 2026, as others describe them",
    ),
    "llm": FormatFacts(
        "llm",
        "`llm logs path` prints it. The file is opened read-only.",
        "`llm:HASH`",
        (
            ("files and URLs that are only named", "not read: nothing outside the given file is"),
            ("messages that no thread leads to", "left out, counted"),
        ),
        "0.36, and its older schemas",
    ),
    "cross-stream": FormatFacts(
        "cross.stream (gpt2099)",
        "The folder that `.export` writes: `frames.jsonl` beside `cas/`. Give the folder.",
        "`cross-stream:ID`",
        (
            ("frames of other topics", "left out, counted. Providers' frames hold API keys and are never stored"),
            ("payloads that are missing, or that disagree with their hash", "cost their turn, reported"),
        ),
        "exports as xs 0.13 writes them",
    ),
    "hf": FormatFacts(
        "Data sets: Hugging Face, OpenAI, ShareGPT",
        "JSON lines, indented JSON objects, a JSON array, or parquet (`pip install 'headish[parquet]'`). `--from hf`, `openai-finetune` and `sharegpt` read the same.",
        "`row:HASH:N`",
        (
            (
                "names",
                "rows have no titles: their conversations have no bookmarks, and `list` shows them by their first words",
            ),
            ("rows that say exactly the same", "are one conversation"),
            ("images that are only named", "not read; their names are kept in `app.row`"),
        ),
        "rows as OpenAI, LLaMA-Factory and TRL describe them; pyarrow 26",
    ),
    "openai-log": FormatFacts(
        "Logs of calls: OpenAI's batches, and request logs",
        "JSON lines with `body` or `request` (`messages`), and `response` (`choices`).",
        "`openai-log:DIGEST`",
        (
            (
                "calls of other APIs",
                "reported as broken: convert them, or import their messages with `--from responses`",
            ),
        ),
        "rows as OpenAI's guide to batches describes them",
    ),
    "oasst": FormatFacts(
        "Open Assistant",
        "The JSON lines of the data sets oasst1 and oasst2, a tree on each line.",
        "`oasst:ID`",
        (
            ("a line that is not a tree", "left out, reported; the trees around it stay"),
            (
                "names",
                "a tree with a UUID is named by the prompt's first line, where its best-ranked branch ends; another id is the name, on the prompt",
            ),
        ),
        "oasst2 of 2023",
    ),
    "records": FormatFacts(
        "Thread records (specification 002)",
        "JSON lines or a JSON list of `{id, role, content, inherited, cache}`; never detected: `--from records`.",
        "`records:ID`",
        (("a record that cannot be read", "left out, reported; what continues it continues what is before it"),),
        "specification 002",
    ),
    "openai-agents": FormatFacts(
        "OpenAI Agents SDK",
        "The SQLite file of `SQLiteSession` or `AdvancedSQLiteSession`.",
        "`openai-agents:SESSION:ROW`",
        (
            ("items of an encrypted session", "left out, counted: nobody here has the key"),
            ("the branch that a program is on", "kept nowhere: the newest message has the bookmark"),
        ),
        "openai-agents 0.24.0",
    ),
    "langgraph": FormatFacts(
        "LangGraph",
        "The SQLite file of `SqliteSaver`, or the URL of the PostgreSQL database of `PostgresSaver` (`postgresql://…`).",
        "`langgraph:THREAD:MESSAGE`, in a namespace or another channel `langgraph:THREAD/NAMESPACE#CHANNEL:MESSAGE`",
        (
            ("pickled and encrypted values", "reported: nothing of a database is run or unpickled"),
            (
                "what tasks wrote behind the last checkpoint",
                "no turns yet: kept in `app.langgraph.pending` of the conversation, counted",
            ),
            (
                "channels without messages",
                "the last state is kept in `app.langgraph.values`; of a `DeltaChannel` the writes, because its reducer is code of the program",
            ),
        ),
        "langgraph 1.2.22, langgraph-checkpoint-sqlite 3.1.2, langgraph-checkpoint-postgres 3.2.0",
    ),
    "pydantic-ai": FormatFacts(
        "pydantic-ai",
        "What `all_messages_json()` returns.",
        "none",
        (("ids of messages", "there are none: turns are recognised by their words"),),
        "pydantic-ai 2.68.0",
    ),
    "open-webui": FormatFacts(
        "Open WebUI",
        "*Settings*, *Data controls*, *Export chats*; or the server's `webui.db`.",
        "`open-webui:CHAT:MESSAGE`",
        (("files that are not in the chat", "their names are kept"),),
        "exports of 0.6 to 0.8, source of 0.12.4",
    ),
    "librechat": FormatFacts(
        "LibreChat",
        "An export as JSON.",
        "`librechat:CONVERSATION:MESSAGE`",
        (
            ("which branch the page shows", "not in the export: the newest message has the bookmark"),
            ("bytes of files", "not in the export: their names are kept"),
        ),
        "exports of 2024 to 2026, types of librechat-data-provider 0.8.524",
    ),
    "inspect": FormatFacts(
        "Inspect AI",
        "A log, `.eval` or `.json`.",
        "`inspect:EVAL/SAMPLE/EPOCH:MESSAGE`",
        (("events that are not calls of a model", "left out, counted"),),
        "inspect-ai 0.3.285",
    ),
    "otel": FormatFacts(
        "OpenTelemetry",
        "OTLP in JSON: a request, or one on each line.",
        "`otel:TRACE:SPAN` of an answer",
        (("spans without messages", "left out, counted"),),
        "conventions of 2026-11, and those before 1.37",
    ),
}
"""The formats, in the order of the pages."""
FRAMEWORKS = ("openai-agents", "langgraph", "pydantic-ai", "open-webui", "librechat", "inspect", "otel")
"""The formats on the page of frameworks and services."""
