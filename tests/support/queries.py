"""All statements that the library runs, as the drivers get them, with the names of their parameters put back."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import headish
from headish.database.query import POSTGRESQL, SECURED, SQLITE, Query, Spelling

LIBRARY = Path(headish.__path__[0])
DATABASES = {
    "sqlite": (SQLITE, r"\?"),
    "postgresql": (POSTGRESQL, "%s"),
    "secured": (SECURED, "%s"),
}
"""The statements of each database, and its placeholder. A secured database takes some in other words."""


@cache
def all_queries() -> dict[str, Query]:
    """Every statement by its name, wherever it stands. Adapters hold none: no framework is imported."""
    found: dict[str, Query] = {}
    for path in sorted(LIBRARY.rglob("*.py")):
        if re.search(r"\bQuery\(", path.read_text("utf-8")):
            module = importlib.import_module(".".join(("headish", *path.relative_to(LIBRARY).with_suffix("").parts)))
            found |= {each.name: each for each in _within(module)}
    return found


def _within(module: ModuleType) -> Iterator[Query]:
    for value in vars(module).values():
        yield from (
            each for each in (value.values() if isinstance(value, dict) else [value]) if isinstance(each, Query)
        )


def texts_of(database: str) -> dict[str, str]:
    """The statements of ``DATABASES`` by name, each parameter as ``:name``."""
    words, placeholder = DATABASES[database]
    return {name: _named(query, words, placeholder) for name, query in sorted(all_queries().items())}


def _named(query: Query, words: Spelling, placeholder: str) -> str:
    compiled = words[query]
    following = iter(compiled.names)
    return re.sub(placeholder, lambda _: f":{next(following)}", compiled.sql)
