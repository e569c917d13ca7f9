"""A store whose file has another name now, or none; copies that nobody else may read."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

import headish
from headish import Store
from headish.database.revisions import REVISIONS
from headish.database.upgrade import upgrade_schema
from headish.errors import DatabaseReplaced, DatabaseUnavailable, InvalidArgument, NotADatabase
from support.command import Command
from support.insides import database_of
from support.places import FilePlace


class TestAFileThatIsGone:
    @pytest.mark.parametrize("how", ["removed", "moved", "replaced"])
    def test_nothing_is_acknowledged_into_it(self, file_place: FilePlace, tmp_path: Path, how: str) -> None:
        store = file_place.open()
        store.add_turn("first", bookmark="main")
        path = Path(file_place.target)
        if how == "removed":
            path.unlink()
        elif how == "moved":
            path.rename(tmp_path / "elsewhere.db")
        else:
            Store.open(tmp_path / "other.db").close()
            (tmp_path / "other.db").replace(path)
        for write in (
            lambda: store.add_turn("lost?", continues="main"),
            lambda: store.bookmarks.set("other", "main"),
            lambda: store.pointers.set("p", "openai/m"),
        ):
            with pytest.raises(DatabaseReplaced, match="removed or replaced while it was open; open it anew"):
                write()

    def test_one_that_comes_back_is_written_to_again(self, file_place: FilePlace, tmp_path: Path) -> None:
        store = file_place.open()
        path = Path(file_place.target)
        path.rename(tmp_path / "aside.db")
        with pytest.raises(DatabaseReplaced):
            store.add_turn("a")
        (tmp_path / "aside.db").rename(path)
        assert store.add_turn("a").meta.role == "user"


class TestTwoNamesOfOneFile:
    """Each hard link has a log of its own: what one writer stored, the other one would write over."""

    def test_a_second_name_is_refused_and_the_first_writes_on(self, file_place: FilePlace, tmp_path: Path) -> None:
        store = file_place.open()
        store.add_turn("first", bookmark="main")
        other = tmp_path / "other.db"
        os.link(file_place.target, other)
        for options in ({}, {"read_only": True}, {"create": False}):
            with pytest.raises(DatabaseUnavailable, match=r"other.db has 2 names \(hard links\)"):
                Store.open(other, **options)
        assert sorted(each.name for each in tmp_path.glob("other.db*")) == ["other.db"]
        store.add_turn("second", continues="main")
        store.close()
        with pytest.raises(DatabaseUnavailable, match="remove the other name"):
            Store.open(file_place.target)
        other.unlink()
        with Store.open(file_place.target) as again:
            assert len(list(again.turns())) == 2
            assert again.verify().problems == ()

    @pytest.mark.parametrize("beside", ["-wal", "-shm"])
    def test_a_second_name_of_what_lies_beside_is_refused(self, file_place: FilePlace, beside: str) -> None:
        store = file_place.open()
        store.add_turn("first")
        os.link(file_place.target + beside, file_place.target + ".kept")
        with pytest.raises(DatabaseUnavailable, match=f"{beside} has 2 names"):
            Store.open(file_place.target)

    def test_a_restore_and_the_command_refuse_it_too(self, file_place: FilePlace, tmp_path: Path) -> None:
        file_place.open().backup(tmp_path / "b.hbackup")
        Store.open(tmp_path / "one.db").close()
        os.link(tmp_path / "one.db", tmp_path / "two.db")
        with pytest.raises(DatabaseUnavailable, match="hard links"):
            headish.restore(tmp_path / "b.hbackup", tmp_path / "two.db", to="elsewhere", only="default")
        assert "hard links" in Command(tmp_path / "two.db").fails("list")

    def test_symbolic_links_are_one_file(self, file_place: FilePlace, tmp_path: Path) -> None:
        store = file_place.open()
        (tmp_path / "link.db").symlink_to(file_place.target)
        with Store.open(tmp_path / "link.db") as linked:
            for number in range(20):
                store.add_turn(f"a {number}")
                linked.add_turn(f"b {number}")
            assert len(list(linked.turns())) == len(list(store.turns())) == 40
            assert store.verify().problems == ()


@pytest.mark.skipif(os.name != "posix", reason="files have no mode of this kind here; run this on a POSIX system")
def test_the_copy_of_an_upgrade_is_as_private_as_the_database(tmp_path: Path) -> None:
    target = tmp_path / "private.db"
    with Store.open(target) as store:
        upgrade_schema(database_of(store), REVISIONS[0])
    target.chmod(0o600)
    shutil.rmtree(tmp_path / "none", ignore_errors=True)
    for backup in tmp_path.glob("*.backup-*"):
        backup.unlink()
    Store.open(target).close()
    [backup] = tmp_path.glob("*.backup-*")
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600


def test_an_alembic_table_of_another_program_is_told_as_what_it_is(new_postgresql: str) -> None:
    import sqlalchemy

    engine = sqlalchemy.create_engine(new_postgresql)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
        connection.exec_driver_sql("INSERT INTO alembic_version VALUES ('8f3c1a')")
    engine.dispose()
    with pytest.raises(NotADatabase, match="give headish a schema of its own"):
        Store.open(new_postgresql)


@pytest.mark.parametrize("url", ["postgresql://a:1,b:2/x", "postgresql://h/x?prepare_threshold=zero"])
def test_an_odd_url_is_an_error_of_the_input(url: str) -> None:
    with pytest.raises((InvalidArgument, Exception)) as refused:
        Store.open(url)
    assert type(refused.value).__module__ == "headish.errors", refused.value
