"""``heads`` and ``children``: list the turns that nothing continues, or those that continue a given turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headish_cli.options import GlobalOptions, headish_argument, settings_and_json, twins_option, versions_option
from headish_cli.printing.output import print_json_lines, say
from headish_cli.printing.paging import paged
from headish_cli.printing.rows import print_turns
from headish_cli.printing.telling import timed_record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headish import Store, Turn

_limit = click.option("-n", "--limit", type=click.IntRange(min=1), help="Show at most this many.")
_after = click.option("--after", metavar="HEADISH", help="Show what comes after this one, the last of the page before.")


@click.command("heads")
@_limit
@_after
@click.option("--by", type=click.Choice(["start", "tip"]), default="tip", show_default=True,
              help="The last stored first (tip), or the branch that began last (start), which costs less.")  # fmt: skip
@click.option("--erased", is_flag=True, help="Show those that were erased, too.")
@versions_option
@twins_option
@settings_and_json
def heads_command(settings: GlobalOptions, as_json: bool, **chosen: Any) -> None:
    """List the turns that nothing continues: the ends of all branches."""
    with settings.open() as store:
        _print(settings, store, store.heads(**chosen), as_json)


@click.command("children")
@headish_argument
@_limit
@_after
@versions_option
@settings_and_json
def children_command(settings: GlobalOptions, headish: str, as_json: bool, **chosen: Any) -> None:
    """List the turns that continue a HEADISH, the first stored first."""
    with settings.open() as store:
        _print(settings, store, store.children(headish, **chosen), as_json)


def _print(settings: GlobalOptions, store: Store, turns: Sequence[Turn], as_json: bool) -> None:
    if as_json:
        print_json_lines(map(timed_record, turns))
        return
    with paged(settings):
        print_turns(store, turns)
    if not turns:
        say("Nothing was found.")
