"""Stores with signatures in them, and what they tell of them. Used by tests/signing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headish import Store
from headish.rows.signatures import all_signatures
from support.growing import grow
from support.signers import Keys

GOOD = [("good", "anna@x"), ("good", "anna@x")]


def signed(store: Store, keys: Keys) -> Store:
    """A store with a signed turn, a signed thread and a turn that is not signed."""
    grow(store, "q? <- a <- r? <- b")
    store.bookmarks.set("main", store.get("@").id)
    store.sign("main", thread=True, key=keys.folder / "anna")
    store.sign("main~1", key=keys.folder / "anna")
    return store


def told(store: Store, signers: Path) -> list[tuple[str, str | None]]:
    return [(each.verdict, each.name) for each in store.signatures(signers=signers)]


def rows(store: Store) -> list[tuple[Any, ...]]:
    found = store._read(lambda connection: list(all_signatures(connection, store._number)))
    return [(each.turn, each.kind, each.key, each.data, each.milliseconds) for each in found]
