"""``erase``, ``erasures``, ``gc`` and ``spaces rm --erase``: shown first, asked, then told."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from headish import Store
from headish.errors import TurnErased
from support.command import Command


@pytest.fixture
def talk(headish: Command) -> Command:
    headish("add", "hello", "-b", "main")
    headish("add", "my card is 4000 \u202e1234", "-c", "main", "--speaker", "Ana")
    headish("add", "thanks 東京", "-c", "main", "--role", "assistant")
    return headish


def ids(talk: Command) -> list[str]:
    return [turn["id"] for turn in talk("log", "--json").json_lines][::-1]


class TestErase:
    def test_a_dry_run_shows_what_goes_and_changes_nothing(self, talk: Command) -> None:
        done = talk("erase", "main~1", "--dry-run")
        assert done.out.split() == ids(talk)[1:2]
        assert "This goes: 1 turn" in done.err
        assert "\u202e" not in done.err
        assert "What continues these stays" in done.err
        assert talk("erase", "main", "--thread", "--dry-run", "--json").json["turns"] == ids(talk)
        assert talk("verify").code == 0
        assert talk("erasures").out == ""

    def test_without_a_terminal_nothing_is_erased_unless_yes(self, talk: Command) -> None:
        assert "--yes" in talk.fails("erase", "main~1", "--reason", "r")
        assert talk("erasures").out == ""
        done = talk("erase", "main~1", "--reason", "a card number", "--by", "Ana", "--yes")
        assert done.out == "1\n"
        assert "Not reached: copies" in done.err
        assert "by Ana: a card number" in talk("erasures").out

    def test_it_says_what_went_and_where_the_receipt_is(self, talk: Command) -> None:
        talk("edit", "main~2", "hello you")
        talk("title", "main", "hello you")
        done = talk("erase", "main", "--reason", "r", "--yes", "--meta", "--repeats")
        went = "Erased what 2 turns said (68 bytes), their speakers, options, application meta and keys, 1 title."
        assert done.err.splitlines()[:2] == [
            f"{went} 'headish erasures' lists receipt 1.",
            "The turns stay as tombstones: id, role, links, times and hashes.",
        ]
        assert "What continues these stays, and follows an erased turn: 1 turn." in done.err
        assert "It was erased before" in talk("erase", "main", "--reason", "r", "--yes", "--content").err

    def test_what_repeats_it_can_be_taken_later(self, talk: Command) -> None:
        talk("title", "main", "my card")
        talk("add", "else", "-b", "other")
        talk("title", "other", "a card")
        secret = talk("get", "main~1", "--json").json["id"]
        first = talk("erase", secret, "--reason", "r", "--yes").err
        assert "This title may repeat it: main; --repeats erases it, too." in first
        assert "Titles are compared with words that are there" in first
        again = talk("erase", secret, "--reason", "r", "--yes").err
        assert "nothing left to erase. 1 turn was erased before." in again
        assert "This title may repeat it: main; --repeats erases it, too." in again
        shown = talk("erase", secret, "--repeats", "--dry-run").err
        assert "This goes: 0 turns and 1 title" in shown
        assert "--yes" in talk.fails("erase", secret, "--repeats", "--reason", "r")
        done = talk("erase", secret, "--repeats", "--reason", "r", "--yes").err
        assert "Erased 1 title." in done
        assert "cannot be compared with 1 title" in done

    def test_copies_in_other_spaces_are_named(self, talk: Command) -> None:
        talk("spaces", "add", "ward")
        last = ids(talk)[-1]
        talk("spaces", "move", "main", "--to", "ward")
        said = talk("erase", last, "--reason", "r", "--yes", "--meta", "--content", "--repeats").err
        assert "The space ward keeps a copy of 1 turn; 'headish --space ward erase' with the same ids" in said
        assert "Not reached: copies of these turns in other spaces of this database (1)" in said

    def test_a_reason_is_needed(self, talk: Command) -> None:
        done = talk.run("erase", "main", "--yes")
        assert (done.code, "--reason" in done.err) == (2, True)

    def test_the_name_of_a_bookmark_alone(self, talk: Command) -> None:
        shown = talk("erase", "--bookmark", "main", "--dry-run")
        assert "the name main" in shown.err
        assert "3 moves" in shown.err
        assert "Turns that go on saying it: 3" in shown.err
        assert talk("erase", "--bookmark", "main", "--dry-run", "--json").json["names"] == ["main"]
        assert "--yes" in talk.fails("erase", "--bookmark", "main", "--reason", "r")
        done = talk("erase", "--bookmark", "main", "--reason", "a name", "--yes")
        assert done.out == "1\n"
        assert "main stay" not in done.err
        assert "point there stay" not in done.err
        assert "Erased 1 name of the bookmark; its moves stay. 'headish erasures' lists receipt 1." in done.err
        assert "called erased-1 from now on" in done.err
        assert "the name of a bookmark, now erased-1" in talk("erasures").out
        assert talk("verify").code == 0
        assert "there never was" in talk.fails("erase", "--bookmark", "main", "--reason", "r", "--yes")
        for beside in (("erased-1",), ("--thread",), ("--meta",), ("--said-before", "2026-01-01")):
            assert talk.run("erase", "--bookmark", "main", "--reason", "r", *beside).code == 2
        assert talk.run("erase", "--reason", "r", "--yes").code == 2

    def test_every_command_that_reads_says_so(self, talk: Command) -> None:
        talk("erase", "main~1", "--reason", "a card number", "--yes", "--meta")
        for words in (
            ("log",), ("tree",), ("get", "main~1"), ("export", "--to", "text"),
            ("export", "--to", "html"), ("export", "--to", "markdown"),
        ):  # fmt: skip
            said = talk(*words)
            assert "a card number" in said.out, words
            assert "4000" not in said.out + said.err
        assert "is left out" in talk("resolve").err
        assert "4000" not in talk("log", "--grep", "4000").out
        assert talk("log", "--grep", "hello").out.count("\n") == 1
        for words in (("log", "-p"), ("show", "main~1")):
            assert any(line.strip().startswith("(erased on ") for line in talk(*words).out.splitlines()), words
            assert '"erased"' not in talk(*words).out
        assert talk("get", "main~1", "--json").json["content"][0]["type"] == "erased"
        assert "was erased" in talk.fails("get", "main~1", "--payload")
        assert "--drop erased" in talk.fails("export", "main")
        assert "thanks" in talk("export", "main", "--drop", "erased").out

    def test_barred_content_is_refused(self, talk: Command) -> None:
        talk("erase", "main~2", "--content", "--reason", "r", "--yes")
        assert "barred" in talk.fails("add", "hello")

    def test_what_is_left_to_do_is_said(self, talk: Command) -> None:
        done = talk("erase", "main", "--reason", "r", "--yes", "--no-scrub", "--json")
        assert (done.json["scrubbed"], done.json["receipt"]["number"]) == (False, 1)
        assert "may be on the disk still" in talk("erasures").out
        assert talk("gc", "--json").json["scrubbed"] is True
        assert "disk" not in talk("erasures").out
        again = talk("erase", "main", "--reason", "r", "--yes")
        assert (again.out, "nothing left" in again.err) == ("", True)

    def test_receipts_are_exported(self, talk: Command) -> None:
        talk("erase", "main", "--reason", "r", "--yes")
        first, scrub = talk("erasures", "--export").json_lines
        assert (first["number"], first["turns"][0]["id"]) == (1, ids(talk)[-1])
        assert (scrub["scope"], scrub["covers"]) == ("scrub", 1)

    @pytest.mark.slow
    def test_gc_scrub_fails_where_a_reader_is_in_the_way(self, talk: Command) -> None:
        talk("erase", "main", "--reason", "r", "--yes", "--no-scrub")
        with sqlite3.connect(talk.target) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM turn").fetchall()
            done = talk.run("gc", "--scrub")
            assert (done.code, "reading" in done.err) == (1, True)
        assert talk("gc", "--scrub").code == 0


class TestSpaces:
    def test_a_space_is_erased_with_its_receipts_left(self, talk: Command) -> None:
        assert "--erase" in talk.fails("spaces", "rm", "default")
        assert talk.run("spaces", "rm", "default", "--reason", "r").code == 2
        assert talk.run("spaces", "rm", "default", "--erase").code == 2
        assert "3 turns, 1 bookmark" in talk("spaces", "rm", "default", "--erase", "--dry-run").err
        assert "--yes" in talk.fails("spaces", "rm", "default", "--erase", "--reason", "r")
        done = talk("spaces", "rm", "default", "--erase", "--reason", "a request", "--yes")
        assert done.err.startswith("Erased 3 turns, 1 bookmark, 122 bytes.\n")
        assert "erased-1" in done.err
        assert talk("spaces", "list").out == "erased-1\n"
        assert "the space, 3 turns: a request" in talk("--space", "erased-1", "erasures").out
        assert talk("verify", "--all").code == 0
        talk("add", "anew")
        with Store.open(talk.target) as store, pytest.raises(TurnErased):
            store.text(store.erase("@", reason="r").found.turns[0])


def test_the_receipts_of_what_was_erased_since_go_into_a_restore(talk: Command, tmp_path: Path) -> None:
    talk("backup", str(tmp_path / "old.hbackup"))
    talk("erase", "main~1", "--reason", "a card number", "--yes")
    receipts = tmp_path / "receipts.jsonl"
    receipts.write_text(talk("erasures", "--export").out)
    again = str(tmp_path / "again.db")
    done = talk("restore", str(tmp_path / "old.hbackup"), again, "--erasures", str(receipts))
    assert "Erased again, as the receipts say: 1." in done.err
    with Store.open(again) as store, pytest.raises(TurnErased, match="a card number"):
        store.text("main~1")
    receipts.write_text("no receipt")
    said = talk.fails("restore", str(tmp_path / "old.hbackup"), f"{again}.2", "--erasures", str(receipts))
    assert "line 1" in said


def test_follow_siblings_and_audit_go_on_past_what_is_gone(talk: Command) -> None:
    talk("erase", "main~1", "--reason", "a card number", "--by", "Ana", "--yes")
    said = talk("follow", "--no-wait").out
    assert "a card number" in said
    assert "4000" not in said
    assert "a card number" in talk("siblings", "main~1").out
    assert "Ana" in talk("audit").out
