"""``run``: start a tool so that it talks to its provider through the gateway."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from typing import NamedTuple

import click

from headish_cli.options import PLACE, GlobalOptions, pass_settings, read_file
from headish_cli.printing.output import Told, one_line

TOKEN_VARIABLE = "HEADISH_TOKEN"  # noqa: S105, the name of one
TOKEN_BYTES = 4096
LOOPBACK = "127.0.0.1,localhost"


class GatewayTool(NamedTuple):
    """How to direct a tool to the gateway: by environment variables, by arguments, or both.

    In ``variables``, ``{url}`` is the gateway's address, with the token in it if there is one. In ``arguments``,
    ``{gateway}`` is the address alone, since everybody on a machine can read arguments; ``{token}`` is replaced by
    ``shows_token`` if there is a token: it makes the tool read the token from ``TOKEN_VARIABLE``.
    """

    command: str
    variables: Mapping[str, str]
    arguments: tuple[str, ...] = ()
    shows_token: str = ""

    def command_of(self, gateway: str, token: str | None) -> list[str]:
        """The command and its arguments, without the token itself."""
        shown = self.shows_token if token is not None else ""
        return [
            self.command,
            *(each.replace("{gateway}", gateway).replace("{token}", shown) for each in self.arguments),
        ]

    def variables_of(self, gateway: str, token: str | None) -> dict[str, str]:
        """The environment variables to set. ``NO_PROXY`` keeps the tool from asking a proxy for this machine."""
        url = gateway if token is None else f"{gateway}/t/{token}"
        token_variable = {TOKEN_VARIABLE: token} if token is not None and self.shows_token else {}
        no_proxy = {name: ",".join(filter(None, (os.environ.get(name), LOOPBACK))) for name in ("NO_PROXY", "no_proxy")}
        return {name: value.replace("{url}", url) for name, value in self.variables.items()} | token_variable | no_proxy


TOOLS = {
    # Each was tried with a token and without. Claude Code 2.1.332, tried on 2026-11-26.
    "claude": GatewayTool("claude", {"ANTHROPIC_BASE_URL": "{url}/anthropic"}),
    # Codex 0.171.0, tried on 2026-11-26: no variable sets the address. It uses WebSockets where its provider does.
    "codex": GatewayTool(
        "codex",
        {},
        (
            "-c", 'model_provider="headish"',
            "-c", 'model_providers.headish={name="headish", base_url="{gateway}/openai/v1", env_key="OPENAI_API_KEY", '
            'wire_api="responses", supports_websockets=true{token}}',
        ),
        shows_token=f', env_http_headers={{"x-headish-token"="{TOKEN_VARIABLE}"}}',
    ),
    # Gemini CLI 0.61.0, tried on 2026-11-26, with an API key.
    "gemini": GatewayTool("gemini", {"GOOGLE_GEMINI_BASE_URL": "{url}/gemini"}),
    # llm uses OpenAI's SDK, which reads the variable (openai 3.54.0, read on 2026-11-22).
    "llm": GatewayTool("llm", {"OPENAI_BASE_URL": "{url}/openai/v1"}),
    # Programs that use the providers' official SDKs, or Ollama's.
    "sdk": GatewayTool(
        "",
        {
            "ANTHROPIC_BASE_URL": "{url}/anthropic",
            "OPENAI_BASE_URL": "{url}/openai/v1",
            "GOOGLE_GEMINI_BASE_URL": "{url}/gemini",
            "OLLAMA_HOST": "{url}/ollama",
        },
    ),
}  # fmt: skip
"""The tools by name. The comments say which version was tried."""
NAMES = ", ".join(name for name, tool in TOOLS.items() if tool.command)


@click.command("run", context_settings={"ignore_unknown_options": True})
@click.option("--token-file", type=PLACE, metavar="FILE",
              help="A file with the token that opens another space; else HEADISH_TOKEN has it.")  # fmt: skip
@click.argument("tool")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@pass_settings
def run_command(settings: GlobalOptions, token_file: str | None, tool: str, arguments: tuple[str, ...]) -> None:
    """Start TOOL so that the gateway records its calls.

    TOOL is claude, codex, gemini or llm. 'headish serve' must run for this database. What follows -- goes to the
    tool: headish run claude -- -p "Hello". Its conversations appear in 'headish list'. 'headish serve --env TOOL'
    prints what is set, for other ways to start it. No argument takes a token: everybody on a machine can read them.
    """
    entry = TOOLS.get(tool)
    if entry is None or not entry.command:
        raise click.UsageError(
            f"run starts {NAMES}, not {tool[:80]!r}: 'headish serve --env sdk' is for other programs"
        )
    token = os.environ.get(TOKEN_VARIABLE) or None if token_file is None else read_token(token_file)
    gateway = find_gateway(settings)
    words = [*entry.command_of(gateway, token), *arguments]
    try:
        # Replaces this process, so that the tool itself has the terminal, the signals and the exit code.
        os.execvpe(words[0], words, {**os.environ, **entry.variables_of(gateway, token)})  # noqa: S606, it is asked for
    except FileNotFoundError:
        raise Told(f"{entry.command} is not installed, or not on the path") from None


def read_token(file: str) -> str:
    """Read the token in a file. Raises: UsageError; OSError; TooLarge."""
    from headish.values.access.tokens import TOKEN  # late: most tools need none

    token = read_file(file, TOKEN_BYTES).decode("ascii", "replace").strip()
    if not TOKEN.fullmatch(token):
        raise click.UsageError(f"{one_line(file, None)} holds no token: 'headish token add' prints one")
    return token


def print_variables(settings: GlobalOptions, tool: str) -> None:
    """Print the lines for a shell that direct a tool to the gateway, and the command to start it with, as a comment."""
    entry = TOOLS.get(tool)
    if entry is None:
        raise click.UsageError(f"--env knows {', '.join(TOOLS)}, not {tool[:80]!r}")
    gateway = find_gateway(settings)
    for name, value in entry.variables_of(gateway, None).items():
        click.echo(f"export {name}={shlex.quote(value)}")
    if entry.arguments:
        click.echo("# " + shlex.join(entry.command_of(gateway, None)))


def find_gateway(settings: GlobalOptions) -> str:
    """The address of the gateway that runs for the database. Raises: Told if none runs."""
    from headish.serve.processes.settings import find_folder
    from headish.serve.processes.supervising import find_addresses

    addresses = find_addresses(find_folder(settings.target))
    if addresses is None or addresses.gateway is None:
        raise Told("no gateway runs for this database: start it with 'headish serve'")
    return addresses.gateway
