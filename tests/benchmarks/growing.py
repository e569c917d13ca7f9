"""What must not grow: the cost of a verb in a long thread, and in a store of a million turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from inspect import signature
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import plain, samerows
from benchmarks.appending import PLAIN, SAME, append_to_name
from benchmarks.canonical import Said, check, conversation, encode, given, items, say
from benchmarks.clock import Bench, median_call, microseconds, report, skip
from benchmarks.reading import stored
from headish import Store

PAGE = 50
PER_THREAD = 100
ANSWER = {
    "id": "c",
    "object": "chat.completion",
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Lima."}}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
}
EVENTS = (
    {"type": "message_start", "message": {"id": "m", "model": "x", "usage": {"input_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Lima."}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
)


def replies(bench: Bench) -> None:
    """Storing an answer to a thread of 10,000 turns, beside one to a thread of 10."""
    turns, times = bench.size(10_000, 2_000), bench.size(9, 3)
    paths = [stored(bench, conversation(each)) for each in (turns, 10)]
    with Store.open(paths[0]) as long, Store.open(paths[1]) as short:
        for name, verb in (("reply", reply), ("capture", capture), ("open_calls", open_calls)):
            ours, limit = bench.alternate(
                lambda verb=verb: median_call(verb, [long] * times),
                lambda verb=verb: median_call(verb, [short] * times),
            )
            report(f"{name}_{turns}", ours, limit, of="10_turns", goal="<=1.3")


def reply(store: Store) -> None:
    store.reply("main", "openai", ANSWER)


def capture(store: Store) -> None:
    with store.capture("main", "anthropic") as answer:
        for event in EVENTS:
            answer.feed(event)


def open_calls(store: Store) -> None:
    store.open_calls("main")


def record(bench: Bench) -> None:
    """A client sends 1,000 known messages and a new one; the plain table reads the session, compares and adds."""
    turns, times = bench.size(1_000, 300), bench.size(21, 5)
    said = conversation(turns)
    path, plain_path = bench.path("record"), bench.path("plain")
    plain.fill(plain_path, said)
    with Store.open(path) as store, closing(plain.connect(plain_path)) as table:
        store.record([sent(each) for each in said], bookmark="main")
        ours, least = bench.alternate(
            lambda: record_growing(lambda known: record_one(store, known), said, times) / turns,
            lambda: record_growing(lambda known: record_plain(table, known), said, times) / turns,
        )
        check(plain.load(table)[:turns], said)
    report(f"record_{turns}", ours, least, of=PLAIN, unit="us_per_known", goal_headish_us="<=10")
    with Store.open(bench.path("record-api")) as store:
        store.record([as_api(each) for each in said], bookmark="main", form="anthropic")
        api = bench.alternate(
            lambda: record_growing(lambda known: record_api(store, known), said, times) / turns,
        )
    report(f"record_api_{turns}", *api, ours, of="plain_messages", unit="us_per_known", goal_headish_us="<=15")


def record_growing(work: Callable[[list[Said]], None], said: list[Said], times: int) -> float:
    """Each call has its own new message behind the same known ones."""
    lists = [[*said, say(1_000_000 + time.monotonic_ns() % 1_000_000_000 + number)] for number in range(times)]
    return median_call(work, lists)


def sent(said: Said) -> dict[str, Any]:
    return {"role": said.role, "content": given(said)}


def record_one(store: Store, listed: list[Said]) -> None:
    if store.record([sent(each) for each in listed], bookmark="main").added != 1:
        raise SystemExit("record did not store one turn")


def as_api(said: Said) -> dict[str, Any]:
    """A turn as the client of an API sends it, all of it in blocks."""
    return {"role": "assistant" if said.role == "assistant" else "user", "content": said.content}


def record_api(store: Store, listed: list[Said]) -> None:
    if store.record([as_api(each) for each in listed], bookmark="main", form="anthropic").added != 1:
        raise SystemExit("record did not store one turn")


def record_plain(table: Any, listed: list[Said]) -> None:
    known = table.execute(plain.READ, ("main",)).fetchmany(len(listed) - 1)
    if any((said.role, encode(said.content)) != row for said, row in zip(listed[:-1], known, strict=True)):
        raise SystemExit("the plain table holds another list")
    plain.add(table, listed[-1])


def large(bench: Bench) -> None:
    """1,000,000 turns in 10,000 named threads, beside 10,000 in 100: a turn of verify, pages, look-ups, appends."""
    sizes = bench.size(1_000_000, 20_000), bench.size(10_000, 5_000)
    started = time.perf_counter()
    big, small = (many_threads(bench, turns) for turns in sizes)
    print(f"# {sum(sizes)} turns stored in {time.perf_counter() - started:.0f} s", flush=True)
    for name, work, goal in GROWING:
        against(bench, name, big, small, sizes, work, goal)
    lookup(bench, big, sizes[0])
    appended = bench.size(1_400, 150)
    few = append_to_name(bench, small, "full", appended, "thread-1")
    many = append_to_name(bench, big, "full", appended, "thread-1")
    report("append_small", few[0], few[1], of=SAME, goal="<=2", turns=sizes[1])
    report("append_large", many[0], many[1], of=SAME, goal="<=2", turns=sizes[0])
    report("append_growth", many[0], few[0], of="small_store", goal="<=1.2", limit_growth=f"{many[1] / few[1]:.2f}")


def many_threads(bench: Bench, turns: int) -> Path:
    """A store of named threads of 100 turns."""

    def threads() -> Iterator[dict[str, Any]]:
        for first in range(0, turns, PER_THREAD):
            thread = list(items(conversation(PER_THREAD, first)))
            for each in thread[1:]:
                each["continues"] += first
            thread[-1]["bookmark"] = f"thread-{first // PER_THREAD}"
            yield from thread

    path = bench.path(f"of-{turns}")
    with Store.open(path, durability="normal") as store:
        store.add_turns(threads())
    return path


def against(
    bench: Bench,
    name: str,
    big: Path,
    small: Path,
    sizes: tuple[int, int],
    work: Callable[[Store, int], float] | None,
    goal: str,
) -> None:
    """The same work on both stores."""
    if work is None:
        return skip(name, "this headish lists heads whole: heads() takes no limit")
    with Store.open(big) as many, Store.open(small) as few:
        results: list[list[float]] = [[], []]
        for _ in range(1 if name == "verify_growth" else bench.rounds):
            results[0].append(work(many, sizes[0]))
            results[1].append(work(few, sizes[1]))
    report(name, median(results[0]), median(results[1]), of=f"{sizes[1]}_turns", goal=goal, turns=sizes[0])
    return None


def verified(store: Store, turns: int) -> float:
    found: list[Any] = []
    time = microseconds(lambda: found.append(store.verify()), turns)
    if found[0].problems or found[0].turns != turns:
        raise SystemExit(f"verify found {found[0]}")
    return time


def calls(work: Callable[[Store], Any]) -> Callable[[Store, int], float]:
    return lambda store, _: median_call(lambda _: work(store), range(20))


HEADS = calls(lambda store: store.heads(limit=PAGE)) if "limit" in signature(Store.heads).parameters else None
GROWING: tuple[tuple[str, Callable[[Store, int], float] | None, str], ...] = (
    ("verify_growth", verified, "<=1.2"),
    ("heads_page", HEADS, "<=1.5"),
    ("stats_growth", calls(lambda store: store.stats()), "<=1.5"),
    ("bookmarks_page", calls(lambda store: store.bookmarks.list(limit=PAGE)), "<=1.5"),
    ("bookmarks_recent_page", calls(lambda store: store.bookmarks.list(limit=PAGE, by="recency")), "<=1.5"),
)


def lookup(bench: Bench, path: Path, turns: int) -> None:
    """Find a turn by its name."""
    with Store.open(path) as store, closing(plain.connect(path)) as same:
        names = [each.name for each in store.bookmarks.list()][:: bench.size(10, 1)]
        find = partial(same.execute, samerows.FIND)
        ours, least = bench.alternate(
            lambda: median_call(store.get, names),
            lambda: median_call(lambda name: find((name.encode(),)).fetchone(), names),
        )
    report("bookmark_lookup", ours, least, of=SAME, turns=turns, names=len(names))
