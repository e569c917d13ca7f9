"""Digests and seals (rule I3, one address; rule I4, digest and seal): what enters them, that they are the same
everywhere, and their fixed vectors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from headish import Store, Turn
from headish.content.hashes import (
    DEFINITION_LOG,
    MOVE_LOG,
    SPACE_LOG,
    DigestFields,
    digest_turn,
    mark_name,
    run_on,
    seal_arrival,
    seal_call,
    seal_entry,
    seal_notice,
    seal_object,
    seal_record,
    seal_remote,
    seal_remote_bookmark,
    seal_signature,
    seal_turn,
    witness,
)
from support.dags import dags
from support.places import Place
from support.shared import OASST, needs_shared

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "explanation" / "digests.md"


def table(heading: str) -> list[dict[str, str]]:
    """The rows of the table below a heading of the page, cells without their backticks."""
    lines = PAGE.read_text("utf-8").split(f"### {heading}\n")[1].split("\n### ")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [dict(zip(rows[0], (cell.replace("`", "") for cell in row), strict=True)) for row in rows[2:]]


class TestVectors:
    @pytest.mark.parametrize("row", table("Digests"), ids=lambda row: row["case"])
    def test_a_digest_is_what_the_page_says(self, row: dict[str, str]) -> None:
        said = DigestFields(
            row["role"],
            bytes.fromhex(row["hash"]),
            row["type"] or None,
            row["content type"],
            row["document name"] or None,
            row["attributes"].encode() or None,
        )
        parents = [bytes.fromhex(each) for each in row["parents' digests"].split("<br>")]
        assert digest_turn(said, [each for each in parents if each]).hex() == row["digest"]

    @pytest.mark.parametrize("row", table("Seals"), ids=lambda row: row["case"])
    def test_a_seal_is_what_the_page_says(self, row: dict[str, str]) -> None:
        seal = seal_turn(
            row["id"],
            bytes.fromhex(row["digest"]),
            [each for each in row["parents' ids"].split("<br>") if each],
            head=row["head"].encode() or None,
            cache=row["cache"] == "1",
            inherited=row["inherited"].encode() or None,
            system=row["system"].encode() or None,
            app=row["app"].encode() or None,
        )
        assert seal.hex() == row["seal"]

    def test_the_seals_of_other_rows_are_what_the_page_says(self) -> None:
        rows = {row["what"]: (row["fields"].split("<br>"), row["seal"]) for row in table("Seals of other rows")}
        (kind, key, revision, milliseconds, data), seal = rows.pop("object")
        assert seal_object(kind, key.encode(), int(revision), int(milliseconds), data.encode()).hex() == seal
        (subject, revision, milliseconds, data), seal = rows.pop("conversation")
        assert seal_record(subject.encode(), int(revision), int(milliseconds), data.encode()).hex() == seal
        (change, seq, subject, milliseconds), seal = rows.pop("log of conversations")
        assert seal_entry(int(change), int(seq), subject.encode(), int(milliseconds)).hex() == seal
        (id, milliseconds, *fields, data), seal = rows.pop("call")
        assert seal_call(id, int(milliseconds), [each.encode() for each in fields], data.encode()).hex() == seal
        (first, last, kind, remote, device, by, milliseconds), seal = rows.pop("where turns came from")
        origin = (kind, remote.encode() or None, device or None, by.encode() or None)
        assert seal_arrival(int(first), int(last), *origin, int(milliseconds)).hex() == seal
        (*texts, milliseconds), seal = rows.pop("remote")
        assert seal_remote(*map(str.encode, texts), int(milliseconds)).hex() == seal
        (remote, device, name, turn, record, milliseconds), seal = rows.pop("name at a remote")
        there = (remote.encode(), device.encode(), name.encode(), turn or None, record.encode() or None)
        assert seal_remote_bookmark(*there, int(milliseconds)).hex() == seal
        (id, remote, device, receipt, state, milliseconds), seal = rows.pop("notice of an erasure")
        sent = (id, remote.encode(), device.encode(), receipt.encode())
        assert seal_notice(*sent, state, int(milliseconds)).hex() == seal
        (number, turn, kind, signer, data, milliseconds, remote), seal = rows.pop("signature")
        signed = (int(number), turn, kind, signer, data.encode())
        assert seal_signature(*signed, int(milliseconds), remote.encode()).hex() == seal
        assert not rows

    @pytest.mark.parametrize("row", table("Running hashes"), ids=lambda row: row["word"])
    def test_a_running_hash_is_what_the_page_says(self, row: dict[str, str]) -> None:
        before, logged = bytes.fromhex(row["before"]), row["logged"].encode()
        found = run_on(row["word"].encode(), before, int(row["number"]), logged, int(row["milliseconds"]))
        assert found.hex() == row["running hash"]
        assert {MOVE_LOG, DEFINITION_LOG, SPACE_LOG} == {each["word"].encode() for each in table("Running hashes")}

    def test_the_mark_of_an_erased_name_and_the_witness_of_a_cursor_stay_as_they_are(self) -> None:
        mark = mark_name(b"main", b"\1" * 32)
        assert mark.hex() == "a4da70fb335f539badfe0d37266cbc83ed4d319b3cfe4b9ec8aa243c0bae8523"
        assert witness(b"\2" * 32, b"\1" * 32) == "c920a7af"

    def test_there_are_vectors_for_every_field(self) -> None:
        for heading in ("Digests", "Seals"):
            rows = table(heading)
            assert all(any(row[field] for row in rows) for field in rows[0])
            assert len({tuple(row.values())[-1] for row in rows}) == len(rows)
        assert len(table("Digests")) + len(table("Seals")) >= 6

    def test_the_bytes_on_the_page_hash_to_the_first_vector(self) -> None:
        [encoded] = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("16:headish-digest-1,")]
        assert blake3(encoded.encode()).hexdigest() == table("Digests")[0]["digest"]

    def test_a_stored_turn_has_the_first_two_vectors(self, store: Store) -> None:
        first = store.add_turn("capital of France?")
        second = store.add_turn("Paris", role="assistant", continues=first.id)
        assert [first.digest, second.digest] == [row["digest"] for row in table("Digests")[:2]]


def netstrings(*fields: str) -> bytes:
    return b"".join(b"%d:%s," % (len(field.encode()), field.encode()) for field in fields)


class TestEncoding:
    """The page's words, followed once more by hand."""

    def test_a_turn_with_everything(self, store: Store) -> None:
        one, two = store.add_turn("one"), store.add_turn("two", bookmark="main")
        turn = store.add_turn(
            "x",
            role="tool",
            continues=[two.id, one.id],
            bookmark="später",
            cache=True,
            inherited={"z": 1, "a": None},
            meta={"é": [1.5]},
            attributes={"channel": "final", "speaker": "Zoë"},
        )
        said = ("headish-digest-1", "tool", "", "application/json", "", '{"speaker":"Zoë","channel":"final"}')
        assert turn.digest == blake3(netstrings(*said, turn.hash, two.digest, one.digest)).hexdigest()
        sealed = (turn.id, turn.digest, "später", "1", '{"z":1,"a":null}', "", '{"é":[1.5]}')
        assert turn.seal == blake3(netstrings("headish-seal-1", *sealed, two.id, one.id)).hexdigest()

    def test_a_document(self, store: Store) -> None:
        turn = store.add_document(b"a,b", name="ü.csv")
        said = ("headish-digest-1", "user", "document", "text/csv", "ü.csv", "", turn.hash)
        assert turn.digest == blake3(netstrings(*said)).hexdigest()
        sealed = (turn.id, turn.digest, "", "0", "", '{"document_name":"ü.csv","file_size":3}', "")
        assert turn.seal == blake3(netstrings("headish-seal-1", *sealed)).hexdigest()


