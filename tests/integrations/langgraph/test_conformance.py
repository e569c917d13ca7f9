"""LangGraph's own suite for savers, ``langgraph-checkpoint-conformance``: every capability, every case."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import pytest

from support.frameworks import not_installed

pytest.importorskip(
    "langgraph.checkpoint.conformance",
    reason=not_installed("langgraph-checkpoint-conformance"),
)

from langgraph.checkpoint import conformance

from headish.integrations.langgraph import HeadishSaver

pytestmark = [pytest.mark.peers, pytest.mark.xdist_group("langgraph")]

CASES = 81
"""How many cases version 0.0.2 has."""


@pytest.mark.parametrize("erase", [None, True, False])
def test_every_case_passes(tmp_path: Path, erase: bool | None) -> None:
    numbers = count()

    @conformance.checkpointer_test(name="headish")
    async def saver() -> AsyncIterator[HeadishSaver]:
        with HeadishSaver(tmp_path / f"{next(numbers)}.db", erase=erase) as made:
            yield made

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # prune says that it hides
        report = asyncio.run(conformance.validate(saver))
    results = {name: (each.detected, each.tests_passed, each.tests_failed) for name, each in report.results.items()}
    assert all(detected and failed == 0 for detected, _, failed in results.values()), report.to_dict()
    assert sum(passed for _, passed, _ in results.values()) >= CASES
