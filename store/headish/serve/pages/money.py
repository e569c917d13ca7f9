"""The cost of answers and calls, by the user's table of prices. Without a table, no cost is shown.

An amount always has its currency, and a missing price is never shown as zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from headish.content.prices import Prices, say_amount
from headish.history.reading.costs import Cost, cost_of_reply
from headish.history.reading.usage import usage_of
from headish.serve.recorder.surfaces import find_surface
from headish.values.results.calls import PassedCall

NO_PRICE = "no price"


def say_cost(cost: Cost) -> str:
    """The cost of several answers, and the number of those whose cost is unknown; empty if none has token counts."""
    counted = cost.replies - cost.silent - cost.unpriced
    if not counted:
        return NO_PRICE if cost.unpriced else ""
    unknown = [(cost.silent, "without token counts"), (cost.unpriced, "without a price")]
    left_out = ", ".join(f"{count:,} {words}" for count, words in unknown if count)
    return say_amount(cost.cost, cost.currency) + (f" ({left_out})" if left_out else "")


def say_reply_cost(reply: Mapping[str, Any], said: datetime, prices: Prices | None) -> str:
    """The cost of one answer; ``reply`` is its ``Meta.reply``. Empty without a table, or without token counts."""
    usage = usage_of(reply)
    if prices is None or usage is None:
        return ""
    amount = cost_of_reply(reply, usage, said, prices)
    return NO_PRICE if amount is None else say_amount(amount, prices.currency)


def reply_of_call(call: PassedCall) -> dict[str, Any]:
    """The facts that determine the cost of a call, in the form of ``Meta.reply``."""
    facts = call.facts
    surface = find_surface(facts.method, facts.path)
    return {"model": facts.model, "provider": surface and surface.provider, "usage": facts.usage or None}


def cost_of_call(call: PassedCall, prices: Prices) -> Decimal | None:
    """The exact cost of a call; None without token counts, or if the table has no price for it."""
    reply = reply_of_call(call)
    usage = usage_of(reply)
    return None if usage is None else cost_of_reply(reply, usage, call.time, prices)
