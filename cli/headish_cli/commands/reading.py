"""Commands that read turns: ``get``, ``log`` and ``resolve``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from headish.values.times import local_time
from headish_cli.options import (
    GlobalOptions,
    are_signatures_asked,
    budget_option,
    headish_argument,
    read_time,
    selection_options,
    settings_and_json,
    signatures_option,
    signers_options,
)
from headish_cli.printing.output import (
    ContentsAhead,
    Told,
    content_of,
    one_line,
    print_json,
    print_json_lines,
    say,
    write,
)
from headish_cli.printing.paging import paged
from headish_cli.printing.rows import print_rows, seen_as
from headish_cli.printing.said import words

if TYPE_CHECKING:
    from headish import Store, Turn
    from headish.values.results.reports import JudgedSignature


@click.command("get")
@headish_argument
@click.option("--payload", is_flag=True, help="Write the stored bytes, nothing else.")
@settings_and_json
def get_command(settings: GlobalOptions, headish: str, payload: bool, as_json: bool) -> None:
    """Show one turn: what it says on stdout, what it is on stderr."""
    if payload and as_json:
        raise click.UsageError("--payload writes the stored bytes, which --json would change: leave one of them out")
    with settings.open() as store:
        if payload:
            write(store.payload(headish))
            return
        turn = store.get(headish)
        content = content_of(store, turn.id)
        if as_json:
            from headish.values.blocks import to_mapping
            from headish_cli.printing.telling import reply_record

            print_json({**reply_record(store, turn), "content": [to_mapping(block) for block in content]})
            return
    say(_describe(turn))
    # The facts went to stderr, so that `headish get X > file` writes the text alone.
    write("\n\n".join(_whole_text(block) for block in content) + "\n")


@click.command("find")
@click.argument("key")
@settings_and_json
def find_command(settings: GlobalOptions, key: str, as_json: bool) -> None:
    """Print the id of the turn with a KEY: the name that another system has for it.

    If KEY;2, KEY;3 … supersede the turn, prints the newest.
    """
    with settings.open() as store:
        turn = store.find(key)
        if turn is None:
            raise Told(f"no turn of this space has the key {one_line(key, None)}")
        if as_json:
            from headish_cli.printing.telling import turn_record

            print_json(turn_record(turn))
        else:
            click.echo(turn.id)


@click.command("log")
@headish_argument
@click.option("-n", "--limit", type=click.IntRange(min=1), help="Show only this many turns, the last ones.")
@click.option("--raw", is_flag=True, help="Show every turn as it was stored, whatever overlays say.")
@selection_options
@click.option("-p", "--text", "whole", is_flag=True, help="Show all that each turn says.")
@click.option("--graph", is_flag=True, help="Draw how the turns continue one another.")
@signatures_option
@signers_options
@settings_and_json
def log_command(
    settings: GlobalOptions, headish: str, limit: int | None, since: str | None, until: str | None, role: str | None,
    grep: str | None, whole: bool, raw: bool, graph: bool, signatures: bool, signers: str | None,
    revoked: str | None, as_json: bool,
) -> None:  # fmt: skip
    """List the turns that lead to a HEADISH, newest first.

    A..B lists the turns that lead to B and not to A; A...B those that lead to one of the two and not to both. An
    overlay says what it does; a turn that it covers says how it is seen, and shows no words that are hidden from
    people. With --signatures the exit code is 1 if one is bad.
    """
    chosen: dict[str, Any] = {
        "since": read_time(since, "--since"),
        "until": read_time(until, "--until"),
        "role": role,
        "grep": grep,
    }
    if as_json and graph:
        raise click.UsageError("--graph draws for people: with --json each turn says what it continues")
    with settings.open() as store:
        turns = store.log(headish, limit=limit, **chosen)
        signed = _signatures_of(store, turns, signers, revoked) if are_signatures_asked(signatures) else None
        if as_json:
            print_json_lines(_log_records(store, turns, whole, signed))
        else:
            rails: Iterable[tuple[Turn | None, str]] = ((turn, "") for turn in turns)
            if graph:
                from headish_cli.printing.graph import draw_graph

                rails = draw_graph(turns)
            with paged(settings):
                print_rows(store, rails, whole=whole, states={} if raw else seen_as(turns), signatures=signed)
    if not turns and not as_json:
        say("Nothing was found.")
    if any(each.verdict == "bad" for found in (signed or {}).values() for each in found):
        raise click.exceptions.Exit(1)


def _signatures_of(
    store: Store, turns: Sequence[Turn], signers: str | None, revoked: str | None
) -> dict[str, list[JudgedSignature]]:
    by_turn: dict[str, list[JudgedSignature]] = {}
    for each in store.signatures([turn.id for turn in turns], signers=signers, revoked=revoked):
        by_turn.setdefault(each.turn, []).append(each)
    return by_turn


def _log_records(
    store: Store, turns: Sequence[Turn], whole: bool, signed: Mapping[str, Sequence[JudgedSignature]] | None
) -> Iterator[dict[str, Any]]:
    from headish.values.blocks import to_mapping
    from headish_cli.printing.telling import signature_record, timed_record, version_record

    # One lookup for all turns, before the first line is printed.
    versions = store.versions(turn.id for turn in turns)
    contents = ContentsAhead(store, [turn.id for turn in turns])
    for turn in turns:
        content = {"content": [to_mapping(block) for block in contents.take(turn.id)]} if whole else {}
        record = timed_record(turn) | content | version_record(versions.get(turn.id))
        yield record | signature_record(turn, signed)


@click.command("resolve")
@click.argument("headish", nargs=-1)
@click.option("--raw", is_flag=True, help="Show every turn as it was stored, whatever overlays say.")
@budget_option
@settings_and_json
def resolve_command(settings: GlobalOptions, headish: tuple[str, ...], raw: bool, budget: Any, as_json: bool) -> None:
    """Print the context window of a HEADISH: the messages that lead to it and the merged options.

    Several resolve as if one turn continued them all. Notes on stderr name what is covered, hidden or left out.
    """
    if raw and budget is not None:
        raise click.UsageError("--budget cuts what a model sees: it does not go with --raw")
    with settings.open() as store:
        window = store.resolve(list(headish) or "@", raw=raw, budget=budget)
    print_json(window.to_dict(), pretty=not as_json)
    for note in window.notes:
        say(f"note: {note}")


def _describe(turn: Turn) -> str:
    reply = turn.meta.reply
    role = "overlay: " + words(turn.meta, ()) if turn.meta.attributes.overlay else turn.meta.role or "a bare sequence"
    facts = [f"turn {turn.id}", role, local_time(turn.said_at, "milliseconds")]
    facts += [f"stored {local_time(turn.time, 'milliseconds')}"] if turn.said_at != turn.time else []
    facts += [f"reply of {reply.get('model') or 'an unnamed model'} ({reply.get('provider')})"] if reply else []
    facts += ["incomplete"] if turn.meta.is_cut_off else []
    facts += [f"on {turn.meta.bookmark}"] if turn.meta.bookmark else []
    facts += [f"continues {', '.join(turn.meta.continues)}"] if turn.meta.continues else []
    facts += [f"erased ({turn.erased})"] if turn.erased is not None else []
    facts += [f"cached {cache}" if isinstance(cache := turn.meta.cache, str) else "cached"] if turn.meta.cache else []
    return " · ".join(facts)


def _whole_text(block: object) -> str:
    from base64 import b64decode

    from headish.values.blocks import Base64Source, Document, Erased, Text, to_mapping

    if isinstance(block, Erased):
        return f"({block})"
    if isinstance(block, Text):
        return block.text
    source = block.source if isinstance(block, Document) else None
    if isinstance(source, Base64Source) and source.media_type.startswith("text/"):
        try:
            return b64decode(source.data).decode()
        except ValueError:
            pass  # not base64, or not UTF-8: shown as JSON
    import msgspec

    return msgspec.json.format(msgspec.json.encode(to_mapping(block)), indent=2).decode()  # type: ignore[arg-type]
