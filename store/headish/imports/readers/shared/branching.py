"""Messages as parts of a tree: lists that repeat one another, and answers that hold their calls and their results.

Some programs keep the whole list of messages at each step. What two lists have in common, from their first message on,
is one path here; where they differ, a branch begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from blake3 import blake3
from msgspec.structs import replace

from headish.imports.reader import SourceMessage

_ENCODER = msgspec.json.Encoder(order="deterministic", enc_hook=repr)


def fingerprint(value: Any) -> bytes:
    """What two messages share if and only if they say the same: a hash of JSON with its keys in order."""
    return blake3(_ENCODER.encode(value)).digest(16)


class MessagePaths:
    """The nodes of all lists so far, in the order in which they were met. A node has the id of its place."""

    def __init__(self) -> None:
        self.nodes: list[SourceMessage] = []
        self._ends: dict[tuple[str | None, bytes], str | None] = {}
        self._keys: set[str] = set()

    def follow(self, before: str | None, print: bytes, make: Callable[[], Iterable[SourceMessage]]) -> str | None:
        """The id of the last node of a message behind ``before``; its nodes are made where it was not met there.

        A key that a node has already is given to no second one: the two are told apart by what they follow.
        """
        place = (before, print)
        if place not in self._ends:
            last = before
            for node in make():
                last = self._add(node, last)
            self._ends[place] = last
        return self._ends[place]

    def at(self, id: str) -> SourceMessage:
        """The node of an id."""
        return self.nodes[int(id)]

    def change(self, id: str, **facts: Any) -> None:
        """Say more of a node."""
        self.nodes[int(id)] = replace(self.at(id), **facts)

    def _add(self, node: SourceMessage, before: str | None) -> str:
        key = None if node.key in self._keys else node.key
        if key is not None:
            self._keys.add(key)
        id = str(len(self.nodes))
        self.nodes.append(replace(node, id=id, parent=before, key=key))
        return id


Block = Mapping[str, Any]


def cut(node: SourceMessage, blocks: Sequence[Block], key_of: Callable[[str], str | None]) -> list[SourceMessage]:
    """The message as turns, each behind the one before. The last has the message's id, so that what continues the
    message continues it; the first has its key, the others ``ID/2`` and on."""
    runs: list[list[Block]] = []
    for block in blocks:
        if runs and (block["type"] == "tool_result") == (runs[-1][-1]["type"] == "tool_result"):
            runs[-1].append(block)
        else:
            runs.append([block])
    if len(runs) < 2:
        return [_as_tool(replace(node, content=list(blocks) or None), runs)]
    made: list[SourceMessage] = []
    for number, run in enumerate(runs, 1):
        piece = replace(
            node, id=node.id if number == len(runs) else f"{node.id}/{number}", content=run,
            parent=node.parent if number == 1 else f"{node.id}/{number - 1}",
            key=node.key if number == 1 else key_of(f"{node.id}/{number}"),
            meta=node.meta if number == 1 else {"id": node.id, "piece": number},
            reply=node.reply if number == len(runs) else _uncounted(node.reply),
        )  # fmt: skip
        made.append(_as_tool(piece, [run]))
    return made


def _as_tool(node: SourceMessage, runs: Sequence[Sequence[Block]]) -> SourceMessage:
    is_tool = bool(runs) and runs[0][-1]["type"] == "tool_result"
    return replace(node, role="tool", reply=None, hidden=node.hidden) if is_tool else node


def _uncounted(reply: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The tokens of an answer count once: with its last turn."""
    return None if reply is None else {key: value for key, value in reply.items() if key not in ("usage", "stop")}
