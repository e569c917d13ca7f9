"""LibreChat's export of a conversation as JSON: a list of messages with their parents, or a tree of them.

``messages`` is a flat list; a ``recursive`` export nests messages by ``children``, under ``messages`` or
``messagesTree``. ``promptPrefix`` holds the instructions of all branches: a system turn before them. The export does
not say which branch the page shows: the newest message has the bookmark. What a user typed while an answer was written
is a part of that answer. Files come without their bytes.

Keys: ``librechat:CONVERSATION:MESSAGE``; for an answer that used tools, ``…/2`` and on.

Source: danny-avila/LibreChat, test data of its importers, and exports of 2024, read 2026-11-22;
librechat-data-provider 0.8.524, read 2026-11-28.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial as bind
from typing import Any

from msgspec.structs import replace

from headish.imports.imported import make_key
from headish.imports.reader import ImportSource, SourceConversation, SourceMessage
from headish.imports.readers.shared import make
from headish.imports.readers.shared.branching import Aside, cut
from headish.imports.readers.shared.json_records import milliseconds, read_values
from headish.imports.readers.shared.make import Block
from headish.values import shapes

FORMAT = "librechat"
_THOUGHT = re.compile(r"\s*:::thinking\b(.*?):::", re.S)
"""How an answer that is only a text begins with reasoning."""
# The parent that LibreChat gives to first messages.
_ROOT = "00000000-0000-0000-0000-000000000000"
_SYSTEM = "system"
_OWN = (
    "messageId", "parentMessageId", "children", "text", "content", "createdAt", "isCreatedByUser", "conversationId",
    "sender", "model", "depth", "siblingIndex", "_id", "__v", "user", "updatedAt", "finish_reason", "files",
    "attachments",
)  # fmt: skip
_TALK = ("messages", "messagesTree", "conversationId", "title", "branches", "recursive", "tags")


def read_conversations(given: ImportSource) -> Iterator[SourceConversation]:
    """Yield the conversations of a file, mostly one. Raises: InvalidImport for a file that is not JSON."""
    for where, record in read_values(given):
        listed = shapes.first(shapes.record(record), ("messagesTree", "messages"), list)
        if listed is None:
            given.notes.break_off(where, "a conversation is an object with `messages` or `messagesTree`")
            continue
        yield _LibreChatConversation(record, where, given).conversation(listed)


class _LibreChatConversation:
    def __init__(self, record: Mapping[str, Any], where: str, given: ImportSource) -> None:
        self._record, self._where, self._given, self._notes = record, where, given, given.notes
        self._options: Mapping[str, Any] = shapes.record(record.get("options"))
        self._id = shapes.name(record.get("conversationId"))
        self._key = bind(make_key, FORMAT, self._id)

    def conversation(self, listed: list[Any]) -> SourceConversation:
        """Return the conversation with its messages."""
        system = self._options.get("promptPrefix")
        nodes: list[SourceMessage] = []
        if isinstance(system, str) and system:
            nodes.append(SourceMessage(id=_SYSTEM, role="system", content=[make.text(system)], key=self._key(_SYSTEM)))
        for number, (message, parent) in enumerate(_flat(listed), 1):
            nodes += self._nodes(message, parent, number)
        ids = {node.id for node in nodes}
        root = _SYSTEM if _SYSTEM in ids else None
        # Messages whose parent is missing continue the instructions, as all branches do.
        placed = [
            replace(node, parent=root) if node.parent not in ids and node.id != _SYSTEM else node for node in nodes
        ]
        title, tags = self._record.get("title"), self._record.get("tags")
        app = shapes.rest(self._record, _TALK, "")
        return SourceConversation(
            format=FORMAT, id=self._id, title=title if isinstance(title, str) else None,
            tags=[FORMAT, *(tag for tag in shapes.listed(tags) if isinstance(tag, str))],
            app={FORMAT: app} if app else {}, messages=placed, edits=True,
        )  # fmt: skip

    def _nodes(self, message: Any, above: str | None, number: int) -> list[SourceMessage]:
        where = f"{self._where}, message {number}"
        if not isinstance(message, Mapping):
            self._notes.break_off(where, "a message is an object")
            return []
        id = shapes.name(message.get("messageId")) or f"message {number}"
        parent = shapes.name(message.get("parentMessageId")) or above
        role = "user" if message.get("isCreatedByUser") is True else "assistant"
        if not isinstance(message.get("children"), list | None):
            self._notes.break_off(where, "the `children` of a message are a list")
        blocks = self._blocks(message, where)
        if not blocks:
            self._notes.leave_out(where, "empty message")
        meta = shapes.rest(message, _OWN, "", False)
        meta |= {"sender": message["sender"]} if message.get("sender") not in (None, "User") and role == "user" else {}
        node = SourceMessage(
            id=id, parent=None if parent == _ROOT else parent, role=role, where=where, meta=meta, key=self._key(id),
            said_at=milliseconds(message.get("createdAt")), reply=self._reply(message) if role == "assistant" else None,
        )  # fmt: skip
        return cut(node, blocks, self._key)

    def _blocks(self, message: Mapping[str, Any], where: str) -> Sequence[Block | Aside]:
        content, text = message.get("content"), message.get("text")
        files = [*shapes.listed(message.get("files")), *shapes.listed(message.get("attachments"))]
        held = (each if isinstance(each, Mapping) else {"value": each} for each in files)
        kept = [make.own(FORMAT, {"type": "file", **each}) for each in held]
        for _ in kept:
            self._notes.keep(where, "file without its bytes")
        blocks = [block for part in shapes.listed(content) for block in self._part(part, where)]
        # Older messages have only a text.
        thought = _THOUGHT.match(text) if isinstance(text, str) and message.get("isCreatedByUser") is not True else None
        if not blocks and thought is not None:
            said = message["text"][thought.end() :].strip()
            blocks = [make.thinking(thought[1].strip(), FORMAT), *make.texts(said)]
        elif not blocks and text:
            blocks = [*self._part({"type": "text", "text": text}, where)]
        return [*kept, *blocks]

    def _part(self, part: Any, where: str) -> Sequence[Block | Aside]:
        kind = shapes.record(part).get("type")
        held = part.get(kind) if isinstance(kind, str) else None
        value = held.get("value") if isinstance(held, Mapping) else held
        if kind == "text" and isinstance(value, str | None):
            return make.texts(value)
        if kind == "think" and isinstance(value, str):
            return [make.thinking(value, FORMAT)] if value else []
        if kind == "steer" and isinstance(held, str):
            rest = {key: value for key, value in part.items() if key not in ("type", "steer") and value}
            return [Aside([{**make.text(held), **({"opaque": {FORMAT: rest}} if rest else {})}])]
        if kind == "tool_call" and isinstance(held, Mapping):
            return _call(held)
        url = held.get("url") if isinstance(held, Mapping) else held
        if kind == "image_url" and isinstance(url, str):
            return [make.document(make.url(url, "image/*"))]
        self._notes.keep(where, f"part of type {kind!s:.60}")
        return [make.own(FORMAT, part)]

    def _reply(self, message: Mapping[str, Any]) -> dict[str, Any]:
        model = shapes.name(message.get("model")) or shapes.name(self._options.get("model"))
        endpoint = shapes.name(message.get("endpoint")) or shapes.name(self._record.get("endpoint"))
        stop = shapes.name(message.get("finish_reason"))
        return make.reply(endpoint or FORMAT, model=model, stop=stop)


def _flat(listed: list[Any]) -> Iterator[tuple[Any, str | None]]:
    """Yield the messages, each with the message that it is nested in, parents first."""
    # A stack, because trees may be nested deeper than Python recurses.
    waiting: list[tuple[Any, str | None]] = [(each, None) for each in reversed(listed)]
    while waiting:
        message, above = waiting.pop()
        yield message, above
        children = shapes.record(message).get("children")
        if isinstance(children, list):
            waiting += [(child, shapes.name(message.get("messageId"))) for child in reversed(children)]


def _call(call: Mapping[str, Any]) -> list[Block]:
    """Make a call, and its result if it has one. Older ones nest a function of OpenAI's assistants."""
    function = call.get("function")
    inner: Mapping[str, Any] = function if isinstance(function, Mapping) else call
    name, given, output = inner.get("name"), inner.get("args", inner.get("arguments")), inner.get("output")
    id = shapes.name(call.get("id"))
    blocks = [make.call(name, id, None if given == "" else given)]
    if output:
        said = make.text(output) if isinstance(output, str) else make.own(FORMAT, output)
        blocks.append(make.result(id, name, [said]))
    return blocks
