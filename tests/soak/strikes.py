"""Every verb that writes is killed, ended at each of its statements, and interrupted: ``python tests/soak/strikes.py``.

One line for each verb and way: how often it was struck, and how many calls were acknowledged, or what was wrong. After
an end at a statement, what the verb changes is there as a whole or not at all, and the call succeeds. A store that is
opened anew has what was acknowledged, ``verify`` is clean, and it can write. Else the exit code is 1.

With ``--results`` a run that was ended goes on where it was: each slice of each verb is a line of the file, and counts.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import re
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # as pytest does

from headish import Store
from headish.errors import NotIsolated, TurnErased
from soak.rounds import Failed, Soak, Where
from soak.verbs import VERBS, Verb
from soak.verbs.verb import database, other
from support.interrupts import Interrupted, interrupting

MOST_STATEMENTS = 500
"""A verb that runs more has no end."""
SLICE = 250
"""So many strikes of a verb, then the next one has its turn: what has run counts, whenever the run ends."""


Change = dict[str, int]
"""What became more, or less, and by how many."""


class Struck(NamedTuple):
    """How often a verb was struck, and how many of its calls were acknowledged."""

    strikes: int
    acknowledged: int


def kill(where: Where, verb: Verb, kills: int, chance: random.Random) -> Struck:
    """``kill -9`` of a process that calls the verb again and again, each at a moment of its own."""
    acknowledged = list[str]()
    with Store.open(where.target, space=where.space) as store:
        verb.prepare(store, f"{where.space}.first")  # what the verb needs beside a store is the parent's
    for number in range(kills):
        reading, writing = os.pipe()
        child = _fork(partial(_call_on, where, verb, f"{where.space}.{number}", writing))
        os.close(writing)
        told = os.read(reading, 1)
        time.sleep(chance.uniform(0, 0.02))
        os.kill(child, signal.SIGKILL)
        _ended(child)
        with os.fdopen(reading, "rb") as rest:
            acknowledged += (told + rest.read()).decode().split("\n")[:-1]
    _check(where, verb, acknowledged)
    return Struck(kills, len(acknowledged))


def _call_on(where: Where, verb: Verb, tag: str, writing: int) -> None:
    with Store.open(where.target, space=where.space) as store:
        for number in count():
            verb.prepare(store, f"{tag}.{number}")
            verb.call(store, f"{tag}.{number}")
            os.write(writing, f"{tag}.{number}\n".encode())


def end_at_statements(where: Where, verb: Verb, _times: int, _chance: random.Random) -> Struck:
    """A process is killed before the first statement of a call, the second, until a call comes to its end.

    Raises: Failed if one left a part of what a whole call changes, unless the verb says how one goes on from there, or
    the call does not succeed afterwards.
    """
    left, tags = list[Change](), list[str]()
    with Store.open(where.target, space=where.space) as store:
        for at in range(1, MOST_STATEMENTS):
            tags.append(f"{where.space}.{at}")
            verb.prepare(store, tags[-1])
            before = facts(store, tags[-1])
            code = _ended(_fork(partial(_call_until, where, verb, tags[-1], at)))
            left.append(_change(before, facts(store, tags[-1])))
            if not code:
                break
            if not left[-1]:
                verb.call(store, tags[-1])
            elif verb.go_on:
                verb.go_on(store, tags[-1])
    parts = [f"{at}: {each}" for at, each in enumerate(left, 1) if each and each != left[-1]]
    if parts and not verb.go_on:
        raise Failed(f"{where}: a part was left at statement {parts[0][:400]}, and not {left[-1]}")
    _check(where, verb, tags)
    return Struck(len(tags) - 1, len(tags))


def _change(before: Counter[str], after: Counter[str]) -> Change:
    """What is there more or less often than before."""
    return {each: more for each in before | after if (more := after[each] - before[each])}


def _call_until(where: Where, verb: Verb, tag: str, at: int) -> None:
    steps = count(1)

    def step(*_: object) -> None:
        if armed and next(steps) == at:
            os.kill(os.getpid(), signal.SIGKILL)

    armed = False
    _watch(step)
    with Store.open(where.target, space=where.space) as store:
        armed = True
        verb.call(store, tag)


def _watch(step: Callable[..., None]) -> None:
    """``step`` before each statement that a driver is given from now on, and before each COMMIT."""
    connect = sqlite3.connect

    def watched(*given: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*given, **options)
        connection.set_trace_callback(step)
        return connection

    sqlite3.connect = watched
    import psycopg

    for kind, names in ((psycopg.Cursor, ("execute", "executemany")), (psycopg.Connection, ("commit",)),
                        (psycopg.Pipeline, ("__exit__",))):  # fmt: skip
        for name in names:
            setattr(kind, name, _then(step, getattr(kind, name)))


def _then(step: Callable[..., None], run: Callable[..., Any]) -> Callable[..., Any]:
    def stepped(*given: Any, **options: Any) -> Any:
        step()
        return run(*given, **options)

    return stepped


def interrupt(where: Where, verb: Verb, interrupts: int, chance: random.Random) -> Struck:
    """A signal's handler raises at random moments of the verb alone, and the store goes on."""
    acknowledged, sent, numbers = [f"{where.space}.first"], 0, count()
    with Store.open(where.target, space=where.space) as store, interrupting():
        usual = _seconds(store, verb, acknowledged[0])
        while sent < interrupts:
            tag = f"{where.space}.{next(numbers)}"
            verb.prepare(store, tag)
            try:
                signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.00002, usual))
                verb.call(store, tag)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except (Interrupted, RuntimeError) as error:
                # Python's own locks say that they are not held where an interrupt fell into them.
                if not isinstance(error, Interrupted) and not isinstance(error.__context__, Interrupted):
                    raise
                sent += 1
                usual *= 1.03
            else:
                acknowledged.append(tag)
                usual *= 0.85  # so five of six calls are interrupted, however long the verb takes
            finally:
                with suppress(Interrupted):
                    signal.setitimer(signal.ITIMER_REAL, 0)
    _check(where, verb, acknowledged)
    return Struck(sent, len(acknowledged))


