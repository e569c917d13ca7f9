"""What each role may do: the server refuses the rest, and headish says which role it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

import headish
from headish import Database, Store
from headish.aio import AsyncStore
from headish.database.isolation.grants import ERASER, EVERYWHERE, HELD, OWNER, READER, ROLES, WRITER, grants, role_for
from headish.database.revisions import TABLES
from headish.database.schema import metadata
from headish.database.urls import parse_url, server_arguments
from headish.errors import NotIsolated, RoleMissing, TurnErased
from support.queries import texts_of
from support.secured import SEARCH, Logins

LOGINS = {"reader": READER, "ana": WRITER, "eraser": ERASER}
SAID = ("seq", "id", "role", "type", "content_type", "cache", "digest", "hash", "seal", "supersedes", "chain", "pos")
"""What nobody alters of a turn."""
NAMES = {("bookmark_log", "name"), ("bookmark_log", "was"), ("record_log", "subject"), ("record_log", "seal")}
"""Where an eraser takes the name of a bookmark."""


class TestTheServer:
    @pytest.mark.parametrize("who", LOGINS)
    def test_it_refuses_every_statement_that_the_role_has_no_grant_for(self, logins: Logins, who: str) -> None:
        allowed = {(each.privilege, each.table, each.column) for each in grants() if each.role in HELD[LOGINS[who]]}
        arguments = server_arguments(parse_url(logins.at(who)))
        with psycopg.connect(**arguments, **SEARCH, autocommit=True) as connection:
            connection.execute("SELECT set_config('headish.space', (SELECT headish_enter('ana'))::text, false)")
            for table in ("space", *TABLES):
                attempts: list[tuple[str, str | None, str]] = [
                    ("INSERT", None, f'INSERT INTO "{table}" SELECT * FROM "{table}" WHERE false'),
                    ("DELETE", None, f'DELETE FROM "{table}" WHERE false'),
                    ("TRUNCATE", None, f'TRUNCATE "{table}"'),
                    ("ALTER", None, f'ALTER TABLE "{table}" DISABLE ROW LEVEL SECURITY'),
                    ("DROP", None, f'DROP POLICY headish_space ON "{table}"'),
                ]
                for column in metadata.tables[table].c:
                    attempt = f'UPDATE "{table}" SET "{column.name}" = "{column.name}" WHERE false'
                    attempts.append(("UPDATE", column.name, attempt))
                for privilege, column, attempt in attempts:
                    expected = (privilege, table, column) in allowed
                    assert _runs(connection, attempt) is expected, attempt

    def test_nobody_but_the_owner_alters_what_was_said_its_links_moves_and_receipts(self) -> None:
        given = {(each.privilege, each.table, each.column) for each in grants()}
        assert {column for _, table, column in given if table == "turn" and column}.isdisjoint(SAID)
        for table in ("link", "erasure", "definition", "space_log"):
            assert not any(each[:2] in (("UPDATE", table), ("DELETE", table)) for each in given)
        for role, names in ((WRITER, {("bookmark_log", "name")}), (ERASER, NAMES)):
            held = [
                each for each in grants() if each.role in HELD[role] and each.table in ("bookmark_log", "record_log")
            ]
            assert {(each.table, each.column) for each in held if each.column} == names
            assert {each.privilege for each in held if each.column is None} == {"SELECT", "INSERT"}
        assert ("DELETE", "turn", None) not in given

    def test_every_table_has_its_grants(self) -> None:
        for privilege in ("SELECT", "INSERT"):
            given = {each.table for each in grants() if each.privilege == privilege}
            # Who may write a token gives himself every right: that is the owner's alone.
            assert set(EVERYWHERE) - given == ({"token"} if privilege == "INSERT" else set())
        assert role_for("INSERT INTO token (space) VALUES (:space)") == role_for("DELETE FROM token") == OWNER


def _runs(connection: psycopg.Connection[Any], statement: str) -> bool:
    try:
        connection.execute(statement.encode())
    except psycopg.errors.InsufficientPrivilege:
        return False
    return True


class TestTheRoleOfAStatement:
    @pytest.mark.parametrize(
        ("query", "role"),
        [
            ("turn by id", READER),
            ("lock the space", WRITER),
            ("add turn", WRITER),
            ("put object", WRITER),
            ("take commit numbers", WRITER),
            ("add receipt", ERASER),
            ("empty a turn and its meta", ERASER),
            ("bar content", ERASER),
            ("remove all rows of turn", OWNER),
            ("set what a space may hold", OWNER),
        ],
    )
    def test_it_is_the_one_with_the_fewest_rights(self, query: str, role: str) -> None:
        assert role_for(texts_of("postgresql")[query]) == role

    def test_every_statement_that_writes_is_somebodys(self) -> None:
        writing = {name: sql for name, sql in texts_of("postgresql").items() if any(word in sql for word in WRITES)}
        found = {name: role_for(sql) for name, sql in writing.items()}
        assert READER not in found.values()
        assert set(found.values()) == set(ROLES) - {READER}

    def test_a_new_statement_is_the_owners_only_if_it_is_meant_to_be(self) -> None:
        """Whoever adds one that writes says in ``database/isolation/grants.py`` who may run it."""
        found = {name for name, sql in texts_of("postgresql").items() if role_for(sql) == OWNER}
        assert {name for name in found if not name.startswith(WHOLE)} == OWNERS


WHOLE = ("erase all rows of a space in ", "remove all rows of ")
OWNERS = {
    "add token",
    "remove token",
    "remove the tokens of a space",
    "add space",  # a function adds it for a login that may enter every space
    "begin to restore a space",
    "count what was restored",
    "end the counter of an erased space",
    "forget how far the search index is",
    "forget the names of a space",
    "open a restored space",
    "rename space",
    "retire the counter of a space that holds nothing",
    "set what a space may hold",
}
WRITES = ("INSERT INTO", "DELETE FROM", " SET ")


class TestVerbs:
    def test_a_reader_reads_and_is_refused_before_any_statement_where_it_writes(self, logins: Logins) -> None:
        with Store.open(logins.at("reader"), space="ana", isolation="required") as store:
            assert store.read_only
            assert store.text("@")
            assert list(store.search("secret"))
            for write in (lambda: store.add_turn("no"), lambda: store.erase("@", reason="no"), store.reindex):
                with pytest.raises(RoleMissing) as refused:
                    write()
                assert refused.value.role == WRITER

    async def test_a_reader_opens_twice_for_asyncio_and_shares_its_database(self, logins: Logins) -> None:
        url = logins.at("reader")
        async with AsyncStore.open(url, space="ana") as one, AsyncStore.open(url, space="ana") as other:
            assert one.sync._database is other.sync._database
            assert await other.text("@")

    def test_an_eraser_erases_and_collects_and_a_writer_is_told_that_it_takes_one(self, logins: Logins) -> None:
        with Store.open(logins.at("ana"), space="ana", isolation="required") as store:
            turn = store.add_turn("delete me, please " * 1000)
            with pytest.raises(RoleMissing, match=r"takes the role headish_eraser, which this login has not$"):
                store.erase(turn.id, reason="asked")
            assert store.text(turn.id)
        with Store.open(logins.at("eraser"), space="ana", isolation="required") as store:
            done = store.erase(turn.id, meta=True, content=True, reason="asked")
            assert done.receipt is not None
            assert done.receipt.turns[0].id == turn.id
            with pytest.raises(TurnErased):
                store.text(turn.id)
            assert store.verify().problems == ()
            assert Database(store._database).gc().payloads == 0

    def test_a_name_is_the_erasers_to_take(self, own: Logins) -> None:
        with Store.open(own.at("ana"), space="ana", isolation="required") as store:
            store.conversations.set("main", title="t")
            store.bookmarks.rename("main", "private")
            with pytest.raises(RoleMissing, match="headish_eraser"):
                store.bookmarks.erase("private", reason="asked")
            assert list(store.bookmarks) == ["private"]
        with Store.open(own.at("eraser"), space="ana", isolation="required") as store:
            assert store.bookmarks.erase("private", reason="asked").became == "erased-1"
            assert list(store.bookmarks) == ["erased-1"]
            assert store.verify().problems == ()

    def test_a_backup_is_everybodys_of_their_own_space_and_put_back_by_the_owner(
        self, logins: Logins, tmp_path: Path
    ) -> None:
        file = tmp_path / "ana.hbackup"
        with Store.open(logins.at("reader"), space="ana") as store:
            store.backup(file)
            said = [store.text(each.id) for each in store.turns() if each.erased is None]
        again = f"again-{uuid4().hex}"
        with pytest.raises(RoleMissing, match=OWNER):
            headish.restore(file, logins.at("app"), only="ana", to=again)
        headish.restore(file, logins.at("owner"), only="ana", to=again)
        with Store.open(logins.at("app"), space=again, isolation="required", create=False) as store:
            assert [store.text(each.id) for each in store.turns() if each.erased is None] == said
            assert store.verify().problems == ()

    def test_spaces_are_the_owners_to_rename_limit_remove_and_erase(self, own: Logins) -> None:
        with Database.open(own.at("app"), isolation="required") as database:
            for name in ("work", "empty"):
                database.spaces.add(name)
            database.store("work").add_turn("hello")
            spaces = database.spaces
            for verb in (
                lambda: spaces.rename("work", "play"),
                lambda: spaces.limit("work", turns=3),
                lambda: spaces.remove("empty"),
                lambda: spaces.erase("work", reason="asked"),
                lambda: spaces.grant("work", own.name("ben")),
                lambda: spaces.revoke("ana", own.name("ana")),
                lambda: spaces.members(),
                lambda: database.search_index(False),
            ):
                with pytest.raises(RoleMissing, match=OWNER) as refused:
                    verb()
                assert refused.value.role == OWNER
            assert spaces.limit("work").turns == 1
        with Database.open(own.at("owner")) as database:
            database.spaces.rename("work", "play")
            assert database.spaces.limit("play", turns=3).limit_turns == 3
            database.spaces.remove("empty")
            became = database.spaces.erase("play", reason="asked").became
            assert became is not None
            assert [each.scope for each in database.store(became).erasures] == ["space"]
            database.search_index(False)
            assert not database.search_index()
            assert database.search_index(True)
            assert database.gc().payloads == 0
            assert all(not report.problems for report in database.verify().values())
        with pytest.raises(NotIsolated, match="member of headish_owner"):
            Database.open(own.at("owner"), isolation="required")
        with Database.open(own.url) as database:  # whom no policy holds sees what belongs to no space
            assert all(not report.problems for report in database.verify().values())
