"""At a real terminal: the pager, narrow and wide screens, wide characters, colours, Ctrl-C, completion."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from headish import Store
from headish_cli.options import GlobalOptions
from headish_cli.printing import paging
from support.command import HEADISH, Command
from support.terminal import Terminal

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="terminals as POSIX has them; run this on a POSIX system"),
]
needs_less = pytest.mark.skipif(shutil.which("less") is None, reason="less is not installed; install it to run this")
needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed; install it to run this")


@pytest.fixture
def long(headish: Command) -> Command:
    """A thread that no screen holds."""
    with Store.open(headish.target) as store:
        store.add_turns({"content": f"turn {index}.", "respond": index > 0} for index in range(200))
        store.bookmarks.set("main", "@")
    return headish


class TestPager:
    @needs_less
    def test_a_long_list_goes_through_less_and_leaving_it_is_no_error(self, long: Command) -> None:
        terminal = Terminal("--db", long.target, "log", "main")
        terminal.wait_for("turn 180.")
        assert "turn 150." not in terminal.shown
        terminal.type("q")
        assert terminal.wait() == 0
        assert "\x1b[33m" in terminal.raw, "less keeps the colours"

    def test_after_ctrl_c_the_pager_is_waited_for(self, long: Command, tmp_path: Path) -> None:
        """What was still to be printed may be missing, as in git."""
        pager = tmp_path / "pager"
        pager.write_text("#!/bin/sh\ntrap '' INT\necho begun\nsleep 1\ncat > /dev/null\necho ended\n")
        pager.chmod(0o755)
        terminal = Terminal("--db", long.target, "log", "main", env={"PAGER": str(pager)})
        terminal.wait_for("begun")
        terminal.type("\x03")
        terminal.wait_for("ended")
        assert terminal.wait() in (0, 130)
        assert "Traceback" not in terminal.shown

    @pytest.mark.parametrize("pressed", ["before it was started", "while it takes the rest"])
    def test_ctrl_c_at_a_bad_moment_is_waited_for_too(
        self, pressed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A pager shows something before the call that starts it returns, and reads when its user pages down."""

        class PressedAtOnce(subprocess.Popen[bytes]):
            def __init__(self, *given: Any, **named: Any) -> None:
                super().__init__(*given, **named)
                signal.raise_signal(signal.SIGINT)

        def close_pressed(stream: paging.PagedStream) -> None:
            monkeypatch.undo()
            signal.raise_signal(signal.SIGINT)

        ended = tmp_path / "ended"
        pager = f"trap '' INT; cat > /dev/null; sleep 0.2; echo all > '{ended}'"
        monkeypatch.setattr(paging, "pager_command", lambda: pager)
        at_once = pressed == "before it was started"
        if at_once:
            monkeypatch.setattr(subprocess, "Popen", PressedAtOnce)
        else:
            monkeypatch.setattr(paging.PagedStream, "close", close_pressed)
        before = sys.stdout
        with pytest.raises(KeyboardInterrupt) if at_once else nullcontext(), paging.paged(GlobalOptions(None, "s")):
            print("a line")
        assert sys.stdout is before
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert ended.read_text() == "all\n"

    def test_a_pager_of_ones_own_gets_whole_lines(self, long: Command, tmp_path: Path) -> None:
        for name in ("HEADISH_PAGER", "PAGER"):
            terminal = Terminal("--db", long.target, "tree", "main", "--full", env={name: "sed 's/^/paged: /'"})
            assert terminal.wait() == 0
            lines = terminal.shown.splitlines()
            assert len(lines) == 200
            assert all(line.startswith("paged: ") for line in lines)

    @pytest.mark.parametrize(
        ("words", "env"),
        [(("--no-pager",), {"PAGER": "false"}), ((), {"PAGER": ""}), ((), {"PAGER": "cat"}), ((), {"TERM": "dumb"}),
         ((), {"PAGER": "there-is-no-such-pager -x"})],
    )  # fmt: skip
    def test_without_one_all_is_printed(self, long: Command, words: tuple[str, ...], env: dict[str, str]) -> None:
        terminal = Terminal("--db", long.target, "log", "main", *words, env=env)
        assert terminal.wait() == 0
        assert len(terminal.shown.splitlines()) == 200

    def test_an_error_is_told_without_it(self, long: Command) -> None:
        terminal = Terminal("--db", long.target, "log", "none", env={"PAGER": "sed 's/^/paged: /'"})
        assert terminal.wait() == 1
        assert terminal.shown == "headish: no turn is named 'none' in this space\n"


