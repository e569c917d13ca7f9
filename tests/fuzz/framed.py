"""What a fuzzer feeds where frames have sums: it says what the frames hold, and the sums are put right.

::

    loose = *piece        piece = kind u8, length u16 (big-endian), body

Every byte of a bundle, of a conversation between stores and of a spool lies under a BLAKE3: a fuzzer that changed the
files themselves would never get behind it. A last piece may be cut short.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from io import BytesIO
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import msgspec

from headish import Database, Store
from headish.bundles.live import LIVE, Hello, LiveKind
from headish.bundles.records import BUNDLE
from headish.bundles.streams import BundleReader
from headish.content.frames import FrameFormat, FrameWriter
from headish.errors import HeadishError
from headish.gateway.spool import SpoolFrame, SpoolReader, calls_in
from headish.gateway.spool.frames import MAGIC, SpoolKind, write_frame
from headish.gateway.spool.writer import SUFFIX
from headish.remotes.commands import Pipes
from headish.rows.elsewhere.arrivals import STRANGER, ArrivalOrigin
from headish.serve.recorder.recording import CallRecorder
from headish.store.keeping.sharing import live
from headish.syncing.bundling.applying import apply_bundle
from headish.syncing.bundling.arriving import SyncTarget
from headish.syncing.bundling.checking import check_bundle
from headish.syncing.live import wire as wire_module
from headish.syncing.live.answering import Answering, Doorkeeper
from headish.syncing.live.wire import Wire

Piece = tuple[int, bytes]
SPACES = 500
_HEAD_BYTES, _FRAME_HEAD_BYTES, _FRAME_SUM_BYTES = 3, 5, 16


def pieces_of(loose: bytes) -> Iterator[Piece]:
    """The kinds and bodies that a fuzzer thought of."""
    at = 0
    while at + _HEAD_BYTES <= len(loose):
        begin = at + _HEAD_BYTES
        at = begin + int.from_bytes(loose[at + 1 : begin], "big")
        yield loose[begin - _HEAD_BYTES], loose[begin:at]


def as_loose(*pieces: Piece) -> bytes:
    """Pieces as a fuzzer gets them."""
    return b"".join(bytes([kind]) + len(body).to_bytes(2, "big") + body for kind, body in pieces)


def loosened(framed: bytes, format: FrameFormat) -> bytes:
    """A file of frames as a fuzzer gets it."""
    at, found = len(format.magic), []
    while at < len(framed):
        begin = at + _FRAME_HEAD_BYTES + _FRAME_SUM_BYTES
        kind, length = framed[at], int.from_bytes(framed[at + 1 : at + _FRAME_HEAD_BYTES], "big")
        at = begin + length
        found.append((kind, zlib.decompress(framed[begin:at])))
    return as_loose(*found)


def framed(loose: bytes, format: FrameFormat) -> bytes:
    """A file with the frames that a fuzzer thought of, under their sums."""
    file = BytesIO()
    writer = FrameWriter(file, format)
    for kind, body in pieces_of(loose):
        writer.write(kind, msgspec.Raw(body))  # type: ignore[arg-type]
    return file.getvalue()


def read_bundle(loose: bytes) -> None:
    """What is proven is stored whole, and verifies."""
    data = framed(loose, BUNDLE)
    check_bundle(BundleReader(BytesIO(data), "a bundle"), "a bundle")
    store = _empty_store()
    apply_to(store, data)
    assert store.verify().problems == ()


def apply_to(store: Store, bundle: bytes) -> None:
    """Store what a bundle brings."""
    apply_bundle(_target(store), BundleReader(BytesIO(bundle), "a bundle"), ArrivalOrigin(STRANGER, by=b"x"))


def answer_questions(loose: bytes) -> None:
    """A store answers whoever calls it: with what was asked for, or by saying why not; it stays whole."""
    pipes = _Said(framed(as_loose((LiveKind.HELLO, _HELLO)) + loose, LIVE))
    store = _talked_with()
    before = store.position()
    with suppress(HeadishError), _without_beats(), Wire(pipes, "a caller") as wire:
        Answering(_target(store), wire, Doorkeeper("default", trusts=True, erases=True)).run()
    _check_whole(store, before)


def read_answers(loose: bytes) -> None:
    """A store that calls believes nothing that it is told; it stays whole."""
    store = _talked_with()
    before = store.position()
    said = framed(loose, LIVE)
    with suppress(HeadishError), _without_beats(), _in_place_of_commands(lambda *_: _Told(said)):
        store.remotes.exchange("box")
    _check_whole(store, before)


def read_spool(loose: bytes) -> None:
    """The calls of a segment are put together and stored, and every reader finds the same ones. The upper half of a
    piece's kind is the number of its call."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-spool-"))
    try:
        _read_spool(folder, loose)
    finally:
        shutil.rmtree(folder)


