"""After an erasure no column, page, log or index holds what was said."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, LargeBinary, String

from headish import Database, Store
from headish.bundles.records import SentSignature
from headish.content.hashes import hash_payload
from headish.database.file import upkeep
from headish.database.query import Query
from headish.database.schema import metadata
from headish.history.erasing import places
from headish.history.erasing.places import (
    ANSWERS,
    COLUMNS,
    DEFINED,
    GOES,
    GOES_WITH_META,
    OF_PEOPLE,
    OF_PROGRAMS,
    PROOF,
    RECEIPTS,
    WHOLE,
    Repeating,
)
from headish.history.signatures import store_signatures
from headish.store.keeping.erase import scrub_arrived
from headish.values.limits import INLINE_BYTES
from integrations.test_deleted_for_good import ADAPTERS
from support.insides import dump, run_sql
from support.places import FilePlace, Place
from support.signers import signature_bytes

SECRET = "xylophone-4711"
LARGE = SECRET + " " + "y" * (3 * INLINE_BYTES)


def columns_that_hold(store: Store, words: str) -> set[str]:
    """The columns of the store's space in which the words stand."""
    found = set()
    for table in metadata.sorted_tables:
        for row in dump(store)[table.name]:
            for column, value in zip(table.c, row, strict=True):
                encoded = value.encode() if isinstance(value, str) else value
                if isinstance(encoded, bytes) and words.encode() in encoded:
                    found.add(f"{table.name}.{column.name}")
    return found


def files_that_hold(path: Path, words: str) -> list[str]:
    """The files of a database, and whatever lies beside it, in which the words stand."""
    return [each.name for each in path.parent.iterdir() if each.is_file() and words.encode() in each.read_bytes()]


KEPT_OF_A_SPACE = ("space", "space_log", "counter", "erasure")
"""The tables whose rows stay when a space is erased: its number, its log, and its receipts."""
GOING_WITH_A_SPACE = {each for each in COLUMNS if each.partition(".")[0] not in KEPT_OF_A_SPACE}
BYTES = SECRET.encode()


def _filled(column: Column[Any]) -> str | bytes | int:
    if isinstance(column.type, LargeBinary):
        return BYTES
    return SECRET if isinstance(column.type, String) else 1


def say_everywhere(store: Store, words: str, large: str, bookmark: str = f"name-{SECRET}") -> list[str]:
    """Say the words in every place of a turn that takes bytes; the ids."""
    first = store.add_turn(
        words,
        bookmark=bookmark,
        key=f"key-{words}",
        meta={words: words},
        attributes={"speaker": words, "extra": {"x": words}},
        inherited={words: words},
    )
    second = store.add_turn(large, continues=first.id, role="assistant")
    document = store.add_document(large.encode() + b"!", name=f"{words}.txt", continues=second.id)
    signature = SentSignature(first.id, "turn", signature_bytes(words.encode()), 1)
    store._write(partial(store_signatures, space=store._number, sent=[signature]))
    return [first.id, second.id, document.id]


def test_every_column_that_takes_bytes_or_text_is_in_the_list() -> None:
    taking = {
        f"{table.name}.{column.name}"
        for table in metadata.sorted_tables
        for column in table.c
        if isinstance(column.type, LargeBinary | String)
    }
    assert set(COLUMNS) == taking


def test_the_page_says_how_many_columns_and_adapters_are_looked_at() -> None:
    page = (Path(__file__).parents[2] / "docs/explanation/reliability.md").read_text("utf-8")
    more = sum(what not in (PROOF, RECEIPTS) for what in COLUMNS.values())
    for told in (
        f"{len(COLUMNS)} columns, {more} of which hold more than hashes, ids and receipts",
        f"into {len(GOING_WITH_A_SPACE)} columns",
        f"of {len(ADAPTERS)} adapters",
    ):
        assert told in " ".join(page.split())


