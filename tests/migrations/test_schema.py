"""The schema: made, recognised, upgraded, refused. A fresh one equals the sum of the migrations."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import alembic.op
import pytest
import sqlalchemy
from alembic.config import Config
from alembic.script import ScriptDirectory

from headish import Store
from headish.database.backend import Backend
from headish.database.dialects import connect
from headish.database.revisions import REVISION, REVISIONS, TABLES, Column, columns_of
from headish.database.schema import metadata
from headish.database.upgrade import alchemy_connection, current_revision, upgrade_schema
from headish.errors import DatabaseError, DatabaseTooNew, DatabaseTooOld, NotADatabase, UnknownDatabase
from support.growing import grow
from support.insides import dump
from support.places import FilePlace, Place
from support.workers import just_open, run_together


@pytest.fixture(params=["sqlite", "postgresql"])
def new_target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty place for a database of the test's own."""
    if request.param == "sqlite":
        return str(tmp_path / "schema.db")
    return str(request.getfixturevalue("new_postgresql"))


def test_what_is_known_of_the_tables_without_sqlalchemy_is_the_schema() -> None:
    kinds = {sqlalchemy.LargeBinary: "blob", sqlalchemy.String: "text", sqlalchemy.Text: "text"}
    for table in metadata.sorted_tables:
        columns = [each for each in table.c if each.name != "space"]
        keys = [each.name for each in table.primary_key if each.name != "space"]
        told = [Column(c.name, kinds.get(type(c.type), "integer"), c.primary_key, bool(c.nullable)) for c in columns]
        assert columns_of(table.name) == told
        assert [each.name for each in columns_of(table.name) if each.in_key] == keys
    assert [table.name for table in metadata.sorted_tables if table.name != "space"] == list(TABLES)


def described(target: str) -> dict[str, Any]:
    """All tables, columns, constraints and indexes as the database itself tells them."""
    database = connect(target)
    with database.schema_connection() as connection:
        if database.dialect == "sqlite":
            own = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"
            rows = connection.execute(own)
            found = {f"{kind} {name}": _normal(sql) for kind, name, sql in rows}
        else:
            found = {name: connection.execute(sql).fetchall() for name, sql in CATALOGUE.items()}
    database.close()
    return found


CATALOGUE = {
    "columns": "SELECT table_name, column_name, data_type, is_nullable, column_default, collation_name, "
    "character_maximum_length FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2",
    "constraints": "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint "
    "WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2",
    "indexes": "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1",
    "sequences": "SELECT sequencename, data_type, start_value FROM pg_sequences WHERE schemaname = 'public' ORDER BY 1",
}


def _normal(sql: str) -> tuple[str, ...]:
    """A statement without layout; the items of a table in any order, since a migration may add what came later."""
    words = " ".join(sql.replace('"', "").replace("(", " ( ").replace(")", " ) ").split())
    return tuple(sorted(item.strip() for item in words.split(",")))


def migrate(target: str, revision: str) -> None:
    """Run Alembic itself from nothing."""
    database = connect(target)
    from alembic import command

    config = Config()
    config.set_main_option("script_location", "headish_migrations:")
    with database.schema_connection() as driver, alchemy_connection(database.dialect, driver) as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    database.close()


def opened(target: str) -> Backend:
    return connect(target, create=False)


