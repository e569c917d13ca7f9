"""A store that is served on loopback, as an office that machines sync with, and what they say to each other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2 as httpx
import pytest

from headish import Database, Store
from headish.bundles.live import LIVE, Hello, LiveKind, Nothing
from headish.calls.posting import MEDIA_TYPE
from headish.content.frames import FrameWriter
from support.machines import Machine, state
from support.serving import Served, serving

VARIABLE = "TOKEN_OF_THE_OFFICE"
KIND = {"content-type": MEDIA_TYPE}


class Office:
    """A store that is served, and the token of its caller."""

    def __init__(self, store: Store, served: Served, token: str) -> None:
        self.store, self.served, self.token = store, served, token

    @property
    def url(self) -> str:
        return self.served.url

    def head(self, size: int) -> bytes:
        """What stands before the body of a request."""
        lines = (
            f"Host: {urlsplit(self.url).netloc}",
            f"Authorization: Bearer {self.token}",
            f"Content-Type: {MEDIA_TYPE}",
        )
        return "\r\n".join(["POST /sync HTTP/1.1", *lines, f"Content-Length: {size}", "", ""]).encode()

    def post(self, token: str | None = None, **given: Any) -> httpx.Response:
        headers = {"authorization": f"Bearer {token or self.token}", **KIND, **given.pop("headers", {})}
        return httpx.post(f"{self.url}/sync", headers=headers, timeout=60, **given)


@contextmanager
def office_at(target: str, space: str, folder: Path, *rights: Any, **settings: Any) -> Iterator[Office]:
    with Store.open(target, space=space) as store, Database.open(target) as database:
        token = database.access_tokens.add("desk-of-ann", space=space, rights=["sync", *rights])
        with serving(target, folder, space=space, **settings) as made, pytest.MonkeyPatch.context() as patch:
            patch.setenv(VARIABLE, token)
            yield Office(store, made, token)


def both_ways(desk: Machine, office: Store) -> None:
    """All that travels, in both directions."""
    desk.store.add_turn("asked at the desk", bookmark="main")
    office.add_turn("asked at the office", bookmark="other")
    office.conversations.set("other", title="theirs")
    done = desk.sync()
    assert (done.pulled.stored, done.pushed.turns) == (1, 1)
    answer = office.add_turn("answered", continues="main", role="assistant")
    assert [each.outcome for each in desk.sync().pulled.names] == ["moved"]
    desk.store.erase(answer.id, reason="asked to")
    desk.store.add_turn("on", continues="main")
    desk.sync()
    assert len(office.remotes.pending_erasures()) == 1
    assert state(desk.store) == state(office)
    assert desk.store.conversations.get("other").record.title == "theirs"
    assert office.verify().problems == desk.store.verify().problems == ()
    last = desk.sync()
    assert (last.pulled.stored, last.pushed.turns) == (0, 0)


def question(*asked: tuple[LiveKind, Any]) -> bytes:
    """The body of a request that asks something."""
    body = BytesIO()
    writer = FrameWriter(body, LIVE)
    for kind, message in ((LiveKind.HELLO, Hello("default", "x")), *asked, (LiveKind.BYE, Nothing())):
        writer.write(kind, message)
    return body.getvalue()
