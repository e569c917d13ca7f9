"""Of the cases of a test, `--few N` that are spread over them all; of the tests of a module, `--of-a-module N`.
Used by tests/conftest.py for `make quick`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import pytest


class Few:
    """Thins out what markers and names on the command line have left."""

    def __init__(self, cases: int | None, of_a_module: int | None) -> None:
        self.cases, self.of_a_module = cases, of_a_module

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        kept = items
        if self.cases:
            kept = thinned(kept, lambda item: item.nodeid.partition("[")[0], self.cases)
        if self.of_a_module:
            kept = thinned(kept, lambda item: item.nodeid.partition("::")[0], self.of_a_module)
        chosen = set(kept)
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = kept


def thinned(items: list[pytest.Item], key: Callable[[pytest.Item], str], count: int) -> list[pytest.Item]:
    """In their order, so many of those that have the same key."""
    alike: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        alike[key(item)].append(item)
    kept = {item for each in alike.values() for item in spread(each, count)}
    return [item for item in items if item in kept]


def spread(items: list[pytest.Item], count: int) -> list[pytest.Item]:
    """So many of them, from the first one on."""
    return items[:: max(1, len(items) // count)][:count]
