"""``follow``, ``position``, ``--at-least`` and ``audit``."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from headish.values.results.changes import KINDS
from headish_cli.commands.keeping import following
from support.command import HEADISH, Command


@pytest.fixture
def talked(headish: Command) -> Command:
    headish("--author", "Ada", "add", "How high is Everest?", "-b", "heights")
    headish("add", "8849 m", "-c", "heights", "--role", "assistant")
    headish("title", "heights", "Mountains")
    headish("bookmark", "set", "side", "heights~1")
    headish("bookmark", "rename", "side", "other")
    headish("bookmark", "rm", "other")
    headish("ptr", "set", "small", "openai/gpt-5-mini")
    return headish


class TestFollow:
    def test_a_line_for_each_change(self, talked: Command) -> None:
        ids = [record["id"] for record in talked("log", "heights", "--json").json_lines][::-1]
        lines = [line.split("  ", 1)[1] for line in talked("follow", "--no-wait").out.splitlines()]
        assert lines == [
            f"turn        {ids[0]}  user      How high is Everest? [heights]",
            f"turn        {ids[1]}  assistant 8849 m [heights]",
            "record      heights  Mountains",
            f"move        other  {ids[0]}",
            f"move        other  {ids[0]}  (was side)",
            "move        other  (removed)",
            "definition  pointer small set",
        ]

    def test_as_json_each_line_has_a_cursor_to_go_on_behind(self, talked: Command) -> None:
        records = talked("follow", "--no-wait", "--json", "--content").json_lines
        assert [each["kind"] for each in records] == [
            *["turn"] * 2, "record", *["move"] * 3, "definition", "live",
        ]  # fmt: skip
        assert records[0]["turn"]["content"] == [{"type": "text", "text": "How high is Everest?"}]
        assert records[2]["record"] == {"title": "Mountains"}
        assert (records[4]["was"], records[5]["new"]) == ("side", None)
        rest = talked("follow", "--no-wait", "--json", "--after", records[2]["cursor"]).json_lines
        assert rest == records[3:]
        assert talked("position").out.strip() == records[-1]["cursor"]

    def test_kinds_and_a_bookmark_narrow_it(self, talked: Command) -> None:
        kinds = talked("follow", "--no-wait", "--json", "--kind", "record", "--kind", "definition").json_lines
        assert [each["kind"] for each in kinds] == ["record", "definition", "live"]
        talked("add", "another")
        named = talked("follow", "--no-wait", "--json", "-b", "heights").json_lines
        assert [each["kind"] for each in named] == ["turn", "turn", "record", "live"]
        assert talked("follow", "--no-wait", "--new").out == ""
        assert talked("follow", "--no-wait", "-b", "hights").err == "There is no bookmark hights now.\n"
        assert following.KINDS == KINDS

    def test_a_cursor_file_is_where_the_next_run_begins(self, talked: Command, tmp_path: Path) -> None:
        file = tmp_path / "cursor"
        words = ("follow", "--no-wait", "--cursor-file", str(file))
        assert len(talked(*words).out.splitlines()) == 7
        assert talked(*words).out == ""
        assert file.read_text() == talked("position").out
        talked("add", "more", "-c", "heights")
        assert talked(*words, "--new").out.endswith("more [heights]\n")
        assert [each.name for each in tmp_path.iterdir() if each.name.startswith("cursor")] == ["cursor"]

    def test_what_cannot_be_is_told_in_a_line(self, talked: Command, tmp_path: Path) -> None:
        assert "a cursor is what follow or position gave" in talked.refuses("follow", "--after", "x")
        assert "contradict" in talked.misused("follow", "--after", "x", "--new")
        lost = talked("position").out.strip()[:-8] + "00000000"
        assert "is lost: other changes have its numbers now" in talked.fails("follow", "--after", lost)
        empty = tmp_path / "empty"
        empty.touch()
        assert "is empty: remove it" in talked.misused("follow", "--no-wait", "--cursor-file", str(empty))
        assert "no folder" in talked.misused("follow", "--no-wait", "--cursor-file", str(tmp_path / "no" / "c"))

    def test_what_would_steer_a_terminal_is_written_out(self, headish: Command) -> None:
        headish("add", "a\x1b[31m\nb", "-b", "main")
        headish("title", "main", "red\x1b[31m\nline")
        out = headish("follow", "--no-wait").out
        assert "\x1b" not in out
        assert len(out.splitlines()) == 2

    @pytest.mark.slow
    @pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9 here; run this on a POSIX system")
    def test_a_reader_that_is_killed_sees_its_last_lines_again_and_no_gap(
        self, headish: Command, tmp_path: Path
    ) -> None:
        ids = [headish.id("add", f"{number}") for number in range(12)]
        command = [HEADISH, "--db", headish.target, "follow", "--cursor-file", str(tmp_path / "cursor")]
        seen: list[str] = []
        for life in range(3):
            ids.append(headish.id("add", f"life {life}"))
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
                assert process.stdout is not None
                for line in process.stdout:
                    seen.append(line.split()[3])
                    if seen[-1] == ids[-1]:
                        break
                os.kill(process.pid, signal.SIGKILL)
        ids.append(headish.id("add", "after them"))
        rest = headish("follow", "--no-wait", "--cursor-file", str(tmp_path / "cursor")).out.splitlines()
        seen += [line.split()[3] for line in rest]
        assert list(dict.fromkeys(seen)) == ids


class TestPosition:
    def test_a_read_waits_until_the_database_is_as_far(self, talked: Command) -> None:
        cursor = talked("position").out.strip()
        assert talked("--at-least", cursor, "get", "heights").out == "8849 m\n"
        assert "a cursor is what" in talked.refuses("--at-least", "x", "get", "heights")


class TestAudit:
    def test_who_wrote_what(self, talked: Command) -> None:
        lines = [line.split("  ", 1)[1].split() for line in talked("audit").out.splitlines()]
        assert [line[:2] for line in lines[:3]] == [["Ada", "turn"], ["-", "turn"], ["-", "record"]]
        assert lines[-1] == ["-", "definition", "small", "pointer", "set,", "number", "1", "of", "its", "history"]
        records = talked("audit", "--json", "--by", "Ada").json_lines
        assert [(each["author"], each["kind"], each["what"]) for each in records] == [
            ("Ada", "turn", "user on heights")
        ]

    def test_counts_by_author(self, talked: Command) -> None:
        records = talked("audit", "--count", "--json").json_lines
        assert [(each["author"], each["counts"]) for each in records] == [
            ("Ada", {"turn": 1}),
            (None, {"turn": 1, "record": 1, "move": 3, "definition": 1}),
        ]
        assert talked("audit", "--count").out.splitlines()[1].endswith("1 turn, 1 record, 3 moves, 1 definition")

    def test_a_range_of_times(self, talked: Command) -> None:
        assert talked("audit", "--since", "2020-01-01").out == talked("audit").out
        done = talked("audit", "--until", "2020-01-01")
        assert (done.out, done.err) == ("", "Nothing was found.\n")
        assert "RFC 3339" in talked.misused("audit", "--since", "some day")
