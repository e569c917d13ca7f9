"""Weigh turns by what providers counted: each reply records its request's tokens, so two replies weigh the turns
between.

A reply's ``usage`` says how many tokens the whole request had. The difference of two replies of one model is what the
turns from the first to the second weigh. Where the request was cut in between, or made with other tools, the
difference is implausible and is not used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from headish.values.turns import reply_of

PLAUSIBLE = 3.0
"""How many times more or less than guessed a difference may be."""
GUESS_ERROR = 0.25
"""How far a guess by bytes alone is off, nine times in ten."""
FEW = 3
"""Fewer samples of a model than this say too little of it."""


class Counted(NamedTuple):
    """A reply: its place among the turns, its model, and the tokens of its request."""

    at: int
    model: str | None
    tokens: int


class Sample(NamedTuple):
    """The turns from ``start`` to before ``end``, what they weigh, and what was guessed.

    ``has_tools``: they begin the request, so the definitions of its tools are weighed with them.
    """

    start: int
    end: int
    tokens: int
    guessed: float
    model: str | None = None
    has_tools: bool = False


class Fit(NamedTuple):
    """What a guess is to be multiplied by, and how far the samples are from it."""

    factor: float
    error: float
    model: str | None = None


def counted_reply(index: int, system: Mapping[str, Any]) -> Counted | None:
    """The tokens of the request that a turn answered, if its provider said so."""
    reply = reply_of(system)
    usage = reply.get("usage")
    if not isinstance(usage, Mapping) or type(usage.get("input_tokens")) is not int:
        return None
    # The counts are disjoint: what was read from a cache or written to one is no part of input_tokens.
    parts = [usage.get(name) for name in _INPUT]
    tokens = sum(part for part in parts if type(part) is int and part > 0)
    model = reply.get("model")
    return Counted(index, model if isinstance(model, str) else None, tokens) if tokens else None


def find_samples(guesses: Sequence[float | None], replies: Iterable[Counted], tools: float | None) -> list[Sample]:
    """The samples of a thread: between replies that follow one another, and before the first of them.

    ``guesses`` has a number for each turn that is seen as it was stored; a part with any other turn is no sample.
    ``tools`` is what the tools are guessed to weigh, None where the turns do not begin the thread.
    """
    samples: list[Sample] = []
    before: Counted | None = None
    for reply in replies:
        start, known = (0, 0) if before is None else (before.at, before.tokens)
        part = guesses[start : reply.at]
        is_first, is_same = before is None, before is not None and before.model == reply.model
        if None not in part and (is_same or (is_first and tools is not None)):
            guessed = sum(filter(None, part)) + (tools or 0.0 if is_first else 0.0)
            tokens = reply.tokens - known
            if guessed and guessed / PLAUSIBLE <= tokens <= guessed * PLAUSIBLE:
                samples.append(Sample(start, reply.at, tokens, guessed, reply.model, is_first))
        before = reply
    return samples


def fit(samples: Iterable[Sample], model: str | None = None) -> Fit | None:
    """What the samples say of guesses; those of the model alone, if there are enough. None if they say too little."""
    usable = [each for each in samples if not each.has_tools]
    own = [each for each in usable if model is not None and each.model == model]
    chosen = own if len(own) >= FEW else usable
    if len(chosen) < FEW:
        return None
    factors = [each.tokens / each.guessed for each in chosen]
    middle = median(factors)
    error = median(abs(each / middle - 1) for each in factors)
    return Fit(middle, round(error, 3), model if chosen is own else None)


_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
