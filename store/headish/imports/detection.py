"""Recognise formats of whole conversations by the beginning of a file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from operator import itemgetter
from typing import BinaryIO

from headish.errors import InvalidImport
from headish.imports.archives import ZIP, Archive, open_matching
from headish.imports.reader import ImportSource

SQLITE, PARQUET = b"SQLite format 3\0", b"PAR1"
EXPORTS = re.compile(r"conversations(?:[-_]\d+)?\.json")
"""The files of ChatGPT's and of Claude.ai's exports; both use these names."""
_NO_EXPORT = "no conversations.json of ChatGPT or Claude.ai is in this archive"
_LOG = re.compile(rb'\A(?:\xef\xbb\xbf)?\s*\{"')
# A log may begin with lines that any program could have written, such as a summary.
_FIRST_LINES = 40
_JSON = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*[\[{]")
_WHOLE = (
    ("inspect", re.compile(rb'"eval"\s*:\s*\{\s*"(?:eval_id|run_id|created|task)"\s*:')),
    ("otel", re.compile(rb'"(?:resourceSpans|resource_spans)"\s*:\s*\[')),
    ("librechat", re.compile(rb'"(?:messagesTree|isCreatedByUser|exportAt)"\s*:')),
    ("open-webui", re.compile(rb'"(?:currentId|childrenIds)"\s*:')),
    # Open WebUI before it had branches: a list of messages in each chat.
    ("open-webui", re.compile(rb'"chat"\s*:\s*\{.{0,4000}?"messages"\s*:\s*\[', re.S)),
    # Gemini's messages have parts, too, and the earliest mark wins: this one must match from the first message on.
    ("pydantic-ai", re.compile(rb'[\[{]\s*\{?\s*"(?:parts|kind)"\s*:.{0,100000}?"part_kind"\s*:', re.S)),
    ("chatgpt", re.compile(rb'"mapping"\s*:\s*\{')),
    ("claude", re.compile(rb'"chat_messages"\s*:\s*\[')),
    (
        "gemini-cli",
        re.compile(
            rb'"projectHash"\s*:|\A\s*(?:\{\s*"history"\s*:\s*)?\[\s*\{\s*"(?:role|parts)"\s*:[^{}]{0,20}\{?[^{}]*"(?:parts|text)"'
        ),
    ),
)
"""Marks in the beginning of an export, or of another file that is a single JSON value. Of marks at one place the first
wins."""
_BLANKS = re.compile(rb"\s{16,}")
"""Long runs of blanks, replaced by one before matching: a mark with blanks in two places would backtrack over every way
to split a run between them."""
_BEGINNING_BYTES = 1024 * 1024
_LINES: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    ("gemini-cli", re.compile(rb'"projectHash"\s*:')),
    ("codex", re.compile(rb'"type"\s*:\s*"(?:session_meta|response_item|turn_context)"')),
    ("cross-stream", re.compile(rb'\A\s*\{"(?:topic"\s*:\s*"[^"]+"\s*,\s*"id"|id"\s*:\s*"[^"]+"\s*,\s*"topic")\s*:')),
    (
        "claude-code",
        re.compile(rb'"(?:parentUuid|leafUuid|sessionId)"\s*:|"type"\s*:\s*"file-history-snapshot"'),
    ),
)
"""Marks in the first lines of a log."""


def open_exports(given: ImportSource) -> Iterator[tuple[ImportSource, Archive | None]]:
    """Yield the files of an export, each with the archive that holds it. Raises: InvalidImport if an archive has
    none."""
    name = None
    for file, name, archive in open_matching(given.file, given.name, EXPORTS):
        # Members are counted unpacked, so they would pass the size of the archive.
        progress = given.progress if archive is None else None
        yield given._replace(file=file, name=name, notes=given.notes.of(name), progress=progress), archive
    if name is None:
        raise InvalidImport(given.name, None, _NO_EXPORT)


def detect_conversations(file: BinaryIO, beginning: bytes, name: str) -> str | None:
    """Return the format of a file by its beginning, None if it is none of these.

    Raises: InvalidImport for an archive or a database of another kind.
    """
    if beginning.startswith(ZIP):
        file.seek(0)
        try:
            with closing(open_matching(file, name, EXPORTS)) as opened:
                format = next((_detect_export(each.file.read(_BEGINNING_BYTES)) for each in opened), None)
        # The caller reads the file after this, from its beginning.
        finally:
            file.seek(0)
        if format is None and _is_inspect(file, name):
            return "inspect"
        if format is None:
            raise InvalidImport(name, None, _NO_EXPORT)
        return format
    if beginning.startswith(SQLITE):
        return _detect_database(name)
    if beginning.startswith(PARQUET):
        return "hf"
    return detect_beginning(beginning)


def detect_beginning(beginning: bytes) -> str | None:
    """Return the format of a file that is neither an archive nor a database, by its beginning; None if it is none of
    these."""
    return detect_log(beginning) or _detect_export(beginning) or _detect_rows(beginning)


def _is_inspect(file: BinaryIO, name: str) -> bool:
    """Whether an archive is a log of Inspect AI. It writes ``_journal/start.json`` first, so an unfinished log has
    that, too."""
    members = Archive(file, name).members
    file.seek(0)
    return "header.json" in members or "_journal/start.json" in members


_DATABASES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("openai-agents", ("id", "session_id", "message_data")),
    ("langgraph", ("thread_id", "checkpoint_ns", "checkpoint_id", "checkpoint")),
    ("open-webui", ("id", "user_id", "title", "chat")),
)
"""For each program, the columns of a table that only its databases have."""


def is_log(tables: Mapping[str, object]) -> bool:
    """Whether a database with these tables is a log of ``llm``."""
    return "conversations" in tables and bool(tables.keys() & {"responses", "messages"})


def _detect_database(name: str) -> str:
    from headish.imports.readers.shared.databases import opened  # late: most imports read none

    try:
        with opened(name, name) as foreign:
            return next((format for format, columns in _DATABASES if foreign.find(*columns) is not None), "llm")
    except InvalidImport:
        return "llm"  # its reader says what is wrong with it


def marks_of(beginning: bytes) -> set[str]:
    """Return every format whose mark appears in the beginning of a text file."""
    lines = beginning.split(b"\n", _FIRST_LINES)[:_FIRST_LINES] if _LOG.match(beginning) else []
    formats = {format for format, mark in _LINES for line in lines if mark.search(line)}
    if _JSON.match(beginning):
        beginning = _BLANKS.sub(b" ", beginning)
        formats |= {format for format, mark in _WHOLE if mark.search(beginning)}
        formats |= {format for format, mark in _ROWS if mark.search(beginning[:_ROWS_BYTES])}
    return formats


def _detect_export(beginning: bytes) -> str | None:
    """Return the format whose mark comes first. A later mark may be in a message, because people paste exports into
    messages."""
    if not _JSON.match(beginning):
        return None
    beginning = _BLANKS.sub(b" ", beginning)
    marks = [(found.start(), format) for format, mark in _WHOLE if (found := mark.search(beginning)) is not None]
    return min(marks, key=itemgetter(0))[1] if marks else None


def detect_log(beginning: bytes) -> str | None:
    """Return the format of a log of JSON lines by its first lines, None if it is none of these."""
    if not _LOG.match(beginning):
        return None
    lines = beginning.split(b"\n", _FIRST_LINES)[:_FIRST_LINES]
    return next((format for format, mark in _LINES for line in lines if mark.search(line)), None)


_CALL = re.compile(rb'"(?:body|request|response)"\s*:\s*\{.{0,4000}?"(?:messages|choices|body)"\s*:', re.S)
_SAID = rb'\s*:\s*\[?\s*\{\s*"(?:%s)"\s*:'
_ROWS: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    ("sharegpt", re.compile(rb'"(?:conversations?|chosen)"' + _SAID % rb"from|value")),
    ("openai-log", _CALL),
    (
        "openai-finetune",
        re.compile(rb'"(?:preferred_output|input)"\s*:\s*\{?\s*(?:"messages")?' + _SAID % rb"role|content"),
    ),
    ("hf", re.compile(rb'"(?:messages|conversations?|prompt|chosen)"' + _SAID % rb"role|content")),
    ("hf", re.compile(rb'"prompt"\s*:\s*"(?:[^"\\]|\\.){0,60000}"\s*,\s*"(?:chosen|completion)"\s*:\s*"')),
)
"""Marks in the first rows of a data set; the first that matches decides."""
_ROWS_BYTES = 64 * 1024


def _detect_rows(beginning: bytes) -> str | None:
    if not _JSON.match(beginning):
        return None
    beginning = _BLANKS.sub(b" ", beginning[:_ROWS_BYTES])
    return next((format for format, mark in _ROWS if mark.search(beginning)), None)
