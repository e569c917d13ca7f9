"""``distribute``: every table that is written is spread by space, once, and what is not is named.

No Citus is needed here, and none is there: a test makes, in SQL and on a real PostgreSQL, the catalogue table and the
functions of Citus that headish calls. They note what they were asked, and no row moves. They refuse what Citus refuses
of a table (its source, ``commands/distribute`` and ``foreign_constraint.c``; ``REFUSED`` below has a table for each).
With HEADISH_TEST_CITUS, the URL of a Citus coordinator where its role may create a schema, the last test runs on the
real thing.
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
from support.servers import NO_CITUS

LIKE_CITUS = """
CREATE TABLE pg_dist_partition (
    logicalrelid regclass, partmethod "char", partkey text, colocationid int DEFAULT 0, repmodel "char" DEFAULT 's'
);
CREATE FUNCTION column_to_column_name(t regclass, k text) RETURNS text LANGUAGE sql AS 'SELECT k';
CREATE FUNCTION refuse_tables_of_others(t regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = t) THEN
        RAISE 'the table is already distributed';
    END IF;
    IF EXISTS (SELECT FROM pg_inherits WHERE inhrelid = t OR inhparent = t) THEN
        RAISE 'a table that inherits cannot be distributed';
    END IF;
    IF EXISTS (SELECT FROM pg_trigger WHERE tgrelid = t AND NOT tgisinternal) THEN
        RAISE 'triggers are not supported on distributed tables';
    END IF;
    IF EXISTS (SELECT FROM pg_constraint WHERE contype = 'f' AND conrelid = t AND confrelid <> t
               AND confrelid NOT IN (SELECT logicalrelid FROM pg_dist_partition)) THEN
        RAISE 'referenced table must be a distributed table or a reference table';
    END IF;