class TestWhatEnters:
    """Rule I4, digest and seal."""

    @pytest.mark.parametrize(
        "change",
        [
            {"content": "b"},
            {"content": ["a", ""]},
            {"role": "assistant"},
            {"attributes": {"speaker": "Ada"}},
            {"attributes": {"extra": {"mood": "calm"}}},
            {"continues": "other"},
            {"continues": []},
            {"continues": ["main", "other"]},
            {"continues": ["other", "main"]},
        ],
        ids=repr,
    )
    def test_what_was_said_enters_the_digest(self, store: Store, change: dict[str, Any]) -> None:
        digests = {digest(store, **each) for each in ({}, change)}
        assert len(digests) == 2

    @pytest.mark.parametrize(
        "change",
        [
            {"bookmark": "name"},
            {"cache": True},
            {"inherited": {"t": 1}},
            {"search": True},
            {"meta": {"k": 1}},
            {"attributes": {"speaker": None, "tight": False, "extra": {}}},
        ],
        ids=repr,
    )
    def test_the_rest_does_not(self, store: Store, change: dict[str, Any]) -> None:
        digests = {digest(store, **each) for each in ({}, change)}
        assert len(digests) == 1

    @pytest.mark.parametrize(
        ("one", "other", "same"),
        [
            ({"name": "a.txt"}, {"name": "b.txt"}, False),
            ({"content_type": "text/plain"}, {"content_type": "text/html"}, False),
            ({"name": "a.txt"}, {"name": "a.txt", "cache": True}, True),
        ],
    )
    def test_of_a_document_its_name_and_type_enter(self, store: Store, one: Any, other: Any, same: bool) -> None:
        digests = {store.add_document(b"x", **each).digest for each in (one, other)}
        assert (len(digests) == 1) is same

    def test_of_a_document_its_path_does_not_enter(self, store: Store, tmp_path: Path) -> None:
        digests = set()
        for folder in ("one", "two"):
            path = tmp_path / folder / "a.txt"
            path.parent.mkdir()
            path.write_bytes(b"x")
            digests.add(store.add_document(path).digest)
        assert digests == {store.add_document(b"x", name="a.txt").digest}


