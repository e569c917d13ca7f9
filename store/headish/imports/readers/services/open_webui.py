"""Open WebUI: its export of chats (JSON), or its database ``webui.db``.

A chat is a map of messages, each with its parent; edits and regenerated answers are siblings, and ``currentId`` is what
the page shows. Older chats are a list. From a database, the chats of all users are read, and the user is kept with
each. Files of a chat come without their bytes, except images and texts in the chat itself.

Keys: ``open-webui:CHAT:MESSAGE``; for an answer that used tools, ``…/2`` and on for what followed the first call.

Source: open-webui 0.6 to 0.8, exports and the table ``chat`` as importers of others read them, 2026-11-22.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial as bind
from typing import Any

from headish.errors import InvalidImport
from headish.imports.cleaning import NotJson, decode
from headish.imports.imported import make_key
from headish.imports.reader import ImportSource, SourceConversation, SourceMessage
from headish.imports.readers.services.open_webui_content import EDITED, read_blocks
from headish.imports.readers.shared import make
from headish.imports.readers.shared.branching import cut
from headish.imports.readers.shared.databases import SQLITE, ForeignFile, TooLargeValue, opened
from headish.imports.readers.shared.json_records import milliseconds, read_values
from headish.imports.unpacking import peek
from headish.values import shapes

FORMAT = "open-webui"
TABLE = ("id", "user_id", "title", "chat")
_ROLES = ("user", "assistant", "system", "tool")
_ROW = ("created_at", "updated_at", "archived", "pinned", "folder_id", "share_id", "meta", "user_id")
_OWN = ("id", "parentId", "childrenIds", "role", "content", "output", "timestamp", "usage", "done", "lastSentence")
_FACTS = ("folder_id", "share_id", "user_id")


def read_conversations(given: ImportSource) -> Iterator[SourceConversation]:
    """Yield the chats of an export or of a database, one at a time.

    Raises: InvalidImport for a file that is neither, or is damaged.
    """
    records = _of_database(given) if peek(given.file, len(SQLITE)) == SQLITE else read_values(given)
    for where, record in records:
        chat = record.get("chat", record) if isinstance(record, Mapping) else None
        if isinstance(chat, Mapping) and {"history", "messages"} & chat.keys():
            yield _Chat(record, chat, where, given).conversation()
        else:
            given.notes.break_off(where, "a chat is an object with `chat`, and in it `history` or `messages`")


def _of_database(given: ImportSource) -> Iterator[tuple[str, Any]]:
    with opened(given.path, given.name) as foreign:
        table = foreign.find(*TABLE)
        if table is None:
            raise InvalidImport(given.name, None, "it is a SQLite database, but holds no chats of Open WebUI")
        # The ids first, then one row at a time: a chat may be large.
        for (id,) in foreign.keys(table, "id"):
            where = f"chat {id!s:.80}"
            try:
                yield where, _row(foreign, table, id)
            except (NotJson, TooLargeValue) as error:
                given.notes.break_off(where, str(error))


def _row(foreign: ForeignFile, table: str, id: Any) -> dict[str, Any]:
    columns = [*TABLE, *(column for column in _ROW if column in foreign.tables[table])]
    [row, *_] = foreign.rows(table, list(dict.fromkeys(columns)), id=id)
    return {column: _decoded(row[column]) if column in ("chat", "meta") else row[column] for column in row}


def _decoded(value: Any) -> Any:
    if isinstance(value, str | bytes):
        return decode(value.encode() if isinstance(value, str) else value)[0]
    return value


class _Chat:
    def __init__(self, record: Mapping[str, Any], chat: Mapping[str, Any], where: str, given: ImportSource) -> None:
        self._record, self._chat, self._where, self._given = record, chat, where, given
        self._id = shapes.name(record.get("id") or chat.get("id"))
        self._key = bind(make_key, FORMAT, self._id)

    def conversation(self) -> SourceConversation:
        """Return the chat with its messages."""
        history = shapes.record(self._chat.get("history"))
        mapped = history.get("messages")
        if not isinstance(mapped, Mapping | None):
            self._given.notes.break_off(self._where, "the `messages` of a `history` are an object")
        # A newer chat has both. Its list is only the branch that the page shows.
        nodes = self._mapped(mapped) if isinstance(mapped, Mapping) and mapped else self._listed()
        title = self._record.get("title") or self._chat.get("title")
        tip = history.get("currentId")
        facts = {key: self._record[key] for key in _FACTS if self._record.get(key) is not None}
        rest = {key: self._chat[key] for key in ("models", "params", "files") if self._chat.get(key)}
        return SourceConversation(
            format=FORMAT, id=self._id, title=title if isinstance(title, str) else None,
            tip=tip if isinstance(tip, str) else None, tags=[FORMAT, *self._tags()],
            archived=_is(self._record.get("archived")), pinned=_is(self._record.get("pinned")),
            app={FORMAT: {**rest, **facts}} if rest or facts else {}, messages=nodes, edits=True,
        )  # fmt: skip

    def _tags(self) -> list[str]:
        meta = self._record.get("meta")
        listed = [shapes.record(meta).get("tags"), self._chat.get("tags")]
        named = [tag.get("name") if isinstance(tag, Mapping) else tag for tags in listed for tag in shapes.listed(tags)]
        return [tag for tag in named if isinstance(tag, str)]

    def _mapped(self, mapped: Mapping[str, Any]) -> list[SourceMessage]:
        nodes: list[SourceMessage] = []
        for id, message in mapped.items():
            parent = shapes.record(message).get("parentId")
            nodes += self._nodes(str(id), parent if isinstance(parent, str) else None, message)
        return nodes

    def _listed(self) -> list[SourceMessage]:
        """Return the messages of an older chat: each continues the one before it."""
        nodes: list[SourceMessage] = []
        last: str | None = None
        for number, message in enumerate(shapes.listed(self._chat.get("messages")), 1):
            id = shapes.record(message).get("id")
            id = id if isinstance(id, str) and id else f"message {number}"
            nodes += self._nodes(id, last, message)
            last = id
        return nodes

    def _nodes(self, id: str, parent: str | None, message: Any) -> list[SourceMessage]:
        where = f"{self._where}, message {id:.80}"
        if not isinstance(message, Mapping) or message.get("role") not in _ROLES:
            self._given.notes.break_off(where, f"a message is an object whose role is one of {', '.join(_ROLES)}")
            return [SourceMessage(id=id, parent=parent)]
        blocks, unread = read_blocks(message)
        for what in unread:
            self._given.notes.keep(where, what)
        rest = {"output": message["output"]} if EDITED in unread else {}
        if not blocks:
            self._given.notes.leave_out(where, "empty message")
        node = SourceMessage(
            id=id, parent=parent, role=message["role"], said_at=milliseconds(message.get("timestamp")), where=where,
            key=self._key(id), meta={**_meta(message), **rest},
            reply=_reply(message) if message["role"] == "assistant" else None,
        )  # fmt: skip
        return cut(node, blocks, self._key)


def _meta(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the blocks do not say; files are blocks already."""
    rest = shapes.rest(message, _OWN, "", False)
    if message.get("done") is False:
        rest["done"] = False
    # The reply has the model already.
    if isinstance(message.get("model"), str) and message["role"] == "assistant":
        rest.pop("model", None)
    if all(isinstance(file, Mapping) for file in shapes.listed(rest.get("files"))):
        rest.pop("files", None)
    return rest


def _reply(message: Mapping[str, Any]) -> dict[str, Any]:
    model, usage = message.get("model"), message.get("usage")
    usage = shapes.record(usage)
    # Counts come under the names of whatever answered: ``prompt_tokens`` is OpenAI's, ``prompt_eval_count`` Ollama's.
    counts = {
        "input_tokens": usage.get("prompt_tokens", usage.get("input_tokens", usage.get("prompt_eval_count"))),
        "output_tokens": usage.get("completion_tokens", usage.get("output_tokens", usage.get("eval_count"))),
    }
    return make.reply(FORMAT, shapes.token_counts(counts, cached_inside=False), model=model)


def _is(value: Any) -> bool:
    # An export has booleans, the database numbers.
    return value is True or value == 1
