"""``follow`` and ``position``: print every change of a space, and the cursor at which its feed ends."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headish.errors import InputError
from headish.values.checks.files import open_target, read_regular
from headish.values.times import local_time
from headish_cli.options import PLACE, GlobalOptions, pass_settings, refuse_without, settings_and_json
from headish_cli.printing.output import content_of, fit, lay_out, marks, one_line, print_json, read_cursor, say
from headish_cli.printing.said import who, words
from headish_cli.printing.telling import timed_record

if TYPE_CHECKING:
    from headish import Store
    from headish.values.results.changes import Change, TurnChange

KINDS = ("turn", "move", "record", "definition", "erasure")
CURSOR_BYTES = 4096
NOTED_EVERY = 0.25
"""The seconds between two writes of the cursor file while the past is read; then it is written after each line."""


@click.command("position")
@pass_settings
def position_command(settings: GlobalOptions) -> None:
    """Print the cursor of what was stored last: for 'follow --after' and --at-least."""
    with settings.open() as store:
        click.echo(store.position())


@click.command("follow")
@click.option("--after", metavar="CURSOR", help="Begin after this cursor, not with the first turn.")
@click.option("--new", is_flag=True, help="Begin with what is stored from now on.")
@click.option("--no-wait", is_flag=True, help="End when there is nothing more now.")
@click.option("--pulse", metavar="SECONDS", type=click.FloatRange(min=0, min_open=True),
              help="With --json: print a 'pulse' after this many seconds without a change.")  # fmt: skip
@click.option("--bookmark", "-b", metavar="NAME",
              help="Only this bookmark's moves, each after the turns that it brought.")  # fmt: skip
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only this kind; may be repeated.")
@click.option("--cursor-file", type=PLACE, metavar="PATH",
              help="Go on behind the cursor in this file if it exists, and keep it there.")  # fmt: skip
@click.option("--content", is_flag=True, help="With --json: show what each turn says, too.")
@settings_and_json
def follow_command(
    settings: GlobalOptions,
    after: str | None,
    new: bool,
    no_wait: bool,
    pulse: float | None,
    bookmark: str | None,
    kinds: tuple[str, ...],
    cursor_file: str | None,
    content: bool,
    as_json: bool,
) -> None:
    """Print every change of the space, once and in the order of the commits, and wait for more until Ctrl-C.

    With --json each line has its cursor, and --after continues after it. A line of the kind 'live' says that everything
    stored so far was printed. The cursor file is replaced after the line was written, so a reader that dies sees its
    last lines again, and never a gap.
    """
    if after is not None and new:
        raise click.UsageError("--after and --new contradict each other")
    if not as_json:
        refuse_without("--json", "pulse", "content")
    after = read_cursor(after)
    with settings.open() as store, _kept(None if cursor_file is None else Path(cursor_file)) as keep:
        if bookmark is not None and bookmark not in store.bookmarks:
            say(f"There is no bookmark {one_line(bookmark, None)} now.")
        # The file wins: --after and --new say where to begin the first time.
        after = keep.before or (store.position() if new else after)
        changes = store.follow(after, wait=not no_wait, pulse=pulse, kinds=kinds or None, bookmark=bookmark)
        for change in changes:
            if as_json:
                print_json(_record(store, change, content=content))
            elif change.kind == "live":
                _tell_live(waits=not no_wait)
            elif change.kind != "pulse":
                click.echo(_line(store, change))
            # A reader behind a pipe waits for each line.
            sys.stdout.flush()
            # After the flush: a reader that dies in between sees lines again, never a gap.
            keep.note(change.cursor, is_live=change.kind == "live")


class _Kept:
    """A file that keeps the cursor of the last line that was printed."""

    def __init__(self, path: Path | None) -> None:
        self._path, self._cursor, self._is_live, self._noted = path, "", False, time.monotonic()
        self.before = ""
        if path is not None and not path.parent.is_dir():
            raise click.UsageError(f"there is no folder {path.parent}")
        if path is not None and path.exists():
            self.before = read_regular(path, CURSOR_BYTES).decode(errors="replace").strip()
            # It does not say where to go on, and the first turn would print everything again.
            if not self.before:
                raise click.UsageError(f"{path} is empty: remove it to begin anew")

    def note(self, cursor: str, *, is_live: bool) -> None:
        self._cursor, self._is_live = cursor, self._is_live or is_live
        # A write syncs to the disk: at each line of a long past, it would take most of the time.
        if self._is_live or time.monotonic() - self._noted > NOTED_EVERY:
            self.write()

    def write(self) -> None:
        """Replace the file atomically: a reader finds the old cursor or the new one."""
        if self._path is None or not self._cursor:
            return
        # Beside the file, because a rename is atomic only within a file system.
        part = self._path.with_name(f"{self._path.name}.part")
        with open_target(part) as file:
            file.write(f"{self._cursor}\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, self._path)
        self._cursor, self._noted = "", time.monotonic()


@contextmanager
def _kept(path: Path | None) -> Iterator[_Kept]:
    cursor_file = _Kept(path)
    try:
        yield cursor_file
    finally:
        cursor_file.write()


def _record(store: Store, change: Change, *, content: bool) -> dict[str, Any]:
    """A change as JSON: its kind and cursor, then its fields."""
    import msgspec

    record: dict[str, Any] = {"kind": change.kind, "cursor": change.cursor}
    if change.kind == "turn":
        turn = change.turn
        content_field = {"content": _content(store, change)} if content else {}
        return record | {"time": _stamp(change.time), "turn": timed_record(turn) | content_field}
    fields = {name: getattr(change, name) for name in change.__struct_fields__}
    if "time" in fields:
        fields["time"] = _stamp(fields["time"])
    rest: dict[str, Any] = msgspec.to_builtins(fields)
    return record | rest


def _content(store: Store, change: TurnChange) -> list[dict[str, Any]] | None:
    """The content blocks of a turn; None if they were erased after the change was read."""
    from headish.values.blocks import to_mapping

    try:
        return [to_mapping(block) for block in content_of(store, change.turn.id)]
    except InputError:
        return None


def _line(store: Store, change: Change) -> str:
    """A change as a line for people."""
    if change.kind == "live" or change.kind == "pulse":
        return ""
    before = f"{local_time(change.time, 'seconds')}  {change.kind:<10}  "
    match change.kind:
        case "turn":
            return _turn_line(store, change, before)
        case "move":
            now = change.new or "(removed)"
            was = f"  (was {one_line(change.was, None)})" if change.was else ""
            return fit(f"{before}{click.style(one_line(change.name, None), fg='blue', bold=True)}  {now}{was}")
        case "record":
            title = change.record.title if change.record else "(nothing)"
            subject = f"{one_line(change.subject, None)}  "
            return lay_out([before, subject], title or "(no title)")
        case "definition":
            return fit(f"{before}{change.of} {one_line(change.name, None)} {'removed' if change.removed else 'set'}")
        case "erasure":
            reason = change.receipt.get("reason")
            return lay_out([f"{before}{change.number}  "], str(reason or "")).rstrip()


def _turn_line(store: Store, change: TurnChange, before: str) -> str:
    meta = change.turn.meta
    name = marks([meta.bookmark]) if meta.bookmark else ""
    id, role = f"{click.style(change.turn.id, fg='yellow')}  ", f"{who(meta)} "
    try:
        text = words(meta, content_of(store, change.turn.id))
    except InputError:
        text = "(erased)"
    return lay_out([before, id, role], text, [name], spare=[id])


def _tell_live(*, waits: bool) -> None:
    if waits and sys.stderr.isatty():
        say("That is all for now; waiting for what comes. Ctrl-C ends.")


def _stamp(moment: Any) -> str:
    text: str = moment.isoformat(timespec="milliseconds")
    return text
