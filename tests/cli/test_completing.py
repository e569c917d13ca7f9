"""Completion in the shells themselves, typed at a terminal; and no name that lies in a history runs anything there."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from headish import Store
from headish_cli.completing import is_a_word
from support.command import HEADISH
from support.terminal import Terminal

SHELLS = {"bash": ("--noprofile", "--norc"), "zsh": ("-f",), "fish": ("--no-config",)}
SET_UP = {
    "bash": "PS1='rea''dy> '; bind 'set enable-bracketed-paste off'; eval \"$(headish completion bash)\"",
    "zsh": "PROMPT='rea''dy> '; autoload -U compinit; compinit -u -D; eval \"$(headish completion zsh)\"",
    "fish": "function fish_prompt; echo -n 'rea''dy> '; end; headish completion fish | source",
}
"""The lines of ``headish completion --help``, and a prompt that the line itself does not show."""
RUNNING = ("$(touch$IFS'pwned')", "`touch$IFS'pwned'`", ";touch$IFS'pwned'", "|touch$IFS'pwned'", ">pwned")
HOSTILE = [f"evil{number}{words}" for number, words in enumerate(RUNNING)]
WORDS = "hello $(touch pwned) `touch pwned`; touch pwned"


STAND_IN = """#!/bin/sh
if [ -n "$_HEADISH_COMPLETE" ] || [ "$1" = completion ]; then exec '{headish}' "$@"; fi
printf 'said<%s>\\n' "$*"
"""
"""A command that completes as headish does, and otherwise tells the line that the shell made of what was typed."""


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Terminal]:
    """A shell in a folder of its own that completes ``headish``, on a history with names and words from elsewhere."""
    program = shutil.which(request.param)
    if program is None:
        pytest.skip(f"{request.param} is missing: install the package {request.param}")
    with Store.open(tmp_path / "a.db") as store:
        for name in ("mountains", *HOSTILE):
            store.add_turn(WORDS, bookmark=name)
    stand_in = tmp_path / "bin" / "headish"
    stand_in.parent.mkdir()
    stand_in.write_text(STAND_IN.format(headish=HEADISH))
    stand_in.chmod(0o755)
    env = {
        "HEADISH_DB": str(tmp_path / "a.db"), "PATH": f"{stand_in.parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path),
    }  # fmt: skip
    terminal = Terminal(*SHELLS[request.param], program=program, env=env, columns=160)
    terminal.type(f"cd '{tmp_path}'; {SET_UP[request.param]}\n")
    terminal.wait_for("ready> ")
    yield terminal
    terminal.process.kill()
    terminal.wait()


@pytest.mark.slow
def test_a_shell_completes_commands_options_and_names_and_no_name_runs_anything(
    shell: Terminal, tmp_path: Path
) -> None:
    for typed, line in (
        ("sear", "search"),
        ("bookmark set --abs", "bookmark set --absent"),
        ("help env", "help environment"),
        ("show mou", "show mountains"),
        *((f"show {name[:5]}", f"show {name[:5]}") for name in HOSTILE),
    ):
        shell.type(f"headish {typed}\t\n")
        shell.wait_for(f"said<{line}")
    assert not list(tmp_path.glob("*pwned*"))


def test_what_a_shell_would_not_take_as_a_word_is_not_offered() -> None:
    """Every character of ASCII that a name may hold, as the shell's own lexer sees it."""
    for character in map(chr, range(33, 127)):
        is_plain = shlex.quote(character) == character
        assert is_a_word(f"a{character}b") <= (is_plain or character in "~"), character
    assert is_a_word("münchen/日本-1.0")
    assert not any(map(is_a_word, ("a b", "a\tb", "a\u202eb", "a\u200bb", *HOSTILE)))
