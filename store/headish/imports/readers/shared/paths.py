"""Lists of messages that repeat one another, as one tree.

Some programs keep the whole list of messages at each step. What two lists have in common, from their first message on,
is one path here; where they differ, a branch begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from blake3 import blake3
from msgspec.structs import replace

from headish.imports.building import Node

_ENCODER = msgspec.json.Encoder(order="deterministic", enc_hook=repr)


def fingerprint(value: Any) -> bytes:
    """What two messages share if and only if they say the same: a hash of JSON with its keys in order."""
    return blake3(_ENCODER.encode(value)).digest(16)


class Paths:
    """The nodes of all lists so far, in the order in which they were met. A node has the id of its place."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._ends: dict[tuple[str | None, bytes], str | None] = {}
        self._keys: set[str] = set()

    def follow(self, before: str | None, print: bytes, make: Callable[[], Iterable[Node]]) -> str | None:
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

    def at(self, id: str) -> Node:
        """The node of an id."""
        return self.nodes[int(id)]

    def change(self, id: str, **facts: Any) -> None:
        """Say more of a node."""
        self.nodes[int(id)] = replace(self.at(id), **facts)

    def _add(self, node: Node, before: str | None) -> str:
        key = None if node.key in self._keys else node.key
        if key is not None:
            self._keys.add(key)
        id = str(len(self.nodes))
        self.nodes.append(replace(node, id=id, parent=before, key=key))
        return id
