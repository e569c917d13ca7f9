"""Codex CLI's rollouts: ``~/.codex/sessions/YYYY/MM/DD/rollout-TIME-UUID.jsonl``, one record per line.

A ``response_item`` is an item of OpenAI's Responses API: each becomes a turn, and continues the one before it. A file
only grows, so a turn's key is the number of its line: ``codex:SESSION:LINE``. A rollback (``thread_rolled_back``) drops
the user's last messages: what follows is a branch. A compaction's summary is an overlay that covers what it sums up,
but not what the user said. ``event_msg`` records repeat what items say; only rollbacks, titles and token counts are
read from them.

Source: openai/codex, its history and rollout crates, read 2026-11-21.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from msgspec.structs import replace

from headish.content.forms.foreign import AGENT_MESSAGE
from headish.content.forms.responses import ROLES, kind_of_item
from headish.imports.drafting import read_native
from headish.imports.imported import make_key
from headish.imports.reader import ImportSource, SourceConversation, SourceMessage
from headish.imports.readers.shared import make
from headish.imports.readers.shared.json_records import RecordLine, read_records
from headish.values import shapes
from headish.values.blocks import Text

FORMAT = "codex"
Blocks = Sequence[Any]
Fields = Mapping[str, Any]
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ENVELOPE = ("timestamp", "type", "payload")
_FACTS = ("cwd", "originator", "cli_version", "source", "model_provider", "git", "forked_from_id")
_COUNTS = {
    "input_tokens": "input_tokens", "output_tokens": "output_tokens",
    "cache_read_input_tokens": "cached_input_tokens", "reasoning_tokens": "reasoning_output_tokens",
}  # fmt: skip
_CONTEXT = re.compile(r"\s*(?:<[a-z_]+>|# AGENTS\.md instructions)")
"""How messages begin that the program writes in the user's name: the surroundings, the instructions of a project."""


def read_conversations(given: ImportSource) -> Iterator[SourceConversation]:
    """Yield the conversation of a rollout."""
    rollout = _Rollout(given)
    for line in read_records(given):
        rollout.add(line)
    if given.is_running:
        rollout.hold_back()
    yield rollout.conversation()


