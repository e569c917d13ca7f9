"""Prices that a user gives: what a million tokens of each kind cost, by model. They are never stored.

A table is TOML or JSON::

    currency = "USD"

    [[price]]
    model = "claude-sonnet-4-5*"    # * stands for any characters
    input = 3.00                    # for a million tokens
    cached_input = 0.30             # left out: as input
    cache_write = 3.75              # left out: as input
    cache_write_1h = 6.00           # left out: as cache_write
    output = 15.00
    reasoning = 15.00               # left out: as output
    input_audio = 32.00             # left out: as input
    output_audio = 64.00            # left out: as output

The first price that fits an answer applies. Amounts are decimals from the file to the sum, never floats.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from datetime import date
from decimal import Context, Decimal, localcontext
from fnmatch import translate
from json import loads
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from headish.errors import InvalidArgument, InvalidPrices, shown
from headish.values.checks.doors import is_path
from headish.values.checks.files import read_regular
from headish.values.forking import cached_property

LIMIT_BYTES = 1024 * 1024
"""The largest file of prices."""
MILLION = Decimal(1_000_000)
EXACT = Context(prec=100)
"""Digits for sums: more than any number of tokens at any price takes, so nothing is rounded before it is shown."""
# These bounds keep every sum within the digits of ``EXACT``.
_LARGEST, _SMALLEST_EXPONENT = Decimal(10**9), -12
_SHOWN = Decimal("0.0001")


class PricedAnswer(NamedTuple):
    """The facts of an answer that decide its price: who gave it, when, to how many tokens, and whether in a batch."""

    model: str | None
    provider: str | None
    ptr: str | None
    day: date
    input_tokens: int
    is_batch: bool


class Price(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """A row of a table. ``since`` is the first day on which it applies, ``until`` the first on which it no longer does.
    With ``over``, it applies only to requests of more input tokens. ``batch`` is the factor for answers of a batch."""

    model: str
    input: Decimal
    output: Decimal
    cached_input: Decimal | None = None
    cache_write: Decimal | None = None
    reasoning: Decimal | None = None
    cache_write_1h: Decimal | None = None
    input_audio: Decimal | None = None
    output_audio: Decimal | None = None
    provider: str | None = None
    ptr: str | None = None
    since: date | None = None
    until: date | None = None
    over: int = 0
    batch: Decimal = Decimal(1)

    def fits(self, asked: PricedAnswer) -> bool:
        """Whether the price applies to an answer."""
        return (
            asked.model is not None
            and self._pattern.fullmatch(asked.model) is not None
            and self.provider in (None, asked.provider)
            and self.ptr in (None, asked.ptr)
            and (self.since is None or asked.day >= self.since)
            and (self.until is None or asked.day < self.until)
            and (not self.over or asked.input_tokens > self.over)
        )

    def cost(self, tokens: Mapping[str, int], *, is_batch: bool = False) -> Decimal:
        """The exact cost of tokens, which are counted by the names of ``Usage``."""
        with localcontext(EXACT):
            whole = self._input_cost(tokens) + self._cache_cost(tokens) + self._output_cost(tokens)
            return whole * (self.batch if is_batch else 1) / MILLION

    def _input_cost(self, tokens: Mapping[str, int]) -> Decimal:
        """The cost of the input that did not come from a cache. Sound is a part of it."""
        input_tokens = tokens.get("input_tokens", 0)
        sound = min(tokens.get("input_audio_tokens", 0), input_tokens)  # some of the sound may have come from a cache
        return self.input * (input_tokens - sound) + _first(self.input_audio, self.input) * sound

    def _cache_cost(self, tokens: Mapping[str, int]) -> Decimal:
        hour = tokens.get("cache_creation_1h_input_tokens", 0)
        written_tokens = max(tokens.get("cache_creation_input_tokens", 0), hour)  # includes what is kept for an hour
        write = _first(self.cache_write, self.input)
        read_cost = _first(self.cached_input, self.input) * tokens.get("cache_read_input_tokens", 0)
        return read_cost + write * (written_tokens - hour) + _first(self.cache_write_1h, write) * hour

    def _output_cost(self, tokens: Mapping[str, int]) -> Decimal:
        reasoning, sound = tokens.get("reasoning_tokens", 0), tokens.get("output_audio_tokens", 0)
        output = max(tokens.get("output_tokens", 0), reasoning + sound)  # includes both
        plain = self.output * (output - reasoning - sound)
        return plain + _first(self.reasoning, self.output) * reasoning + _first(self.output_audio, self.output) * sound

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        # Only ``*`` is special: a bracket or a question mark in a model's name is itself.
        return re.compile(translate(re.sub(r"[\[?]", r"[\g<0>]", self.model)))


class Prices(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of prices in one currency."""

    price: tuple[Price, ...]
    currency: str = "USD"

    def find(self, asked: PricedAnswer) -> Price | None:
        """The first price that fits; None if none does."""
        return next((each for each in self.price if each.fits(asked)), None)


