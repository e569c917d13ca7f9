"""What each format's reader makes of a file, as a table: docs/reference/imports.md is written from it.

A test holds that the keys are those that turns get, and that every format here is one that is imported.
"""

from __future__ import annotations

from msgspec import Struct

Rows = tuple[tuple[str, str], ...]


class Described(Struct, frozen=True):
    """A format: where people find its file, what becomes what, what is lost and why, and which versions were seen."""

    title: str
    where: str
    key: str
    maps: Rows
    lost: Rows
    seen: str


_TOOL_RESULT = "a turn of role `tool`"
FORMATS: dict[str, Described] = {
    "claude-code": Described(
        "Claude Code",
        "`~/.claude/projects/PROJECT/SESSION.jsonl`, sub-agents beside it or below `SESSION/subagents/`. A file, a project or the folder.",
        "claude-code:UUID",
        (
            ("lines with one `message.id`", "one turn of the assistant"),
            ("`parentUuid`; a line without words", "what the turn continues; walked through"),
            ("`tool_result` blocks", f"{_TOOL_RESULT}, one behind the other where calls ran side by side"),
            ("two children of one line", "branches; the line that was written last has the bookmark"),
            ("`isSidechain`, `agentId`", "a conversation of its own, tag `sub-agent`"),
            ("`isCompactSummary`", "a turn behind what it sums up"),
            ("`isMeta`", "hidden from people"),
            ("`model`, `usage`, `stop_reason`", "the reply of the turn; tokens count once"),
            ("`summary`, `custom-title`, `ai-title`, else the first words", "the title, and the bookmark's name"),
            ("`cwd`", "the tag of the project"),
            ("`toolUseResult`, `gitBranch`, `version` …", "`app.claude-code`, as it was"),
        ),
        (
            ("snapshots, progress, attachments, modes", "left out, counted: they say nothing in the conversation"),
            ("large outputs in `tool-results/`", "not read: the session says what the model saw of them"),
        ),
        "2.0 and 2.1, projects of 2025 and 2026",
    ),
    "codex": Described(
        "Codex CLI",
        "`~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`, older ones in `~/.codex/archived_sessions/`, packed ones as `.jsonl.zst` "
        "(Python 3.14, or `pip install 'headish[zstd]'`).",
        "codex:SESSION:LINE",
        (
            ("`response_item`", "a turn each: message, reasoning, call or result"),
            ("`function_call`, `custom_tool_call`, `local_shell_call`", "a call"),
            ("their `…_output`", _TOOL_RESULT),
            ("other items (searches, …)", "a block that only OpenAI takes back, whole"),
            ("`thread_rolled_back`", "what was dropped is a branch"),
            ("`compacted`", "a turn behind what it sums up; `replacement_history` in `app.codex`"),
            ("`turn_context.model`, `token_count`", "the reply of the answer"),
            ("`session_meta`", "the record of the conversation; `cwd` is the tag of the project"),
        ),
        (
            (
                "`event_msg`",
                "left out, counted, but for rollbacks, titles and token counts: they repeat what items say",
            ),
            ("`session_index.jsonl`", "not read: titles come from the session"),
        ),
        "0.128; items without an envelope, of the first versions",
    ),
    "gemini-cli": Described(
        "Gemini CLI",
        "`~/.gemini/tmp/PROJECT/chats/session-*.jsonl` (before, `.json`), and chats saved with `/chat save`: `checkpoint-TAG.json`.",
        "gemini-cli:SESSION:MESSAGE",
        (
            ("a line with the id of an earlier message", "takes its place"),
            ("`$rewindTo`, `$set` with `messages`", "what was dropped is a branch"),
            ("`thoughts`, `content`, `toolCalls`", "reasoning, text and calls of one turn of the assistant"),
            (
                "`toolCalls[].result`",
                f"{_TOOL_RESULT} behind it, key `…/2`; failed where the status is error or cancelled",
            ),
            ("`info`, `warning`, `error`", "role `system`, hidden from the model"),
            ("`model`, `tokens`", "the reply of the turn; what came from a cache is counted apart"),
            ("`summary`, else the first words", "the title, and the bookmark's name"),
            ("`kind: subagent`", "the tag `sub-agent`"),
            ("a saved chat", "contents of Gemini's API; they come back as they were written"),
        ),
        (
            ("signatures of thoughts", "not in the file: the reasoning cannot be sent back"),
            ("the order of text and calls in an answer", "not in the file: calls stand behind the text"),
            ("times and keys of saved chats", "not in the file: they are recognised by their words"),
        ),
        "files made after its source of 2026-11; no file of the program itself was at hand",
    ),
    "chatgpt": Described(
        "ChatGPT",
        "*Settings*, *Data controls*, *Export data*: the ZIP that arrives, or its `conversations.json` (`conversations-000.json` …).",
        "chatgpt:CONVERSATION:MESSAGE",
        (
            ("`mapping`, `parent`", "turns, and what each continues; edits and regenerated answers are branches"),
            ("`current_node`", "has the bookmark"),
            ("a message to a tool (`recipient`)", "a call"),
            ("role `tool`", f"{_TOOL_RESULT} that answers the call above it"),
            ("asset pointers, `attachments`", "document blocks, where the file is in the ZIP"),
            ("`thoughts`, `reasoning_recap`", "reasoning"),
            ("`is_visually_hidden_from_conversation`, `weight: 0`", "hidden from people, from the model"),
            ("`title`, `is_starred`, `is_archived`, `gizmo_id`", "title, pinned, archived, a tag"),
            ("`model_slug`, `finish_details`", "the reply of the answer"),
            ("all else of a message", "`app.chatgpt`, as it was"),
        ),
        (
            ("files that are not in the ZIP", "their pointers are kept"),
            ("`chat.html`, `user.json`, feedback", "not read: they hold no conversation"),
        ),
        "exports of 2023 to 2026, as others describe them",
    ),
    "claude": Described(
        "Claude.ai",
        "*Settings*, *Privacy*, *Export data*: the ZIP that arrives, or its `conversations.json`.",
        "claude:CONVERSATION:MESSAGE",
        (
            (
                "`chat_messages`, `parent_message_uuid`",
                "turns, and what each continues; in older exports, the one before it",
            ),
            (
                "`tool_use` and `tool_result` inside an answer",
                "several turns: what was said, the results, what was said then",
            ),
            ("`attachments[].extracted_content`", "a document block"),
            ("`thinking`", "reasoning"),
            ("`name`, `is_starred`, `project_uuid`", "title, pinned, a tag"),
            ("all else of a message", "`app.claude`, as it was"),
        ),
        (
            ("the model, and which branch the page shows", "not in the export: the newest message has the bookmark"),
            ("bytes of files", "not in the export: their names are kept"),
            ("`projects.json`, `memories.json`", "not read: they hold no conversation"),
        ),
        "exports of 2024 to 2026, as others describe them",
    ),
    "llm": Described(
        "llm",
        "`llm logs path` prints it. The file is opened read-only.",
        "llm:HASH",
        (
            ("`messages`, `parent_hash`", "turns, and what each continues"),
            ("`threads`", "conversations; the tip has the bookmark"),
            ("`turns` (model, usage, times)", "the reply, and when it was said"),
            ("`conversations`, `responses` of older logs", "a thread each"),
            ("fragments, attachments", "texts and document blocks, where the log holds their bytes"),
        ),
        (("files and URLs that are only named", "not read: nothing outside the given file is"),),
        "0.36, and its older schemas",
    ),
    "cross-stream": Described(
        "cross.stream (gpt2099)",
        "The folder that `.export` writes: `frames.jsonl` beside `cas/`. Give the folder.",
        "cross-stream:ID",
        (
            ("frames of `gpt.turn`", "turns; the time is that of the id"),
            ("`continues`", "what the turn continues, also several"),
            ("`options`, `inherited`, `cache`", "what the turn hands down, and the mark for caches"),
            ("`head`", "the bookmark; an answer takes it along"),
            ("`type: document`", "a document turn with its name"),
            ("`model`, `stop_reason`, `usage`", "the reply"),
        ),
        (
            ("frames of other topics", "left out, counted. Providers' frames hold API keys and are never stored"),
            ("payloads that are missing, or that disagree with their hash", "cost their turn, reported"),
        ),
        "exports as xs 0.13 writes them",
    ),
    "hf": Described(
        "Data sets: Hugging Face, OpenAI, ShareGPT",
        "JSON lines, a JSON array, or parquet (`pip install 'headish[parquet]'`). `--from hf`, `openai-finetune` and `sharegpt` read the same.",
        "row:HASH:N",
        (
            ("`messages`, `conversations`", "a conversation; messages are those of Chat Completions"),
            ("`from`, `value`", "role and text; `function_call` and `observation` are a call and its result"),
            ("`prompt` with `chosen` and `rejected`, `preferred_output` …", "two branches"),
            ("`weight`", "stays in the message"),
            ("`system`", "a turn before the others"),
            ("all else of a row", "`app.row` of its first turn, as it was"),
        ),
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
    "openai-log": Described(
        "Logs of calls: OpenAI's batches, and request logs",
        "JSON lines with `body` or `request` (`messages`), and `response` (`choices`).",
        "openai-log:DIGEST",
        (
            ("the messages of a call", "turns; calls that go on from one another share them, as with `record`"),
            ("`choices`", "answers, each a branch"),
            ("`model`, `usage`, `finish_reason`, `created`", "the reply, and when it was said"),
            ("parameters, ids, headers", "`app.row` of the last turn, as they were"),
        ),
        (
            (
                "calls of other APIs",
                "reported as broken: convert them, or import their messages with `--from responses`",
            ),
        ),
        "rows as OpenAI's guide to batches describes them",
    ),
    "records": Described(
        "Thread records (specification 002)",
        "JSON lines or a JSON list of `{id, role, content, inherited, cache}`; never detected: `--from records`.",
        "records:ID",
        (
            ("`options`", "the older name of `inherited`"),
            ("`continues`", "what the turn continues, also several; else the one before it"),
            ("`head`", "the bookmark"),
            ("all else of a record", "`app.record`, as it was"),
        ),
        (("a record that cannot be read", "left out, reported; what continues it continues what is before it"),),
        "specification 002",
    ),
}
"""The formats, in the order of the page."""
