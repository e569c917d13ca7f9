"""Merge lists of messages into a tree, and split answers that contain their calls and results.

Some programs keep the whole list of messages at each step. What two lists have in common from their first message on is
one path; where they differ, a branch begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import msgspec
from blake3 import blake3
from msgspec.structs import replace

from headish.imports.reader import SourceMessage

_ENCODER = msgspec.json.Encoder(order="deterministic", enc_hook=repr)


def fingerprint(value: Any) -> bytes:
    """Return a hash that two messages share if and only if they say the same: of JSON with its keys in order."""
    return blake3(_ENCODER.encode(value)).digest(16)


class MessagePaths:
    """The nodes of all lists so far, in the order in which they were met. The id of a node is its index."""

    def __init__(self) -> None:
        self.nodes: list[SourceMessage] = []
        self._ends: dict[tuple[str | None, bytes], str | None] = {}
        self._keys: set[str] = set()

    def follow(self, before: str | None, print: bytes, make: Callable[[], Iterable[SourceMessage]]) -> str | None:
        """Return the id of the last node of a message after ``before``; ``make`` makes its nodes if it was not met
        there.

        A key that a node already has is not given to a second one: what they follow tells the two apart.
        """
        place = (before, print)
        if place not in self._ends:
            last = before
            # Made only now: most lists repeat the one before them, and their messages are never built.
            for node in make():
                last = self._add(node, last)
            self._ends[place] = last
        return self._ends[place]

    def at(self, id: str) -> SourceMessage:
        """The node of an id."""
        return self.nodes[int(id)]

    def change(self, id: str, **facts: Any) -> None:
        """Change fields of a node."""
        self.nodes[int(id)] = replace(self.at(id), **facts)

    def _add(self, node: SourceMessage, before: str | None) -> str:
        key = None if node.key in self._keys else node.key
        if key is not None:
            self._keys.add(key)
        id = str(len(self.nodes))
        self.nodes.append(replace(node, id=id, parent=before, key=key))
        return id


class Aside(NamedTuple):
    """What a person said while an answer was written, among the blocks of the answer."""

    blocks: Sequence[Any]


def cut(
    node: SourceMessage, blocks: Sequence[Any], key_of: Callable[[str], str | None], named: Mapping[str, Any] = {}
) -> list[SourceMessage]:
    """Split a message into turns, each continuing the one before: one for each run of results, of what a person said,
    or of anything else.

    The last turn has the message's id, so that what continues the message continues it; the first has its key, the
    others ``ID/2`` and on. ``named`` is how the meta of those names the message.
    """
    runs = [(role, _flat(run)) for role, run in groupby(blocks, _role_of)]
    if len(runs) < 2:
        role, run = runs[0] if runs else (None, None)
        return [_as(role, replace(node, content=run))]
    pieces: list[SourceMessage] = []
    # Results and asides have no reply: the counts belong to the last turn that has one.
    counted = max((number for number, (role, _) in enumerate(runs, 1) if role is None), default=0)
    for number, (role, run) in enumerate(runs, 1):
        piece = replace(
            node, id=node.id if number == len(runs) else f"{node.id}/{number}", content=run,
            parent=node.parent if number == 1 else f"{node.id}/{number - 1}",
            key=node.key if number == 1 else key_of(f"{node.id}/{number}"),
            meta=node.meta if number == 1 else {**(named or {"id": node.id}), "piece": number},
            reply=node.reply if number == counted else _uncounted(node.reply),
        )  # fmt: skip
        pieces.append(_as(role, piece))
    return pieces


def _flat(run: Iterable[Any]) -> list[Any]:
    return [each for block in run for each in (block.blocks if isinstance(block, Aside) else (block,))]


def _as(role: str | None, piece: SourceMessage) -> SourceMessage:
    return piece if role is None else replace(piece, role=role, reply=None)


def _role_of(block: Any) -> str | None:
    """The role of a block that is not of the message's own role."""
    if isinstance(block, Aside):
        return "user"
    return "tool" if isinstance(block, Mapping) and block.get("type") == "tool_result" else None


def _uncounted(reply: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Drop the token counts from all turns of an answer but its last words or calls, so that they count once."""
    return None if reply is None else {key: value for key, value in reply.items() if key not in ("usage", "stop")}
