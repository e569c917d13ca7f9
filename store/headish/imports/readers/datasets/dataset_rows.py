"""Rows of data sets and of request logs: JSON lines, JSON objects or an array, or parquet.

Each row is a conversation or a call. Its keys tell its kind:

- ``messages`` (Hugging Face, OpenAI's fine-tuning), and ``conversations`` with ``from`` and ``value`` (ShareGPT);
- ``prompt`` with ``chosen`` and ``rejected``, ``input`` with ``preferred_output`` and ``non_preferred_output``: two
  branches after what they share;
- ``prompt`` with ``completion``, or a list of messages alone as ``prompt``;
- ``body`` or ``request`` with ``messages``, and ``response`` with ``choices``: a call of Chat Completions. Calls that
  continue one another share their turns, as the messages of ``Store.record`` do.

Rows have no titles, so their conversations have no names. What else a row says is kept verbatim under ``app.row``: for
a data set with its first turn, for a log with the last. Few rows have ids, and none are unique beyond their file. So
keys are made of words: ``row:HASH:N`` of the whole row (equal rows are one), ``openai-log:DIGEST`` of a call's thread.

Source: OpenAI's guides to fine-tuning, preferences and batches, hiyouga/LLaMA-Factory:data/README.md, and the documents
of TRL; read 2026-11-22, TRL's types of data sets again 2026-11-28.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from blake3 import blake3
from msgspec.structs import replace

from headish.content.drafts import with_key
from headish.content.forms.foreign import ForeignMessage
from headish.imports.building import build_tree
from headish.imports.drafting import read_native
from headish.imports.imported import ImportedTree, make_key
from headish.imports.keeping.storing import digests_of
from headish.imports.reader import ImportSource, SourceConversation, SourceMessage
from headish.imports.readers.datasets.request_logs import LOG, RowThread, read_logged
from headish.imports.readers.datasets.sharegpt import is_sharegpt, read_said, results_apart
from headish.imports.readers.datasets.tables import read_rows
from headish.imports.readers.shared.json_records import milliseconds
from headish.values import shapes
from headish.values.blocks import ToolUse

CHAT, ROW = "chat", "row"
_LISTS = ("messages", "conversations", "conversation")
_PAIRS = (("chosen", "rejected"), ("preferred_output", "non_preferred_output"))
Message = Mapping[str, Any]


_NO_ROW = "it is not a row of a data set: it has no messages, conversations, prompt with an answer, or call"

_MESSAGE = "it is a message, not a row: --from chat (format= in Python) reads a list of messages as one conversation"


def read_conversations(given: ImportSource) -> Iterator[ImportedTree]:
    """Yield the conversations of a file, one at a time. Raises: InvalidImport for a file without rows."""
    for where, row in read_rows(given):
        logged = read_logged(row)
        threads = logged or _threads_of(row)
        if not threads:
            given.notes.break_off(where, _MESSAGE if "role" in row and "content" in row else _NO_ROW)
            continue
        tree = _DatasetRow(row, threads, where, given, is_log=bool(logged)).tree()
        if tree is not None:
            yield tree


def _threads_of(row: Mapping[str, Any]) -> list[RowThread]:
    """Return the branches of a data set's row."""
    held = row.get("input")
    messages = shapes.first(row, _LISTS, list)
    prompt = messages if messages is not None else _listed(row.get("prompt"), "user")
    prompt = list(held["messages"]) if isinstance(held, Mapping) and isinstance(held.get("messages"), list) else prompt
    if prompt and isinstance(row.get("system"), str) and row["system"]:
        prompt = [_system(prompt, row["system"]), *prompt]
    branches = [_listed(row[key], "assistant") for key in _answer_keys(row)]
    if not branches:
        is_prompt = prompt and (held is not None or isinstance(row.get("prompt"), list))
        return [RowThread(prompt)] if messages or is_prompt else []
    # Some sets repeat the prompt in each branch.
    return [RowThread(each if prompt and each[: len(prompt)] == prompt else [*prompt, *each]) for each in branches]


def _answer_keys(row: Mapping[str, Any]) -> list[str]:
    """Return the keys of a row's answers to its prompt: a pair of them, or the one that completes it."""
    pairs = [key for pair in _PAIRS for key in pair if row.get(key) not in (None, "", [])]
    completes = not pairs and row.get("prompt") and not any(isinstance(row.get(key), list) for key in _LISTS)
    return ["completion"] if completes and row.get("completion") else pairs


def _listed(value: Any, role: str) -> list[Any]:
    """Return messages as a list: a single one as a list of one, a text as a message of ``role``."""
    if isinstance(value, str):
        return [{"role": role, "content": value}] if value else []
    return [value] if isinstance(value, Mapping) else shapes.listed(value)


def _system(prompt: Sequence[Any], text: str) -> dict[str, str]:
    return {"from": "system", "value": text} if is_sharegpt(prompt[0]) else {"role": "system", "content": text}


