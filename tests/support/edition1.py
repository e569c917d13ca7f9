"""A database that headish 0.1.0 wrote, as SQL text, and what 0.1.0 itself read from it.

Used by tests/migrations.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from headish import Store

EDITION1 = Path(__file__).resolve().parents[1] / "migrations" / "edition1"
FACTS: dict[str, Any] = json.loads((EDITION1 / "facts.json").read_text("utf-8").replace('"head":', '"bookmark":'))
"""``meta.head`` is called ``meta.bookmark`` since."""


def said(store: Store) -> dict[str, Any]:
    """What a store says, in the words of the facts."""
    names = ("main", "other", "old", "again", "rec")
    found = {
        "turns": [turn.to_dict() for turn in store.turns()],
        "payloads": {turn.id: store.payload(turn.id).hex() for turn in store.turns()},
        "bookmarks": dict(store.bookmarks),
        "history": {
            name: [[move.number, move.turn, move.time.isoformat()] for move in store.bookmarks.history(name)]
            for name in (*names, "gone")
        },
        "threads": {name: [record.to_dict() for record in store.thread(name)] for name in names},
        "options": {name: store.options(name) for name in ("main", "other")},
        "heads": [turn.id for turn in store.heads()],
        "requests": {name: store.request(name, "openai", model="m").body for name in ("other", "rec")},
        "exports": {name: store.export(name) for name in ("other", "again", "rec")},
    }
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(found))
    return plain
