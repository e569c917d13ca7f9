"""``distribute``: every table that is written is spread by space, once, and what is not is named.

No Citus is needed here, and none is there: a test makes, in SQL and on a real PostgreSQL, the catalogue table and the
functions of Citus that headish calls. They note what they were asked and refuse what Citus refuses (a table twice, one
that refers to a table which is not spread); no row moves. With HEADISH_TEST_CITUS, the URL of a Citus coordinator where
its role may create a schema, the last test runs on the real thing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from uuid import uuid4

import pytest
import sqlalchemy

from headish import Database, Store
from headish.database.dialects import connect
from headish.database.file.fulltext import TEXT
from headish.database.schema import metadata
from headish.database.spreading import STATEMENTS, distribute, not_spread
from headish.errors import DatabaseError, ReadOnly, UnknownDatabase
from support.command import Command

LIKE_CITUS = """
CREATE TABLE pg_dist_partition (
    logicalrelid regclass, partmethod "char", partkey text, colocationid int DEFAULT 0, repmodel "char" DEFAULT 's'
);
CREATE FUNCTION column_to_column_name(t regclass, k text) RETURNS text LANGUAGE sql AS 'SELECT k';
CREATE FUNCTION create_distributed_table(t regclass, k text, colocate_with text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = t) THEN
        RAISE 'the table is already distributed';
    END IF;
    IF EXISTS (SELECT FROM pg_constraint WHERE contype = 'f' AND conrelid = t
               AND confrelid NOT IN (SELECT logicalrelid FROM pg_dist_partition)) THEN
        RAISE 'referenced table must be a distributed table or a reference table';
    END IF;
    IF colocate_with <> 'default' AND NOT EXISTS (
        SELECT FROM pg_dist_partition WHERE logicalrelid = colocate_with::regclass
    ) THEN
        RAISE 'the relation to colocate with is not distributed';
    END IF;
    INSERT INTO pg_dist_partition VALUES (t, 'h', k, 7);
END $$;
CREATE FUNCTION create_reference_table(t regclass) RETURNS void LANGUAGE sql AS
    $$ INSERT INTO pg_dist_partition VALUES (t, 'n', NULL, 1, 't') $$;
CREATE TABLE emptied (name text);
CREATE FUNCTION truncate_local_data_after_distributing_table(t regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM pg_constraint WHERE contype = 'f' AND confrelid = t
               AND conrelid NOT IN (SELECT logicalrelid FROM pg_dist_partition)) THEN
        RAISE 'cannot truncate a table referenced in a foreign key constraint by a local table';
    END IF;
    INSERT INTO emptied VALUES (t::text);
