"""``db init`` and ``db distribute``: make the tables, and spread them over the machines of a distributed PostgreSQL."""

from __future__ import annotations

import click

from headish_cli.options import GlobalOptions, settings_and_json
from headish_cli.printing.output import print_json, print_json_lines, say, write


@click.command("init")
@settings_and_json
def init_command(settings: GlobalOptions, as_json: bool) -> None:
    """Make the tables where they are missing, and nothing else: no space, no turn.

    A command that stores something makes them by itself. An older SQLite database is upgraded, after a backup.
    """
    from headish.database.revisions import REVISION
    from headish.database.upgrade import current_revision, ensure_schema

    with settings.connect(create=True) as database:
        database.check_writable()
        before = current_revision(database)
        ensure_schema(database, create=True)
    if as_json:
        print_json({"before": before, "current": REVISION})
    elif before == REVISION:
        say(f"The tables are there already, of the revision {REVISION}.")
    else:
        say(f"{'Made' if before is None else 'Upgraded'} the tables: revision {REVISION}.")


@click.command("distribute")
@click.option("--dry-run", is_flag=True, help="Change nothing; print the statements that would be run.")
@settings_and_json
def distribute_command(settings: GlobalOptions, dry_run: bool, as_json: bool) -> None:
    """Spread the tables over the machines of a PostgreSQL with Citus, by space.

    It leaves spread tables alone, so run it again after 'headish db upgrade'. Nobody may write meanwhile.
    """
    from headish.database.spreading import distribute

    with settings.connect() as database:
        placed = distribute(database, dry_run=dry_run)
    if as_json:
        print_json_lines({"table": each.table, "where": each.where, "statement": each.statement} for each in placed)
        return
    for each in placed:
        if dry_run:
            write(f"{each.statement};\n" if each.statement else "")
        else:
            click.echo(f"{each.table:<14}{_PLACES[each.where]}{'' if each.statement else ', as before'}")
    if dry_run:
        new = sum(each.statement is not None for each in placed)
        say("Nothing was changed." if new else "Nothing is left to spread.")


_PLACES = {
    "spread": "spread by space",
    "everywhere": "whole on every machine",
    "coordinator": "on the coordinator alone",
}
