"""``headish run``: the token comes from a file or the environment, and is never an argument."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headish.serve.processes import supervising
from headish_cli.commands.serving import running
from support.command import Command

TOKEN = "hdsh_" + "a" * 49


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], dict[str, str]]]:
    """What would be started."""
    found: list[tuple[list[str], dict[str, str]]] = []
    addresses = supervising.Addresses(pid=1, web="http://127.0.0.1:1", gateway="http://127.0.0.1:2")
    monkeypatch.setattr(supervising, "find_addresses", lambda _folder: addresses)
    monkeypatch.setattr(running.os, "execvpe", lambda _file, words, environ: found.append((words, environ)))
    return found


@pytest.mark.parametrize("tool", ["claude", "codex", "gemini", "llm"])
def test_the_token_of_a_file_or_the_environment_is_in_no_argument(
    tool: str, headish: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: list[Any]
) -> None:
    path = tmp_path / "token"
    path.write_text(f"{TOKEN}\n")
    headish("run", "--token-file", str(path), tool, "--", "-p", "Hi")
    assert started, "the file alone says it"
    monkeypatch.setenv("HEADISH_TOKEN", TOKEN)
    headish("run", tool, "--", "-p", "Hi")
    for words, environ in started:
        assert words[-2:] == ["-p", "Hi"]
        assert not any(TOKEN in word for word in words)
        names = {name for name, value in environ.items() if TOKEN in value}
        assert names & {"ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "OPENAI_BASE_URL", "HEADISH_TOKEN"}
    assert len(started) == 2


def test_what_holds_no_token_and_a_token_as_an_argument_start_nothing(
    headish: Command, tmp_path: Path, started: list[Any]
) -> None:
    path = tmp_path / "token"
    for text in ("", "sk-ant-api03-abcdefghijklmnop0123456789", f"{TOKEN} {TOKEN}"):
        path.write_text(text)
        done = headish.run("run", "--token-file", str(path), "claude")
        assert done.code == 2
        assert "holds no token" in done.err
    assert headish.run("run", "--token", TOKEN, "claude").code == 2
    assert started == []
