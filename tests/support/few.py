"""``--few N``: of the cases of a test, N that are spread over them all. Used by tests/conftest.py for `make quick`."""

from __future__ import annotations

from collections import defaultdict

import pytest


class Few:
    """Thins out what markers and names on the command line have left."""

    def __init__(self, count: int) -> None:
        self.count = count

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        tests: dict[str, list[pytest.Item]] = defaultdict(list)
        for item in items:
            tests[item.nodeid.partition("[")[0]].append(item)
        kept = {case for cases in tests.values() for case in spread(cases, self.count)}
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = [item for item in items if item in kept]


def spread(cases: list[pytest.Item], count: int) -> list[pytest.Item]:
    """So many of them, from the first one on."""
    return cases[:: max(1, len(cases) // count)][:count]
