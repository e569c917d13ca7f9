"""The calls of a program whose end LiteLLM has not reported, in the order in which they began.

LiteLLM reports each call in a thread or task of its own, so the reports of two quick calls come in any order. The
second call's list contains the first one's answer. Stored first, it would store that answer without its usage, and the
first call would store the answer again.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

OPEN_CALLS = 1000
"""How many calls may be open before the oldest is forgotten: an abandoned call never ends."""
EARLIER_SECONDS = 2.0
"""How long a call waits for the report of an earlier one that it continues. The provider has ended that one already,
but no report comes if the program stopped reading its stream."""


class UnendedCall(NamedTuple):
    """A call whose end was not reported: its number in the order of calls, and a copy of its list."""

    number: int
    messages: list[dict[str, Any]]

    def goes_on_from(self, earlier: UnendedCall) -> bool:
        """Whether the list begins with that of an earlier call, followed by an answer."""
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
        """Note that a call begins. A call that is retried keeps its number."""
        with self._changed:
            if id not in self._open:
                self._count += 1
                self._open[id] = UnendedCall(self._count, messages)
            while len(self._open) > OPEN_CALLS:
                self._open.popitem(last=False)

    @contextmanager
    def ending(self, id: str) -> Iterator[UnendedCall | None]:
        """A context for storing a call that has ended. Entering it waits until the earlier calls that it continues are
        stored. Yields the call; None if it is not known.
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
        """Forget a call that has ended, and wake those that wait for it."""
        with self._changed:
            self._open.pop(id, None)
            self._storing.discard(id)
            self._changed.notify_all()

    def may_move(self, name: str, call: UnendedCall | None) -> bool:
        """Whether a call may move a name: no call that began later has moved it. Notes that this one does."""
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
        """Wait for the earlier calls that ``call`` continues: without limit for those that are being stored, and at
        most ``EARLIER_SECONDS`` for the report of the others."""
        until = time.monotonic() + EARLIER_SECONDS
        while earlier := self._earlier_of(call):
            unended = earlier.keys() - self._storing
            left = until - time.monotonic()
            if unended and left <= 0:
                for each in unended:
                    del self._open[each]  # so that the next call does not wait for it again
            else:
                self._changed.wait(left if unended else None)

    def _earlier_of(self, call: UnendedCall) -> Mapping[str, UnendedCall]:
        return {id: each for id, each in self._open.items() if call.goes_on_from(each)}
