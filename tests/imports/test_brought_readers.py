"""Readers that other packages bring: found by name when they are asked for, and no danger to anybody else."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from headish import Store
from headish.errors import BrokenExtension, UnknownFormat
from imports.test_chatgpt import TIDES
from support.command import HEADISH, Command
from support.packages import Bring, bringing

PAGE = Path(__file__).resolve().parents[2] / "docs/how-to/write-an-import-reader.md"


@pytest.fixture
def bring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bring:
    """Make a package that brings readers, as an installed one."""
    return bringing("headish.readers", tmp_path / "installed", monkeypatch)


TALK = """
from headish.imports.reader import SourceConversation, SourceMessage

def read(source):
    said = source.file.read().decode().split("|")
    named = [SourceMessage(id=str(at), parent=str(at - 1), content=text) for at, text in enumerate(said)]
    yield SourceConversation(id="one", title="Brought along", messages=named, format="chatgpt")

def fail(source):
    yield from read(source)
    raise ValueError("out of ideas")

def wrong(source):
    yield {"messages": []}

def join(source):
    yield SourceConversation(id="j", messages=[
        SourceMessage(id="c", parents=("a", "b", "a"), content="both"),
        SourceMessage(id="a", content="left", key="chatgpt:c1:n1"), SourceMessage(id="b", content="right"),
    ])
"""


def file_of(folder: Path, text: str) -> Path:
    path = folder / "talk.txt"
    path.write_text(text)
    return path


def test_a_reader_of_another_package_reads_its_format(store: Store, bring: Bring, tmp_path: Path) -> None:
    bring("talks", TALK, talk="read")
    path = file_of(tmp_path, "Hello|Hi")
    assert store.import_file(path, "talk").added == 2
    assert [turn.meta.key for turn in reversed(store.log("brought-along"))] == ["talk:one:0", "talk:one:1"]
    assert store.import_file(path, "talk").added == 0
    path.write_text("Hello|Hi|Bye")
    assert store.import_file(path, "talk").added == 1
    assert store.messages("brought-along", limit=1)[0][1].text == "Bye"


def test_a_message_may_continue_several_in_order(memory: Store, bring: Bring, tmp_path: Path) -> None:
    bring("talks", TALK, joined="join")
    assert memory.import_file(file_of(tmp_path, ""), "joined").added == 3
    [head] = memory.heads()
    assert [memory.get(id).meta.key for id in head.meta.continues] == ["joined:j:a", "joined:j:b"]


def test_a_built_in_name_wins_and_keys_of_other_formats_are_not_taken(
    memory: Store, bring: Bring, tmp_path: Path
) -> None:
    bring("talks", TALK, chatgpt="fail", joined="join")
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([TIDES]))
    assert memory.import_file(path, "chatgpt").added == 4
    assert memory.import_file(file_of(tmp_path, ""), "joined").added == 3


def test_a_broken_package_is_one_error_and_stops_no_other(memory: Store, bring: Bring, tmp_path: Path) -> None:
    bring("shaky", "raise RuntimeError('no')", shaky="read")
    bring("talks", TALK, talk="read", failing="fail", wrong="wrong", missing="nothing")
    path = file_of(tmp_path, "Hello")
    for name, package, reason in (
        ("shaky", "shaky", "RuntimeError: no"), ("failing", "talks", "ValueError: out of ideas"),
        ("wrong", "talks", "TypeError: it yields a dict"), ("missing", "talks", "AttributeError"),
    ):  # fmt: skip
        with pytest.raises(BrokenExtension, match=rf"{name} of the package {package} \(headish\.readers\).*{reason}"):
            memory.import_file(path, name)
    assert memory.import_file(path, "talk").added == 1
    with pytest.raises(UnknownFormat) as raised:
        memory.import_file(path, "absent")
    assert {"talk", "shaky", "chatgpt", "2.2"} <= set(raised.value.known)


def test_the_command_names_a_broken_package_on_one_line(bring: Bring, tmp_path: Path) -> None:
    bring("shaky", "import nothing_of_that_name", shaky="read")
    command = Command(str(tmp_path / "ours.db"))
    told = command.fails("import", "--from", "shaky", str(file_of(tmp_path, "Hello")))
    assert told.startswith("shaky of the package shaky (headish.readers) does not work: ModuleNotFoundError")


@pytest.mark.slow
def test_the_package_of_the_how_to_is_installed_and_runs(tmp_path: Path) -> None:
    source, target = tmp_path / "headish-notes", tmp_path / "site"
    source.mkdir()
    page = PAGE.read_text("utf-8")
    for name, text in re.findall(r"^```\w+ (\S+)\n(.*?)^```$", page, re.M | re.S):
        (source / name).write_text(text)
    pip = (sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--no-build-isolation")
    subprocess.run([*pip, "--target", str(target), str(source)], check=True, timeout=120)
    shown = re.search(r"^```console\n(.*?)^```$", page, re.M | re.S)
    assert shown is not None
    lines = [line for line in shown[1].splitlines() if not line.startswith("$ pip")]
    environment = {**os.environ, "PYTHONPATH": str(target), "HEADISH_DB": str(tmp_path / "ours.db")}
    while lines:
        words = lines.pop(0).removeprefix("$ headish ").split()
        done = subprocess.run(
            [str(HEADISH), *words], cwd=source, env=environment, capture_output=True, text=True, check=True
        )
        assert done.stderr.strip() == lines.pop(0)
