"""Claude Code, Codex and Gemini CLI themselves, started by ``headish run``, and opencode, with a whole tool loop each.

HEADISH_TEST_CLIENTS names the folder of their commands (``npm install @anthropic-ai/claude-code @openai/codex
@google/gemini-cli opencode-ai`` makes ``node_modules/.bin``); without it, those on the path are taken. What is missing
is skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headish import Store
from headish.content.forms.layout import is_same
from headish.gateway.passing.access import ACCESS_FILE
from headish.values.blocks import kind_of
from support.command import Command
from support.scripted_models import answer_in_socket, answer_tools
from support.served import Served, served
from support.sockets import SocketUpstream
from support.upstream import Asked, Step, Upstream, head

pytestmark = pytest.mark.slow
PATIENCE_SECONDS = 300.0
KEYS = {
    "ANTHROPIC_API_KEY": "sk-ant-api03-abcdefghijklmnop0123456789",
    "OPENAI_API_KEY": "sk-proj-abcdefghijklmnop0123456789",
    "GEMINI_API_KEY": "AIzaabcdefghijklmnopqrstuvwxyz0123456789",
}
FOLDER = os.environ.get("HEADISH_TEST_CLIENTS")


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream(answer_tools) as made:
        yield made


@pytest.fixture
def sockets() -> Iterator[SocketUpstream]:
    with SocketUpstream(answer_in_socket) as made:
        yield made


def run(server: Served, tool: str, *words: str, token: str | None = None) -> str:
    """What the tool prints that ``headish run`` starts. Nothing of ours is in its environment but the token."""
    return start(server, tool, *by_headish(server, tool), *words, **({} if token is None else {"HEADISH_TOKEN": token}))


def by_headish(server: Served, tool: str) -> tuple[str, ...]:
    return sys.executable, "-m", "headish_cli", "--db", str(server.database), "run", tool, "--"


def start(server: Served, tool: str, *words: str, **variables: str) -> str:
    """What a command prints. It has a home of its own, and finds the tool."""
    process = begin(server, tool, *words, **variables)
    out, error = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, out + error
    return out


def begin(server: Served, tool: str, *words: str, **variables: str) -> subprocess.Popen[str]:
    """Start a command, in a group of processes of its own."""
    found = shutil.which(tool, path=FOLDER)
    if found is None:
        pytest.skip(f"{tool} is not installed: HEADISH_TEST_CLIENTS names the folder of its command")
    home = server.folder / "home"
    (home / "work").mkdir(parents=True, exist_ok=True)
    for name in (".gemini", ".codex"):
        (home / name).mkdir(exist_ok=True)
    (home / ".gemini" / "settings.json").write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}')
    path = os.pathsep.join((str(Path(found).parent), os.environ["PATH"]))
    kept = {name: value for name, value in os.environ.items() if "proxy" not in name.lower() and name != "NODE_OPTIONS"}
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "HEADISH_CONFIG": os.devnull}
    return subprocess.Popen(
        words,
        env={**kept, **KEYS, **quiet, **variables, "HOME": str(home), "CODEX_HOME": str(home / ".codex"), "PATH": path},
        cwd=home / "work",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def bodies(upstream: Upstream, path: str) -> list[Any]:
    return [json.loads(each.body) for each in upstream.asked if each.method == "POST" and path in each.target]


def check(folder: Path, asked: list[Any], path: str, prefix: str) -> None:
    """Each request that was asked comes back equal; the thread holds the call, its result and the answers, once."""
    with Store.open(folder / "history.db") as store:
        calls = [
            call for call in reversed(store.calls.list()) if call.facts.method == "POST" and path in call.facts.path
        ]
        assert [is_same(store.calls.body(call.id), sent) for call, sent in zip(calls, asked, strict=True)] == [
            True for _ in asked
        ]
        named = [name for name in store.bookmarks if name.startswith(prefix) and name.count("/") == 1]
        assert len(named) == 1, list(store.bookmarks)
        kinds = [kind_of(block) for turn in store.thread(named[0]) for block in store.blocks(turn.id)]
        assert kinds.count("tool_use") == kinds.count("tool_result") == 1
        answers = [turn for turn in store.log(named[0]) if turn.meta.role == "assistant"]
        assert len(answers) == 3
        assert all(turn.meta.reply for turn in answers), "each is the answer that came, and not a copy"
        assert store.verify().problems == ()
    for file in folder.rglob("history.db*"):
        for key in KEYS.values():
            assert not file.is_file() or key.encode() not in file.read_bytes(), file


def test_claude_code_lists_and_goes_on(tmp_path: Path, upstream: Upstream) -> None:
    with served(tmp_path, upstream) as server:
        assert "Answer to" in run(server, "claude", "-p", "listing please", "--allowedTools", "Bash")
        assert "Answer to" in run(server, "claude", "-p", "and more", "--continue")
        assert server.end() == 0
    check(tmp_path, bodies(upstream, "/messages"), "/messages", "claude-code/")


CODEX = ("exec", "--skip-git-repo-check", "-s", "danger-full-access")


def test_codex_lists_and_goes_on_through_websockets(tmp_path: Path, sockets: SocketUpstream) -> None:
    with served(tmp_path, sockets) as server:
        assert "Answer to" in run(server, "codex", *CODEX, "listing please")
        assert "Answer to" in run(server, "codex", *CODEX, "resume", "--last", "and more")
        assert server.end() == 0
    assert len(sockets.opened) == 2
    assert any("previous_response_id" in each for each in sockets.asked)
    check(tmp_path, sockets.asked, "/responses", "codex/")


def test_codex_lists_and_goes_on_where_the_provider_opens_no_websocket(tmp_path: Path, upstream: Upstream) -> None:
    with served(tmp_path, upstream) as server:
        assert "Answer to" in run(server, "codex", *CODEX, "listing please")
        assert "Answer to" in run(server, "codex", *CODEX, "resume", "--last", "and more")
        assert server.end() == 0
    check(tmp_path, bodies(upstream, "/responses"), "/responses", "codex/")


def test_opencode_lists_and_goes_on(tmp_path: Path, upstream: Upstream) -> None:
    with served(tmp_path, upstream) as server:
        options = {"baseURL": f"{server.gateway}/anthropic/v1"}
        asked = {"OPENCODE_CONFIG_CONTENT": json.dumps({"provider": {"anthropic": {"options": options}}})}
        begin = ("opencode", "run", "-m", "anthropic/claude-sonnet-4-5")
        assert "Answer to" in start(server, "opencode", *begin, "listing please", **asked)
        assert "Answer to" in start(server, "opencode", *begin, "--continue", "and more", **asked)
        assert server.end() == 0
    conversation = [each for each in bodies(upstream, "/messages") if each.get("tools")]
    assert len(conversation) == 3
    with Store.open(tmp_path / "history.db") as store:
        assert {len(name) for name in store.bookmarks if name.count("/") == 1} == {len("opencode/") + 6}
    check(tmp_path, bodies(upstream, "/messages"), "/messages", "opencode/")


def test_gemini_cli_lists(tmp_path: Path, upstream: Upstream) -> None:
    with served(tmp_path, upstream) as server:
        assert "Answer to" in run(server, "gemini", "--skip-trust", "-y", "-p", "listing please")
        assert server.end() == 0
    with Store.open(tmp_path / "history.db") as store:
        kinds = [kind_of(block) for turn in store.turns() for block in store.blocks(turn.id)]
        assert kinds.count("tool_use") == kinds.count("tool_result") == 1
        assert all(call.facts.broke is None for call in store.calls.list())
        assert all(call.facts.form == "gemini" for call in store.calls.list() if "generateContent" in call.facts.path)
        assert store.verify().problems == ()


def test_gemini_cli_goes_on_in_one_conversation_beside_its_router(tmp_path: Path, upstream: Upstream) -> None:
    """It asks another model before each prompt, with another system prompt and no tools."""
    resume = ("--skip-trust", "-y", "--resume", "latest", "-p")
    with served(tmp_path, upstream) as server:
        run(server, "gemini", "--skip-trust", "-y", "-p", "listing please")
        for text in ("and more", "and the rest"):
            assert "Answer to" in run(server, "gemini", *resume, text)
        assert server.end() == 0
    with Store.open(tmp_path / "history.db") as store:
        shown = [each.conversation for each in store.conversations.list().entries]
        [name] = [each.name for each in shown if "sub-agent" not in each.record.tags]
        assert name is not None
        assert name.count("/") == 1
        said = [store.text(turn.id) for turn in store.log(name) if turn.meta.role == "user"]
        assert said[0] == "and the rest"
        assert "and more" in said
        assert store.verify().problems == ()


LISTS = {
    "claude": ("-p", "listing please", "--allowedTools", "Bash"),
    "codex": (*CODEX, "listing please"),
    "gemini": ("--skip-trust", "-y", "-p", "listing please"),
}


RESUMES = {
    "claude": ("--continue", "-p", "and more"),
    "gemini": ("--skip-trust", "-y", "--resume", "latest", "-p", "and more"),
}


@pytest.mark.parametrize("tool", RESUMES)
def test_ctrl_c_in_the_first_answer_begins_no_other_conversation(tmp_path: Path, upstream: Upstream, tool: str) -> None:
    asked = threading.Event()

    def hang(request: Asked) -> Iterator[Step]:
        if b'"tools"' not in request.body:  # its router
            yield from answer_tools(request)
            return
        yield head(200, "text/event-stream")
        asked.set()
        yield PATIENCE_SECONDS

    with served(tmp_path, upstream) as server:
        upstream.script = hang
        process = begin(server, tool, *by_headish(server, tool), *LISTS[tool])
        assert asked.wait(PATIENCE_SECONDS)
        upstream.gone.clear()
        os.killpg(process.pid, signal.SIGINT)
        assert upstream.gone.wait(PATIENCE_SECONDS), "the gateway ends the request when its client goes away"
        process.communicate(timeout=PATIENCE_SECONDS)
        upstream.script = answer_tools
        assert "Answer to" in run(server, tool, *RESUMES[tool])
        assert server.end() == 0
    with Store.open(tmp_path / "history.db") as store:
        shown = store.conversations.list().entries
        [name] = [each.conversation.name for each in shown if "sub-agent" not in each.conversation.record.tags]
        assert name is not None
        assert name.count("/") == 1
        assert store.verify().problems == ()


def wait_for_token(server: Served, label: str) -> None:
    """The gateway hears of a token within a second."""
    told = server.folder / "history.db.serve" / ACCESS_FILE
    until = time.monotonic() + PATIENCE_SECONDS
    while not told.exists() or f'"{label}"' not in told.read_text():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.parametrize("tool", LISTS)
def test_a_token_brings_a_tool_into_its_space_and_no_further(
    tmp_path: Path, upstream: Upstream, sockets: SocketUpstream, tool: str
) -> None:
    with served(tmp_path, sockets if tool == "codex" else upstream) as server:
        command = Command(str(server.database))
        command("spaces", "add", "work")
        token = command("--space", "work", "token", "add", "tool", "--right", "gateway").out.strip()
        wait_for_token(server, "tool")
        assert "Answer to" in run(server, tool, *LISTS[tool], token=token)
        assert server.end() == 0
    with Store.open(tmp_path / "history.db", space="work") as store:
        kinds = [kind_of(block) for turn in store.turns() for block in store.blocks(turn.id)]
        assert kinds.count("tool_use") == kinds.count("tool_result") == 1
    with Store.open(tmp_path / "history.db") as store:
        assert store.calls.list() == []
    assert not [each for each in (*upstream.asked, *sockets.asked, *sockets.opened) if token in repr(each)]
    for file in tmp_path.rglob("history.db*"):
        assert not file.is_file() or token.encode() not in file.read_bytes(), file
