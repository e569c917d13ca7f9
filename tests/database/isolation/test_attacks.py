"""What a tenant could try by hand to read another one: with the rights of a writer, and with rights given by mistake.

The secret is in ben's space, and ana, or mallory, who may enter ana's space, looks for it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import psycopg
import pytest

from headish import Database, Store
from headish.database.isolation.grants import EVERYWHERE
from headish.database.urls import parse_url, server_arguments
from headish.errors import NotIsolated
from support.secured import SEARCH, Logins

SECRET = b"the secret of ben"


def version_of(logins: Logins) -> int:
    [(version,)] = logins.run("SELECT current_setting('server_version_num')::int / 10000")
    return int(version)


def number_of(logins: Logins, who: str) -> int:
    [(number,)] = logins.run(f"SELECT headish_enter('{who}')", who)
    return int(number)


class Session:
    """A login's own connection, inside the space of ana; it keeps what it is told, and goes on after an error."""

    def __init__(self, logins: Logins, who: str, space: str = "ana") -> None:
        arguments = server_arguments(parse_url(logins.at(who)))
        self.connection = psycopg.connect(**arguments, **SEARCH, autocommit=True)
        self.told: list[str] = []
        self.connection.add_notice_handler(lambda said: self.told.append(said.message_primary or ""))
        self.run(f"SELECT set_config('headish.space', (SELECT headish_enter('{space}'))::text, false)")

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        cursor = self.connection.execute(statement.encode())
        while cursor.nextset():
            pass
        return cursor.fetchall() if cursor.description else []

    def try_all(self, *statements: str) -> str:
        """All that was read on the way, and what the server told."""
        seen: list[Any] = []
        for statement in statements:
            with suppress(psycopg.Error):
                seen.extend(self.run(statement))
        return f"{seen} {self.told}"


READING = ("SELECT convert_from(data, 'UTF8') FROM turn", "SELECT data FROM turn", "TABLE space", "TABLE bookmark")


