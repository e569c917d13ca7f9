"""``clone``, ``push``, ``pull``, ``sync`` and ``status``: exchange turns with remotes, and show what is left."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from headish.errors import HeadishError
from headish.values.times import local_time
from headish_cli.commands.sharing.bundles import tell_names
from headish_cli.commands.sharing.remotes import NO_REMOTE, join_place, joining_options, secrets_option, tell_remote
from headish_cli.options import GlobalOptions, settings_and_json
from headish_cli.printing.hints import refusal
from headish_cli.printing.output import Told, counted, one_line, print_json, print_json_lines, say

if TYPE_CHECKING:
    from headish import Store
    from headish.store.keeping.remotes import Remotes
    from headish.values.results.sharing import Pulled, Pushed, Synced, SyncRun

THERE = {
    "made": "new there",
    "moved": "moved on there",
    "removed": "removed there",
    "refused": "may not be moved there",
    "unknown": "is at a turn there that is not here: pull first",
}
"""The message for a bookmark at a live remote, by its outcome."""

name_argument = click.argument("name", required=False)
prune_option = click.option("--prune", is_flag=True, help="Remove bookmarks that another device removed.")
create_option = click.option("--create", is_flag=True, help="Make the database of a live remote where there is none.")
rollback_option = click.option("--accept-rollback", is_flag=True, help="Accept a remote that is in an older state.")


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


@click.command("push")
@name_argument
@click.option("--delete", is_flag=True, help="Remove bookmarks at a live remote that were removed here.")
@click.option("--force-with-lease", metavar="HEADISH",
              help="Move bookmarks of a live remote that went apart, if they are at this turn there.")  # fmt: skip
@create_option
@secrets_option
@rollback_option
@settings_and_json
def push_command(settings: GlobalOptions, name: str | None, as_json: bool, **how: Any) -> None:
    """Send what is new here to the remote NAME, or to all.

    Bookmarks of a live remote go forward. Where both sides moved one, it stays, and the exit code is 1. Without NAME, a
    remote that fails does not stop the others.
    """
    _visit(settings, name, as_json, lambda remotes, each: remotes.push(each, **how))


@click.command("pull")
@name_argument
@prune_option
@rollback_option
@settings_and_json
def pull_command(settings: GlobalOptions, name: str | None, as_json: bool, **how: Any) -> None:
    """Fetch what is new at the remote NAME, or at all. A bookmark that moved here stays where it is.

    Without NAME, a remote that fails does not stop the others.
    """
    _visit(settings, name, as_json, lambda remotes, each: remotes.pull(each, **how))


@click.command("sync")
@name_argument
@prune_option
@create_option
@secrets_option
@rollback_option
@settings_and_json
def sync_command(settings: GlobalOptions, name: str | None, as_json: bool, **how: Any) -> None:
    """Pull, then push: the remote NAME, or all. Exit code 1 where a bookmark goes apart.

    Without NAME, a remote that fails does not stop the others.
    """
    _visit(settings, name, as_json, lambda remotes, each: remotes.exchange(each, **how))


@click.command("status")
@name_argument
@settings_and_json
def status_command(settings: GlobalOptions, name: str | None, as_json: bool) -> None:
    """Show the state of the remote NAME, or of all: what it does not have yet, and which bookmarks diverged."""
    with settings.open() as store:
        statuses = [store.remotes.status(each) for each in _names(store, name)]
    if as_json:
        print_json_lines(statuses)
        return
    for status in statuses:
        remote = one_line(status.remote.name, 255)
        click.echo(f"{remote}: {counted(status.unsent, 'turn')} not sent, {counted(len(status.devices), 'device')}")
        if status.remote.waits:
            click.echo(f"  {one_line(status.remote.waits, 500)}")
        if status.run is not None:
            click.echo(f"  {_tell_run(status.run)}")
        behind = [each.label for each in status.devices if not each.erased]
        if behind:
            click.echo(f"  erasures not reached: {len(behind)} of {len(status.devices)} devices")
        for each in status.diverged:
            here = each.partition("/")[2]
            click.echo(f"  {one_line(each, 255)} goes apart from {one_line(here, 255)}: headish diff {here}..{each}")


def _tell_run(run: SyncRun) -> str:
    """Describe when the server syncs with a remote; failures follow on a line of their own."""
    parts = [f"'headish serve' syncs every {counted(round(run.every_seconds / 60), 'minute')}"]
    moments = {"last": run.last, "at work since": run.begun, "next": run.next}
    parts += [f"{words} {local_time(moment)}" for words, moment in moments.items() if moment is not None]
    failures = f"\n  failed {counted(run.failed, 'time')}: {one_line(run.error, 300)}" if run.failed else ""
    return ", ".join(parts) + failures


def _visit(
    settings: GlobalOptions, name: str | None, as_json: bool, verb: Callable[[Remotes, str], Pulled | Pushed | Synced]
) -> None:
    """Visit the remote NAME, or all of them, and report each visit as soon as it ends.

    If one of several fails, report it and go on; the exit code is that of the first failure. Otherwise it is 1 if a
    bookmark diverged.
    """
    failed, apart = 0, False
    with settings.open() as store:
        names = _names(store, name)
        for each in names:
            try:
                result = verb(store.remotes, each)
            except (HeadishError, OSError) as error:
                # A single remote fails like any other command; with several, the others should not have to wait for it.
                if len(names) == 1:
                    raise
                error_line = refusal(error, settings, about=each)
                error_line.show()
                failed = failed or error_line.exit_code
                continue
            apart |= _tell(result, as_json)
    if failed or apart:
        # After all visits. SystemExit, because every error has been shown already.
        raise SystemExit(failed or 1)


def _tell(done: Pulled | Pushed | Synced, as_json: bool) -> bool:
    """Report what a visit did. Return whether a bookmark diverged."""
    from headish.values.results.sharing import Pulled, Synced

    parts = (done.pulled, done.pushed) if isinstance(done, Synced) else (done,)
    if as_json:
        print_json(done)
    else:
        for part in parts:
            tell_pulled(part) if isinstance(part, Pulled) else _tell_pushed(part)
    return any(each.outcome in ("diverged", "unknown") for part in parts for each in part.names)


def _names(store: Store, name: str | None) -> list[str]:
    if name is not None:
        return [name]
    names = [each.name for each in store.remotes.list()]
    if not names:
        say(NO_REMOTE)
    return names


def tell_pulled(done: Pulled) -> None:
    """Report what a pull brought."""
    say(f"{one_line(done.remote, 255)}: {counted(done.stored, 'turn')} came.")
    for each in done.signed:
        say(f"signed: {one_line(each, 500)}")
    tell_names(done.names, of_devices=True)
    for each in done.kept:
        say(f"{one_line(each, 255)}: both sides changed what is said of it; that of here was later and stays")
    for each in done.waiting:
        say(f"waiting: {one_line(each, 500)}")


def _tell_pushed(done: Pushed) -> None:
    remote = one_line(done.remote, 255)
    say(f"{remote}: {counted(done.turns, 'turn')} sent.")
    for each in done.names:
        name = one_line(each.name, 255)
        message = THERE.get(each.outcome)
        if each.outcome == "diverged":
            say(f"{name}: {each.here:,} here, {each.there:,} on {remote}; headish diff {name}..{remote}/{name}")
        elif message is not None:
            say(f"{remote}/{name}: {message}")