def say_amount(amount: Decimal, currency: str) -> str:
    """An amount with four digits after the point, and its currency."""
    if 0 < amount < _SHOWN:
        return f"less than {_SHOWN:f} {currency}"
    return f"{amount:,.4f} {currency}"


def read_prices(given: str | os.PathLike[str] | Mapping[str, Any] | Prices) -> Prices:
    """Read the prices of a file (TOML, or JSON if its name ends in ``.json``), or of the same table as a mapping.

    Raises: InvalidPrices, which names the file and what is wrong in it.
    """
    if isinstance(given, Prices):
        return given
    if isinstance(given, Mapping):
        return _convert(dict(given), "the mapping")
    if not is_path(given):
        raise InvalidArgument(f"prices is the path of a table, or a table as a mapping, not {shown(given)}")
    name = os.fsdecode(given)
    text = _read_text(name)
    try:
        if name.endswith(".json"):
            # NaN and Infinity become decimals, too: ``_is_amount`` refuses them and names the price.
            record = loads(text, parse_float=Decimal, parse_constant=Decimal)
        else:
            record = tomllib.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError, ArithmeticError) as error:
        raise InvalidPrices(name, f"it is not {'JSON' if name.endswith('.json') else 'TOML'} ({error})") from None
    return _convert(record, name)


def _read_text(name: str) -> str:
    try:
        data = read_regular(name, LIMIT_BYTES)
    except (OSError, ValueError) as error:
        raise InvalidPrices(name, getattr(error, "strerror", None) or str(error)) from None
    if len(data) > LIMIT_BYTES:
        raise InvalidPrices(name, f"it is larger than {LIMIT_BYTES:,} bytes")
    try:
        return data.decode("utf-8-sig")  # editors on Windows write a byte order mark
    except UnicodeDecodeError:
        raise InvalidPrices(name, "it is not UTF-8") from None


def _convert(record: Any, name: str) -> Prices:
    try:
        prices = msgspec.convert(_with_decimals(record), Prices)
    except (ValueError, TypeError, ArithmeticError, RecursionError) as error:  # msgspec's own is a ValueError
        raise InvalidPrices(name, str(error)) from None
    for number, price in enumerate(prices.price, 1):
        for word in AMOUNTS:
            amount = getattr(price, word)
            if amount is not None and not _is_amount(amount):
                raise InvalidPrices(name, f"{word} of price {number} is not an amount from 0 to {_LARGEST:,}")
        if price.over < 0:
            raise InvalidPrices(name, f"over of price {number} is a number of tokens, from 0 on")
    if not prices.currency.isprintable() or len(prices.currency) > 20:
        raise InvalidPrices(name, "currency is a short word")
    return prices


def _with_decimals(record: Any) -> Any:
    """The record with its amounts as decimals. A float in a mapping counts as the decimal that it prints as."""
    if not isinstance(record, dict) or not isinstance(record.get("price"), list | tuple):
        return record
    rows = [_decimals_of(row) if isinstance(row, Mapping) else row for row in record["price"]]
    return {**record, "price": rows}


def _decimals_of(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: Decimal(str(value)) if key in AMOUNTS and type(value) in (int, float) else value
        for key, value in row.items()
    }


def _is_amount(amount: Decimal) -> bool:
    if not amount.is_finite() or not 0 <= amount <= _LARGEST:
        return False
    exponent = amount.as_tuple().exponent
    return isinstance(exponent, int) and exponent >= _SMALLEST_EXPONENT


def _first(amount: Decimal | None, other: Decimal) -> Decimal:
    return other if amount is None else amount


AMOUNTS = (
    "input", "output", "cached_input", "cache_write", "cache_write_1h", "reasoning", "input_audio", "output_audio",
    "batch",
)  # fmt: skip
