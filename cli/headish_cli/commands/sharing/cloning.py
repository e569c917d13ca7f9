"""``clone``: copy the history of a remote into a new store."""

from __future__ import annotations

from typing import Any

import click

from headish_cli.commands.sharing.exchanging import tell_pulled
from headish_cli.commands.sharing.remotes import join_place, joining_options, tell_remote
from headish_cli.options import GlobalOptions, settings_and_json
from headish_cli.printing.output import Told, one_line, print_json


@click.command("clone")
@click.argument("url")
@click.option("--name", default="origin", show_default=True, help="Call the place so.")
@joining_options
@settings_and_json
def clone_command(settings: GlobalOptions, url: str, name: str, as_json: bool, **joining: Any) -> None:
    """Copy the history at URL into a new database: 'remote add', then 'pull'.

    The last turn that came is @. If another machine must invite this one first, it says how; then run 'headish sync'.
    Exit code 1 if a part of the history has not come yet.
    """
    from headish.store.keeping.remotes import Remotes
    from headish.store.keeping.sharing.places import clone_first

    cloned = join_place(settings, Remotes.clone, clone_first, name, url, joining)
    if as_json:
        print_json(cloned)
    else:
        tell_remote(cloned.remote)
        if cloned.pulled is not None:
            tell_pulled(cloned.pulled)
    if cloned.pulled is not None and cloned.pulled.waiting:
        raise Told(f"not all of the history has come yet: 'headish sync {one_line(name, 255)}' goes on")
