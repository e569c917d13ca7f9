"""A page announces what is written while it is drawn: its cursor is not behind anything that it does not show."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from headish import Database, Store
from headish.aio import AsyncDatabase, AsyncStore
from headish.gateway.spool.arriving import ArrivingCall, GrownAnswer
from headish.serve.access.settings import WebSettings
from headish.serve.pages.hub import Hub
from headish.serve.web.app import build_app
from support.insides import own_threads

PORT = 8321


def page_of(path: Path, address: str) -> str:
    """A page, drawn by the application in this process."""
    import httpx

    async def ask() -> str:
        async with AsyncDatabase.open(path) as database:
            app = build_app(WebSettings(str(path), str(path.parent / "state"), port=PORT), database)
            transport = httpx.ASGITransport(app, client=("127.0.0.1", 1))
            async with httpx.AsyncClient(transport=transport, base_url=f"http://127.0.0.1:{PORT}") as client:
                answer = await client.get(address, headers={"Authorization": f"Bearer {token}"})
                assert answer.status_code == 200, answer.text
                return answer.text

    with Database.open(path) as database:
        token = database.access_tokens.add("page", rights=["read"])
    return asyncio.run(ask())


@pytest.mark.parametrize("address", ["/", "/c/main"])
def test_a_page_shows_what_is_written_before_its_cursor(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody writes at the moment when the page asks how far the space is."""
    path = tmp_path / "talk.db"
    with Store.open(path) as store:
        store.add_turn("the first question", bookmark="main")
    ask_position, is_own = AsyncStore.position, own_threads()

    async def written_first(self: AsyncStore, *given: Any) -> str:
        if is_own():  # a page of an earlier test may ask its server meanwhile
            with Store.open(path) as store:
                store.add_turn("a late word", continues="main")
        return await ask_position(self, *given)

    monkeypatch.setattr(AsyncStore, "position", written_first)
    page = page_of(path, address)
    with Store.open(path) as store:
        cursor = store.position()
    assert cursor in page, "the page follows from behind the late turn, so it has to show it"
    assert "a late word" in re.sub(r"<[^>]*>", "", page)


@pytest.mark.parametrize("address", ["/c/main", "/t/main"])
def test_an_answer_that_is_stored_while_a_page_is_drawn_is_on_the_page(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is stored after the thread was read; then the hub shows it no longer."""
    path, hub = tmp_path / "talk.db", Hub(None)
    with Store.open(path) as store:
        question = store.add_turn("the first question", bookmark="main").id
    call = ArrivingCall("9" * 25, "default", question, "test")
    hub.show_passing(GrownAnswer(call, [], False))
    read_stretch = AsyncStore.stretch

    async def stored_behind(self: AsyncStore, *given: Any, **options: Any) -> Any:
        stretch = await read_stretch(self, *given, **options)
        if hub.find("default", call.call) is not None:
            with Store.open(path) as store:
                store.add_turn("the late answer", role="assistant", continues="main")
            hub.end_passing(call.call)
        return stretch

    monkeypatch.setattr(AsyncStore, "stretch", stored_behind)
    monkeypatch.setattr("headish.serve.pages.threads.hub_of", lambda _: hub)
    assert "the late answer" in page_of(path, address.replace("/t/main", f"/t/{question}"))
