"""``db secure``, and ``spaces grant``, ``revoke`` and ``members``: have a PostgreSQL server keep the spaces apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from headish_cli.options import GlobalOptions, pass_settings, settings_and_json
from headish_cli.printing.output import counted, one_line, print_json, print_json_lines, say

if TYPE_CHECKING:
    from headish.database.isolation.measures import Measure


@click.command("secure")
@click.option("--app", "apps", multiple=True, metavar="LOGIN",
              help="A login that serves all spaces: it may enter every one. Repeat it for more.")  # fmt: skip
@click.option("--check", is_flag=True, help="Change nothing; list what is missing. The exit code is then 1.")
@settings_and_json
def secure_command(settings: GlobalOptions, apps: tuple[str, ...], check: bool, as_json: bool) -> None:
    """Have PostgreSQL keep the spaces apart: roles, grants, and policies that also apply to the owner of the tables.

    Run it as a superuser, or as a role that owns the tables and may make roles. A second run changes nothing. --check
    looks at the logins of --app, or at the one that asks: nothing applies to a superuser.
    """
    from headish.database.isolation.securing import secure

    with settings.connect() as database:
        result = secure(database, apps, check=check)
    if as_json:
        print_json(result)
    elif not result.secured:
        say("Nothing keeps its spaces apart: 'headish db secure' does it, and --check --json lists how.")
    else:
        for measure in result.missing:
            click.echo(one_line(f"{measure.kind:<9}{measure.on}: {measure.what}", None))
        _tell(len(result.done), result.missing, len(result.tables), check=check)
    if result.missing:
        raise click.exceptions.Exit(1)


def _tell(done: int, missing: tuple[Measure, ...], tables: int, *, check: bool) -> None:
    if missing:
        # For some, only a person can decide what to do, so they have no statement.
        mended = sum(each.statement is not None for each in missing)
        hint = f"; 'headish db secure' mends {mended} of them" if check and mended else ""
        say(f"{counted(len(missing), 'thing')} missing{hint}.")
    elif done:
        say(f"Secured: policies guard {counted(tables, 'table')}. Whoever has the database open opens it anew.")
    else:
        say(f"Secured: policies guard {counted(tables, 'table')}, and nothing is missing.")


@click.command("grant")
@click.argument("name")
@click.argument("login")
@click.option("--role", type=click.Choice(["reader", "writer", "eraser"]), default="writer", show_default=True,
              help="What the login may do in every space that is open to it.")  # fmt: skip
@pass_settings
def grant_command(settings: GlobalOptions, name: str, login: str, role: Literal["reader", "writer", "eraser"]) -> None:
    """Open the space NAME of a secured database to LOGIN, a login of the server."""
    with settings.open_database() as database:
        database.spaces.grant(name, login, role=role)
    say(f"The login {one_line(login, 255)} may enter the space {one_line(name, 255)}, as a {role}.")


@click.command("revoke")
@click.argument("name")
@click.argument("login")
@pass_settings
def revoke_command(settings: GlobalOptions, name: str, login: str) -> None:
    """Close the space NAME to LOGIN. What it has open fails from its next transaction on."""
    with settings.open_database() as database:
        database.spaces.revoke(name, login)
    say(f"The login {one_line(login, 255)} may not enter the space {one_line(name, 255)} any more.")


@click.command("members")
@settings_and_json
def members_command(settings: GlobalOptions, as_json: bool) -> None:
    """List which login may enter which space of a secured database."""
    with settings.open_database() as database:
        members = database.spaces.members()
    if as_json:
        print_json_lines({"login": each.login, "space": each.space, "role": each.role} for each in members)
        return
    for each in members:
        space = "(every space)" if each.space is None else one_line(each.space, 255)
        click.echo(f"{one_line(each.login, 63):<20} {each.role or 'no role':<8} {space}")
