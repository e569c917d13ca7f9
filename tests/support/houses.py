"""A served database that is full, a model that answers, and a client that asks for pages.

Used by tests/serve/pages (its fixture ``house``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from headish import Store
from support.loopback import Loopback
from support.serving import Served, serving
from support.talks import Talk, fill


class House(NamedTuple):
    """A served database, what is in it, and a model that answers."""

    served: Served
    store: Store
    talk: Talk
    model: Loopback
    client: Any

    def get(self, path: str, **query: Any) -> str:
        answer = self.client.get(path, params=query or None)
        assert answer.status_code == 200, (path, answer.status_code, answer.text[:300])
        return str(answer.text)

    def do(self, action: str, **fields: Any) -> Any:
        return self.client.post(f"/do/{action}", data=fields)

    def done(self, action: str, **fields: Any) -> str:
        """Where an action leads that was done."""
        answer = self.do(action, **fields)
        assert answer.status_code == 303, (action, answer.status_code, answer.text[:300])
        return str(answer.headers["location"])


def browser(served: Served) -> Any:
    """A client that is logged in and asks for pages."""
    client = served.client()
    client.headers |= {"accept": "text/html", "origin": served.url}
    return client


@contextmanager
def house_in(folder: Path) -> Iterator[House]:
    """A house whose database and state are in a folder."""
    with Store.open(folder / "talk.db") as store, Loopback() as model:
        talk = fill(store)
        store.pointers.set("milli", "anthropic/small", base_url=model.url, key_env="PATH")
        store.pointers.set_default("milli")
        with serving(folder / "talk.db", folder / "state") as served:
            yield House(served, store, talk, model, browser(served))
