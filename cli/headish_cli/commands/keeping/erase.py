"""``erase``, ``erasures`` and ``gc``: show what an erasure would remove, remove it, and list the receipts."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from headish.values.times import local_time
from headish_cli.commands.keeping.erased import lines_of_name, show_found, takes, tell_done, tell_found
from headish_cli.options import GlobalOptions, read_time, settings_and_json
from headish_cli.printing.output import Told, counted, one_line, print_json, print_json_lines, say

if TYPE_CHECKING:
    from headish.values.results.erasures import Receipt


@click.command("erase")
@click.argument("headish", nargs=-1, metavar="HEADISH...")
@click.option("--thread", is_flag=True, help="Every turn that leads to a HEADISH.")
@click.option("--branch", is_flag=True,
              help="Those of them that lead to no other branch, bookmark or remembered move.")  # fmt: skip
@click.option("--bookmark", metavar="NAME",
              help="In place of a HEADISH: a bookmark's name, and those that it had. Its moves stay.")  # fmt: skip
@click.option("--said-before", metavar="TIME", help="Only what was said before TIME: a date, yesterday, '2 hours ago'.")
@click.option("--meta", is_flag=True, help="Also speakers, options, application meta and keys of the turns.")
@click.option("--content", is_flag=True, help="Erase the same bytes everywhere, and refuse them from now on.")
@click.option("--repeats", is_flag=True, help="Also versions, copies and overlays of the turns, and titles.")
@click.option("--keep-name", is_flag=True, help="Leave the names and titles of conversations that go whole.")
@click.option("--reason", metavar="TEXT", help="Why; kept in the receipt and shown to readers.")
@click.option("--by", metavar="WHO", help="Who asked for it; kept in the receipt.")
@click.option("--no-scrub", is_flag=True, help="Leave it to 'headish gc' to take the bytes off the disk.")
@click.option("--dry-run", is_flag=True, help="Show what would go and what would stay; change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@settings_and_json
def erase_command(
    settings: GlobalOptions,
    headish: tuple[str, ...],
    thread: bool,
    branch: bool,
    bookmark: str | None,
    said_before: str | None,
    reason: str | None,
    by: str | None,
    no_scrub: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    **wish: bool,
) -> None:
    """Erase what turns say, for good. It shows first what goes and what stays, and asks.

    The turns stay as tombstones: id, role, links, times and hashes remain, and what continues them does not change.
    With --thread and --branch, a bookmark of which nothing is left goes, too, with its title and tags, unless you give
    --keep-name. With --meta the bookmark that moved along with a turn is taken from its record, too. With --bookmark
    NAME only that name goes, and becomes erased-N.
    """
    if reason is None and not dry_run:
        raise click.UsageError("say why: --reason TEXT")
    if bookmark is not None:
        flags = {"thread": thread, "branch": branch, "said-before": said_before, **wish}
        extra = [*headish, *(f"--{each.replace('_', '-')}" for each, given in flags.items() if given)]
        if extra:
            raise click.UsageError(f"--bookmark takes a name alone, not {extra[0]} beside it")
        erase_name(settings, bookmark, reason, by, no_scrub=no_scrub, dry_run=dry_run, yes=yes, as_json=as_json)
        return
    if not headish:
        raise click.UsageError("say what: HEADISH..., or --bookmark NAME")
    if thread and branch:
        raise click.UsageError("--thread and --branch contradict each other")
    scope = "thread" if thread else "branch" if branch else "turn"
    chosen: Any = {"scope": scope, "said_before": read_time(said_before, "--said-before"), **wish}
    # First: without a person to ask, the preview, which may take long, would be for nothing.
    if not (yes or dry_run):
        check_terminal()
    with settings.open() as store:
        # By id: a bookmark may move between the question and the answer, and name turns that were not shown.
        ids = [store.get(each).id for each in headish]
        # The preview is a dry run of the same call, so it cannot show anything else than what is erased.
        preview = store.erase(ids, **chosen, reason=reason or "dry run", by=by, dry_run=True)
        if dry_run:
            show_found(store, preview.found, as_json=as_json)
            return
        if not yes:
            tell_found(store, preview.found)
            if takes(preview.found):  # otherwise `tell_found` has said that there is nothing to erase
                ask_to_erase("Erase this for good?")
        erasure = store.erase(ids, **chosen, reason=reason or "", by=by, scrub=not no_scrub)
        tell_done(erasure, as_json=as_json, asked=not yes)


@click.command("erasures")
@click.option("--export", "whole", is_flag=True, help="Print whole receipts as JSON, one per line, to keep elsewhere.")
@click.option("--pending", is_flag=True, help="List what other machines erased and nobody has confirmed here.")
@click.option("--apply", "is_applied", is_flag=True, help="Erase here what is pending, or the RECEIPTs of it.")
@click.option("--dismiss", is_flag=True, help="Keep what others erased: all that is pending, or RECEIPTs of it.")
@click.argument("receipts", metavar="[RECEIPT]...", nargs=-1)
@settings_and_json
def erasures_command(
    settings: GlobalOptions, whole: bool, pending: bool, is_applied: bool, dismiss: bool, receipts: Sequence[str],
    as_json: bool,
) -> None:  # fmt: skip
    """List the receipts of what was erased, the first one first.

    Each receipt lists the devices that it has not reached yet. --pending begins each line with the id of the
    receipt, which --apply and --dismiss take.
    """
    if is_applied + dismiss + pending > 1 or (receipts and not (is_applied or dismiss)):
        raise click.UsageError("take one of --pending, --apply and --dismiss; RECEIPTs go with --apply or --dismiss")
    if whole and (is_applied or dismiss):
        raise click.UsageError("--export goes with a list, and not with --apply or --dismiss")
    if is_applied or dismiss:
        with settings.open() as store:
            verb = store.remotes.erase_pending if is_applied else store.remotes.dismiss_pending
            done = verb(receipts or None)
        if as_json:
            print_json({"turns" if is_applied else "erasures": done})
            return
        say(f"Erased {counted(done, 'turn')}." if is_applied else f"Dismissed {counted(done, 'erasure')}.")
        return
    _list_erasures(settings, whole=whole, pending=pending, as_json=as_json)


def _list_erasures(settings: GlobalOptions, *, whole: bool, pending: bool, as_json: bool) -> None:
    with settings.open() as store:
        receipts = store.remotes.pending_erasures() if pending else store.erasures.list()
        missing = {} if pending else store.remotes.not_reached()
    if as_json or whole:
        print_json_lines(receipts)
        return
    if not receipts:
        say("Nothing is pending." if pending else "Nothing was erased.")
    # A receipt with `covers` records a scrub: all receipts up to that number are off the disk.
    scrubbed = max((each.covers or 0 for each in receipts), default=0)
    for each in receipts:
        if each.covers is None:
            where = "" if each.number <= scrubbed else click.style(" (may be on the disk still)", fg="red")
            by = f" by {one_line(each.by, 60)}" if each.by else ""
            which = each.id if pending else f"{each.number:>4}"
            described = f"{local_time(each.time)} {_what(each)}{by}: {one_line(each.reason, None)}{where}"
            click.echo(f"{which} {described}")
        for line in missing.get(each.id, ()):
            click.echo(f"     not reached: {one_line(line, 500)}")


@click.command("gc")
@click.option("--scrub", is_flag=True, help="Rewrite the database, so that nothing erased is left in its files.")
@click.option("--dry-run", is_flag=True, help="Count, and change nothing.")
@settings_and_json
def gc_command(settings: GlobalOptions, scrub: bool, dry_run: bool, as_json: bool) -> None:
    """Remove what nothing names any more, and finish erasures that are not off the disk yet.

    On PostgreSQL --scrub runs VACUUM (FULL), which locks the tables meanwhile. With --scrub the exit code is 1 if
    something that was erased may be on the disk still.
    """
    with settings.open_database() as database:
        found = database.gc(scrub=scrub, dry_run=dry_run)
    if as_json:
        print_json(found)
    else:
        words = "Would remove" if dry_run else "Removed"
        say(f"{words} {counted(found.payloads, 'payload')} of {found.bytes:,} bytes, {counted(found.streams, 'stream')}"
            f" that ended, {counted(len(found.files), 'unfinished file')}.")  # fmt: skip
        if found.unscrubbed and not dry_run:
            say(f"What was erased may be on the disk still: {found.unscrubbed}.")
    # Without --scrub it is not a failure: PostgreSQL rewrites its tables only on request.
    if scrub and found.unscrubbed:
        raise click.exceptions.Exit(1)


def erase_name(
    settings: GlobalOptions,
    name: str,
    reason: str | None,
    by: str | None,
    *,
    no_scrub: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Erase the name of a bookmark, after showing what goes and asking."""
    if not (yes or dry_run):
        check_terminal()
    with settings.open() as store:
        preview = store.bookmarks.erase(name, reason=reason or "dry run", by=by, dry_run=True).found
        if dry_run and as_json:
            print_json(preview)
            return
        if dry_run or not yes:
            for line in lines_of_name(preview):
                say(line)
        if dry_run:
            return
        if not yes:
            ask_to_erase("Erase this name for good?")
        erasure = store.bookmarks.erase(name, reason=reason or "", by=by, scrub=not no_scrub)
        tell_done(erasure, as_json=as_json, asked=not yes)
        say(f"The bookmark is called {erasure.became} from now on.")


def check_terminal() -> None:
    """Raise Told if standard input is not a terminal, where a person could be asked."""
    if not sys.stdin.isatty():
        raise Told("Nothing was erased: there is no terminal to ask. Use --yes to erase without a question.")


def ask_to_erase(question: str) -> None:
    """Ask the person at the terminal. Raises: Told if the answer is no."""
    if not click.confirm(question, err=True):
        raise Told("Nothing was erased.")


def _what(receipt: Receipt) -> str:
    if receipt.scope == "space":
        turns = receipt.counts.get("turns", 0)
        return f"the space, {counted(turns, 'turn')}"
    if receipt.scope == "bookmark":
        return f"the name of a bookmark, now {', '.join(one_line(each.became, 60) for each in receipt.names)}"
    words = counted(len(receipt.turns), "turn")
    words += " with meta" if receipt.meta else ""
    return words + (f", {len(receipt.barred):,} barred" if receipt.barred else "")
