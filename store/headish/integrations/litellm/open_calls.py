"""The calls of a program that LiteLLM has not told the end of, in the order in which they began.

LiteLLM tells of each call in a thread or task of its own, so two quick calls come back in any order. The second one's
list holds the first one's answer: stored first, that answer would stand there without its usage, and again behind it.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

OPEN_CALLS = 1000
"""How many calls may be open before the oldest is forgotten: one that is abandoned never ends."""
EARLIER_SECONDS = 2.0
"""How long a call waits for the end of an earlier one whose answer it goes on from: that one ended at the provider
already. It never comes where the program stopped reading its stream."""


class UnendedCall(NamedTuple):
    """A call under way: its place in the order, and the list as it was asked."""

    number: int
    messages: list[dict[str, Any]]

    def goes_on_from(self, earlier: UnendedCall) -> bool:
        """Whether the list begins with an earlier call's, and has an answer behind it."""
        behind = len(earlier.messages)
        return (
            earlier.number < self.number
            and behind < len(self.messages)
            and self.messages[behind].get("role") == "assistant"
            and self.messages[:behind] == earlier.messages
        )


class OpenCalls:
    """The open calls by LiteLLM's ids. Safe to share between threads."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, UnendedCall] = OrderedDict()
        self._storing = set[str]()
        self._latest: OrderedDict[str, int] = OrderedDict()
        self._count = 0
        self._changed = threading.Condition()

    def begin(self, id: str, messages: list[dict[str, Any]]) -> None:
        """A call begins. One that is tried again keeps its place."""
        with self._changed:
            if id not in self._open:
                self._count += 1
                self._open[id] = UnendedCall(self._count, messages)
            while len(self._open) > OPEN_CALLS:
                self._open.popitem(last=False)

    @contextmanager
    def ending(self, id: str) -> Iterator[UnendedCall | None]:
        """A call ends: what the block stores comes behind the earlier calls that it goes on from.

        None for a call that is not known.
        """
        with self._changed:
            call = self._open.get(id)
            if call is not None:
                self._storing.add(id)
                self._wait_for_earlier(call)
        try:
            yield call
        finally:
            self.forget(id)

    def forget(self, id: str) -> None:
        """A call has ended."""
        with self._changed:
            self._open.pop(id, None)
            self._storing.discard(id)
            self._changed.notify_all()

    def may_move(self, name: str, call: UnendedCall | None) -> bool:
        """Whether a call is the latest of those that moved a name: its own answer may be late."""
        with self._changed:
            if call is None:
                return True
            is_latest = self._latest.get(name, 0) < call.number
            if is_latest:
                self._latest[name] = call.number
                self._latest.move_to_end(name)
            while len(self._latest) > OPEN_CALLS:
                self._latest.popitem(last=False)
            return is_latest

    def _wait_for_earlier(self, call: UnendedCall) -> None:
        """Wait for an earlier call that is being stored until it is, and for the end of another no longer than a
        moment."""
        until = time.monotonic() + EARLIER_SECONDS
        while earlier := self._earlier_of(call):
            unended = earlier.keys() - self._storing
            left = until - time.monotonic()
            if unended and left <= 0:
                for each in unended:
                    del self._open[each]  # it was waited for once
            else:
                self._changed.wait(left if unended else None)

    def _earlier_of(self, call: UnendedCall) -> Mapping[str, UnendedCall]:
        return {id: each for id, each in self._open.items() if call.goes_on_from(each)}
