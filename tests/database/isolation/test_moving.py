"""A database that was secured, or made, in a schema of others: ``db secure`` moves it into one of its own."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from headish import Database, Store
from headish.database.dialects import connect
from headish.database.isolation.objects import FUNCTIONS, GUARDED
from headish.database.urls import parse_url
from headish.errors import NotIsolated
from support.growing import texts
from support.secured import Logins, fill, secured_database

OF_OTHERS = "CREATE TABLE public.orders (space bigint, number bigint)"


def where(logins: Logins, name: str) -> list[str]:
    """The schemas that hold a table of a name."""
    found = f"SELECT relnamespace::regnamespace::text FROM pg_class WHERE relname = '{name}' ORDER BY 1"
    return [schema for (schema,) in logins.run(found)]


@pytest.fixture
def former(own: Logins) -> Iterator[Logins]:
    """A database as `db secure` left it before it had a schema of its own: in ``public``, without what is newer."""
    for table in (*GUARDED, "alembic_version", "member"):
        own.run(f'ALTER TABLE headish."{table}" SET SCHEMA public')
    for name, function in FUNCTIONS.items():
        arguments = function.arguments.partition(" ")[2]
        own.run(f"ALTER FUNCTION headish.{name}({arguments}) SET SCHEMA public")
        if name == "headish_guarded":
            own.run("DROP FUNCTION headish_guarded()")
        else:
            own.run(function.create(name, "public"))
    own.run("GRANT USAGE, CREATE ON SCHEMA public TO headish_owner; GRANT USAGE ON SCHEMA public TO headish_reader")
    own.run("DROP SCHEMA headish; ALTER TABLE member DISABLE ROW LEVEL SECURITY")
    own.run(OF_OTHERS)
    return own


class TestAFormerDatabase:
    def test_it_opens_as_before_and_is_refused_where_isolation_is_due(self, former: Logins) -> None:
        with Store.open(former.at("ana"), space="ana") as store:
            assert texts(store, "main") == ["the secret of ana"]
            store.add_turn("more")
        with pytest.raises(NotIsolated, match="the schema public, where its tables lie; run 'headish db secure'"):
            Store.open(former.at("ana"), space="ana", isolation="required")
        with Database.open(former.at("ana")) as database:
            [found] = [each for each in database.secure(check=True).missing if each.kind == "schema"]
        assert found.on == "public"

    def test_it_is_moved_with_all_that_it_holds_and_nothing_of_others(self, former: Logins) -> None:
        with Database.open(former.url) as database:
            done = database.secure(apps=[former.name("app")])
            assert done.missing == ()
            assert database.secure(apps=[former.name("app")]).done == ()
        assert where(former, "turn") == where(former, "member") == ["headish"]
        assert where(former, "orders") == ["public"]
        with Store.open(former.at("ana"), space="ana", isolation="required") as store:
            assert texts(store, "main") == ["the secret of ana"]
            store.add_turn("more")
            assert store.verify().problems == ()
        with pytest.raises(psycopg.Error, match="no space was entered"):
            former.run("SELECT * FROM turn", "ana")

    def test_what_has_it_open_says_so_and_whoever_no_policy_holds_goes_on(self, former: Logins) -> None:
        with (
            Store.open(former.at("ana"), space="ana") as ana,
            Store.open(former.url, space="ana") as root,
            Database.open(former.url) as database,
        ):
            assert texts(ana, "main") == texts(root, "main")
            assert database.secure().missing == ()
            root.add_turn("goes on", continues="main")
            assert texts(root, "main")[-1] == "goes on"
            assert ana.get("main")

    def test_an_upgrade_moves_nothing(self, former: Logins) -> None:
        backend = connect(former.at("owner"))
        with backend.schema_connection() as connection, backend.lifted(connection):
            pass
        backend.close()
        assert where(former, "turn") == ["public"]


def test_a_schema_of_ones_own_is_taken_over_where_it_is(new_postgresql: str) -> None:
    own = f"{new_postgresql}?options=-csearch_path%3Dteam"
    if "?" in new_postgresql:
        own = f"{new_postgresql}&options=-csearch_path%3Dteam"
    assert parse_url(own).get("options") == "-csearch_path=team"
    Logins(new_postgresql).run("CREATE SCHEMA team")
    with secured_database(own) as logins:
        assert where(logins, "turn") == ["team"]
        with Store.open(logins.at("ana"), space="ana", isolation="required") as store:
            assert texts(store, "main") == ["the secret of ana"]


def test_another_database_beside_it_stays_its_own(own: Logins) -> None:
    """Whoever names a schema gets that one, and not the one that was secured."""
    own.run("CREATE SCHEMA beside")
    target = f"{own.url}{'&' if '?' in own.url else '?'}options=-csearch_path%3Dbeside"
    with Database.open(target) as database:
        assert list(database.spaces) == []
        fill(database, "mine")
    assert where(own, "turn") == ["beside", "headish"]
    with Database.open(own.url) as database:
        assert sorted(database.spaces) == ["ana", "ben"]


def test_a_schema_that_others_use_is_not_taken_from_them(new_postgresql: str) -> None:
    target = f"{new_postgresql}{'&' if '?' in new_postgresql else '?'}options=-csearch_path%3Dshared"
    Logins(new_postgresql).run("CREATE SCHEMA shared; CREATE TABLE shared.orders (number bigint)")
    with Database.open(target) as database:
        fill(database, "mine")
        [found] = [each for each in database.secure().missing if each.kind == "schema"]
    assert "holds orders of another program" in found.what
    assert found.statement is None
