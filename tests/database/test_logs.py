"""The write-ahead log of a file stays short, and a process asks for a file's lock with one thread."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import headish
from headish import Store
from headish.database.file import wal
from headish.database.file.holding import lock_of, look_into
from support.places import FilePlace

LINE = "x" * 200_000


def log_bytes(place: FilePlace) -> int:
    return Path(f"{place.path}-wal").stat().st_size


def write_beside_a_reader(place: FilePlace, store: Store, count: int) -> None:
    """Turns that SQLite itself keeps in the log, because somebody reads what was there before them."""
    with closing(sqlite3.connect(place.path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM turn").fetchone()
        for number in range(count):
            store.add_turn(f"{LINE} {number}")


class TestTheLog:
    @pytest.mark.slow
    def test_a_long_one_is_emptied_once_nobody_reads_it(
        self, file_place: FilePlace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(wal, "PAUSE_SECONDS", 0)
        store = file_place.open()
        store.add_turn("root")
        write_beside_a_reader(file_place, store, 40)
        assert log_bytes(file_place) > wal.TOO_LONG_BYTES
        for number in range(40):
            store.add_turn(f"{LINE} after {number}")
        assert log_bytes(file_place) < wal.TOO_LONG_BYTES
        assert store.stats().turns == 81
        assert store.verify().problems == ()

    @pytest.mark.slow
    def test_a_reader_that_stays_is_asked_now_and_then(
        self, file_place: FilePlace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(wal, "PAUSE_SECONDS", 1000)
        store = file_place.open()
        attempts: list[int] = []
        original = wal.Log._empty
        monkeypatch.setattr(wal.Log, "_empty", lambda self: attempts.append(1) or original(self))
        write_beside_a_reader(file_place, store, 80)
        assert 1 <= len(attempts) <= 8
        assert store.stats().turns == 80

    @pytest.mark.slow
    def test_a_symbolic_link_leads_to_the_log_of_the_file(
        self, file_place: FilePlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(wal, "PAUSE_SECONDS", 0)
        file_place.open().add_turn("root")
        (tmp_path / "link.db").symlink_to(file_place.path)
        with Store.open(tmp_path / "link.db") as store:
            write_beside_a_reader(file_place, store, 40)
            for number in range(40):
                store.add_turn(f"{LINE} after {number}")
        assert log_bytes(file_place) < wal.TOO_LONG_BYTES


def store_elsewhere(place: FilePlace) -> None:
    """Another program stores a turn; when it closes the database it removes the log, unless it sees that it is open."""
    script = "import sys; from headish import Store; Store.open(sys.argv[1]).add_turn('elsewhere')"
    subprocess.run([sys.executable, "-c", script, place.target], check=True, timeout=60)


class TestTheLogOfAFileThatIsOpen:
    """A process that closes any descriptor of a file loses its locks on it, and then others take the log away."""

    @pytest.mark.slow
    def test_no_other_program_removes_it_whatever_this_one_opens_besides(
        self, file_place: FilePlace, tmp_path: Path
    ) -> None:
        store = file_place.open()
        store.add_turn("first", bookmark="main")
        besides: list[Callable[[], object]] = [
            lambda: Store.open(file_place.target).close(),
            lambda: Store.open(file_place.target, read_only=True).close(),
            lambda: Store.open(file_place.target, space="another").add_turn("another"),
            lambda: headish.restore(file_place.target, tmp_path / "restored.db"),
        ]
        for number, open_besides in enumerate(besides):
            open_besides()
            store_elsewhere(file_place)
            store.add_turn(f"after {number}", continues="main")
        script = "import sys; from headish import Store; print(len(Store.open(sys.argv[1]).log('main')))"
        seen = subprocess.run(
            [sys.executable, "-c", script, file_place.target], check=True, timeout=60, capture_output=True, text=True
        )
        assert int(seen.stdout) == len(besides) + 1
        assert store.verify().problems == ()

    def test_a_file_that_was_closed_is_looked_into_again(self, file_place: FilePlace) -> None:
        with Store.open(file_place.target) as store:
            store.add_turn("first")
            assert look_into(file_place.target) is None
        assert (look_into(file_place.target) or b"").startswith(b"SQLite format 3")


class TestTheLock:
    def test_it_is_one_for_a_file_whatever_it_is_called(self, tmp_path: Path) -> None:
        (tmp_path / "link.db").symlink_to(tmp_path / "a.db")
        one = lock_of(str(tmp_path / "a.db"))
        assert lock_of(str(tmp_path / "link.db")) is one
        assert lock_of(str(tmp_path / "b.db")) is not one
