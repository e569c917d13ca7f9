"""Weigh the messages of a window, for the report of ``tokens`` and for budgets, and fit the guess to the models of a
space: to the counts of its newest replies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from msgspec.structs import replace

from headish.database.query import Connection
from headish.history.budgets.cutting import Cut, Scale, Weights, cut, weigh
from headish.history.budgets.estimates import Count, count_message, count_tools, estimate, estimate_tools
from headish.history.budgets.fitting import GUESS_ERROR, Counted, Fit, Sample, counted_reply, find_samples, fit
from headish.history.reading.decode import read_blocks, read_mapping, read_messages
from headish.history.windows.resolve import see_window
from headish.rows.threads.walks import PlacedTurn, Walked, read_newest
from headish.values.ids import TurnId
from headish.values.messages import ContextWindow, Message
from headish.values.results.plain import PlainResult

READ_TURNS = 256
"""The number of newest turns of a space that are read."""
Tools = Sequence[Mapping[str, Any]]
Fill = Callable[[Sequence[Message]], Sequence[Message]]


class TurnTokens(PlainResult, frozen=True):
    """The tokens of one message of a window. ``source`` says how they are known, as in ``Tokens``."""

    turn: TurnId | None
    role: str | None
    tokens: int
    source: str


class Tokens(PlainResult, frozen=True):
    """The number of tokens of a request for a window, including its ``tools``, and how it is known.

    ``source`` is ``count`` (the caller's function), ``usage`` (providers' counts for replies of the thread), ``ratio``
    (a guess by bytes, corrected by other replies of the space) or ``bytes`` (the guess alone). ``error`` is how far the
    number may be off, as a share of it: 0.1 is a tenth. ``context_window`` is that of the thread's pointer.
    """

    tokens: int
    source: str
    error: float
    tools: int
    model: str | None
    context_window: int | None
    turns: tuple[TurnTokens, ...]


class Measured(NamedTuple):
    """A window, the weights of its messages, and which of them every budget keeps. ``summaries`` has the number of
    covered turns by the index of each summary. ``needs_fit``: the thread has no counts of its own that correct a
    guess."""

    window: ContextWindow
    weights: Weights
    kept: Sequence[bool]
    needs_fit: bool
    summaries: Mapping[int, int] = {}


def measure(walked: Sequence[Walked], tools: Tools = (), count: Count | None = None, fill: Fill = tuple) -> Measured:
    """The window of a walk with its weights: by ``count``, else by bytes, corrected by the usage of its own replies.

    ``fill`` puts documents in place of references, so that they weigh what is sent.
    Raises: CorruptTurn; InvalidArgument if ``count`` does not return a number of tokens.
    """
    window, seen = see_window(walked)
    at = range(len(walked)) if seen is None else [each.at for each in seen]
    kept = [False] * len(walked) if seen is None else [each.kept for each in seen]
    summaries = {index: each.covers for index, each in enumerate(seen or ()) if each.covers}
    outgoing = fill(window.messages)
    if count is not None:
        counts = [count_message(message, count) for message in outgoing]
        return Measured(window, Weights(counts, at, count_tools(tools, count), is_exact=True), kept, False, summaries)
    guesses, base = [estimate(message) for message in outgoing], estimate_tools(tools)
    as_stored: list[float | None] = [None] * len(walked)
    for index, (turn, guess) in enumerate(zip(at, guesses, strict=True)):
        # A provider counted the original words: a message that an overlay changed since cannot be compared.
        as_stored[turn] = guess if window.messages[index].turn == walked[turn].id else None
    samples = find_samples(as_stored, _replies(walked), base)
    needs_fit = all(sample.has_tools for sample in samples)
    return Measured(window, Weights(guesses, at, base, samples), kept, needs_fit, summaries)


def with_fit(measured: Measured, fit: Fit | None) -> Measured:
    """The same measurement, corrected by other replies of the space."""
    return measured._replace(weights=measured.weights._replace(fit=fit))


def cut_window(measured: Measured, budget: int) -> ContextWindow:
    """The window within a budget, with a note if messages were left out. Raises: OverBudget."""
    shortened: Cut = cut(measured.window.messages, measured.weights, measured.kept, budget)
    return replace(measured.window, messages=shortened.messages, notes=(*measured.window.notes, *shortened.notes))


def tell(measured: Measured, model: str | None, context_window: int | None) -> Tokens:
    """Report what a window weighs, message by message."""
    weights, scale = measured.weights, weigh(measured.weights)
    source, error = _source(weights, scale)
    turns = tuple(
        TurnTokens(message.turn, message.role, round(scale.tokens(at)), "usage" if at in scale.known else source)
        for at, message in enumerate(measured.window.messages)
    )
    return Tokens(round(scale.total), source, error, round(scale.tools), model, context_window, turns)


def _source(weights: Weights, scale: Scale) -> tuple[str, float]:
    """The source of the token counts, and the share by which they may be off."""
    if weights.is_exact:
        return "count", 0.0
    guessed = sum(scale.tokens(at) for at in range(len(weights.guesses)) if at not in scale.known)
    share = guessed / scale.total if scale.total else 0.0
    if scale.known:
        # Only the guessed part can be off, by as much as guesses were for the turns that providers counted.
        between = [each for each in weights.samples if not each.has_tools]
        whole = sum(each.tokens for each in between) / max(1.0, sum(each.guessed for each in between)) or 1.0
        off = [abs(each.tokens / each.guessed / whole - 1) for each in between]
        return "usage", round(share * (max(0.05, sum(off) / len(off)) if off else GUESS_ERROR), 3)
    if weights.fit is not None:
        return "ratio", max(0.05, weights.fit.error)
    return "bytes", GUESS_ERROR


def _replies(walked: Sequence[Walked]) -> list[Counted]:
    """The replies of a walk whose providers counted the tokens of the request."""
    replies = (
        counted_reply(index, read_mapping(turn, "system"))
        for index, turn in enumerate(walked)
        if turn.system is not None and turn.type is None
    )
    return [reply for reply in replies if reply is not None]


def read_fit(connection: Connection, space: int, model: str | None) -> Fit | None:
    """The correction of guesses by the space's newest replies, those of ``model`` first; None if they are too few.
    Cost: one statement."""
    turns = [turn for turn in read_newest(connection, space, READ_TURNS) if turn.payload is not None]
    turns.sort(key=lambda turn: turn.place)
    samples: list[Sample] = []
    for _, members in groupby(turns, lambda turn: turn.chain):
        samples += _samples(list(members))
    return fit(samples, model)


def _samples(turns: list[PlacedTurn]) -> list[Sample]:
    """The samples of a run of turns of one chain; none if the run has gaps, as a difference would include them."""
    if not any(turn.system for turn in turns) or turns[-1].pos - turns[0].pos != len(turns) - 1:
        return []
    guesses = [
        None if turn.type is not None else estimate(*read_messages([turn], [read_blocks(turn, turn.payload)]))
        for turn in turns
    ]
    replies = (counted_reply(index, read_mapping(turn, "system")) for index, turn in enumerate(turns))
    return find_samples(guesses, [reply for reply in replies if reply is not None], None)
