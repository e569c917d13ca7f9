"""A database that is opened only to be read: nothing is made, nothing is written, and what writes says so at once."""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy

from headish import Database, Store
from headish.database.dialects import connect
from headish.database.query import Query
from headish.database.upgrade import upgrade_schema
from headish.errors import (
    Closed,
    DatabaseReadOnly,
    DatabaseReplaced,
    DatabaseTooOld,
    DatabaseUnavailable,
    InvalidArgument,
    ReadOnly,
    UnknownDatabase,
    UnknownSpace,
)
from support.command import Command
from support.insides import counted_statements, dump, run_sql
from support.media import NoMount, read_only
from support.places import FilePlace, Place
from support.secured import Logins

READING_COMMANDS = (
    "log", "log --graph", "get main", "tree", "resolve", "export", "verify", "verify --all", "stats", "usage",
    "siblings main", "diff main~1 main", "bookmark list", "bookmark history main", "spaces list", "ptr list",
    "tools list", "db current", "db path", "request main --to openai --model m", "lint main --for openai",
    "erasures", "erase main --dry-run", "gc --dry-run",
)  # fmt: skip
WRITING_COMMANDS = (
    "add hello", "edit main bye", "bookmark set other main", "bookmark rm main", "undo main", "spaces add new",
    "ptr set p openai/m", "recover", "db upgrade", "erase main --reason r --yes", "gc",
)  # fmt: skip


def fill(target: str, space: str = "default") -> None:
    with Store.open(target, space=space) as store:
        store.add_turn("hello?", bookmark="main")
        store.add_turn("hello", role="assistant", continues="main")


def make_older(target: str) -> None:
    backend = connect(target)
    upgrade_schema(backend, "headish_0001")
    backend.close()


@pytest.fixture
def filled(durable_place: Place) -> Place:
    fill(durable_place.target, durable_place.space)
    return durable_place


@pytest.fixture
def medium(tmp_path: Path) -> Iterator[Path]:
    """A file on a medium that cannot be written."""
    folder = tmp_path / "medium"
    folder.mkdir()
    fill(str(folder / "chat.db"))
    with mounted(folder):
        yield folder / "chat.db"


def mounted(folder: Path) -> Any:
    """The folder as a read-only medium; it skips where that cannot be."""

    class Mounted:
        def __enter__(self) -> None:
            self._medium = read_only(folder)
            try:
                self._medium.__enter__()
            except NoMount as error:
                pytest.skip(f"root may write anywhere but on a read-only mount, and {error}")

        def __exit__(self, *what: Any) -> None:
            self._medium.__exit__(*what)

    return Mounted()


