"""Describe what an erasure takes and leaves, before it is done and after."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from headish.values.times import local_time
from headish_cli.printing.output import counted, fit, one_line, preview, print_json, room_beside, say

if TYPE_CHECKING:
    from headish import Store
    from headish.values.results.erasures import Erasure, Found, Receipt

SHOWN = 20
"""The number of turns that a preview shows."""
_META = "{} speakers, options, application meta and keys"
_LATER = (
    "Titles are compared with words that are there: after this erasure --repeats finds the titles of the turns' own"
    " conversations only. Versions, copies and overlays it finds then, too."
)
_UNCOMPARED = (
    "Words that were erased before cannot be compared with {}: read them ('headish list'), and change them with"
    " 'headish title'."
)
_TO_TAKE_IT = "'headish erase HEADISH --thread --meta' takes it from those, with what they say."


def lines_of_name(found: Found) -> Iterator[str]:
    """Describe what the erasure of a bookmark's name takes and leaves. The bookmark stays, under another name."""
    yield f"This goes: the name {', '.join(one_line(each, 60) for each in found.names)}."
    yield f"Its history stays under another name: {counted(found.counts['moves'], 'move')}."
    if found.counts["turns"]:
        yield f"Turns that go on saying it: {found.counts['turns']:,}; {_TO_TAKE_IT}"
    if found.streams:
        yield f"Answers to it are still arriving, and say it until they are stored: {', '.join(found.streams)}"
    yield from _copies(found)


def tell_done(done: Erasure, *, as_json: bool, asked: bool) -> None:
    """Print the number of an erasure's receipt, or all of it as JSON; then what went, what stays, what is left to do.

    A person who was ``asked`` has seen what stays, so it is not repeated.
    """
    if as_json:
        print_json(done)
    elif done.receipt is not None:
        click.echo(done.receipt.number)
    if done.receipt is None:
        for line in () if asked else (f"There was nothing left to erase.{_already(done.found)}", *_stays(done.found)):
            say(line)
        return
    for line in _went(done.receipt, done.found):
        say(line)
    for line in () if asked or done.became else _stays(done.found):
        say(line)
    if done.unscrubbed:
        say(f"Erased for every reader. It may be on the disk still: {done.unscrubbed}.")
    for place in (*done.receipt.not_reached, *done.found.copies):
        say(f"Not reached: {one_line(place, None)}")


def _went(receipt: Receipt, found: Found) -> Iterator[str]:
    """Describe what an erasure took, and where its receipt is.

    For a space the caller names the place, since its receipts are kept under its new name.
    """
    if receipt.scope == "space":
        yield f"Erased {all_of_space(found)}."
        return
    listed = f"'headish erasures' lists receipt {receipt.number}."
    if receipt.scope == "bookmark":
        yield f"Erased {counted(len(found.names), 'name')} of the bookmark; its moves stay. {listed}"
        return
    titles = receipt.counts.get("titles", 0)
    meta = [_META.format("its" if len(receipt.turns) == 1 else "their")] if receipt.meta and receipt.turns else []
    turns = [f"what {counted(len(receipt.turns), 'turn')} said ({receipt.bytes:,} bytes)"] if receipt.turns else []
    also = [counted(titles, "title")] if titles else []
    if turns or also:
        yield f"Erased {', '.join([*turns, *meta, *also])}. {listed}"
    else:
        yield f"It was erased before; from now on it is refused, too. {listed}"
    if receipt.turns:
        stay = "turn stays as a tombstone" if len(receipt.turns) == 1 else "turns stay as tombstones"
        yield f"The {stay}: id, role, links, times and hashes."


def takes(found: Found) -> bool:
    """Whether the erasure would remove or refuse anything."""
    return bool(found.turns or found.barred or found.titles or found.names_gone)


def show_found(store: Store, found: Found, *, as_json: bool) -> None:
    """Print what a dry run found: the ids of the turns that would go on stdout, the rest on stderr."""
    if as_json:
        print_json(found)
        return
    for turn_id in found.turns:
        click.echo(turn_id)
    tell_found(store, found)