class TestScreens:
    @pytest.mark.parametrize("columns", [40, 80, 160])
    def test_a_list_is_as_wide_as_the_screen_at_most(self, headish: Command, columns: int) -> None:
        for number, said in enumerate(["短い会話です。" * 20, "a" * 300, "👨‍👩‍👧 e\u0301" * 40]):
            headish("add", said, "-b", f"名前{number}")
            headish("tag", f"名前{number}", "work")
        terminal = Terminal("--db", headish.target, columns=columns, env={"NO_COLOR": "1", "PAGER": "cat"})
        assert terminal.wait() == 0
        lines = terminal.shown.splitlines()
        assert len(lines) == 3
        for line in lines:
            assert cell_len(line) <= columns
            assert "名前" in line

    @pytest.mark.parametrize("columns", [40, 60, 80])
    def test_no_line_of_any_list_is_wider_than_the_screen(self, headish: Command, columns: int) -> None:
        name = "a-name-of-many-letters-as-imports-give"
        headish("add", "a first question of many words", "-b", name)
        headish("add", "短い会話です。" * 9, "-c", name, "--role", "assistant")
        headish("edit", f"{name}~1", "another question of as many words")
        headish("search", "question")  # fills the index, which shows its progress
        choice = {"message": {"role": "assistant", "content": "yes " * 30}, "finish_reason": "stop"}
        headish("reply", name, "--from", "openai", stdin=json.dumps({"model": "m" * 30, "choices": [choice]}))
        commands = (
            ("list",), ("log", name), ("log", "--graph", name), ("tree", name), ("search", "question"),
            ("bookmark", "list"), ("siblings", f"{name}~1"), ("follow", "--no-wait"),
        )  # fmt: skip
        for words in commands:
            terminal = Terminal("--db", headish.target, *words, columns=columns, env={"NO_COLOR": "1", "PAGER": "cat"})
            assert terminal.wait() == 0, words
            lines = terminal.shown.splitlines()
            assert lines
            assert [line for line in lines if cell_len(line) > columns] == [], words

    def test_a_long_name_leaves_room_for_what_the_conversation_is_about(self, headish: Command) -> None:
        headish("add", "How tall is it?", "-b", "a-name-of-many-letters-as-imports-give")
        terminal = Terminal("--db", headish.target, columns=40, env={"NO_COLOR": "1", "PAGER": "cat"})
        assert terminal.wait() == 0
        assert "a-name-of-" in terminal.shown
        assert "How tall is it?" in terminal.shown

    def test_no_colour_is_no_escape(self, long: Command) -> None:
        for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            for words in (("log", "-n", "3"), ("tree",), ("list",), ("show",)):
                terminal = Terminal("--db", long.target, *words, env={"PAGER": "cat", **env})
                assert terminal.wait() == 0
                assert "\x1b" not in terminal.raw

    def test_without_a_history_a_bare_command_shows_how_it_is_used(self, tmp_path: Path) -> None:
        terminal = Terminal("--db", str(tmp_path / "none.db"), env={"PAGER": "cat"})
        assert terminal.wait() == 2
        assert "Usage: headish" in terminal.shown
        assert not (tmp_path / "none.db").exists()


class TestAPassphrase:
    """Where neither variable gives it, the person is asked: unseen, and twice."""

    def test_is_asked_for_and_is_the_one_that_the_variable_gives(self, tmp_path: Path) -> None:
        url, keys = (tmp_path / "box").as_uri(), {"HEADISH_KEYS": str(tmp_path / "keys")}
        words = ("remote", "add", "box", url, "--device", "desk", "--passphrase")
        terminal = Terminal("--db", str(tmp_path / "a.db"), *words, env=keys)
        for wanted, typed in (
            ("remote: ", "ours"),
            ("Repeat it: ", "hers"),
            ("remote: ", "ours"),
            ("Repeat it: ", "ours"),
        ):
            terminal.wait_for(wanted)
            assert "four words" not in terminal.shown
            terminal.raw = ""
            terminal.type(f"four words of {typed}\n")
        code, shown = terminal.wait(), terminal.shown
        assert (code, "this machine is desk" in shown) == (0, True)
        assert "four words" not in shown
        Command(str(tmp_path / "a.db"))("add", "hello", "-b", "main")
        assert (
            Terminal("--db", str(tmp_path / "a.db"), "sync", env={"HEADISH_KEYS": str(tmp_path / "keys")}).wait() == 0
        )
        cloned = Terminal(
            "--db", str(tmp_path / "b.db"), "clone", url, "--device", "laptop", "--passphrase",
            env={"HEADISH_KEYS": str(tmp_path / "others"), "HEADISH_PASSPHRASE": "four words of ours"},
        )  # fmt: skip
        assert (cloned.wait(), "1 turn came" in cloned.shown) == (0, True)

    def test_ctrl_c_adds_nothing(self, tmp_path: Path) -> None:
        url = (tmp_path / "box").as_uri()
        terminal = Terminal("--db", str(tmp_path / "a.db"), "clone", url, "--passphrase")
        terminal.wait_for("remote: ")
        terminal.type("\x03")
        assert terminal.wait() == 130
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("words", [("file:///x", "--plain"), ("ssh://desk",)])
    def test_is_not_asked_for_where_none_is_used(self, tmp_path: Path, words: tuple[str, ...]) -> None:
        terminal = Terminal("--db", str(tmp_path / "a.db"), "remote", "add", "box", *words, "--passphrase")
        assert terminal.wait() == 1
        assert "remote: " not in terminal.shown


class TestCompletion:
    @needs_bash
    def test_bash_completes_a_name(self, headish: Command, tmp_path: Path) -> None:
        headish("add", "a", "-b", "bridges")
        (tmp_path / "rc").write_text(
            f'export HEADISH_DB={headish.target}\nPS1="ready> "\neval "$(headish completion bash)"\n'
        )
        terminal = Terminal("--rcfile", str(tmp_path / "rc"), "-i", program="bash",
                            env={"PATH": f"{HEADISH.parent}{os.pathsep}{os.environ['PATH']}"})  # fmt: skip
        terminal.wait_for("ready> ")
        terminal.type("headish log bri\t")
        terminal.wait_for("headish log bridges")
        terminal.type("\nexit\n")
        assert terminal.wait() == 0
        assert "a [bridges]" in terminal.shown


@pytest.mark.parametrize("words", [("record",), ("reply", "@", "--from", "openai")])
def test_nobody_is_waited_for_who_was_not_asked(long: Command, words: tuple[str, ...]) -> None:
    terminal = Terminal("--db", long.target, *words)
    assert terminal.wait() == 2
    assert "name a file, or pipe it in" in " ".join(terminal.shown.split())
