"""Files packed with gzip or zstd are read as what is in them; what swells or ends early is refused by name."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pytest

from headish import Store
from headish.errors import InvalidImport
from headish.imports.folders import files_in
from headish.imports.unpacking import unpacked
from imports.test_codex import SESSION, WORK, rollout, texts
from support.command import Command

try:
    from compression import zstd  # type: ignore[import-not-found,unused-ignore]

    pack = zstd.compress
except ImportError:
    zstandard = pytest.importorskip("zstandard", reason="needs the extra: pip install 'headish[zstd]'")

    def pack(data: bytes) -> bytes:
        return bytes(zstandard.ZstdCompressor().compress(data))


def as_file(data: bytes) -> io.BytesIO:
    file = io.BytesIO(data)
    file.name = f"rollout-2026-01-02T03-04-05-{SESSION}.jsonl.zst"
    return file


def test_a_packed_rollout_is_the_same_session(store: Store, tmp_path: Path) -> None:
    plain, packed = tmp_path / "rollout-a.jsonl", tmp_path / "rollout-a.jsonl.zst"
    packed.write_bytes(pack(rollout(*WORK).getvalue()))
    assert files_in(tmp_path) == [str(packed)]
    assert store.import_file(packed).added == 6
    assert texts(store, "list-the-files")[-1] == "Two files."
    plain.write_bytes(rollout(*WORK).getvalue())
    assert files_in(tmp_path) == [str(plain)], "the plain one is newer"
    assert store.import_file(plain).added == 0


def test_frames_one_after_the_other_are_one_file(memory: Store) -> None:
    lines = rollout(*WORK).getvalue().splitlines(keepends=True)
    assert memory.import_file(as_file(b"".join(map(pack, lines)))).added == 6


def test_what_is_read_can_be_read_again(memory: Store) -> None:
    file = unpacked(as_file(pack(b"ab" * 100_000)), "x")
    assert file.read(3) == b"aba"
    file.seek(0)
    assert file.read() == b"ab" * 100_000
    assert file.read() == b""


def test_it_is_read_from_any_place_on() -> None:
    data = bytes(range(256)) * 1000
    file = unpacked(as_file(pack(data)), "x")
    for place in (5, 100_001, 200_003, 7, len(data), len(data) + 9):
        assert file.seek(place) == min(place, len(data))
        assert file.read(300) == data[place : place + 300]


def test_a_bomb_is_refused_before_it_fills_the_memory(memory: Store) -> None:
    bomb = pack(b'{"' + bytes(1024 * 1024)) * 100
    assert len(bomb) < 10_000
    with pytest.raises(InvalidImport, match="swells to more than 100 times"):
        memory.import_file(as_file(bomb), "codex")


@pytest.mark.parametrize("cut", [5, 40, -1])
def test_a_file_that_ends_early_is_refused(memory: Store, cut: int) -> None:
    with pytest.raises(InvalidImport, match="cannot be unpacked"):
        memory.import_file(as_file(pack(rollout(*WORK).getvalue())[:cut]), "codex")
    assert memory.stats().turns == 0


def test_without_the_extra_the_error_says_what_installs_it(memory: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("compression", "zstandard"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InvalidImport, match=r"pip install 'headish\[zstd\]'"):
        memory.import_file(as_file(pack(b"{}")))


class TestGzip:
    """As data sets of conversations come: ``2023-11-05_oasst2_ready.trees.jsonl.gz``."""

    def test_a_packed_file_is_read_as_what_is_in_it(self, memory: Store, tmp_path: Path) -> None:
        packed = tmp_path / "rollout-a.jsonl.gz"
        lines = rollout(*WORK).getvalue().splitlines(keepends=True)
        packed.write_bytes(b"".join(map(gzip.compress, lines)))
        assert memory.import_file(packed).added == 6
        assert memory.import_file(as_file(gzip.compress(b"".join(lines)))).added == 0
        piped = Command(str(tmp_path / "ours.db")).run("import", "-", stdin=packed.read_bytes())
        assert "new: 6 turns" in piped.err

    @pytest.mark.parametrize("cut", [12, 60, -1])
    def test_one_that_ends_early_is_refused(self, memory: Store, cut: int) -> None:
        with pytest.raises(InvalidImport, match="cannot be unpacked"):
            memory.import_file(as_file(gzip.compress(rollout(*WORK).getvalue())[:cut]), "codex")
        assert memory.stats().turns == 0

    def test_a_bomb_is_refused_before_it_fills_the_memory(self, memory: Store) -> None:
        bomb = gzip.compress(b'{"' + bytes(1024 * 1024)) * 100
        with pytest.raises(InvalidImport, match="swells to more than 100 times"):
            memory.import_file(as_file(bomb), "codex")
