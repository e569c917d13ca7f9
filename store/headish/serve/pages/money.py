"""What answers cost, in words, by the table of prices that the server was given. Without a table, nothing.

An amount is never shown without its currency, and no price is never shown as an amount of zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from headish.content.prices import Prices
from headish.history.reading.costs import Cost, cost_of_reply
from headish.history.reading.usage import usage_of

NO_PRICE = "no price"
_SMALLEST = Decimal("0.0001")


def say_amount(amount: Decimal, currency: str) -> str:
    """An amount with four digits behind the point, and its currency."""
    if 0 < amount < _SMALLEST:
        return f"less than {_SMALLEST:f} {currency}"
    return f"{amount:,.4f} {currency}"


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