def _seconds(store: Store, verb: Verb, tag: str) -> float:
    """How long a call takes that nothing interrupts."""
    verb.prepare(store, tag)
    began = time.monotonic()
    verb.call(store, tag)
    return time.monotonic() - began


def _check(where: Where, verb: Verb, acknowledged: list[str]) -> None:
    """What must be true for a store that is opened anew. Raises: Failed."""
    with Store.open(where.target, space=where.space) as store:
        lost = [tag for tag in acknowledged if not verb.holds(store, tag)]
        if lost:
            raise Failed(f"{where}: {len(lost)} acknowledged calls are lost: {lost[:5]}")
        store.add_turn("another", continues="main")
        for each in (store, other(store)):
            if problems := each.verify().problems:
                raise Failed(f"{where}: verify finds {problems[:3]}")


def facts(store: Store, tag: str) -> Counter[str]:
    """What a space says, its tag left out: no id, no time, and no number of a mark that stands for an erased name."""
    own = re.compile(rf"{tag}(?!\d)|(?<=erased-)\d+")
    return Counter(own.sub("TAG", str(each)) for each in (*_said(store), *_kept(store), *_beside(store, tag)))


def _said(store: Store) -> Iterator[Any]:
    for turn in store.turns():
        try:
            yield "turn", turn.meta.role, store.text(turn.id)
        except TurnErased:
            yield "turn", turn.meta.role, "erased"
    for name, turn in dict(store.bookmarks).items():
        try:
            yield "name", name, store.text(turn)
        except TurnErased:
            yield "name", name, "erased"


def _kept(store: Store) -> Iterator[Any]:
    yield from (("pointer", name) for name in store.pointers)
    yield "default", store.pointers.default
    yield from (("tools", name) for name in store.tools)
    yield from (("object", each.key, each.data) for each in store.objects.list("kind"))
    yield from (("batch", each.name, each.state) for each in store.batches.list())
    yield from (("remote", each.name, each.names) for each in store.remotes.list())
    yield from ["stream"] * len(store.streams)
    yield from ["receipt"] * len(list(store.erasures))


def _beside(store: Store, tag: str) -> Iterator[Any]:
    """What lies beside the space, and what costs too much to ask of all that it holds."""
    around = database(store)
    yield from (("space", name) for name in around.spaces)
    yield from (("there", name) for name in other(store).bookmarks)
    yield from (("token", each.label) for each in around.access_tokens.list())
    yield "index", around.search_index()
    if tag in around.spaces:
        yield "limit", around.spaces.limit(tag).limit_turns
    if tag in store.bookmarks:
        yield "title", store.conversations.get(tag).record.title
        yield from ["signature"] * len(store.signatures([store.bookmarks[tag]]))
    with suppress(NotIsolated):
        yield from (("member", each) for each in around.spaces.members())


