"""``backup`` and ``restore``: write a database into a file and verify it, and put such a file back."""

from __future__ import annotations

import click

from headish_cli.options import PLACE, GlobalOptions, json_option, refuse_without, settings_and_json
from headish_cli.printing.output import counted, print_json, say, write
from headish_cli.printing.progress import counting_turns


@click.command("backup")
@click.argument("dest", type=PLACE)
@click.option("--one-space", is_flag=True, help="Back up the space of --space alone, not all of them.")
@click.option("--quick", is_flag=True, help="Compare the sums of the file instead of reading everything back.")
@settings_and_json
def backup_command(settings: GlobalOptions, dest: str, one_space: bool, quick: bool, as_json: bool) -> None:
    """Back up the database into the file DEST, as it is at one moment. Writers go on meanwhile.

    \b
    DEST ends with .db   of SQLite: a database that can be opened as it is
    anything else        what 'headish restore' puts into either database

    The backup is read back and verified before it gets its name. Nothing is overwritten.
    """
    with settings.open_database() as database:
        source = database.store(settings.space, create=False) if one_space else database
        with counting_turns("backing up") as progress:
            backup = source.backup(dest, verify="quick" if quick else "full", progress=progress)
    if as_json:
        print_json(backup)
        return
    spaces = counted(len(backup.spaces), "space")
    say(f"{backup.path}: {counted(backup.turns, 'turn')} in {spaces}, {backup.size_bytes:,} bytes, checked.")
    write(f"{backup.blake3}  {backup.path}\n")


@click.command("restore")
@click.argument("file", type=PLACE)
@click.argument("target", type=PLACE)
@click.option("--only", metavar="SPACE", help="Restore this space of the file alone.")
@click.option("--as", "to", metavar="NAME", help="Give the space of --only this name.")
@click.option("--erasures", type=PLACE, metavar="FILE",
              help="Erase again what these receipts list, of 'headish erasures --export'.")  # fmt: skip
@json_option
def restore_command(
    file: str, target: str, only: str | None, to: str | None, erasures: str | None, as_json: bool
) -> None:
    """Put the backup FILE back into TARGET: a new file, or the URL or path of a database.

    Spaces are restored under their names, each into one that holds nothing. Everything is verified before anybody can
    open it. If a restore was cut off, run it again.
    """
    if only is None:
        refuse_without("--only", "to")
    from headish import restore

    with counting_turns("restoring") as progress:
        restored = restore(file, target, only=only, to=to, erasures=erasures, progress=progress)
    if as_json:
        print_json(restored)
        return
    say(f"Restored {counted(restored.turns, 'turn')} in {counted(len(restored.spaces), 'space')} to {restored.target}.")
    if erasures is not None:
        say(f"Erased again, as the receipts say: {restored.erased:,}.")
    if restored.unscrubbed:
        say(f"What was erased may be on the disk still: {restored.unscrubbed}.")
