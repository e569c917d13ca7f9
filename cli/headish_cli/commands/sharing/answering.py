"""``serve-stdio``: this history for another machine that has it as a live remote."""

from __future__ import annotations

import sys

import click

from headish_cli.options import GlobalOptions, pass_settings


@click.command("serve-stdio")
@click.option(
    "--names", metavar="PATTERN", default="*", show_default=True, help="Let the caller move these bookmarks alone."
)
@click.option("--trust", is_flag=True, help="The caller is a machine of yours: its options and its erasures act here.")
@click.option("--create", is_flag=True, help="Make the database, and the space, where they are missing.")
@pass_settings
def serve_stdio_command(settings: GlobalOptions, names: str, trust: bool, create: bool) -> None:
    """Answer another machine that syncs with this history, on standard input and output.

    'headish sync' over ssh runs this on the other machine. To allow a key nothing else, name it in authorized_keys
    there: command="headish --space team --read-only serve-stdio",restrict ssh-ed25519 AAAA…
    """
    with settings.open(create=create and not settings.read_only) as store:
        store.remotes.answer(sys.stdin.fileno(), sys.stdout.fileno(), names=names, trust=trust)
