"""README and docs: what they show is what happens.

``console`` blocks are typed, line by line, into one shell a page; what a command prints must be what stands below it,
but for ids and times. ``python`` blocks run in the same folder, and print what the ``text`` block behind them says.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from support.command import HEADISH

ROOT = Path(__file__).resolve().parents[2]
HOW_TO = ("record.md", "api-messages.md", "training-data.md", "show-to-people.md", "run-tools.md")
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs" / "tutorial").glob("*.md")),
    *(ROOT / "docs/how-to" / name for name in HOW_TO),
]
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
_ID = re.compile(r"\b0[0-9a-z]{7,24}\b")
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?")


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    text: str


def blocks(page: Path) -> list[Block]:
    return [Block(*found.groups()) for found in _FENCE.finditer(page.read_text("utf-8"))]


def shown(text: str) -> str:
    """Text without what differs from run to run. Ids of a list are as long as they need to be."""
    lines = _TIME.sub("TIME", _ID.sub("ID", text)).splitlines()
    return "\n".join(line.rstrip() for line in lines).strip()


def commands(text: str) -> Iterator[tuple[str, str]]:
    """``(command, output)`` of a console block."""
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("HEADISH_")}
    return {**kept, "PATH": f"{HEADISH.parent}{os.pathsep}{kept['PATH']}"}


def run_python(text: str, folder: Path) -> str:
    command = [sys.executable, "-c", text]
    done = subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_do_what_it_shows(page: Path, tmp_path: Path) -> None:
    exports = ""
    found = blocks(page)
    assert any(block.language in ("console", "python") for block in found)
    for block, following in zip(found, [*found[1:], Block("", "")], strict=True):
        if block.language == "python":
            printed = run_python(block.text, tmp_path)
            assert shown(printed) == shown(following.text if following.language == "text" else "")
        for command, output in commands(block.text) if block.language == "console" else ():
            if command.startswith("export "):
                exports += command + "\n"
                continue
            done = subprocess.run(
                ["sh", "-c", exports + command], cwd=tmp_path, env=environment(), capture_output=True, text=True,
                timeout=60, check=False,
            )  # fmt: skip
            assert done.returncode == 0, (command, done.stderr)
            assert shown(done.stdout + done.stderr) == shown(output), command


def test_the_commands_of_make_are_targets() -> None:
    """README's two commands, and those that CONTRIBUTING names."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        named = set(re.findall(r"(?:`|^)make ([a-z]+)", page.read_text("utf-8"), re.M))
        assert named
        assert named <= targets | {"test"}


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")], ids=lambda page: page.name)
def test_links_lead_to_pages_that_are_there(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target
