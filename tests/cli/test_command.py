"""The command as a whole: where the database is, exit codes, pipes and the tour."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import click
import pytest

import headish as library
import headish_cli
from headish import Store
from headish.database.revisions import REVISION
from headish.version import __version__
from headish_cli.main import COMMANDS, main
from headish_cli.topics import TOPICS
from support.command import HEADISH, Command, start


class TestWhereTheDatabaseIs:
    @pytest.mark.slow
    def test_the_option_wins_over_the_environment_and_that_over_the_users_folder(self, tmp_path: Path) -> None:
        home = {"XDG_DATA_HOME": str(tmp_path), "HOME": str(tmp_path)}
        assert start("db", "path", env=home).stdout.decode().strip().endswith(os.path.join("headish", "headish.db"))
        assert start("db", "path", env={**home, "HEADISH_DB": "/e.db"}).stdout == b"/e.db\n"
        assert start("--db", "/o.db", "db", "path", env={**home, "HEADISH_DB": "/e.db"}).stdout == b"/o.db\n"

    @pytest.mark.slow
    def test_the_users_folder_is_made_when_something_is_stored(self, tmp_path: Path) -> None:
        home = {"XDG_DATA_HOME": str(tmp_path / "data"), "HOME": str(tmp_path)}
        assert start("add", "hi", env=home).returncode == 0
        assert start("export", env=home).stdout.endswith(b"hi<|end|>\n")

    def test_reading_makes_nothing(self, headish: Command) -> None:
        assert headish.fails("log").endswith(
            "there is no database; 'headish add', 'headish ask' and 'headish import' make one"
        )
        assert not Path(headish.target).exists()

    def test_a_database_that_nobody_named_is_named_where_a_turn_is_not_in_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.delenv("HEADISH_DB", raising=False)
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
        target = str(tmp_path / "headish" / "headish.db")
        with Store.open(target) as store:
            store.add_turn("hi")
        for words in (["get", "main"], ["get", "main", "--db", target]):
            with pytest.raises(SystemExit):
                main(words, prog_name="headish")
        unnamed, named = capsys.readouterr().err.splitlines()
        assert unnamed.endswith(f"(of {target}, as neither --db nor HEADISH_DB names another)")
        assert named == "headish: no turn is named 'main' in this space"

    def test_what_the_system_refuses_is_told_without_its_number(self, headish: Command) -> None:
        assert headish.fails("ask", "look", "-a", "/nowhere") == "/nowhere: No such file or directory"

    @pytest.mark.slow
    def test_a_password_is_not_printed(self) -> None:
        done = start("--db", "postgresql+psycopg://ada:secret@nowhere/x", "db", "path")
        assert done.stdout == b"postgresql+psycopg://ada:***@nowhere/x\n"

    @pytest.mark.slow
    def test_a_server_that_is_not_there_is_one_line_without_the_password(self) -> None:
        done = start("--db", "postgresql+psycopg://ada:secret@127.0.0.1:1/x", "log")
        assert done.returncode == 1
        assert done.stderr.count(b"\n") == 1
        assert b"secret" not in done.stderr

    def test_spaces_do_not_see_each_other(self, headish: Command) -> None:
        turn = headish.id("--space", "one", "add", "hi", "-b", "main")
        headish("--space", "two", "add", "ho")
        assert "no turn is named 'main'" in headish.fails("--space", "two", "get", "main")
        assert f"no turn is named '{turn}' in this space" in headish.fails("--space", "two", "get", turn)
        assert "it has no space 'three'" in headish.fails("--space", "three", "log")


class TestExitCodes:
    def test_errors_are_one_line_and_code_1(self, headish: Command, tmp_path: Path) -> None:
        (tmp_path / "text.db").write_text("this is no database, it is a text that somebody wrote")
        assert "not a SQLite database" in Command(str(tmp_path / "text.db")).fails("log")
        assert "it is a folder" in Command(str(tmp_path)).fails("log")

    def test_usage_errors_are_code_2(self, headish: Command) -> None:
        assert "No such command" in headish.misused("frobnicate")
        assert "No such option" in headish.misused("log", "--frobnicate")
        assert "are for transcripts, not for html" in headish.misused("export", "x", "--to", "html", "--drop", "header")

    def test_an_error_cannot_write_to_the_terminal(self, headish: Command) -> None:
        headish("add", "q")
        assert "\x1b" not in headish.refuses("get", "a\x1b[31mb")

    @pytest.mark.slow
    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device is always full here; run this on Linux")
    def test_a_full_disk_is_told_in_one_line(self, headish: Command) -> None:
        headish("add", "q")
        for words in (["log"], ["--help"], ["--version"], ["log", "--help"]):
            with open("/dev/full", "wb") as full:
                command = [HEADISH, "--db", headish.target, *words]
                done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False, timeout=60)
            assert (done.returncode, done.stderr.count(b"\n")) == (1, 1), words
            assert b"No space left" in done.stderr, words

    @pytest.mark.slow
    def test_what_is_printed_is_utf8_whatever_the_locale_says(self, headish: Command) -> None:
        headish("add", "Grüße → 日本")
        done = start("--db", headish.target, "log", env={"PYTHONIOENCODING": "latin-1"})
        assert "Grüße → 日本" in done.stdout.decode()
        assert done.stderr == b""

    def test_verify_says_what_is_wrong_and_exits_1(self, headish: Command) -> None:
        turn = headish.id("add", "q")
        with closing(sqlite3.connect(headish.target)) as connection, connection:
            connection.execute("UPDATE turn SET role = 'tool'")
        done = headish.run("verify")
        assert done.code == 1
        assert done.out.startswith(f"turn {turn}: its digest disagrees")
        report = headish.run("verify", "--json")
        assert report.code == 1
        assert report.json["problems"][0]["subject"] == f"turn {turn}"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="pipes break otherwise there; run this on a POSIX system")
class TestEndsFromOutside:
    @pytest.mark.parametrize("words", [("log", "--json"), ("export", "--to", "text"), ("--help",), ("add", "--help")])
    def test_a_closed_pipe_is_silent_and_code_141(self, headish: Command, words: tuple[str, ...]) -> None:
        with Store.open(headish.target) as store:
            store.add_turns({"content": "x" * 200, "respond": index > 0} for index in range(300))
        reader, writer = os.pipe()
        os.close(reader)
        try:
            done = subprocess.run(
                [HEADISH, "--db", headish.target, *words], stdout=writer, stderr=subprocess.PIPE, check=False,
                timeout=60,
            )  # fmt: skip
        finally:
            os.close(writer)
        assert (done.returncode, done.stderr) == (141, b"")

    @pytest.mark.slow
    @pytest.mark.parametrize("closed", [0, 1, 2])
    def test_a_stream_that_is_closed_from_the_start_is_an_empty_one(self, headish: Command, closed: int) -> None:
        headish("add", "hi", "-b", "main")
        words = [("log",), ("verify",), ("list",), ("erase", "main", "--reason", "asked"), ("add", "ho")]
        done = [start("--db", headish.target, *each, preexec_fn=lambda: os.close(closed)) for each in words]
        assert [each.returncode for each in done] == [0, 0, 0, 1, 0]
        assert not any(b"Traceback" in each.stderr for each in done)

    def test_ctrl_c_is_code_130_without_a_traceback(self, headish: Command) -> None:
        command = [HEADISH, "--db", headish.target, "add", "-"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdin is not None
            process.stdin.write(b"x" * 1_000_000)  # more than a pipe holds: some of it was read
            process.stdin.flush()
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
        assert process.returncode == 130
        assert b"Traceback" not in err


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="descriptors as POSIX has them; run this on a POSIX system")
class TestStandardInput:
    def add(self, headish: Command, *words: str, **options: Any) -> str:
        done = subprocess.run([HEADISH, "--db", headish.target, "add", *words], check=True, timeout=60, **options)
        assert done.returncode == 0
        return headish("get").out[:-1]

    def test_a_pipe_or_a_file_is_joined_to_the_text(self, headish: Command, tmp_path: Path) -> None:
        assert self.add(headish, "Sum:", input=b"1\n2\n") == "Sum:\n\n1\n2\n"
        (tmp_path / "numbers").write_text("3")
        with (tmp_path / "numbers").open() as file:
            assert self.add(headish, "Sum:", stdin=file) == "Sum:\n\n3"

    def test_what_brings_nothing_adds_nothing(self, headish: Command) -> None:
        assert self.add(headish, "empty", input=b"") == "empty"
        assert self.add(headish, "device", stdin=subprocess.DEVNULL) == "device"
        closed = [sys.executable, "-c", "import os, sys; os.close(0); os.execv(sys.argv[1], sys.argv[1:])"]
        subprocess.run([*closed, HEADISH, "--db", headish.target, "add", "closed"], check=True, timeout=60)
        assert headish("get").out == "closed\n"

    def test_nothing_is_waited_for_where_nothing_comes(self, headish: Command) -> None:
        """A terminal and an open socket, beside a text: neither is read."""
        ours, theirs = os.openpty()
        here, there = socket.socketpair()
        with here, there:
            for stdin in (theirs, there.fileno()):
                assert self.add(headish, "text", stdin=stdin) == "text"
        os.close(ours)
        os.close(theirs)

    def test_a_dash_is_standard_input_alone(self, headish: Command) -> None:
        assert self.add(headish, "-", input=b"1") == "1"


class TestStart:
    @pytest.mark.slow
    def test_the_version_is_the_packages(self) -> None:
        assert start("--version").stdout.decode() == f"headish {__version__}\n"

    def test_every_command_has_a_help_that_says_what_it_does(self, headish: Command) -> None:
        listed = headish("--help", "--all").out
        for name in COMMANDS:
            assert f"  {name} " in listed
            help_text = headish(name, "--help").out
            assert help_text.startswith(f"Usage: headish {name} ")
        assert sorted(COMMANDS) == main.list_commands(main.make_context("headish", ["--db", "x", "log"]))

    def test_help_shows_what_a_command_of_any_depth_shows_itself(self, headish: Command) -> None:
        for words in ((), ("ask",), ("bundle",), ("bundle", "create"), ("help",)):
            assert headish("help", *words).out == headish(*words, "--help").out, words

    def test_help_of_a_topic_fits_a_terminal_of_80_columns_and_is_named_in_the_plain_help(
        self, headish: Command
    ) -> None:
        plain = headish("--help").out
        for name in TOPICS:
            text = headish("help", name).out
            assert name in plain
            assert max(map(len, text.splitlines())) <= 80, name

    def test_what_there_is_no_help_for_is_2_and_something_near_is_offered(self, headish: Command) -> None:
        for words, told in (
            (("tims",), "did you mean times?"), (("bundle", "crate"), "did you mean create?"),
            (("ask", "x"), "no command or topic 'x'"), (("bundle", "times"), "no command or topic 'times'"),
        ):  # fmt: skip
            assert told in headish.misused("help", *words), words

    def test_help_of_the_environment_has_every_variable_that_is_read(self, headish: Command) -> None:
        roots = [Path(found.__file__ or "").parent for found in (library, headish_cli)]
        sources = [path.read_text("utf-8") for root in roots for path in root.rglob("*.py")]
        read = {name for source in sources for name in re.findall(r"[\"'`](HEADISH_[A-Z_]+)[\"'`]", source)}
        told = set(re.findall(r"HEADISH_\w+", headish("help", "environment").out))
        assert read - told == {"HEADISH_PROCESS"}, "that of the workers of `serve` alone is set by headish itself"
        assert told <= {*read, "HEADISH_READ_ONLY"}

    def test_a_help_fits_a_terminal_of_80_columns_and_cuts_no_line(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", "80")
        with click.Context(main, info_name="headish", **main.context_settings) as context:
            helps = dict(_with_those_below(main, context))
        assert "headish batch status" in helps
        lines = [(path, line) for path, text in helps.items() for line in text.splitlines()[1:]]
        assert [(path, line) for path, line in lines if len(line) > 80 or line.endswith("...")] == []


class TestDatabase:
    def test_current_and_upgrade(self, headish: Command) -> None:
        headish("add", "q")
        assert headish("db", "current").out == f"{REVISION}\n"
        assert headish("db", "current", "--json").json == {"current": REVISION, "newest": REVISION}
        assert headish("db", "path", "--json").json == {"path": headish.target}
        assert headish("db", "upgrade").err.startswith("The schema is headish_")
        assert headish("stats").out.split()[:2] == ["turns", "1"]


@pytest.mark.slow
class TestDemo:
    def test_the_tour_runs_every_step_and_ends_in_order(self) -> None:
        done = start("demo")
        assert done.returncode == 0, done.stderr
        out = done.stdout.decode()
        for command in ("import", "tree", "add", "bookmark set", "log", "resolve", "export", "request", "verify"):
            assert f"\n$ headish {command}" in out
        assert done.stderr.decode().endswith("all in order.\n")
        body = json.loads(out.split("--model claude-sonnet-4-5\n")[1].split("\n\n#")[0])
        assert (body["model"], body["max_tokens"]) == ("claude-sonnet-4-5", 300)
        assert body["messages"][-1]["content"][0]["text"].startswith("Make one plan of both")

    def test_its_store_can_be_kept_and_looked_at(self, tmp_path: Path) -> None:
        kept = str(tmp_path / "tour.db")
        assert f"headish --db {kept} log merged" in start("demo", "--keep", kept).stdout.decode()
        assert Command(kept)("log", "merged").out.count("\n") == 9
        assert start("demo", "--keep", kept).returncode == 2


def _with_those_below(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    """Each command's path and its help; under its parent, as when it is called: click remembers what it made first."""
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            with click.Context(below, info_name=name, parent=context) as inner:
                yield from _with_those_below(below, inner)