END $$;
CREATE FUNCTION create_distributed_table(t regclass, k text, colocate_with text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    own pg_attribute;
    other regclass := CASE WHEN colocate_with <> 'default' THEN colocate_with::regclass END;
    grouped int := 7;
BEGIN
    PERFORM refuse_tables_of_others(t);
    SELECT * INTO own FROM pg_attribute WHERE attrelid = t AND attname = k AND attnum > 0 AND NOT attisdropped;
    IF own.attnum IS NULL OR own.attgenerated <> '' THEN
        RAISE 'the distribution column does not exist, or is generated';
    END IF;
    IF other IS NOT NULL THEN
        SELECT colocationid INTO grouped FROM pg_dist_partition WHERE logicalrelid = other AND partmethod = 'h';
        IF grouped IS NULL THEN
            RAISE 'the relation to colocate with is not distributed';
        END IF;
        IF own.atttypid <> (SELECT a.atttypid FROM pg_dist_partition p JOIN pg_attribute a
                            ON a.attrelid = p.logicalrelid AND a.attname = p.partkey WHERE p.logicalrelid = other) THEN
            RAISE 'cannot colocate tables: the types of their distribution columns differ';
        END IF;
    END IF;
    IF EXISTS (SELECT FROM pg_index WHERE indrelid = t AND (indisunique OR indisexclusion)
               AND own.attnum <> ALL (indkey::int2[])) THEN
        RAISE 'cannot create constraint: no UNIQUE, EXCLUDE or PRIMARY KEY leaves the partition column out';
    END IF;
    IF EXISTS (SELECT FROM pg_constraint WHERE contype = 'f' AND conrelid = t AND own.attnum = ANY (conkey)
               AND (confdeltype IN ('n', 'd') OR confupdtype IN ('n', 'd', 'c'))) THEN
        RAISE 'cannot create foreign key constraint: it would change the distribution key';
    END IF;
    IF EXISTS (SELECT FROM pg_constraint c LEFT JOIN pg_dist_partition p ON p.logicalrelid = c.confrelid
               LEFT JOIN pg_attribute a ON a.attrelid = c.confrelid AND a.attname = coalesce(p.partkey, k)
               WHERE c.contype = 'f' AND c.conrelid = t AND coalesce(p.partmethod, 'h') = 'h'
               AND (coalesce(p.colocationid, grouped) <> grouped
                    OR array_position(c.conkey, own.attnum) IS DISTINCT FROM array_position(c.confkey, a.attnum)
                    OR array_position(c.conkey, own.attnum) IS NULL)) THEN
        RAISE 'cannot create foreign key constraint: the tables are not colocated by a column of it';
    END IF;
    INSERT INTO pg_dist_partition VALUES (t, 'h', k, grouped);
END $$;
CREATE FUNCTION create_reference_table(t regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM refuse_tables_of_others(t);
    IF EXISTS (SELECT FROM pg_constraint c JOIN pg_dist_partition p ON p.logicalrelid = c.confrelid
               WHERE c.contype = 'f' AND c.conrelid = t AND p.partmethod <> 'n') THEN
        RAISE 'foreign keys from reference tables to distributed tables are not supported';
    END IF;
    INSERT INTO pg_dist_partition VALUES (t, 'n', NULL, 1, 't');
END $$;
CREATE TABLE emptied (name text);
CREATE FUNCTION truncate_local_data_after_distributing_table(t regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = t) THEN
        RAISE 'supplied parameter is not a distributed relation';
    END IF;
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


BESIDE = """
CREATE TABLE base (space int PRIMARY KEY, id int, UNIQUE (space, id), UNIQUE (id, space));
CREATE TABLE base2 (space int, id int UNIQUE, PRIMARY KEY (space, id));
CREATE TABLE far (space int PRIMARY KEY);
SELECT create_distributed_table('base', 'space', colocate_with => 'default');
INSERT INTO pg_dist_partition VALUES ('far', 'h', 'space', 9);
"""
TO_BASE = "CREATE TABLE t (space int, id int, FOREIGN KEY (space, id) REFERENCES base (space, id)"
REFUSED = {
    "CREATE TABLE t (space int, id int PRIMARY KEY)": "leaves the partition column out",
    "CREATE TABLE t (space int, id int); CREATE UNIQUE INDEX ON t (id)": "leaves the partition column out",
    "CREATE TABLE t (space int, id int, EXCLUDE USING btree (id WITH =))": "leaves the partition column out",
    "CREATE TABLE t (id int)": "does not exist, or is generated",
    "CREATE TABLE t (id int, space int GENERATED ALWAYS AS (id + 1) STORED)": "does not exist, or is generated",
    "CREATE TABLE t (space bigint)": "the types of their distribution columns differ",
    "CREATE TABLE t (space int, id int REFERENCES base2 (id))": "must be a distributed table or a reference table",
    "CREATE TABLE t (space int REFERENCES far)": "not colocated by a column of it",
    "CREATE TABLE t (space int, id int, FOREIGN KEY (id, space) REFERENCES base (space, id))": "not colocated by a col",
    "CREATE TABLE t (id int PRIMARY KEY, space int REFERENCES t)": "leaves the partition column out",
    f"{TO_BASE} ON DELETE SET NULL)": "would change the distribution key",
    f"{TO_BASE} ON DELETE SET DEFAULT)": "would change the distribution key",
    f"{TO_BASE} ON UPDATE CASCADE)": "would change the distribution key",
    "CREATE TABLE t () INHERITS (base2)": "inherits cannot be distributed",
    "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; CREATE TABLE t (space int); "
    "CREATE TRIGGER f BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()": "triggers are not supported",
}


class TestStandIn:
    """What stands in for Citus takes what Citus takes, and nothing else."""

    def test_it_refuses_what_citus_refuses(self, new_postgresql: str) -> None:
        run(new_postgresql, LIKE_CITUS + BESIDE)
        for table, reason in REFUSED.items():
            with pytest.raises(sqlalchemy.exc.DBAPIError, match=reason):
                run(new_postgresql, f"{table}; SELECT create_distributed_table('t', 'space', colocate_with => 'base')")
        with pytest.raises(sqlalchemy.exc.DBAPIError, match="from reference tables to distributed tables"):
            run(new_postgresql, f"{TO_BASE}); SELECT create_reference_table('t')")
        with pytest.raises(sqlalchemy.exc.DBAPIError, match="not a distributed relation"):
            run(new_postgresql, "SELECT truncate_local_data_after_distributing_table('base2')")

    def test_it_takes_what_citus_takes(self, new_postgresql: str) -> None:
        run(new_postgresql, LIKE_CITUS + BESIDE)
        for number, rest in enumerate((")", " ON DELETE CASCADE)", ", UNIQUE (id, space))")):
            named = TO_BASE.replace("TABLE t", f"TABLE t{number}")
            run(
                new_postgresql,
                f"{named}{rest}; SELECT create_distributed_table('t{number}', 'space', colocate_with => 'base')",
            )


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
        pytest.skip(NO_CITUS)
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
