"""Looking through a history: ``log`` with choices, ``show``, ``heads``, ``children``, ``record``, help, completion."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from headish_cli.groups import DAILY, SECTIONS
from headish_cli.main import COMMANDS, main
from headish_cli.printing.briefs import BRIEFLY
from support.command import Command


@pytest.fixture
def talked(headish: Command) -> Command:
    headish("add", "Which bridge is longest?", "-b", "bridges", "--said-at", "2024-05-01T10:00:00Z")
    reply = {"model": "small-1", "usage": {"prompt_tokens": 7, "completion_tokens": 5},
             "choices": [{"message": {"content": "The one in Danyang."}, "finish_reason": "stop"}]}  # fmt: skip
    headish("reply", "bridges", "--from", "openai", stdin=json.dumps(reply))
    headish("add", "And by\n  how much?", "-c", "bridges")
    return headish


def texts(command: Command, *words: str) -> list[str]:
    return [line.split("Z ", 1)[1] for line in command("log", "bridges", *words).out.splitlines()]


class TestLog:
    def test_it_shows_what_is_chosen(self, talked: Command) -> None:
        assert texts(talked, "--role", "assistant") == ["assistant The one in Danyang. (small-1)"]
        assert texts(talked, "--grep", "WHICH bridge") == ["user      Which bridge is longest?"]
        assert texts(talked, "--until", "2024-05-01") == ["user      Which bridge is longest?"]
        assert texts(talked, "--until", "2024-05-01T10:00Z") == []
        assert texts(talked, "--since", "1.hour.ago", "--role", "user") == ["user      And by how much? [bridges]"]
        assert texts(talked, "--role", "user", "-n", "1") == ["user      And by how much? [bridges]"]

    def test_with_text_it_shows_all_that_was_said(self, talked: Command) -> None:
        lines = talked("log", "bridges", "-p", "-n", "1").out.splitlines()
        assert lines[1:] == ["    And by", "      how much?", ""]
        assert "| " in talked("log", "bridges", "-p", "--graph").out or "*" in talked("log", "-p", "--graph").out
        [record] = talked("log", "bridges", "-p", "-n", "1", "--json").json_lines
        assert record["content"] == [{"type": "text", "text": "And by\n  how much?"}]


class TestShow:
    def test_it_shows_a_turn_in_full(self, talked: Command) -> None:
        handle = talked("log", "bridges~1", "-n", "1").out.split()[0]
        out = talked("show", handle).out
        assert out.splitlines()[0] == f"{handle} assistant"
        for fact in ("Id:           0", "Model:        small-1 (openai)", "Stopped:      end_turn", "7 in, 5 out"):
            assert fact in out
        assert out.endswith("\n\n    The one in Danyang.\n")
        assert talked("show", "bridges", handle).out.count("Id:") == 2
        assert [each["id"] for each in talked("show", "bridges", "@~1", "--json").json_lines] == [
            each["id"] for each in talked("log", "bridges", "-n", "2", "--json").json_lines
        ]

    def test_calls_results_and_documents_are_told_apart(self, headish: Command) -> None:
        call = {"type": "tool_use", "id": "c", "name": "weather", "input": {"city": "Lima"}}
        result = {
            "type": "tool_result",
            "tool_use_id": "c",
            "name": "weather",
            "content": ["rain\x1b[31m"],
            "is_error": True,
        }
        headish(
            "add",
            json.dumps([{"type": "thinking", "text": "hm"}, call]),
            "--json-blocks",
            "--role",
            "assistant",
            "-b",
            "m",
        )
        headish("add", json.dumps([result]), "--json-blocks", "--role", "tool", "-c", "m")
        headish("doc", "-", "--name", "notes.txt", "--content-type", "text/plain", "-c", "m", stdin=b"one\ntwo\n")
        shown = headish("show", "m~2", "m~1", "m").out
        for words in ('    (thinking)\n    hm\n\n    (call weather)\n    {\n      "city": "Lima"\n    }\n',
                      "    (result of weather, failed)\n    rain\\x1b[31m\n",
                      "    (document notes.txt · text/plain · 9 bytes)\n    one\n    two\n"):  # fmt: skip
            assert words in shown

    def test_a_name_that_a_model_gave_cannot_look_like_lines_of_the_command(self, headish: Command) -> None:
        name = "get\rx\nkkkkkk user [main]"
        call = {"type": "tool_use", "id": "c", "name": name, "input": {}}
        result = {"type": "tool_result", "tool_use_id": "c", "name": name, "content": []}
        file = {"type": "document", "name": "a\nb", "source": {"type": "base64", "media_type": "a/b", "data": ""}}
        headish("add", json.dumps([call]), "--json-blocks", "--role", "assistant", "-b", "m")
        headish("add", json.dumps([result]), "--json-blocks", "--role", "tool", "-c", "m")
        headish("add", json.dumps([file]), "--json-blocks", "-c", "m")
        shown = headish("show", "m~2", "m~1", "m").out
        for line in ("(call get x kkkkkk user [main])", "(result of get x kkkkkk user [main])", "(document a b · a/b"):
            assert f"\n    {line}" in shown, line


class TestNeighbours:
    def test_heads_and_children_are_lists_of_turns(self, talked: Command) -> None:
        talked("add", "aside", "-c", "bridges~1", "-b", "aside")
        assert [line.split()[-1] for line in talked("heads").out.splitlines()] == ["[aside]", "[bridges]"]
        assert [line.split()[-1] for line in talked("children", "bridges~1").out.splitlines()] == [
            "[bridges]",
            "[aside]",
        ]
        assert len(talked("heads", "-n", "1", "--json").json_lines) == 1
        assert talked("children", "aside").out == ""


class TestRecord:
    def test_a_list_that_is_sent_again_stores_its_tail(self, headish: Command) -> None:
        messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
        first = headish("record", "-b", "chat", stdin=json.dumps(messages))
        assert first.err == "2 new turns.\n"
        messages.append({"role": "user", "content": "c"})
        again = headish("record", "-b", "chat", "--json", stdin=json.dumps({"messages": messages})).json
        assert (again["added"], again["meta"]["continues"]) == (1, [first.out.strip()])
        assert headish.fails("record", stdin='{"a": 1}').startswith("record takes a JSON list")
        assert "list of messages" in headish.fails("record", stdin="[{]")


class TestHelp:
    def test_each_command_is_told_on_one_whole_line_of_eighty_columns(self, headish: Command) -> None:
        listed = headish("--help", "--all").out.partition("\nTalk:\n")[2].splitlines()
        told = [line for line in listed if line.startswith("  ")]
        assert sorted(line.split()[0] for line in told) == sorted(COMMANDS)
        assert [line for line in told if "..." in line or len(line) > 80] == []

    def test_a_text_for_the_list_belongs_to_a_command_that_needs_it(self) -> None:
        context = click.Context(main, **main.context_settings)
        for name in BRIEFLY:
            group, *below = name.split()
            command = main.get_command(context, group)
            for each in below:
                assert isinstance(command, click.Group)
                command = command.get_command(context, each)
            assert command is not None, name
        assert max(map(len, BRIEFLY.values())) <= 57


class TestEmptyLists:
    def test_that_nothing_is_there_is_said_and_how_there_would_be(self, talked: Command) -> None:
        talked("bookmark", "rm", "bridges")
        for words, told in (
            (("children", "@"), "Nothing was found."),
            (("log", "@", "--grep", "tunnel"), "Nothing was found."),
            (("search", "tunnel"), "Nothing was found."),
            (("token", "list"), "There is no token: 'headish token add LABEL --right read' makes one."),
            (("bookmark", "list"), "There is no bookmark: 'headish bookmark set NAME HEADISH' makes one."),
            (("ptr", "list"), "There is no provider pointer: 'headish ptr set NAME PROVIDER/MODEL' makes one."),
            (("tools", "list"), "No tools are stored: 'headish tools set SERVER FILE' stores some."),
            (("erasures",), "Nothing was erased."),
        ):
            done = talked(*words)
            assert (done.out, done.err) == ("", told + "\n"), words
            assert talked(*words, "--json").err == "", words


class TestUnknownNames:
    def test_what_may_have_been_meant_is_said(self, talked: Command) -> None:
        assert talked.fails("log", "bridgse").endswith("in this space: did you mean 'bridges'?")
        talked("bookmark", "set", "0191f9f2-bd83-7000-8000-c0ffee", "bridges")
        for cut in ("0191f9f2-b", "0191f9f2-bd83-7…"):  # as a list shows it
            assert "did you mean '0191f9f2-bd83-7000-8000-c0ffee'?" in talked.fails("log", cut)
        talked("bookmark", "rm", "bridges")
        assert talked.fails("log", "bridges~1").endswith("the bookmark was removed; bridges@{1} is where it was")
        talked("bookmark", "set", "bridges", "bridges@{1}")
        assert "as in main@{1}" in talked.refuses("log", "@{1}")
        assert talked.fails("log", "unlike") == "no turn is named 'unlike' in this space"
        talked("ptr", "set", "local", "openai/m")
        assert talked.fails("request", "bridges", "-p", "locla").endswith("did you mean 'local'?")
        assert "Did you mean list?" in talked.misused("lst")
        for line, meant in {"bookmark remove": "rm", "ptr delete": "rm", "tools remove": "rm", "spaces delete": "rm",
                            "remote rm": "remove", "token delete": "remove", "config rm": "unset",
                            "config list": "show", "bookmark ls": "list", "ptr ls": "list"}.items():  # fmt: skip
            assert f"Did you mean {meant!r}?" in talked.misused(*line.split(), "x"), line

    @pytest.mark.parametrize(
        "line", ["bookmark rm NAME", "bookmark history NAME", "bookmark rename NAME x", "undo NAME",
                 "erase --bookmark NAME --reason x --yes"],
    )  # fmt: skip
    def test_verbs_of_bookmarks_say_what_may_have_been_meant(self, line: str, talked: Command) -> None:
        assert talked.fails(*line.replace("NAME", "bridgse").split()).endswith("bookmark; did you mean 'bridges'?")

    @pytest.mark.parametrize("verb", ["rm", "history", "show", "default"])
    def test_verbs_of_pointers_say_what_may_have_been_meant(self, verb: str, talked: Command) -> None:
        talked("ptr", "set", "local", "openai/m")
        assert talked.fails("ptr", verb, "locla").endswith("; did you mean 'local'?")

    @pytest.mark.parametrize("line", ["tools rm flies", "tools get flies", "pull bxo", "remote remove bxo"])
    def test_verbs_of_servers_and_remotes_say_what_may_have_been_meant(
        self, line: str, talked: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HEADISH_KEYS", str(tmp_path / "keys"))
        talked("tools", "set", "files", "-", stdin='[{"name": "read"}]')
        talked("remote", "add", "box", talked.target + ".other")
        assert talked.fails(*line.split()).endswith(f"; did you mean {'files' if 'tools' in line else 'box'!r}?")

    def test_a_turn_that_continues_a_handle_says_whom(self, talked: Command) -> None:
        handle = talked("log", "bridges~1", "-n", "1").out.split()[0]
        assert f"{handle} is 0" in talked("add", "x", "-c", handle).err
        assert "assistant: The one in Danyang." in talked("add", "y", "-c", f"{handle}~0").err
        assert " is 0" not in talked("add", "z", "-c", "bridges").err


class TestCommonOptions:
    def test_the_database_and_the_space_may_stand_behind_the_command(self, talked: Command, tmp_path) -> None:
        other = str(tmp_path / "other.db")
        talked("add", "there", "--db", other)
        assert talked("bookmark", "list", "--db", other).out == ""
        assert talked("log", "--db", other).out.endswith("there\n")
        assert "it has no space 'none'" in talked.fails("stats", "--space", "none")
        assert talked("log", "bridges", "--no-pager").out

    def test_the_help_lists_every_command_in_a_section(self, headish: Command) -> None:
        out = headish("--help", "--all").out
        listed = [name for names in SECTIONS.values() for name in names]
        assert len(set(listed)) == len(listed)
        assert set(COMMANDS) <= set(listed)
        for section in ("Talk:", "Find:", "Keep:"):
            assert f"\n{section}\n" in out
        assert "More:" not in out

    def test_the_plain_help_lists_what_people_live_in_and_says_where_the_rest_is(self, headish: Command) -> None:
        out = headish("--help").out
        lines = [line.split()[0] for line in out.partition("\nTalk:\n")[2].splitlines() if line.startswith("  ")]
        assert [name for name in lines if name in COMMANDS] == sorted(DAILY, key=lines.index)
        assert len(DAILY) == 15
        assert f"'headish --help --all' lists all {len(COMMANDS)} commands." in out
        for words in (("--all", "--help"), ("-h", "--all")):
            assert "lint-transcript" in headish(*words).out
        assert "--all" in headish("list", "--help").out  # an option of its own


class TestCompletion:
    def offered(self, command: Command, *words: str) -> list[str]:
        complete = ShellComplete(main, {}, "headish", "_HEADISH_COMPLETE")
        *before, last = words
        return [item.value for item in complete.get_completions(["--db", command.target, *before], last)]

    def test_names_handles_formats_providers_roles_and_spaces(self, talked: Command) -> None:
        talked("ptr", "set", "local", "openai/m")
        handle = talked("log", "bridges", "-n", "1").out.split()[0]
        for words, expected in (
            (("log", "bri"), ["bridges"]),
            (("log", handle[:3]), [handle]),
            (("add", "-c", "b"), ["bridges"]),
            (("bookmark", "rm", ""), ["bridges"]),
            (("ptr", "rm", ""), ["local"]),
            (("ask", "-p", "l"), ["local"]),
            (("export", "--to", "har"), ["harmony"]),
            (("request", "--to", "anth"), ["anthropic"]),
            (("log", "--role", "assi"), ["assistant"]),
            (("--space", "d"), ["default"]),
            (("comp",), ["compact", "completion"]),
            (("log", "nothing"), []),
        ):
            assert self.offered(talked, *words) == expected, words

    def test_where_there_is_no_database_nothing_is_offered_and_nothing_said(self, tmp_path) -> None:
        assert self.offered(Command(str(tmp_path / "none.db")), "log", "b") == []
        assert not (tmp_path / "none.db").exists()

    def test_the_database_and_the_space_of_the_configuration_file_are_read(
        self, talked: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        complete = ShellComplete(main, {}, "headish", "_HEADISH_COMPLETE")
        config = tmp_path / "config.toml"
        monkeypatch.setenv("HEADISH_CONFIG", str(config))
        monkeypatch.delenv("HEADISH_DB", raising=False)
        monkeypatch.delenv("HEADISH_SPACE", raising=False)

        def offered(*options: str) -> list[str]:
            return [item.value for item in complete.get_completions([*options, "log"], "bri")]

        config.write_text(f'db = "{talked.target}"\n', "utf-8")
        assert offered() == ["bridges"]
        assert offered("--db", str(tmp_path / "other.db")) == []
        config.write_text(f'db = "{talked.target}"\nspace = "empty"\n', "utf-8")
        assert (offered(), offered("--space", "default")) == ([], ["bridges"])
        config.write_text("db = [broken", "utf-8")
        assert offered() == []

    @pytest.mark.parametrize("shell", ["zsh", "fish"])
    def test_the_script_of_a_shell_names_the_command(self, headish: Command, shell: str) -> None:
        out = headish("completion", shell).out
        assert "_HEADISH_COMPLETE" in out
        assert 'eval "$(headish completion bash)"' in headish("completion", "--help").out
