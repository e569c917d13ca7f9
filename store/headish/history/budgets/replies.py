"""Fit the token guess to the models of a space: read the counts of its newest replies."""

from __future__ import annotations

from itertools import groupby

from headish.database.query import Connection
from headish.history.budgets.estimates import estimate
from headish.history.budgets.fitting import Fit, Sample, counted_reply, find_samples, fit
from headish.history.reading.decode import read_blocks, read_mapping, read_messages
from headish.rows.threads.walks import PlacedTurn, read_newest

READ_TURNS = 256
"""The number of newest turns of a space that are read."""


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
