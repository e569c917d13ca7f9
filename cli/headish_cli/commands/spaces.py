"""``spaces``: the histories that a database keeps apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import click

from headish_cli.commands.keeping.securing import grant_command, members_command, revoke_command
from headish_cli.options import GlobalOptions, page_options, pass_settings, settings_and_json
from headish_cli.printing.briefs import BriefGroup
from headish_cli.printing.output import counted, one_line, print_json, print_json_lines, say

if TYPE_CHECKING:
    from headish import Database

Limit: TypeAlias = int | Literal["none"]


class _Limit(click.ParamType[Limit]):
    """A number, or ``none`` for no limit."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Limit:
        if value == "none":
            return "none"
        # Both databases keep it in a column of 64 bits.
        limit: int = click.IntRange(min=0, max=2**63 - 1).convert(value, param, ctx)
        return limit


LIMIT = _Limit()


@click.group("spaces", cls=BriefGroup)
def spaces_command() -> None:
    """The spaces of the database: list, add, rename, limit, and remove an empty one.

    Nothing crosses from one space to another. --space NAME chooses the one that a command uses. Where 'headish db
    secure' has a PostgreSQL server keep them apart, grant, revoke and members say which login may enter which.
    """


spaces_command.add_command(grant_command)
spaces_command.add_command(members_command)
spaces_command.add_command(revoke_command)


@spaces_command.command("list")
@page_options
@settings_and_json
def list_command(settings: GlobalOptions, limit: int | None, after: str | None, as_json: bool) -> None:
    """List the names of the spaces."""
    with settings.open_database() as database:
        names = database.spaces.list(limit=limit, after=after)
    if as_json:
        print_json_lines({"name": name} for name in names)
        return
    for name in names:
        click.echo(one_line(name, 255))


@spaces_command.command("add")
@click.argument("name")
@pass_settings
def add_command(settings: GlobalOptions, name: str) -> None:
    """Make the space NAME."""
    with settings.open_database(create=True) as database:
        database.spaces.add(name)
    say(f"Made the space {name}: headish --space {name} add TEXT")


@spaces_command.command("rename")
@click.argument("old")
@click.argument("new")
@pass_settings
def rename_command(settings: GlobalOptions, old: str, new: str) -> None:
    """Give the space OLD the name NEW. All that it holds stays."""
    with settings.open_database() as database:
        database.spaces.rename(old, new)
    say(f"The space {old} is now {new}.")
    # The next command would not find the space, and `add` would make an empty one of the old name.
    if old == settings.space:
        say(f"Commands go on looking for {old}: use --space {new}, or set HEADISH_SPACE={new}.")


@spaces_command.command("rm")
@click.argument("name")
@click.option("--erase", is_flag=True, help="Erase all that it holds, for good.")
@click.option("--reason", metavar="TEXT", help="Why; kept in the receipt.")
@click.option("--by", metavar="WHO", help="Who asked for it; kept in the receipt.")
@click.option("--dry-run", is_flag=True, help="With --erase: count what would go; change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@settings_and_json
def rm_command(
    settings: GlobalOptions, name: str, erase: bool, reason: str | None, by: str | None, dry_run: bool, yes: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Remove the space NAME, if it never held a turn, a pointer or tools; with --erase whatever it holds.

    An erased space leaves its line, called erased-N, with the receipts of its erasures.
    """
    if not erase and (reason or by or dry_run or yes):
        raise click.UsageError("--reason, --by, --dry-run and --yes go with --erase")
    if erase and reason is None and not dry_run:
        raise click.UsageError("say why: --reason TEXT")
    with settings.open_database() as database:
        if erase:
            # A dry run stores no receipt, so this reason is kept nowhere.
            _erase(database, name, reason or "dry run", by, dry_run=dry_run, yes=yes, as_json=as_json)
            return
        database.spaces.remove(name)
    say(f"Removed the space {name}.")


@spaces_command.command("limit")
@click.argument("name")
@click.option("--turns", type=LIMIT, metavar="N", help="How many turns it may hold; none takes the limit away.")
@click.option("--bytes", "given_bytes", type=LIMIT, metavar="N",
              help="How many bytes the payloads of its turns may have; none takes the limit away.")  # fmt: skip
@settings_and_json
def limit_command(
    settings: GlobalOptions, name: str, turns: Limit | None, given_bytes: Limit | None, as_json: bool
) -> None:
    """Show what the space NAME may hold, and holds; with an option, change it.

    A write past a limit is refused and stores nothing. A limit below what the space holds takes nothing away from it.
    """
    with settings.open_database() as database:
        quota = database.spaces.limit(name, turns=turns, bytes=given_bytes)
    if as_json:
        print_json(quota)
        return
    for what, used, limit in (("turns", quota.turns, quota.limit_turns), ("bytes", quota.bytes, quota.limit_bytes)):
        click.echo(f"{what}  {used:>16,} of {'any number' if limit is None else f'{limit:,}'}")


def _erase(
    database: Database, name: str, reason: str, by: str | None, *, dry_run: bool, yes: bool, as_json: bool
) -> None:
    from headish_cli.commands.keeping.erase import ask_to_erase, check_terminal
    from headish_cli.commands.keeping.erased import all_of_space, tell_done

    if not (yes or dry_run):
        check_terminal()
    # The same call as below, so the preview cannot differ from the erasure.
    preview = database.spaces.erase(name, reason=reason, by=by, dry_run=True).found
    if dry_run and as_json:
        print_json(preview)
        return
    if not yes or dry_run:
        say(f"All of the space {one_line(name, 255)} goes: {all_of_space(preview)}.")
    if dry_run:
        return
    if not yes:
        ask_to_erase("Erase the whole space for good?")
    erasure = database.spaces.erase(name, reason=reason, by=by)
    tell_done(erasure, as_json=as_json, asked=not yes)
    say(f"The space {one_line(name, 255)} is gone; its receipts: headish --space {erasure.became} erasures")


@spaces_command.command("move")
@click.argument("headish", nargs=-1, required=True)
@click.option("--to", "target", metavar="SPACE", required=True, help="The space that the conversation moves to.")
@click.option("--keep", is_flag=True, help="Leave the bookmarks here as well: a copy.")
@settings_and_json
def move_command(settings: GlobalOptions, headish: tuple[str, ...], target: str, keep: bool, as_json: bool) -> None:
    """Move the threads that lead to HEADISH… into another space, with their bookmarks, ids, times and documents.

    The turns stay stored here, too, without these bookmarks; a turn never goes. Provider pointers, tools and answers
    that are still arriving stay here, and are named.
    """
    with settings.open_database() as database:
        copied = database.move(list(headish), space=settings.space, to=target, keep=keep)
    if as_json:
        print_json(copied)
        return
    for tip in copied.tips:
        click.echo(tip)
    already = f"; {counted(copied.known, 'turn')} were there already" if copied.known else ""
    say(f"{'Copied' if keep else 'Moved'} {counted(copied.stored, 'turn')} to the space {target}{already}.")
    for what, names in (
        ("bookmarks went along", copied.names),
        ("conversations went with their titles, tags and keys", copied.records),
        ("provider pointers are not there", copied.pointers),
        ("servers have no tools there", copied.servers),
        ("documents are referred to there, and stay here, since they continue other turns", copied.documents),
        ("answers are still arriving here", copied.streams),
    ):
        if names:
            say(f"These {what}: {', '.join(one_line(name, None) for name in names)}")
