"""What a saver remembers of threads, so that it need not read a list again to append to it.

All of it may be forgotten at any time. It is valid while the thread's record has the same revision, which every
deletion changes: each write compares that first.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from headish.adapters.messages import TurnId
from headish.integrations.langgraph.messages import Prints
from headish.integrations.langgraph.records import ThreadLane

LANES = 256
"""The number of namespaces that are remembered, each with the last ``CHECKPOINTS`` and ``LISTS`` that it used."""
CHECKPOINTS = 16
LISTS = 4


class KnownList(NamedTuple):
    """A stored list of messages: the fingerprint of each, and the turn of the last."""

    prints: Prints
    tip: TurnId


Refs = Mapping[str, tuple[Any, int]]
"""The version of each channel that has a value in a checkpoint, and the number of the value."""


class KnownLane:
    """The memory of one namespace of a thread. ``revision`` is that of the thread's record, None if it has none yet."""

    def __init__(self, revision: int | None) -> None:
        self.revision = revision
        self._checkpoints: OrderedDict[str, Refs] = OrderedDict()
        self._lists: OrderedDict[str, tuple[str, KnownList]] = OrderedDict()

    def refs(self, checkpoint: str | None) -> Refs | None:
        """The values of a checkpoint; None if they are not known."""
        return None if checkpoint is None else self._checkpoints.get(checkpoint)

    def lists(self, channel: str) -> list[KnownList]:
        """The lists of a channel, the last used first, which most likely grows."""
        return [known for name, known in reversed(self._lists.values()) if name == channel]

    def remember(self, checkpoint: str, refs: Refs) -> None:
        _put(self._checkpoints, checkpoint, refs, CHECKPOINTS)

    def remember_list(self, channel: str, key: str, known: KnownList) -> None:
        _put(self._lists, key, (channel, known), LISTS)


class KnownThreads:
    """The memory of all threads of graphs. Safe to share between threads of Python."""

    def __init__(self) -> None:
        # By process id: a thread that is not in a forked child may have held the parent's.
        self._locks = defaultdict[int, threading.Lock](threading.Lock)
        self._lanes: OrderedDict[ThreadLane, KnownLane] = OrderedDict()

    def find(self, lane: ThreadLane) -> KnownLane | None:
        with self._locks[os.getpid()]:
            return self._lanes.get(lane)

    def remember(
        self, lane: ThreadLane, revision: int, checkpoint: str, refs: Refs, lists: Iterable[tuple[str, str, KnownList]]
    ) -> None:
        """Remember a checkpoint, and its lists as ``(channel, key, list)``."""
        with self._locks[os.getpid()]:
            known_lane = self._lanes.get(lane)
            if known_lane is None or known_lane.revision not in (None, revision):
                known_lane = KnownLane(revision)
            known_lane = _copy(known_lane)  # others may be reading the old one, without the lock
            known_lane.revision = revision
            known_lane.remember(checkpoint, refs)
            for each in lists:
                known_lane.remember_list(*each)
            _put(self._lanes, lane, known_lane, LANES)

    def begin(self, lane: ThreadLane, channel: str, known: KnownList) -> None:
        """Remember the list with which a namespace of a thread begins, if nothing is known of that namespace yet."""
        with self._locks[os.getpid()]:
            if lane not in self._lanes:
                known_lane = KnownLane(None)
                known_lane.remember_list(channel, "", known)
                _put(self._lanes, lane, known_lane, LANES)

    def forget(self, lane: ThreadLane) -> None:
        with self._locks[os.getpid()]:
            self._lanes.pop(lane, None)


def _copy(lane: KnownLane) -> KnownLane:
    copy = KnownLane(lane.revision)
    copy._checkpoints, copy._lists = lane._checkpoints.copy(), lane._lists.copy()
    return copy


def _put(mapping: OrderedDict[Any, Any], key: Any, value: Any, limit: int) -> None:
    mapping[key] = value
    mapping.move_to_end(key)
    while len(mapping) > limit:
        mapping.popitem(last=False)
