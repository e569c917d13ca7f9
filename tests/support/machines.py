"""Machines that sync: each a store with keys of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headish import Store
from headish.remotes.objects import ObjectPlace
from headish.store.keeping.sharing import places
from headish.syncing import erasures, heads, membership, own_log, pulling, signers
from headish.syncing.bundling import applying, arriving

SYNCS = """
import sys
from headish import Store
from headish.errors import HeadishError
with Store.open(sys.argv[1]) as store:
    try:
        store.remotes.exchange("box")
    except HeadishError as error:
        print(type(error).__name__)
"""
"""A program that syncs with the remote ``box``, and says what failed."""


class Machine:
    """A store of its own, with keys of its own while it is entered."""

    def __init__(self, store: Store, keys: Path, name: str) -> None:
        self.store, self.keys, self.name = store, keys, name

    def __enter__(self) -> Store:
        os.environ["HEADISH_KEYS"] = str(self.keys)
        return self.store

    def __exit__(self, *_: object) -> None:
        del os.environ["HEADISH_KEYS"]

    def add(self, url: str, **options: Any) -> None:
        with self as store:
            store.remotes.add("box", url, device=self.name, **options)

    def set(self, **options: Any) -> Any:
        with self as store:
            return store.remotes.set("box", **options)

    def sync(self, **options: Any) -> Any:
        with self as store:
            return store.remotes.exchange("box", **options)


@contextmanager
def machines(folder: Path) -> Iterator[Callable[..., Machine]]:
    """What makes machines in a folder; all are closed at the end."""
    opened: list[Store] = []

    def make(name: str, store: Store | None = None, *, space: str = "default") -> Machine:
        if store is None:
            store = Store.open(folder / f"{name}.db", durability="normal", space=space)
            opened.append(store)
        return Machine(store, folder / f"keys-{name}", name)

    yield make
    for store in opened:
        store.close()


Pair = tuple[Machine, Machine]
"""The desk and the laptop, which it has invited."""


def url_of(folder: Path) -> str:
    return folder.as_uri()


def invite(host: Machine, guest: Machine, url: str) -> None:
    """Give a second machine the key of the first."""
    with guest as store:
        added = store.remotes.add("box", url, device=guest.name)
    with host as store:
        fingerprint = store.remotes.invite("box", added.recipient or "")
    guest.set(key=fingerprint)


def objects(folder: Path) -> dict[str, bytes]:
    """What lies in a folder, by path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class CutOff(BaseException):
    """The machine stopped: nothing of ours ran behind this."""


def _stop() -> None:
    raise CutOff


@contextmanager
def cut_off(after: int, stop: Callable[[], None] = _stop) -> Iterator[list[int]]:
    """Stop at a moment: each request to a place and each transaction that writes has one before it and one behind it.
    Yields a list whose length is how many there were, at most ``after`` and one."""
    moments: list[int] = []

    def pass_on() -> None:
        moments.append(len(moments))
        if len(moments) > after:
            stop()

    def stopping(work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any, **named: Any) -> Any:
            pass_on()
            done = work(*given, **named)
            pass_on()
            return done

        return run

    with pytest.MonkeyPatch.context() as patch:
        for name in ("put", "put_new", "get", "list", "delete"):
            patch.setattr(ObjectPlace, name, stopping(getattr(ObjectPlace, name)))
        write_locked = arriving.write_locked
        for module in (heads, membership, pulling, own_log, signers, erasures, applying, arriving, places):
            patch.setattr(module, "write_locked", stopping(write_locked))
        yield moments


def put_back(folder: Path, wanted: dict[str, bytes]) -> None:
    """Make a folder hold what it held once."""
    for path in objects(folder):
        (folder / path).unlink()
    for path, data in wanted.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)


def bundles(folder: Path) -> list[Path]:
    return list(folder.rglob("*.hb"))


def state(store: Store) -> tuple[Any, ...]:
    return {turn.id: turn.seal for turn in store.turns()}, dict(store.bookmarks)
