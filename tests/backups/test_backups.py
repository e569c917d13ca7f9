"""A backup is a moment, checked before it has its name; a restore is whole or refuses to open."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from headish import Database, Store, restore
from headish.content.frames import FrameWriter
from headish.database.revisions import REVISION
from headish.errors import (
    CursorLost,
    DatabaseError,
    FileTaken,
    HeadishError,
    InvalidArgument,
    InvalidBackup,
    SpaceNotEmpty,
    SpaceRestoring,
    UnknownSpace,
)
from headish.store.backups.frames import BACKUP, FrameKind
from headish.store.backups.restoring import restore_file
from support.command import HEADISH
from support.insides import dump, on_connections
from support.places import FilePlace, Place

APART = {"space", "space_log", "counter"}
"""Tables with what belongs to the database, not to what was said: numbers, names and epochs."""


def content_of(store: Store) -> dict[str, Any]:
    """All that a backup holds, whatever the number of the space."""
    rows = {name: [row[1:] for row in listed] for name, listed in dump(store).items() if name not in APART}
    [counter] = dump(store)["counter"]
    return {**rows, "counter": [counter[1:4], counter[6:]]}


def grow(store: Store) -> None:
    """Something in every table, and payloads on both sides of the limit."""
    turn = store.add_turn("hello", bookmark="main", key="k1", said_at=1714521600000, meta={"a": [1]})
    for index in range(25):
        store.add_turn(
            "word " * (index * 40), continues="main", inherited={"temperature": index} if index % 9 == 0 else None
        )
    store.add_turn("fork", continues="main~7", bookmark="side")
    store.add_turn([{"type": "text", "text": "merged ü 漢字"}], continues=["main", "side"], supersedes=turn.id)
    store.bookmarks.set("main", "main~1")
    store.bookmarks.remove("side")
    store.pointers.set("local", "openai/m")
    store.tools.set("server", [{"name": "f", "inputSchema": {"type": "object"}}])
    store.conversations.set("main", title="A title", tags=["x"])
    store.objects.put("state/x", "key", b"\x00bytes")


@pytest.fixture
def grown(durable_place: Place) -> Store:
    store = durable_place.open()
    grow(store)
    return store


class TestThereAndBack:
    def test_a_space_comes_back_as_it_was(self, grown: Store, tmp_path: Path) -> None:
        made = grown.backup(tmp_path / "chat.hbackup")
        restored = restore(made.path, tmp_path / "again.db")
        assert (restored.turns, restored.spaces) == (grown.stats().turns, (grown.space,))
        with Store.open(tmp_path / "again.db", space=grown.space, create=False) as again:
            assert content_of(again) == content_of(grown)
            assert again.verify().problems == ()
            assert again.add_turn("it goes on", continues="main").meta.bookmark == "main"
            assert again.verify().problems == ()

    @pytest.mark.postgresql
    def test_it_goes_from_a_file_to_a_server_and_back(self, new_postgresql: str, tmp_path: Path) -> None:
        with Store.open(tmp_path / "one.db") as store:
            grow(store)
            before = content_of(store)
        restore(tmp_path / "one.db", new_postgresql)
        with Store.open(new_postgresql, create=False) as server:
            assert content_of(server) == before
            assert server.verify().problems == ()
            Database(server._database).backup(tmp_path / "server.hbackup", verify="quick")
        restore(tmp_path / "server.hbackup", tmp_path / "two.db")
        with Store.open(tmp_path / "two.db", create=False) as back:
            assert content_of(back) == before

    def test_a_file_becomes_a_database_that_can_be_opened(self, file_place: FilePlace, tmp_path: Path) -> None:
        store = file_place.open()
        grow(store)
        made = Database(store._database).backup(tmp_path / "copy.db")
        with Store.open(made.path, create=False) as copy:
            assert content_of(copy) == content_of(store)
        with Database.open(":memory:") as memory:
            memory.store().add_turn("kept", bookmark="main")
            memory.backup(tmp_path / "memory.db")
        with Store.open(tmp_path / "memory.db", create=False) as copy:
            assert copy.text("main") == "kept"

    def test_all_spaces_or_one_of_them_under_another_name(self, file_place: FilePlace, tmp_path: Path) -> None:
        for space in ("one", "two"):
            file_place.open(space).add_turn(space, bookmark="main")
        database = Database(file_place.open()._database)
        made = database.backup(tmp_path / "all.hbackup")
        assert made.spaces == ("default", "one", "two")
        assert restore(made.path, tmp_path / "all.db").spaces == made.spaces
        assert restore(made.path, tmp_path / "all.db", only="two", to="2").spaces == ("2",)
        with Store.open(tmp_path / "all.db", space="2", create=False) as second:
            assert second.text("main") == "two"
        with pytest.raises(InvalidBackup, match="no space 'three'"):
            restore(made.path, tmp_path / "all.db", only="three")
        with pytest.raises(InvalidArgument, match="only="):
            restore(made.path, tmp_path / "other.db", to="2")

    def test_a_restore_begins_a_new_epoch(self, grown: Store, tmp_path: Path) -> None:
        made = grown.backup(tmp_path / "a.hbackup")
        restore(made.path, tmp_path / "a.db")
        with Store.open(tmp_path / "a.db", space=grown.space) as again:
            assert dump(again)["counter"][0][4] != dump(grown)["counter"][0][4]

    def test_so_does_a_copy_that_is_put_back_as_it_is(self, tmp_path: Path) -> None:
        """Else a reader of the feed would miss what was said instead, if a later turn is the same."""
        with Store.open(tmp_path / "other.db") as other:
            other.add_turn("from elsewhere")
            other.bundles.create(tmp_path / "same.bundle")
        with Store.open(tmp_path / "chat.db") as store:
            Database(store._database).backup(tmp_path / "monday.db")
            store.add_turn("lost")
            store.bundles.apply(tmp_path / "same.bundle")
            cursor = store.position()
        with Store.open(tmp_path / "monday.db") as again:
            again.add_turn("said instead")
            again.bundles.apply(tmp_path / "same.bundle")
            with pytest.raises(CursorLost):
                list(again.follow(after=cursor, wait=False))


class TestItsFile:
    def test_writers_go_on_meanwhile_and_are_not_in_it(self, durable_place: Place, tmp_path: Path) -> None:
        store = durable_place.open()
        store.add_turn("first", bookmark="main")
        stop = threading.Event()

        def write() -> None:
            while not stop.is_set():
                store.add_turn("more", continues="main")

        writer = threading.Thread(target=write)
        writer.start()
        try:
            made = [store.backup(tmp_path / f"{index}.hbackup") for index in range(3)]
        finally:
            stop.set()
            writer.join()
        assert made[0].turns <= made[1].turns <= made[2].turns <= store.stats().turns

    def test_nothing_is_overwritten(self, grown: Store, tmp_path: Path) -> None:
        (tmp_path / "chat.hbackup").write_bytes(b"mine")
        with pytest.raises(FileTaken):
            grown.backup(tmp_path / "chat.hbackup")
        made = grown.backup(tmp_path / "other.hbackup")
        restore(made.path, tmp_path / "x.db")
        with pytest.raises(SpaceNotEmpty, match="restore to another place"):
            restore(made.path, tmp_path / "x.db")
        assert (tmp_path / "chat.hbackup").read_bytes() == b"mine"

    def test_it_is_its_owners_alone_and_leaves_nothing_beside_it(self, grown: Store, tmp_path: Path) -> None:
        folder = tmp_path / "backups"
        folder.mkdir()
        made = grown.backup(folder / "chat.hbackup")
        restore(made.path, folder / "chat.db")
        assert sorted(os.listdir(folder)) == ["chat.db", "chat.hbackup"]
        assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}

    def test_a_target_at_home_that_exists_is_restored_into(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        with Store.open("~/chat.db") as store:
            grow(store)
            made = store.backup(tmp_path / "a.hbackup", verify="quick")
        assert restore(made.path, "~/chat.db", only="default", to="again").spaces == ("again",)

    @pytest.mark.slow
    @pytest.mark.parametrize("words", [
        ("backup", "there/a.db"), ("backup", "there/a.hbackup"), ("restore", "whole.hbackup", "there/a.db"),
        ("restore", "whole.db", "there/a.db"),
    ], ids=" ".join)  # fmt: skip
    def test_a_disk_that_is_full_is_named_as_the_place_that_it_is(self, tmp_path: Path, words: tuple[str, ...]) -> None:
        """The largest file that the process may write stands for the disk."""
        with Database.open(tmp_path / "from.db") as database:
            database.store("default").add_turns({"content": str(os.urandom(20_000))} for _ in range(20))
            database.backup(tmp_path / "whole.hbackup")
            database.backup(tmp_path / "whole.db")
        (tmp_path / "there").mkdir()
        code = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (100_001,) * 2)
os.execv(sys.argv[1], sys.argv[1:])
"""
        told = subprocess.run(
            [sys.executable, "-c", code, HEADISH, "--db", "from.db", *words],
            cwd=tmp_path, env={**os.environ, "TMPDIR": str(tmp_path / "there")}, capture_output=True, text=True,
            timeout=120, check=False,
        )  # fmt: skip
        assert (told.returncode, told.stderr.count("\n")) == (1, 1), told.stderr
        place = told.stderr.removeprefix("headish: ").partition(": ")[0]
        assert place in {"there/a.db", "there/a.hbackup", *(str(tmp_path / each) for each in ("there", "there/a.db"))}
        assert list((tmp_path / "there").iterdir()) == []

    def test_a_copy_that_cannot_be_finished_is_named(
        self, file_place: FilePlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As on a disk that has room for the copy, and none for what changes it."""
        monkeypatch.setattr("headish.database.sqlite.NEVER_COPIED", ("nowhere",))
        with file_place.open() as store, pytest.raises(DatabaseError, match="no such table") as raised:
            Database(store._database).backup(tmp_path / "a.db")
        assert raised.value.target.startswith(str(tmp_path / "a.db"))
        assert list(tmp_path.glob("a.db*")) == []

    def test_its_sum_is_that_of_the_file(self, grown: Store, tmp_path: Path) -> None:
        from blake3 import blake3

        made = grown.backup(tmp_path / "chat.hbackup", verify="quick")
        data = Path(made.path).read_bytes()
        assert (made.blake3, made.size_bytes) == (blake3(data).hexdigest(), len(data))

    def test_what_does_not_verify_gets_no_name(self, file_place: FilePlace, tmp_path: Path) -> None:
        import sqlite3

        store = file_place.open()
        grow(store)
        store.close()
        with sqlite3.connect(file_place.target) as connection:
            connection.execute("UPDATE turn SET role = 'system' WHERE pos = 3")
        for name in ("a.db", "a.hbackup"):
            with Database(file_place.open()._database) as database, pytest.raises(InvalidBackup, match="verify"):
                database.backup(tmp_path / name)
            assert not (tmp_path / name).exists()

    def test_a_server_makes_no_database_file(self, new_place: Callable[[str], Place], tmp_path: Path) -> None:
        store = new_place("memory").open()
        with pytest.raises(InvalidArgument, match="one space"):
            store.backup(tmp_path / "a.db")


def rows(table: str, columns: list[str], values: list[list[Any]]) -> list[tuple[FrameKind, Any]]:
    """The frames of a space with rows of one table."""
    return [(FrameKind.SPACE, {"name": b"a"}), (FrameKind.ROWS, {"table": table, "columns": columns, "rows": values})]


def write_frames(path: Path, frames: list[tuple[FrameKind, Any]]) -> None:
    """A backup of these frames, behind a header unless they bring one."""
    file = BytesIO()
    writer = FrameWriter(file, BACKUP)
    if frames[0][0] is not FrameKind.HEADER:
        writer.write(FrameKind.HEADER, {"revision": REVISION, "made_at": 0})
    for kind, value in frames:
        writer.write(kind, value)
    path.write_bytes(file.getvalue())


class TestHostileFiles:
    @pytest.fixture
    def whole(self, tmp_path: Path) -> bytes:
        path = tmp_path / "a.hbackup"
        with Store.open(":memory:") as store:
            grow(store)
            store.backup(path, verify="quick")
        return path.read_bytes()

    @pytest.mark.slow
    def test_any_altered_or_missing_byte_is_noticed(self, whole: bytes, tmp_path: Path) -> None:
        places = [*range(0, len(whole), max(1, len(whole) // 40)), len(whole) - 1]
        for place in places:
            altered = bytearray(whole)
            altered[place] ^= 0x01
            for number, data in enumerate((bytes(altered), whole[:place], whole + b"x")):
                path = tmp_path / f"{place}-{number}"
                path.write_bytes(data)
                with pytest.raises(InvalidBackup):
                    restore(path, tmp_path / "target.db")
                assert not (tmp_path / "target.db").exists()

    @pytest.mark.parametrize(
        ("frames", "words"),
        [
            ([(FrameKind.HEADER, {"revision": "headish_9999"})], "'headish_9999' is unknown"),
            ([(FrameKind.HEADER, None)], "a frame has no revision"),
            ([(FrameKind.SPACE, {"name": b"a"})], "it was cut off"),
            ([(FrameKind.SPACE, {"name": "text"})], "a frame has no name"),
            (rows("counter", [], []), "'counter', which is not a table"),
            (rows("turn", ["id"], [["x"]]), "other columns than their table"),
            (rows("turn", ["id"], [["x", 1]]), "more or fewer values than columns"),
            (rows("turn", ["id", "seq"], [["x", 1], ["x"]]), "more or fewer values than columns"),
            (rows("turn", ["id"], [["x"], []]), "more or fewer values than columns"),
            (rows("turn", ["id"], [[{}]]), "holds what no column holds"),
            (
                [(FrameKind.SPACE, {"name": b"a"}), (FrameKind.COUNTER, {"seq": 1})],
                "counter of a space says cannot be read",
            ),
            ([(FrameKind.SPACE, {"name": b"a"}), (FrameKind.COUNTER, None)], "counter of a space says cannot be read"),
            ([(FrameKind.SPACE, {"name": b"a"}), (FrameKind.END, {})], "the space 'a' has no end"),
            ([(FrameKind.SPACE, {"name": b"-bad name"}), (FrameKind.COUNTER, None)], "cannot be the name of a space"),
            ([(FrameKind.ROWS, {"table": "turn", "columns": [], "rows": []})], "stands where a space begins"),
        ],
    )
    def test_frames_that_nobody_writes_are_refused_by_name(
        self, frames: list[tuple[FrameKind, Any]], words: str, tmp_path: Path
    ) -> None:
        write_frames(tmp_path / "bad", frames)
        with pytest.raises(HeadishError, match=words):
            restore(tmp_path / "bad", tmp_path / "target.db")
        assert not (tmp_path / "target.db").exists()

    def test_a_backup_of_no_space_restores_none(self, tmp_path: Path) -> None:
        write_frames(tmp_path / "empty", [(FrameKind.END, {})])
        assert restore(tmp_path / "empty", tmp_path / "target.db").spaces == ()

    def test_a_frame_that_would_fill_the_memory_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = BytesIO()
        FrameWriter(file, BACKUP).write(FrameKind.HEADER, {"x": b"\0" * 100_000})
        (tmp_path / "bomb").write_bytes(file.getvalue())
        monkeypatch.setattr("headish.content.frames.BODY_LIMIT_BYTES", 10_000)
        with pytest.raises(InvalidBackup, match="unpacks to more"):
            restore(tmp_path / "bomb", tmp_path / "target.db")

    def test_what_is_no_backup_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "text").write_text("hello")
        with pytest.raises(InvalidBackup, match="does not begin"):
            restore(tmp_path / "text", tmp_path / "target.db")
        with pytest.raises(HeadishError, match="cannot be read"):
            restore(tmp_path / "missing", tmp_path / "target.db")
        assert BACKUP.magic.endswith(b"\n")


class TestARestoreThatIsCutOff:
    def test_the_space_refuses_to_open_until_it_is_restored_again(
        self, durable_place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        source = Store.open(":memory:")
        grow(source)
        made = source.backup(tmp_path / "a.hbackup")
        durable_place.open()
        target, to = durable_place.target, f"back-{uuid4().hex}"
        with monkeypatch.context() as patched:
            patched.setattr("headish.store.backups.restoring.verify_space", _fail)
            with pytest.raises(KeyboardInterrupt):
                restore(made.path, target, only="default", to=to)
        with pytest.raises(SpaceRestoring):
            Store.open(target, space=to)
        with Database.open(target) as database, pytest.raises(SpaceRestoring):
            database.backup(tmp_path / "torn.hbackup", verify="quick")
        assert not (tmp_path / "torn.hbackup").exists()
        restore(made.path, target, only="default", to=to)
        with Store.open(target, space=to, create=False) as back:
            assert content_of(back) == content_of(source)

    @pytest.mark.slow
    def test_killed_at_any_statement_it_leaves_nothing_that_opens(self, tmp_path: Path) -> None:
        source = Store.open(":memory:")
        grow(source)
        whole, made = content_of(source), source.backup(tmp_path / "a.hbackup")
        Store.open(tmp_path / "empty.db").close()
        count = restored_in_a_child(made.path, tmp_path / "empty.db", tmp_path / "whole.db", at=None)
        assert count > 40
        for at in range(1, count, max(1, count // 12)):
            target = tmp_path / f"{at}.db"
            assert restored_in_a_child(made.path, tmp_path / "empty.db", target, at=at) == at
            with suppress(UnknownSpace, SpaceRestoring):
                Store.open(target, space="back", create=False).close()
                pytest.fail("it opened")
            restore(made.path, target, only="default", to="back")
            with Store.open(target, space="back", create=False) as back:
                assert content_of(back) == whole

    def test_two_at_once_do_not_mix(
        self, file_place: FilePlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        source = Store.open(":memory:")
        grow(source)
        made = source.backup(tmp_path / "a.hbackup")
        file_place.open()
        began = threading.Event()
        ended: list[object] = []

        def first() -> None:
            try:
                ended.append(restore(made.path, file_place.target, only="default", to="back"))
            except HeadishError as error:
                ended.append(error)

        import headish.store.backups.restoring as restoring

        original = restoring.verify_space

        def slow(*arguments: Any) -> Any:
            if not began.is_set():
                began.set()
                second_done.wait(20)
            return original(*arguments)

        second_done = threading.Event()
        monkeypatch.setattr(restoring, "verify_space", slow)
        thread = threading.Thread(target=first)
        thread.start()
        assert began.wait(20)
        restore(made.path, file_place.target, only="default", to="back")
        second_done.set()
        thread.join()
        assert [type(each) for each in ended] == [SpaceRestoring]
        with Store.open(file_place.target, space="back", create=False) as back:
            assert content_of(back) == content_of(source)


def restored_in_a_child(file: str, empty: Path, target: Path, *, at: int | None) -> int:
    """Restore into a copy in a child that is gone without a word at a statement; the number of those that it began."""
    target.write_bytes(empty.read_bytes())
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        _restore_until(file, target, at, lambda count: os.write(tell, count.to_bytes(4, "big")))
    os.waitpid(child, 0)
    os.close(tell)
    with os.fdopen(told, "rb") as reading:
        return int.from_bytes(reading.read(4), "big")


def _restore_until(file: str, target: Path, at: int | None, tell: Callable[[int], object]) -> None:
    try:
        count = 0

        def step(_: str) -> None:
            nonlocal count
            count += 1
            if count == at:
                tell(count)
                os._exit(0)

        with (
            Database.open(target) as database,
            open(file, "rb") as frames,
            on_connections(database.backend, lambda driver: driver.set_trace_callback(step)),
        ):
            restore_file(database.backend, frames, file, only="default", to="back", progress=None)
        tell(count)
    finally:
        os._exit(0)


def _fail(*_: object) -> None:
    raise KeyboardInterrupt
