"""``edit``, ``siblings``, ``undo`` and ``diff``: what they store, what they print, and what an editor may do."""

from __future__ import annotations

import os
import re
import stat
import sys
from pathlib import Path

import pytest

from headish import Store
from support.command import Command, at_terminal

posix = pytest.mark.skipif(os.name != "posix", reason="terminals as POSIX has them; run this on a POSIX system")


@pytest.fixture
def talk(headish: Command) -> Command:
    """Two questions and two answers on ``main``."""
    for index, text in enumerate(("q?", "a", "r?", "b")):
        role = "assistant" if index % 2 else "user"
        headish("add", text, "--role", role, *(("-c", "main") if index else ("-b", "main")))
    return headish


def said(headish: Command, name: str = "main") -> list[str]:
    messages = headish("resolve", name, "--json").json["messages"]
    return ["".join(block["text"] for block in message["content"]) for message in messages]


class TestEdit:
    def test_it_prints_the_id_and_says_what_moved(self, talk: Command) -> None:
        done = talk("edit", "main~2", "A", "--keep")
        tip = talk("get", "main", "--json").json["id"]
        assert done.out.strip() == talk("get", "main~2", "--json").json["id"]
        assert done.err.splitlines() == [
            "Version 2/2 of the turn is stored, behind it 2 of the branch.",
            f"main names {tip} now; 'headish bookmark set main main@{{1}}' takes that back.",
        ]
        assert said(talk) == ["q?", "A", "r?", "b"]
        talk("bookmark", "set", "main", "main@{1}")
        assert said(talk) == ["q?", "a", "r?", "b"]

    def test_an_id_moves_nothing_and_json_says_all(self, talk: Command) -> None:
        first = talk("get", "main~3", "--json").json["id"]
        done = talk("edit", first, "Q?", "--json").json
        assert (done["bookmark"], done["kept"], done["tip"]) == (None, 0, done["turn"]["id"])
        assert (done["turn"]["version"], done["turn"]["versions"]) == (2, 2)
        assert "No bookmark moved" in talk("edit", first, "Q!").err

    def test_standard_input_is_the_text_and_blocks_are_json(self, talk: Command) -> None:
        talk("edit", "main", "-", stdin="from a pipe")
        talk("edit", "main~1", "--keep", stdin="from a pipe, too")
        assert said(talk) == ["q?", "a", "from a pipe, too", "from a pipe"]
        talk("edit", "main", '[{"type":"text","text":"x"},{"type":"text","text":"y"}]', "--json-blocks")
        assert said(talk)[-1] == "xy"

    def test_a_document_takes_bytes(self, headish: Command, tmp_path: Path) -> None:
        (tmp_path / "d.bin").write_bytes(b"\x00\xff")
        headish("doc", str(tmp_path / "d.bin"), "-b", "main")
        headish("edit", "main", "-", stdin=b"\x01\xfe")
        with Store.open(headish.target) as store:
            assert (store.payload("main"), store.get("main").meta.document_name) == (b"\x01\xfe", "d.bin")

    @pytest.mark.parametrize(
        ("words", "why"),
        [
            (("main", ""), "the text is empty"),
            (("main", "b"), "says this already"),
            (("main~9", "x"), "does not go back so far"),
            (("main", "x", "--expect", "0" * 25), "names 0"),
        ],
    )
    def test_what_is_refused_is_one_line_and_stores_nothing(self, talk: Command, words: list[str], why: str) -> None:
        assert why in talk.fails("edit", *words)
        assert talk("stats", "--json").json["turns"] == 4


