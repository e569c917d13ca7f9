"""The man pages are those of the commands, and ``man`` shows them without a warning."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from runpy import run_path

import click
import pytest

from headish_cli.main import COMMANDS, main
from headish_cli.topics import TOPICS

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = sorted((DOCS / "man").iterdir())


def shown(page: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """A page as ``man`` lays it out for 80 columns."""
    environment = {**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8", "PAGER": "cat"}
    line = ["man", *options, "--local-file", str(page)]
    return subprocess.run(line, env=environment, capture_output=True, text=True, timeout=60, check=True)


def test_the_pages_are_what_the_commands_say() -> None:
    written = run_path(str(DOCS / "man_pages.py"))["write_man_pages"]()
    assert {page.name: page.read_text("utf-8") for page in PAGES} == written, "run `make man`"


def test_there_is_a_page_for_each_command() -> None:
    assert {page.name for page in PAGES} == {"headish.1", *(f"headish-{name}.1" for name in COMMANDS)}


@pytest.mark.skipif(shutil.which("man") is None, reason="man is missing: install man-db and groff")
@pytest.mark.slow
def test_man_shows_every_page_without_a_warning_and_all_options_of_it() -> None:
    wrong: list[str] = []
    for page in PAGES:
        done = shown(page, "--warnings=all")
        wrong += [f"{page.name}: {done.stderr}"] if done.stderr else []
        wrong += [
            f"{page.name} says nothing of {option}" for option in options_of(page.stem) if option not in done.stdout
        ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.skipif(shutil.which("man") is None, reason="man is missing: install man-db and groff")
@pytest.mark.slow
def test_the_first_page_has_every_command_and_topic_as_it_is_typed() -> None:
    text = shown(DOCS / "man" / "headish.1").stdout
    assert [name for name in COMMANDS if f"headish-{name}(1)" not in text] == []
    lines = {line.strip() for topic in TOPICS.values() for line in topic.splitlines()}
    assert lines <= {line.strip() for line in text.splitlines()}


def options_of(page: str) -> set[str]:
    command: click.Command | None = main
    if name := page.removeprefix("headish").removeprefix("-"):
        command = main.get_command(click.Context(main), name)
    assert command is not None
    below = list(command.commands.values()) if isinstance(command, click.Group) else []
    return {
        max(each.opts, key=len)
        for found in (command, *below)
        for each in found.params
        if isinstance(each, click.Option) and not each.hidden
    }
