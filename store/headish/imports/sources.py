"""Formats of whole conversations: how each is recognised by its beginning, and which module reads it.

The modules are imported when they are needed: a process that imports nothing loads none of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib import import_module
from typing import BinaryIO, NamedTuple, TypeAlias

from headish.errors import InvalidImport
from headish.imports.archives import ZIP, Archive, open_matching
from headish.imports.files import Progress
from headish.imports.imported import ImportedTree
from headish.imports.notes import Notes

SQLITE = b"SQLite format 3\0"
EXPORTS = re.compile(r"conversations(?:[-_]\d+)?\.json")
"""The files of ChatGPT's and of Claude.ai's exports, which have one name."""


class Given(NamedTuple):
    """A file that is read: ``path`` is None for a stream, which is rewindable all the same."""

    file: BinaryIO
    path: str | None
    name: str
    notes: Notes
    limit_bytes: int
    progress: Progress | None = None


Reader: TypeAlias = Callable[[Given], Iterator[ImportedTree]]
CONVERSATIONS = {
    "chatgpt": "headish.imports.readers.exports.chatgpt",
    "claude": "headish.imports.readers.exports.claude_ai",
    "claude-code": "headish.imports.readers.coding.claude_code",
    "codex": "headish.imports.readers.coding.codex",
    "llm": "headish.imports.readers.logs.llm_logs",
    "openai-agents": "headish.imports.readers.frameworks.agents_sdk",
    "langgraph": "headish.imports.readers.frameworks.langgraph",
    "pydantic-ai": "headish.imports.readers.frameworks.pydantic_ai",
    "open-webui": "headish.imports.readers.services.open_webui",
    "librechat": "headish.imports.readers.services.librechat",
    "inspect": "headish.imports.readers.services.inspect_logs",
    "otel": "headish.imports.readers.services.otel",
}
"""Each format's module; its ``read_conversations`` is the reader."""
_LOG = re.compile(rb'\A(?:\xef\xbb\xbf)?\s*\{"')
_FIRST_LINES = 40
_JSON = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*[\[{]")
_EXPORTS = (
    ("chatgpt", re.compile(rb'"mapping"\s*:\s*\{')), ("claude", re.compile(rb'"chat_messages"\s*:\s*\[')),
    ("inspect", re.compile(rb'"eval"\s*:\s*\{\s*"(?:eval_id|run_id|created|task)"\s*:')),
    ("otel", re.compile(rb'"(?:resourceSpans|resource_spans)"\s*:\s*\[')),
    ("librechat", re.compile(rb'"(?:messagesTree|isCreatedByUser|exportAt)"\s*:')),
    ("open-webui", re.compile(rb'"(?:currentId|childrenIds)"\s*:')),
    ("pydantic-ai", re.compile(rb'"part_kind"\s*:')),
)  # fmt: skip
"""What stands in the beginning of an export."""
_BEGINNING_BYTES = 1024 * 1024
_LINES: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    ("codex", re.compile(rb'"type"\s*:\s*"(?:session_meta|response_item|turn_context)"')),
    ("claude-code", re.compile(rb'"(?:parentUuid|leafUuid|sessionId)"\s*:')),
)
"""What stands in one of the first lines of a log."""


def reader_of(format: str) -> Reader:
    """The reader of a format of ``CONVERSATIONS``."""
    found: Reader = import_module(CONVERSATIONS[format]).read_conversations
    return found


def detect_conversations(file: BinaryIO, beginning: bytes, name: str) -> str | None:
    """The format of a file by its beginning, None where it is none of these.

    Raises: InvalidImport for an archive or a database of another kind.
    """
    if beginning.startswith(ZIP):
        file.seek(0)
        try:
            with closing(open_matching(file, name, EXPORTS)) as opened:
                found = next((_detect_export(each.file.read(_BEGINNING_BYTES)) for each in opened), None)
        finally:
            file.seek(0)
        if found is None and _is_inspect(file, name):
            return "inspect"
        if found is None:
            raise InvalidImport(name, None, "no conversations.json of ChatGPT or Claude.ai is in this archive")
        return found
    if beginning.startswith(SQLITE):
        return _detect_database(name)
    return detect_log(beginning) or _detect_export(beginning)


def _is_inspect(file: BinaryIO, name: str) -> bool:
    """Whether an archive is a log of Inspect AI: what it begins with is written first."""
    members = Archive(file, name).members
    file.seek(0)
    return "header.json" in members or "_journal/start.json" in members


_DATABASES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("openai-agents", ("id", "session_id", "message_data")),
    ("langgraph", ("thread_id", "checkpoint_ns", "checkpoint_id", "checkpoint")),
    ("open-webui", ("id", "user_id", "title", "chat")),
)
"""The columns of a table that only one program has."""


def _detect_database(name: str) -> str:
    from headish.imports.readers.shared.databases import opened  # late: most imports read none

    try:
        with opened(name, name) as foreign:
            return next((format for format, columns in _DATABASES if foreign.find(*columns) is not None), "llm")
    except InvalidImport:
        return "llm"  # its reader says what is wrong with it


def _detect_export(beginning: bytes) -> str | None:
    """The one whose mark comes first: people paste the other one's exports into their messages."""
    if not _JSON.match(beginning):
        return None
    marks = [(found.start(), format) for format, mark in _EXPORTS if (found := mark.search(beginning)) is not None]
    return min(marks)[1] if marks else None


def detect_log(beginning: bytes) -> str | None:
    """The format of a log of JSON lines by what stands in its first lines, None where it is none of these."""
    if not _LOG.match(beginning):
        return None
    lines = beginning.split(b"\n", _FIRST_LINES)[:_FIRST_LINES]
    return next((format for format, mark in _LINES for line in lines if mark.search(line)), None)
