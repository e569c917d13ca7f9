"""Weigh turns by providers' counts.

A reply's ``usage`` has the number of tokens of its whole request. So the difference between two replies of one model is
the weight of the turns from the first reply to before the second. If the second request was cut, or made with other
tools, the difference is implausible and is not used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from headish.values.turns import INPUT_TOKENS, reply_of

PLAUSIBLE = 3.0
"""The most by which a difference may exceed its guess, or a guess its difference, as a factor."""
GUESS_ERROR = 0.25
"""A guess by bytes alone is off by at most this share, nine times in ten."""
FEW = 3
"""The fewest samples that a fit is made of: a median of fewer says too little."""


class Counted(NamedTuple):
    """A reply: its place among the turns, its model, and the tokens of its request."""

    at: int
    model: str | None
    tokens: int


class Sample(NamedTuple):
    """The turns from ``start`` to before ``end``, their counted and their guessed tokens.

    ``has_tools``: they begin the request, so the count includes its tool definitions.
    """

    start: int
    end: int
    tokens: int
    guessed: float
    model: str | None = None
    has_tools: bool = False


class Fit(NamedTuple):
    """The factor that corrects a guess, and how far the samples are from it."""

    factor: float
    error: float
    model: str | None = None


def counted_reply(index: int, system: Mapping[str, Any]) -> Counted | None:
    """The tokens of the request that a turn answers; None if its provider did not report them."""
    reply = reply_of(system)
    usage = reply.get("usage")
    if not isinstance(usage, Mapping) or type(usage.get("input_tokens")) is not int:
        return None
    parts = [usage.get(name) for name in INPUT_TOKENS]
    tokens = sum(part for part in parts if type(part) is int and part > 0)
    model = reply.get("model")
    return Counted(index, model if isinstance(model, str) else None, tokens) if tokens else None


def find_samples(guesses: Sequence[float | None], replies: Iterable[Counted], tools: float | None) -> list[Sample]:
    """The samples of a thread: the turns between successive replies, and those before the first reply.

    ``guesses`` has a number for each turn that is seen as it was stored, None for any other; a part with a None is not
    a sample. ``tools`` is the guessed weight of the tools, None if the turns do not begin the thread.
    """
    samples: list[Sample] = []
    before: Counted | None = None
    for reply in replies:
        start, tokens_before = (0, 0) if before is None else (before.at, before.tokens)
        part = guesses[start : reply.at]
        is_first, is_same = before is None, before is not None and before.model == reply.model
        if None not in part and (is_same or (is_first and tools is not None)):
            guessed = sum(filter(None, part)) + (tools or 0.0 if is_first else 0.0)
            tokens = reply.tokens - tokens_before
            if guessed and guessed / PLAUSIBLE <= tokens <= guessed * PLAUSIBLE:
                samples.append(Sample(start, reply.at, tokens, guessed, reply.model, is_first))
        before = reply
    return samples


def fit(samples: Iterable[Sample], model: str | None = None) -> Fit | None:
    """The median correction of the samples, of those of ``model`` alone if there are enough. None if there are fewer
    than ``FEW``."""
    usable = [each for each in samples if not each.has_tools]
    own = [each for each in usable if model is not None and each.model == model]
    chosen = own if len(own) >= FEW else usable
    if len(chosen) < FEW:
        return None
    factors = [each.tokens / each.guessed for each in chosen]
    middle = median(factors)
    error = median(abs(each / middle - 1) for each in factors)
    return Fit(middle, round(error, 3), model if chosen is own else None)
