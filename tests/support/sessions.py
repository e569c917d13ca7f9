"""Sessions of adapters whose turns are texts.

Used by tests/integrations; its processes import it from here.
"""

from __future__ import annotations

import json
from typing import Any

from headish import Store
from headish.adapters.sessions import NamedSession, add, pop, read, session_of
from headish.content.drafts import make_draft
from headish.rows.threads.ranges import SpokenTurn
from headish.values.limits import PAYLOAD_LIMIT_BYTES

MAIN = session_of("main")


def put(store: Store, session: NamedSession, *texts: str) -> None:
    """Add texts, all at once."""
    add(store, session, [make_draft(text, {}, PAYLOAD_LIMIT_BYTES) for text in texts])


def text_of(said: SpokenTurn | None) -> str | None:
    """The text of a turn."""
    return None if said is None else "(erased)" if said.payload is None else json.loads(said.payload)[0]["text"]


def texts(store: Store, session: NamedSession = MAIN, limit: int | None = None) -> list[str | None]:
    """The texts of a session, or its last ones."""
    return [text_of(each) for each in read(store, session, limit)]


def add_and_pop(store: Store, number: int) -> list[Any]:
    """Add twenty texts and pop some; what was popped."""
    popped = []
    for at in range(20):
        put(store, MAIN, f"{number}-{at}")
        popped += [pop(store, MAIN)] if at % 3 == 0 else []
    return [text_of(each) for each in popped if each is not None]