@posix
@pytest.mark.slow
class TestEditor:
    """An editor at a terminal, as ``git commit`` opens it."""

    def edit(self, headish: Command, script: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *words: str) -> str:
        editor = tmp_path / "editor.sh"
        editor.write_text(f"#!/bin/sh\n{script}\n")
        editor.chmod(0o700)
        monkeypatch.delenv("VISUAL", raising=False)
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        monkeypatch.setattr("headish_cli.commands.changing.editing._may_edit", lambda: True)
        arguments = ("--db", headish.target, "edit", *(words or ("main",)))
        return at_terminal(*arguments, env={"EDITOR": str(editor), "NO_COLOR": "1"})

    def test_what_is_saved_is_stored(self, talk: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self.edit(talk, 'echo "line two" >> "$1"', monkeypatch, tmp_path)
        assert said(talk)[-1] == "b\nline two"
        self.edit(talk, 'printf "one\\ntwo\\n" > "$1"', monkeypatch, tmp_path)
        assert said(talk)[-1] == "one\ntwo"

    @pytest.mark.parametrize(
        ("script", "why"),
        [
            ("true", "the text is unchanged"),
            ('echo >> "$1"', "the text is unchanged"),
            (': > "$1"', "the text is empty"),
            ("printf '\\377' > \"$1\"", "is not UTF-8"),
            ("exit 3", "Editing failed"),
        ],
    )
    def test_what_is_no_edit_is_said_in_a_word(
        self, talk: Command, script: str, why: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        assert why in self.edit(talk, script, monkeypatch, tmp_path)
        assert talk("stats", "--json").json["turns"] == 4

    def test_what_cannot_be_stored_any_more_is_kept_in_a_file(
        self, talk: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """Somebody went on while the editor was open."""
        command = f'{sys.executable} -c "from headish_cli.main import main; main()"'
        code = f"{command} --db {talk.target} add late -c main >/dev/null"
        written = self.edit(talk, f'echo "long work" > "$1"; {code}', monkeypatch, tmp_path)
        kept = Path(written.split("your text is in ")[1].strip())
        assert (kept.read_text(), stat.S_IMODE(kept.stat().st_mode)) == ("long work", 0o600)
        assert said(talk)[-1] == "late"

    def test_blocks_are_edited_as_json(self, talk: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self.edit(talk, 'sed -i \'s/"b"/"B"/\' "$1"', monkeypatch, tmp_path, "main", "--json-blocks")
        assert said(talk)[-1] == "B"


class TestVersions:
    def test_lists_trees_and_logs_show_which_of_how_many(self, talk: Command) -> None:
        talk("edit", "main~3", "Q?", "--keep")
        assert "user      Q? 2/2\n" in talk("log", "main").out
        assert "user      q? 1/2\n" in talk("tree", "main").out
        assert [line.split()[0:2] for line in talk("siblings", "main~3").out.splitlines()] == [
            ["1/2", talk("siblings", "main~3").out.split()[1]],
            ["*", "2/2"],
        ]
        lines = talk("siblings", "main~3", "--json").json_lines
        assert [(line["version"], line["versions"], line["current"]) for line in lines] == [(1, 2, False), (2, 2, True)]
        last = talk("log", "main", "--json").json_lines[-1]
        assert (last["version"], last["versions"]) == (2, 2)
        drawn = {line["id"]: line.get("version") for line in talk("tree", "main", "--json").json_lines}
        assert drawn[last["id"]] == 2

    def test_undo_takes_turns_off_the_edited_branch(self, talk: Command) -> None:
        talk("edit", "main~2", "A", "--keep")
        assert len(talk("undo", "main", "2", "--json").json["left"]) == 2
        assert said(talk) == ["q?", "A"]

    @pytest.mark.parametrize("words", [("undo", "trip", "3"), ("bookmark", "rm", "trip")])
    def test_a_name_that_goes_takes_its_title_along_and_the_advice_brings_both_back(
        self, talk: Command, words: tuple[str, ...]
    ) -> None:
        talk("add", "Where to?", "--bookmark", "trip")
        talk("title", "trip", "Lisbon")
        before = talk("list", "--name", "trip").out
        done = talk(*words)
        assert "Lisbon" not in talk("list").out
        assert "brings it back, with its title and tags" in done.err
        [advice] = re.findall("'headish (.*?)'", done.err)
        talk(*advice.split())
        assert talk("list", "--name", "trip").out == before


class TestDiff:
    def test_elsewhere_than_at_a_terminal_words_stand_in_brackets(self, talk: Command) -> None:
        talk("edit", "main~2", "a new answer", "--keep")
        out = talk("diff", "main@{1}", "main").out
        assert out.startswith("fork ")
        assert "\na{+ new answer+}\n" in out
        assert "⋮ 2 turns the same" in out
        assert out.splitlines()[-1] == "turns: 2 the same, 1 changed; words: -0 +2"

    def test_stat_and_json(self, talk: Command) -> None:
        assert talk("diff", "main~2..main", "--stat").out == "turns: 2 added; words: -0 +2\n"
        record = talk("diff", "main~2", "main", "--json").json
        assert [(change["kind"], change["role"], change["before"]) for change in record["changes"]] == [
            ("added", "user", None), ("added", "assistant", None)]  # fmt: skip
        assert record["stat"]["added"] == 2
        assert talk("diff", "main..main", "--stat").out == "turns: nothing differs; words: -0 +0\n"

    def test_a_range_of_the_log(self, talk: Command) -> None:
        assert len(talk("log", "main~2..main").out.splitlines()) == 2
        assert talk.fails("diff", "main") == "two branches are compared: give A and B, or A..B"

    def test_far_lines_are_folded(self, headish: Command) -> None:
        lines = [f"line {index}" for index in range(40)]
        headish("add", "\n".join(lines), "-b", "main")
        headish("edit", "main", "\n".join([*lines[:20], "changed", *lines[21:]]))
        out = headish("diff", "main@{1}", "main").out
        assert "⋮ 17 lines" in out
        assert "line 1\n" not in out
        assert "line 19\n" in out

    @posix
    def test_at_a_terminal_they_have_colours_and_steer_nothing(self, headish: Command) -> None:
        headish("add", "one \x1b[2J two", "-b", "main")
        headish("edit", "main", "one \x1b[2J zwei")
        written = at_terminal("--db", headish.target, "diff", "main@{1}", "main")
        assert "\x1b[31mtwo\x1b[0m\x1b[32mzwei\x1b[0m" in written
        assert "\x1b[2J" not in written
        plain = at_terminal("--db", headish.target, "diff", "main@{1}", "main", env={"NO_COLOR": "1"})
        assert "[-two-]{+zwei+}" in plain
