"""A place whose stores are asked over HTTP: each a space of a database that one server of the session serves."""

from __future__ import annotations

from typing import Any

import pytest

from headish import Database
from support.over_http.store import HttpStore
from support.places import Place
from support.serving import Served


class HttpPlace(Place):
    """Opens stores over HTTP. What is set where a store is opened is the server's own here."""

    def __init__(self, served: Served, space: str) -> None:
        super().__init__()
        self._served, self.space, self._client = served, space, served.client()

    @property
    def target(self) -> str:  # type: ignore[override]
        pytest.skip("the test opens the database itself")

    def open(self, space: str | None = None, **options: Any) -> Any:
        if options:
            pytest.skip(f"a server opens its database itself: {', '.join(options)}")
        name = self.space if space is None else f"{self.space}-{space}"
        with Database.open(self._served.settings.target) as database:
            if name not in database.spaces:
                database.store(name).close()
        store: Any = HttpStore(self._client, name, self._served.settings.target)
        self._opened.append(store)
        return store

    def close(self) -> None:
        super().close()
        self._client.close()
