"""``headish list`` and ``headish title``: the conversations of a space, and what they are called."""

from __future__ import annotations

import json

import pytest

from support.command import Command, at_terminal
from support.loopback import Loopback


@pytest.fixture
def talked(headish: Command) -> Command:
    """Two bookmarks and a thread without one."""
    headish("add", "How high is Everest?", "-b", "heights")
    headish("add", "8849 m", "-c", "heights", "--role", "assistant")
    headish("add", "a thread without a name")
    headish("add", "Capital of France?", "-b", "capitals")
    return headish


class TestList:
    def test_a_line_has_name_time_title_and_last_words(self, talked: Command) -> None:
        lines = talked("list").out.splitlines()
        assert sorted(line.split()[1] for line in lines[:2]) == ["capitals", "heights"]
        [heights] = [line for line in lines if "heights" in line]
        assert heights.endswith("How high is Everest?     2 turns  8849 m")
        assert heights.split()[0] == talked("log", "heights").out.split()[0]
        assert lines[2].endswith("a thread without a name  1 turn")  # its only words stand there once
        assert talked("get", lines[2].split()[0]).out == "a thread without a name\n"

    def test_a_pipe_gets_whole_names_that_commands_take(self, talked: Command) -> None:
        name = "imported/" + "a-long-name-" * 6
        talked("add", "Hello", "-b", name)
        [line] = [line for line in talked("list").out.splitlines() if "Hello" in line]
        assert talked("get", line.split()[1]).out == "Hello\n"

    def test_a_name_at_the_root_of_a_tree_says_that_there_is_more(self, talked: Command) -> None:
        root = talked("add", "root", "-b", "tree").out.strip()
        talked("add", "below", "-c", root, "-b", "branch")
        talked("bookmark", "set", "tree", root)
        [line] = [line for line in talked("list").out.splitlines() if line.split()[1] == "tree"]
        assert line.endswith("1 turn, more below")

    def test_as_json_it_says_all(self, talked: Command) -> None:
        talked("title", "heights", "Mountains")
        records = {record["name"]: record for record in talked("list", "--json").json_lines}
        assert (records["heights"]["title"], records["heights"]["last"]) == ("Mountains", "8849 m")
        assert records["heights"]["turn"] == talked("get", "heights", "--json").json["id"]
        assert (records[None]["branches"], records[None]["first"]) == (1, records[None]["turn"])
        assert [records[name]["turns"] for name in ("heights", "capitals", None)] == [2, 1, 1]

    def test_of_more_than_were_asked_for_it_says_so(self, talked: Command) -> None:
        done = talked("list", "-n", "2")
        assert (len(done.out.splitlines()), done.err) == (2, "There are more: -n 4, or --all.\n")
        assert talked("list", "-n", "3").err == ""
        assert len(talked("list", "--all").out.splitlines()) == 3
        assert talked("list", "--archived").out == ""

    def test_where_a_cut_list_lacks_the_newest_turn_it_says_where_that_is(self, talked: Command) -> None:
        """It has no bookmark, and conversations without one come last."""
        more, newest = "There are more: -n 4, or --all.\n", "The newest turn is in none of these: 'headish log @' lists"
        begun = talked("add", "begun just now").out.strip()
        done = talked("list", "-n", "2")
        assert "begun just now" not in done.out
        assert done.err == f"{more}{newest} its thread.\n"
        assert "begun just now" in talked("list", "-n", "3").out
        assert newest not in talked("list", "-n", "3").err
        assert newest not in talked("list", "-n", "2", "--since", "yesterday").err, "it was asked for others"
        talked("bookmark", "set", "now", begun)
        assert talked("list", "-n", "2").err == more
        talked("add", "a message that another program brought", "--key", "program:1")
        assert talked("list", "-n", "2").err == more

    def test_all_goes_with_a_number_and_with_the_archived_ones(self, talked: Command) -> None:
        for name in ("heights", "capitals"):
            talked("archive", name)
        for index in range(51):
            talked("add", "later", "-b", f"later-{index}")
        assert len(talked("list").out.splitlines()) == 50
        assert len(talked("list", "--all").out.splitlines()) == 54
        done = talked("list", "--all", "-n", "2")
        assert (len(done.out.splitlines()), done.err) == (2, "There are more: -n 4, or --all alone.\n")
        names = {record["name"] for record in talked("list", "--all", "--archived", "--json").json_lines}
        assert names == {"heights", "capitals"}
        assert len(talked("list", "--all", "--archived", "-n", "1").out.splitlines()) == 1

    def test_what_would_steer_a_terminal_is_written_out(self, headish: Command) -> None:
        headish("add", "a\x1b[31m\nb", "-b", "main")
        headish("title", "main", "red\x1b[31m\nline")
        out = headish("list").out
        assert "\x1b" not in out
        assert len(out.splitlines()) == 1
        assert "\x1b" not in headish("title", "main").out

    def test_an_empty_space_has_none(self, headish: Command) -> None:
        headish("add", "a", "-b", "main")
        headish("bookmark", "rm", "main")
        assert len(headish("list").out.splitlines()) == 1
        assert headish("--space", "default", "list", "--archived").out == ""
        assert headish("list", "--tool", "none").err == "Nothing was found.\n"

    def test_its_columns_stay_in_line_where_turns_share_a_handle(self, headish: Command) -> None:
        for words in ("same", "same", "other"):
            headish("add", words)
        lines = headish("list").out.splitlines()
        assert sum(":" in line.split()[0] for line in lines) == 2
        assert len({line.index("Z  ") for line in lines}) == 1

    def test_a_wide_terminal_shows_a_long_title_whole(self, talked: Command) -> None:
        title = "How high the mountains of this world are, and who has measured them"
        talked("title", "heights", title)
        for columns, is_whole in ((80, False), (140, True)):
            shown = at_terminal("--db", talked.target, "--no-pager", "list", columns=columns, env={"NO_COLOR": "1"})
            [line] = [each for each in shown.splitlines() if "heights" in each]
            assert (title in line) == is_whole, columns
            assert "8849" in line or not is_whole, columns
            assert len(line) <= columns