def digest(store: Store, **change: Any) -> str:
    """The digest of a turn that continues ``main``, changed so."""
    store.add_turn("main", bookmark="main", force=True)
    store.add_turn("other", bookmark="other", force=True)
    return store.add_turn(**{"content": "a", "continues": "main", **change}).digest


@given(parents=dags(largest=12), data=st.data())
def test_equal_threads_have_equal_digests_in_every_store(
    file_place: Place, parents: list[list[int]], data: st.DataObject, postgresql_url: str
) -> None:
    count = len(parents)
    words = data.draw(st.lists(st.text(max_size=5).filter(encodable), min_size=count, max_size=count))
    speakers = data.draw(st.lists(st.none() | st.sampled_from(["Ada", "Zoë"]), min_size=count, max_size=count))
    items = [
        {"content": word, "continues": continues, "attributes": {"speaker": speaker}}
        for word, continues, speaker in zip(words, parents, speakers, strict=True)
    ]
    found: list[list[tuple[str, str]]] = []
    for target in (str(file_place.target), ":memory:", postgresql_url):
        with Store.open(target, space=f"digests-{id(data)}") as store:
            found.append([(turn.hash, turn.digest) for turn in store.add_turns(items)])
    assert found[0] == found[1] == found[2]


def encodable(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


@needs_shared
class TestRealConversations:
    def messages(self) -> Iterator[tuple[str, str]]:
        """Role and text of every message of the file, parents first."""
        for line in OASST.read_text("utf-8").splitlines():
            stack = [json.loads(line)["prompt"]]
            while stack:
                message = stack.pop()
                yield {"prompter": "user"}.get(message["role"], message["role"]), message["text"]
                stack.extend(reversed(message["replies"]))

    @pytest.mark.postgresql
    def test_digests_agree_between_sqlite_and_postgresql(self, new_place: Any) -> None:
        found: list[list[Turn]] = []
        for backend in ("sqlite", "postgresql"):
            place = new_place(backend)
            store = place.open()
            done = store.import_file(OASST)
            assert done.added == done.messages == len(list(self.messages()))
            assert store.import_file(OASST).added == 0
            assert store.verify().problems == ()
            found.append(list(store.turns()))
            place.close()
        assert [turn.digest for turn in found[0]] == [turn.digest for turn in found[1]]
        assert {turn.id for turn in found[0]}.isdisjoint(turn.id for turn in found[1])

    def test_every_message_is_there_word_by_word(self, store: Store) -> None:
        store.import_file(OASST)
        stored = [(turn.meta.role, store.blocks(turn.id)[0].text) for turn in store.turns()]
        assert stored == list(self.messages())
