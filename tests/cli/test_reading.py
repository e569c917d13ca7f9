"""``get``, ``log``, ``tree``, ``resolve``, ``export``, ``request``: data on stdout, drawings that are right."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from headish import Store
from support.command import Command


@pytest.fixture
def grown(headish: Command) -> dict[str, str]:
    """A thread with a fork and a merge; the bookmark ``main`` on the merge."""
    ids = {"q": headish.id("add", "q", "-b", "main", "--set", "t=1")}
    ids["a"] = headish.id("add", "a", "-c", ids["q"], "--role", "assistant")
    ids["b"] = headish.id("add", "b", "-c", ids["q"], "--role", "assistant", "-b", "other")
    ids["m"] = headish.id("add", "m", "-c", "main", "-c", "other")
    return ids


def drawn(text: str) -> list[str]:
    """The lines of a drawing without ids, times and trailing blanks."""
    id_and_time = re.compile(r"\b0[0-9a-z]{7,24} ?(\d{4}-\d\d-\d\d \d\d:\d\d )?")
    return [id_and_time.sub("", line).rstrip() for line in text.splitlines()]


class TestDrawings:
    def test_a_tree_shows_branches_names_and_where_we_are(self, headish: Command, grown: dict[str, str]) -> None:
        assert drawn(headish("tree", "main").out) == [
            "○ user      q",
            "├─○ assistant a",
            "│ ● user      m (also continues ) [main]",
            "└─○ assistant b [other]",
        ]

    def test_a_log_graph_shows_how_the_rails_part_and_meet(self, headish: Command, grown: dict[str, str]) -> None:
        assert drawn(headish("log", "main", "--graph").out) == [
            "* user      m [main]",
            "|\\",
            "| * assistant b [other]",
            "* | assistant a",
            "|/",
            "* user      q",
        ]

    def test_a_log_lists_newest_first_and_can_be_cut(self, headish: Command, grown: dict[str, str]) -> None:
        assert drawn(headish("log", "main", "-n", "2").out) == ["user      m [main]", "assistant b [other]"]
        assert [turn["id"] for turn in headish("log", "main", "--json").json_lines] == [
            grown[name] for name in "mbaq"
        ]  # fmt: skip

    def test_ids_are_as_long_as_the_closest_two_need(self, headish: Command, grown: dict[str, str]) -> None:
        listed = re.findall(r"^\S+", headish("log", "main").out, re.M)
        assert len({len(each) for each in listed}) == 1
        assert [headish("get", each, "--json").json["id"] for each in listed] == [grown[name] for name in "mbaq"]

    @pytest.mark.slow
    def test_a_long_thread_is_drawn_without_recursion(self, headish: Command, tmp_path: Path) -> None:
        with Store.open(headish.target) as store:
            store.add_turns({"content": str(index), "respond": index > 0} for index in range(3000))
        assert len(headish("tree").out.splitlines()) == 3000
        assert len(headish("log", "--graph").out.splitlines()) == 3000

    def test_what_a_turn_says_cannot_move_the_cursor(self, headish: Command) -> None:
        headish("add", "red \x1b[31m and \r back\u202e", "-b", "main")
        for words in (("log",), ("tree",), ("get",), ("bookmark", "list")):
            out = headish(*words).out
            assert "\x1b[31m" not in out
            assert "\r" not in out
            assert "\u202e" not in out


class TestJson:
    def test_get_gives_the_turn_with_its_content(self, headish: Command, grown: dict[str, str]) -> None:
        turn = headish("get", "main", "--json").json
        assert list(turn) == ["id", "hash", "digest", "seal", "meta", "content"]
        assert turn["meta"]["continues"] == [grown["a"], grown["b"]]

    def test_resolve_gives_the_window_of_the_schema_reference(self, headish: Command, grown: dict[str, str]) -> None:
        window = headish("resolve", "main", "--json").json
        assert [message["content"][0]["text"] for message in window["messages"]] == ["q", "a", "b", "m"]
        assert window["options"] == {"t": 1}
        assert headish("resolve", "main").json == window
        several = headish("resolve", grown["a"], grown["b"], "--json").json
        assert [message["content"][0]["text"] for message in several["messages"]] == ["q", "a", "b"]

    def test_lists_are_an_object_a_line(self, headish: Command, grown: dict[str, str]) -> None:
        assert headish("bookmark", "list", "--json").json_lines == [
            {"name": "main", "turn": grown["m"]},
            {"name": "other", "turn": grown["b"]},
        ]
        assert [turn["current"] for turn in headish("tree", grown["a"], "--json").json_lines] == [
            False, True, False, False,
        ]  # fmt: skip
        moves = headish("bookmark", "history", "main", "--json").json_lines
        assert [move["turn"] for move in moves] == [grown["m"], grown["a"], grown["q"]]

    def test_words_go_to_stderr_and_data_to_stdout(self, headish: Command, grown: dict[str, str]) -> None:
        done = headish("get", "main")
        assert done.out == "m\n"
        assert grown["m"] in done.err
        assert headish("verify").out == ""
        assert headish("verify").err == "4 turns, 4 payloads, 2 bookmarks: all in order.\n"


class TestEmitting:
    def test_export_writes_the_transcript_byte_for_byte(self, headish: Command, grown: dict[str, str]) -> None:
        assert headish("export", grown["a"]).out == (
            "version: 2.2\n\n<|start|>user<|message|>q<|end|>\n<|start|>assistant<|channel|>final<|message|>a<|end|>\n"
        )

    def test_what_cannot_be_carried_is_dropped_only_by_name(self, headish: Command) -> None:
        headish("doc", "-", "--name", "a.pdf", "-b", "main", stdin=b"%PDF-1.7")
        assert 'give it up with drop="document"' in headish.fails("export", "main")
        assert headish("export", "main", "--drop", "document").out == "version: 2.2\n\n"

    def test_request_writes_the_body_and_tells_its_notes(self, headish: Command, grown: dict[str, str]) -> None:
        done = headish("request", grown["q"], "--to", "anthropic", "--model", "a-model", "--json")
        assert done.json == {
            "model": "a-model",
            "max_tokens": 8192,
            "stream": True,
            "messages": [{"role": "user", "content": [{"type": "text", "text": "q"}]}],
        }
        assert done.err == "note: the option t is not sent\n"
        without = {key: value for key, value in done.json.items() if key != "model"}
        assert json.loads(headish("request", grown["q"], "--to", "anthropic").out) == without
        assert "no provider is named" in headish.fails("request", grown["q"])

    def test_unknown_formats_name_the_known_ones(self, headish: Command, grown: dict[str, str]) -> None:
        assert (
            headish.fails("export", "--to", "pdf")
            == "unknown format 'pdf': known are v0.1, 2.0, 2.2, harmony, rwkv, openchatml"
        )
        assert headish.fails("request", "--to", "nobody") == (
            "unknown provider 'nobody': known are anthropic, openai, openai_responses, gemini, cohere, cerebras"
        )


class TestBookmarks:
    def test_they_are_set_moved_listed_and_removed(self, headish: Command, grown: dict[str, str]) -> None:
        assert headish("bookmark", "set", "x", grown["a"], "--json").json == {"name": "x", "turn": grown["a"]}
        assert headish("bookmark", "set", "x").out.strip() == grown["m"]
        assert headish("get", "x@{1}", "--json").json["id"] == grown["a"]
        assert "Removed x" in headish("bookmark", "rm", "x").err
        assert "no turn is named 'x'" in headish.fails("get", "x")
        history = headish("bookmark", "history", "x").out.splitlines()
        assert [line.split()[-1] for line in history] == ["(removed)", grown["m"], grown["a"]]
        assert "there is no such bookmark" in headish.fails("bookmark", "rm", "x")
        assert "there never was such a bookmark" in headish.fails("bookmark", "history", "y")