class TestAWriter:
    """Nothing was given by mistake: these are the rights of every tenant."""

    @pytest.mark.parametrize(
        "statements",
        [
            ("SET ROLE {ben}", "SET headish.space = '{number}'"),
            ("SET ROLE headish_owner",),
            ("SET SESSION AUTHORIZATION {ben}", "SET headish.space = '{number}'"),
            ("SET headish.space = '{number}'",),
            ("SET headish.space = '{own} OR true'",),
            ("SET row_security = off",),
            ("CREATE TEMP TABLE member AS SELECT session_user::text AS login, {number}::bigint AS space",
             "SET headish.space = '{number}'"),
            ("CREATE TEMP TABLE pg_roles AS SELECT 1", "SET headish.space = '{number}'"),
            ("SET search_path = pg_temp, headish",
             "CREATE FUNCTION pg_temp.headish_space() RETURNS bigint LANGUAGE sql AS 'SELECT {number}::bigint'"),
            ("CREATE FUNCTION pg_temp.look(text) RETURNS bool LANGUAGE plpgsql COST 0.0000001 AS "
             "'BEGIN RAISE NOTICE ''%'', $1; RETURN true; END'",
             "SELECT FROM turn WHERE pg_temp.look(encode(data, 'escape'))",
             "DELETE FROM object WHERE pg_temp.look(encode(data, 'escape'))"),
            ("SELECT FROM turn WHERE 1 / (CASE WHEN encode(data, 'escape') ~ 'ben' THEN 0 ELSE 1 END) = 1",),
            ("COPY turn TO STDOUT",),
            ("COPY turn TO PROGRAM 'cat > /dev/null'",),
            ("SELECT * FROM turn TABLESAMPLE SYSTEM (100)", "SELECT * FROM turn WHERE ctid >= '(0,0)'"),
            ("CREATE TABLE headish.mine (LIKE headish.turn)",),
            ("CREATE TEMP VIEW v AS SELECT * FROM turn", "SET ROLE NONE", "TABLE v"),
            ("PREPARE p AS SELECT data FROM turn", "SET headish.space = '{number}'", "EXECUTE p"),
            ("BEGIN", "DECLARE c CURSOR WITH HOLD FOR SELECT data FROM turn", "SET LOCAL headish.space = '{number}'",
             "FETCH ALL FROM c", "COMMIT", "FETCH ALL FROM c"),
            ("SELECT most_common_vals, histogram_bounds FROM pg_stats WHERE schemaname = 'headish'",),
            ("SELECT stavalues1 FROM pg_statistic", "SELECT stxdmcv FROM pg_statistic_ext_data"),
            ("SELECT lo_import('/etc/hostname')", "SELECT lo_get(loid) FROM pg_largeobject"),
            ("SELECT pg_read_file('PG_VERSION')", "SELECT * FROM pg_ls_dir('base')"),
            ("SELECT pg_create_logical_replication_slot('s', 'test_decoding')",),
            ("SELECT query FROM pg_stat_activity WHERE usename <> session_user",),
            ("CREATE PUBLICATION p FOR TABLE turn", "CREATE SUBSCRIPTION s CONNECTION '' PUBLICATION p"),
            ("ALTER TABLE turn ADD COLUMN spy text", "CREATE INDEX spy ON turn (data)",
             "CREATE STATISTICS st ON seq, pos FROM turn"),
            ("CREATE TRIGGER spy AFTER INSERT ON turn EXECUTE FUNCTION suppress_redundant_updates_trigger()",),
            ("CREATE RULE spy AS ON INSERT TO turn DO ALSO NOTIFY spy",),
            ("MERGE INTO bookmark b USING (SELECT 1) s ON true WHEN MATCHED THEN UPDATE SET name = 'gone'",),
            ("INSERT INTO bookmark TABLE bookmark ON CONFLICT (space, name) DO UPDATE SET pos = 0 RETURNING *",),
            ("LOCK TABLE turn IN ACCESS EXCLUSIVE MODE",),
            ("TRUNCATE turn CASCADE",),
            ("GRANT SELECT ON turn TO PUBLIC",),
            ("SECURITY LABEL ON TABLE turn IS 'x'", "COMMENT ON TABLE turn IS 'x'"),
        ],
    )  # fmt: skip
    def test_by_hand_it_reads_and_changes_nothing_of_another_space(
        self, logins: Logins, statements: tuple[str, ...]
    ) -> None:
        names = {"number": number_of(logins, "ben"), "own": number_of(logins, "ana"), "ben": f'"{logins.name("ben")}"'}
        before = logins.run("SELECT count(*), min(recent) FROM bookmark", "ben", "ben")
        session = Session(logins, "ana")
        seen = session.try_all(*(each.format(**names) for each in (*statements, *READING)))
        session.connection.close()
        assert SECRET.decode() not in seen
        assert SECRET.hex() not in seen
        assert "b'ben'" not in seen
        assert logins.run("SELECT count(*), min(recent) FROM bookmark", "ben", "ben") == before
        with Store.open(logins.at("ben"), space="ben", isolation="required") as store:
            assert store.text("main") == SECRET.decode()

    def test_ones_own_is_seen_by_the_same_means(self, logins: Logins) -> None:
        assert "the secret of ana" in Session(logins, "ana").try_all(*READING)

    def test_a_transaction_that_another_prepared_is_not_theirs_to_end(self, logins: Logins) -> None:
        if logins.run("SHOW max_prepared_transactions") == [("0",)]:
            pytest.skip("the server prepares no transactions")
        ben = Session(logins, "ben", "ben")
        ben.try_all("BEGIN", "UPDATE bookmark SET recent = recent", "PREPARE TRANSACTION 'of ben'")
        with pytest.raises(psycopg.Error, match="permission denied"):
            Session(logins, "ana").run("COMMIT PREPARED 'of ben'")
        ben.run("ROLLBACK PREPARED 'of ben'")