def tell_found(store: Store, found: Found) -> None:
    """Describe on stderr what would go, with its first turns, and what would stay."""
    if not takes(found):
        say("There is nothing to erase." + _already(found))
    else:
        also = f" and {counted(len(found.titles), 'title')}" if found.titles else ""
        say(f"This goes: {counted(len(found.turns), 'turn')}{also}, {found.bytes:,} bytes.{_already(found)}")
        for line in _lines(store, found):
            say(line)
        if len(found.turns) > SHOWN:
            say(f"  … and {counted(len(found.turns) - SHOWN, 'turn')} more")
    for line in (*_stays(found), *_copies(found)):
        say(line)


def all_of_space(found: Found) -> str:
    """Count what goes with a space, in words."""
    counts = [counted(count, each.removesuffix("s")) for each, count in found.counts.items() if count]
    return f"{', '.join(counts) or 'no turns'}, {found.bytes:,} bytes"


def _already(found: Found) -> str:
    were = "was" if found.already == 1 else "were"
    return f" {counted(found.already, 'turn')} {were} erased before." if found.already else ""


def _lines(store: Store, found: Found) -> Iterator[str]:
    ids = found.turns[:SHOWN]
    short = store.abbreviate(ids)
    for turn_id in ids:
        [(turn, message)] = store.messages(turn_id, limit=1)
        before = f"  {short[turn_id]} {local_time(turn.said_at)} {turn.meta.role or '-':<9} "
        # Bounded in a pipe, too: a preview should not repeat long texts that are about to be erased.
        yield fit(before + one_line(preview(message.content), room_beside(before) or 100))


def _stays(found: Found) -> Iterator[str]:
    """Describe what stays, and which option or command erases it, too."""
    if found.kept_turns:
        yield f"Kept, since they lead elsewhere ({counted(found.kept_turns, 'turn')}):"
        yield from (f"  {each.turn}: {one_line(each.why, None)}" for each in found.kept)
    if found.equal_turns:
        yield f"What says the same stays: {counted(found.equal_turns, 'other turn')}; --content erases that, too."
    if found.definitions:
        yield f"Pointers and tools with the same bytes stay: {found.definitions:,}."
    if found.barred:
        yield f"Refused from now on: the content of {counted(found.barred, 'turn')}."
    if found.beside:
        yield f"Words of the source stay beside {counted(found.beside, 'turn')}; --meta erases those, too."
    if found.children:
        yield f"What continues these stays, and follows an erased turn: {counted(found.children, 'turn')}."
    if found.names_gone:
        names = ", ".join(one_line(name, 60) for name in found.names_gone)
        yield f"Of these conversations nothing is left; name, title and tags go, too (--keep-name leaves them): {names}"
        yield "Turns go on saying the name that they moved; --meta takes it from those that are erased."
    if found.names:
        yield f"Bookmarks that point there stay: {', '.join(one_line(name, 60) for name in found.names)}"
    if found.options:
        yield f"Options that later turns lose: {', '.join(one_line(name, 60) for name in found.options)}"
    for each in found.repeats:
        yield f"This {each.kind} may repeat it: {one_line(each.subject, None)}; --repeats erases it, too."
    if any(each.kind == "title" for each in found.repeats) and takes(found):
        yield _LATER
    if found.uncompared_titles:
        yield _UNCOMPARED.format(counted(found.uncompared_titles, "title"))
    for space, count in found.elsewhere.items():
        name = one_line(space, 60)
        stay = f"a copy of {counted(count, 'turn')}"
        yield f"The space {name} keeps {stay}; 'headish --space {name} erase' with the same ids erases it there."
    if found.streams:
        yield f"Answers to these turns are still arriving: {', '.join(found.streams)}"


def _copies(found: Found) -> Iterator[str]:
    if found.spooled:
        waiting = counted(found.spooled, "call")
        yield f"Not reached: {waiting} still in the spool of 'headish serve'; erase again when it has stored them."
    for path in found.copies:
        yield f"An older copy of the database is not reached: {one_line(path, None)}"
