"""Where the database is in the way: a named error, and nothing of the call is stored."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from headish import Store
from headish.database.upgrade import alchemy_connection
from headish.errors import (
    DatabaseCorrupt,
    DatabaseFull,
    DatabaseLocked,
    DatabaseReadOnly,
    DatabaseUnavailable,
    HeadishError,
    InvalidArgument,
    NotADatabase,
    UnknownDatabase,
)
from support.growing import grow
from support.insides import dump, run_sql
from support.places import FilePlace


class TestWhatIsNoDatabase:
    @pytest.mark.parametrize("content", [b"a text that somebody wrote", b"\x89PNG" + b"\0" * 100, b"SQLite f"])
    def test_a_file_of_another_kind_is_refused_and_left_alone(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "other"
        path.write_bytes(content)
        with pytest.raises(NotADatabase, match=str(path)):
            Store.open(path)
        assert path.read_bytes() == content

    def test_a_database_of_another_program_is_refused_and_left_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "other.db"
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("CREATE TABLE turn (id INTEGER)")
        before = path.read_bytes()
        with pytest.raises(NotADatabase, match="another program"):
            Store.open(path)
        assert path.read_bytes() == before

    def test_an_empty_file_becomes_a_store(self, tmp_path: Path) -> None:
        path = tmp_path / "empty.db"
        path.touch()
        with Store.open(path) as store:
            turn = store.add_turn("hi")
        with Store.open(path) as store:
            assert list(store.turns()) == [turn]

    def test_a_folder_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(NotADatabase, match="it is a folder"):
            Store.open(tmp_path)

    def test_a_path_through_a_file_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(DatabaseUnavailable):
            Store.open(tmp_path / "file" / "x.db")

    @pytest.mark.parametrize("target", ["mysql://x/y", "postgresql+psycopg2://x/y", "://", "sqlite://\0", "\0"])
    def test_a_url_of_another_kind_is_refused(self, target: str) -> None:
        with pytest.raises(InvalidArgument):
            Store.open(target)

    @pytest.mark.parametrize("durability", ["", "FULL", "off", None])
    def test_a_durability_of_another_name_is_refused(self, tmp_path: Path, durability: str) -> None:
        with pytest.raises(InvalidArgument, match="durability"):
            Store.open(tmp_path / "x.db", durability=durability)  # type: ignore[arg-type]
        assert list(tmp_path.iterdir()) == []

    def test_without_create_nothing_is_made(self, tmp_path: Path) -> None:
        with pytest.raises(UnknownDatabase):
            Store.open(tmp_path / "x.db", create=False)
        assert list(tmp_path.iterdir()) == []


class TestWritingInVain:
    def test_a_locked_database_is_waited_for_and_then_named(self, file_place: FilePlace) -> None:
        store = file_place.open()
        grow(store, "q? <- a")
        before = dump(store)
        store._backend._wait_seconds = 0.1  # type: ignore[attr-defined]
        with closing(sqlite3.connect(file_place.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(DatabaseLocked, match=r"another process has held it for 0\.1 seconds"):
                store.add_turn("late")
            assert dump(store) == before  # reading goes on beside the lock
        store.add_turn("in time")

    def test_a_read_only_database_is_read_and_not_written(self, file_place: FilePlace) -> None:
        with file_place.open() as store:
            turn = store.add_turn("q", bookmark="main")
        with Store.open(f"sqlite:///file:{file_place.path}?mode=ro&uri=true") as store:
            assert store.get("main") == turn
            assert store.resolve("main").messages[0].turn == turn.id
            for write in (lambda: store.add_turn("r"), lambda: store.bookmarks.set("x", "main")):
                with pytest.raises(DatabaseReadOnly, match="opened read-only"):
                    write()

    @pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write anywhere; run as another user")
    def test_a_file_without_write_permission_is_read_and_not_written(self, file_place: FilePlace) -> None:
        with file_place.open() as store:
            store.add_turn("q", bookmark="main")
        file_place.path.chmod(0o444)
        with Store.open(file_place.path) as store:
            assert len(store.resolve("main").messages) == 1
            with pytest.raises(DatabaseReadOnly):
                store.add_turn("r")

    def test_a_full_disk_stores_nothing_and_reading_goes_on(self, file_place: FilePlace) -> None:
        """The disk is played by SQLite's own limit on the number of pages."""
        store = file_place.open()
        grow(store, "q? <- a")
        store.bookmarks.set("main", "@")
        [(pages,)] = run_sql(store, "PRAGMA page_count")
        run_sql(store, f"PRAGMA max_page_count = {pages + 2}")
        before = dump(store)
        with pytest.raises(DatabaseFull, match="nothing of this call was stored"):
            store.add_turn("x" * 100_000, continues="main")
        with pytest.raises(DatabaseFull):
            store.add_turns({"content": "y" * 1000 + str(index), "continues": "main"} for index in range(100))
        assert dump(store) == before
        assert store.verify().problems == ()
        run_sql(store, "PRAGMA max_page_count = 1000000")
        store.add_turn("x" * 100_000, continues="main")
        assert store.verify().problems == ()

    @pytest.mark.slow
    @pytest.mark.parametrize("limit", [4096, 60_000, 200_000])
    def test_a_file_whose_making_failed_says_so_and_is_made_by_the_next(self, tmp_path: Path, limit: int) -> None:
        """The disk is played by the largest file that the process may write: past it a write is an I/O error."""
        code = """
import resource, signal, sys
from headish import Store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    Store.open(sys.argv[1])
except Exception as error:
    print(type(error).__name__, error)
"""
        made = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "a.db"), str(limit)],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert made.stderr == ""
        assert made.stdout.startswith("DatabaseUnavailable")
        assert "while its tables were made" in made.stdout
        with pytest.raises(HeadishError), Store.open(tmp_path / "a.db", read_only=True) as store:
            store.stats()
        with Store.open(tmp_path / "a.db") as store:
            store.add_turn("Hello")
            assert store.verify().problems == ()

    def test_a_read_only_server_is_named(self, new_postgresql: str) -> None:
        with Store.open(new_postgresql) as store:
            store.add_turn("q", bookmark="main")
        with Store.open(f"{new_postgresql}&options=-cdefault_transaction_read_only%3Don" if "?" in new_postgresql
                        else f"{new_postgresql}?options=-cdefault_transaction_read_only%3Don") as store:  # fmt: skip
            assert len(store.resolve("main").messages) == 1
            with pytest.raises(DatabaseReadOnly, match="takes no writes"):
                store.add_turn("r")