def kept(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """Every row, but for what an older revision has no place for: a random number, and when a space got its name."""
    rows = dump(store)
    column = [column.name for column in metadata.tables["counter"].columns].index("epoch")
    rows["counter"] = [row[:column] + row[column + 1 :] for row in rows["counter"]]
    rows["space_log"] = [row[:3] for row in rows["space_log"]]
    return rows


def at_revision(target: str, revision: str) -> None:
    """Bring a database to an older revision."""
    database = opened(target)
    upgrade_schema(database, revision)
    database.close()


class TestMigrations:
    def test_a_fresh_schema_is_the_sum_of_the_migrations(
        self, new_target: str, tmp_path: Path, request: pytest.FixtureRequest
    ) -> None:
        Store.open(new_target).close()
        if "://" in new_target:
            migrated = request.getfixturevalue("make_postgresql_database")()
        else:
            migrated = str(tmp_path / "migrated.db")
        migrate(migrated, "head")
        fresh = described(new_target)
        assert fresh == described(migrated)
        assert sum(map(len, fresh.values())) > 20

    def test_the_revisions_are_those_that_alembic_finds(self) -> None:
        config = Config()
        config.set_main_option("script_location", "headish_migrations:")
        script = ScriptDirectory.from_config(config)
        assert [each.revision for each in script.walk_revisions()][::-1] == list(REVISIONS)
        assert script.get_heads() == [REVISION]

    def test_every_key_and_unique_constraint_begins_with_space(self) -> None:
        """So that the tables can be distributed by it (rule R10, record layout, names the exemption: ``space``
        itself)."""
        for table in metadata.sorted_tables:
            keys = [each for each in table.constraints if isinstance(each, sqlalchemy.UniqueConstraint)]
            for key in [table.primary_key, *keys] if table.name != "space" else []:
                assert next(iter(key.columns)).name == "space", (table.name, key)
            assert all(index.columns[0].name == "space" for index in table.indexes)

    @pytest.mark.parametrize("revision", REVISIONS[:-1])
    def test_down_and_up_again_keeps_every_row(self, new_target: str, revision: str) -> None:
        with Store.open(new_target) as store:
            grow(store, "q? <- a <- r?, q? <- b, b + r? <- end", inherited={"t": 1})
            store.add_document(b"x", name="x.txt", bookmark="main")
            before = kept(store)
        at_revision(new_target, revision)
        assert current_revision(opened(new_target)) == revision
        at_revision(new_target, REVISION)
        with Store.open(new_target) as store:
            assert kept(store) == before
            assert store.verify().problems == ()

    def test_rows_that_no_turn_covers_are_sealed_as_if_they_were_written(self, new_target: str) -> None:
        with Store.open(new_target) as store:
            store.add_turn("x", bookmark="main")
            store.conversations.set("main", title="Überblick", tags=["é"], key="elsewhere/1")
            store.bookmarks.rename("main", "other")
            for number in range(2500):  # more than a page of the migration
                store.objects.put("state", f"{number:04}", b"%d" % number)
            before = kept(store)
        at_revision(new_target, "headish_0005_search")
        at_revision(new_target, REVISION)
        with Store.open(new_target) as store:
            assert kept(store) == before
            assert store.verify().problems == ()

    def test_down_to_nothing_and_up_again_is_a_fresh_schema(self, new_target: str) -> None:
        Store.open(new_target).close()
        fresh = described(new_target)
        database = opened(new_target)
        from alembic import command

        config = Config()
        config.set_main_option("script_location", "headish_migrations:")
        with database.schema_connection() as driver, alchemy_connection(database.dialect, driver) as connection:
            config.attributes["connection"] = connection
            command.downgrade(config, "base")
            command.upgrade(config, "head")
        database.close()
        assert described(new_target) == fresh


class TestOpeningAnOlderDatabase:
    def test_sqlite_upgrades_itself_after_a_backup(self, file_place: FilePlace) -> None:
        with Store.open(file_place.target) as store:
            turn = store.add_turn("q", inherited={"t": 1})
            before = kept(store)
        at_revision(file_place.target, REVISIONS[0])
        [made] = file_place.path.parent.glob("*.backup-*")
        made.unlink()
        with file_place.open() as store:
            assert kept(store) == before
            assert store.options(turn.id) == {"t": 1}
        backup = Path(f"{file_place.target}.backup-{REVISIONS[0]}")
        assert current_revision(opened(str(backup))) == REVISIONS[0]

    def test_postgresql_is_refused_with_the_command_that_upgrades_it(self, new_postgresql: str) -> None:
        Store.open(new_postgresql).close()
        at_revision(new_postgresql, REVISIONS[0])
        with pytest.raises(DatabaseTooOld, match="run 'headish db upgrade'"):
            Store.open(new_postgresql)
        assert current_revision(opened(new_postgresql)) == REVISIONS[0]
        at_revision(new_postgresql, REVISION)
        Store.open(new_postgresql).close()

    def test_a_failed_upgrade_leaves_nothing_behind(self, new_target: str, monkeypatch: pytest.MonkeyPatch) -> None:
        with Store.open(new_target) as store:
            store.add_turn("q", inherited={"t": 1})
        at_revision(new_target, REVISIONS[0])
        old = described(new_target)
        create_index = alembic.op.create_index

        def fail_after(*arguments: Any, **options: Any) -> None:
            create_index(*arguments, **options)
            raise RuntimeError("in the middle of an upgrade")

        files = set(Path(new_target).parent.glob("*")) if "://" not in new_target else set()
        with monkeypatch.context() as patched:
            patched.setattr(alembic.op, "create_index", fail_after)
            with pytest.raises(RuntimeError, match="in the middle"):
                at_revision(new_target, REVISION)
        assert described(new_target) == old
        assert current_revision(opened(new_target)) == REVISIONS[0]
        if files:
            assert set(Path(new_target).parent.glob("*.backup*")) == {each for each in files if "backup" in each.name}
        at_revision(new_target, REVISION)
        with Store.open(new_target) as store:
            assert store.verify().problems == ()

    def test_tables_without_a_revision_are_refused(self, new_target: str) -> None:
        Store.open(new_target).close()
        with opened(new_target).schema_connection() as connection:
            connection.execute("DELETE FROM alembic_version")
        for look in (Store.open, lambda target: upgrade_schema(opened(target))):
            with pytest.raises(NotADatabase, match="its revision is missing"):
                look(new_target)

    def test_a_database_of_a_newer_headish_is_refused_untouched(self, new_target: str) -> None:
        Store.open(new_target).close()
        _set_revision(new_target, "headish_9999")
        before = Path(new_target).read_bytes() if "://" not in new_target else None
        with pytest.raises(DatabaseTooNew, match="headish_9999"):
            Store.open(new_target)
        with pytest.raises(DatabaseTooNew, match="headish_9999"):
            upgrade_schema(opened(new_target))
        assert current_revision(opened(new_target)) == "headish_9999"
        if before is not None:
            assert Path(new_target).read_bytes() == before
            assert not list(Path(new_target).parent.glob("*.backup*"))

    def test_nothing_is_made_where_nothing_is_to_be_created(self, new_target: str) -> None:
        with pytest.raises(UnknownDatabase):
            Store.open(new_target, create=False)
        if "://" not in new_target:
            assert not Path(new_target).exists()
            return
        with opened(new_target).schema_connection() as connection:
            assert connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall() == []


def _set_revision(target: str, revision: str) -> None:
    database = opened(target)
    with database.schema_connection() as connection:
        connection.execute(f"UPDATE alembic_version SET version_num = '{revision}'")
    database.close()


@pytest.mark.slow
class TestTwoProcessesAtOnce:
    def test_they_make_a_new_database_together(self, new_target: str) -> None:
        place = Place()
        place.target = new_target
        run_together(place, just_open, 4)
        with Store.open(new_target) as store:
            assert store.stats().turns == 4
            assert store.verify().problems == ()

    def test_they_make_a_new_space_together(self, new_target: str) -> None:
        Store.open(new_target).close()
        place = Place()
        place.target, place.space = new_target, "new"
        run_together(place, just_open, 4)
        with Store.open(new_target, space="new") as store:
            assert store.stats().turns == 4

    def test_they_upgrade_an_old_file_together(self, file_place: FilePlace) -> None:
        Store.open(file_place.target).close()
        at_revision(file_place.target, REVISIONS[0])
        run_together(file_place, just_open, 4)
        assert file_place.open().stats().turns == 4


def test_a_copied_file_is_the_same_store(file_place: FilePlace, tmp_path: Path) -> None:
    with file_place.open() as store:
        turn = store.add_turn("q", bookmark="main")
    shutil.copy(file_place.path, tmp_path / "copy.db")
    with Store.open(tmp_path / "copy.db") as store:
        assert store.get("main") == turn


def test_postgresql_that_holds_another_programs_tables_is_refused(new_postgresql: str) -> None:
    database = opened(new_postgresql)
    with database.schema_connection() as connection:
        connection.execute("CREATE TABLE turn (id integer)")
    with pytest.raises(DatabaseError, match="another program"):
        Store.open(new_postgresql)
    database.close()
