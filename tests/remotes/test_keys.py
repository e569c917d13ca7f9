"""The folder for keys of remotes, where nothing can be written or removed."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import ENOSPC
from pathlib import Path
from typing import Any

import pytest

from headish import Store
from headish.errors import InvalidArgument
from headish.remotes.objects import ObjectPlace
from support.machines import Machine, invite, machines, objects, url_of

KILLED = """
import os, signal, sys
from headish import Store
os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
with Store.open(sys.argv[1]) as store:
    store.remotes.add("killed", sys.argv[2])
"""
NOT_WRITTEN = "nothing can be written in .*keys.*HEADISH_KEYS"


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Callable[..., Machine]]:
    with machines(tmp_path) as make:
        yield make


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Let this process write files of at most ``size`` bytes, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def add(store: Store, url: str, **options: Any) -> None:
    store.remotes.add("box", url, device="desk", **options)


@pytest.mark.parametrize("kind", ["folder", "command"])
def test_a_folder_that_cannot_be_made(
    kind: str, machine: Callable[..., Machine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = url_of(tmp_path / "box") if kind == "folder" else "cmd:headish serve-stdio"
    desk = machine("desk")
    (tmp_path / "file").touch()
    monkeypatch.setenv("HEADISH_KEYS", str(tmp_path / "file" / "keys"))
    with pytest.raises(InvalidArgument, match=NOT_WRITTEN):
        add(desk.store, url)
    assert (desk.store.remotes.list(), objects(tmp_path / "box")) == ([], {})


@pytest.mark.parametrize("size", [0, 20])
def test_a_full_disk(size: int, machine: Callable[..., Machine], tmp_path: Path) -> None:
    box, desk, laptop = tmp_path / "box", machine("desk"), machine("laptop")
    with desk as store, room_for(size), pytest.raises(InvalidArgument, match=NOT_WRITTEN):
        add(store, url_of(box))
    assert (desk.store.remotes.list(), objects(box), list(desk.keys.iterdir())) == ([], {}, [])
    laptop.add(url_of(box))  # the place is free, and a key that was half written is not taken for that of a machine
    desk.add(url_of(box))


def test_a_key_that_cannot_be_kept_here_is_not_changed_there(
    machine: Callable[..., Machine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box, desk, laptop = tmp_path / "box", machine("desk"), machine("laptop")
    desk.add(url_of(box))
    invite(desk, laptop, url_of(box))
    laptop.store.add_turn("said on the laptop")
    laptop.sync()
    desk.sync()
    lies_there = objects(box)
    with desk as store, monkeypatch.context() as patch:
        patch.setattr(os, "replace", _is_full)
        with pytest.raises(InvalidArgument, match=NOT_WRITTEN):
            store.remotes.revoke("box", "laptop")
    assert objects(box) == lies_there
    laptop.store.add_turn("said afterwards")
    laptop.sync()
    assert desk.sync().pulled.stored == 1
    with desk as store:
        store.remotes.revoke("box", "laptop")


def test_a_file_that_cannot_be_removed_is_named(machine: Callable[..., Machine], tmp_path: Path) -> None:
    desk = machine("desk")
    desk.add("cmd:headish serve-stdio")
    [file] = desk.keys.iterdir()
    file.unlink()
    file.mkdir()
    with desk as store, pytest.raises(InvalidArgument, match=f"stay in {file}"):
        store.remotes.remove("box")
    assert desk.store.remotes.list() == []


def _is_full(*_: object) -> None:
    raise OSError(ENOSPC, os.strerror(ENOSPC))


def test_a_file_of_keys_without_a_key_is_named(machine: Callable[..., Machine], tmp_path: Path) -> None:
    desk = machine("desk")
    desk.add(url_of(tmp_path / "box"))
    desk.sync()
    [file] = desk.keys.iterdir()
    kept = file.read_bytes()
    file.write_bytes(kept.replace(b"AGE-SECRET-KEY-1", b"AGE-SECRET-KEY-2", 1))
    with desk as store:
        for verb in (store.remotes.list, lambda: store.remotes.exchange("box")):
            with pytest.raises(InvalidArgument, match=f"{file.name} cannot be read"):
                verb()
    file.write_bytes(kept)
    desk.sync()


def test_a_passphrase_that_is_not_utf_8_is_refused(
    machine: Callable[..., Machine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADISH_PASSPHRASE", os.fsdecode(b"phrase\xff"))
    with machine("desk") as store, pytest.raises(InvalidArgument, match="HEADISH_PASSPHRASE holds bytes that are not"):
        add(store, url_of(tmp_path / "box"), passphrase=True)
    assert objects(tmp_path / "box") == {}


def test_the_key_of_a_place_outlasts_a_loss_of_power(
    machine: Callable[..., Machine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The names in a folder are on the disk as they were when the folder was flushed last."""
    desk, box, sync = machine("desk"), tmp_path / "box", os.fsync
    on_disk: list[set[str]] = [set()]
    put: list[set[str]] = []

    def note(opened: int) -> None:
        sync(opened)
        if stat.S_ISDIR(os.fstat(opened).st_mode):
            on_disk.append({each.suffix for each in desk.keys.iterdir()})

    def put_new(place: ObjectPlace, path: str, data: bytes) -> bool:
        put.append(on_disk[-1])
        return new(place, path, data)

    new = ObjectPlace.put_new
    monkeypatch.setattr(os, "fsync", note)
    monkeypatch.setattr(ObjectPlace, "put_new", put_new)
    desk.add(url_of(box))
    assert put[0] == {".begun"}, "a place without a key on this machine's disk is closed for good"
    assert ".json" in on_disk[-1]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9 here; run this on a POSIX system")
def test_a_key_whose_writing_was_killed_does_not_stay(machine: Callable[..., Machine], tmp_path: Path) -> None:
    desk, other = machine("desk"), url_of(tmp_path / "other")
    desk.add(url_of(tmp_path / "box"))
    command = [sys.executable, "-c", KILLED, str(tmp_path / "desk.db"), other]
    keys = {**os.environ, "HEADISH_KEYS": str(desk.keys)}
    assert subprocess.run(command, env=keys, check=False).returncode == -signal.SIGKILL
    [part] = desk.keys.glob("*.part-*")
    assert b"AGE-SECRET-KEY" in part.read_bytes()
    with desk as store:
        store.remotes.add("third", url_of(tmp_path / "third"))
        assert part.exists()  # another process may be writing it
        os.utime(part, (0, 0))
        store.remotes.add("fourth", url_of(tmp_path / "fourth"))
        assert not part.exists()
        [file, *_] = desk.keys.glob("*.json")
        left = file.with_name(f"{file.name}.part-00112233")
        left.touch()
        for each in store.remotes.list():
            store.remotes.remove(each.name)
    assert list(desk.keys.glob("*.json*")) == []
