"""ChatGPT's export: a ZIP with ``conversations.json`` (or several, ``conversations-000.json`` …), or that file alone.

A conversation is a ``mapping`` of nodes, each with its parent; edits and regenerated answers are siblings, and
``current_node`` is what the page shows. A call has no id: a tool's message answers the call that it continues, and
takes the id of that message. Files in the ZIP that a message points at become documents; a pointer without its file is
kept. What a model says in the channel ``analysis`` is reasoning. What the page hides, or what has weight 0, is stored
hidden (``attributes.hidden``).

Keys: ``chatgpt:CONVERSATION:MESSAGE``.

Source: specifications and forensic tools of others, read 2026-11-21.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headish.imports.building import build_tree
from headish.imports.detection import open_exports
from headish.imports.imported import ImportedTree, make_key
from headish.imports.notes import ImportNotes
from headish.imports.reader import ImportSource, SourceConversation, SourceMessage
from headish.imports.readers.exports.chatgpt_content import OPENAI, Assets, read_content
from headish.imports.readers.shared import make
from headish.imports.readers.shared.json_arrays import read_items
from headish.imports.readers.shared.make import Block
from headish.values import shapes

FORMAT = "chatgpt"
_ROLES = ("system", "developer", "user", "assistant", "tool")
_OWN = ("id", "content", "create_time")
_TALK = ("mapping", "title", "current_node", "id", "conversation_id", "create_time", "update_time", "is_archived")


def read_conversations(given: ImportSource) -> Iterator[ImportedTree]:
    """Yield the conversations of an export, one at a time.

    Raises: InvalidImport for an archive or JSON that cannot be read.
    """
    for inner, archive in open_exports(given):
        assets = Assets(archive, given.limit_bytes)
        for where, record in read_items(inner, known=inner.remember(archive)):
            mapping = shapes.record(record).get("mapping")
            if isinstance(mapping, dict):
                talk = _ChatGPTConversation(record, mapping, where, inner.notes, assets)
                yield from inner.met(talk.tree(given.limit_bytes))
            else:
                inner.notes.break_off(where, "a conversation is an object with a `mapping`")


class _ChatGPTConversation:
    def __init__(
        self, record: Mapping[str, Any], mapping: Mapping[str, Any], where: str, notes: ImportNotes, assets: Assets
    ) -> None:
        self._record, self._mapping, self._where = record, mapping, where
        self._notes, self._assets = notes, assets
        self._calls: dict[str, str | None] = {}
        self._id = shapes.first(record, ("conversation_id", "id"), str)

    def tree(self, limit_bytes: int) -> ImportedTree | None:
        """Return the conversation as drafts."""
        record = self._record
        title, tip = record.get("title"), record.get("current_node")
        app = shapes.rest(record, _TALK)
        gizmo = record.get("gizmo_id")
        talk = SourceConversation(
            format=FORMAT, id=self._id, title=title if isinstance(title, str) else None,
            tip=tip if isinstance(tip, str) else None, tags=[FORMAT, *([gizmo] if isinstance(gizmo, str) else [])],
            archived=record.get("is_archived") is True, pinned=record.get("is_starred") is True,
            app={FORMAT: app} if app else {}, edits=True,
            messages=[self._node(str(id), node) for id, node in self._mapping.items()],
        )  # fmt: skip
        return build_tree(talk, self._notes, limit_bytes)

    def _node(self, id: str, node: Any) -> SourceMessage:
        where = f"{self._where}, message {id}"
        if not isinstance(node, dict):
            self._notes.break_off(where, "a node is an object")
            return SourceMessage(id=id)
        parent, message = node.get("parent"), node.get("message")
        parent = parent if isinstance(parent, str) else None
        if not isinstance(message, dict):
            if message is not None:
                self._notes.break_off(where, "a message is an object")
            return SourceMessage(id=id, parent=parent)
        role, name = _author(message)
        content = message.get("content")
        self._assets.begin(message)
        blocks, rest = read_content(shapes.record(content), self._assets)
        if not isinstance(content, dict):
            self._notes.break_off(where, "a message has a `content`")
            return SourceMessage(id=id, parent=parent)
        blocks += self._attached(message, blocks)
        if not blocks:
            self._notes.leave_out(where, "empty message")
            return SourceMessage(id=id, parent=parent)
        meta = shapes.rest(message, _OWN)
        if rest:
            meta["content"] = rest
            self._notes.keep(where, f"content of type {content.get('content_type')}")
        recipient = message.get("recipient")
        if role == "tool":
            blocks = [make.result(self._call_of(parent), name or None, blocks)]
        elif role == "assistant" and isinstance(recipient, str) and recipient != "all":
            blocks = _as_call(blocks, recipient, id, content)
        elif role == "assistant" and message.get("channel") == "analysis":
            blocks = [make.thinking(each["text"], OPENAI) if each["type"] == "text" else each for each in blocks]
        return SourceMessage(
            id=id, parent=parent, role=role, content=blocks, said_at=_milliseconds(message.get("create_time")),
            key=make_key(FORMAT, self._id, id), meta={"message_id": id, **meta}, hidden=_hidden(message), where=where,
            reply=_reply(message) if role == "assistant" else None,
        )  # fmt: skip

    def _attached(self, message: Mapping[str, Any], blocks: list[Block]) -> list[Block]:
        """Return the files that a message was sent with, if they are in the archive and the content does not show
        them."""
        listed = map(shapes.record, shapes.listed(shapes.record(message.get("metadata")).get("attachments")))
        shown = {block.get("asset") for block in blocks}
        files = [each for each in listed if isinstance(each.get("id"), str) and each["id"] not in shown]
        found = (self._assets.document(each["id"], shapes.name(each.get("name"))) for each in files)
        return [block for block in found if block is not None]

    def _call_of(self, parent: str | None) -> str | None:
        """Return the call that a tool's message answers: the first call among its ancestors, past other results.

        The result is kept for each message on the way, which may be as long as the conversation.
        """
        way: dict[str, None] = {}
        call: str | None = None
        while parent is not None and parent not in way:
            if parent in self._calls:
                call = self._calls[parent]
                break
            way[parent] = None
            node = self._mapping.get(parent)
            message = shapes.record(node).get("message")
            role = None
            if isinstance(message, dict):
                role, _name = _author(message)
                if role == "assistant" and message.get("recipient") not in (None, "all"):
                    call = parent
            # A result never answers a call from before the user's words.
            if role == "user" or call is not None or not isinstance(node, dict):
                break
            parent = node.get("parent") if isinstance(node.get("parent"), str) else None
        self._calls.update(dict.fromkeys(way, call))
        return call


def _author(message: Mapping[str, Any]) -> tuple[str, str | None]:
    author = shapes.record(message.get("author"))
    role, name = author.get("role"), author.get("name")
    return (role if role in _ROLES else "user"), (name if isinstance(name, str) else None)


def _as_call(blocks: list[Block], recipient: str, id: str, said: Mapping[str, Any]) -> list[Block]:
    """Make a call of a message to a tool; its text is the arguments: JSON, or a text in some language."""
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    text = "\n".join(texts)
    rest = [block for block in blocks if block["type"] != "text"]
    call: Block = {"type": "tool_use", "name": recipient, "id": id}
    # Kept byte for byte: it may not be valid JSON.
    if text[:1] in ("{", "["):
        return [*rest, {**call, "raw": text}]
    language = said.get("language")
    spoken = {"language": language} if isinstance(language, str) and language != "unknown" else {}
    return [*rest, {**call, "input": {**spoken, "text": text}}]


def _reply(message: Mapping[str, Any]) -> dict[str, Any]:
    details = shapes.record(message.get("metadata"))
    model, finish = details.get("model_slug"), details.get("finish_details")
    stop = shapes.record(finish).get("type")
    return make.reply("openai", model=model, stop=stop)


def _hidden(message: Mapping[str, Any]) -> str | None:
    """Return from whom the source hides a message: people, who do not see it on the page, or the model, which did not
    get a message of weight 0."""
    details = message.get("metadata")
    unseen = isinstance(details, dict) and details.get("is_visually_hidden_from_conversation") is True
    weight = message.get("weight")
    unsent = isinstance(weight, int | float) and weight == 0
    return "both" if unseen and unsent else "people" if unseen else "model" if unsent else None


def _milliseconds(seconds: Any) -> Any:
    """Convert Unix seconds to milliseconds; return anything else unchanged, to be left out and counted."""
    # Larger numbers are not times, and may not fit the column of one.
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool) and abs(seconds) < 1e12
    return round(seconds * 1000) if is_number else seconds
