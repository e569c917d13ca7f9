"""``headish search`` and ``headish db search-index``."""

from __future__ import annotations

import pytest

from support.command import Command, at_terminal

LONG = "so many words before it, " * 20 + "the needle 天気予報, " + "so many words behind it, " * 20


@pytest.fixture
def talked(headish: Command) -> Command:
    headish("add", "Which trains go to Zürich?", "-b", "trip")
    headish("add", "The night train from Vienna.", "-c", "trip", "--role", "assistant")
    return headish


class TestSearch:
    def test_a_line_has_the_turn_the_words_and_the_names(self, talked: Command) -> None:
        done = talked("search", "zurich", "train*")
        [line] = done.out.splitlines()
        assert line.endswith("user      Which trains go to Zürich? [trip]")
        assert talked("get", line.split()[0], "--json").json["meta"]["role"] == "user"

    def test_phrases_operators_and_filters(self, talked: Command) -> None:
        assert len(talked("search", '"night train" OR zurich').out.splitlines()) == 2
        assert len(talked("search", "train* NOT zurich", "--role", "assistant").out.splitlines()) == 1
        assert len(talked("search", "train*", "-n", "1", "--order", "time").out.splitlines()) == 1
        assert talked("search", "train*", "--name", "x*", "--in", "text,calls").out == ""
        assert talked("search", "train*", "--until", "2020-01-01").out == ""

    def test_as_json_it_says_all(self, talked: Command) -> None:
        [record] = talked("search", "vienna", "--json").json_lines
        [[start, end]] = record["marks"]
        assert record["snippet"][start:end] == "Vienna"
        assert (record["names"], record["heads"], record["field"]) == (["trip"], [record["id"]], "text")

    def test_nothing_found_is_no_error(self, talked: Command) -> None:
        done = talked("search", "nowhere")
        assert (done.out, done.err, done.code) == ("", "Nothing was found.\n", 0)

    def test_of_more_than_were_asked_for_it_says_so(self, talked: Command) -> None:
        assert talked("search", "train*", "-n", "1").err == "There may be more: -n 2.\n"

    @pytest.mark.parametrize("words", [(), ("x", "--in", "titles"), ("x", "-n", "0"), ("x", "--since", "monday")])
    def test_what_cannot_be_asked_for_is_wrong_usage(self, talked: Command, words: tuple[str, ...]) -> None:
        assert "Usage:" in talked.misused("search", *words)

    def test_words_without_letters_are_an_error_in_one_line(self, talked: Command) -> None:
        assert talked.fails("search", "—") == "there is no word to search for in '—'"

    def test_the_index_is_built_anew_and_switched(self, talked: Command) -> None:
        assert talked("search", "--reindex").code == 0
        assert talked("db", "search-index").out == "on\n"
        assert talked("db", "search-index", "off", "--json").json == {"search_index": False}
        assert len(talked("search", "vienna").out.splitlines()) == 1
        assert talked("db", "search-index", "on").out == "on\n"
        assert "read-only" in talked.fails("--read-only", "db", "search-index", "off")


def test_at_a_terminal_a_hit_is_one_line_that_shows_the_match(headish: Command) -> None:
    headish("add", LONG, "-b", "main")
    headish("search", "index")  # at a terminal, what is indexed is counted
    for columns in (70, 120):
        shown = at_terminal("--db", headish.target, "search", "needle", "天気", columns=columns)
        [line] = shown.strip().splitlines()
        assert "needle" in line
