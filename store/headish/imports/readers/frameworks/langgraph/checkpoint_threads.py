"""LangGraph's checkpoints: a database that ``SqliteSaver`` or ``PostgresSaver`` writes, with the state of a graph at
each step.

A thread is a conversation. Each checkpoint has the whole list of messages at that time: what the lists have in common
is one path, and a branch begins where a thread was forked, edited or cut. A channel is one of messages if its value is
a list with a message in it; each such channel, and each namespace of a subgraph, is a conversation of its own. The
newest checkpoint has the bookmark. The last values of the other channels are kept with the conversation, as data.

What tasks wrote after a checkpoint that nothing follows is pending: the graph takes it in when it goes on, in an order
that is not known before. It is kept with the conversation, as data; a message in it becomes a turn as soon as a
checkpoint holds it.

Keys: ``langgraph:THREAD:MESSAGE``; in a namespace or in another channel than ``messages``,
``langgraph:THREAD/NAMESPACE#CHANNEL:MESSAGE``. They are the same in both databases. In a thread and a namespace, ``%``,
``/`` and ``#`` are written ``%25``, ``%2F`` and ``%23``: no two places have one key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial as bind
from typing import Any

from headish.errors import InvalidImport
from headish.imports.imported import make_key
from headish.imports.reader import ImportSource, SourceConversation, SourceMessage
from headish.imports.readers.frameworks.langgraph.channel_messages import as_message, holds_messages, make_node
from headish.imports.readers.frameworks.langgraph.checkpoint_values import Unreadable, plain
from headish.imports.readers.frameworks.langgraph.checkpoints import TABLE, CheckpointsAt, FileCheckpoints, PendingWrite
from headish.imports.readers.frameworks.langgraph.delta_channels import DeltaChannels
from headish.imports.readers.frameworks.langgraph.server_checkpoints import ServerCheckpoints, list_places
from headish.imports.readers.shared import make, servers
from headish.imports.readers.shared.branching import MessagePaths, fingerprint
from headish.imports.readers.shared.databases import TooLargeValue, opened
from headish.values.blocks import Text

FORMAT = "langgraph"
USUAL = "messages"
_NOISE = ("branch:", "__no_writes__")
"""Beginnings of the channels that a graph uses to find its way."""
_PRINTS = 10_000
"""The most messages whose fingerprints are remembered."""


def read_conversations(given: ImportSource) -> Iterator[SourceConversation]:
    """Yield the threads of a database, by their ids.

    Raises: InvalidImport for another database, and a damaged one.
    """
    with _opened(given) as (places, checkpoints_at):
        for thread, namespace in places:
            if isinstance(thread, str) and isinstance(namespace, str):
                yield from _GraphThread(given, checkpoints_at, thread, namespace).conversations()
            else:
                given.notes.break_off(f"thread {thread!r:.80}", "its id is not text")


@contextmanager
def _opened(given: ImportSource) -> Iterator[tuple[Iterator[tuple[Any, ...]], CheckpointsAt]]:
    """Open a database: its threads, each with each of its namespaces, and what reads the checkpoints of one."""
    if given.server is not None:
        with servers.opened(given.server) as server:
            yield list_places(server, given.name), bind(ServerCheckpoints, server)
        return
    with opened(given.path, given.name) as foreign:
        table = foreign.find(*TABLE)
        if table is None:
            raise InvalidImport(given.name, None, "it is a SQLite database, but holds no checkpoints of LangGraph")
        yield foreign.keys(table, "thread_id", "checkpoint_ns"), bind(FileCheckpoints, foreign, table)


def _part(name: str) -> str:
    return name.replace("%", "%25").replace("/", "%2F").replace("#", "%23")


class _GraphThread:
    """One namespace of a thread. Its checkpoints are read one by one, oldest first."""

    def __init__(self, given: ImportSource, checkpoints_at: CheckpointsAt, thread: str, namespace: str) -> None:
        self._given, self._thread, self._namespace, self._notes = given, thread, namespace, given.notes
        self._saved = checkpoints_at(thread, namespace, self._break)
        self._channels: dict[str, _MessageChannel] = {}
        self._values: Mapping[Any, Any] = {}
        self._pending: list[PendingWrite] = []
        self._broken: set[str] = set()

    def conversations(self) -> Iterator[SourceConversation]:
        """Yield a conversation for each channel of messages."""
        parents = dict(self._saved.steps())
        followed = set(parents.values())
        deltas = DeltaChannels(self._saved, parents)
        for id in parents:
            self._take(id, deltas, is_last=id not in followed)
        if not self._channels:
            self._notes.leave_out(f"thread {self._thread:.80}", "thread without messages")
        for channel in self._channels.values():
            yield channel.conversation(self._namespace, {"thread": self._thread, **self._others()})

    def _break(self, where: str, why: str) -> None:
        """Note something that cannot be read, once however often it is met."""
        where = f"thread {self._thread:.80}, {where}"
        if where not in self._broken:
            self._broken.add(where)
            self._notes.break_off(where, why)

    def _take(self, id: Any, deltas: DeltaChannels, *, is_last: bool) -> None:
        where = f"checkpoint {id!s:.80}"
        try:
            step = self._saved.step(id)
            values = {**step.values, **deltas.values_at(id, step)}
            # The writes after any other checkpoint are in the values of the one that follows it.
            pending = self._saved.writes(id) if is_last else []
        except (Unreadable, TooLargeValue) as error:
            self._break(where, str(error))
            return
        self._values, self._pending = values, [each for each in pending if not each.channel.startswith(_NOISE)]
        where = f"thread {self._thread:.80}, {where}"
        for name, held in values.items():
            if isinstance(name, str) and holds_messages(held):
                self._channel(name).follow(held, step.time, where)

    def _channel(self, name: str) -> _MessageChannel:
        return self._channels.setdefault(name, _MessageChannel(self._owner(name), self._given))

    def _owner(self, channel: str) -> str:
        place = _part(self._thread) + (f"/{_part(self._namespace)}" if self._namespace else "")
        return place if channel == USUAL else f"{place}#{channel}"

    def _others(self) -> dict[str, Any]:
        """Return the last values of the channels without messages, and the pending writes."""
        where = f"thread {self._thread:.80}"
        rest = {
            str(name): plain(value)
            for name, value in self._values.items()
            if name not in self._channels and value not in (None, [], {})
        }
        for name in rest:
            self._notes.keep(where, f"channel {name:.80}")
        pending = [{"task": each.task, "channel": each.channel, "value": plain(each.value)} for each in self._pending]
        for each in pending:
            self._notes.keep(where, f"pending write to {each['channel']:.80}")
        return {**({"values": rest} if rest else {}), **({"pending": pending} if pending else {})}


class _MessageChannel:
    def __init__(self, owner: str, given: ImportSource) -> None:
        self._owner, self._given, self._notes = owner, given, given.notes
        self.paths = MessagePaths()
        self._tip: str | None = None
        self._title: str | None = None
        self._prints: dict[int, tuple[Any, bytes]] = {}

    def follow(self, held: list[Any], time: Any, where: str) -> None:
        """Follow a list of messages. One that adds nothing to an earlier list only moves the tip to its end."""
        last: str | None = None
        for each in held:
            found = as_message(each)
            if found is None:
                self._notes.leave_out(where, "value among messages that is not a message")
                continue
            kind, fields = found
            last = self.paths.follow(last, self._print(each, fields), bind(self._nodes, kind, fields, time, where))
        self._tip = last

    def _print(self, held: Any, fields: Mapping[str, Any]) -> bytes:
        """Return the fingerprint of a message, without the counts that come later; computed once for an object."""
        # An id comes again once its object is gone, so the object is kept, and compared.
        known = self._prints.get(id(held))
        if known is None or known[0] is not held:
            if len(self._prints) > _PRINTS:
                self._prints.clear()  # the decoder of JSON gives a new object each time, and all would stay in memory
            compared = {
                key: value for key, value in fields.items() if key not in ("usage_metadata", "response_metadata")
            }
            known = self._prints[id(held)] = (held, fingerprint(plain(compared)))
        return known[1]

    def _nodes(self, kind: str, fields: Mapping[str, Any], time: Any, where: str) -> Iterator[SourceMessage]:
        id = fields.get("id")
        key = make_key(FORMAT, self._owner, id) if isinstance(id, str) else None
        plain_fields = {name: plain(value) for name, value in fields.items()}
        node = make_node(kind, plain_fields, key, self._notes, where, said_at=time)
        if node is None:
            return
        first = node.content[0] if node.content and node.role == "user" else None
        if self._title is None and isinstance(first, Text):
            self._title = make.title(first.text)
        yield node

    def conversation(self, namespace: str, app: Mapping[str, Any]) -> SourceConversation:
        """Return the conversation with its messages."""
        return SourceConversation(
            format=FORMAT, id=self._owner, title=self._title, tip=self._tip, messages=self.paths.nodes,
            tags=[FORMAT, *(["subgraph"] if namespace else [])], app={FORMAT: app}, is_state=True,
        )  # fmt: skip
