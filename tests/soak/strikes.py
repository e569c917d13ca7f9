"""Every verb that writes is killed, ended at each of its statements, and interrupted: ``python tests/soak/strikes.py``.

One line for each verb and way: how often it was struck, and how many calls were acknowledged, or what was wrong. After
an end at a statement, what the verb changes is there as a whole or not at all, and the call succeeds. A store that is
opened anew has what was acknowledged, ``verify`` is clean, and it can write. Else the exit code is 1.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # as pytest does

from headish import Database, Store
from headish.errors import TurnErased
from soak.rounds import Failed, Soak, Where
from soak.verbs import VERBS, Verb
from support.interrupts import Interrupted, interrupting

MOST_STATEMENTS = 500
"""A verb that runs more has no end."""


class Struck(NamedTuple):
    """How often a verb was struck, and how many of its calls were acknowledged."""

    strikes: int
    acknowledged: int


def kill(where: Where, verb: Verb, kills: int, chance: random.Random) -> Struck:
    """``kill -9`` of a process that calls the verb again and again, each at a moment of its own."""
    acknowledged = list[str]()
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

    Raises: Failed if one left a part of what a whole call changes, or the call does not succeed afterwards.
    """
    left, tags = list[Counter[Any]](), list[str]()
    with Store.open(where.target, space=where.space) as store:
        for at in range(1, MOST_STATEMENTS):
            tags.append(f"{where.space}.{at}")
            verb.prepare(store, tags[-1])
            before = facts(store, tags[-1])
            code = _ended(_fork(partial(_call_until, where, verb, tags[-1], at)))
            left.append(facts(store, tags[-1]) - before)
            if not code:
                break
            if not left[-1]:
                verb.call(store, tags[-1])
    parts = [f"{at}: {dict(each)}" for at, each in enumerate(left, 1) if each and each != left[-1]]
    if parts:
        raise Failed(f"{where}: a part was left at statement {parts[0][:400]}")
    _check(where, verb, tags)
    return Struck(len(tags) - 1, len(tags))


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
    acknowledged, sent, numbers = list[str](), 0, count()
    with Store.open(where.target, space=where.space) as store, interrupting():
        usual = 0.001
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
                usual *= 1.05
            else:
                acknowledged.append(tag)
                usual *= 0.9  # so two of three calls are interrupted, however long the verb takes
            finally:
                with suppress(Interrupted):
                    signal.setitimer(signal.ITIMER_REAL, 0)
    _check(where, verb, acknowledged)
    return Struck(sent, len(acknowledged))


def _check(where: Where, verb: Verb, acknowledged: list[str]) -> None:
    """What must be true for a store that is opened anew. Raises: Failed."""
    with Store.open(where.target, space=where.space) as store:
        lost = [tag for tag in acknowledged if not verb.holds(store, tag)]
        if lost:
            raise Failed(f"{where}: {len(lost)} acknowledged calls are lost: {lost[:5]}")
        store.add_turn("another", continues="main")
        for each in (store, Database(store._database).store("copies")):
            if problems := each.verify().problems:
                raise Failed(f"{where}: verify finds {problems[:3]}")


def facts(store: Store, tag: str) -> Counter[Any]:
    """What a space says, its tag left out: no id, no time, and no number of a mark that stands for an erased name."""

    def text(id: str) -> str:
        try:
            return store.text(id)
        except TurnErased:
            return "erased"

    said = Counter[Any](("turn", turn.meta.role, text(turn.id)) for turn in store.turns())
    said.update(("name", name, text(turn)) for name, turn in dict(store.bookmarks).items())
    said.update(("pointer", name) for name in store.pointers)
    said.update(("tools", name) for name in dict(store.tools))
    said.update(("object", each.key, each.data) for each in store.objects.list("kind"))
    said.update(("title", store.conversations.get(name).record.title) for name in store.bookmarks if name == tag)
    said.update(("space", name) for name in Database(store._database).spaces)
    said.update(["receipt"] * len(list(store.erasures)))
    own = re.compile(rf"{tag}(?!\d)|(?<=erased-)\d+")
    return Counter(own.sub("TAG", str(each)) for each in said.elements())


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("ways", nargs="*", choices=[*WAYS, []], default=list(WAYS), help="all, if none is named")
    parser.add_argument("--times", type=int, default=100, help="kills or interrupts of each verb on each database")
    parser.add_argument("--verbs", default="", help="those whose names match this pattern")
    parser.add_argument("--on", choices=["sqlite", "postgresql"], action="append", help="both, if none is named")
    parser.add_argument("--seed", type=int, default=1, help="repeats the choices of a run, not its moments")
    given = parser.parse_args()
    sys.unraisablehook = lambda _: None  # an interrupt inside a destructor, which Python would only print
    verbs = [name for name in VERBS if re.search(given.verbs, name)]
    failed = False
    with tempfile.TemporaryDirectory(prefix="headish-strikes-") as folder:
        soak = Soak(Path(folder), given.seed)
        try:
            for way in given.ways:
                for on in given.on or ("sqlite", "postgresql"):
                    failed |= _strike_all(soak, way, on, verbs, given.times)
        finally:
            soak.close()
    sys.exit(failed)


def _strike_all(soak: Soak, way: str, on: str, verbs: list[str], times: int) -> bool:
    """Strike each verb in a file or space of its own, and say what came of it; whether something was wrong."""
    total, failed = Counter[str](), False
    for name in verbs:
        where = soak.file() if on == "sqlite" else soak.space()
        Store.open(where.target, space="copies").close()
        try:
            done = WAYS[way](where, VERBS[name], times, soak.chance)
        except Failed as failure:
            failed = True
            print(f"{way:<11} {on:<11} {name:<18} {failure}", flush=True)
        else:
            total.update(done._asdict())
            print(f"{way:<11} {on:<11} {name:<18} {done.strikes:>7,} {done.acknowledged:>7,}", flush=True)
    print(
        f"{way:<11} {on:<11} {len(verbs)} verbs: {total['strikes']:,} strikes, {total['acknowledged']:,} acknowledged"
    )
    return failed


if __name__ == "__main__":
    main()
