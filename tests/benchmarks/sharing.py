"""Bundles: what it takes to write one and to store what it brings, beside storing the same turns with ``add_turns``."""

from __future__ import annotations

import statistics
from pathlib import Path

from benchmarks.canonical import conversation, items
from benchmarks.clock import Bench, microseconds, report
from headish import Store
from headish.bundles.records import PAGE_TURNS

STORED = "add_turns"


def bundles(bench: Bench) -> None:
    """A bundle of a whole space, written and applied to an empty store. A page of it is a transaction, and so is a
    batch of ``add_turns``, of as many turns."""
    turns = bench.size(100_000, 5_000)
    times = [_round(bench, turns) for _ in range(bench.rounds)]
    added, created, applied = (statistics.median(column) for column in zip(*times, strict=True))
    pairs = [(create / add, apply / add) for add, create, apply in times]
    create_ratio, apply_ratio = (f"{statistics.median(column):.2f}" for column in zip(*pairs, strict=True))
    report("bundle_create", created, added, of=STORED, goal="<=0.3", turns=turns, paired=create_ratio)
    report("bundle_apply", applied, added, of=STORED, goal="<=0.7", turns=turns, paired=apply_ratio)


def _round(bench: Bench, turns: int) -> tuple[float, float, float]:
    """Microseconds of a turn: to add it, to write it into a bundle, and to apply it."""
    bundle = bench.path("bundle").with_suffix(".hbundle")
    listed = list(items(conversation(turns)))
    batches = [listed[start : start + PAGE_TURNS] for start in range(0, turns, PAGE_TURNS)]
    for batch in batches[1:]:
        batch[0]["continues"] = "main"
        for index, each in enumerate(batch[1:]):
            each["continues"] = index
    for batch in batches:
        batch[-1]["bookmark"] = "main"
    path, there = bench.path("here"), bench.path("there")
    with Store.open(path) as store:
        added = microseconds(lambda: [store.add_turns(each) for each in batches], turns)
        created = microseconds(lambda: store.bundles.create(bundle), turns)
        wanted = store.get("main").seal
    with Store.open(there) as store:
        applied = microseconds(lambda: store.bundles.apply(bundle), turns)
        if store.get("main").seal != wanted:
            raise SystemExit("the bundle brought another thread")
    for each in (path, there, bundle):
        _remove(each)
    return added, created, applied


def _remove(path: Path) -> None:
    """Remove a file that no later round reads, so that a run does not fill the disk."""
    path.unlink()
