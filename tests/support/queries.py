"""All statements that the library runs, as the drivers get them, with the names of their parameters put back."""

from __future__ import annotations

import gc
import importlib
import re
from functools import cache
from pathlib import Path

import headish
from headish.database.isolation.confined import confined_texts
from headish.database.query import Query
from headish.database.sql import postgresql, sqlite

LIBRARY = Path(headish.__path__[0])
DATABASES = {
    "sqlite": (sqlite.TEXTS, r"\?"),
    "postgresql": (postgresql.TEXTS, "%s"),
    "secured": (confined_texts(), "%s"),
}
"""Where the texts of each database are, and its placeholder. A secured database takes some in other words."""


@cache
def all_queries() -> dict[str, Query]:
    """Every statement by its name, wherever it stands. Adapters hold none: no framework is imported."""
    for path in sorted(LIBRARY.rglob("*.py")):
        if "Query(" in path.read_text("utf-8"):
            importlib.import_module(".".join(("headish", *path.relative_to(LIBRARY).with_suffix("").parts)))
    return {each.name: each for each in gc.get_objects() if isinstance(each, Query)}


def texts_of(database: str) -> dict[str, str]:
    """The statements of ``DATABASES`` by name, each parameter as ``:name``."""
    texts, placeholder = DATABASES[database]
    return {name: _named(query, texts, placeholder) for name, query in sorted(all_queries().items())}


def _named(query: Query, texts: object, placeholder: str) -> str:
    sql, names, constants = query.compiled_in(texts)  # type: ignore[arg-type]
    following = iter(names)
    spelled = {name: repr(value) for name, value in constants.items()}
    return re.sub(placeholder, lambda _: spelled.get(name := next(following), f":{name}"), sql)
