"""The log of llm: ``logs.db``, a SQLite database that is opened read-only and never migrated.

Since 0.32 messages are addressed by a hash that covers what leads to them: a message is a turn, a thread is a
conversation, and threads share what they have in common. Older responses are a list in each conversation; each gives
turns for its instructions, its prompt, the results that it was given, and its answer. Fragments are put back into the
texts that refer to them, and attachments in the database become documents. Files and URLs that it only names are not
read.

Keys: ``llm:HASH``; for older responses ``llm:RESPONSE``, and ``llm:RESPONSE:prompt`` and the like.

Source: simonw/llm 0.36, its migrations and logs, read and run 2026-11-22.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from headish.errors import InvalidImport
from headish.imports.detection import is_log
from headish.imports.reader import ImportSource, SourceConversation, SourceMessage
from headish.imports.readers.logs.llm_messages import read_messages, reply_of
from headish.imports.readers.logs.llm_responses import read_responses
from headish.imports.readers.shared.databases import ForeignFile, opened
from headish.imports.readers.shared.json_records import utc

FORMAT = "llm"
Row = Mapping[str, Any]

_FOREIGN = (
    "it is a SQLite database, but not a log of llm; those of openai-agents, langgraph and open-webui are read, too"
)
_OWN = (
    "it is a database of headish: open it with --db; 'headish remote add NAME FILE' and 'headish pull NAME' bring its"
    " conversations into another one"
)


def read_conversations(given: ImportSource) -> Iterator[SourceConversation]:
    """Yield the conversations of a log, older ones first.

    Raises: InvalidImport for another database, a damaged one, and a stream, because SQLite reads only files.
    """
    with opened(given.path, given.name) as foreign:
        tables = foreign.tables.keys()
        if not is_log(foreign.tables):
            raise InvalidImport(given.name, None, _OWN if {"turn", "payload", "bookmark"} <= tables else _FOREIGN)
        for conversation, nodes in read_responses(foreign):
            yield _talk(conversation, None, nodes)
        if {"messages", "parts", "threads", "turns"} <= tables:
            yield from _read_threads(given, foreign)


def _read_threads(given: ImportSource, foreign: ForeignFile) -> Iterator[SourceConversation]:
    reached: set[str | None] = set()
    for talk in _read_talks(foreign):
        reached.update(node.id for node in talk.messages)
        yield talk
    for hash in (row["hash"] for row in foreign.select("SELECT hash FROM messages ORDER BY hash")):
        if hash not in reached:
            given.notes.leave_out(f"message {hash}", "message that no thread leads to")


def _read_talks(foreign: ForeignFile) -> Iterator[SourceConversation]:
    for thread in foreign.select("SELECT * FROM threads ORDER BY datetime_utc, id"):
        turns = foreign.select("SELECT * FROM turns WHERE thread_id = ? ORDER BY datetime_utc, id", thread["id"])
        yield _thread(foreign, thread, turns)
    # A turn whose thread is missing is a conversation of its own.
    alone = "SELECT * FROM turns WHERE thread_id IS NULL OR thread_id NOT IN (SELECT id FROM threads) ORDER BY id"
    for turn in foreign.select(alone):
        yield _thread(foreign, {"id": turn["id"], "tip_message_hash": turn["tip_message_hash"]}, [turn])


def _thread(foreign: ForeignFile, thread: Row, turns: list[dict[str, Any]]) -> SourceConversation:
    tip = thread["tip_message_hash"]
    tips = dict.fromkeys(each for each in (*(turn["tip_message_hash"] for turn in turns), tip) if each is not None)
    messages = read_messages(foreign, list(tips))
    times = _times(messages, turns)
    replies = {turn["tip_message_hash"]: reply_of(turn) for turn in turns}
    return _talk(thread, tip, [_timed(node, times, replies) for node in messages.values()])


def _times(messages: Mapping[str, SourceMessage], turns: list[dict[str, Any]]) -> dict[str, str]:
    """Return the time of each message: that of the first turn that has it, because messages themselves have no time."""
    times: dict[str, str] = {}
    for turn in turns:
        place: str | None = turn["tip_message_hash"]
        while place is not None and place in messages and place not in times and isinstance(turn["datetime_utc"], str):
            times[place] = turn["datetime_utc"]
            place = messages[place].parent
    return times


def _timed(
    node: SourceMessage, times: Mapping[str, str], replies: Mapping[str, tuple[dict[str, Any], dict[str, Any]]]
) -> SourceMessage:
    id = node.id or ""
    reply, beside = replies.get(id, ({}, {}))
    # A row of ``turns`` describes the answer that ends it.
    answer = {"reply": reply, "meta": {**node.meta, **beside}} if node.role == "assistant" and reply else {}
    return replace(node, said_at=utc(times.get(id)), **answer)


def _talk(record: Row, tip: str | None, messages: list[SourceMessage]) -> SourceConversation:
    name = record.get("name")
    facts = {key: record[key] for key in ("model", "forked_from") if isinstance(record.get(key), str)}
    return SourceConversation(
        format=FORMAT, id=record["id"], title=name if isinstance(name, str) else None, tip=tip, tags=[FORMAT],
        app=facts, logged=True, messages=messages,
    )  # fmt: skip
