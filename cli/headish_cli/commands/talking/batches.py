"""``batch``: ask about many heads at once, for less, and collect the answers later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headish_cli.commands.talking.saying import choose_model, read_params
from headish_cli.options import GlobalOptions, pass_settings, read_stdin, settings_and_json
from headish_cli.printing.briefs import BriefGroup
from headish_cli.printing.output import cells, counted, one_line, pad, print_json, print_json_lines, say

if TYPE_CHECKING:
    from headish import Store
    from headish.values.results.batches import Batch, CollectedBatch

FAILED_SHOWN = 20
timeout_option = click.option(
    "--timeout", type=click.FloatRange(min=0.1), metavar="SECONDS",
    help="How long the provider may be silent.  [default: 600]",
)  # fmt: skip


@click.group("batch", cls=BriefGroup)
def batch_command() -> None:
    """Ask about many heads at once, for about half the price: the provider answers within a day.

    Anthropic, OpenAI (openai and openai_responses), Azure OpenAI and Gemini have batches. headish collects nothing by
    itself: 'headish batch collect' stores the answers; each continues the turn it was asked about.
    """


@batch_command.command("create")
@click.argument("heads", nargs=-1, required=True, metavar="HEADISH...|-")
@click.option("--name", metavar="NAME", help="What to call the batch.  [default: batch-1, batch-2 …]")
@click.option("-p", "--ptr", metavar="PTR", help="Ask this provider pointer.")
@click.option("--to", metavar="PROVIDER", help="Ask this provider, without a pointer.")
@click.option("-m", "--model", metavar="NAME",
              help="Ask this pointer; if none has that name, this model of the pointer's provider.")  # fmt: skip
@click.option("-o", "--option", "options", multiple=True, metavar="KEY=VALUE",
              help="A parameter for these calls, as temperature=0.2; kept beside each answer.")  # fmt: skip
@click.option("--base-url", metavar="URL", help="A compatible server.")
@click.option("--key-env", metavar="VARIABLE", help="The environment variable that holds the key for it.")
@timeout_option
@settings_and_json
def create_command(
    settings: GlobalOptions, heads: tuple[str, ...], name: str | None, ptr: str | None, to: str | None,
    model: str | None, options: tuple[str, ...], timeout: float | None, as_json: bool, **server: Any,
) -> None:  # fmt: skip
    """Ask a provider to continue each HEADISH, in one batch, and print its name.

    - reads them from standard input, one per line. What each is asked must be stored already: 'headish add'. All go to
    one server; OpenAI and Gemini take one model for a batch.
    """
    headishes = [each for head in heads for each in (_read_heads() if head == "-" else [head])]
    with settings.open() as store:
        # All requests of a batch go to one server, so the first thread may choose for all.
        model = choose_model(settings, store, headishes[0] if headishes else None, ptr, to, model)
        batch = store.batches.create(
            headishes, name=name, to=to, ptr=ptr, model=model, params=read_params(options) or None,
            timeouts=timeout, **server,
        )  # fmt: skip
    if as_json:
        print_json(batch.to_dict())
        return
    click.echo(batch.name)
    requests = counted(len(batch.entries), "request")
    say(f"{requests} to {batch.provider}; 'headish batch collect {batch.name}' stores the answers.")


@batch_command.command("status")
@click.argument("name", required=False)
@timeout_option
@settings_and_json
def status_command(settings: GlobalOptions, name: str | None, timeout: float | None, as_json: bool) -> None:
    """Show how far the batch NAME is at its provider; without NAME, list the batches without asking any provider."""
    with settings.open() as store:
        if name is None:
            _list(store.batches.list(), as_json)
            return
        status = store.batches.status(name, timeouts=timeout)
    if as_json:
        print_json(status.to_dict())
        return
    counts = ", ".join(f"{count:,} {word}" for word, count in status.counts.items() if count)
    click.echo(one_line(f"{name}: {status.status}" + (f" ({counts})" if counts else ""), None))
    if status.ended and status.batch.state != "collected":
        say(f"'headish batch collect {name}' stores the answers.")


@batch_command.command("collect")
@click.argument("name")
@timeout_option
@settings_and_json
def collect_command(settings: GlobalOptions, name: str, timeout: float | None, as_json: bool) -> None:
    """Store what the batch NAME has answered, and print the ids of the turns.

    Run it as often as you like: it stores each answer once. A batch that has not ended stores nothing.
    Exit code 1: requests that failed or expired, or results that cannot be used.
    """
    with settings.open() as store:
        result = store.batches.collect(name, timeouts=timeout)
        if as_json:
            print_json(result.to_dict())
        else:
            for turn in result.turns:
                click.echo(turn)
            _tell(store, result)
    if result.ended and (result.problems or result.batch.state != "collected" or result.batch.counts["failed"]):
        raise click.exceptions.Exit(1)


@batch_command.command("drop")
@click.argument("name")
@pass_settings
def drop_command(settings: GlobalOptions, name: str) -> None:
    """Forget the batch NAME; collected answers stay. headish does not cancel it at the provider."""
    with settings.open() as store:
        store.batches.drop(name)
    say(f"{name} is forgotten.")


def _list(batches: list[Batch], as_json: bool) -> None:
    if as_json:
        print_json_lines({key: value for key, value in each.to_dict().items() if key != "entries"} for each in batches)
        return
    room = max((cells(each.name) for each in batches), default=0)
    for each in batches:
        counts = ", ".join(f"{count:,} {word}" for word, count in each.counts.items() if count)
        who = each.ptr or f"{each.provider}/{each.model or '…'}"
        click.echo(one_line(f"{pad(each.name, room)}  {each.state:<9}  {who}  {counts}", None))
    if not batches:
        say("There are no batches: 'headish batch create' makes one.")


def _tell(store: Store, found: CollectedBatch) -> None:
    """Report what the list of turns does not show: failed and missing answers, problems, totals."""
    name, counts = found.batch.name, found.batch.counts
    if not found.ended:
        say(f"{name} has not ended yet: the provider says {one_line(found.status, 60)}.")
        return
    failed = [each for each in found.batch.entries if each.error is not None]
    short = store.abbreviate(each.continues[0] for each in failed[:FAILED_SHOWN])
    for each in failed[:FAILED_SHOWN]:
        error = each.error or {}
        head = each.bookmark or short.get(each.continues[0], each.continues[0])
        say(one_line(f"{head} has no answer: {error.get('type')}: {error.get('message')}", None))
    if len(failed) > FAILED_SHOWN:
        say(f"{len(failed) - FAILED_SHOWN:,} more have no answer; --json lists them all.")
    for problem in found.problems:
        say(one_line(f"problem: {problem}", None))
    say(f"{name}: {len(found.turns):,} stored now, {counts['answered']:,} of {len(found.batch.entries):,} in all.")
    if counts["waiting"]:
        say(f"{counted(counts['waiting'], 'request')} without a result; collecting again looks for them.")


def _read_heads() -> list[str]:
    from headish_cli.options import decode_text

    return [line.strip() for line in decode_text(read_stdin()).splitlines() if line.strip()]
