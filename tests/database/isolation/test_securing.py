"""``db secure``: what it makes, what a check finds, what is refused where nothing keeps spaces apart."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import psycopg
import pytest

from headish import Database, Store
from headish.database.dialects import connect
from headish.database.isolation.grants import EVERYWHERE
from headish.database.revisions import REVISIONS
from headish.database.upgrade import upgrade_schema
from headish.errors import DatabaseError, InvalidArgument, NotEntered, NotIsolated, RoleMissing, UnknownSpace
from support.growing import texts
from support.places import FilePlace
from support.secured import Logins

TAKEN_AWAY = (
    ("policy", "ALTER TABLE turn DISABLE ROW LEVEL SECURITY"),
    ("policy", "ALTER TABLE turn NO FORCE ROW LEVEL SECURITY"),
    ("policy", "DROP POLICY headish_space ON link"),
    ("policy", "ALTER POLICY headish_space ON turn USING (true)"),
    ("policy", "ALTER POLICY headish_owner ON space USING (true) WITH CHECK (false)"),
    ("policy", "CREATE POLICY everybody ON payload USING (true)"),
    ("policy", "CREATE TABLE later (space bigint, said text)"),
    ("index", "DROP INDEX turn_digest_whole"),
    ("statistics", "ALTER TABLE turn ALTER COLUMN data SET STATISTICS 10"),
    ("statistics", "ALTER INDEX turn_digest ALTER COLUMN 2 SET STATISTICS 10"),
    ("owner", "ALTER TABLE turn OWNER TO CURRENT_USER"),
    ("grant", "REVOKE SELECT ON turn FROM headish_reader"),
    ("grant", "REVOKE UPDATE (seq) ON counter FROM headish_writer"),
    ("grant", "GRANT UPDATE ON turn TO headish_writer"),
    ("grant", "GRANT UPDATE (seal) ON turn TO PUBLIC"),
    ("grant", "GRANT SELECT ON member TO headish_reader"),
    ("function", "ALTER FUNCTION headish_space() RESET search_path"),
    ("function", "ALTER FUNCTION headish_enter(bytea) OWNER TO CURRENT_USER"),
    ("function", "GRANT EXECUTE ON FUNCTION headish_add_space(bytea) TO PUBLIC"),
    ("function", "DROP FUNCTION headish_analyze()"),
    ("role", "GRANT CREATE ON SCHEMA headish TO PUBLIC"),
    ("login", "INSERT INTO member VALUES ('somebody who is gone', 1)"),
)


class TestSecuring:
    def test_a_second_run_changes_nothing(self, logins: Logins, new_postgresql: str) -> None:
        apps = [logins.name("app")]
        with Database.open(new_postgresql) as database:
            assert database.secure(apps=apps).done != ()
            again = database.secure(apps=apps)
        assert (again.done, again.missing) == ((), ())
        assert set(again.tables) == {"space", *EVERYWHERE}

    @pytest.mark.slow
    def test_it_is_secured_while_others_write_and_read(self, new_postgresql: str) -> None:
        with Database.open(new_postgresql) as database:
            store = database.store()
            store.add_turn("first", bookmark="main")
            done = Event()

            def work(_: int) -> int:
                stored = 0
                while not done.wait(0.01):
                    store.add_turn("more", continues="main")
                    store.resolve("main")
                    stored += 1
                return stored

            with ThreadPoolExecutor(4) as threads:
                working = [threads.submit(work, index) for index in range(4)]
                try:
                    assert database.secure().missing == ()
                finally:
                    done.set()
                stored = sum(each.result() for each in working)  # a superuser, whom no policy holds, goes on
            assert len(texts(store, "main")) == 1 + stored
            assert store.verify().problems == ()

    def test_whatever_is_taken_away_is_found_and_made_again(self, own: Logins) -> None:
        app = own.name("app")
        with Database.open(own.url) as database:
            for kind, statement in TAKEN_AWAY:
                own.run(statement)
                missing = database.secure(apps=[app], check=True).missing
                assert kind in {each.kind for each in missing}, statement
                assert database.secure(apps=app).missing == (), statement
            assert "later" in database.secure(check=True, apps=[app]).tables

    def test_a_check_looks_at_the_login_that_asks_or_at_those_it_is_given(self, own: Logins) -> None:
        root, strong = own.make("root", "SUPERUSER"), own.make("strong", "BYPASSRLS")
        with Database.open(own.at("ana")) as database:
            assert database.secure(check=True).missing == ()
        with Database.open(own.at("owner")) as database:
            [found] = database.secure(check=True).missing
            assert found.what == "it is a member of headish_owner, which may take the policies away"
            missing = database.secure(check=True, apps=[root, strong]).missing
        told = {(each.on, each.what) for each in missing if each.statement is None}
        assert told == {
            (root, "it is a superuser, whom no policy holds"),
            (strong, "it has BYPASSRLS, so no policy holds it"),
        }

    def test_a_login_that_is_not_there_is_refused_and_nothing_is_made(self, new_postgresql: str) -> None:
        with Database.open(new_postgresql) as database:
            with pytest.raises(InvalidArgument, match="the server has no login 'nobody'"):
                database.secure(apps=["nobody"])
            assert len(database.secure(check=True).missing) > 100
            with pytest.raises(NotIsolated, match="run 'headish db secure' first"):
                database.spaces.members()
            with pytest.raises(DatabaseError, match="extension citus"):
                database.distribute()

    def test_what_was_open_before_fails_and_reads_no_empty_store(self, new_postgresql: str) -> None:
        logins = Logins(new_postgresql)
        app = logins.make("early")
        try:
            with Database.open(new_postgresql) as admin:
                admin.store("work").add_turn("hello", bookmark="main")
                logins.run(f'GRANT ALL ON ALL TABLES IN SCHEMA public TO "{app}"')
                with Store.open(logins.at("early"), space="work") as store:
                    admin.secure(apps=[app])
                    with pytest.raises(NotEntered, match="open it anew"):
                        store.get("main")
                with Store.open(logins.at("early"), space="work", isolation="required") as store:
                    assert texts(store, "main") == ["hello"]
                with pytest.raises(psycopg.Error, match="permission denied"):
                    logins.run("UPDATE turn SET role = 'system'", "early", "work")
        finally:
            logins.drop()

    def test_what_an_upgrade_makes_is_guarded_and_its_migrations_see_every_row(self, own: Logins) -> None:
        backend = connect(own.at("owner"))
        upgrade_schema(backend, REVISIONS[-2])
        own.run("SELECT 1 FROM turn", "ana", "ana")
        upgrade_schema(backend)
        backend.close()
        with Database.open(own.url) as database:
            assert database.secure(check=True, apps=[own.name("app")]).missing == ()
        with Store.open(own.at("ana"), space="ana", isolation="required") as store:
            assert len(list(store.search("secret"))) == 1


class TestRequired:
    def test_a_file_is_refused_and_none_is_made(self, tmp_path: Path, file_place: FilePlace) -> None:
        for target in (tmp_path / "new.db", file_place.open()._backend.target, ":memory:"):
            with pytest.raises(NotIsolated, match="SQLite has no roles"):
                Store.open(target, isolation="required")
        assert not (tmp_path / "new.db").exists()
        with pytest.raises(NotIsolated):
            Database(file_place.open()._database).secure()

    def test_an_empty_server_and_one_that_is_not_secured_are_refused(self, new_postgresql: str) -> None:
        with pytest.raises(NotIsolated, match="no headish tables yet"):
            Store.open(new_postgresql, isolation="required")
        Store.open(new_postgresql).close()
        with pytest.raises(NotIsolated, match="superuser"):
            Store.open(new_postgresql, isolation="required")

    def test_whom_no_policy_holds_is_refused_by_name(self, own: Logins) -> None:
        own.make("strong", "BYPASSRLS")
        for who, told in (("strong", "BYPASSRLS"), ("owner", "member of headish_owner")):
            with pytest.raises(NotIsolated, match=told):
                Database.open(own.at(who), isolation="required")
        Database.open(own.at("app"), isolation="required").close()
        own.run("ALTER TABLE link DISABLE ROW LEVEL SECURITY")
        with pytest.raises(NotIsolated, match="no policy holds this login in link"):
            Database.open(own.at("app"), isolation="required")

    def test_another_word_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidArgument, match="isolation is 'required' or None, not 'wanted'"):
            Database.open(tmp_path / "a.db", isolation="wanted")  # type: ignore[arg-type]


class TestGranting:
    def test_members_are_listed_by_login(self, own: Logins) -> None:
        with Database.open(own.at("owner")) as database:
            found = {(each.login.partition("_")[0], each.space, each.role) for each in database.spaces.members()}
        assert found == {
            ("app", None, "writer"),
            ("ana", "ana", "writer"),
            ("ben", "ben", "writer"),
            ("reader", "ana", "reader"),
            ("eraser", "ana", "eraser"),
        }

    def test_a_role_is_that_of_a_login_and_goes_with_its_last_space(self, own: Logins) -> None:
        ana = own.name("ana")
        with Database.open(own.url) as database:
            spaces = database.spaces
            spaces.grant("ben", ana)
            spaces.grant("ben", ana)
            with pytest.raises(InvalidArgument, match="is writer of all spaces that are open to it"):
                spaces.grant("ben", ana, role="reader")
            spaces.revoke("ana", ana)
            with pytest.raises(InvalidArgument, match="not open to the login"):
                spaces.revoke("ana", ana)
            with Store.open(own.at("ana"), space="ben", isolation="required") as store:
                store.add_turn("a guest's")
            spaces.revoke("ben", ana)
            with pytest.raises(DatabaseError):
                Store.open(own.at("ana"), space="ben")
            assert ana not in {each.login for each in spaces.members()}

    def test_what_is_not_there_is_refused_by_name(self, own: Logins) -> None:
        with Database.open(own.url) as database:
            with pytest.raises(UnknownSpace):
                database.spaces.grant("nowhere", own.name("ana"))
            with pytest.raises(InvalidArgument, match="no login 'x\"; DROP"):
                database.spaces.grant("ana", 'x"; DROP TABLE turn; --')
            with pytest.raises(InvalidArgument, match="role is reader, writer, eraser"):
                database.spaces.grant("ana", own.name("ana"), role="owner")  # type: ignore[arg-type]

    def test_a_login_of_any_name_is_let_in(self, own: Logins) -> None:
        name = own.make('o\'br%sien "x" \\')
        with Database.open(own.url) as database:
            database.spaces.grant("ana", name)
            database.spaces.revoke("ana", name)
            with pytest.raises(RoleMissing):
                Database.open(own.at("ana")).spaces.members()
