"""The configuration file: what it holds, what wins over it, and what happens where it is damaged."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from platformdirs import user_config_path

from headish_cli.configuration import KEYS, changed_config, config_path, read_config, read_timetable
from headish_cli.printing.output import Told
from support.command import Command, Done, at_terminal, start
from support.loopback import Loopback, event_stream
from support.providers.answers import anthropic_text


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration that is not there yet."""
    path = tmp_path / "folder" / "config.toml"
    monkeypatch.setenv("HEADISH_CONFIG", str(path))
    monkeypatch.delenv("PAGER", raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    # What ``pager`` sets for the process must not reach other tests.
    monkeypatch.setenv("HEADISH_PAGER", "none")
    monkeypatch.delenv("HEADISH_PAGER")
    return path


def shown(done: Done) -> dict[str, tuple[str | None, str]]:
    return {row["key"]: (row["value"], row["source"]) for row in done.json_lines}


class TestTheFile:
    def test_is_where_the_platform_has_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("HEADISH_CONFIG")
        monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
        assert config_path() == str(user_config_path("headish", appauthor=False) / "config.toml")
        monkeypatch.setenv("XDG_CONFIG_HOME", "/elsewhere")
        assert config_path() == str(user_config_path("headish", appauthor=False) / "config.toml")

    def test_is_changed_key_by_key_and_keeps_what_a_person_wrote(self, headish: Command, file: Path) -> None:
        headish("config", "set", "space", "work")
        file.write_text(f"# mine\n{file.read_text()}author = 'Ada'  # me\n")
        headish("config", "set", "space", "home")
        assert file.read_text() == "# mine\nspace = \"home\"\nauthor = 'Ada'  # me\n"
        assert headish("config", "get", "author").out == "Ada\n"
        headish("config", "unset", "space")
        assert "does not say space" in headish.fails("config", "get", "space")
        assert "does not say space" in headish("config", "unset", "space").err
        assert headish("config", "path").out == f"{file}\n"
        if os.name == "posix":
            assert file.stat().st_mode & 0o77 == 0

    def test_stays_a_link_where_it_is_one(self, headish: Command, file: Path, tmp_path: Path) -> None:
        (tmp_path / "dotfiles").write_text("")
        file.parent.mkdir()
        file.symlink_to(tmp_path / "dotfiles")
        headish("config", "set", "author", "Ada")
        assert file.is_symlink()
        assert read_config(str(file)) == {"author": "Ada"}

    def test_two_that_change_it_do_not_lose_what_the_other_did(self, file: Path) -> None:
        def change(key: str) -> None:
            while True:
                try:
                    with changed_config(str(file)) as document:
                        document[key] = WORDS.get(key, "auto")
                    return
                except Told:
                    pass  # the other one is at it

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(change, KEYS))
        assert read_config(str(file)) == dict.fromkeys(KEYS, "auto") | WORDS
        assert os.listdir(file.parent) == [file.name]

    def test_a_change_that_fails_leaves_it_as_it_was(self, headish: Command, file: Path) -> None:
        headish("config", "set", "author", "Ada")
        assert "auto, always or never" in headish.fails("config", "set", "color", "pink")
        file.with_name("config.toml.lock").write_text("")
        assert "config.toml.lock" in headish.fails("config", "set", "author", "Bob")
        assert file.read_text() == 'author = "Ada"\n'

    @pytest.mark.parametrize(("text", "told"), [
        ("db = ", "is not TOML"), ("databse = 'x'", "unknown key 'databse'"), ("db = 5", "is a text"),
        ("color = 'pink'", "auto, always or never"), ("[ptr]\nx = 1", "is a text"), ("author = '\xff'", "is not UTF-8"),
        ("#" * 70_000, "larger than"),
    ])  # fmt: skip
    def test_what_is_wrong_in_it_is_told_by_every_command_and_can_be_mended(
        self, headish: Command, file: Path, text: str, told: str
    ) -> None:
        file.parent.mkdir()
        file.write_bytes(text.encode("latin-1"))
        assert told in headish.fails("list")
        assert told in headish.fails("config", "show")
        assert headish("config", "path").out == f"{file}\n"
        assert headish("--help").err == ""

    def test_a_timetable_is_read_whole_or_refused(
        self, headish: Command, file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert read_timetable("box every 5m,my office every 2h") == {"box": 300.0, "my office": 7200.0}
        for said in ("box", "box every", "box every 5", "every 5m", "box every 0m", "box every 5m,", "box each 5m",
                     "box every 5m, box every 1h", "box every 100000d"):  # fmt: skip
            assert read_timetable(said) == {}
            assert "'box every 5m, office every 1h'" in headish.fails("config", "set", "sync", said)
        headish("config", "set", "sync", "box every 5m")
        assert headish("config", "get", "sync").out == "box every 5m\n"
        file.write_text('sync = "box every 5"\n')
        assert f"the value of 'sync' in {file} is NAME every TIME" in headish.fails("serve")
        file.write_text("")
        monkeypatch.setenv("HEADISH_SYNC", "box every 5")
        assert "(HEADISH_SYNC, or 'sync' in the configuration) is not NAME" in headish.misused("serve")

    def test_the_device_that_keeps_nothing_is_not_replaced(
        self, headish: Command, file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file.parent.mkdir(exist_ok=True)
        file.touch()
        monkeypatch.setattr(os, "devnull", str(file.resolve()))
        assert "keeps nothing" in headish.fails("config", "set", "space", "work")
        assert file.read_bytes() == b""
        assert list(file.parent.glob("*.lock")) == []

    def test_a_folder_in_its_place_is_told(self, headish: Command, file: Path) -> None:
        file.mkdir(parents=True)
        assert "it is a folder" in headish.fails("list")


WORDS = {"isolation": "required", "sync": "box every 5m"}
"""Keys that take no ``auto``."""


class TestWhoWins:
    def test_an_option_then_a_variable_then_the_file(self, file: Path, tmp_path: Path) -> None:
        for key, value in {"db": str(tmp_path / "file.db"), "space": "file", "author": "file", "ptr": "file"}.items():
            Command(":memory:")("config", "set", key, value)
        bare = NoOptions(":memory:")
        assert shown(bare("config", "show", "--json")) == {
            "db": (str(tmp_path / "file.db"), "file"), "space": ("file", "file"), "author": ("file", "file"),
            "ptr": ("file", "file"), "isolation": ("none", "default"), "prices": (None, "default"),
            "signing_key": (None, "default"), "signers": (None, "default"), "revoked_keys": (None, "default"),
            "sync": (None, "default"), "pager": (None, "default"),
            "color": ("auto", "default"),
        }  # fmt: skip
        env = {"HEADISH_SPACE": "variable", "HEADISH_AUTHOR": "variable", "HEADISH_PTR": "variable", "NO_COLOR": "1"}
        found = shown(bare("--space", "option", "config", "show", "--json", env=env))
        assert found["space"] == ("option", "option --space")
        assert found["author"] == ("variable", "environment HEADISH_AUTHOR")
        assert found["ptr"] == ("variable", "environment HEADISH_PTR")
        assert found["color"] == ("never", "environment NO_COLOR")

    def test_what_it_says_holds(self, headish: Command, file: Path) -> None:
        bare = NoOptions(":memory:")
        headish("config", "set", "db", headish.target)
        headish("config", "set", "author", "Ada")
        bare("add", "Hi", "-b", "main")
        assert headish("get", "main", "--json").json["meta"]["author"] == "Ada"
        assert bare("db", "current").code == 0  # a command that is named as a key is

    def test_a_path_is_the_same_from_every_folder(
        self, headish: Command, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        headish("config", "set", "db", "my.db")
        assert headish("config", "get", "db").out == f"{tmp_path / 'my.db'}\n"

    def test_no_path_steers_the_terminal(self, tmp_path: Path) -> None:
        path = f"{tmp_path}/\x1b[31mred"
        for words in (("path",), ("get", "db"), ("show",)):
            Path(path).write_text('db = "\\u001b[31m.db"')
            shown = at_terminal("config", *words, columns=200, env={"HEADISH_CONFIG": path})
            assert "\x1b" not in shown, words
            assert "\\x1b[31m" in shown, words

    def test_a_password_is_not_shown(self, headish: Command, file: Path) -> None:
        headish("config", "set", "db", "postgresql://me:very-secret@host/x")
        assert "very-secret" not in NoOptions(":memory:")("config", "show").out

    def test_a_pointer_is_asked_where_nobody_else_is_named(
        self, headish: Command, file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TEST_KEY", "the-key-of-the-test")
        with Loopback() as server:
            for name in ("mine", "other"):
                target = f"anthropic/{name}"
                headish("ptr", "set", name, target, "--base-url", server.url, "--key-env", "TEST_KEY")
            headish("ptr", "default", "other")
            headish("config", "set", "ptr", "mine")
            for _ in range(4):
                server.answer(chunks=event_stream(anthropic_text("Hello.")))
            headish("ask", "Hi", "-b", "main")
            headish("ask", "Hi", "-b", "side", "-p", "other")
            headish("ask", "More", "-c", "side")
            headish("chat", "third", stdin="Hi\n")
            assert [asked.body["model"] for asked in server.requests] == ["mine", "other", "other", "mine"]
            headish("config", "set", "ptr", "nobody")
            assert "'nobody'" in headish.fails("ask", "Hi")

    def test_colours_are_as_it_says(self, headish: Command, file: Path) -> None:
        headish("add", "Hi", "-b", "main")
        words = ("--db", headish.target, "log", "main")
        env = {"HEADISH_CONFIG": str(file)}
        assert "\x1b[" in at_terminal(*words, env=env)
        headish("config", "set", "color", "never")
        assert "\x1b[" not in at_terminal(*words, env=env)
        headish("config", "set", "color", "always")
        assert "\x1b[" in headish("log", "main").out


class NoOptions(Command):
    """The command without ``--db``."""

    def run(self, *words: str, stdin: str | bytes | None = None, env: dict[str, str] | None = None) -> Done:
        from click.testing import CliRunner

        from headish_cli.main import main

        names = (
            "HEADISH_DB",
            "HEADISH_SPACE",
            "HEADISH_READ_ONLY",
            "HEADISH_AUTHOR",
            "HEADISH_PTR",
            "HEADISH_ISOLATION",
        )
        runner = CliRunner(env={**dict.fromkeys(names), **(env or {})})
        result = runner.invoke(main, list(words), input=stdin, prog_name="headish")
        return Done(result.exit_code, result.stdout, result.stderr)

    def __call__(self, *words: str, stdin: str | bytes | None = None, env: dict[str, str] | None = None) -> Done:
        done = self.run(*words, stdin=stdin, env=env)
        assert done.code == 0, done
        return done


@pytest.mark.slow
def test_an_editor_opens_it_and_what_it_wrote_is_checked(file: Path, tmp_path: Path) -> None:
    script = tmp_path / "editor.py"
    script.write_text("import sys\nopen(sys.argv[1], 'w').write('nothing = 1')\n")
    env = {"HEADISH_CONFIG": str(file), "VISUAL": f"{sys.executable} {script}"}
    done = start("config", "edit", env=env)
    assert done.returncode == 1
    assert b"unknown key 'nothing'" in done.stderr
