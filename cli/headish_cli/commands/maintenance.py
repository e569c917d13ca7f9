"""Check and sign what is stored (``verify``, ``sign``), and commands about the database (``stats``, ``db``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from headish_cli.commands.keeping.securing import secure_command
from headish_cli.options import (
    GlobalOptions,
    are_signatures_asked,
    headish_argument,
    key_option,
    pass_settings,
    settings_and_json,
    signatures_option,
    signers_options,
    versions_option,
)
from headish_cli.printing.briefs import BriefGroup
from headish_cli.printing.output import counted, one_line, print_json, print_json_lines, say, write
from headish_cli.printing.progress import counting_turns
from headish_cli.printing.signatures import signature_line

if TYPE_CHECKING:
    from headish.values.results.reports import JudgedSignature, Report


PLACES = {
    "spread": "spread by space",
    "everywhere": "whole on every machine",
    "coordinator": "on the coordinator alone",
}
"""Where the tables of a database on several machines are, in words."""


@click.command("verify")
@click.option("--all", "whole", is_flag=True, help="Check every space, and the database's own indexes.")
@signatures_option
@signers_options
@settings_and_json
def verify_command(
    settings: GlobalOptions, whole: bool, signatures: bool, signers: str | None, revoked: str | None, as_json: bool
) -> None:
    """Check every hash, digest, seal, link and bookmark.

    The exit code is 1 if something disagrees, or if a signature is bad.
    """
    signed: dict[str, list[JudgedSignature]] = {}
    signatures = are_signatures_asked(signatures)
    if whole:
        with settings.open_database() as database:
            reports = database.verify()
            for space in filter(None, reports if signatures else ()):
                signed[space] = database.store(space, create=False).signatures(signers=signers, revoked=revoked)
    else:
        # Halves of answers are verified, too, so the total counts them.
        with settings.open() as store, counting_turns("verifying", store.stats(versions=True).turns) as progress:
            reports = {settings.space: store.verify(progress)}
            if signatures:
                signed[settings.space] = store.signatures(signers=signers, revoked=revoked)
    for space, report in reports.items():
        if as_json:
            from msgspec import to_builtins

            record = {"space": space, **to_builtins(report)} if whole else to_builtins(report)
            print_json(
                record | ({"signatures": [each.to_dict() for each in signed.get(space, ())]} if signatures else {})
            )
        # The report of no space is that of the database's own indexes; it has no turns to count.
        elif space or report.problems:
            _tell_report(report, f"{one_line(space, None)}: " if whole and space else "", signed.get(space))
    is_bad = any(each.verdict == "bad" for found in signed.values() for each in found)
    if is_bad or any(report.problems for report in reports.values()):
        raise click.exceptions.Exit(1)


def _tell_report(report: Report, where: str, signatures: Sequence[JudgedSignature] | None) -> None:
    for problem in report.problems:
        click.echo(one_line(f"{where}{problem.subject}: {problem.what}", None))
    for each in signatures or ():
        click.echo(f"{one_line(f'{where}{each.turn}', None)}: {signature_line(each)}")
    outcome = counted(len(report.problems), "problem") if report.problems else "all in order"
    checked = ((report.turns, "turn"), (report.bookmarks, "bookmark"))
    say(f"{where}{', '.join(counted(*each) for each in checked)}: {outcome}.")
    if signatures is not None:
        verdicts = Counter(each.verdict for each in signatures)
        counts = ", ".join(f"{verdicts[each]:,} {each}" for each in ("good", "unknown", "bad"))
        say(f"{where}{counted(len(signatures), 'signature')}: {counts}.")


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


@click.command("stats")
@versions_option
@settings_and_json
def stats_command(settings: GlobalOptions, versions: bool, as_json: bool) -> None:
    """Count what the space holds."""
    with settings.open() as store:
        stats = store.stats(versions=versions)
    if as_json:
        print_json(stats)
        return
    for name in stats.__struct_fields__:
        click.echo(f"{name.replace('_', ' '):<16}{getattr(stats, name):>16,}")


@click.group("db", cls=BriefGroup)
def db_command() -> None:
    """The database itself: where it is, its tables, their revision and upgrade, where they are, and who sees what."""


db_command.add_command(secure_command)


@db_command.command("init")
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


@db_command.command("path")
@settings_and_json
def path_command(settings: GlobalOptions, as_json: bool) -> None:
    """Print where the database is."""
    path = _without_password(settings.target)
    if as_json:
        print_json({"path": path})
    else:
        write(f"{path}\n")


@db_command.command("current")
@settings_and_json
def current_command(settings: GlobalOptions, as_json: bool) -> None:
    """Print the schema's revision, and change nothing.

    If the database is spread over several machines, names the tables that are not.
    """
    from headish.database.revisions import REVISION
    from headish.database.spreading import not_spread
    from headish.database.upgrade import current_revision

    with settings.connect() as database:
        current, left = current_revision(database), not_spread(database)
    if as_json:
        print_json({"current": current, "newest": REVISION, **({} if left is None else {"not_spread": left})})
        return
    click.echo(current or "none")
    if current != REVISION:
        say(f"This headish writes {REVISION}.")
    _tell_left(left)


@db_command.command("upgrade")
@pass_settings
def upgrade_command(settings: GlobalOptions) -> None:
    """Upgrade the schema, in one transaction. A SQLite database is copied beside itself first."""
    from headish.database.revisions import REVISION
    from headish.database.spreading import not_spread
    from headish.database.upgrade import upgrade_schema

    with settings.connect() as database:
        backup, left = upgrade_schema(database), not_spread(database)
    say(f"The schema is {REVISION}." + (f" The database before the upgrade: {backup}" if backup else ""))
    _tell_left(left)


def _tell_left(left: list[str] | None) -> None:
    """Report the tables that a spread database keeps on its coordinator alone."""
    if left:
        say(f"On the coordinator alone: {', '.join(left)}. 'headish db distribute' spreads them.")


@db_command.command("distribute")
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
            click.echo(f"{each.table:<14}{PLACES[each.where]}{'' if each.statement else ', as before'}")
    if dry_run:
        new = sum(each.statement is not None for each in placed)
        say("Nothing was changed." if new else "Nothing is left to spread.")


@db_command.command("search-index")
@click.argument("switch", type=click.Choice(["on", "off"]), required=False)
@settings_and_json
def search_index_command(settings: GlobalOptions, switch: str | None, as_json: bool) -> None:
    """Say whether the database keeps a search index, or switch it on or off.

    Off, a search reads every turn, and finds the same. On, each space builds its index at its next search.
    """
    with settings.open_database() as database:
        is_on = database.search_index(None if switch is None else switch == "on")
    if as_json:
        print_json({"search_index": is_on})
    else:
        click.echo("on" if is_on else "off")


def _without_password(target: str) -> str:
    if "://" not in target:
        return target
    from headish.database.urls import parse_url

    return str(parse_url(target))
