"""``sign``: sign a turn with an SSH key, by ``ssh-keygen``."""

from __future__ import annotations

import click

from headish_cli.options import GlobalOptions, headish_argument, key_option, settings_and_json
from headish_cli.printing.output import counted, print_json, say


@click.command("sign")
@headish_argument
@click.option("--thread", is_flag=True, help="Sign all that leads to it, with options and meta.")
@key_option
@settings_and_json
def sign_command(settings: GlobalOptions, headish: str, thread: bool, key: str | None, as_json: bool) -> None:
    """Sign a HEADISH with an SSH key. 'ssh-keygen' may ask for a passphrase or a touch.

    A signature covers the turn, and what was said before it; with --thread also the options and meta of every turn
    before it. It travels with the turn. 'headish log --signatures' shows it.
    """
    with settings.open() as store:
        signed = store.sign(headish, thread=thread, key=key)
    if as_json:
        print_json(signed)
        return
    click.echo(signed.turn)
    say(f"Signed {counted(signed.turns, 'turn')}.")
