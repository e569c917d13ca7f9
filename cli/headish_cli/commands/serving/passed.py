"""``call``: list the requests that passed the gateway, and show one of them."""

from __future__ import annotations

import json
from http.client import HTTPException
from typing import TYPE_CHECKING, Any
from urllib.request import ProxyHandler, build_opener

import click

from headish.errors import HeadishError
from headish.values.times import local_time
from headish.values.turns import input_tokens_of
from headish_cli.options import GlobalOptions, settings_and_json
from headish_cli.printing.output import counted, in_columns, one_line, print_json, print_json_lines, say, width
from headish_cli.printing.paging import paged

if TYPE_CHECKING:
    from decimal import Decimal

    from headish import Store
    from headish.content.prices import Prices
    from headish.values.results.calls import PassedCall, PrefixBreak

CLIENT_COLUMNS, MODEL_COLUMNS = 14, 24
ASKED_SECONDS = 2.0
LOOKED_AT = 500
"""How many calls are read at once to find some."""
TITLES = ("call", "time", "client", "model", "status", "input", "output", "", "")
"""The titles of the columns at a terminal; the last two, cost and what broke, need none."""
NUMBERS = (5, 6, 7)


@click.group("call")
def call_command() -> None:
    """Look at the requests that passed the gateway."""


@call_command.command("list")
@click.argument("name", required=False)
@click.option("--before", metavar="ID", help="Only calls before this one.")
@click.option("-n", "--limit", type=click.IntRange(1), default=30, show_default=True, help="How many.")
@click.option("--broke", is_flag=True, help="Only requests that broke off from what the one before had sent.")
@settings_and_json
def list_command(
    settings: GlobalOptions, name: str | None, before: str | None, limit: int, broke: bool, as_json: bool
) -> None:
    """List the calls, the newest first.

    With NAME, those of the conversation of that bookmark. A line has the id, the time, the client, the model, the
    status (with how the call ended if it broke off), the tokens in and out, the cost where you have a table of
    prices ('headish cost --help'), and where the prefix of the request before broke. At a terminal, titles stand
    above the columns, and GETs that were refused alike, one after the other, are one line with their number. What
    keeps calls from being stored is reported on stderr.
    """
    prices = settings.read_prices()
    from headish.values.results.calls import fold_refusals

    with settings.open() as store:
        calls = (
            _find_broken(store, name, before, limit) if broke else store.calls.list(name, before=before, limit=limit)
        )
        spooled = store.calls.spooled()
    if spooled:
        say(f"{counted(spooled, 'call')} still in the spool of 'headish serve'.")
    for problem in gateway_problems(settings):
        say(f"headish serve: {one_line(problem, None)}")
    if as_json:
        print_json_lines(_record(each, prices) for each in calls)
        return
    if not calls:
        say("No calls.")
        return
    # Not in a pipe, where every line should be a call.
    at_terminal = width() is not None
    folded = fold_refusals(calls) if at_terminal else [(each, 1) for each in calls]
    rows = [_row(each, _say_cost(each, prices), count) for each, count in folded]
    if at_terminal:
        rows.insert(0, TITLES)
    with paged(settings):
        for line in in_columns(rows, NUMBERS):
            click.echo(line)


def _find_broken(store: Store, name: str | None, before: str | None, limit: int) -> list[PassedCall]:
    """The newest calls that broke off; most calls do not."""
    found: list[PassedCall] = []
    while len(found) < limit and (page := store.calls.list(name, before=before, limit=LOOKED_AT)):
        found += [each for each in page if each.facts.broke is not None]
        before = page[-1].id
    return found[:limit]


@call_command.command("show")
@click.argument("id")
@click.option("--body", is_flag=True, help="Print the body of the request, as the client sent it.")
@settings_and_json
def show_command(settings: GlobalOptions, id: str, body: bool, as_json: bool) -> None:
    """Show one call.

    Says whose it was, what it used, which turns it sent and got, and where the prompt cache ended. With --body the
    request's body is built again from its turns; what looked like a key is hidden in it.
    """
    prices = settings.read_prices()
    with settings.open() as store:
        if body:
            print_json(store.calls.body(id))
            return
        call = store.calls.get(id)
        if as_json:
            print_json(_record(call, prices))
            return
        broke = call.facts.broke
        text_before = "" if broke is None or broke.turn is None else store.text(broke.turn)
    for label, value in _details(call, text_before, _say_cost(call, prices)):
        click.echo(f"{label:<10} {value}")


