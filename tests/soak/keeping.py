"""Rounds in which backups, restores and readers of the feed are killed, each at a moment of its own."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import headish
from headish import Store
from headish.errors import SpaceRestoring, UnknownSpace
from soak import rounds
from soak.keeper import started
from soak.rounds import Failed, Round, Skipped, Soak, Where, finish, kind_of, writing
from support.command import HEADISH

ENDS = 3
"""How many of them are killed in a round."""


def kill_backups(soak: Soak) -> Round:
    """kill -9 of backups beside two writers; a file that has its name is whole, and the last one has every turn."""
    where = soak.either("backups")
    with writing(soak, where, 2) as writers:
        for writer in writers:
            writer.wait_for(20)
        for _ in range(ENDS):
            file = soak.folder / f"killed-{soak.number()}.hbackup"
            _kill_within(soak, started("backup", *where, str(file)), 2.5)
            if file.exists():
                _ids_in(soak, where, file)
        before = {id for writer in writers for id in writer.notes().acknowledged}
        file = soak.folder / f"whole-{soak.number()}.hbackup"
        if started("backup", *where, str(file)).wait(120):
            raise Failed(f"{where}: a backup beside writers failed")
    missing = before - _ids_in(soak, where, file)
    if missing:
        raise Failed(f"{where}: a backup lacks {len(missing)} turns that were stored before it began")
    return finish(soak, where, [writer.notes() for writer in writers], ENDS, how=kind_of(where))


def kill_restores(soak: Soak) -> Round:
    """kill -9 of restores; what each leaves is not there, refuses to open, or is whole; then one that is not killed."""
    source = soak.file()
    with writing(soak, source, 1, turns=150) as [writer]:
        writer.process.wait(120)
    file = soak.folder / f"source-{soak.number()}.hbackup"
    with Store.open(source.target) as store:
        store.backup(file)
        wanted = [turn.id for turn in store.turns()]
    where = _empty(soak)
    for _ in range(ENDS):
        _kill_within(soak, started("restore", *where, str(file)), 2.5)
        found = _opened(where)
        if found not in (None, wanted):
            raise Failed(f"{where}: a killed restore left a part that opens")
        if found:
            where = _empty(soak)
    if started("restore", *where, str(file)).wait(120) or _opened(where) != wanted:
        raise Failed(f"{where}: a restore behind killed ones is not whole")
    return finish(soak, where, [writer.notes()], ENDS, how=kind_of(where))


def kill_readers(soak: Soak) -> Round:
    """kill -9 of ``headish follow`` beside two writers; with its cursor file it reads each turn, in order, no gap."""
    where = soak.either("readers")
    read = soak.folder / f"read-{soak.number()}"
    with writing(soak, where, 2) as writers:
        for _ in range(ENDS):
            reader = _follow(where, read)
            writers[0].wait_for(len(writers[0].notes().acknowledged) + 5)
            _kill_within(soak, reader, 2.0)
    if _follow(where, read, "--no-wait").wait(120):
        raise Failed(f"{where}: a reader could not go on")
    with Store.open(where.target, space=where.space) as store:
        stored = [turn.id for turn in store.turns()]
    # What was printed and not noted yet comes again, in its order; a line that a kill cut off comes whole.
    lines = [json.loads(line) for line in read.read_text().splitlines() if line.endswith("}")]
    if list(dict.fromkeys(line["turn"]["id"] for line in lines if line["kind"] == "turn")) != stored:
        raise Failed(f"{where}: a reader that was killed has gaps, or another order")
    return finish(soak, where, [writer.notes() for writer in writers], ENDS, how=kind_of(where))


def _follow(where: Where, read: Path, *more: str) -> subprocess.Popen[bytes]:
    with read.open("ab") as out:
        words = ("--db", where.target, "--space", where.space, "follow", "--json", "--cursor-file", f"{read}.cursor")
        return subprocess.Popen([str(HEADISH), *words, *more], stdout=out)


def _kill_within(soak: Soak, process: subprocess.Popen[bytes], seconds: float) -> None:
    time.sleep(soak.chance.uniform(0, seconds))
    process.kill()
    process.wait()


def _ids_in(soak: Soak, where: Where, file: Path) -> set[str]:
    """The turns of a backup. Raises: Failed where it cannot be put back whole."""
    copy = soak.folder / f"copy-{soak.number()}.db"
    headish.restore(file, copy)
    with Store.open(copy, space=where.space, create=False) as store:
        if store.verify().problems:
            raise Failed(f"{where}: the backup {file} has its name, and does not verify")
        return {turn.id for turn in store.turns()}


def _empty(soak: Soak) -> Where:
    """A place for a restore: a file that is not there, or a space of the server, in turns."""
    number = soak.number()
    file = Where(str(soak.folder / f"restored-{number}.db"), "default")
    if soak.takes_turn("restores"):
        try:
            return Where(soak.server().url.replace("postgresql://", "postgresql+psycopg://"), f"restored-{number}")
        except Skipped:
            return file
    return file


def _opened(where: Where) -> list[str] | None:
    """The turns of a place that opens; None where nothing is there, or it refuses."""
    if "://" not in where.target and not Path(where.target).exists():
        return None
    try:
        with Store.open(where.target, space=where.space, create=False) as store:
            return [turn.id for turn in store.turns()]
    except (UnknownSpace, SpaceRestoring):
        return None


KINDS: dict[str, Callable[[Soak], Round]] = {
    **rounds.KINDS,
    "backups": kill_backups,
    "restores": kill_restores,
    "readers": kill_readers,
}
"""The kinds, in the order in which they take turns."""
