"""Rounds of what keeps a store elsewhere: backups and restores that are killed, and readers that follow."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

from headish import Store
from headish.errors import HeadishError
from soak.follower import Follower, read_feed
from soak.rounds import Failed, Round, Soak, Where, finish, kind_of, writing
from support.command import HEADISH

STRIKES = 3
PATIENCE_SECONDS = 60


def kill_backups(soak: Soak) -> Round:
    """kill -9 of backups beside two writers: no file has the name of a backup unless it is one. Then a whole one."""
    where = soak.either("backups")
    folder = _folder(soak, "kept")
    with writing(soak, where, 2) as writers:
        for writer in writers:
            writer.wait_for(soak.chance.randint(20, 100))
        for number in range(STRIKES):
            killed = folder / f"killed-{number}.hbackup"
            _strike(soak, _backup(where, killed), 0.6)
            if killed.exists():
                _check_restored(_restored(soak, where, killed), {}, where)
        said = {id: text for writer in writers for id, text in writer.notes().acknowledged.items()}
        whole = folder / "whole.hbackup"
        _succeed(_backup(where, whole))
    _check_restored(_restored(soak, where, whole), said, where)
    return finish(soak, where, [writer.notes() for writer in writers], STRIKES, how=kind_of(where))


def kill_restores(soak: Soak) -> Round:
    """kill -9 of restores into one target: nobody opens it before it is whole, and the next one begins anew."""
    where = soak.either("restores")
    with writing(soak, where, 1) as [writer]:
        writer.wait_for(soak.chance.randint(100, 300))
    said = writer.notes().acknowledged
    kept = _folder(soak, "kept") / "whole.hbackup"
    _succeed(_backup(where, kept))
    target = _target(soak, where)
    for _ in range(STRIKES):
        _strike(soak, _restore(where, kept, target), 0.8)
        if _opens(target):
            _check_restored(target, said, where)
            target = _target(soak, where)
    _succeed(_restore(where, kept, target))
    _check_restored(target, said, where)
    return finish(soak, where, [writer.notes()], STRIKES, how=kind_of(where))


def kill_followers(soak: Soak) -> Round:
    """kill -9 of a reader that follows two writers, which are killed too: every turn came once, in commit order."""
    where = soak.either("follows")
    notes = soak.folder / f"feed-{soak.number()}"
    with writing(soak, where, 2) as writers:
        for _ in range(STRIKES):
            follower = Follower(*where, notes)
            _wait_for_lines(notes, len(read_feed(notes)) + soak.chance.randint(5, 60))
            time.sleep(soak.chance.uniform(0, 0.05))
            follower.kill()
    Follower(*where, notes, wait=False).process.wait(PATIENCE_SECONDS)
    with Store.open(where.target, space=where.space) as store:
        stored = [turn.id for turn in store.turns()]
    if [turn for _, turn in read_feed(notes)] != stored:
        raise Failed(f"{where}: what followed is not what was stored, once and in order")
    return finish(soak, where, [writer.notes() for writer in writers], STRIKES + 2, how=kind_of(where))


def _folder(soak: Soak, name: str) -> Path:
    folder = soak.folder / f"{name}-{soak.number()}"
    folder.mkdir()
    return folder


def _target(soak: Soak, where: Where) -> Where:
    """A place to restore into that holds nothing; now and then a space of the server."""
    if kind_of(where) == "PostgreSQL" and soak.chance.random() < 0.5:
        return Where(where.target, f"restored-{soak.number()}")
    return Where(str(_folder(soak, "restored") / "soak.db"), "default")


def _backup(where: Where, file: Path) -> subprocess.Popen[bytes]:
    return _start("--db", where.target, "--space", where.space, "backup", "--one-space", str(file))


def _restore(where: Where, file: Path, target: Where) -> subprocess.Popen[bytes]:
    return _start("restore", "--only", where.space, "--as", target.space, str(file), target.target)


def _start(*words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([HEADISH, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def _strike(soak: Soak, process: subprocess.Popen[bytes], seconds: float) -> None:
    """Kill a process at some moment of its life."""
    time.sleep(soak.chance.uniform(0.05, seconds))
    process.send_signal(signal.SIGKILL)
    process.communicate()


def _succeed(process: subprocess.Popen[bytes]) -> None:
    errors = process.communicate(timeout=PATIENCE_SECONDS)[1]
    if process.returncode:
        raise Failed(f"{process.args}: {errors.decode()}")


def _restored(soak: Soak, where: Where, file: Path) -> Where:
    target = _target(soak, where)
    _succeed(_restore(where, file, target))
    return target


def _opens(target: Where) -> bool:
    """Whether somebody can read there."""
    try:
        with Store.open(target.target, space=target.space, read_only=True) as store:
            return store.stats().turns > 0
    except HeadishError:
        return False


def _check_restored(target: Where, said: dict[str, str], where: Where) -> None:
    """Raises: Failed where a restored space is damaged or lacks what was said before the backup began."""
    with Store.open(target.target, space=target.space) as store:
        problems = store.verify().problems
        stored = {turn.id: store.text(turn.id) for turn in store.turns()}
    lost = [id for id, text in said.items() if stored.get(id) != text]
    if problems or lost:
        raise Failed(f"{where}: a restored backup lacks {lost[:5]}; verify finds {problems[:5]}")


def _wait_for_lines(notes: Path, count: int) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(read_feed(notes)) < count and time.monotonic() < deadline:
        time.sleep(0.005)
