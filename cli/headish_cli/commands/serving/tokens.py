"""``token``: add, list and remove the tokens that let programs use a server of headish."""

from __future__ import annotations

from typing import Any

import click

from headish_cli.configuration import read_duration
from headish_cli.options import GlobalOptions, pass_settings, settings_and_json
from headish_cli.printing.briefs import BriefGroup
from headish_cli.printing.output import one_line, print_json, print_json_lines, say

RIGHTS = ("read", "write", "gateway", "sync", "erase", "trust")


class Duration(click.ParamType[float]):
    """A duration such as 30m, 12h or 90d, as seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds = read_duration(str(value))
        if seconds is None:
            self.fail(f"{value!r} is not a time such as 30m, 12h or 90d", param, ctx)
        return seconds


DURATION = Duration()


@click.group("token", cls=BriefGroup)
def token_command() -> None:
    """The tokens with which programs ask 'headish serve': add, list, remove.

    A token opens one space (--space NAME), with the rights that you give it. headish stores only its hash, and no
    backup holds that.
    """


@token_command.command("add")
@click.argument("label")
@click.option("--right", "rights", multiple=True, required=True, type=click.Choice(RIGHTS),
              help="What it allows; repeat it for more. None implies another.")  # fmt: skip
@click.option("--expires", type=DURATION, metavar="TIME", help="When it ends, such as 90d; without it, never.")
@settings_and_json
def add_command(
    settings: GlobalOptions, label: str, rights: tuple[Any, ...], expires: float | None, as_json: bool
) -> None:
    """Make a token called LABEL, and show it. It is shown this once."""
    with settings.open_database() as database:
        token = database.access_tokens.add(label, space=settings.space, rights=rights, expires_seconds=expires)
    if as_json:
        print_json({"label": label, "space": settings.space, "rights": list(rights), "token": token})
        return
    # The token alone is on stdout, for a script to store; headish has only its hash (ADR 0090).
    say(f"Keep it where keys are kept; 'headish token remove {label}' revokes it.")
    click.echo(token)


@token_command.command("list")
@settings_and_json
def list_command(settings: GlobalOptions, as_json: bool) -> None:
    """List the tokens of all spaces, without what they are."""
    with settings.open_database() as database:
        tokens = [each.to_dict() for each in database.access_tokens.list()]
    if as_json:
        print_json_lines(tokens)
        return
    for each in tokens:
        until = f"until {each['expires'][:10]}" if "expires" in each else "for good"
        facts = (one_line(each["label"], 40), each["space"], ",".join(each["rights"]), until)
        click.echo("  ".join(facts))
    if not tokens:
        say("There is no token: 'headish token add LABEL --right read' makes one.")


@token_command.command("remove")
@click.argument("label")
@pass_settings
def remove_command(settings: GlobalOptions, label: str) -> None:
    """Revoke the token LABEL. Servers notice within seconds."""
    with settings.open_database() as database:
        database.access_tokens.remove(label, space=settings.space)
    say(f"Removed the token {label}.")