class _DatasetRow:
    """A row. Its threads are one tree as far as they say the same."""

    def __init__(
        self, row: Mapping[str, Any], threads: Sequence[RowThread], where: str, given: ImportSource, *, is_log: bool
    ) -> None:
        self._row, self._threads, self._where, self._given, self._is_log = row, threads, where, given, is_log
        # Equal rows are one, whatever the order of their keys.
        self._hash = blake3(msgspec.json.encode(row, order="deterministic")).hexdigest(16)
        self._nodes: list[SourceMessage] = []
        self._met: dict[tuple[str | None, str], str] = {}

    def tree(self) -> ImportedTree | None:
        """Return the row as drafts."""
        for thread in self._threads:
            self._add(thread)
        beside = _without_words(self._row) if self._is_log else _beside(self._row)
        if beside and self._nodes:
            at = len(self._nodes) - 1 if self._is_log else 0
            self._nodes[at] = replace(self._nodes[at], meta={**self._nodes[at].meta, **beside})
        # No names and no records: a data set may have a hundred thousand rows, and nobody looks for one by its title.
        talk = SourceConversation(format=ROW, messages=self._nodes)
        tree = build_tree(talk, self._given.notes, self._given.limit_bytes)
        if tree is None:
            return None
        # As of a log: a key means the same row in whatever file it comes again.
        tree = replace(tree, about=None, logged=True)
        return _keyed(tree) if self._is_log else tree

    def _add(self, thread: RowThread) -> None:
        parent: str | None = None
        calls: list[str] = []
        for number, message in enumerate(thread.messages, 1):
            where = f"{self._where}, message {number}"
            apart = results_apart(message, calls) if is_sharegpt(message) else [message]
            for at, each in enumerate(apart):
                # A result of its own is taken for that of the last call.
                said, meta = self._read(each, calls[at if len(apart) > 1 else -1] if calls else None, where)
                if said is None:
                    continue
                calls = [block.name for block in said.blocks if isinstance(block, ToolUse)] or calls
                is_last = thread.reply is not None and number == len(thread.messages)
                parent = self._say(parent, said, meta, where, thread if is_last else None)

    def _read(self, message: Any, call: str | None, where: str) -> tuple[ForeignMessage | None, Mapping[str, Any]]:
        if not isinstance(message, Mapping):
            self._given.notes.break_off(where, "a message is an object")
            return None, {}
        entry, meta = read_said(message, call) if is_sharegpt(message) else (_with_pictures(message), {})
        foreign = read_native(CHAT, entry, self._given.notes, where)
        # The form of another message would be that of the entry made here, which no file holds.
        return (foreign._replace(form=None) if foreign is not None and entry is not message else foreign), meta

    def _say(
        self, parent: str | None, kept: ForeignMessage, meta: Mapping[str, Any], where: str, answer: RowThread | None
    ) -> str:
        """Return the id of a message's node. A message that branches share has one node."""
        same = (parent, repr((kept.role, kept.speaker, kept.blocks)))
        found = self._met.get(same)
        if found is not None:
            return found
        id = self._met[same] = str(len(self._nodes))
        time = None if answer is None else milliseconds(answer.time)
        rest = {"message": dict(kept.rest)} if kept.rest else {}
        node = SourceMessage(
            id=id, key=make_key(ROW, self._hash, id), parent=parent, role=kept.role, content=kept.blocks,
            form=kept.form, speaker=kept.speaker, meta={**meta, **rest}, where=where, said_at=time,
            reply=None if answer is None else answer.reply,
        )  # fmt: skip
        self._nodes.append(node)
        return id


def _with_pictures(message: Message) -> Message:
    """Return a message of Hugging Face with its pictures as Chat Completions has them; any other as it is."""
    content = shapes.listed(message.get("content"))
    pictures = {at: part["url"] for at, part in enumerate(content) if _is_picture(part)}
    if not pictures:
        return message
    parts = [
        {"type": "image_url", "image_url": {"url": pictures[at]}} if at in pictures else part
        for at, part in enumerate(content)
    ]
    return {**message, "content": parts}


def _is_picture(part: Any) -> bool:
    if not isinstance(part, Mapping) or part.keys() != {"type", "url"}:
        return False
    return part["type"] == "image" and shapes.text(part["url"]) != ""


def _beside(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a data set's row without what its turns say."""
    messages_key = next((key for key in _LISTS if isinstance(row.get(key), list)), "prompt")
    own = {
        messages_key,
        *(key for key in _answer_keys(row) if _listed(row[key], "assistant")),
        *(["system"] if isinstance(row.get("system"), str) else []),
    }
    kept = shapes.rest(row, own, "")
    if isinstance(kept.get("input"), Mapping):
        kept["input"] = {key: value for key, value in kept["input"].items() if not _is_said(key, value)}
    return {key: value for key, value in kept.items() if value != {}}


def _without_words(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call without the messages, which are turns now."""
    drop = ("body", "request", "response")
    kept = {key: value for key, value in row.items() if key not in drop and not _is_said(key, value)}
    for key in ("body", "request", "response"):
        inner = _without_words(row[key]) if isinstance(row.get(key), Mapping) else row.get(key)
        kept |= {key: inner} if inner else {}
    return kept


def _is_said(key: str, value: Any) -> bool:
    """Whether turns hold what stands under a key. Of choices, those that are answers."""
    if key not in ("messages", "choices") or not isinstance(value, list):
        return False
    return key == "messages" or all(isinstance(shapes.record(each).get("message"), Mapping) for each in value)


def _keyed(tree: ImportedTree) -> ImportedTree:
    """Set the keys of a log's turns from what they say and what leads to them, so that calls which say the same share
    them."""
    keys = [f"{LOG}:{digest.hex()}".encode() for digest in digests_of(tree)]
    drafts = tuple(with_key(draft, key) for draft, key in zip(tree.drafts, keys, strict=True))
    return replace(tree, drafts=drafts)