class _Rollout:
    def __init__(self, given: ImportSource) -> None:
        self._given, self._notes = given, given.notes
        self._meta: Fields = {}
        self._context: Fields = {}
        self._title: str | None = None
        self._words: str | None = None
        self._path: list[int] = []
        self.nodes: list[SourceMessage] = []

    def add(self, line: RecordLine) -> None:
        """Take a record. The first versions wrote items without an envelope."""
        record = line.record
        payload = record.get("payload")
        if not isinstance(payload, Mapping):
            payload = record
            kind = "response_item" if "type" in record else "session_meta" if "id" in record else None
        else:
            kind = record.get("type")
        take = _TAKERS.get(str(kind))
        if take is None:
            self._notes.leave_out(line.where, f"record of type {kind or record.get('record_type')}")
        else:
            take(self, line, payload)

    def _take_meta(self, line: RecordLine, payload: Fields) -> None:
        """Keep the session's facts. A resumed session writes them again; the first ones count."""
        self._meta = self._meta or payload

    def _take_context(self, line: RecordLine, payload: Fields) -> None:
        self._context = payload

    def _take_item(self, line: RecordLine, payload: Fields) -> None:
        item = _item(payload)
        message = read_native("responses", item, self._notes, line.where) if item else None
        if message is None:
            self._notes.leave_out(line.where, f"empty item of type {payload.get('type')}")
            return
        if payload.get("type") != AGENT_MESSAGE and message.role == "user" and self._is_said(message.blocks):
            self._words = self._words or _text_of(message.blocks)
        self._say(
            line, message.role, message.blocks, {"item": dict(message.rest)} if message.rest else {}, message.form
        )

    def _take_summary(self, line: RecordLine, payload: Fields) -> None:
        history = payload.get("replacement_history")
        kept_texts = [_told(each) for each in history] if isinstance(history, list) else None
        text = payload.get("message") or (kept_texts[-1] if kept_texts else None)
        rest = {key: value for key, value in payload.items() if key != "message" and value not in (None, [])}
        self._notes.keep(line.where, "summary of a compaction")
        if not isinstance(text, str) or not text:
            self._notes.leave_out(line.where, "empty compaction without words")
            return
        # Codex itself sends instructions, and what the user said, beside its summary, so they must stay in the window.
        covers = [
            str(node.id)
            for node in (self.nodes[at] for at in self._path)
            if not node.covers and not _stays(node, kept_texts) and node.role not in ("system", "developer")
        ]
        self._say(line, "user", (Text(text),), {"compacted": rest or True})
        self.nodes[-1] = replace(self.nodes[-1], covers=covers)

    def _say(self, line: RecordLine, role: str, blocks: Blocks, meta: Fields, form: Fields | None = None) -> None:
        parent = self.nodes[self._path[-1]].id if self._path else None
        outside = {key: value for key, value in line.record.items() if key not in _ENVELOPE and value is not None}
        outside = outside if "payload" in line.record else {}
        number = str(line.number)
        self._path.append(len(self.nodes))
        self.nodes.append(
            SourceMessage(
                id=number, parent=parent, role=role, content=blocks, said_at=line.record.get("timestamp"),
                key=make_key(FORMAT, self._session, number), meta={**outside, **meta}, where=line.where,
                reply=self._reply() if role == "assistant" else None, form=form,
            )
        )  # fmt: skip

    def _take_event(self, line: RecordLine, payload: Fields) -> None:
        kind = payload.get("type")
        if kind == "thread_rolled_back":
            self._roll_back(payload.get("num_turns"))
        elif kind == "token_count":
            self._count(payload.get("info"))
        elif kind == "thread_name_updated" and isinstance(payload.get("thread_name"), str):
            self._title = payload["thread_name"]
        else:
            self._notes.leave_out(line.where, f"event of type {kind}")

    def _roll_back(self, turns: Any) -> None:
        """Drop the user's last messages from the path, and what followed them."""
        # An event without a valid number still says that something was taken back: at least the last message.
        for _ in range(turns if type(turns) is int and 0 < turns <= len(self._path) else 1):
            while self._path:
                node = self.nodes[self._path.pop()]
                if node.role == "user" and self._is_said(node.content or ()) and not _is_of_agent(node):
                    break

    def _count(self, info: Any) -> None:
        """Set the token counts of the answer that ended last; repeated counts are ignored."""
        usage = shapes.record(info).get("last_token_usage")
        last = self.nodes[self._path[-1]] if self._path else None
        if not isinstance(usage, Mapping) or last is None or last.reply is None or "usage" in last.reply:
            return
        counts = {own: usage[name] if type(usage.get(name)) is int else 0 for own, name in _COUNTS.items()}
        # OpenAI counts cached tokens as input as well; headish's counts are disjoint.
        counts["input_tokens"] = max(0, counts["input_tokens"] - counts["cache_read_input_tokens"])
        self.nodes[self._path[-1]] = replace(last, reply={**last.reply, "usage": counts})

    def hold_back(self) -> None:
        """Leave out the last item of an answer whose tokens are not counted yet."""
        last = self.nodes[-1] if self.nodes else None
        if (
            last is not None
            and last.reply is not None
            and "usage" not in last.reply
            # An item that is off the path was rolled back: no count will follow it.
            and self._path[-1:] == [len(self.nodes) - 1]
        ):
            self._path.pop()
            self._notes.hold_back(self.nodes.pop().where)

    @property
    def _session(self) -> str:
        session = self._meta.get("id")
        in_name = _UUID.search(PurePath(self._given.name).name)
        return session if isinstance(session, str) else in_name[0] if in_name else PurePath(self._given.name).stem

    def _reply(self) -> dict[str, Any]:
        provider, model = self._meta.get("model_provider"), self._context.get("model")
        # headish has one provider for each API, and Codex speaks Responses to OpenAI.
        own = provider if isinstance(provider, str) and provider != "openai" else "openai_responses"
        return make.reply(own, model=model)

    def _is_said(self, blocks: Blocks | str) -> bool:
        """Whether a person said it, and not the program in the person's name."""
        return not _CONTEXT.match(_text_of(blocks))

    def conversation(self) -> SourceConversation:
        """Return the session with its messages."""
        source = self._meta.get("source")
        is_agent = isinstance(source, Mapping) and "subagent" in source
        cwd = self._meta.get("cwd")
        project = PurePath(cwd).name if isinstance(cwd, str) else ""
        words = make.title(self._words or "")
        tip = self.nodes[self._path[-1]].id if self._path else None
        return SourceConversation(
            format=FORMAT, id=self._session, title=self._title or words, tip=tip,
            tags=[FORMAT, project, *(["sub-agent"] if is_agent else [])],
            app={key: self._meta[key] for key in _FACTS if self._meta.get(key) is not None}, logged=True,
            messages=self.nodes,
        )  # fmt: skip


def _item(payload: Fields) -> dict[str, Any]:
    """Return an item without its empty texts; {} for a message that has no others."""
    item = dict(payload)
    if kind_of_item(item) == "message" and item.get("role") not in ROLES:
        # An unknown role would break the record, and its words would be lost.
        item["role"] = "user"
    for key in ("content", "output"):
        if isinstance(item.get(key), list):
            item[key] = [part for part in item[key] if not (isinstance(part, Mapping) and part.get("text") == "")]
    return {} if kind_of_item(item) == "message" and not item.get("content") else item


def _is_of_agent(node: SourceMessage) -> bool:
    """Whether a message to the model came from another agent, and not from a person."""
    return shapes.record(node.meta.get("item")).get("type") == AGENT_MESSAGE


def _stays(node: SourceMessage, told: Sequence[str] | None) -> bool:
    """Whether a compaction leaves a message in the window: it lists the message or, without a list, keeps what the user
    said."""
    return node.role == "user" and not _is_of_agent(node) and (told is None or _text_of(node.content or ()) in told)


def _told(item: Any) -> str:
    """Return the words of an item that replaces others."""
    parts = shapes.record(item).get("content")
    texts = [part.get("text") for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []
    return next((text for text in texts if isinstance(text, str)), "")


def _text_of(blocks: Blocks | str) -> str:
    first = blocks[0] if blocks else None
    return first.text if isinstance(first, Text) else ""


_TAKERS: dict[str, Callable[[_Rollout, RecordLine, Fields], None]] = {
    "session_meta": _Rollout._take_meta,
    "turn_context": _Rollout._take_context,
    "response_item": _Rollout._take_item,
    "compacted": _Rollout._take_summary,
    "event_msg": _Rollout._take_event,
}
