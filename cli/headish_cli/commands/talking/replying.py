"""``reply``, ``recover`` and ``usage``: store, recover and count the answers of providers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from headish.errors import InvalidArgument
from headish_cli.options import INPUT, GlobalOptions, file_or_pipe, read_named, refuse_without, settings_and_json
from headish_cli.printing.output import counted, in_columns, one_line, print_json, print_json_lines, say
from headish_cli.printing.telling import reply_record, tell_branch, tell_reply, tell_turn, timed_record

if TYPE_CHECKING:
    from headish.history.reading.costs import Cost
    from headish.history.reading.usage import Count
    from headish.store.asking.unfinished import Fetched


@click.command("reply")
@click.argument("headish")
@click.option("--from", "provider", required=True, metavar="PROVIDER", help="Who answered.")
@click.argument("file", required=False, type=INPUT)
@settings_and_json
def reply_command(settings: GlobalOptions, headish: str, provider: str, file: str | None, as_json: bool) -> None:
    """Store a provider's answer as the turn that continues HEADISH, and print its id.

    FILE (or standard input) is what the provider sent: a whole response, server-sent events, or JSON lines. An answer
    that was cut off is stored as far as it came.
    """
    data = read_named(file_or_pipe(file))
    # Not stored as an empty answer: the program that should have brought it has failed.
    if not data.strip():
        raise InvalidArgument("there is no answer to store: nothing came from the provider")
    with settings.open() as store:
        turn = store.reply(headish, provider, data)
        if as_json:
            print_json(reply_record(store, turn))
            tell_branch(store, turn)
        else:
            tell_turn(store, turn, as_json)
        tell_reply(turn)
    if turn.meta.reply.get("incomplete") or turn.meta.reply.get("schema_error"):
        raise click.exceptions.Exit(1)


@click.command("recover")
@click.option("--force", is_flag=True, help="Also what a living process may still be writing.")
@click.option("--drop", metavar="STREAM", help="Forget an answer that cannot be recovered, by its stream's id.")
@click.option("--remote", is_flag=True,
              help="Fetch incomplete answers that OpenAI's Responses keeps (store, background).")  # fmt: skip
@click.option("--wait", type=click.FloatRange(0, 86400), default=0, metavar="SECONDS",
              help="With --remote: how long to wait for answers that are still being made.")  # fmt: skip
@settings_and_json
def recover_command(
    settings: GlobalOptions, force: bool, drop: str | None, remote: bool, wait: float, as_json: bool
) -> None:
    """Make turns of the answers that dead processes left behind, and print their ids.

    Every command does so when it opens the store; it leaves an answer alone whose writer was alive in the last half
    minute.
    """
    if not remote:
        refuse_without("--remote", "wait")
    with settings.open() as store:
        if drop is not None:
            store.streams.drop(drop)
        # Opening the store recovers by itself; `recovered` has what it found just now.
        turns = [*store.recovered, *store.streams.recover(force=force)]
        fetched = store.streams.recover_remote(wait_seconds=wait) if remote else None
        turns += fetched.turns if fetched else ()
        unfinished = store.streams.list()
    if as_json:
        print_json_lines(map(timed_record, turns))
    else:
        for turn in turns:
            click.echo(turn.id)
    if fetched is not None and (fetched.running or fetched.failed):
        _tell_unfetched(fetched)
    if unfinished:
        say(f"{counted(len(unfinished), 'answer')} may still be arriving; --force takes what there is.")
    elif not turns and not (fetched and (fetched.running or fetched.failed)):
        say("Nothing is left to recover.")
    if fetched is not None and fetched.failed:
        raise click.exceptions.Exit(1)


def _tell_unfetched(fetched: Fetched) -> None:
    """Report which answers are still being generated, and which could not be fetched, and why."""
    for turn in fetched.running:
        say(
            f"The answer of turn {turn.id} is still being made: 'headish recover --remote --wait SECONDS' waits for it."
        )
    for turn, error in fetched.failed:
        say(f"The answer of turn {turn.id} is not fetched: {error}")


@click.command("usage")
@click.argument("headish", nargs=-1)
@click.option("--by", type=click.Choice(["model", "provider", "day", "bookmark"]), help="Count apart, by this.")
@click.option("--all", "whole", is_flag=True, help="All answers of the space, instead of a thread's.")
@settings_and_json
def usage_command(
    settings: GlobalOptions, headish: tuple[str, ...], by: str | None, whole: bool, as_json: bool
) -> None:
    """Count the tokens of the answers that lead to a HEADISH, each turn once however many branches share it.

    ? means that no answer reported its tokens.
    """
    if whole and headish:
        raise click.UsageError("--all counts the whole space: leave the HEADISH out")
    with settings.open() as store:
        counts = store.usage(None if whole else list(headish) or "@", by=by)
    if as_json:
        print_json_lines(count.to_dict() for count in counts)
        return
    rows = [(count, (f"{count.replies:,}", *_tokens(count.to_dict()))) for count in counts]
    print_counts(by, ("replies", *TITLES), rows)


TITLES = {
    "input": "input_tokens",
    "cache read": "cache_read_input_tokens",
    "cache write": "cache_creation_input_tokens",
    "output": "output_tokens",
    "reasoning": "reasoning_tokens",
}
"""The columns of token counts, by title. Reasoning is part of the output."""


def _tokens(record: dict[str, int | None]) -> list[str]:
    counts = (record[field] for field in TITLES.values())
    return ["?" if count is None else f"{count:,}" for count in counts]


def print_counts(by: str | None, titles: Sequence[str], counts: Sequence[tuple[Count | Cost, Sequence[str]]]) -> None:
    """Print a line for each count, aligned below the titles; report how many replies have no token counts."""
    rows = [[by or "", *titles]]
    rows += [[one_line(each.key or ("(unknown)" if by else "all"), 60), *numbers] for each, numbers in counts]
    for line in in_columns(rows, range(1, len(rows[0]))):
        click.echo(line)
    silent = sum(each.silent for each, _ in counts)
    if silent:
        say("1 reply has no token counts." if silent == 1 else f"{silent:,} replies have no token counts.")
