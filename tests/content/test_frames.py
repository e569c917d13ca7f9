"""Frames that a thread compresses ahead are those that the caller would have compressed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Any

import pytest

from headish.bundles.records import BUNDLE, BundleKind
from headish.content.frames import FrameWriter, read_frames

LARGE = 300_000
VALUES: list[tuple[BundleKind, Any]] = [
    (BundleKind.RECEIPT, b"small"),
    (BundleKind.RECEIPT, b"large " + os.urandom(LARGE)),
    (BundleKind.RECEIPT, b"words " * LARGE),
    (BundleKind.RECEIPT, b"small again"),
    (BundleKind.RECEIPT, b"large, and the last before the end " + os.urandom(LARGE)),
    (BundleKind.END, {"turns": 0, "receipts": 5}),
]


def written(*, ahead: bool, file: BytesIO | None = None) -> tuple[bytes, str, int]:
    """The bytes of the frames, their digest and their size."""
    file = BytesIO() if file is None else file
    writer = FrameWriter(file, BUNDLE, ahead=ahead)
    for kind, value in VALUES:
        writer.write(kind, value)
    return file.getvalue(), writer.digest(), writer.size_bytes


def test_frames_that_a_thread_compresses_are_the_same_in_the_same_order() -> None:
    data, digest, size = written(ahead=True)
    assert (data, digest, size) == written(ahead=False)
    assert size == len(data)
    assert [kind for kind, _ in read_frames(BytesIO(data), "frames", BUNDLE)] == [kind for kind, _ in VALUES]


def test_a_large_frame_waits_for_the_next_one_and_no_longer() -> None:
    file = BytesIO()
    writer = FrameWriter(file, BUNDLE, ahead=True)
    writer.write(BundleKind.RECEIPT, os.urandom(LARGE))
    assert file.tell() < LARGE
    writer.write(BundleKind.RECEIPT, b"small")
    assert file.tell() > LARGE


def test_a_last_frame_is_written_at_once_however_large() -> None:
    file = BytesIO()
    writer = FrameWriter(file, BUNDLE, ahead=True)
    writer.write(BundleKind.END, {"signature": os.urandom(LARGE)})
    assert file.tell() == writer.size_bytes > LARGE


def test_a_full_disk_is_told() -> None:
    class Full(BytesIO):
        def write(self, data: Any, /) -> int:
            if self.tell() + len(data) > LARGE:
                raise OSError(28, "No space left on device")
            return super().write(data)

    with pytest.raises(OSError, match="No space left"):
        written(ahead=True, file=Full())


def test_where_no_thread_can_begin_the_caller_compresses(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: ThreadPoolExecutor, *_: Callable[..., object]) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(ThreadPoolExecutor, "submit", refuse)
    assert written(ahead=True) == written(ahead=False)


@pytest.mark.slow
def test_a_bundle_is_written_while_the_interpreter_ends() -> None:
    program = (
        "import atexit, io, os\n"
        "from headish.bundles.records import BUNDLE, BundleKind\n"
        "from headish.content.frames import FrameWriter\n"
        "def end():\n"
        "    writer = FrameWriter(io.BytesIO(), BUNDLE, ahead=True)\n"
        f"    writer.write(BundleKind.RECEIPT, os.urandom({LARGE}))\n"
        "    writer.write(BundleKind.END, {})\n"
        "    print(writer.size_bytes)\n"
        "atexit.register(end)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert int(done.stdout) > LARGE, done.stderr
