"""What the how-to tells people to write for Claude Code, Codex and an IDE starts a server that answers."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import sys
import tomllib
from pathlib import Path

import pytest

from headish import Store
from support.command import HEADISH

pytestmark = pytest.mark.slow
PAGE = Path(__file__).parents[3] / "docs/how-to/let-agents-look-things-up.md"


def commands() -> dict[str, list[str]]:
    """The command of each program, by what its configuration calls the list of servers."""
    text = PAGE.read_text("utf-8")
    found = {"claude mcp add": shlex.split(re.findall(r"claude mcp add headish -- (.+)", text)[0])}
    for kind, block in re.findall(r"```(json|toml)\n(.+?)```", text, re.DOTALL):
        for name, servers in (json.loads(block) if kind == "json" else tomllib.loads(block)).items():
            found[name] = [servers["headish"]["command"], *servers["headish"]["args"]]
    return found


async def ask(command: list[str], database: Path) -> str:
    from mcp import ClientSession
    from mcp.client.stdio import StdioServerParameters, get_default_environment, stdio_client

    assert command[0] == "headish"
    started = StdioServerParameters(
        command=str(HEADISH), args=command[1:], env={**get_default_environment(), "HEADISH_DB": str(database)}
    )
    async with stdio_client(started, errlog=sys.stderr) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        result = await session.call_tool("search_history", {"query": "greenhouse"})
        assert not result.is_error, result.content
        return str(result.content[0].text)


def test_every_configuration_starts_a_server(tmp_path: Path) -> None:
    for space in ("default", "work"):
        with Store.open(tmp_path / "talk.db", space=space) as store:
            store.add_turn(f"A greenhouse, {space}?", bookmark="garden")
    found = commands()
    assert set(found) == {"claude mcp add", "mcpServers", "mcp_servers", "servers"}
    for name, command in found.items():
        space = "work" if "work" in command else "default"
        assert f"A greenhouse, {space}?" in asyncio.run(ask(command, tmp_path / "talk.db")), name
