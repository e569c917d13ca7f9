"""Files that have no end, or that nobody writes to: refused by name, and never waited for."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from headish import Store
from headish.errors import InvalidArgument, InvalidConfig, InvalidImport, TooLarge
from headish.imports import archives, source_files
from headish.tools.servers.config import read_config
from headish.values.limits import PAYLOAD_LIMIT_BYTES
from headish_cli import options
from headish_cli.commands.converting import read_bytes

if not hasattr(os, "mkfifo"):
    pytest.skip("named pipes are POSIX's; run these on Linux or macOS", allow_module_level=True)


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A named pipe that nobody writes to."""
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open(":memory:") as store:
        yield store


UNFIT = [("pipe", "a named pipe"), ("/dev/zero", "a device"), (".", "a folder")]


@pytest.mark.parametrize(("name", "what"), UNFIT)
class TestWhatIsNoRegularFile:
    def test_is_no_document(self, store: Store, pipe: Path, name: str, what: str) -> None:
        with pytest.raises(InvalidArgument, match=f"cannot be read: it is {what}, not a regular file"):
            store.add_document(pipe.parent / name)
        assert store.stats().turns == 0

    @pytest.mark.parametrize("format", ["oasst", "v0.1", None])
    def test_is_not_imported(self, store: Store, pipe: Path, name: str, what: str, format: str | None) -> None:
        with pytest.raises(InvalidImport, match=rf"it cannot be read \(it is {what}, not a regular file\)"):
            store.import_file(pipe.parent / name, format)

    def test_is_no_transcript_and_no_answer(self, pipe: Path, name: str, what: str) -> None:
        with pytest.raises(InvalidImport, match=f"it is {what}"):
            read_bytes(str(pipe.parent / name))
        with pytest.raises(OSError, match=f"it is {what}"):
            options.read_file(str(pipe.parent / name))

    def test_is_no_list_of_tool_servers(self, pipe: Path, name: str, what: str) -> None:
        with pytest.raises(InvalidConfig, match=f"it is {what}"):
            read_config(str(pipe.parent / name))


def test_a_document_that_grows_while_it_is_read_is_bounded(tmp_path: Path) -> None:
    path, ended = tmp_path / "log", False
    path.write_bytes(b"x" * 1000)

    def grow() -> None:
        with path.open("ab") as file:
            while not ended:
                file.write(b"x" * 1000)
                file.flush()

    writer = Thread(target=grow)
    with Store.open(":memory:", payload_limit_bytes=5_000_000) as store:
        writer.start()
        try:
            for _ in range(20):
                try:
                    turn = store.add_document(path)
                except TooLarge as error:
                    assert error.size_bytes > 5_000_000
                    break
                assert len(store.payload(turn.id)) <= 5_000_000
        finally:
            ended = True
            writer.join()


class Endless(io.RawIOBase):
    """A stream that never ends."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        buffer[:] = b"x" * len(buffer)
        return len(buffer)


def test_standard_input_is_read_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Endless())))
    with pytest.raises(
        TooLarge, match="standard input cannot be kept: it has 1,001 bytes or more and the limit is 1,000"
    ):
        options.read_stdin(1000)
    with pytest.raises(TooLarge, match=f"the limit is {PAYLOAD_LIMIT_BYTES:,}"):
        options.read_text("-")


def test_a_stream_that_an_import_reads_twice_is_kept_up_to_a_limit(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "STREAM_LIMIT_BYTES", 5_000_000)
    with pytest.raises(InvalidImport, match="it has more than 5,000,000 bytes; import it as a file"):
        store.import_file(io.BufferedReader(Endless()), "v0.1")  # type: ignore[arg-type]


def test_trees_in_one_endless_line_are_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_files, "IMPORT_LINE_BYTES", 1_000_000)
    monkeypatch.setattr(source_files, "STREAM_LIMIT_BYTES", 5_000_000)
    with pytest.raises(InvalidImport, match="line 1: the line does not end within 5,000,000 bytes"):
        store.import_file(io.BufferedReader(Endless()), "oasst")  # type: ignore[arg-type]