class TestFilters:
    def test_a_list_shows_what_is_chosen(self, talked: Command) -> None:
        talked("tag", "heights", "work", "high")
        talked("pin", "capitals")
        talked("archive", "@")
        for words, names in (
            (("--tag", "work"), ["heights"]),
            (("--tag", "none"), []),
            (("--name", "?ap*", "--all"), ["capitals"]),
            (("--role", "assistant"), ["heights"]),
            (("--model", "*"), []),
            (("--since", "1 hour ago", "--name", "h*"), ["heights"]),
            (("--until", "yesterday"), []),
            (("--pinned",), []),
            (("--archived",), ["capitals"]),
            (("--pinned", "--all"), ["capitals"]),
        ):
            assert [each["name"] for each in talked("list", *words, "--json").json_lines] == names, words
        assert "'someday' is not a time" in talked.misused("list", "--since", "someday")

    def test_tags_and_pins_are_taken_back(self, talked: Command) -> None:
        talked("tag", "heights", "work", "high", "work")
        assert talked("tag", "heights").out == "work\nhigh\n"
        talked("tag", "heights", "--remove", "work")
        assert talked("tag", "heights").out == "high\n"
        assert talked("pin", "heights", "--json").json["pinned"] is True
        assert talked("pin", "heights", "--undo", "--json").json["pinned"] is False
        talked("archive", "heights")
        assert "heights" not in talked("list").out
        talked("archive", "heights", "--undo")
        assert "#high" in talked("list").out

    def test_whom_it_was_about_is_said(self, talked: Command) -> None:
        nameless = talked("log", "@").out.split()[0]
        talked("bookmark", "rm", "capitals")
        for words, told in (
            (("title", "heights"), "heights has no title: lists show its first words."),
            (("title", "heights", "Up"), "heights is called 'Up'."),
            (("tag", "heights"), "heights has no tags."),
            (("tag", "heights", "work", "high"), "heights is tagged work, high."),
            (("pin", "heights"), "heights is pinned."),
            (("pin", "heights", "--undo"), "heights is pinned no longer."),
            (("archive",), f"The conversation of {nameless} is archived: 'headish list --archived' shows it."),
            (("archive", "--undo"), f"The conversation of {nameless} is shown by lists again."),
        ):
            assert talked(*words).err == told + "\n", words

    def test_the_model_is_the_one_that_spoke_last(self, headish: Command) -> None:
        headish("add", "q", "-b", "main")
        reply = {"model": "some/small-1", "choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}
        headish("reply", "main", "--from", "openai", stdin=json.dumps(reply))
        for glob, shown in (("small-*", 1), ("some/*", 1), ("large", 0)):
            assert len(headish("list", "--model", glob).out.splitlines()) == shown


class TestTitle:
    def test_it_is_set_shown_and_taken_away(self, talked: Command) -> None:
        assert talked("title", "heights").out == ""
        assert talked("title", "heights", "Mountains").out == ""
        assert talked("title", "heights~1").out == "Mountains\n"
        assert talked("title", "heights", "", "--json").json == {
            "name": "heights", "first": None, "title": "", "tags": [], "archived": False, "pinned": False,
            "revision": 2,
        }  # fmt: skip
        assert talked("title", "heights").out == ""

    def test_it_goes_with_a_renamed_bookmark(self, talked: Command) -> None:
        talked("title", "heights", "Mountains")
        talked("bookmark", "rename", "heights", "mountains")
        assert talked("title", "mountains").out == "Mountains\n"
        assert talked.fails("bookmark", "rename", "mountains", "capitals").startswith("bookmark 'capitals' exists")

    def test_of_what_there_is_not(self, talked: Command) -> None:
        assert talked.fails("title", "nowhere").startswith("no turn is named 'nowhere'")

    def test_it_may_be_asked_for(self, talked: Command) -> None:
        with Loopback() as server:
            talked("ptr", "set", "local", "openai/small", "--base-url", server.url)
            for content in (' "Mount\nEverest" ', ""):
                reply = {"message": {"role": "assistant", "content": content}, "finish_reason": "stop", "index": 0}
                server.answer_json({"id": "c", "object": "chat.completion", "model": "small", "choices": [reply]})
            assert talked("title", "heights", "--ask", "local").out == "Mount Everest\n"
            [message] = server.requests[0].body["messages"]
            assert message["content"].endswith("user: How high is Everest?\n\nassistant: 8849 m")
            assert "it suggests no title" in talked.fails("title", "heights", "--ask", "local")
        assert talked("title", "heights").out == "Mount Everest\n"
        assert talked("stats", "--json").json["turns"] == 4, "nothing that was asked is stored"
        assert "leave TEXT out" in talked.misused("title", "heights", "x", "--ask", "local")
        assert "'nobody'" in talked.fails("title", "heights", "--ask", "nobody")
