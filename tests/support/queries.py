"""All statements that the library asks for. Used by tests/statements and tests/database."""

from __future__ import annotations

import gc
import importlib
from pathlib import Path

import headish
from headish.database.query import Query

LIBRARY = Path(headish.__path__[0])


def all_queries() -> list[Query]:
    """Every name that is asked for, wherever it stands. Adapters hold none: no framework is imported."""
    for path in sorted(LIBRARY.rglob("*.py")):
        if "Query(" in path.read_text("utf-8"):
            importlib.import_module(".".join(("headish", *path.relative_to(LIBRARY).with_suffix("").parts)))
    return [each for each in gc.get_objects() if isinstance(each, Query)]
