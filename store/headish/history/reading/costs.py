"""Price answers by the caller's table. Each answer counts once, as its tokens do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal, localcontext
from typing import Any

from msgspec import Struct

from headish.content.prices import EXACT, PricedAnswer, Prices
from headish.errors import InvalidArgument, shown
from headish.history.reading.usage import KEYS, CountedReply, UsageTally, each_once, text_of
from headish.providers.shared.values import Usage
from headish.values.turns import input_tokens_of, said_at_of


class Cost(Struct, frozen=True):
    """The cost of some replies. ``key`` is what they have in common, as in a ``Count``. ``cost`` is exact, but excludes
    the ``silent`` replies, whose provider reported no tokens, and the ``unpriced`` ones, whose model has no price;
    ``models`` names those models. ``usage`` is the tokens of all; ``to_dict`` leaves it out, as a ``Count`` has it.
    """

    key: str | None
    replies: int
    silent: int
    unpriced: int
    cost: Decimal
    currency: str
    models: tuple[str, ...] = ()
    usage: Usage = Usage()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; ``cost`` is text, so that no JSON reader rounds it to a float."""
        record: dict[str, Any] = {"key": self.key, "replies": self.replies, "silent": self.silent}
        record |= {"unpriced": self.unpriced, "cost": f"{self.cost:f}", "currency": self.currency}
        return record | {"models": list(self.models)}


def count_costs(
    replies: Iterable[CountedReply], prices: Prices, by: str | None, since: datetime | None, until: datetime | None
) -> list[Cost]:
    """Add up the cost of replies by key, in the order of the keys, None last. Only replies said from ``since`` to
    before ``until`` count.

    Raises: InvalidArgument if ``by`` is neither a key of ``KEYS`` nor None, which counts all together.
    """
    if by is not None and by not in KEYS:
        raise InvalidArgument(f"cost is counted by {', '.join(KEYS)}, not by {shown(by)}")
    # Without a key there is one line, even if nothing was counted.
    tallies: dict[str | None, _Tally] = {} if by else {None: _Tally()}
    for each in each_once(replies):
        said_at = said_at_of(each.system, each.id)
        if (since is None or said_at >= since) and (until is None or said_at < until):
            tallies.setdefault(KEYS[by](each) if by else None, _Tally()).add(each, said_at, prices)
    ordered = sorted(tallies, key=lambda key: (key is None, key or ""))
    return [tallies[key].close(key, prices.currency) for key in ordered]


class _Tally:
    """Adds up the cost of replies."""

    def __init__(self) -> None:
        self._tokens = UsageTally()
        self._unpriced = 0
        self._cost = Decimal(0)
        self._models: set[str] = set()

    def add(self, answer: CountedReply, said: datetime, prices: Prices) -> None:
        """Add an answer."""
        usage = self._tokens.add(answer.reply)
        if usage is None:
            return
        cost = cost_of_reply(answer.reply, usage, said, prices)
        if cost is None:
            self._unpriced += 1
            self._models.add(text_of(answer.reply.get("model")) or "(unknown)")
            return
        # The default context rounds to 28 digits; sums must stay exact.
        with localcontext(EXACT):
            self._cost += cost

    def close(self, key: str | None, currency: str) -> Cost:
        """The sums so far."""
        counted, cost = self._tokens.count(key), self._cost.normalize(EXACT)
        models = tuple(sorted(self._models))
        return Cost(key, counted.replies, counted.silent, self._unpriced, cost, currency, models, counted.usage)


def cost_of_reply(reply: Mapping[str, Any], usage: Usage, said: datetime, prices: Prices) -> Decimal | None:
    """The exact cost of an answer from its stored facts (``Meta.reply``). None if the table has no price for it."""
    tokens = {name: getattr(usage, name) or 0 for name in Usage.__struct_fields__}
    answer = _asked(reply, said, tokens)
    price = prices.find(answer)
    return None if price is None else price.cost(tokens, is_batch=answer.is_batch)


def _asked(reply: Mapping[str, Any], said: datetime, tokens: dict[str, int]) -> PricedAnswer:
    return PricedAnswer(
        model=text_of(reply.get("model")),
        provider=text_of(reply.get("provider")),
        ptr=text_of(reply.get("ptr")),
        day=said.date(),
        input_tokens=input_tokens_of(tokens),  # a price may depend on their sum
        is_batch=isinstance(reply.get("batch"), str),
    )
