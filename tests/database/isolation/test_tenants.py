"""Two tenants of one database, each with a login of its own: neither learns anything of the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

import headish
from headish import Database, Store
from headish.database.isolation import collected
from headish.database.isolation.grants import EVERYWHERE
from headish.database.query import Query
from headish.database.server.connection import ServerConnection
from headish.errors import (
    HeadishError,
    NotEntered,
    RoleMissing,
    SpaceTaken,
    UnknownBookmark,
    UnknownErasure,
    UnknownObject,
    UnknownSpace,
    UnknownTurn,
)
from support.capturers import BEGUN, EVENTS, begin
from support.growing import texts
from support.secured import Logins
from support.signers import Keys, needs_keygen


@pytest.fixture
def ana(logins: Logins) -> Iterator[Store]:
    with Store.open(logins.at("ana"), space="ana", isolation="required") as store:
        yield store


@pytest.fixture
def ben(logins: Logins) -> Iterator[Store]:
    with Store.open(logins.at("ben"), space="ben", isolation="required") as store:
        yield store


def test_an_append_that_is_one_message_stays_in_its_space(
    ana: Store, ben: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[bool] = []
    original = ServerConnection._send_whole
    monkeypatch.setattr(
        ServerConnection, "_send_whole", lambda self, *given: sent.append(original(self, *given)) or sent[-1]
    )
    for store in (ana, ben):
        store.add_turn("first", bookmark="said", force=True)
    for number in range(12):  # also once the server has prepared it, for the one and for the other
        ana.add_turn(f"ana {number}", continues="said")
        ben.add_turn(f"ben {number}", continues="said")
    assert sent == [True] * 24
    for store in (ana, ben):
        assert texts(store, "said")[-12:] == [f"{store.space} {number}" for number in range(12)]
        assert store.verify().problems == ()


def test_an_append_that_comes_too_late_for_one_message_enters_its_space_again(ana: Store, logins: Logins) -> None:
    ana.add_turn("first", bookmark="late", force=True)
    with Store.open(logins.at("ana"), space="ana") as other:
        other.add_turn("by another", continues="late")
    ana.add_turn("behind it", continues="late")
    assert texts(ana, "late") == ["first", "by another", "behind it"]


class TestTheOther:
    def test_ids_names_words_and_objects_of_another_tenant_are_unknown(self, ana: Store, ben: Store) -> None:
        secret = ben.add_turn("the number is seventy-three", bookmark="hidden", key="k-73")
        ben.objects.put("note", "one", b"{}")
        for unknown in (secret.id, secret.id[:20], ben.abbreviate([secret.id])[secret.id], "hidden"):
            with pytest.raises(UnknownTurn):
                ana.get(unknown)
        with pytest.raises(UnknownTurn):
            ana.add_turn("and?", continues=secret.id)
        with pytest.raises(UnknownTurn):
            ana.bookmarks.set("mine", secret.id)
        with pytest.raises(UnknownBookmark):
            ana.bookmarks["hidden"]
        assert ana.find("k-73") is None
        with pytest.raises(UnknownObject):
            ana.objects.get("note", "one")
        assert [found.turn for found in ana.search("seventy-three")] == []
        assert len(list(ben.search("seventy-three"))) == 1

    def test_a_token_is_made_by_the_owner_and_seen_by_its_tenant_alone(self, logins: Logins, ana: Store) -> None:
        with Database.open(logins.url) as owner:
            owner.access_tokens.add("of-ben", space="ben", rights=["read"])
            owner.access_tokens.add("of-ana", space="ana", rights=["read"])
            assert {"of-ana", "of-ben"} <= {each.label for each in owner.access_tokens.list()}
            with Database.open(logins.at("ana"), create=False) as tenant:
                assert [each.label for each in tenant.access_tokens.list()] == ["of-ana"]
                with pytest.raises(RoleMissing):
                    tenant.access_tokens.add("more", space="ana", rights=["erase"])
                with pytest.raises(RoleMissing):
                    tenant.access_tokens.remove("of-ana", space="ana")
                with pytest.raises(UnknownSpace):
                    tenant.access_tokens.remove("of-ben", space="ben")
            owner.access_tokens.remove("of-ben", space="ben")
            owner.access_tokens.remove("of-ana", space="ana")

    def test_a_receipt_of_another_tenant_is_unknown(self, logins: Logins, ana: Store) -> None:
        own = {receipt.number for receipt in ana.erasures}
        with Store.open(logins.url, space="ben") as owner:
            for _ in range(len(own) + 1):
                owner.erase(owner.add_turn("what ben wants gone").id, reason="asked by ben")
            others = {receipt.number for receipt in owner.erasures} - own
        assert others
        for number in others:
            with pytest.raises(UnknownErasure):
                ana.erasures[number]
        assert "asked by ben" not in {receipt.reason for receipt in ana.erasures}

    def test_counts_feeds_usage_and_backups_hold_ones_own_alone(self, ana: Store, ben: Store, tmp_path: Path) -> None:
        own = len(list(ana.turns()))
        ben.add_turns([{"content": f"of ben {index}"} for index in range(5)])
        assert ana.stats().turns == own == len(list(ana.turns()))
        assert [each.turn for each in ana.follow(wait=False) if each.kind == "turn"] == list(ana.turns())
        database = Database(ana._database)
        assert isinstance(database, Database)
        made = database.backup(tmp_path / "all.hbackup")
        assert (made.spaces, made.turns) == (("ana",), own)
        headish.restore(tmp_path / "all.hbackup", tmp_path / "copy.db")
        with Database.open(tmp_path / "copy.db") as copy:
            assert list(copy.spaces) == ["ana"]
            assert len(list(copy.store("ana").turns())) == own

    def test_a_space_that_is_forbidden_looks_like_one_that_is_not_there(self, ana: Store) -> None:
        database = Database(ana._database)
        assert isinstance(database, Database)
        assert list(database.spaces) == ["ana"]
        assert len(database.spaces) == 1
        assert "ben" not in database.spaces
        for create in (True, False):
            told = set()
            for name in ("ben", "nobody"):
                with pytest.raises(UnknownSpace) as refused:
                    database.store(name, create=create)
                told.add(str(refused.value).replace(name, "?"))
            assert len(told) == 1
        for name in ("ben", "nobody"):
            with pytest.raises(RoleMissing, match="every space"):
                database.spaces.add(name)
            with pytest.raises(UnknownSpace):
                database.spaces.limit(name)
            with pytest.raises(UnknownSpace):
                database.move("main", space="ana", to=name)
        assert [name for name, report in database.verify().items() if name and not report.problems] == ["ana"]

    def test_an_answer_is_journalled_and_recovered_in_ones_own_space(self, ana: Store, ben: Store) -> None:
        capture = begin(ana)
        assert len(ana.streams.list()) == 1
        assert ben.streams.list() == []
        for event in EVENTS[len(BEGUN) :]:
            capture.feed(event)
        answer = capture.finish()
        assert ana.get("main") == answer
        assert list(ana.streams.recover()) == []
        ana.capture("main", "anthropic").feed(BEGUN[0])
        [left] = ana.streams.list()
        ana.streams.drop(left)
        assert ana.streams.list() == []

    @needs_keygen
    def test_a_signature_is_ones_own(self, ana: Store, ben: Store, tmp_path: Path) -> None:
        key = Keys(tmp_path / "keys").make("ana")
        turn = ana.add_turn("signed", bookmark="signed")
        assert ana.sign(turn.id, key=key).turns == 1
        assert [each.turn for each in ana.signatures()] == [turn.id]
        assert ben.signatures() == ben.signatures([turn.id]) == []

    def test_one_transaction_of_a_function_fills_ones_own_space(self, ana: Store, ben: Store) -> None:
        [left] = ben.write(lambda write: write.extend("main", ["ben's"]))
        [turn] = ana.write(lambda write: write.extend("main", ["ana's"]))
        assert (ana.get("main").id, ben.get("main").id) == (turn, left)
        with pytest.raises(UnknownTurn):
            ana.get(left)


class TestTheServer:
    @pytest.mark.parametrize("table", EVERYWHERE)
    def test_it_gives_no_row_of_another_space_of_any_table(self, logins: Logins, ben: Store, table: str) -> None:
        ben.pointers.set("small", "openai/gpt-5-mini")
        seen = logins.run(f'SELECT DISTINCT space FROM "{table}"', "ana", "ana")
        [(own,)] = logins.run("SELECT headish_enter('ana')", "ana")
        assert {space for (space,) in seen} <= {own}

    @pytest.mark.parametrize("setting", ["", "0", "-1", "1e3", "seven", "99999999999999999999", "ben"])
    def test_a_setting_that_names_no_space_of_the_login_gives_an_error_and_no_row(
        self, logins: Logins, setting: str
    ) -> None:
        if setting == "ben":
            [(number,)] = logins.run("SELECT headish_enter('ben')", "ben")
            setting = str(number)
        inside = f"SELECT set_config('headish.space', '{setting}', false); SELECT * FROM turn"
        with pytest.raises(psycopg.Error, match="no space was entered that is open to this login"):
            logins.run(inside, "ana")
        with pytest.raises(psycopg.Error, match="no space was entered"):
            logins.run("SELECT * FROM turn", "ana")

    def test_rows_of_another_space_are_not_written(self, logins: Logins) -> None:
        [(other,)] = logins.run("SELECT headish_enter('ben')", "ben")
        added = "INSERT INTO object (space, kind, key, revision, data, milliseconds) VALUES ({}, 'k', 'x', 1, 'd', 1)"
        with pytest.raises(psycopg.Error, match="row-level security"):
            logins.run(added.format(other), "ana", "ana")
        upsert = added.format(other) + " ON CONFLICT (space, kind, key) DO UPDATE SET data = 'stolen'"
        with pytest.raises(psycopg.Error, match="row-level security"):
            logins.run(upsert, "ana", "ana")
        with pytest.raises(psycopg.Error, match="row-level security"):
            logins.run(
                f"INSERT INTO link (space, chain, ordinal, parent_chain, parent_pos) VALUES ({other}, 9, 0, 1, 0)",
                "ana",
                "ana",
            )
        logins.run("UPDATE bookmark SET recent = 1", "ana", "ana")
        logins.run("DELETE FROM object", "ana", "ana")
        [(recent,)] = logins.run("SELECT min(recent) FROM bookmark", "ben", "ben")
        assert recent > 1

    @pytest.mark.parametrize("clearing", [collected.CLEARING, 10**9], ids=["this server", "an older one"])
    def test_no_estimate_of_the_planner_tells_the_names_that_others_have(
        self, own: Logins, clearing: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """EXPLAIN tells what statistics say of a name, and they are of all spaces."""
        monkeypatch.setattr(collected, "CLEARING", clearing)
        with Store.open(own.at("ben"), space="ben") as ben:
            for number in range(120):
                ben.bookmarks.set(f"patient-{number:03}", "main")

        def estimates() -> set[str]:
            own.run("ANALYZE bookmark")
            asked = "EXPLAIN (FORMAT JSON) SELECT FROM bookmark WHERE name < '{}'"
            plans = [own.run(asked.format(name), "ana", "ana") for name in ("a", "patient-050", "patient-100", "z")]
            return {str(plan[0][0][0]["Plan"]["Plan Rows"]) for plan in plans}

        own.run("ALTER TABLE bookmark ALTER COLUMN name SET STATISTICS 100")
        assert len(estimates()) > 1
        with Database.open(own.url) as database:
            database.secure()
        assert len(estimates()) == 1

    def test_who_may_enter_what_is_not_told(self, logins: Logins) -> None:
        for statement in ("SELECT * FROM member", "INSERT INTO member VALUES (session_user, 0)"):
            with pytest.raises(psycopg.Error, match="permission denied"):
                logins.run(statement, "ana", "ana")
        assert logins.run("SELECT name FROM space", "ana") == [(b"ana",)]


class TestAnApplicationForAll:
    def test_it_makes_enters_and_copies_between_spaces_and_stays_inside_one_each_time(self, logins: Logins) -> None:
        one, two = f"one-{uuid4().hex}", f"two-{uuid4().hex}"
        with Database.open(logins.at("app"), isolation="required") as database:
            database.spaces.add(one)
            with pytest.raises(SpaceTaken):
                database.spaces.add(one)
            first, second = database.store(one), database.store(two)
            first.add_turn("in one", bookmark="main")
            second.add_turn("in two", bookmark="other")
            database.move("main", space=one, to=two)
            assert texts(second, "main") == ["in one"]
            assert list(first.bookmarks) == []
            second.reindex()
            assert len(list(second.search("one"))) == 1
            # What the code forgets, the server does not: a statement without a space sees the one that is entered.
            counted = Query("how many", "SELECT count(*) FROM turn")
            assert first._backend.read(lambda connection: connection.row(counted)) == (1,)
            with pytest.raises(NotEntered):
                database.backend.read(lambda connection: connection.row(counted))
            reports = database.verify()  # in other spaces of this database, others wrote by hand
            assert (reports[one].problems, reports[two].problems) == ((), ())

    def test_a_space_that_is_closed_to_a_login_is_closed_to_what_it_has_open(self, logins: Logins) -> None:
        login = logins.make(f"guest{uuid4().hex[:6]}")
        who = login.rpartition("_")[0]
        with Database.open(logins.url) as admin:
            admin.spaces.grant("ana", login)
            with Store.open(logins.at(who), space="ana") as store:
                assert store.get("main")
                admin.spaces.revoke("ana", login)
                with pytest.raises(HeadishError):
                    store.get("main")
                with pytest.raises(HeadishError):
                    store.add_turn("still here?")
