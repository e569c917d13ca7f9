"""``bundle``: carry turns to another store in a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from headish_cli.options import (
    PLACE,
    GlobalOptions,
    json_option,
    key_option,
    refuse_without,
    settings_and_json,
    signers_options,
)
from headish_cli.printing.briefs import BriefGroup
from headish_cli.printing.output import counted, one_line, print_json, read_cursor, say
from headish_cli.printing.progress import counting_turns

if TYPE_CHECKING:
    from headish.values.results.sharing import ArrivedName

OUTCOMES = {
    "made": "new here",
    "moved": "moved on",
    "removed": "removed there",
    "refused": "cannot be the name of a bookmark here",
}
"""The message for a bookmark that arrived, by its outcome."""


@click.group("bundle", cls=BriefGroup)
def bundle_command() -> None:
    """Carry turns to another store in a file: create, verify, apply, rewrite.

    A bundle holds turns as they are, with their ids and times. The store that applies it proves each turn before it
    stores any, and changes nothing that it has.
    """


@bundle_command.command("create")
@click.argument("file", type=PLACE)
@click.argument("headishes", metavar="[HEADISH]...", nargs=-1)
@click.option("--since", metavar="CURSOR", help="Take what came since an earlier bundle; it printed this cursor.")
@click.option("--allow-secrets", is_flag=True, help="Go on where something looks like a key.")
@click.option("--sign", is_flag=True, help="Sign all of it with an SSH key, as 'headish sign' does a turn.")
@key_option
@settings_and_json
def create_command(
    settings: GlobalOptions, file: str, headishes: Sequence[str], since: str | None, allow_secrets: bool, sign: bool,
    key: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Write the space into FILE, or the threads that lead to HEADISHes.

    Provider pointers, tools and keys never go into a bundle. Prints the cursor after which the next bundle begins.
    """
    if not sign:
        refuse_without("--sign", "key")
    since = read_cursor(since)
    with settings.open() as store, counting_turns("bundling") as progress:
        # HEADISH_SIGNING_KEY may set the key, which does not yet mean that this bundle should be signed.
        done = store.bundles.create(
            file, list(headishes) or None, since=since, allow_secrets=allow_secrets, sign=sign,
            key=key if sign else None, progress=progress,
        )  # fmt: skip
    if as_json:
        print_json(done)
        return
    say(f"{done.path}: {counted(done.turns, 'turn')}, {counted(done.names, 'bookmark')}, {done.size_bytes:,} bytes.")
    if done.paths:
        say(f"{counted(done.paths, 'document')} in it says where it lay on this machine (import and doc --keep-path).")
    click.echo(done.cursor)


@bundle_command.command("verify")
@click.argument("file", type=PLACE)
@signers_options
@json_option
def verify_command(file: str, signers: str | None, revoked: str | None, as_json: bool) -> None:
    """Read the bundle FILE to its end and derive every hash in it again. Takes no database."""
    from headish import verify_bundle

    done = verify_bundle(file, signers=signers, revoked=revoked)
    if as_json:
        print_json(done)
        return
    say(f"{done.path}: {counted(done.turns, 'turn')}, {done.proven:,} proven, {counted(done.names, 'bookmark')}.")
    _tell_signed(done.signed)
    if done.requires:
        say(f"It needs {counted(len(done.requires), 'turn')} that must be there before: {done.requires[0]} …")


@bundle_command.command("rewrite")
@click.argument("file", type=PLACE)
@click.argument("out", type=PLACE)
@click.option("--erasures", metavar="RECEIPTS", type=PLACE, required=True, help="What 'erasures --export' printed.")
@json_option
def rewrite_command(file: str, out: str, erasures: str, as_json: bool) -> None:
    """Write the bundle FILE to OUT without what was erased since. Takes no database.

    A bundle that you have handed out stays as it is: hand OUT out in its place.
    """
    from headish import rewrite_bundle

    done = rewrite_bundle(file, out, erasures)
    if as_json:
        print_json(done)
        return
    say(f"{done.path}: {counted(done.turns, 'turn')}, {done.erased:,} erased, {done.size_bytes:,} bytes.")


@bundle_command.command("apply")
@click.argument("file", type=PLACE)
@click.option("--require-signed", is_flag=True, help="Take only what one of the signers has signed as a whole.")
@signers_options
@settings_and_json
def apply_command(
    settings: GlobalOptions, file: str, require_signed: bool, signers: str | None, revoked: str | None, as_json: bool
) -> None:
    """Store what the bundle FILE brings. Nothing that is here changes; a bookmark moves only forward."""
    from headish.store.keeping.bundles import check_first

    judging: Any = {"require_signed": require_signed, "signers": signers, "revoked": revoked}
    if not settings.is_made():
        check_first(file, **judging)  # what is refused must not make a database
    with settings.open(create=True) as store, counting_turns("applying") as progress:
        done = store.bundles.apply(file, **judging, progress=progress)
    if as_json:
        print_json(done)
        return
    say(f"{counted(done.stored, 'turn')} arrived, {done.known:,} were here.")
    _tell_signed(done.signed)
    tell_names(done.names)


def _tell_signed(signed: str) -> None:
    if signed:
        say(f"signed: {one_line(signed, 500)}")


def tell_names(names: Sequence[ArrivedName], *, of_devices: bool = False) -> None:
    """Report the bookmarks that arrived: a line for each that is new, moved, was removed there or diverged.

    With ``of_devices`` the names are like ``laptop/main``.
    """
    for each in names:
        name = one_line(each.name, 255)
        device, _, own = name.partition("/") if of_devices else ("there", "", name)
        if each.outcome == "diverged":
            where = name if of_devices else str(each.turn)
            say(f"{own}: {each.here:,} here, {each.there:,} {'on ' * of_devices}{device}; headish diff {own}..{where}")
        elif each.outcome in OUTCOMES:
            say(f"{name}: {OUTCOMES[each.outcome]}")
