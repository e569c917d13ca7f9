"""What answers and calls cost, by the table of prices that the user gives. Without a table, nothing.

An amount is never shown without its currency, and no price is never shown as an amount of zero.
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
    """What several answers cost, and of how many that is not known; empty where none told its tokens."""
    counted = cost.replies - cost.silent - cost.unpriced
    if not counted:
        return NO_PRICE if cost.unpriced else ""
    unknown = [(cost.silent, "without token counts"), (cost.unpriced, "without a price")]
    left_out = ", ".join(f"{count:,} {words}" for count, words in unknown if count)
    return say_amount(cost.cost, cost.currency) + (f" ({left_out})" if left_out else "")


def say_reply_cost(reply: Mapping[str, Any], said: datetime, prices: Prices | None) -> str:
    """What one answer costs; ``reply`` is that of ``Meta.reply``. Empty without a table, or without token counts."""
    usage = usage_of(reply)
    if prices is None or usage is None:
        return ""
    amount = cost_of_reply(reply, usage, said, prices)
    return NO_PRICE if amount is None else say_amount(amount, prices.currency)


def reply_of_call(call: PassedCall) -> dict[str, Any]:
    """What decides about the cost of a call, as ``Meta.reply`` has it of an answer."""
    facts = call.facts
    surface = find_surface(facts.method, facts.path)
    return {"model": facts.model, "provider": surface and surface.provider, "usage": facts.usage or None}


def cost_of_call(call: PassedCall, prices: Prices) -> Decimal | None:
    """What a call cost; exact. None without token counts, or if the table has no price for it."""
    reply = reply_of_call(call)
    usage = usage_of(reply)
    return None if usage is None else cost_of_reply(reply, usage, call.time, prices)