def writing_verbs(store: Store) -> dict[str, Callable[[], object]]:
    response = {"choices": [{"message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}]}
    document = b'{"messages": [{"role": "user", "content": "x"}]}'
    transcript, tip = b"<|start|>user<|message|>x<|end|>", store.bookmarks["main"]
    return {
        "add_turn": lambda: store.add_turn("x", continues="main"),
        "add_document": lambda: store.add_document(document),
        "add_turns": lambda: store.add_turns(["x"]),
        "record": lambda: store.record([{"role": "user", "content": "x"}]),
        "import_file": lambda: store.import_file(BytesIO(transcript), "2.2", continues="main"),
        "reply": lambda: store.reply("main", "openai", response),
        "capture": lambda: store.capture("main", "openai"),
        "ask": lambda: store.ask("x", to="openai", model="m", base_url="http://127.0.0.1:1"),
        "say": lambda: store.say("x", to="openai"),
        "open_answer": lambda: store.open_answer("main", to="openai", model="m", base_url="http://127.0.0.1:1"),
        "retry": lambda: store.retry("main", to="openai", model="m", base_url="http://127.0.0.1:1"),
        "open_retry": lambda: store.open_retry("main"),
        "run_tools": lambda: store.run_tools("main", lambda calls: []),
        "edit": lambda: store.edit("main", "x"),
        "bookmarks.set": lambda: store.bookmarks.set("x", "main"),
        "bookmarks.remove": lambda: store.bookmarks.remove("main"),
        "bookmarks.undo": lambda: store.bookmarks.undo("main"),
        "pointers.set": lambda: store.pointers.set("x", "openai/m"),
        "pointers.remove": lambda: store.pointers.remove("x"),
        "pointers.set_default": lambda: store.pointers.set_default(None),
        "tools.set": lambda: store.tools.set("x", []),
        "streams.recover": lambda: store.streams.recover(force=True),
        "streams.drop": lambda: store.streams.drop(tip),
    }


class TestWhatWrites:
    def test_it_is_refused_before_any_statement(self, filled: Place) -> None:
        store = filled.open(read_only=True)
        before = dump(store)
        for name, write in writing_verbs(store).items():
            with counted_statements() as counted, pytest.raises(ReadOnly, match="opened read-only") as error:
                write()
            assert counted.count == 0, name
            assert isinstance(error.value, DatabaseReadOnly)
        assert dump(store) == before

    def test_spaces_are_not_changed(self, filled: Place) -> None:
        with Database.open(filled.target, read_only=True) as database:
            assert database.read_only
            names = database.spaces.list()
            for write in (
                lambda: database.spaces.add("new"),
                lambda: database.spaces.rename(filled.space, "new"),
                lambda: database.spaces.remove(filled.space),
            ):
                with pytest.raises(ReadOnly):
                    write()
            with pytest.raises(UnknownSpace):
                database.store("new")
            assert database.spaces.list() == names

    def test_the_driver_refuses_it_as_well(self, file_place: FilePlace) -> None:
        fill(file_place.target)
        store = file_place.open(read_only=True)
        assert run_sql(store, "PRAGMA query_only") == [(1,)]
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            run_sql(store, "DELETE FROM bookmark")

    def test_the_server_refuses_it_as_well(self, postgresql_url: str) -> None:
        with Database.open(postgresql_url, read_only=True) as database:
            with database.backend.schema_connection() as connection:
                assert connection.execute("SHOW transaction_read_only").fetchone()[0] == "on"
            deleting = Query("delete names", "DELETE FROM bookmark")
            with pytest.raises(DatabaseReadOnly):
                database.backend.read(lambda connection: connection.run(deleting))

    def test_a_login_that_the_server_lets_do_nothing_is_told_what_it_lacks(self, new_postgresql: str) -> None:
        logins = Logins(new_postgresql)
        logins.make("guest")
        try:
            logins.run("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
            with pytest.raises(DatabaseReadOnly, match="permission denied for schema public"):
                Store.open(logins.at("guest"))
            Store.open(new_postgresql).close()
            with pytest.raises(DatabaseReadOnly, match="permission denied for table"):
                Store.open(logins.at("guest"), read_only=True)
        finally:
            logins.drop()

    def test_a_closed_one_is_closed_first_of_all(self, filled: Place) -> None:
        store = filled.open(read_only=True)
        store.close()
        with pytest.raises(Closed):
            store.add_turn("x")


class TestOpening:
    def test_reading_goes_on_beside_a_writer(self, filled: Place) -> None:
        reader, writer = filled.open(read_only=True), filled.open()
        turn = writer.add_turn("again", continues="main")
        assert reader.get("main") == turn
        assert reader.read_only
        assert not writer.read_only
        assert reader.verify().problems == ()

    def test_nothing_is_made(self, tmp_path: Path, new_postgresql: str) -> None:
        for target in (
            str(tmp_path / "deep" / "x.db"),
            f"sqlite:///{tmp_path}/x.db?mode=ro",
            ":memory:",
            new_postgresql,
        ):
            with pytest.raises(UnknownDatabase):
                Store.open(target, read_only=True)
        assert list(tmp_path.iterdir()) == []
        engine = sqlalchemy.create_engine(new_postgresql, poolclass=sqlalchemy.NullPool)
        assert sqlalchemy.inspect(engine).get_table_names() == []

    def test_a_space_that_is_missing_is_not_made(self, filled: Place) -> None:
        with pytest.raises(UnknownSpace):
            filled.open("missing", read_only=True)

    def test_an_answer_that_was_cut_off_is_left_for_a_writer(self, filled: Place) -> None:
        with filled.open() as store:
            capture = store.capture("main", "openai", lease_seconds=0.001)
            capture.feed({"choices": [{"delta": {"role": "assistant", "content": "half"}}]})
            capture._journal.keep()
            capture._journal.close()
            time.sleep(0.05)  # until the lease has run out
        reader = filled.open(read_only=True)
        assert (reader.recovered, len(reader.streams), reader.stats().turns) == ((), 1, 2)
        assert len(filled.open().recovered) == 1

    @pytest.mark.parametrize("url", ["sqlite:///{}?mode=ro", "sqlite:///{}?immutable=1",
                                     "sqlite:///file:{}?mode=ro&uri=true"])  # fmt: skip
    def test_a_url_may_say_so(self, file_place: FilePlace, url: str) -> None:
        fill(file_place.target)
        with Store.open(url.format(file_place.path)) as store:
            assert len(store.resolve("main").messages) == 2
            with pytest.raises(ReadOnly):
                store.add_turn("x")

    def test_a_url_that_says_rw_makes_no_file_and_an_unknown_mode_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UnknownDatabase):
            Store.open(f"sqlite:///{tmp_path}/x.db?mode=rw")
        with pytest.raises(InvalidArgument, match="unknown mode 'r'"):
            Store.open(f"sqlite:///{tmp_path}/x.db?mode=r")
        with pytest.raises(InvalidArgument, match="cannot be read as a URL"):
            Store.open("sqlite:///file://[x?uri=true")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("name", ["what? 50%#1.db", "a b.db"])
    def test_a_path_with_signs_of_a_url_is_read(self, tmp_path: Path, name: str) -> None:
        fill(str(tmp_path / name))
        with Store.open(tmp_path / name, read_only=True) as store:
            assert store.stats().turns == 2

    def test_an_older_file_is_refused_with_the_command_that_upgrades_it(self, file_place: FilePlace) -> None:
        fill(file_place.target)
        make_older(file_place.target)
        before = file_place.path.read_bytes()
        with pytest.raises(DatabaseTooOld, match="run 'headish db upgrade' where it can be written"):
            file_place.open(read_only=True)
        assert "it was opened read-only" in Command(file_place.target).fails("--read-only", "db", "upgrade")
        assert file_place.path.read_bytes() == before
        assert file_place.open().stats().turns == 2

    def test_an_older_server_database_is_refused_too(self, new_postgresql: str) -> None:
        fill(new_postgresql)
        make_older(new_postgresql)
        with pytest.raises(DatabaseTooOld, match="run 'headish db upgrade'"):
            Store.open(new_postgresql, read_only=True)

    def test_the_file_is_left_as_it_was(self, file_place: FilePlace) -> None:
        fill(file_place.target)
        before = file_place.path.read_bytes(), file_place.path.stat().st_mtime_ns
        with file_place.open(read_only=True) as store:
            store.verify()
            store.resolve("main")
        assert (file_place.path.read_bytes(), file_place.path.stat().st_mtime_ns) == before
        assert file_place.open().add_turn("x", continues="main")

    def test_the_command_has_it_as_an_option(self, file_place: FilePlace) -> None:
        fill(file_place.target)
        command = Command(file_place.target)
        for words in READING_COMMANDS:
            command("--read-only", *words.split())
        for words in WRITING_COMMANDS:
            assert "it was opened read-only" in command.fails("--read-only", *words.split())
        assert file_place.open().stats().turns == 2


@pytest.mark.slow
class TestMedia:
    """A real read-only mount: without the option, because a person who has a disk of backups does not think of it."""

    def test_every_reading_command_works(self, medium: Path) -> None:
        before = sorted(medium.parent.iterdir()), medium.read_bytes()
        for words in READING_COMMANDS:
            Command(str(medium))(*words.split())
            Command(str(medium))("--read-only", *words.split())
        assert (sorted(medium.parent.iterdir()), medium.read_bytes()) == before

    def test_every_writing_one_says_why_not(self, medium: Path) -> None:
        for words in WRITING_COMMANDS:
            assert "it cannot be written here" in Command(str(medium)).fails(*words.split())

    def test_a_log_that_can_be_read_is_read(self, tmp_path: Path) -> None:
        """A process was killed before the medium became read-only: its last turns are in the log alone."""
        folder = crashed(tmp_path)
        with mounted(folder), Store.open(folder / "chat.db") as store:
            assert store.stats().turns == 3

    def test_a_log_that_cannot_be_read_is_not_passed_over(self, tmp_path: Path) -> None:
        folder = crashed(tmp_path)
        (folder / "chat.db-shm").unlink()
        with mounted(folder), pytest.raises(DatabaseUnavailable, match=r"stored last are in its log.*copy it"):
            Store.open(folder / "chat.db")
        with Store.open(folder / "chat.db") as store:
            assert store.stats().turns == 3

    def test_what_is_written_meanwhile_from_elsewhere_is_noticed(self, tmp_path: Path) -> None:
        folder, later = tmp_path / "medium", tmp_path / "later.db"
        folder.mkdir()
        fill(str(folder / "chat.db"))
        shutil.copy(folder / "chat.db", later)
        with Store.open(later) as writer:
            writer.add_turn("x" * 5000, continues="main")
        # Opened before it became a read-only medium, as another machine has it open.
        with (folder / "chat.db").open("r+b") as elsewhere, mounted(folder):
            with Store.open(folder / "chat.db") as reader:
                assert reader.stats().turns == 2
                elsewhere.write(later.read_bytes())
                elsewhere.flush()
                with pytest.raises(DatabaseReplaced, match="open it anew"):
                    reader.stats()
            with Store.open(folder / "chat.db") as again:
                assert again.stats().turns == 3


def crashed(tmp_path: Path) -> Path:
    """A folder with a database whose last turn is in its log, as a process leaves it that was killed."""
    live, folder = tmp_path / "live.db", tmp_path / "medium"
    folder.mkdir()
    fill(str(live))
    with Store.open(live) as store, closing(sqlite3.connect(live)) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM turn").fetchall()
        store.add_turn("last", continues="main")
        for suffix in ("", "-wal", "-shm"):
            shutil.copy(f"{live}{suffix}", folder / f"chat.db{suffix}")
    return folder
