"""LangGraph's checkpoints: a SQLite database that ``SqliteSaver`` writes, with the whole state of a graph at each step.

A thread is a conversation. Each checkpoint holds the list of messages as it was then: what the lists have in common is
one path, and where a thread was forked, edited or cut, a branch begins. A channel is one of messages if its value is a
list that holds one; each such channel, and each namespace of a subgraph, is a conversation of its own. The newest
checkpoint has the bookmark. What the other channels held last is kept with the conversation, as data.

Keys: ``langgraph:THREAD:MESSAGE``; in a namespace or in another channel than ``messages``,
``langgraph:THREAD/NAMESPACE#CHANNEL:MESSAGE``.

Source: langgraph-checkpoint-sqlite 3.1.2, read and run 2026-11-22.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headish.errors import InvalidImport
from headish.imports.building import Node, Talk, build_tree
from headish.imports.imported import ImportedTree, make_key
from headish.imports.readers.frameworks.langchain_messages import kind_of_message, make_node
from headish.imports.readers.frameworks.langgraph_values import Revivable, Unreadable, plain, read_value
from headish.imports.readers.shared.databases import Foreign, TooLargeValue, opened
from headish.imports.readers.shared.paths import Paths, fingerprint
from headish.imports.sources import Given
from headish.values.blocks import Text

FORMAT = "langgraph"
TABLE = ("thread_id", "checkpoint_ns", "checkpoint_id", "checkpoint", "type")
USUAL = "messages"
_TITLE_CHARACTERS = 200


def read_conversations(given: Given) -> Iterator[ImportedTree]:
    """The threads of a database, by their ids.

    Raises: InvalidImport for another database, and a damaged one.
    """
    with opened(given.path, given.name) as foreign:
        table = foreign.find(*TABLE)
        if table is None:
            raise InvalidImport(given.name, None, "it is a SQLite database, but holds no checkpoints of LangGraph")
        for thread, namespace in foreign.keys(table, "thread_id", "checkpoint_ns"):
            if isinstance(thread, str) and isinstance(namespace, str):
                yield from _Thread(given, foreign, table, thread, namespace).trees()
            else:
                given.notes.break_off(f"thread {thread!r:.80}", "its id is no text")


class _Thread:
    """One namespace of a thread: its checkpoints are read one by one, the oldest first."""

    def __init__(self, given: Given, foreign: Foreign, table: str, thread: str, namespace: str) -> None:
        self._given, self._foreign, self._table = given, foreign, table
        self._thread, self._namespace, self._notes = thread, namespace, given.notes
        self._channels: dict[str, _Channel] = {}
        self._values: Mapping[str, Any] = {}

    def trees(self) -> Iterator[ImportedTree]:
        """A conversation for each channel of messages."""
        place = {"thread_id": self._thread, "checkpoint_ns": self._namespace}
        for row in self._foreign.rows(self._table, ("checkpoint_id",), "checkpoint_id", **place):
            self._take(row["checkpoint_id"])
        if not self._channels:
            self._notes.leave_out(f"thread {self._thread:.80}", "thread without messages")
        for channel in self._channels.values():
            tree = build_tree(
                channel.talk(self._thread, self._namespace, self._others()), channel.paths.nodes, self._notes,
                self._given.limit_bytes,
            )  # fmt: skip
            if tree is not None:
                yield tree

    def _take(self, id: Any) -> None:
        where = f"thread {self._thread:.80}, checkpoint {id!s:.80}"
        try:
            value = self._read(id)
        except (Unreadable, TooLargeValue) as error:
            self._notes.break_off(where, str(error))
            return
        values = value.get("channel_values") if isinstance(value, Mapping) else None
        if not isinstance(values, Mapping):
            self._notes.break_off(where, "a checkpoint has `channel_values`")
            return
        self._values = values
        for name, held in values.items():
            if isinstance(held, Revivable) and held.name == "DeltaSnapshot":
                self._notes.leave_out(where, "snapshot of a delta channel")
            if isinstance(name, str) and isinstance(held, list) and any(_as_message(each) for each in held):
                known = self._channels.setdefault(name, _Channel(self._owner(name), self._given))
                known.follow(held, value.get("ts"), where)

    def _read(self, id: Any) -> Any:
        place = {"thread_id": self._thread, "checkpoint_ns": self._namespace, "checkpoint_id": id}
        [row, *_] = self._foreign.rows(self._table, ("type", "checkpoint"), **place)
        return read_value(row["type"], row["checkpoint"])

    def _owner(self, channel: str) -> str:
        place = f"{self._thread}/{self._namespace}" if self._namespace else self._thread
        return place if channel == USUAL else f"{place}#{channel}"

    def _others(self) -> dict[str, Any]:
        """What the channels without messages held last."""
        rest = {
            str(name): plain(value)
            for name, value in self._values.items()
            if name not in self._channels and value not in (None, [], {})
        }
        for name in rest:
            self._notes.keep(f"thread {self._thread:.80}", f"channel {name:.80}")
        return rest


class _Channel:
    def __init__(self, owner: str, given: Given) -> None:
        self._owner, self._given, self._notes = owner, given, given.notes
        self.paths = Paths()
        self._tip: str | None = None
        self._title: str | None = None

    def follow(self, held: list[Any], time: Any, where: str) -> None:
        """Follow a list of messages. One that ends where the last one ended, or before it, says nothing new."""
        last: str | None = None
        for each in held:
            found = _as_message(each)
            if found is None:
                self._notes.leave_out(where, "value among messages that is none")
                continue
            kind, fields = found
            said = {key: value for key, value in fields.items() if key not in ("usage_metadata", "response_metadata")}
            last = self.paths.follow(last, fingerprint(plain(said)), lambda: self._nodes(kind, fields, time, where))  # noqa: B023, run at once
        self._tip = last

    def _nodes(self, kind: str, fields: Mapping[str, Any], time: Any, where: str) -> Iterator[Node]:
        id = fields.get("id")
        key = make_key(FORMAT, self._owner, id) if isinstance(id, str) else None
        said = {name: plain(value) if name != "content" else _unrevived(value) for name, value in fields.items()}
        node = make_node(kind, said, key, self._notes, where, said_at=time)
        if node is None:
            return
        first = node.content[0] if node.content and node.role == "user" else None
        if self._title is None and isinstance(first, Text):
            self._title = first.text.strip().split("\n", 1)[0][:_TITLE_CHARACTERS]
        yield node

    def talk(self, thread: str, namespace: str, others: Mapping[str, Any]) -> Talk:
        """What is said of the conversation."""
        tags = [FORMAT, *(["subgraph"] if namespace else [])]
        app = {"thread": thread, **({"values": others} if others else {})}
        return Talk(format=FORMAT, id=self._owner, title=self._title, tip=self._tip, tags=tags, app={FORMAT: app})


def _as_message(value: Any) -> tuple[str, Mapping[str, Any]] | None:
    """The kind and the fields of a message."""
    if isinstance(value, Revivable) and isinstance(value.value, Mapping):
        fields = value.value
        if "data" in fields and isinstance(fields["data"], Mapping):
            fields = fields["data"]
        kind = kind_of_message(value.name, fields) if "langchain" in value.module else None
        return None if kind is None else (kind, fields)
    return None


def _unrevived(content: Any) -> Any:
    return content if isinstance(content, str) else plain(content)