class TestWholeConversations:
    def say_all(self, store: Store) -> str:
        """The secret in all that can be said of a conversation and its turns; its bookmark."""
        last = say_everywhere(store, SECRET, LARGE)[-1]
        name = f"name-{SECRET}"
        store.bookmarks.set(name, last)
        store.conversations.set(name, title=SECRET, tags=[SECRET], key=SECRET, app={SECRET: SECRET})
        store.objects.put("kind", SECRET, SECRET.encode())
        self.answer(store, name)
        return name

    def answer(self, store: Store, name: str) -> None:
        """An answer that arrives, with the secret in what it says, in what it belongs to, and in its journal."""
        capture = store.capture(name, "anthropic")
        capture.feed({"type": "message_start", "message": {"role": "assistant", "model": SECRET, "content": []}})
        capture.feed({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": SECRET}})
        capture._journal.keep()
        assert {each for each, what in COLUMNS.items() if what == ANSWERS} <= columns_that_hold(store, SECRET)
        capture.finish()

    def test_only_what_the_table_says_stays(self, place: Place) -> None:
        store = place.open()
        name = self.say_all(store)
        ids = [turn.id for turn in store.thread(name)]
        assert {each for each, what in COLUMNS.items() if what in (WHOLE, OF_PEOPLE)} & columns_that_hold(store, SECRET)
        store.erase(ids[-1], reason="first the last turn")
        store.erase(name, scope="thread", meta=True, repeats=True, reason="then all")
        assert columns_that_hold(store, SECRET) == {"object.key", "object.data"}
        assert all(COLUMNS[each] == OF_PROGRAMS for each in ("object.key", "object.data"))
        assert store.verify().problems == ()

    def test_no_byte_of_the_file_holds_it(self, file_place: FilePlace) -> None:
        store = file_place.open()
        name = self.say_all(store)
        store.objects.remove("kind", SECRET)
        store.erase(name, scope="branch", meta=True, scrub=False, reason="r")
        Database(store._database).gc(scrub=True)
        assert files_that_hold(file_place.path, SECRET) == []


class TestColumns:
    def test_nothing_in_the_list_holds_it_afterwards(self, place: Place) -> None:
        store = place.open()
        ids = say_everywhere(store, SECRET, LARGE)
        going = {name for name, what in COLUMNS.items() if what in (GOES, GOES_WITH_META)}
        assert going <= columns_that_hold(store, SECRET)
        store.erase(ids, meta=True, reason="asked for")
        store.bookmarks.remove(f"name-{SECRET}")
        assert columns_that_hold(store, SECRET) <= {"bookmark_log.name"}
        assert store.verify().problems == ()

    def test_without_meta_the_words_alone_go(self, place: Place) -> None:
        store = place.open()
        ids = say_everywhere(store, SECRET, LARGE)
        store.erase(ids, reason="asked for")
        left = columns_that_hold(store, SECRET)
        assert not left & {name for name, what in COLUMNS.items() if what == GOES}
        assert {"turn.system", "turn.attributes"} <= left

    def test_a_space_keeps_its_receipts_and_nothing_else(self, place: Place) -> None:
        store = place.open(f"person-{SECRET}")
        say_everywhere(store, SECRET, LARGE)
        store.objects.put("kind", SECRET, SECRET.encode())
        store.pointers.set(f"p-{SECRET}", f"openai/{SECRET}")
        store.tools.set("files", [{"name": SECRET}])
        store.conversations.set(f"name-{SECRET}", title=SECRET, key=SECRET)
        store.capture(f"name-{SECRET}", "anthropic").feed({"type": "ping", "x": SECRET})
        Database(store._database).spaces.erase(store.space, reason="asked for")
        assert columns_that_hold(store, SECRET) == set()
        assert {name for name, rows in dump(store).items() if rows} == {"space", "space_log", "counter", "erasure"}

    def test_no_column_of_any_table_holds_it_once_its_space_is_erased(self, place: Place) -> None:
        """Whatever writes into a column, the row goes with its space."""
        store = place.open()
        looked_at = set[str]()
        for table in metadata.sorted_tables:
            if table.name not in KEPT_OF_A_SPACE:
                values = {column.name: _filled(column) for column in table.c} | {"space": store._number}
                names = ", ".join(values)
                places_of = ", ".join(f":{name}" for name in values)
                insert = Query(f"fill {table.name}", f"INSERT INTO {table.name} ({names}) VALUES ({places_of})")
                store._write(lambda connection, insert=insert, values=values: connection.run(insert, **values))
                looked_at |= {f"{table.name}.{name}" for name, value in values.items() if value in (SECRET, BYTES)}
        assert columns_that_hold(store, SECRET) == looked_at
        assert looked_at == GOING_WITH_A_SPACE
        Database(store._database).spaces.erase(store.space, reason="asked for")
        assert columns_that_hold(store, SECRET) == set()

    def test_a_definition_stays_with_its_history(self, place: Place) -> None:
        """Removing it takes it out of use; what an older thread was asked with can still be read."""
        store = place.open()
        store.pointers.set(f"p-{SECRET}", f"openai/{SECRET}", params={"user": SECRET})
        store.tools.set(f"t-{SECRET}", [{"name": SECRET, "inputSchema": {}}])
        store.pointers.remove(f"p-{SECRET}")
        store.tools.remove(f"t-{SECRET}")
        Database(store._database).gc(scrub=True)
        held = {"definition.name", "definition.data"}
        assert columns_that_hold(store, SECRET) == held == {each for each, what in COLUMNS.items() if what == DEFINED}


class TestFiles:
    def test_neither_the_file_nor_its_log_holds_it(self, file_place: FilePlace) -> None:
        store = file_place.open()
        ids = say_everywhere(store, SECRET, LARGE, "main")
        store.add_turn("later", continues=ids[-1])
        assert files_that_hold(file_place.path, SECRET)
        done = store.erase(ids, meta=True, reason="asked for")
        assert (done.scrubbed, done.unscrubbed) == (True, "")
        assert files_that_hold(file_place.path, SECRET) == []

    def test_nor_do_pages_that_were_freed_before(self, file_place: FilePlace) -> None:
        """The journal of an answer is deleted when its turn is stored, and leaves its words on free pages."""
        store = file_place.open()
        store.add_turn("q", bookmark="main")
        capture = store.capture("main", "anthropic")
        capture.feed({"type": "message_start", "message": {"role": "assistant", "content": []}})
        capture.feed({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
        for _ in range(300):
            delta = {"type": "text_delta", "text": SECRET * 20}
            capture.feed({"type": "content_block_delta", "index": 0, "delta": delta})
        capture._journal.keep()
        turn = capture.finish()
        assert files_that_hold(file_place.path, SECRET)
        store.erase(turn.id, reason="asked for")
        assert files_that_hold(file_place.path, SECRET) == []

    def test_an_erased_space_is_gone_from_the_file(self, file_place: FilePlace) -> None:
        store = file_place.open(f"person-{SECRET}")
        say_everywhere(store, SECRET, LARGE)
        other = file_place.open("other")
        kept = other.add_turn(LARGE.replace(SECRET, "nothing"))
        Database(store._database).spaces.erase(store.space, reason="asked for")
        assert files_that_hold(file_place.path, SECRET) == []
        assert other.text(kept.id).startswith("nothing")
        assert all(not report.problems for report in Database(store._database).verify().values())

    @pytest.mark.slow
    def test_a_reader_in_the_middle_keeps_the_log_until_gc(self, file_place: FilePlace) -> None:
        store = file_place.open()
        turn = store.add_turn(LARGE)
        other = file_place.open()

        def read(connection: Any) -> None:
            connection.row(_ANY, space=other._number)
            done = store.erase(turn.id, reason="asked for")
            assert (done.scrubbed, "reading" in done.unscrubbed) == (False, True)
            assert not store.erasures.is_scrubbed
            # This reader goes on with the moment that it began at.
            assert connection.row(_ANY, space=other._number)[0] is not None

        other._read(read)
        assert Database(store._database).gc().scrubbed
        assert store.erasures.is_scrubbed
        assert files_that_hold(file_place.path, SECRET) == []
        assert store.verify().problems == ()

    def test_while_a_reader_keeps_the_log_no_attempt_writes_the_file_anew(
        self, file_place: FilePlace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A sync tries again each time. What it wrote could not reach the file, and filled the disk."""
        monkeypatch.setattr(upkeep, "SCRUB_SECONDS", 0)
        store, other = file_place.open(), file_place.open()
        store.add_turns({"content": f"{index} " + "x" * 20_000} for index in range(100))
        turn = store.add_turn(SECRET)
        log = file_place.path.with_name(f"{file_place.path.name}-wal")

        def read(connection: Any) -> None:
            connection.row(_ANY, space=other._number)
            assert not store.erase(turn.id, reason="asked for").scrubbed
            written = log.stat().st_size
            for _ in range(3):
                assert "reading" in Database(store._database).gc(scrub=True).unscrubbed
                scrub_arrived(store, 0)
            assert log.stat().st_size < written + 100_000
            assert not store.erasures.is_scrubbed

        Database(store._database).gc(scrub=True)  # it empties the log, so that the reader begins at the file
        other._read(read)
        scrub_arrived(store, 0)
        assert store.erasures.is_scrubbed
        assert files_that_hold(file_place.path, SECRET) == []

    def test_it_may_be_left_to_gc(self, file_place: FilePlace) -> None:
        store = file_place.open()
        for index in range(3):
            turn = store.add_turn(f"{SECRET} {index}")
            assert not store.erase(turn.id, reason="asked for", scrub=False).scrubbed
        assert Database(store._database).gc().scrubbed
        assert files_that_hold(file_place.path, SECRET) == []
        assert [each.covers for each in store.erasures if each.covers is not None] == [3]

    def test_what_was_erased_meanwhile_is_left_to_the_next_time(
        self, file_place: FilePlace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Else its receipt would say that it is off a disk on which it still stands."""
        store = file_place.open()
        turns = [store.add_turn(f"{SECRET} {index}").id for index in range(2)]
        backend = store._backend
        original = type(backend).scrub

        def erase_behind(self: Any) -> str:
            why = original(self)
            store.erase(turns[1], reason="asked for", scrub=False)
            return str(why)

        with monkeypatch.context() as patched:
            patched.setattr(type(backend), "scrub", erase_behind)
            store.erase(turns[0], reason="asked for")
        assert [each.covers for each in store.erasures] == [None, None]
        assert not store.erasures.is_scrubbed
        assert Database(store._database).gc().scrubbed
        assert [each.covers for each in store.erasures] == [None, None, 2]
        assert store.verify().problems == ()

    def test_a_space_that_is_being_restored_gets_no_receipt(self, file_place: FilePlace) -> None:
        """Its restore brings its receipts, and compares them with its backup."""
        store, other = file_place.open(), file_place.open("half")
        for each in (store, other):
            each.erase(each.add_turn(SECRET).id, reason="asked for", scrub=False)
        [[state]] = run_sql(store, f"SELECT state FROM counter WHERE space = {other._number}")
        run_sql(store, f"UPDATE counter SET state = 'restoring:0' WHERE space = {other._number}")
        assert Database(store._database).gc().scrubbed
        assert [each.covers for each in store.erasures] == [None, 1]
        assert len(dump(other)["erasure"]) == 1
        told = "NULL" if state is None else f"'{state}'"
        run_sql(store, f"UPDATE counter SET state = {told} WHERE space = {other._number}")
        Database(store._database).gc()
        assert [each.covers for each in other.erasures] == [None, 1]

    def test_whoever_opens_it_is_told_what_is_left_to_do(
        self, file_place: FilePlace, caplog: pytest.LogCaptureFixture
    ) -> None:
        store = file_place.open()
        store.erase(store.add_turn(SECRET).id, reason="asked for", scrub=False)
        file_place.open()
        assert "headish gc" in caplog.text
        Database(store._database).gc()
        caplog.clear()
        file_place.open()
        assert caplog.text == ""

    def test_copies_beside_it_are_named(self, file_place: FilePlace) -> None:
        store = file_place.open()
        copy = Path(f"{file_place.path}.backup-headish_0003")
        copy.write_bytes(b"x")
        assert store.erase(store.add_turn(SECRET).id, reason="r").found.copies == (str(copy),)


class TestGc:
    def test_what_nothing_names_goes(self, place: Place) -> None:
        store = place.open()
        from headish.rows.payloads import add_payloads

        store._write(lambda connection: add_payloads(connection, store._number, {hash_payload(b"x"): b"x" * 9000}))
        for dry_run in (True, False):
            found = Database(store._database).gc(dry_run=dry_run)
            assert (found.payloads, found.bytes) >= (1, 9000)
        assert Database(store._database).gc(dry_run=True).payloads == 0

    def test_parts_of_copies_that_were_never_finished_go(self, file_place: FilePlace) -> None:
        import os

        store = file_place.open()
        old, new = (Path(f"{file_place.path}.backup-{name}.part") for name in ("old", "new"))
        for part in (old, new):
            part.write_bytes(b"x")
        os.utime(old, (0, 0))
        assert Database(store._database).gc().files == (str(old),)
        assert (old.exists(), new.exists()) == (False, True)

    def test_a_server_is_scrubbed_on_request(self, new_postgresql: str) -> None:
        with Store.open(new_postgresql) as store:
            turn = store.add_turn(LARGE)
            done = store.erase(turn.id, reason="r")
            assert (done.scrubbed, store.erasures.is_scrubbed) == (False, False)
            assert not Database(store._database).gc().scrubbed
            assert Database(store._database).gc(scrub=True).scrubbed
            assert store.erasures.is_scrubbed
            assert all(not report.problems for report in Database(store._database).verify().values())


def test_an_index_beside_the_tables_is_told(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    turns: list[Any] = []
    spaces: list[int] = []
    index = Repeating(
        "an index", lambda connection, space, ids: turns.extend(ids), lambda connection, space: spaces.append(space)
    )
    monkeypatch.setattr(places, "REPEATING", (index,))
    turn = store.add_turn(SECRET)
    store.erase(turn.id, reason="r")
    Database(store._database).spaces.erase(store.space, reason="r")
    assert (turns, spaces) == ([turn.id], [store._number])


_ANY = Query("any payload", "SELECT max(data) FROM payload WHERE space = :space")