def _fork(work: Callable[[], object]) -> int:
    """The number of a child that does the work and is gone, with 1 if it raised."""
    child = os.fork()
    if child:
        return child
    try:
        work()
        os._exit(0)
    except BaseException as error:
        print(f"a child: {error!r}", file=sys.stderr, flush=True)
    finally:
        os._exit(1)


def _ended(child: int) -> int:
    """0, or the negative number of the signal. Raises: Failed if the child raised; it has said so."""
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code > 0:
        raise Failed("a child failed; it says why above")
    return code


WAYS: dict[str, Callable[[Where, Verb, int, random.Random], Struck]] = {
    "kills": kill,
    "statements": end_at_statements,
    "interrupts": interrupt,
}


class Results:
    """What was struck, as lines of a file, if there is one: a run that was ended goes on where it was."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._lines = [json.loads(line) for line in path.read_text().splitlines()] if path and path.exists() else []

    def add(self, way: str, on: str, verb: str, done: Struck) -> None:
        self._lines.append({"way": way, "on": on, "verb": verb, **done._asdict()})
        if self._path is not None:
            with self._path.open("a") as file:
                file.write(json.dumps(self._lines[-1]) + "\n")

    def of(self, way: str, on: str, verb: str) -> Struck:
        """What the slices of a verb came to."""
        lines = [each for each in self._lines if (each["way"], each["on"], each["verb"]) == (way, on, verb)]
        return Struck(sum(each["strikes"] for each in lines), sum(each["acknowledged"] for each in lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("ways", nargs="*", choices=[*WAYS, []], default=[], help="all, if none is named")
    parser.add_argument("--times", type=int, default=100, help="kills or interrupts of each verb on each database")
    parser.add_argument("--results", type=Path, help="a file of what was struck, with which a later run goes on")
    parser.add_argument("--verbs", default="", help="those whose names match this pattern")
    parser.add_argument("--on", choices=["sqlite", "postgresql"], action="append", help="both, if none is named")
    parser.add_argument("--seed", type=int, default=1, help="repeats the choices of a run, not its moments")
    given = parser.parse_args()
    sys.unraisablehook = lambda _: None  # an interrupt inside a destructor, which Python would only print
    for name in ("psycopg", "headish"):  # they tell of each connection that was ended, and of what is not scrubbed yet
        logging.getLogger(name).setLevel(logging.CRITICAL)
    verbs = [name for name in VERBS if re.search(given.verbs, name)]
    failed, results = False, Results(given.results)
    with tempfile.TemporaryDirectory(prefix="headish-strikes-") as folder:
        soak = Soak(Path(folder), given.seed)
        try:
            for way in given.ways or WAYS:
                for on in given.on or ("sqlite", "postgresql"):
                    failed |= strike_all(soak, way, on, verbs, given.times, results)
        finally:
            soak.close()
    sys.exit(failed)


def place(soak: Soak, on: str, verb: Verb) -> Where:
    """A file or space of its own, with another beside it. Raises: Skipped."""
    where = soak.file() if on == "sqlite" else (verb.server or Soak.space)(soak)
    Store.open(where.target, space="copies").close()
    return where


def strike_all(soak: Soak, way: str, on: str, verbs: list[str], times: int, results: Results) -> bool:
    """Strike all verbs in slices, one verb after the other, and say what came of it; whether something was wrong."""
    wrong, verbs = set[str](), [name for name in verbs if on == "postgresql" or not VERBS[name].on_servers_alone]
    for goal in [1] if way == "statements" else [*range(SLICE, times, SLICE), times]:
        for name in verbs:
            missing = goal - results.of(way, on, name).strikes
            if name not in wrong and missing > 0:
                _strike(soak, way, on, name, missing, results, wrong)
    told = [results.of(way, on, name) for name in verbs]
    strikes, acknowledged = (sum(each) for each in zip(*told, strict=True))
    print(f"{way:<11} {on:<11} {len(verbs)} verbs: {strikes:,} strikes, {acknowledged:,} acknowledged")
    return bool(wrong)


def _strike(soak: Soak, way: str, on: str, name: str, times: int, results: Results, wrong: set[str]) -> None:
    """A slice of one verb, in a file or space of its own."""
    try:
        done = WAYS[way](place(soak, on, VERBS[name]), VERBS[name], times, soak.chance)
    except Failed as failure:
        wrong.add(name)
        print(f"{way:<11} {on:<11} {name:<18} {failure}", flush=True)
    else:
        results.add(way, on, name, done)
        print(f"{way:<11} {on:<11} {name:<18} {done.strikes:>7,} {done.acknowledged:>7,}", flush=True)


if __name__ == "__main__":
    main()
