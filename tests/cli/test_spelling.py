"""The command's errors name its own options, where the library's name the arguments of Python."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import headish as library
from headish import Store
from headish_cli.printing.spelling import spell
from support.command import Command

PYTHON = re.compile(r"\b[a-z_]+=(True|False|None|'auto')|\b[a-z_]+=(?=[ ,):;]|$)|in Python\b|\b[Ss]tore\.\w|\w\(\)")
"""What only a program writes."""
ABOUT_PROGRAMS = ("adapters", "integrations", "aio", "serve", "renderings", "rows", "database/isolation", "transcripts")
"""Folders whose messages come to programs alone, or hold such words in pages, SQL and transcripts."""
NO_PYTHON = {
    "a port stands behind its host, or all ports stand in port=, and not both",  # of a database URL
    "with json=True it must be JSON text",  # the command always gives text there
}
"""What looks like Python, and is not, or is read by programs alone."""


@pytest.fixture
def talk(headish: Command, tmp_path: Path) -> Command:
    headish("add", "-b", "main", "Hello")
    headish("add", "-b", "other", "Bye")
    headish("ptr", "set", "small", "openai/small")
    (tmp_path / "unknown.txt").write_text("neither this nor that\n")
    (tmp_path / "rows.jsonl").write_text('{"role": "user", "content": "Hi"}\n' * 2)
    with Store.open(headish.target) as store:
        store.add_turn([{"type": "text", "text": "a"}, {"type": "tool_use", "id": "c", "name": "f", "input": {}},
                        {"type": "text", "text": "b"}], role="assistant", continues="main")  # fmt: skip
    return headish


CASES = {
    "resolve main --budget auto": "--budget auto needs a pointer with a context window",
    "request main -p small --budget auto": "--budget auto needs a pointer with a context window",
    "audit --since 2026-02-01 --until 2026-01-01": "--since 2026-02-01",
    "--read-only add x": "open it without --read-only or mode=ro",
    "import unknown.txt": "name it with --from: 'headish import --help'",
    "import rows.jsonl --from hf": "--from chat reads a list of messages",
    "add -b main y": "or take it (--force)",
    "request main": "give one (--to) or a provider pointer (-p), name a pointer in the thread (headish add -p)",
    "ptr set big openai/x --header authorization=x": "name the key's variable with --key-env instead",
    "export main --to hf --for-training --raw": "--for-training is what a trainer may see",
    "add --said-at 9990-01-01 y": "--said-at lies between 1970 and tomorrow",
    "add --expect 03hbboj9v1vsxfp8o63bskbz3 y": "--expect needs a bookmark: give -b, or continue",
    "remote add box /nowhere --key-env KEY": "leave out --key-env",
    "ask -c main --system x y -p small": "headish add --role system -c HEADISH",
}


@pytest.mark.parametrize("words", CASES)
def test_a_message_names_the_options_of_the_command(
    words: str, talk: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = talk.run(*words.split())
    assert CASES[words] in done.err
    assert PYTHON.search(done.err) is None


def test_no_message_of_the_library_keeps_the_spelling_of_python() -> None:
    kept = {said for said in _said() if PYTHON.search(spell(said))}
    assert kept == NO_PYTHON


def _said() -> Iterator[str]:
    """The texts that the library raises, with … for what is filled in."""
    folder = Path(library.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        if path.relative_to(folder).as_posix().startswith(ABOUT_PROGRAMS):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Raise):
                found = [each for each in ast.walk(node) if isinstance(each, ast.JoinedStr | ast.Constant)]
                parts = [part for each in found if isinstance(each, ast.JoinedStr) for part in each.values]
                yield from (_text(each) for each in found if each not in parts)


def _text(node: ast.JoinedStr | ast.Constant) -> str:
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return "".join(str(each.value) if isinstance(each, ast.Constant) else "…" for each in parts)


def test_the_name_of_a_file_that_looks_like_python_is_whole(headish: Command, tmp_path: Path) -> None:
    file = tmp_path / "notes (version=final).txt"
    file.write_text("neither this nor that\n")
    assert str(file) in headish.fails("import", "--from", "chatgpt", str(file))


@pytest.mark.parametrize(
    "name", ["x (plain=True).json", "x (format= in Python)", "read_only=True, x", "x, or create=True, y",
             "x with only=y", "said_at lies", "content_type is a media type", "key_env instead"],
)  # fmt: skip
def test_the_name_of_a_file_without_quotes_stays_as_it_was_typed(
    name: str, headish: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert f"cannot import {name}:" in headish.fails("import", name)


def test_a_database_of_headish_is_not_imported_and_the_error_names_commands(
    talk: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADISH_KEYS", str(tmp_path / "keys"))
    own = str(tmp_path / "own.headish")
    Command(own)("add", "Hi", "-b", "brought")
    said = talk.fails("import", own)
    assert PYTHON.search(said) is None
    for command in re.findall("'headish (.*?)'", said):
        talk(*command.replace("NAME", "disk").replace("FILE", own).split())
    assert talk("get", "disk/brought").out == "Hi\n"


@pytest.mark.parametrize(
    "typed", [("get", "notes (plain=True)"), ("ptr", "show", "x with only=y"), ("ask", "Hi", "--to", "key_env instead")]
)
def test_what_somebody_typed_is_quoted_as_it_was_typed(talk: Command, typed: tuple[str, ...]) -> None:
    assert f"'{typed[-1]}'" in talk.run(*typed).err
