"""``tools``: list and store the tools of MCP servers, as requests offer them to a provider."""

from __future__ import annotations

import click

from headish_cli.options import INPUT, GlobalOptions, pass_settings, read_named, settings_and_json
from headish_cli.printing.briefs import BriefGroup
from headish_cli.printing.output import cells, counted, one_line, pad, print_json, print_json_lines, say, width


@click.group("tools", cls=BriefGroup)
def tools_command() -> None:
    """The tools of MCP servers. A thread selects them by its option servers (headish add --server NAME)."""


@tools_command.command("set")
@click.argument("server")
@click.argument("file", type=INPUT)
@pass_settings
def set_command(settings: GlobalOptions, server: str, file: str) -> None:
    """Store what SERVER answers to MCP's tools/list: FILE is that JSON, - is standard input.

    The tools go out as SERVER___TOOL. What was stored before stays in the history.
    """
    from headish.content import strictjson

    data = read_named(file)
    with settings.open(create=True) as store:
        store.tools.set(server, strictjson.decode(data, "a list of tools"))
        count = len(store.tools[server])
    say(f"{counted(count, 'tool')} of {server}.")


@tools_command.command("list")
@click.argument("server", required=False)
@settings_and_json
def list_command(settings: GlobalOptions, server: str | None, as_json: bool) -> None:
    """List the tools of SERVER, or of all servers, under the names that go out."""
    from headish.providers.shared.tools import served_tools

    with settings.open() as store:
        servers = store.tools.list() if server is None else {server: store.tools[server]}
    tools = [tool for name, listed in servers.items() for tool in served_tools(name, listed)]
    if as_json:
        print_json_lines(tools)
        return
    for name, listed in servers.items():
        if not listed:
            say(f"The server {name} is known and offers no tools.")
    if not servers:
        say("No tools are stored: 'headish tools set SERVER FILE' stores some.")
    room = max((cells(tool["name"]) for tool in tools), default=0)
    for tool in tools:
        # What a server sent: any JSON value, often of several lines.
        described = " ".join(str(tool.get("description") or "").split())
        click.echo(one_line(f"{pad(tool['name'], room)}  {described}", width()).rstrip())


@tools_command.command("get")
@click.argument("server")
@pass_settings
def get_command(settings: GlobalOptions, server: str) -> None:
    """Print the tools of SERVER as they were stored."""
    with settings.open() as store:
        print_json(store.tools[server], pretty=True)


@tools_command.command("rm")
@click.argument("server")
@pass_settings
def rm_command(settings: GlobalOptions, server: str) -> None:
    """Remove the tools of SERVER; their history stays."""
    with settings.open() as store:
        store.tools.remove(server)
    say(f"No tools of {server} are offered now.")
