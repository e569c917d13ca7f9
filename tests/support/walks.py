"""The way of one call through the library: how many functions it enters, in how many modules, and how often it goes
from one module to another. Counts, so no other work on the machine disturbs them.

``python tests/support/walks.py`` draws the ways of an append and of a reply, a line for each stay in a module.
"""

from __future__ import annotations

import gc
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

PACKAGE = "headish"
EVENTS: list[dict[str, Any]] = [
    {
        "type": "message_start",
        "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": [],
            "stop_reason": None, "usage": {"input_tokens": 3, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Lima"}},
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 5},
    },
    {"type": "message_stop"},
]  # fmt: skip
"""The shortest whole answer of Anthropic's."""


class Walk(NamedTuple):
    """The functions that a call enters, in order, each as ``(module, name)``."""

    entered: list[tuple[str, str]]

    @property
    def calls(self) -> int:
        return len(self.entered)

    @property
    def modules(self) -> int:
        return len({module for module, _ in self.entered})

    @property
    def switches(self) -> int:
        """How often the next function that is entered lies in another module."""
        return sum(before != after for (before, _), (after, _) in zip(self.entered, self.entered[1:], strict=False))

    def stays(self) -> Iterator[str]:
        """A line for each stay in a module: its name, and the functions that are entered there."""
        for module, entered in groupby(self.entered, itemgetter(0)):
            yield f"{module.removeprefix(PACKAGE + '.')}: {', '.join(dict.fromkeys(name for _, name in entered))}"

    def __str__(self) -> str:
        return f"{self.calls} calls, {self.modules} modules, {self.switches} switches"


def walk(work: Callable[[], object]) -> Walk:
    """The way of a piece of work. Run it once before: the first time imports and prepares."""
    entered: list[tuple[str, str]] = []

    def enter(frame: Any, event: str, _: object) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.partition(".")[0] == PACKAGE:
            entered.append((module, frame.f_code.co_qualname))

    gc.collect()
    gc.disable()  # what is collected in between, such as another test's store, enters functions of its own
    sys.setprofile(enter)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return Walk(entered)


def append_and_reply(path: Path) -> tuple[Walk, Walk]:
    """The ways of a question and of its answer, in a conversation that this store has under its name."""
    from headish import Store

    with Store.open(path) as store:
        store.add_turn("The capital of France?", bookmark="main")
        store.reply("main", "anthropic", EVENTS)
        question = walk(lambda: store.add_turn("And of Peru?", continues="main"))
        return question, walk(lambda: store.reply("main", "anthropic", EVENTS))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for title, way in zip(("add_turn", "reply"), append_and_reply(Path(folder) / "walks.db"), strict=True):
            print(f"{title}: {way}", *way.stays(), sep="\n  ")


if __name__ == "__main__":
    main()
