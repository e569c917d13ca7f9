"""Under a policy, a call reads the rows that it reads without one: no plan turns to the whole space."""

from __future__ import annotations

from typing import Any

import pytest

from headish import Store
from support.reloading import load
from support.secured import Logins

PLANS = load("database/test_plans.py")
TURNS, ROUNDS = 400, 8
AROUND = 100
"""More rows than that are no longer the look-ups of who may enter the space."""


@pytest.fixture(scope="module")
def grown(logins: Logins) -> str:
    """A space of many turns."""
    with Store.open(logins.url, space="grown") as store:
        store.add_turn("first", bookmark="main", key="first")
        store.add_turns({"content": f"turn {index}", "continues": "main"} for index in range(TURNS))
        store._database.backend.plan_again()  # type: ignore[attr-defined]
    return "grown"


@pytest.mark.parametrize("call", PLANS.CALLS)
def test_a_call_reads_no_more_rows_under_a_policy(logins: Logins, grown: str, call: str) -> None:
    def measured(target: str) -> int:
        with Store.open(target, space=grown) as store:
            run: Any = PLANS.CALLS[call]
            run(store, 0)
            read: int = PLANS.rows_read(store, lambda: [run(store, 1 + index) for index in range(ROUNDS)])
            return read

    assert measured(logins.at("app")) <= measured(logins.url) + ROUNDS * AROUND
