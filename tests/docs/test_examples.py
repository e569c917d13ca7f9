"""README and docs: what they show is what happens.

``console`` blocks are typed, line by line, into one shell a page; what a command prints must be what stands below it,
but for ids, hashes, times and sizes of backups. ``python`` blocks run in the same folder, and print what the ``text``
block behind them says. A block with a name behind its language is a file of that name. Where a page asks a local model,
a server of the test's answers (support/local_model.py), and its address takes the place of the one that the page shows.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from support.command import HEADISH, run_here
from support.local_model import SHOWN, local_model

ROOT = Path(__file__).resolve().parents[2]
HOW_TO = (
    "record.md", "api-messages.md", "training-data.md", "show-to-people.md", "run-tools.md", "ask-a-local-model.md",
    "tool-loop.md", "move-between-providers.md", "store-an-answer.md", "keep-times-and-keys.md",
    "name-conversations.md", "keep-objects.md", "search.md", "feed-another-system.md", "edit-and-undo.md",
    "long-conversations.md", "find-your-way.md", "delete-somebodys-data.md",
    "talk-at-a-terminal.md", "import-from-other-programs.md", "use-a-cloud.md", "count-costs.md",
    "ask-many-at-half-the-price.md", "export-for-others.md",
    "use-any-compatible-server.md",
    "import-from-frameworks-and-services.md", "back-up-and-move.md",
    "cache-long-prompts.md", "sync-two-machines.md", "sync-through-a-bucket.md", "hand-over-a-conversation.md",
    "take-out-a-lost-machine.md", "who-wrote-this.md", "sync-over-ssh.md", "sync-two-databases.md",
    "many-spaces.md", "read-only.md", "from-one-file-to-many-machines.md",
)  # fmt: skip
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs" / "tutorial").glob("*.md")),
    *(ROOT / "docs/how-to" / name for name in HOW_TO),
]
PROGRAMS = {"who-wrote-this.md": "ssh-keygen"}
"""What a page runs that not every system has."""
USUAL_KEY = "the-key-of-the-provider"
"""The key that every page has in its environment; a local model never gets it."""
_FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.M | re.S)
_PLAIN = re.compile(r"""headish(?: +(?:[\w@%+:,./^=-]|(?<=\w)~|'[^']*'|"[^"$`\\]*")+)+""")
"""A command in which the shell expands and redirects nothing."""
_ID = re.compile(r"\b(0[0-9a-z]{7,24}|[0-9a-f]{64}|[0-9a-f]{32}|age1[0-9a-z]{58})\b")
_SIZE = re.compile(r"[\d,]+(?= bytes[,.])")
"""How large a backup or bundle is: random ids compress a little differently each time."""
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:\d\d)?)?")


class Block(NamedTuple):
    """A fenced block of a page; one with a ``file`` is a file of that name."""

    language: str
    file: str
    text: str


class Page(NamedTuple):
    """A page that is being run: where, what its shell exports, and the server in place of the one it shows."""

    folder: Path
    exported: dict[str, str]
    server: str

    def type(self, command: str) -> tuple[int, str]:
        """Exit code and output of a command that is typed into the shell. Where the shell has nothing to do but to find
        the words of ``headish``, it runs in this process, which has imported all of it."""
        command = command.replace(SHOWN, self.server)
        if _PLAIN.fullmatch(command):
            code, printed = run_here(*shlex.split(command)[1:], folder=self.folder, env=self.exported)
            return code, printed.replace(self.server, SHOWN)
        return self.run("sh", "-c", command)

    def export(self, command: str) -> None:
        """What the shell makes of ``export NAME=value``."""
        told = self.run("sh", "-c", f"{command} && env -0")[1]
        self.exported.update(each.split("=", 1) for each in told.split("\0") if each)  # type: ignore[misc]

    def run(self, *words: str) -> tuple[int, str]:
        """Exit code and output of a process, its errors where a terminal would show them."""
        done = subprocess.run(
            [word.replace(SHOWN, self.server) for word in words], cwd=self.folder, env=self.exported,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60,
            check=False,
        )  # fmt: skip
        return done.returncode, done.stdout.replace(self.server, SHOWN)


