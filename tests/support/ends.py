"""The two ends of a live remote: a desk, and the box that it syncs with over a line."""

from __future__ import annotations

from typing import Any

from headish import Store
from support.lines import line_to
from support.machines import Machine

Ends = tuple[Machine, Store]
"""The desk, whose live remote is the box; and the store of the box."""


def sync(ends: Ends, **options: Any) -> Any:
    desk, box = ends
    with line_to(box, **options):
        return desk.sync()


def push(ends: Ends, **options: Any) -> Any:
    with line_to(ends[1]), ends[0] as store:
        return store.remotes.push("box", **options)


def pull(ends: Ends, **options: Any) -> Any:
    with line_to(ends[1]), ends[0] as store:
        return store.remotes.pull("box", **options)


def say_on(store: Store, count: int, name: str = "main", text: str = "") -> str:
    """Say turns, each of which continues the one before, under a name; the id of the last one."""
    store.add_turn(f"0 {text}", bookmark=name)
    return [store.add_turn(f"{number} {text}", continues=name) for number in range(1, count)][-1].id


def outcomes(done: Any) -> dict[str, str]:
    return {each.name: each.outcome for each in done.names}
