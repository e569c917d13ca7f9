"""headish keeps conversations with language models the way git keeps code.

The flow, which is also the way to read the code. A folder is a floor, and a module imports lower floors only
(``pyproject.toml`` lists them, CONTRIBUTING.md says what each is for)::

    content ──> history (planning, append) ──> rows ──> database
                                                           │
    headish ──> history (find, walk, resolve) <── rows <───┘
                             └──> ContextWindow ──> emit ──> transcripts | providers

A name below is loaded when it is first used, so that ``import headish`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headish import errors as errors
    from headish.renderings.emission import emit as emit
    from headish.store.database import Database as Database
    from headish.store.keeping.backup import restore as restore
    from headish.store.keeping.bundles import rewrite_bundle as rewrite_bundle
    from headish.store.keeping.bundles import verify_bundle as verify_bundle
    from headish.store.store import Store as Store
    from headish.store.transactions.reading import ReadTransaction as ReadTransaction
    from headish.store.transactions.writing import WriteTransaction as WriteTransaction
    from headish.values.messages import ContextWindow as ContextWindow
    from headish.values.messages import Message as Message
    from headish.values.names import ABSENT as ABSENT
    from headish.values.results.objects import Object as Object
    from headish.values.turns import Turn as Turn
    from headish.version import __version__ as __version__

_HOMES = {
    "Database": "headish.store.database",
    "Store": "headish.store.store",
    "ReadTransaction": "headish.store.transactions.reading",
    "WriteTransaction": "headish.store.transactions.writing",
    "emit": "headish.renderings.emission",
    "restore": "headish.store.keeping.backup",
    "rewrite_bundle": "headish.store.keeping.bundles",
    "verify_bundle": "headish.store.keeping.bundles",
    "ABSENT": "headish.values.names",
    "Object": "headish.values.results.objects",
    "Turn": "headish.values.turns",
    "Message": "headish.values.messages",
    "ContextWindow": "headish.values.messages",
    "__version__": "headish.version",
}
__all__ = [
    "ABSENT", "ContextWindow", "Database", "Message", "Object", "ReadTransaction", "Store", "Turn", "WriteTransaction",
    "__version__", "emit", "restore", "rewrite_bundle", "verify_bundle",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'headish' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value
