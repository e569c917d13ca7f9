"""What a long list costs: a block of many numbers as JSON text, and a budget's cut of a thread with kept turns."""

from __future__ import annotations

import json

from benchmarks.clock import Bench, microseconds, report
from headish import Store
from headish.history.budgets.cutting import Weights, cut
from headish.values.blocks import Text
from headish.values.messages import Message


def integers(bench: Bench) -> None:
    """``add_turn(json=True)`` of a block with many integers; the limit decodes the same text."""
    count = bench.size(2_000_000, 200_000)
    with Store.open(bench.path("integers"), durability="normal") as store:
        given = iter(json.dumps([{"type": "numbers", "of": [number, *range(count)]}]) for number in range(bench.rounds))
        text = json.dumps(list(range(count)))
        ours, limit = bench.alternate(
            lambda: microseconds(lambda each=next(given): store.add_turn(each, json=True)),
            lambda: microseconds(lambda: json.loads(text)),
        )
    report(f"json_{count}_integers", ours, limit, of="json_loads", goal="<=6")


def cuts(bench: Bench) -> None:
    """A cut where every other turn is kept, a turn; the limit is a quarter of the turns."""
    turns = bench.size(16_000, 4_000)
    many, few = (kept_thread(count) for count in (turns, turns // 4))
    ours, limit = bench.alternate(
        lambda: microseconds(lambda: cut(*many), turns), lambda: microseconds(lambda: cut(*few), turns // 4)
    )
    report(f"cut_{turns}_kept", ours, limit, of=f"{turns // 4}_turns", goal="<=1.3")


def kept_thread(turns: int) -> tuple[list[Message], Weights, list[bool], int]:
    """What ``cut`` takes: half of the turns fit, and every other one is kept."""
    messages = [Message(role="user" if at % 2 else "assistant", content=(Text("x"),)) for at in range(turns)]
    return messages, Weights([1.0] * turns, range(turns)), [at % 2 == 0 for at in range(turns)], turns // 2 + 50