END $$;
"""
WRITTEN = {table.name for table in metadata.sorted_tables} - {"space"} | {TEXT}


def run(url: str, sql: str) -> list[tuple[object, ...]]:
    """Statements, in one transaction; the rows of the last."""
    engine = sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool)
    with engine.begin() as connection:
        found = connection.exec_driver_sql(sql)
        return [tuple(row) for row in found] if found.returns_rows else []


@pytest.fixture
def like_citus(new_postgresql: str) -> str:
    """A database with tables, on a server that answers as a coordinator does."""
    with Store.open(new_postgresql) as store:
        store.add_turn("hello", bookmark="main")
    run(new_postgresql, LIKE_CITUS)
    return new_postgresql


class TestDistribute:
    def test_every_written_table_is_spread_by_space_and_beside_the_others(self, like_citus: str) -> None:
        with Database.open(like_citus) as database:
            placed = {each.table: each.where for each in database.distribute()}
        assert placed == {"space": "everywhere", **dict.fromkeys(WRITTEN, "spread")}
        kept = run(
            like_citus, "SELECT logicalrelid::text, partmethod::text, partkey, colocationid FROM pg_dist_partition"
        )
        assert {each[0] for each in kept if each[1:] == ("h", "space", 7)} == WRITTEN
        assert [each[0] for each in kept if each[1] == "n"] == ["space"]

    def test_what_was_copied_away_is_freed_once_all_are_spread(self, like_citus: str) -> None:
        with Database.open(like_citus) as database:
            database.distribute()
        emptied = {name for (name,) in run(like_citus, "SELECT name FROM emptied")}
        assert {"turn", "counter", "bookmark", "bookmark_log"} <= emptied
        assert "stream" not in emptied  # it held nothing

    def test_a_second_run_does_nothing(self, like_citus: str) -> None:
        with Database.open(like_citus) as database:
            first, second = database.distribute(), database.distribute()
        assert all(each.statement for each in first)
        assert [(each.table, each.where) for each in second] == [(each.table, each.where) for each in first]
        assert not any(each.statement for each in second)

    def test_a_dry_run_shows_the_statements_and_changes_nothing(self, like_citus: str) -> None:
        with Database.open(like_citus) as database:
            shown = [each.statement for each in database.distribute(dry_run=True)]
        assert shown == list(STATEMENTS.values())
        assert run(like_citus, "SELECT * FROM pg_dist_partition") == []

    def test_a_secured_database_is_not_spread(self, like_citus: str) -> None:
        with Database.open(like_citus) as database:
            database.secure()
            for dry_run in (True, False):
                with pytest.raises(DatabaseError, match="either secured or spread"):
                    database.distribute(dry_run=dry_run)
        assert run(like_citus, "SELECT * FROM pg_dist_partition") == []

    def test_a_spread_database_is_not_secured(self, like_citus: str) -> None:
        with Database.open(like_citus) as database:
            database.distribute()
            for check in (True, False):
                with pytest.raises(DatabaseError, match="spread over several machines"):
                    database.secure(check=check)

    def test_what_a_later_migration_adds_is_spread_by_the_next_run(self, like_citus: str) -> None:
        with Database.open(like_citus) as database:
            database.distribute()
            run(like_citus, "DELETE FROM pg_dist_partition WHERE logicalrelid = 'object'::regclass")
            assert not_spread(database.backend) == ["object"]
            assert [each.table for each in database.distribute() if each.statement] == ["object"]
            assert not_spread(database.backend) == []

    def test_one_that_was_cut_short_is_taken_up(self, like_citus: str) -> None:
        run(like_citus, "ALTER FUNCTION create_reference_table RENAME TO away")
        with Database.open(like_citus) as database:
            with pytest.raises(DatabaseError, match="the table space could not be spread, and is still on the coord"):
                database.distribute()
            run(like_citus, "ALTER FUNCTION away RENAME TO create_reference_table")
            assert {each.table for each in database.distribute() if each.statement} == {"space", *WRITTEN}

    def test_a_table_that_stays_behind_is_refused(self, like_citus: str) -> None:
        """As where a server says yes, and does nothing."""
        run(
            like_citus,
            "CREATE OR REPLACE FUNCTION create_reference_table(t regclass) RETURNS void LANGUAGE sql AS 'SELECT'",
        )
        still = "these tables are still on the coordinator: space"
        with Database.open(like_citus) as database, pytest.raises(DatabaseError, match=still):
            database.distribute()

    @pytest.mark.parametrize(
        ("row", "match"),
        [
            ("('counter', 'n', NULL, 1, 't')", r"counter is not kept as headish does \(spread\)"),
            ("('link', 'h', 'chain', 7, 's')", r"link is not kept as headish does \(spread\)"),
            ("('space', 'h', 'id', 7, 's')", r"space is not kept as headish does \(everywhere\)"),
            ("('payload', 'h', 'space', 9, 's')", "payload is spread otherwise than turn"),
            ("('payload', 'n', NULL, 9, 's')", "payload is not kept as headish does"),
        ],
    )
    def test_a_table_that_is_kept_otherwise_is_refused_before_anything_is_done(
        self, like_citus: str, row: str, match: str
    ) -> None:
        run(like_citus, f"INSERT INTO pg_dist_partition VALUES ('turn', 'h', 'space', 7, 's'), {row}")
        before = run(like_citus, "SELECT logicalrelid::text FROM pg_dist_partition")
        refused = pytest.raises(DatabaseError, match=match + ".*undistribute_table")
        with Database.open(like_citus) as database, refused:
            database.distribute()
        assert run(like_citus, "SELECT logicalrelid::text FROM pg_dist_partition") == before

    def test_read_only_changes_nothing(self, like_citus: str) -> None:
        with Database.open(like_citus, read_only=True) as database:
            with pytest.raises(ReadOnly):
                database.distribute()
            assert len(database.distribute(dry_run=True)) == len(STATEMENTS)

    def test_without_citus_it_is_refused_and_nothing_is_named(self, new_postgresql: str) -> None:
        with Database.open(new_postgresql) as database:
            with pytest.raises(DatabaseError, match="the extension citus"):
                database.distribute()
            assert not_spread(database.backend) is None

    def test_an_empty_database_is_refused(self, new_postgresql: str) -> None:
        backend = connect(new_postgresql, create=False)
        with pytest.raises(UnknownDatabase, match="headish db init"):
            distribute(backend)
        backend.close()


def test_the_command_makes_tables_spreads_them_and_says_so(new_postgresql: str) -> None:
    headish = Command(new_postgresql)
    assert headish("db", "init").err.startswith("Made the tables: revision headish_")
    assert headish("db", "init").err.startswith("The tables are there already")
    assert "the extension citus" in headish.fails("db", "distribute")
    assert headish("db", "current", "--json").json.keys() == {"current", "newest"}
    run(new_postgresql, LIKE_CITUS)
    dry = headish("db", "distribute", "--dry-run")
    assert dry.out.splitlines()[0] == "SELECT create_reference_table('space');"
    assert dry.err == "Nothing was changed.\n"
    assert headish("db", "current", "--json").json.keys() == {"current", "newest"}
    assert "turn          spread by space\n" in headish("db", "distribute").out
    again = headish("db", "distribute", "--json").json_lines
    assert again[0] == {"table": "space", "where": "everywhere", "statement": None}
    run(new_postgresql, "DELETE FROM pg_dist_partition WHERE logicalrelid = 'object'::regclass")
    assert headish("db", "current", "--json").json["not_spread"] == ["object"]
    assert "On the coordinator alone: object." in headish("db", "current").err
    assert headish("db", "distribute", "--dry-run").out == f"{STATEMENTS['object']};\n"


def test_init_makes_a_file_and_no_space(tmp_path: object) -> None:
    headish = Command(f"{tmp_path}/new.db")
    assert headish("db", "init", "--json").json["before"] is None
    assert headish("spaces", "list").out == ""
    assert "the extension citus" in headish.fails("db", "distribute")


@pytest.fixture
def on_citus() -> Iterator[str]:
    """An empty database of a real coordinator, its workers known to it."""
    named = os.environ.get("HEADISH_TEST_CITUS")
    if named is None:
        pytest.skip("set HEADISH_TEST_CITUS to the URL of a Citus coordinator; its role creates a schema there")
    url = sqlalchemy.make_url(named).set(drivername="postgresql+psycopg")
    whole, schema = url.render_as_string(hide_password=False), f"headish_test_{uuid4().hex}"
    run(whole, f"CREATE SCHEMA {schema}")
    yield url.update_query_dict({"options": f"-csearch_path={schema}"}).render_as_string(hide_password=False)
    run(whole, f"DROP SCHEMA {schema} CASCADE")


@pytest.mark.slow
def test_on_citus_everything_is_spread_and_goes_on(on_citus: str) -> None:
    with Database.open(on_citus) as database:
        before = database.store("one")
        first = before.add_turn("a", bookmark="main")
        assert {each.where for each in database.distribute()} == {"spread", "everywhere"}
        assert not any(each.statement for each in database.distribute())
        assert not_spread(database.backend) == []
        for name in ("one", "two", "three"):
            store = database.store(name)
            tip = store.add_turn("b", bookmark="main", continues=first.id if name == "one" else None)
            store.add_turn("c", continues="main")
            store.add_turn("d", continues=tip.id)
            store.add_document(b"x" * 5000, name="x.bin")
            store.pointers.set("milli", "openai/small")
            store.objects.put("kind", "key", b"data")
            store.conversations.set("main", title="t")
            assert [message.role for message in store.resolve("main").messages][-1] == "user"
        assert all(report.problems == () for report in database.verify().values())