def gateway_problems(settings: GlobalOptions) -> list[str]:
    """Ask the gateway of this database for its problems; none if no gateway runs.

    Cost: one request to this machine, at most ``ASKED_SECONDS``.
    """
    try:
        from headish.serve.processes.settings import find_folder
        from headish.serve.processes.supervising import find_addresses

        addresses = find_addresses(find_folder(settings.target))
    except (ImportError, HeadishError):  # without the extra there is no gateway; a database in memory has none
        return []
    if addresses is None or addresses.gateway is None:
        return []
    try:
        # Without the proxy of the environment, which cannot reach a loopback address of this machine.
        with build_opener(ProxyHandler({})).open(f"{addresses.gateway}/healthz", timeout=ASKED_SECONDS) as answer:
            problems: list[str] = json.load(answer)["problems"]
    # Whatever answers at that port may be another program by now.
    except (OSError, HTTPException, ValueError, KeyError):
        return ["the gateway does not say how it is"]
    return problems


def _row(call: PassedCall, cost: str, count: int) -> tuple[str, ...]:
    facts = call.facts
    status = str(facts.status or facts.outcome)
    if count > 1:
        status += f" x{count}"
    elif facts.outcome != "ok" and facts.status:
        status += f" {facts.outcome}"
    elif facts.error and facts.status and facts.status < 400 and facts.sizes[1]:
        status += " error"  # of the answer, or of its recording: 'call show' says which
    return (
        call.id,
        local_time(call.time, "seconds"),
        one_line(call.client, CLIENT_COLUMNS),
        one_line(facts.model or facts.path, MODEL_COLUMNS),
        status,
        f"{input_tokens_of(facts.usage):,}",
        f"{facts.usage.get('output_tokens', 0):,}",
        cost,
        f"broke at {_place(facts.broke)}" if facts.broke else "",
    )


def _find_cost(call: PassedCall, prices: Prices | None) -> tuple[Decimal, str] | None:
    """The amount and its currency; None if the cost is not known."""
    if prices is None:
        return None
    from headish.serve.pages.money import cost_of_call

    amount = cost_of_call(call, prices)
    return None if amount is None else (amount, prices.currency)


def _say_cost(call: PassedCall, prices: Prices | None) -> str:
    from headish.content.prices import say_amount

    cost = _find_cost(call, prices)
    return "" if cost is None else say_amount(*cost)


def _record(call: PassedCall, prices: Prices | None) -> dict[str, Any]:
    """A call as plain data; if its cost is known, with ``cost`` and ``currency`` as in 'headish cost --json'."""
    cost = _find_cost(call, prices)
    return call.to_dict() | ({} if cost is None else {"cost": f"{cost[0]:f}", "currency": cost[1]})


def _place(broke: PrefixBreak) -> str:
    return f"message {broke.index}" if broke.what == "message" else broke.what


def _details(call: PassedCall, stood: str, cost: str) -> list[tuple[str, str]]:
    facts = call.facts
    status = str(facts.status) if facts.status is not None else "no answer"
    lines = [
        ("call", call.id),
        ("time", f"{local_time(call.time, 'seconds')}, {facts.end or 0:,} ms"),
        ("client", call.client + (f", session {one_line(call.session, None)}" if call.session else "")),
        ("request", f"{facts.method} {one_line(facts.path, None)} ({facts.api}): {status}, {facts.outcome}"),
        ("model", one_line(facts.model or "", None)),
        ("tokens", ", ".join(f"{number:,} {name.removesuffix('_tokens')}" for name, number in facts.usage.items())),
        ("cost", cost),
        ("messages", f"{facts.entries:,} sent, {counted(facts.added, 'turn')} new" if facts.entries else ""),
        ("tip", call.tip or ""),
        ("answer", call.answer or ""),
        ("error", one_line(facts.error or "", None)),
        ("note", one_line(facts.note or "", None)),
    ]
    if facts.broke is not None:
        lost = f": about {facts.broke.tokens:,} tokens were not read from the cache" if facts.broke.tokens else ""
        lines.append(("broke at", f"{_place(facts.broke)}{lost}"))
        lines.append(("was", f"{facts.broke.turn} {one_line(stood, 60)}" if facts.broke.turn else ""))
    return [line for line in lines if line[1]]