class TestDamage:
    def test_a_damaged_file_is_named(self, file_place: FilePlace) -> None:
        with file_place.open() as store:
            store.add_turns({"content": "x" * 500 + str(index), "respond": index > 0} for index in range(200))
        with closing(sqlite3.connect(file_place.path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        data = bytearray(file_place.path.read_bytes())
        data[8192:-4096] = b"\xa5" * (len(data) - 4096 - 8192)
        file_place.path.write_bytes(data)
        with pytest.raises(DatabaseCorrupt, match="damaged") as error, Store.open(file_place.path) as store:
            store.resolve()
        assert isinstance(error.value, HeadishError)

    def test_a_server_that_is_not_there_is_named_without_its_password(self) -> None:
        with pytest.raises(DatabaseUnavailable) as error:
            Store.open("postgresql+psycopg://ada:secret@127.0.0.1:1/x")
        assert "secret" not in str(error.value)
        assert "127.0.0.1" in error.value.target

    def test_a_connection_that_was_cut_is_made_anew(self, new_postgresql: str) -> None:
        with Store.open(new_postgresql) as store, Store.open(new_postgresql) as other:
            store.add_turn("q", bookmark="main")
            cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() " \
                  "AND datname = current_database()"  # fmt: skip
            with other._backend.schema_connection() as connection:
                connection.execute(cut)
            store.add_turn("a", continues="main")
            assert len(store.resolve("main").messages) == 2


def test_an_interrupt_in_a_statement_of_the_schema_stays_one(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db") as store:

        def interrupted() -> None:
            backend = store._backend
            with backend.schema_connection() as driver, alchemy_connection(backend.dialect, driver) as connection:
                connection.exec_driver_sql("CREATE TABLE half (id INTEGER)")
                connection.invalidate()  # as SQLAlchemy does it then
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        store.add_turn("Hello")
        with store._backend.schema_connection() as connection:
            assert connection.execute("SELECT name FROM sqlite_master WHERE name = 'half'").fetchall() == []