def _read_spool(folder: Path, loose: bytes) -> None:
    frames = [
        SpoolFrame(SpoolKind(kind & 15), f"{kind >> 4:025}", body)
        for kind, body in pieces_of(loose)
        if kind & 15 in {each.value for each in SpoolKind}
    ]
    (folder / f"run-000{SUFFIX}").write_bytes(MAGIC + b"".join(map(write_frame, frames)))
    begun = calls_in(folder)
    calls = list(SpoolReader(folder).read(is_over=True))
    assert {each.id for each in calls} <= begun.keys()
    store = _empty_store()
    recorder = CallRecorder(lambda _: store)
    for call in calls:
        with suppress(HeadishError):
            recorder.record(call)
    assert store.verify().problems == ()


class _Said(Pipes):
    """A store at the other end that has said all it says, and listens to nothing."""

    def __init__(self, said: bytes) -> None:
        self.name, self.ended, self._left = "the other store", False, BytesIO(said)

    def read(self, length: int) -> bytes:
        data = self._left.read(length)
        self.ended = self.ended or len(data) < length
        return data

    def write(self, data: bytes) -> None:
        """Nobody reads it."""

    def takes(self) -> bool:
        return True


class _Told:
    """What stands in for the command of a live remote."""

    has_ended = True

    def __init__(self, said: bytes) -> None:
        self.pipes = _Said(said)

    def __enter__(self) -> _Told:
        return self

    def __exit__(self, *_: object) -> None:
        """There is no process."""

    def why(self, reason: str) -> str:
        return reason


def _without_beats() -> AbstractContextManager[object]:
    """No thread says now and then that somebody is there: to start one takes longer than an input."""
    made = SimpleNamespace(Lock=threading.Lock, Event=threading.Event, Thread=lambda **_: SimpleNamespace(start=bool))
    return patch.object(wire_module, "threading", made)


@contextmanager
def _in_place_of_commands(command: Any) -> Iterator[None]:
    """Live remotes talk to something else, with keys of their own."""
    made, keys = live.Command, os.environ.get("HEADISH_KEYS")
    live.Command, os.environ["HEADISH_KEYS"] = command, _keys().name  # type: ignore[misc]
    try:
        yield
    finally:
        live.Command = made  # type: ignore[misc]
        if keys is None:
            del os.environ["HEADISH_KEYS"]
        else:
            os.environ["HEADISH_KEYS"] = keys


_HELLO = msgspec.msgpack.encode(Hello("default", "desk"))
_opened: list[Store] = []


def _talked_with() -> Store:
    """A store with a few turns that are the same in every run, and a live remote."""
    if not _opened:
        store = Store.open(":memory:")
        apply_to(store, VECTOR)
        with _in_place_of_commands(None):
            store.remotes.add("box", "cmd:x", device="desk")
        _opened.append(store)
    return _opened[0]


_databases: list[Database] = []
_numbers = count(1)


def _empty_store() -> Store:
    """A space in which nothing was said: made sooner than a database, which is left behind once it is full of them."""
    number = next(_numbers)
    if number % SPACES == 1:
        for each in _databases:
            each.close()
        _databases[:] = [Database.open(":memory:")]
    return _databases[0].store(f"space-{number}", create=True)


def _check_whole(store: Store, before: str) -> None:
    """A store that a conversation has changed verifies, and the next input begins with a new one."""
    if store.position() != before:
        assert store.verify().problems == ()
        _opened.clear()
        store.close()


@cache
def _keys() -> tempfile.TemporaryDirectory[str]:
    """The folder of the keys, which is removed when the process ends."""
    return tempfile.TemporaryDirectory(prefix="fuzz-keys-")


def _target(store: Store) -> SyncTarget:
    return SyncTarget(store._open_backend(), store._number, store._database.mint, store._payload_limit_bytes)


def _vector() -> bytes:
    page = (Path(__file__).resolve().parents[2] / "docs/reference/bundles.md").read_text("utf-8")
    text = page.partition("## A bundle, byte for byte")[2].partition("```")[2].partition("\n")[2].partition("```")[0]
    return bytes.fromhex(text)


VECTOR = _vector()
"""The bundle that the reference spells out."""
FRAMED: dict[str, Callable[[bytes], Any]] = {
    "bundle": read_bundle, "live-questions": answer_questions, "live-answers": read_answers, "spool": read_spool,
}  # fmt: skip
"""The targets of this module, by name."""
