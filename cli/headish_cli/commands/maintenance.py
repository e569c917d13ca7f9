"""Commands about the store as a whole: ``verify``, ``stats`` and ``db``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from headish_cli.options import Settings, json_option, pass_settings
from headish_cli.printing.output import counted, one_line, print_json, say, write

if TYPE_CHECKING:
    from headish.values.reports import Report


@click.command("verify")
@click.option("--all", "whole", is_flag=True, help="Check every space, and the database's own indexes.")
@json_option
@pass_settings
def verify_command(settings: Settings, whole: bool, as_json: bool) -> None:
    """Check every hash, digest, seal, link and bookmark. The exit code is 1 if something disagrees."""
    if whole:
        with settings.open_database() as database:
            reports = database.verify()
    else:
        with settings.open() as store, _progress(store.stats().turns) as progress:
            reports = {settings.space: store.verify(progress)}
    for space, report in reports.items():
        if as_json:
            from msgspec import to_builtins

            print_json({"space": space, **to_builtins(report)} if whole else report)
        elif space or report.problems:
            _tell_report(report, f"{one_line(space, None)}: " if whole and space else "")
    if any(report.problems for report in reports.values()):
        raise click.exceptions.Exit(1)


def _tell_report(report: Report, where: str) -> None:
    for problem in report.problems:
        click.echo(one_line(f"{where}{problem.subject}: {problem.what}", None))
    found = counted(len(report.problems), "problem") if report.problems else "all in order"
    checked = ((report.turns, "turn"), (report.bookmarks, "bookmark"))
    say(f"{where}{', '.join(counted(*each) for each in checked)}: {found}.")


@click.command("stats")
@json_option
@pass_settings
def stats_command(settings: Settings, as_json: bool) -> None:
    """Count what the space holds."""
    with settings.open() as store:
        stats = store.stats()
    if as_json:
        print_json(stats)
        return
    for name in stats.__struct_fields__:
        click.echo(f"{name.replace('_', ' '):<16}{getattr(stats, name):>16,}")


@click.group("db")
def db_command() -> None:
    """The database itself: where it is, its schema's revision, and its upgrade."""


@db_command.command("path")
@json_option
@pass_settings
def path_command(settings: Settings, as_json: bool) -> None:
    """Print where the database is."""
    path = _without_password(settings.target)
    if as_json:
        print_json({"path": path})
    else:
        write(f"{path}\n")


@db_command.command("current")
@json_option
@pass_settings
def current_command(settings: Settings, as_json: bool) -> None:
    """Print the schema's revision; nothing is changed."""
    from headish.database.dialects import connect
    from headish.database.schema import REVISION
    from headish.database.upgrade import current_revision

    database = connect(settings.target, create=False, read_only=settings.read_only)
    current = current_revision(database)
    database.close()
    if as_json:
        print_json({"current": current, "newest": REVISION})
        return
    click.echo(current or "none")
    if current != REVISION:
        say(f"This headish writes {REVISION}.")


@db_command.command("upgrade")
@pass_settings
def upgrade_command(settings: Settings) -> None:
    """Upgrade the schema, in one transaction. A SQLite database is copied beside itself first."""
    from headish.database.dialects import connect
    from headish.database.schema import REVISION
    from headish.database.upgrade import upgrade_schema

    database = connect(settings.target, create=False, read_only=settings.read_only)
    backup = upgrade_schema(database)
    database.close()
    say(f"The schema is {REVISION}." + (f" The database before the upgrade: {backup}" if backup else ""))


@db_command.command("search-index")
@click.argument("switch", type=click.Choice(["on", "off"]), required=False)
@json_option
@pass_settings
def search_index_command(settings: Settings, switch: str | None, as_json: bool) -> None:
    """Say whether the database keeps a search index, or switch it on or off.

    Off, a search reads every turn, and finds the same. On, each space builds its index at its next search.
    """
    with settings.open_database() as database:
        found = database.search_index(None if switch is None else switch == "on")
    if as_json:
        print_json({"search_index": found})
    else:
        click.echo("on" if found else "off")


def _without_password(target: str) -> str:
    if "://" not in target:
        return target
    from sqlalchemy import make_url

    return make_url(target).render_as_string(hide_password=True)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None] | None]:
    """A bar on a terminal, where there is enough to wait for."""
    if not sys.stderr.isatty() or total < 10_000:
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("verifying", total=total)
        yield lambda checked: bar.advance(task, checked)
