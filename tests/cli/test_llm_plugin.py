"""``llm headish …``: headish's commands inside llm, which keeps its own log; the log that llm wrote is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from headish.version import __version__
from headish_cli.llm_plugin import register_commands
from support.frameworks import not_installed

WRITES_A_LOG = """
import sys, llm, sqlite_utils
from llm.migrations import migrate

class Echo(llm.Model):
    model_id = "echo"
    can_stream = False
    def execute(self, prompt, stream, response, conversation=None):
        yield "you said " + prompt.prompt

log = sqlite_utils.Database(sys.argv[1])
migrate(log)
conversation = Echo().conversation()
for prompt in ("hello", "again"):
    response = conversation.prompt(prompt)
    response.text()
    response.log_to_db(log)
"""
"""What llm logs of two prompts to a model that needs no network."""
is_in_llm = find_spec("llm") is not None and any(each.name == "headish" for each in entry_points(group="llm"))


def test_the_plugin_hands_everything_on() -> None:
    @click.group()
    def llm() -> None:
        """Another program's command."""

    register_commands(llm)
    invoke = CliRunner().invoke
    assert invoke(llm, ["headish", "--version"]).output == f"headish {__version__}\n"
    assert "llm headish log" in invoke(llm, ["headish", "log", "--help"]).output
    assert invoke(llm, ["headish", "log", "--db", "/nowhere/x.db"]).exit_code == 1
    assert invoke(llm, ["headish", "no-such-command"]).exit_code == 2


@pytest.mark.peers
@pytest.mark.slow
@pytest.mark.skipif(not is_in_llm, reason=not_installed("llm, with headish as its plugin,"))
def test_llm_finds_the_plugin_and_its_log_is_imported_twice(tmp_path: Path) -> None:
    environment = {**os.environ, "LLM_USER_PATH": str(tmp_path), "HEADISH_DB": str(tmp_path / "chat.db")}

    def run(*words: str) -> str:
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120, check=True)
        return done.stdout

    llm = (sys.executable, "-m", "llm")
    log = run(*llm, "logs", "path").strip()
    run(sys.executable, "-c", WRITES_A_LOG, log)
    run(*llm, "headish", "import", log)
    assert run(*llm, "headish", "log", "--json", "hello").count('"role":"assistant"') == 2
    shown = run(*llm, "headish", "export", "hello", "--to", "chat")
    assert all(said in shown for said in ("hello", "you said hello", "again", "you said again"))
    stats = run(*llm, "headish", "stats", "--json")
    run(sys.executable, "-c", WRITES_A_LOG.replace("again", "once more"), log)
    run(*llm, "headish", "import", log)
    assert run(*llm, "headish", "stats", "--json") != stats
    stats = run(*llm, "headish", "stats", "--json")
    run(*llm, "headish", "import", log)
    assert run(*llm, "headish", "stats", "--json") == stats
