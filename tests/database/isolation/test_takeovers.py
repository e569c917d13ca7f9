"""Logins that could take away what keeps spaces apart: each is named by a check, and refused where isolation is due."""

from __future__ import annotations

import psycopg
import pytest

from headish import Database, Store
from headish.errors import DatabaseError, NotIsolated
from support.secured import Logins

# How a login comes to it (``{login}``, ``{database}``; ``{other}`` is a role that it is made a member of), what is said
# of it, and from which version of the server on and below which one it is so.
COULD: dict[str, tuple[str, str, int, int]] = {
    "owner of the database": ("ALTER DATABASE {database} OWNER TO {login}", "owns the database", 0, 99),
    "member of the database's owner": (
        "ALTER DATABASE {database} OWNER TO {other}; GRANT {other} TO {login}", "which owns the database", 0, 99,
    ),
    "owner of the schema": ("ALTER SCHEMA headish OWNER TO {login}", "owns the schema headish", 0, 99),
    "owner of a table": ("ALTER TABLE turn OWNER TO {login}", "owns the table turn", 0, 99),
    "owner of the members": ("ALTER TABLE member OWNER TO {login}", "owns the table member", 0, 99),
    "superuser": ("ALTER ROLE {login} SUPERUSER", "is a superuser", 0, 99),
    "member of a superuser": ("ALTER ROLE {other} SUPERUSER; GRANT {other} TO {login}", "which is a superuser", 0, 99),
    "BYPASSRLS": ("ALTER ROLE {login} BYPASSRLS", "has BYPASSRLS", 0, 99),
    "member of one with BYPASSRLS": (
        "ALTER ROLE {other} BYPASSRLS; GRANT {other} TO {login}", "which has BYPASSRLS", 0, 99,
    ),
    "REPLICATION": ("ALTER ROLE {login} REPLICATION", "has REPLICATION", 0, 99),
    "member of headish_owner": ("GRANT headish_owner TO {login}", "a member of headish_owner", 0, 99),
    "admin of headish_owner": (
        "GRANT headish_owner TO {login} WITH ADMIN TRUE, INHERIT FALSE, SET FALSE", "a member of headish_owner", 16, 99,
    ),
    "member of a member": (
        "GRANT headish_owner TO {other}; GRANT {other} TO {login}", "a member of headish_owner", 0, 99,
    ),
    "pg_read_all_data": ("GRANT pg_read_all_data TO {login}", "a member of pg_read_all_data", 14, 99),
    "pg_write_all_data": ("GRANT pg_write_all_data TO {login}", "a member of pg_write_all_data", 14, 99),
    "pg_read_server_files": ("GRANT pg_read_server_files TO {login}", "a member of pg_read_server_files", 0, 99),
    "pg_write_server_files": ("GRANT pg_write_server_files TO {login}", "a member of pg_write_server_files", 0, 99),
    "pg_execute_server_program": (
        "GRANT pg_execute_server_program TO {login}", "a member of pg_execute_server_program", 0, 99,
    ),
    "through a role of headish": (
        "GRANT pg_read_server_files TO headish_reader", "a member of pg_read_server_files", 0, 99,
    ),
    "CREATEROLE": ("ALTER ROLE {login} CREATEROLE", "has CREATEROLE", 0, 16),
    "CREATEROLE over a tenant": (
        "ALTER ROLE {login} CREATEROLE; GRANT {ana} TO {login} WITH ADMIN OPTION", "may set the password of", 16, 99,
    ),
}  # fmt: skip


def become(logins: Logins, how: str) -> str:
    """Make a login of a tenant that could take the database over; what is said of it."""
    statement, told, first, below = COULD[how]
    [(version,)] = logins.run("SELECT current_setting('server_version_num')::int / 10000")
    if not first <= version < below:
        pytest.skip(f"a matter of other versions than {version}")
    login, other = logins.make("mallory"), logins.make("other")
    with Database.open(logins.url) as database:
        database.spaces.grant("ana", login)
        [(name,)] = logins.run("SELECT current_database()")
        names = {"login": login, "other": other, "database": name, "ana": logins.name("ana")}
        logins.run(statement.format(**{key: f'"{value}"' for key, value in names.items()}))
    return told


@pytest.mark.parametrize("how", COULD)
def test_whoever_could_take_the_database_over_is_named_and_refused(own: Logins, how: str) -> None:
    told = become(own, how)
    try:
        with pytest.raises(NotIsolated, match=told):
            Store.open(own.at("mallory"), space="ana", isolation="required")
        with Database.open(own.url) as database:
            missing = database.secure(check=True, apps=[own.name("app")]).missing
        named = [each.what for each in missing if each.kind == "login" and each.on == own.name("mallory")]
        assert any(told in what for what in named), missing
    finally:
        own.run("REVOKE pg_read_server_files FROM headish_reader")


