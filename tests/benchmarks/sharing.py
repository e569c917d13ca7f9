"""Bundles: what it takes to write one and to store what it brings, beside storing the same turns with ``add_turns``.
And a sync with a server: its requests and bytes where nothing is new, and where a few of many turns are.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pytest

from benchmarks import thin
from benchmarks.canonical import conversation, items
from benchmarks.clock import Bench, microseconds, report
from headish import Database, Store
from headish.bundles.records import PAGE_TURNS
from headish.calls.posting import PostedAnswer, SyncServer
from support.serving import serving

STORED = "add_turns"
BUNDLE_LINES = {
    "bundle_create": "<=0.3",
    "bundle_apply": "<=0.7",
    "bundle_create_floor": None,
    "bundle_apply_floor": None,
    "bundle_apply_checked_floor": None,
}
NEW = 500
"""How many turns each side has said that the other one does not have."""
TOKEN = "HEADISH_BENCH_TOKEN"


def bundles(bench: Bench) -> None:
    """A bundle of a whole space, written and applied to an empty store. A page of it is a transaction, and so is a
    batch of ``add_turns``, of as many turns."""
    turns = bench.size(100_000, 5_000)
    added, *others = zip(*[_round(bench, turns) for _ in range(bench.rounds)], strict=True)
    limit = statistics.median(added)
    for (name, goal), column in zip(BUNDLE_LINES.items(), others, strict=True):
        paired = statistics.median(each / add for add, each in zip(added, column, strict=True))
        took = statistics.median(column)
        report(name, took, limit, of=STORED, goal=goal, turns=turns, paired=f"{paired:.2f}")


def _round(bench: Bench, turns: int) -> list[float]:
    """Microseconds of a turn: to add it, and for each of ``BUNDLE_LINES``."""
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
    took = [added, created, applied, *_floors(bench, path, turns)]
    for each in (path, there, bundle):
        _remove(each)
    return took


def _floors(bench: Bench, source: Path, turns: int) -> list[float]:
    """What the thinnest programs take of the same turns: to write a bundle, to apply it, and to apply it with the same
    checks."""
    bundle = bench.path("thin").with_suffix(".hbundle")
    took = [microseconds(lambda: thin.write_bundle(source, bundle), turns)]
    for checked in (False, True):
        there = bench.path("thin")
        Store.open(there).close()
        took.append(microseconds(lambda: thin.apply_bundle(bundle, there, checked=checked), turns))  # noqa: B023
        thin.check_whole(there, turns)
        _remove(there)
    _remove(bundle)
    return took


def https(bench: Bench) -> None:
    """A sync with a server on this machine: its requests, and the bytes of their bodies. Where nothing is new, the
    limit is a kilobyte; where turns are new on both sides, it is a bundle of each side's. The second time neither side
    knows how far the other one was, so both compare what they have by ranges."""
    turns = bench.size(100_000, 5_000)
    here, there = bench.path("desk"), bench.path("office")
    with Store.open(there) as store:
        store.add_turns(items(conversation(turns)))
    with Database.open(there) as database, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADISH_KEYS", str(here.with_suffix(".keys")))
        patch.setenv(TOKEN, database.access_tokens.add("desk", rights=["sync"]))
        with (
            serving(there, here.with_suffix(".served")) as served,
            Store.open(here) as desk,
            Store.open(there) as office,
        ):
            desk.remotes.add("office", served.url, key_env=TOKEN)
            desk.remotes.exchange("office")
            spent = _spent_by(lambda: desk.remotes.exchange("office"))
            spent.report("https_nothing_new", 1000, "kilobyte", goal="<=1", turns=turns)
            for name in ("https_new", "https_new_by_ranges"):
                size = sum(_say_more(bench, each) for each in (desk, office))
                if name != "https_new":
                    desk.remotes.remove("office")
                    desk.remotes.add("office", served.url, key_env=TOKEN)
                spent = _spent_by(lambda: desk.remotes.exchange("office"))
                if spent.done.pulled.stored != NEW or spent.done.pushed.turns != NEW:
                    raise SystemExit("the server did not give and take what was new")
                spent.report(name, size, "two_bundles", turns=turns, new=2 * NEW)


class _Spent(NamedTuple):
    """What a sync took: requests, the bytes of their bodies and of the answers', and microseconds."""

    done: Any
    requests: int
    bytes: int
    us: float

    def report(self, name: str, limit: float, of: str, **more: Any) -> None:
        more |= {"requests": self.requests, "us": f"{self.us:.0f}"}
        report(name, self.bytes, limit, of=of, unit="bytes", **more)


def _spent_by(sync: Callable[[], Any]) -> _Spent:
    asked: list[int] = []
    answered: list[int] = []
    post, follow = SyncServer.post, PostedAnswer._next

    def counted_post(self: SyncServer, question: BinaryIO, size_bytes: int) -> PostedAnswer:
        asked.append(size_bytes)
        return post(self, question, size_bytes)

    def counted_next(self: PostedAnswer) -> bytes:
        data = follow(self)
        answered.append(len(data))
        return data

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SyncServer, "post", counted_post)
        patch.setattr(PostedAnswer, "_next", counted_next)
        done: list[Any] = []
        us = microseconds(lambda: done.append(sync()))
    return _Spent(done[0], len(asked), sum(asked) + sum(answered), us)


def _say_more(bench: Bench, store: Store) -> int:
    """Add turns that are in no other store; the bytes of a bundle of them."""
    before = store.bundles.create(bench.path("before")).cursor
    store.add_turns(items(conversation(NEW)))
    return store.bundles.create(bench.path("new"), since=before).size_bytes


def _remove(path: Path) -> None:
    """Remove a file that no later round reads, so that a run does not fill the disk."""
    path.unlink()
