"""Claude.ai's export: a ZIP with ``conversations.json``, or that file alone, or one conversation of its web API.

``content`` is read; ``text``, which leaves tools out, only if there is no content. Newer exports name the parent of
each message; in older ones each message continues the one before it. Text that was extracted from an attachment becomes
a document; other files come without their bytes, so only their names are kept. The official export names neither the
model nor the branch that the page shows: then the newest message gets the name.

Keys: ``claude:CONVERSATION:MESSAGE``.

Source: viewers and importers of others, read 2026-11-21.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from headish.content.media import guess_media_type
from headish.imports.building import build_tree
from headish.imports.detection import open_exports
from headish.imports.drafting import read_native
from headish.imports.imported import ImportedTree, make_key
from headish.imports.notes import ImportNotes
from headish.imports.reader import ImportSource, SourceConversation, SourceMessage
from headish.imports.readers.shared import make
from headish.imports.readers.shared.branching import cut
from headish.imports.readers.shared.json_arrays import read_items
from headish.imports.readers.shared.make import Block
from headish.values import shapes
from headish.values.blocks import ContentBlock, ToolResult

FORMAT, ANTHROPIC = "claude", "anthropic"
_ROLES = {"human": "user", "assistant": "assistant"}
# The parent that Claude.ai gives to first messages.
_ROOT = "00000000-0000-4000-8000-000000000000"
_OWN = ("text", "content", "sender", "parent_message_uuid", "created_at", "attachments")
_TALK = ("uuid", "name", "chat_messages", "messages", "current_leaf_message_uuid", "created_at", "updated_at")


def read_conversations(given: ImportSource) -> Iterator[ImportedTree]:
    """Yield the conversations of an export, one at a time.

    Raises: InvalidImport for an archive or JSON that cannot be read.
    """
    for inner, archive in open_exports(given):
        for where, record in read_items(inner, known=inner.remember(archive)):
            messages = record.get("chat_messages", record.get("messages")) if isinstance(record, Mapping) else None
            if isinstance(messages, list):
                talk = _talk(record, _nodes(record, messages, where, inner.notes))
                yield from inner.met(build_tree(talk, inner.notes, given.limit_bytes))
            else:
                inner.notes.break_off(where, "a conversation is an object with `chat_messages`")


def _talk(record: Mapping[str, Any], messages: Sequence[SourceMessage]) -> SourceConversation:
    tip, project = record.get("current_leaf_message_uuid"), record.get("project_uuid")
    app = shapes.rest(record, _TALK, "")
    return SourceConversation(
        format=FORMAT, id=shapes.name(record.get("uuid")), title=shapes.name(record.get("name")), tip=shapes.name(tip),
        tags=[FORMAT, *([project] if isinstance(project, str) else [])], pinned=record.get("is_starred") is True,
        app={FORMAT: app} if app else {}, edits=True, messages=messages,
    )  # fmt: skip


def _nodes(record: Mapping[str, Any], messages: Sequence[Any], where: str, notes: ImportNotes) -> list[SourceMessage]:
    nodes: list[SourceMessage] = []
    has_parents = any(isinstance(each, Mapping) and "parent_message_uuid" in each for each in messages)
    last: str | None = None
    for number, message in enumerate(messages, 1):
        place = f"{where}, message {number}"
        role = _ROLES.get(str(message.get("sender"))) if isinstance(message, Mapping) else None
        if role is None:
            notes.break_off(place, "a message is an object whose sender is human or assistant")
            if isinstance(message, Mapping):  # what continues it continues the message before it
                above = shapes.name(message.get("parent_message_uuid"))
                nodes.append(SourceMessage(id=shapes.name(message.get("uuid")), parent=above))
            continue
        id = shapes.name(message.get("uuid")) or f"message {number}"
        parent = shapes.name(message.get("parent_message_uuid")) if has_parents else last
        last = id
        files, parts = _files(message), _parts(message)
        if not files and not parts:
            notes.leave_out(place, "empty message")
        node = SourceMessage(
            id=id, parent=None if parent == _ROOT else parent, role=role, content=[*files, *parts] or None,
            said_at=message.get("created_at"), meta=shapes.rest(message, _OWN), where=place,
            reply=_reply(record, message) if role == "assistant" else None,
        )  # fmt: skip
        pieces = _pieces(node, record.get("uuid"), message.get("uuid"))
        nodes += [_read(piece, 0 if at else len(files), notes) for at, piece in enumerate(pieces)]
    return nodes


def _pieces(node: SourceMessage, conversation: Any, uuid: Any) -> list[SourceMessage]:
    """Split an answer, which holds the results of its calls; each run of them becomes a tool's turn."""

    def key_of(id: str) -> str | None:
        return make_key(FORMAT, conversation, id) if shapes.name(uuid) else None

    node = replace(node, key=make_key(FORMAT, conversation, uuid))
    return cut(node, node.content or (), key_of, {"uuid": uuid}) if node.role == "assistant" else [node]


def _read(piece: SourceMessage, files: int, notes: ImportNotes) -> SourceMessage:
    """Return a piece with headish's own blocks. The first of its parts are ``files``, which are blocks already."""
    run = list(piece.content or ())
    if files == len(run):
        return piece
    entry = {"role": "assistant" if piece.role == "assistant" else "user", "content": run[files:]}
    message = read_native(ANTHROPIC, entry, notes, piece.where)
    if message is None:
        return replace(piece, content=None)
    blocks = [_named(block) for block in message.blocks]
    # With files before them, the blocks no longer are the message that the form describes.
    return replace(piece, content=[*run[:files], *blocks], form=None if files else message.form)


def _named(block: ContentBlock) -> ContentBlock:
    """Set the name of a result's tool: the export has it, Anthropic's API does not."""
    name = block.opaque.get(ANTHROPIC, {}).get("name") if isinstance(block, ToolResult) else None
    return replace(block, name=name) if isinstance(name, str) else block


def _files(message: Mapping[str, Any]) -> list[Block]:
    attached = message.get("attachments")
    listed = attached if isinstance(attached, list) else [] if attached is None else [attached]
    return [_document(each) if isinstance(each, Mapping) else make.own(ANTHROPIC, each) for each in listed]


def _parts(message: Mapping[str, Any]) -> list[Any]:
    """Return what a message says, as blocks of Anthropic's, without empty texts."""
    for content in (message.get("content"), message.get("text")):
        parts = make.texts(content) if isinstance(content, str) else shapes.listed(content)
        found = [part for part in parts if part and not (isinstance(part, Mapping) and part.get("text") == "")]
        if found:
            return found
    return []


def _document(file: Mapping[str, Any]) -> Block:
    """Convert an attachment: the text that was extracted from it, and what else the export says of it."""
    name, text = shapes.name(file.get("file_name")), file.get("extracted_content")
    if not isinstance(text, str):
        return make.own(ANTHROPIC, file)
    data = text.encode()
    guessed = guess_media_type(data, name)
    # The name says PDF, but the bytes are its text.
    is_text = guessed.startswith("text/") or guessed.endswith(("json", "xml", "yaml"))
    document = make.document(make.base64(guessed if is_text else "text/plain", data), name)
    rest = {key: value for key, value in file.items() if key not in ("file_name", "extracted_content")}
    return {**document, **({"file": rest} if rest else {})}


def _reply(record: Mapping[str, Any], message: Mapping[str, Any]) -> dict[str, Any]:
    model = next((each["model"] for each in (message, record) if isinstance(each.get("model"), str)), None)
    return make.reply(ANTHROPIC, model=model or None)
