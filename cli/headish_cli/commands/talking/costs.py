"""``cost``: compute the cost of answers from the user's table of prices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from headish_cli.commands.talking.replying import print_counts
from headish_cli.options import PLACE, GlobalOptions, read_time, settings_and_json
from headish_cli.printing.output import Told, one_line, print_json_lines, say

if TYPE_CHECKING:
    from headish.history.reading.costs import Cost

MODELS_SHOWN = 5


@click.command("cost")
@click.argument("headish", nargs=-1)
@click.option("--prices", type=PLACE, metavar="FILE", envvar="HEADISH_PRICES",
              help="The table of prices, TOML or JSON.  [env: HEADISH_PRICES]")  # fmt: skip
@click.option("--by", type=click.Choice(["model", "provider", "day", "bookmark"]), help="Count apart, by this.")
@click.option("--all", "whole", is_flag=True, help="All answers of the space, instead of a thread's.")
@click.option("--since", metavar="TIME",
              help="Count only what was said from TIME on: a date, yesterday, '2 hours ago', RFC 3339.")  # fmt: skip
@click.option("--until", metavar="TIME", help="Count only what was said before TIME; a day alone is included.")
@settings_and_json
def cost_command(
    settings: GlobalOptions, headish: tuple[str, ...], prices: str | None, by: str | None, whole: bool,
    since: str | None, until: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Show what the answers that lead to a HEADISH cost, each turn once however many branches share it.

    Prices are never stored: a table says what a million tokens of each model cost. --prices names it, else
    HEADISH_PRICES, else the configuration ('headish config set prices FILE').

    \b
    currency = "USD"
    [[price]]
    model = "claude-sonnet-4-5*"   # *: any characters; the first that fits holds
    input = 3.00
    cached_input = 0.30
    cache_write = 3.75             # cache_write_1h = … for an hour
    output = 15.00                 # reasoning = … if it has a price of its own
    batch = 0.5                    # the factor for answers of 'headish batch'
    """
    if whole and headish:
        raise click.UsageError("--all counts the whole space: leave the HEADISH out")
    times = {"since": read_time(since, "--since"), "until": read_time(until, "--until")}
    table = prices or settings.prices
    if table is None:
        raise Told("no table of prices: --prices FILE, HEADISH_PRICES, or 'headish config set prices FILE'")
    with settings.open() as store:
        costs = store.cost(None if whole else list(headish) or "@", prices=table, by=by, **times)
    if as_json:
        print_json_lines(each.to_dict() for each in costs)
        return
    _print(costs, by)


def _print(costs: list[Cost], by: str | None) -> None:
    print_counts(by, ("replies", "cost"), [(each, (f"{each.replies:,}", show_cost(each))) for each in costs])
    unpriced = sum(each.unpriced for each in costs)
    if unpriced:
        models = sorted({model for each in costs for model in each.models})
        names = ", ".join(one_line(model, 60) for model in models[:MODELS_SHOWN])
        more = f" and {len(models) - MODELS_SHOWN:,} more" if len(models) > MODELS_SHOWN else ""
        replies = "1 reply has" if unpriced == 1 else f"{unpriced:,} replies have"
        say(f"{replies} no price in the table: {names}{more}.")


def show_cost(cost: Cost) -> str:
    """The amount and its currency, or ``no price`` if no answer with token counts has a price."""
    from headish.content.prices import say_amount

    if cost.unpriced and cost.unpriced + cost.silent == cost.replies:
        return "no price"
    return say_amount(cost.cost, cost.currency)