def test_a_plain_login_is_not(own: Logins) -> None:
    own.make("plain", "CREATEDB CONNECTION LIMIT 5 VALID UNTIL '2099-01-01'")
    with Database.open(own.url) as database:
        database.spaces.grant("ana", own.name("plain"))
        assert database.secure(check=True, apps=[own.name("app")]).missing == ()
    Store.open(own.at("plain"), space="ana", isolation="required").close()


class TestTheOwnerOfTheDatabase:
    """They are refused by headish; what they try by hand reaches no other tenant either."""

    @pytest.mark.parametrize(
        "attempt",
        [
            "DROP TABLE member",
            "DROP TABLE headish.member",
            "DROP FUNCTION headish.headish_space() CASCADE",
            "CREATE OR REPLACE FUNCTION headish.headish_space() RETURNS bigint LANGUAGE sql AS 'SELECT 2::bigint'",
            "DROP SCHEMA headish CASCADE",
            "ALTER SCHEMA headish RENAME TO former",
            "CREATE TABLE headish.mine (a int)",
            "CREATE FUNCTION headish.substr(bytea, integer, bigint) RETURNS bytea LANGUAGE sql AS 'SELECT $1'",
            "GRANT headish_owner TO {login}",
            "ALTER TABLE headish.turn DISABLE ROW LEVEL SECURITY",
            "ALTER DEFAULT PRIVILEGES FOR ROLE headish_owner GRANT ALL ON TABLES TO {login}",
            "CREATE PUBLICATION all_of_it FOR TABLE headish.turn",
            "CREATE EVENT TRIGGER spy ON ddl_command_end EXECUTE FUNCTION suppress_redundant_updates_trigger()",
            "REASSIGN OWNED BY headish_owner TO {login}",
        ],
    )
    def test_by_hand_they_reach_nothing_that_decides_who_may_read(self, own: Logins, attempt: str) -> None:
        become(own, "owner of the database")
        with pytest.raises(psycopg.Error):
            own.run(attempt.format(login=f'"{own.name("mallory")}"'), "mallory")
        with Store.open(own.at("ana"), space="ana", isolation="required") as store:
            assert store.text("main") == "the secret of ana"

    def test_a_table_of_members_of_ones_own_opens_nothing(self, own: Logins) -> None:
        become(own, "owner of the database")
        login = own.name("mallory")
        [(number,)] = own.run("SELECT headish_enter('ben')", "ben")
        with pytest.raises(psycopg.Error, match="no space was entered"):
            own.run(
                "CREATE SCHEMA mine; CREATE TABLE mine.member (login text, space bigint);"
                f"INSERT INTO mine.member VALUES ('{login}', {number}); GRANT ALL ON mine.member TO PUBLIC;"
                f"SET search_path = mine, headish; SELECT set_config('headish.space', '{number}', false);"
                "SELECT data FROM turn",
                "mallory",
            )

    def test_a_schema_of_theirs_in_front_is_not_taken_for_the_store(self, own: Logins) -> None:
        become(own, "owner of the database")
        ana, [(name,)] = own.name("ana"), own.run("SELECT current_database()")
        own.run(
            f'CREATE SCHEMA "{ana}"; GRANT USAGE ON SCHEMA "{ana}" TO PUBLIC;'
            f'CREATE TABLE "{ana}".alembic_version AS SELECT * FROM headish.alembic_version;'
            f'CREATE TABLE "{ana}".turn (space bigint); CREATE TABLE "{ana}".member (login text, space bigint);'
            f'GRANT ALL ON ALL TABLES IN SCHEMA "{ana}" TO PUBLIC;'
            f'ALTER DATABASE "{name}" SET search_path = "$user", public',
            "mallory",
        )
        for isolation in (None, "required"):
            with Store.open(own.at("ana"), space="ana", isolation=isolation) as store:  # type: ignore[arg-type]
                assert store.text("main") == "the secret of ana"


class TestWhatIsMissing:
    @pytest.mark.parametrize(
        "statement",
        [
            "DROP FUNCTION headish_space() CASCADE",
            "DROP POLICY headish_space ON turn",
            "DROP POLICY headish_space ON bookmark",
        ],
    )
    def test_it_is_an_error_and_no_empty_store(self, own: Logins, statement: str) -> None:
        with Store.open(own.at("ana"), space="ana") as store:
            own.run(statement)
            for read in (lambda: list(store.bookmarks), lambda: list(store.turns()), lambda: store.add_turn("more")):
                with pytest.raises(DatabaseError):
                    read()
        with pytest.raises(DatabaseError), Store.open(own.at("ana"), space="ana") as store:
            list(store.turns())
        with pytest.raises(NotIsolated):
            Store.open(own.at("ana"), space="ana", isolation="required")
        with Database.open(own.url) as database:
            assert database.secure(apps=[own.name("app")]).missing == ()
        with Store.open(own.at("ana"), space="ana", isolation="required") as store:
            assert store.text("main") == "the secret of ana"
