"""The calls of a program whose end LiteLLM has not reported yet, in the order in which they began.

LiteLLM reports each call in a thread or task of its own, so two quick calls may be reported in any order. The second
call's list has the first one's answer. If the second were stored first, that answer would be stored without its usage,
and once more when the first one is reported.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

OPEN_CALLS = 1000
"""The number of open calls beyond which the oldest is forgotten: an abandoned call never ends."""
EARLIER_SECONDS = 2.0
"""The longest wait of a call for the report of an earlier one whose answer it continues. That one has ended at the
provider already, but if the program stopped reading its stream, no report comes."""


class UnendedCall(NamedTuple):
    """A call under way: its number in the order, and the list as it was sent."""

    number: int
    messages: list[dict[str, Any]]

    def goes_on_from(self, earlier: UnendedCall) -> bool:
        """Whether the list begins with that of an earlier call, and an answer follows."""
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
        """Note that a call begins. A call that is retried under its id keeps its place."""
        with self._changed:
            if id not in self._open:
                self._count += 1
                self._open[id] = UnendedCall(self._count, messages)
            while len(self._open) > OPEN_CALLS:
                self._open.popitem(last=False)

    @contextmanager
    def ending(self, id: str) -> Iterator[UnendedCall | None]:
        """Wait until the earlier calls that this call continues are stored; the block then stores it. The call has
        ended after the block. Yields None for an unknown call.
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
        """Note that a call has ended."""
        with self._changed:
            self._open.pop(id, None)
            self._storing.discard(id)
            self._changed.notify_all()

    def may_move(self, name: str, call: UnendedCall | None) -> bool:
        """Whether a call began after all that moved this name so far, and so may move it."""
        with self._changed:
            if call is None:
                return True
            is_latest = self._latest.get(name, 0) < call.number
            if is_latest:
                self._latest[name] = call.number
                self._latest.move_to_end(name)
            while len(self._latest) > OPEN_CALLS:  # names are any text, so their number has no other limit
                self._latest.popitem(last=False)
            return is_latest

    def _wait_for_earlier(self, call: UnendedCall) -> None:
        """Wait for earlier calls: without limit for one that is being stored, for the others up to
        ``EARLIER_SECONDS``."""
        until = time.monotonic() + EARLIER_SECONDS
        while earlier := self._earlier_of(call):
            unended = earlier.keys() - self._storing
            seconds_left = until - time.monotonic()
            if unended and seconds_left <= 0:
                for each in unended:
                    del self._open[each]  # its report never comes, so later calls need not wait for it again
            else:
                self._changed.wait(seconds_left if unended else None)

    def _earlier_of(self, call: UnendedCall) -> Mapping[str, UnendedCall]:
        return {id: each for id, each in self._open.items() if call.goes_on_from(each)}