# What was given by mistake, from which version on there is such a right, and what is tried with it.
MISTAKES: dict[str, tuple[int, str, tuple[str, ...]]] = {
    "CREATE on the database": (
        0,
        "GRANT CREATE ON DATABASE {database} TO {mallory}",
        (
            "CREATE SCHEMA mine",
            "CREATE TABLE mine.member (login text, space bigint)",
            "INSERT INTO mine.member VALUES (session_user, {number})",
            "CREATE FUNCTION mine.headish_space() RETURNS bigint LANGUAGE sql AS 'SELECT {number}::bigint'",
            "CREATE FUNCTION mine.eq(bigint, bigint) RETURNS bool LANGUAGE sql AS 'SELECT true'",
            "CREATE OPERATOR mine.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = mine.eq)",
            "SET search_path = mine, headish, pg_catalog",
            "SET headish.space = '{number}'",
        ),
    ),
    "pg_maintain": (17, "GRANT pg_maintain TO {mallory}", ("ANALYZE turn", "REINDEX TABLE turn", "VACUUM turn")),
    "pg_signal_backend": (0, "GRANT pg_signal_backend TO {mallory}", ("SELECT pg_cancel_backend(0)",)),
    "pg_monitor": (
        0,
        "GRANT pg_monitor TO {mallory}",
        ("SELECT query FROM pg_stat_activity", "SELECT * FROM pg_ls_waldir()", "TABLE pg_stats"),
    ),
    "member of another tenant": (
        0,
        "GRANT {ben} TO {mallory}",
        ("SET ROLE {ben}", "SET headish.space = '{number}'", "SELECT headish_enter('ben')"),
    ),
    "an application's role": (0, "GRANT {app} TO {mallory}", ("SET ROLE {app}", "SELECT headish_enter('ben')")),
    "SELECT on everything": (0, "GRANT SELECT ON ALL TABLES IN SCHEMA headish TO {mallory}", ()),
    "pg_read_all_data": (14, "GRANT pg_read_all_data TO {mallory}", ("TABLE member",)),
    "pg_write_all_data": (
        14,
        "GRANT pg_write_all_data TO {mallory}",
        (
            "INSERT INTO headish.member VALUES (session_user, {number})",
            "UPDATE headish.member SET space = 0",
            "SET headish.space = '{number}'",
        ),
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_right_that_was_given_by_mistake_reads_nothing_of_another_space(own: Logins, mistake: str) -> None:
    """Some of these logins are refused by name all the same; this is what the server itself still refuses."""
    first, given, attempts = MISTAKES[mistake]
    if version_of(own) < first:
        pytest.skip(f"PostgreSQL {first} has it")
    login = own.make("mallory")
    with Database.open(own.url) as database:
        database.spaces.grant("ana", login)
    [(name,)] = own.run("SELECT current_database()")
    names = {who: f'"{own.name(who)}"' for who in ("mallory", "ben", "app")}
    names |= {"database": f'"{name}"', "number": str(number_of(own, "ben"))}
    own.run(given.format(**names))
    seen = Session(own, "mallory").try_all(*(each.format(**names) for each in (*attempts, *READING)))
    assert SECRET.decode() not in seen
    assert SECRET.hex() not in seen


ON_A_TABLE = {
    "TRIGGER": "GRANT TRIGGER ON turn TO {mallory}",
    "REFERENCES": "GRANT REFERENCES ON payload TO {mallory}",
    "TRUNCATE": "GRANT TRUNCATE ON turn TO {mallory}",
    "ALL by default": "ALTER DEFAULT PRIVILEGES IN SCHEMA headish GRANT ALL ON TABLES TO {mallory}; "
    "CREATE TABLE headish.later (space bigint)",
    "a column": "GRANT UPDATE (digest) ON turn TO {mallory}",
    "CREATE": "GRANT CREATE ON SCHEMA headish TO {mallory}",
}


@pytest.mark.parametrize("what", ON_A_TABLE)
def test_a_grant_too_many_is_found_and_taken_away(own: Logins, what: str) -> None:
    login = own.make("mallory")
    own.run(ON_A_TABLE[what].format(mallory=f'"{login}"'))
    with Database.open(own.url) as database:
        missing = database.secure(apps=[own.name("app")], check=True).missing
        assert any(login in (each.on, each.what.partition(" ")[0]) for each in missing)
        assert database.secure(apps=[own.name("app")]).missing == ()
    own.run("ALTER DEFAULT PRIVILEGES IN SCHEMA headish REVOKE ALL ON TABLES FROM PUBLIC")


SPY = (
    "CREATE SCHEMA spy; CREATE TABLE spy.seen (what text); GRANT ALL ON SCHEMA spy TO PUBLIC; "
    "GRANT ALL ON spy.seen TO PUBLIC; CREATE FUNCTION spy.look() RETURNS trigger LANGUAGE plpgsql AS "
    "'BEGIN INSERT INTO spy.seen SELECT encode(data, ''escape'') FROM headish.turn; RETURN NULL; END'; "
    "CREATE FUNCTION spy.value() RETURNS bigint LANGUAGE plpgsql AS "
    "'BEGIN INSERT INTO spy.seen SELECT encode(data, ''escape'') FROM headish.turn; RETURN 0; END'; "
    "CREATE FUNCTION spy.ok(bigint) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN true; END'; "
)
PLANTED = {
    "trigger": "CREATE TRIGGER t AFTER INSERT ON turn EXECUTE FUNCTION spy.look()",
    "rule": "CREATE RULE r AS ON INSERT TO object DO ALSO INSERT INTO spy.seen VALUES (encode(new.data, 'escape'))",
    "default": "ALTER TABLE object ALTER revision SET DEFAULT spy.value()",
    "check": "ALTER TABLE object ADD CHECK (spy.ok(revision))",
    "index": "CREATE INDEX i ON object (spy.ok(revision))",
    "function": "CREATE FUNCTION headish.substr(bytea, bigint, bigint) RETURNS bytea LANGUAGE sql AS 'SELECT $1'",
    "operator": "CREATE OPERATOR headish.<~> (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = int8eq)",
    "view": "CREATE VIEW spy.all_of_it AS SELECT * FROM turn",
    "materialized": "CREATE MATERIALIZED VIEW spy.copied AS SELECT * FROM turn",
}


@pytest.mark.parametrize("what", PLANTED)
def test_what_was_left_on_the_tables_before_is_named(own: Logins, what: str) -> None:
    own.run(SPY + PLANTED[what])
    with Database.open(own.url) as database:
        found = [each for each in database.secure(apps=[own.name("app")], check=True).missing if each.kind == "planted"]
        assert found
        left = [each for each in database.secure(apps=[own.name("app")]).missing if each.kind == "planted"]
        assert all(each.statement is None for each in left)
        assert (left == []) == (what in ("trigger", "rule", "function", "operator"))


def test_what_others_may_make_in_the_schema_is_refused_where_isolation_is_due(own: Logins) -> None:
    own.run(f'GRANT CREATE ON SCHEMA headish TO "{own.name("ben")}"')
    with pytest.raises(NotIsolated, match="others may make objects in the schema headish"):
        Store.open(own.at("ana"), space="ana", isolation="required")


def test_a_table_of_the_session_is_not_read_in_the_place_of_ours(logins: Logins) -> None:
    """Behind a pooler, the connection may have been another tenant's before."""
    with Store.open(logins.at("app"), space="ana", isolation="required") as store:
        for table in ("turn", "bookmark", "alembic_version"):
            pooled: Any = store._backend._pool.take()  # type: ignore[attr-defined]
            pooled.read_only = None
            pooled.execute(f"CREATE TEMP TABLE {table} (LIKE headish.{table})")
            pooled.commit()
            store._backend._give_back(pooled)  # type: ignore[attr-defined]
        assert store.text("main") == "the secret of ana"


def test_every_table_is_guarded(logins: Logins) -> None:
    """What the server looks at before each transaction are all the tables that there are."""
    [(source,)] = logins.run("SELECT prosrc FROM pg_proc WHERE proname = 'headish_guarded'")
    assert all(f".{table}" in source for table in ("space", *EVERYWHERE))
