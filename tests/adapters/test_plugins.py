"""What other packages say of conversations: asked where a conversation names them, and no danger to anybody else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from headish import Store
from support.command import HEADISH, Command
from support.packages import Bring, bringing

PAGE = Path(__file__).resolve().parents[2] / "docs/how-to/write-an-adapter.md"
MODULE = """
from headish.adapters.plugins import Description

def describe(read, conversation):
    return Description(title=f"Notes of {conversation.name}", lines=["one line", "\\x1b[2Jtwo"])

def fail(read, conversation):
    raise ValueError("out of ideas")

def wrong(read, conversation):
    return "text"

def silent(read, conversation):
    return None
"""


@pytest.fixture
def bring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bring:
    """Make a package that brings adapters, as an installed one."""
    return bringing("headish.adapters", tmp_path / "installed", monkeypatch)


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(str(tmp_path / "ours.db"))


def keep(command: Command, name: str, adapter: object) -> None:
    with Store.open(command.target) as store:
        store.write(lambda write: write.extend(name, ["Hello"], app={"adapter": adapter}))


def test_an_adapter_calls_its_conversation_and_says_what_it_keeps(command: Command, bring: Bring) -> None:
    bring("noting", MODULE, notes="describe")
    keep(command, "mine", "notes")
    assert "Notes of mine" in command("list").out
    shown = command("show", "mine").out.splitlines()
    assert [line.split() for line in shown[-2:]] == [["notes:", "one", "line"], ["notes:", "\\x1b[2Jtwo"]]


def test_a_title_that_people_gave_stays(command: Command, bring: Bring) -> None:
    bring("noting", MODULE, notes="describe")
    keep(command, "mine", "notes")
    command("title", "mine", "My own")
    listed = command("list").out
    assert "My own" in listed
    assert "Notes of" not in listed


def test_what_is_not_installed_or_says_nothing_changes_nothing(command: Command, bring: Bring) -> None:
    bring("noting", MODULE, quiet="silent")
    for name, adapter in (("one", "nobody"), ("two", "quiet"), ("three", 7)):
        keep(command, name, adapter)
    assert command("list").out.count("Hello") >= 3
    for name in ("one", "two", "three"):
        assert command("show", name).out.splitlines()[-1].strip() == "Hello"


def test_a_broken_package_is_named_once_and_stops_nothing(command: Command, bring: Bring) -> None:
    bring("noting", MODULE, notes="describe", failing="fail", wrong="wrong")
    bring("shaky", "import nothing_of_that_name", shaky="describe")
    for adapter in ("notes", "failing", "wrong", "shaky"):
        keep(command, adapter, adapter)
        keep(command, f"{adapter}-again", adapter)
    done = command("list")
    assert "Notes of notes" in done.out
    told = [line for line in done.err.splitlines() if "does not work" in line]
    assert sorted(line.split(" does not")[0] for line in told) == [
        "failing of the package noting (headish.adapters)",
        "shaky of the package shaky (headish.adapters)",
        "wrong of the package noting (headish.adapters)",
    ]


@pytest.mark.slow
def test_nothing_is_looked_for_where_no_conversation_asks(command: Command) -> None:
    with Store.open(command.target) as store:
        store.add_turn("Hello", bookmark="plain")
    code = (
        "import sys; from headish_cli.main import main; main(['--db', sys.argv[1], 'list'], standalone_mode=False);"
        "print(*{'headish.adapters.plugins', 'importlib.metadata'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code, command.target], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[1:] == [""]


@pytest.mark.slow
def test_the_package_of_the_how_to_is_installed_and_runs(tmp_path: Path) -> None:
    source, target = tmp_path / "headish-notebook", tmp_path / "site"
    source.mkdir()
    page = PAGE.read_text("utf-8")
    for name, text in re.findall(r"^```\w+ (\S+)\n(.*?)^```$", page, re.M | re.S):
        (source / name).write_text(text)
    pip = (sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--no-build-isolation")
    subprocess.run([*pip, "--target", str(target), str(source)], check=True, timeout=120)
    example = re.search(r"^```python\n(.*?)^```$", page, re.M | re.S)
    assert example is not None
    subprocess.run([sys.executable, "-c", example[1]], cwd=tmp_path, check=True, capture_output=True, timeout=60)
    environment = {**os.environ, "PYTHONPATH": str(target), "HEADISH_DB": str(tmp_path / "notes.db")}

    def run(*words: str) -> str:
        done = subprocess.run([str(HEADISH), *words], env=environment, capture_output=True, text=True, check=True)
        return done.stdout

    assert "Notebook: tour of Bath" in run("list")
    assert run("show", "tour%20of%20Bath").splitlines()[-1].split() == ["notebook:", "runs:", "2"]
