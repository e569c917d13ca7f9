"""``mcp``: offer the history to agents as a tool, over MCP."""

from __future__ import annotations

import click

from headish_cli.options import GlobalOptions, pass_settings, read_time
from headish_cli.printing.output import Told


@click.command("mcp")
@click.option("--names", multiple=True, metavar="PATTERN", help="Show only conversations of such names; several times.")
@click.option("--since", metavar="TIME", help="Show only what was said from this time on.")
@click.option("--tag", metavar="TAG", help="Show only conversations with this tag.")
@click.option("--exclude-session", metavar="TEXT", help="Leave out conversations whose name holds this.")
@click.option("--allow-write", is_flag=True, help="Offer save_note and fork, too.")
@pass_settings
def mcp_command(
    settings: GlobalOptions, names: tuple[str, ...], since: str | None, tag: str | None, exclude_session: str | None,
    allow_write: bool,
) -> None:  # fmt: skip
    """Let an agent look things up in the history, over MCP.

    An agent's program starts it, and talks to it on standard input and output: 'claude mcp add headish -- headish
    mcp'. It reads one space (--space) and changes nothing unless you say --allow-write. System prompts, reasoning,
    hidden and erased turns are left out, and what looks like a key is masked. Quoted text can still mislead a
    model.
    """
    try:
        from headish.serve.mcp.scope import Scope
        from headish.serve.mcp.server import serve_stdio
    except ModuleNotFoundError as error:
        # A missing module of headish itself is a broken installation, which the extra would not mend.
        if error.name is not None and error.name.partition(".")[0] == "headish":
            raise
        raise Told("'headish mcp' needs the extra serve: pip install 'headish[serve]'") from None
    scope = Scope(names, read_time(since, "--since"), tag, exclude_session)
    serve_stdio(settings.target, settings.space, scope, allow_write=allow_write and not settings.read_only)
