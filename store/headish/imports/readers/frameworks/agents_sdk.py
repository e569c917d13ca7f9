"""Sessions of the OpenAI Agents SDK: a SQLite database with an item of the Responses API in each row.

A session is a conversation, each item a turn. An ``AdvancedSQLiteSession`` says which rows make up each of its
branches; branches share the rows that they have in common. A program may name the tables as it likes, so they are
recognised by their columns. Items of an encrypted session are left out. The database does not say which branch a
program is on: the newest message has the bookmark.

Keys: ``openai-agents:SESSION:ROW``.

Source: openai/openai-agents-python 0.24.0, SQLiteSession and AdvancedSQLiteSession, read and run 2026-11-22.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from headish.errors import InvalidImport
from headish.imports.cleaning import NotJson, decode_noted
from headish.imports.drafting import read_native
from headish.imports.imported import make_key
from headish.imports.reader import ImportSource, SourceConversation, SourceMessage
from headish.imports.readers.shared import make
from headish.imports.readers.shared.databases import ForeignFile, TooLargeValue, opened
from headish.imports.readers.shared.json_records import load, utc
from headish.values import shapes
from headish.values.blocks import Text

FORMAT = "openai-agents"
MESSAGES = ("id", "session_id", "message_data")
_STRUCTURE = ("session_id", "message_id", "branch_id", "sequence_number")
_USAGE = (
    "branch_id", "user_turn_number", "input_tokens", "output_tokens", "input_tokens_details", "output_tokens_details",
)  # fmt: skip
_ENCRYPTED = "__enc__"
Row = Mapping[str, Any]


def read_conversations(given: ImportSource) -> Iterator[SourceConversation]:
    """Yield the sessions of a database, by their ids.

    Raises: InvalidImport for another database, and a damaged one.
    """
    with opened(given.path, given.name) as foreign:
        table = foreign.find(*MESSAGES)
        if table is None:
            raise InvalidImport(given.name, None, "it is a SQLite database, but holds no sessions of the Agents SDK")
        for (session,) in foreign.keys(table, "session_id"):
            if isinstance(session, str):
                yield _AgentsSession(given, foreign, table, session).conversation()
            else:
                given.notes.break_off(f"session {session!r:.80}", "its session_id is not text")


class _AgentsSession:
    def __init__(self, given: ImportSource, foreign: ForeignFile, table: str, id: str) -> None:
        self._given, self._foreign, self._table, self._id = given, foreign, table, id
        self._notes = given.notes
        self._title: str | None = None
        timed = foreign.has(table, "created_at")
        self._columns = ("message_data", "created_at") if timed else ("message_data",)

    def conversation(self) -> SourceConversation:
        """Return the session with its messages."""
        # The ids first, then one row at a time: a value that is too large costs only its row.
        rows = self._foreign.rows(self._table, ("id",), "id", session_id=self._id)
        numbers = list(dict.fromkeys(row["id"] for row in rows if isinstance(row["id"], int)))
        branches, turns = self._branches()
        placed = {number for branch in branches.values() for number in branch}
        loose = [number for number in numbers if number not in placed]
        readable = {number: node for number in numbers if (node := self._node(number)) is not None}
        nodes: dict[str, SourceMessage] = {}
        for name, listed in [*branches.items(), ("", loose)]:
            self._place(nodes, name, [number for number in listed if number in readable], readable)
        self._count(nodes, turns)
        return SourceConversation(
            format=FORMAT, id=self._id, title=self._title, tags=[FORMAT], messages=list(nodes.values())
        )

    def _branches(self) -> tuple[dict[str, list[int]], dict[tuple[str, int], int]]:
        """Return the rows of each branch in their order, and the row that ends each of its turns."""
        branches: dict[str, list[int]] = {}
        ends: dict[tuple[str, int], int] = {}
        if not self._foreign.has("message_structure", *_STRUCTURE, "user_turn_number"):
            return branches, ends
        columns = ("message_id", "branch_id", "user_turn_number")
        rows = self._foreign.rows("message_structure", columns, "sequence_number", "message_id", session_id=self._id)
        for row in rows:
            number, branch, turn = row["message_id"], row["branch_id"], row["user_turn_number"]
            if isinstance(number, int) and isinstance(branch, str):
                branches.setdefault(branch, []).append(number)
                if isinstance(turn, int):
                    ends[branch, turn] = number
        return branches, ends

    def _place(
        self, nodes: dict[str, SourceMessage], branch: str, listed: list[int], read: Mapping[int, SourceMessage]
    ) -> None:
        """Make the rows of a branch continue one another. A row that comes after another row in another branch is
        stored again."""
        before: str | None = None
        for number in listed:
            node, id = read[number], str(number)
            if id in nodes and nodes[id].parent != before:
                id = f"{number}@{branch}"
                node = replace(node, key=make_key(FORMAT, self._id, id))
            if id in nodes and nodes[id].parent != before:
                continue  # twice in one branch
            nodes.setdefault(id, replace(node, id=id, parent=before))
            before = id

    def _node(self, number: int) -> SourceMessage | None:
        where = f"session {self._id:.80}, row {number}"
        try:
            [row, *_] = self._foreign.rows(self._table, self._columns, id=number, session_id=self._id)
            data = row["message_data"]
            item = decode_noted(data if isinstance(data, bytes) else str(data).encode(), self._notes, where)
        except (NotJson, TooLargeValue, ValueError) as error:
            self._notes.break_off(where, str(error))
            return None
        if not isinstance(item, Mapping):
            self._notes.break_off(where, "an item is a JSON object")
            return None
        if _ENCRYPTED in item:
            self._notes.leave_out(where, "encrypted item")
            return None
        return self._read(item, number, row, where)

    def _read(self, item: Mapping[str, Any], number: int, row: Row, where: str) -> SourceMessage | None:
        entry = read_native("responses", item, self._notes, where)
        if entry is None:
            return None
        # An item that is neither a message nor a result is the model's, whatever role its form gives it.
        is_message = item.get("type", "message") == "message"
        role = entry.role if entry.role == "tool" or is_message else "assistant"
        if role == "user" and self._title is None and entry.blocks and isinstance(entry.blocks[0], Text):
            self._title = make.title(entry.blocks[0].text)
        return SourceMessage(
            id=None, role=role, content=entry.blocks, said_at=utc(row.get("created_at")), where=where, form=entry.form,
            key=make_key(FORMAT, self._id, str(number)), speaker=entry.speaker,
            meta={"item": dict(entry.rest)} if entry.rest else {},
            reply={"provider": "openai_responses"} if role == "assistant" else None,
        )  # fmt: skip

    def _count(self, nodes: dict[str, SourceMessage], ends: Mapping[tuple[str, int], int]) -> None:
        """Set the token counts of a turn, which are those of all its requests, on its last answer."""
        if not ends or not self._foreign.has("turn_usage", "session_id", *_USAGE):
            return
        for row in self._foreign.rows("turn_usage", _USAGE, "user_turn_number", session_id=self._id):
            id: str | None = str(ends.get((row["branch_id"], row["user_turn_number"])))
            while id in nodes and nodes[id].role not in ("assistant", "user"):
                id = nodes[id].parent
            node = nodes.get(id or "")
            if node is not None and node.reply is not None and "usage" not in node.reply:
                nodes[str(id)] = replace(node, reply={**node.reply, "usage": _usage(row)})


def _usage(row: Row) -> dict[str, int]:
    inside, outside = (shapes.record(load(row.get(f"{way}_tokens_details"))) for way in ("input", "output"))
    cached = inside.get("cached_tokens")
    counts = {
        "input_tokens": row["input_tokens"], "output_tokens": row["output_tokens"],
        "cache_read_input_tokens": cached if type(cached) is int else 0,
        "reasoning_tokens": outside.get("reasoning_tokens"),
    }  # fmt: skip
    return shapes.token_counts(counts)