def blocks(page: Path) -> list[Block]:
    return [Block(*found.groups("")) for found in _FENCE.finditer(page.read_text("utf-8"))]


def shown(text: str) -> str:
    """Text without what differs from run to run. Ids of a list are as long as they need to be."""
    lines = _TIME.sub("TIME", _SIZE.sub("SIZE", _ID.sub("ID", text))).splitlines()
    return "\n".join(line.rstrip() for line in lines).strip()


def commands(text: str) -> Iterator[tuple[str, str]]:
    """``(command, output)`` of a console block."""
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("HEADISH_")}
    # A page that names no database is refused instead of writing into somebody's own.
    kept["HEADISH_DB"] = "the page names no database://"
    kept["HEADISH_CONFIG"] = os.devnull
    return {**kept, "PATH": f"{HEADISH.parent}{os.pathsep}{kept['PATH']}", "OPENAI_API_KEY": USUAL_KEY}


def run_block(page: Page, block: Block, following: Block) -> Iterator[tuple[str, int, str, str]]:
    """What was run, its exit code, what it printed, and what the page says that it prints."""
    if block.file:
        (page.folder / block.file).write_text(block.text, "utf-8")
    elif block.language == "python":
        expected = following.text if following.language == "text" else ""
        yield (block.text, *page.run(sys.executable, "-c", block.text), expected)
    for command, output in commands(block.text) if block.language == "console" else ():
        if command.startswith("export "):
            page.export(command)
        else:
            yield (command, *page.type(command), output)


@pytest.mark.slow
@pytest.mark.postgresql
def test_a_history_goes_to_a_server_and_back_as_the_page_says(
    make_postgresql_database: Callable[[], str], tmp_path: Path
) -> None:
    page, url = Page(tmp_path, environment() | {"HEADISH_DB": "chat.db"}, SHOWN), ""
    for command in ("headish add hello -b main", "headish backup chat.hbackup"):
        assert page.type(command)[0] == 0
    for block in blocks(ROOT / "docs/how-to/back-up-and-move.md"):
        for command in block.text.splitlines() if block.language == "sh" else ():
            # Each restore needs a database of its own, in place of that which the page has somebody make.
            url = make_postgresql_database() if "restore chat." in command else url
            words = command.replace("postgresql://localhost/chat", url)
            assert command == "createdb chat" or page.run("sh", "-c", words)[0] == 0, command
    assert "hello" in page.type("headish --db chat-again.db log main")[1]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_do_what_it_shows(page: Path, tmp_path: Path) -> None:
    program = PROGRAMS.get(page.name)
    if program is not None and shutil.which(program) is None:
        pytest.skip(f"the page runs {program}: install OpenSSH (openssh-client) and run this again")
    found = blocks(page)
    assert any(block.language in ("console", "python") for block in found)
    with local_model(page.name) as server:
        running = Page(tmp_path, environment(), server.url)
        for block, following in zip(found, [*found[1:], Block("", "", "")], strict=True):
            for command, code, printed, expected in run_block(running, block, following):
                assert code == 0, (command, printed)
                assert shown(printed) == shown(expected), command
        assert all(USUAL_KEY not in " ".join(asked.headers.values()) for asked in server.requests)


def test_the_commands_of_make_are_targets() -> None:
    """README's two commands, and those that CONTRIBUTING names."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        named = set(re.findall(r"(?:`|^)make ([a-z]+)", page.read_text("utf-8"), re.M))
        assert named
        assert named <= targets | {"test"}


def test_links_lead_to_pages_that_are_there() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    links = [(page, link) for page in pages for link in re.findall(r"\]\(([^)#\s]+)", page.read_text("utf-8"))]
    assert len(links) > 300
    assert [(page.name, link) for page, link in links if "://" not in link and not (page.parent / link).exists()] == []
