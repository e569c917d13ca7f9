"""``get``, ``log``, ``tree``, ``resolve``, ``export``, ``request``: data on stdout, drawings that are right."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import unicodedata
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.cells import cell_len

from headish import Store
from headish_cli.main import main
from support.command import Command, at_terminal, start
from support.insides import counted_statements
from support.zones import ZONES, in_zone, needs_zones


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
    id_and_time = re.compile(r"\b[k-z]{6,16}(:[0-9a-z]+)? +(\d{4}-\d\d-\d\d \d\d:\d\d(Z|[+-]\d\d(:\d\d)?) )?")
    return [id_and_time.sub("", line).rstrip() for line in text.splitlines()]


def handle_of(headish: Command, turn: str) -> str:
    """What lists show for a turn."""
    return headish("log", turn, "-n", "1").out.split()[0]


class TestDrawings:
    def test_a_tree_shows_branches_names_and_where_we_are(self, headish: Command, grown: dict[str, str]) -> None:
        assert drawn(headish("tree", "main").out) == [
            "○ user      q",
            "├─○ assistant b 2/2 [other]",
            "○ assistant a 1/2",
            f"● user      m (also continues {handle_of(headish, grown['b'])}) [main]",
        ]

    def test_an_edited_first_turn_does_not_stand_below_the_answer_to_the_other(self, headish: Command) -> None:
        headish("add", "a", "-b", "x")
        headish("add", "b", "-c", "x", "--role", "assistant")
        headish("edit", "x~1", "c")
        wanted = ["┌─○ user      a 1/3", "│ ○ assistant b", "● user      c 2/3 [x]"]
        assert drawn(headish("tree", "x").out) == [line.replace("/3", "/2") for line in wanted]
        headish("edit", "x", "d")
        assert drawn(headish("tree", "x").out) == [
            *wanted[:2], "├─○ user      c 2/3", "● user      d 3/3 [x]",
        ]  # fmt: skip

    def test_the_named_thread_is_the_straight_column(self, headish: Command, grown: dict[str, str]) -> None:
        for answer in "cdef":
            headish("add", answer, "-c", "main~1", "--role", "assistant", "-b", answer)
        lines = headish("tree", "d").out.splitlines()
        assert [line[0] for line in lines if line[0] in "○●"] == ["○", "○", "●"]
        assert max(line.index("○") if "○" in line else 0 for line in lines) == 2

    def test_long_runs_are_folded(self, headish: Command) -> None:
        with Store.open(headish.target) as store:
            store.add_turns({"content": str(index), "respond": index > 0} for index in range(220))
            store.bookmarks.set("main", "@")
            store.bookmarks.set("middle", "main~100")
        lines = [line for line in drawn(headish("tree", "main").out) if "⋮" in line]
        assert lines == ["⋮ 114 turns", "⋮ 95 turns"]
        assert len(headish("tree", "main", "--full").out.splitlines()) == 220
        assert headish("tree", "main", "-n", "20").err == ""

    def test_of_a_large_tree_a_part_is_drawn(self, headish: Command) -> None:
        with Store.open(headish.target) as store:
            root = store.add_turn("root")
            store.add_turns({"content": str(index), "continues": root.id} for index in range(1100))
        done = headish("tree", root.id)
        assert len(done.out.splitlines()) == 1000
        assert done.err == "Only 1,000 turns around this one are drawn: -n N draws more, --full all.\n"

    def test_other_conversations_that_begin_alike_are_counted(self, headish: Command) -> None:
        system = headish.id("add", "be brief", "--role", "system")
        for number in range(3):
            headish("add", f"q{number}", "-c", system, "-b", f"n{number}")
        headish("add", "a1", "-c", "n1", "--role", "assistant")
        headish("add", "both", "-c", "n1", "-c", "n2", "-b", "both")
        done = headish("tree", "n0")
        assert drawn(done.out) == ["○ system    be brief (⋮ 2 other conversations)", "● user      q0 [n0]"]
        assert done.err == ""
        assert len(headish("tree", "n0", "--full").out.splitlines()) == 6
        assert "other" not in headish("tree", system).out
        assert drawn(headish("tree", "both").out) == [
            "○ system    be brief (⋮ 1 other conversation)",
            "├─○ user      q2 [n2]",
            "○ user      q1",
            "○ assistant a1 [n1]",
            f"● user      both (also continues {handle_of(headish, 'n2')}) [both]",
        ]

    def test_a_log_graph_shows_how_the_rails_part_and_meet(self, headish: Command, grown: dict[str, str]) -> None:
        assert drawn(headish("log", "main", "--graph").out) == [
            "* user      m [main]",
            "|\\",
            "| * assistant b 2/2 [other]",
            "* | assistant a 1/2",
            "|/",
            "* user      q",
        ]

    def test_a_log_lists_newest_first_and_can_be_cut(self, headish: Command, grown: dict[str, str]) -> None:
        assert drawn(headish("log", "main", "-n", "2").out) == ["user      m [main]", "assistant b 2/2 [other]"]
        assert [turn["id"] for turn in headish("log", "main", "--json").json_lines] == [
            grown[name] for name in "mbaq"
        ]  # fmt: skip

    def test_a_log_takes_a_few_statements_for_many_turns(self, tmp_path: Path) -> None:
        counts = []
        for turns in (60, 600):
            path = str(tmp_path / f"{turns}.db")
            with Store.open(path) as store:
                store.add_turns(
                    {"content": f"turn {each} " + "x" * 3000 * (each % 2), "respond": each > 0} for each in range(turns)
                )
            for options in ([], ["-p"], ["--json", "-p"], ["--grep", "turn"]):
                with counted_statements() as counted:
                    done = CliRunner().invoke(main, ["--db", path, "log", *options])
                assert len(re.findall(r"turn \d+\b", done.output)) == turns * (1 + (options == ["-p"]))
                counts.append(counted.count)
        assert max(counts[:4]) < 40
        assert max(counts[4:]) < 200

    def test_a_log_shows_the_rows_before_one_that_is_damaged(self, tmp_path: Path) -> None:
        path = str(tmp_path / "damaged.db")
        with Store.open(path) as store:
            turns = [*store.add_turns({"content": f"turn {each}", "respond": each > 0} for each in range(5))]
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE turn SET data = CAST('[]' AS BLOB) WHERE id = ?", [turns[2].id])
        done = CliRunner().invoke(main, ["--db", path, "log"])
        assert done.exit_code == 1
        assert re.findall(r"turn \d$", done.output, re.MULTILINE) == ["turn 4", "turn 3"]
        assert "its payload disagrees with its hash" in done.output

    def test_lists_show_handles_that_every_command_takes(self, headish: Command, grown: dict[str, str]) -> None:
        listed = re.findall(r"^\S+", headish("log", "main").out, re.M)
        assert len({len(each) for each in listed}) == 1
        assert [headish("get", each, "--json").json["id"] for each in listed] == [grown[name] for name in "mbaq"]

    @pytest.mark.slow
    def test_a_long_thread_is_drawn_without_recursion(self, headish: Command, tmp_path: Path) -> None:
        with Store.open(headish.target) as store:
            store.add_turns({"content": str(index), "respond": index > 0} for index in range(3000))
        assert len(headish("tree", "--full").out.splitlines()) == 3000
        assert len(headish("log", "--graph").out.splitlines()) == 3000

    def test_a_list_never_holds_a_character_that_steers_a_terminal(self, headish: Command) -> None:
        headish("add", "red \x1b[31m and \r back\u202e", "-b", "main")
        for words in (("log",), ("tree",), ("bookmark", "list")):
            assert "red \\x1b[31m and back\\u202e" in headish(*words).out

    @pytest.mark.slow
    def test_a_list_that_goes_to_a_pipe_has_whole_lines(
        self, headish: Command, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        headish("add", "word " * 100 + "last", "-b", "main")
        monkeypatch.setenv("COLUMNS", "40")
        for words in (("log",), ("tree",), ("bookmark", "list")):
            done = headish(*words)
            assert " last" in done.out
            assert done.out.count("\n") == 1
        assert b" last" in start("--db", headish.target, "log").stdout


class TestReplies:
    @pytest.fixture
    def replied(self, headish: Command) -> Command:
        headish("add", "q", "-b", "main")
        whole = {"model": "some/path/small-1", "choices": [{"message": {"content": "Yes."}, "finish_reason": "stop"}]}
        headish("reply", "main", "--from", "openai", stdin=json.dumps(whole))
        headish("add", "and?", "-c", "main")
        half = {"model": "small-2", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hel"}}]}
        cut_off = headish.run("reply", "main", "--from", "openai", stdin=f"data: {json.dumps(half)}\n\n")
        assert (cut_off.code, "incomplete" in cut_off.err) == (1, True)
        return headish

    def test_lists_name_the_model_and_what_was_cut_off(self, replied: Command) -> None:
        assert drawn(replied("log", "main").out) == [
            "assistant Hel (small-2, incomplete) [main]", "user      and?", "assistant Yes. (small-1)", "user      q",
        ]  # fmt: skip
        assert drawn(replied("tree", "main").out) == [
            "○ user      q", "○ assistant Yes. (small-1)", "○ user      and?",
            "● assistant Hel (small-2, incomplete) [main]",
        ]  # fmt: skip
        assert [turn.get("reply", {}).get("incomplete") for turn in replied("tree", "--json").json_lines] == [
            None, None, None, True,
        ]  # fmt: skip

    def test_a_list_of_bookmarks_does_too(self, replied: Command) -> None:
        replied("bookmark", "set", "first", "main~2")
        assert [line.split("  ", 2)[2] for line in replied("bookmark", "list").out.splitlines()] == [
            "Yes. (small-1)", "Hel (small-2, incomplete)",
        ]  # fmt: skip
        listed = replied("bookmark", "list", "--json").json_lines
        assert [(each["name"], each.get("incomplete")) for each in listed] == [("first", None), ("main", True)]

    def test_what_comes_back_from_a_transcript_is_marked_as_before(self, replied: Command, tmp_path: Path) -> None:
        (tmp_path / "back.txt").write_text(replied("export", "main").out)
        replied("import", str(tmp_path / "back.txt"), "--partial")
        assert drawn(replied("log", "back").out)[0] == "assistant Hel (incomplete) [back]"
        assert drawn(replied("tree", "back").out)[-1] == "● assistant Hel (incomplete) [back]"
        assert replied("tree", "back", "--json").json_lines[-1]["incomplete"] is True
        assert " · incomplete · " in replied("get", "back").err
        assert replied("bookmark", "list").out.splitlines()[0].endswith("  Hel (incomplete)")

    def test_a_reply_is_printed_as_it_was_read_beside_its_turn(self, headish: Command) -> None:
        headish("add", "q", "-b", "main", "--set", "note=1")
        usage = {"prompt_tokens": 3, "completion_tokens": 1}
        choice = {"message": {"content": "Yes."}, "finish_reason": "length"}
        whole = {"model": "small-1", "choices": [choice], "usage": usage}
        printed = headish("reply", "main", "--from", "openai", "--json", stdin=json.dumps(whole)).json
        assert printed["id"] == headish("get", "main", "--json").json["id"]
        assert printed["options"] == {"note": 1}
        assert printed["reply"] == {
            "message": {
                "role": "assistant",
                "content": [{"type": "text", "text": "Yes."}],
                "model": "small-1",
                "stop_reason": "max_tokens",
                "usage": {"input_tokens": 3, "output_tokens": 1},
            }
        }
        shown = headish("get", "main", "--json").json
        assert (shown["options"], shown["reply"]) == (printed["options"], printed["reply"])
        assert "reply" not in headish("get", "main~1", "--json").json
        assert headish("resolve", "main", "--json").json["options"] == {"note": 1}

    def test_a_transcript_that_ends_in_the_middle_is_told(self, replied: Command) -> None:
        told = "The reply at the end is incomplete; the transcript does not say so.\n"
        assert replied("export", "main").out.endswith("<|message|>Hel")
        assert replied("export", "main").err == (
            "The reply at the end is incomplete; its message has no end, and 'headish import --partial' reads it.\n"
        )
        assert replied("export", "main", "--drop", "stop").err == told
        assert replied.fails("export", "main", "--to", "chat") == (
            "list of chat messages cannot carry a message that was cut off "
            f"(turn {replied('get', 'main', '--json').json['id']}); give it up with --drop stop"
        )
        assert replied("export", "main~1", "--drop", "stop").err == ""
        assert "This reply is incomplete." in replied("export", "main", "--to", "text").out

    def test_the_name_of_a_model_is_cut_at_a_terminal_alone(self, headish: Command) -> None:
        headish("add", "q", "-b", "main")
        whole = {"model": "a-model-" * 9, "choices": [{"message": {"content": "Yes."}, "finish_reason": "stop"}]}
        headish("reply", "main", "--from", "openai", stdin=json.dumps(whole))
        assert f"({whole['model']})" in headish("log").out
        assert "(a-model-a-model-a-m…)" in at_terminal("--db", headish.target, "log", env={"NO_COLOR": "1"})

    def test_get_does_too(self, replied: Command) -> None:
        assert " · reply of small-2 (openai) · incomplete · on main · " in replied("get", "main").err
        assert " · reply of some/path/small-1 (openai) · on main · " in replied("get", "main~2").err
        assert "reply" not in replied("get", "main~1").err


@needs_zones
class TestTimes:
    def test_they_are_local_and_name_their_zone(self, headish: Command) -> None:
        headish("add", "q", "-b", "main")
        headish("ptr", "set", "milli", "anthropic/small")
        for zone, offset, _ in ZONES:
            for words in (("log",), ("get",), ("bookmark", "history", "main"), ("ptr", "history", "milli")):
                with in_zone(zone):
                    done = headish(*words)
                assert re.search(rf"\d\d:\d\d(:[\d.]+)?{re.escape(offset)} ", done.err + done.out), words

    def test_a_time_of_a_list_can_be_asked_for(self, headish: Command) -> None:
        headish("add", "q", "-b", "main")
        listed = headish("bookmark", "history", "main").out.split("  ")[1]
        assert "no turn is named" in headish.fails("get", f"main@{{{listed[:19].replace('20', '19', 1)}{listed[19:]}}}")


HOSTILE = "\x1b]0;evil\x07 \x9b31m \x7f \rover\u202e\u2066"
NEEDED = "می\u200cخواهم क्\u200dष 👨\u200d👩\u200d👧 soft\u00adhyphen \u200e"
"""What scripts need, and Python calls unprintable."""


@pytest.mark.skipif(os.name != "posix", reason="terminals as POSIX has them; run this on a POSIX system")
class TestWhatGoesToATerminal:
    def test_into_a_pipe_goes_the_true_text(self, headish: Command) -> None:
        said = HOSTILE + NEEDED
        headish("add", "-", "-b", "main", stdin=said.encode())
        assert headish("get").out == said + "\n"
        assert headish("get", "--payload").out == json.dumps(
            [{"type": "text", "text": said}], ensure_ascii=False, separators=(",", ":")
        )
        for target in ("text", "openchatml"):
            assert said in headish("export", "--to", target).out

    @pytest.mark.parametrize(
        "words",
        [
            ("get",), ("get", "--payload"), ("get", "--json"), ("log",), ("log", "--json"), ("tree",),
            ("tree", "--json"), ("resolve",), ("resolve", "--json"), ("bookmark", "list"), ("export",),
            ("export", "--to", "text"), ("export", "--to", "markdown"), ("export", "--to", "html"),
            ("export", "--to", "rwkv"), ("request", "--to", "openai"), ("import", HOSTILE.replace("/", "")),
            ("get", HOSTILE), ("log", "a", HOSTILE), (HOSTILE,), ("log", f"--{HOSTILE}"), ("db", "path"), ("verify",),
        ],
    )  # fmt: skip
    def test_nothing_that_a_turn_or_a_name_says_steers_it(
        self, headish: Command, tmp_path: Path, words: tuple[str, ...]
    ) -> None:
        headish("add", HOSTILE, "-b", "main")
        written = at_terminal("--db", headish.target, *words, env={"TERM": "dumb"})
        assert not [each for each in written if each != "\n" and (unicodedata.category(each) == "Cc" or
                    each in "\u202e\u2066")]  # fmt: skip
        assert "Traceback" not in written

    def test_a_file_with_a_hostile_name_is_told_without_it(self, headish: Command, tmp_path: Path) -> None:
        folder = tmp_path / "files"
        folder.mkdir()
        for name in ("good\x1b]0;x\x07.txt", "bad\x9b31m.txt"):
            (folder / name).write_text("nothing that is known")
        done = headish.run("import", str(folder))
        assert done.code == 1
        assert "bad\\x9b31m.txt: " in done.err
        assert not {"\x1b", "\x07", "\x9b"} & set(done.err)

    def test_what_scripts_need_is_never_touched(self, headish: Command) -> None:
        headish("add", NEEDED, "-b", "main")
        for words in (("get",), ("export", "--to", "text")):
            assert NEEDED in at_terminal("--db", headish.target, *words)
        assert NEEDED in headish("log").out

    def test_a_line_end_of_windows_stays_one(self, headish: Command) -> None:
        headish("add", "-", stdin=b"a\r\nb\rc")
        assert at_terminal("--db", headish.target, "export", "--to", "text") == "User:\na\r\nb\\rc\n"

    @pytest.mark.parametrize(
        "said", ["日本語のとても長い文章です" * 10, "short", "e\u0301" * 300, "👨\u200d👩\u200d👧" * 80]
    )
    @pytest.mark.parametrize("columns", [60, 100])
    def test_a_line_is_as_wide_as_the_terminal_at_most(self, headish: Command, said: str, columns: int) -> None:
        headish("add", said, "-b", "名前")
        for words in (("log",), ("tree",), ("bookmark", "list")):
            [line] = at_terminal("--db", headish.target, *words, columns=columns, env={"NO_COLOR": "1"}).splitlines()
            assert cell_len(line) <= max(columns, 75)
            assert "名前" in line
            if said != "short":
                assert "…" in line
                assert cell_len(line) >= columns - 2

    def test_columns_says_how_wide_it_is(self, headish: Command) -> None:
        headish("add", "word " * 100, "-b", "main")
        [line] = at_terminal("--db", headish.target, "tree", columns=120, env={"NO_COLOR": "1"}).splitlines()
        assert len(line) == 120

    @pytest.mark.slow
    def test_colour_is_for_terminals_that_want_it(self, headish: Command) -> None:
        headish("add", "q", "-b", "main")
        assert "\x1b[" in at_terminal("--db", headish.target, "log")
        for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            assert "\x1b" not in at_terminal("--db", headish.target, "log", env=env)
        assert b"\x1b" not in start("--db", headish.target, "log").stdout


class TestJson:
    def test_get_gives_the_turn_with_its_content(self, headish: Command, grown: dict[str, str]) -> None:
        turn = headish("get", "main", "--json").json
        assert list(turn) == ["id", "hash", "digest", "seal", "meta", "time", "said_at", "options", "content"]
        assert turn["meta"]["continues"] == [grown["a"], grown["b"]]
        assert turn["options"] == {"t": 1}

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
        assert headish("verify").err == "4 turns, 2 bookmarks: all in order.\n"


class TestEmitting:
    def test_export_writes_the_transcript_byte_for_byte(self, headish: Command, grown: dict[str, str]) -> None:
        assert headish("export", grown["a"]).out == (
            "version: 2.2\n\n<|start|>user<|message|>q<|end|>\n<|start|>assistant<|channel|>final<|message|>a<|end|>\n"
        )

    def test_a_page_is_the_thread_alone_unless_branches_are_asked_for(
        self, headish: Command, grown: dict[str, str]
    ) -> None:
        headish("add", "PRIVATE", "-c", grown["q"], "-b", "PRIVATE-name")
        for target in ("html", "markdown", "text"):
            for words in ((), ("--as", "user"), ("--debug",)):
                assert "PRIVATE" not in headish("export", "main", "--to", target, *words).out
        for target in ("html", "markdown"):
            assert "PRIVATE" in headish("export", "main", "--to", target, "--branches").out
        assert "(also continued by 1 other)" in headish("export", "main", "--to", "text", "--branches").out
        assert "--branches is for html" in headish.misused(
            "export", "main", "--to", "html", "--branches", "--as", "user"
        )
        assert "--branches is for html" in headish.misused("export", "main", "--branches")

    def test_what_cannot_be_carried_is_dropped_only_by_name(self, headish: Command) -> None:
        headish("doc", "-", "--name", "a.pdf", "-b", "main", stdin=b"%PDF-1.7")
        assert "give it up with --drop document" in headish.fails("export", "main")
        assert headish("export", "main", "--drop", "document").out == "version: 2.2\n\n"

    def test_every_word_that_is_needed_is_named_as_the_command_spells_it(self, headish: Command) -> None:
        """What a tool loop stores: a call with its id, and a result that says it failed."""
        call = '[{"type": "tool_use", "id": "c1", "name": "f", "input": {}}]'
        failed = '[{"type": "tool_result", "tool_use_id": "c1", "content": ["no"], "is_error": true}]'
        headish("add", call, "--json-blocks", "--role", "assistant", "-b", "main")
        headish("add", failed, "--json-blocks", "--role", "tool", "-c", "main")
        told = headish.fails("export", "main", "--to", "harmony")
        assert told.endswith("give them up with --drop is_error --drop call_id")
        assert headish("export", "main", "--to", "harmony", "--drop", "is_error", "--drop", "call_id").out
        assert headish.fails("export", "main").endswith("; give it up with --drop is_error")
        assert 'status="error"' in headish("export", "main", "--to", "rwkv").out
        assert '"is_error": true' in headish("export", "main", "--to", "v0.1").out

    def test_a_text_may_be_for_training_or_for_another_template(self, headish: Command) -> None:
        headish("add", "hi", "-b", "main")
        headish("add", "Yo.", "--role", "assistant", "-c", "main")
        trained = headish("export", "main", "--to", "harmony", "--for-training").out
        assert trained.endswith("<|message|>Yo.<|return|>")
        tight = headish("export", "main", "--to", "v0.1", "--tight").out
        assert tight == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nYo.<|im_end|>\n"
        assert headish("export", "main", "--to", "chat").json["messages"][1] == {"role": "assistant", "content": "Yo."}
        prompt = headish("export", "main", "--to", "harmony", "--for-completion", "--policy", "harmony").out
        assert prompt.endswith("<|start|>assistant")

    def test_all_conversations_are_lines_or_files(self, headish: Command, tmp_path: Path) -> None:
        headish("add", "hi", "-b", "main")
        headish("add", "Yo.", "--role", "assistant", "-c", "main")
        headish("add", '[{"type": "thinking", "text": "hm"}]', "--json-blocks", "--role", "assistant", "-b", "odd")
        headish("add", "nameless")
        done = headish("export", "--all", "--to", "hf", "--drop", "thinking")
        assert [json.loads(line)["messages"][0]["content"] for line in done.out.splitlines()] == ["hi", "", "nameless"]
        done = headish.run("export", "--all", "--to", "sharegpt")
        assert (done.code, done.out.count("\n")) == (1, 2)
        assert "odd: sharegpt cannot carry" in done.err
        assert "--drop thinking" in done.err
        assert done.err.endswith("1 conversation could not be exported\n")
        report = tmp_path / "report"
        trained = headish("export", "--all", "--to", "hf", "--for-training", "--report", str(report))
        assert len(trained.out.splitlines()) == 1
        assert "Left out: 2 × a thread without an answer" in trained.err
        assert "odd: reasoning (turn" in report.read_text()
        headish("export", "main", "--to", "html", "-o", str(tmp_path / "pages"))
        assert [each.name for each in (tmp_path / "pages").iterdir()] == ["main.html"]

    @pytest.mark.parametrize(
        "options", [("--all",), ("main", "--all"), ("--overwrite",), ("--with-reasoning",), ("--all", "--to", "html")]
    )
    def test_options_of_exports_that_do_not_go_together(self, headish: Command, options: tuple[str, ...]) -> None:
        headish("add", "hi", "-b", "main")
        assert headish.misused("export", *options)

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
            headish.refuses("export", "--to", "pdf")
            == "unknown format 'pdf': known are v0.1, 2.0, 2.2, harmony, rwkv, openchatml, chat, responses, anthropic, "
            "gemini, cohere, sharegpt, hf, openai-finetune, html, markdown, text"
        )
        assert headish.refuses("request", "--to", "nobody") == (
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
        handles = [handle_of(headish, grown[name]) for name in "ma"]
        assert [line.split()[-1] for line in history] == ["(removed)", *handles]
        assert "there is no such bookmark" in headish.fails("bookmark", "rm", "x")
        headish("bookmark", "set", "x", "x@{1}")
        assert headish("get", "x", "--json").json["id"] == grown["m"]
        assert "there never was such a bookmark" in headish.fails("bookmark", "history", "y")


class TestExportReport:
    def test_a_report_is_refused_where_nothing_would_be_left_out(self, headish: Command, tmp_path: Path) -> None:
        headish("add", "Hi", "-b", "main")
        assert "--report is for --for-training" in headish.misused("export", "--report", str(tmp_path / "left.txt"))
        assert not (tmp_path / "left.txt").exists()
