"""What the page and the API cost beside the store, in processor time, and how heavy a page is.

    python tests/benchmarks/pages.py [--quick]

One line per dimension, each at the end of a thread of 10,000 turns. ``page``: 50 turns as HTML beside ``stretch`` of
the same turns. ``api``: ``/api/v1/stretch`` and ``/api/v1/get`` beside
the verbs. The server runs in this process, without a socket: what the network takes is the network's.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2 as httpx

from headish import Database, Store
from headish.aio import AsyncDatabase, AsyncStore
from headish.serve.access.settings import WebSettings
from headish.serve.web.app import build_app

TURNS = 50
PORT = 8321
ANSWER = "Machu Picchu was built for Pachacuti around 1450, of granite, without mortar, and left a century later. " * 4

Work = Callable[[], Awaitable[Any]]


def fill(place: Path, count: int) -> str:
    """A thread of questions and answers; a token that reads it."""
    with Store.open(place) as store:
        turns = (
            {"content": f"{number}: {ANSWER}", "role": ("user", "assistant")[number % 2]} for number in range(count)
        )
        store.add_turns([next(turns) | {"bookmark": "main"}])
        store.add_turns([each | {"continues": "main"} for each in turns], moves=True)
    with Database.open(place) as database:
        return str(database.access_tokens.add("bench", rights=["read"]))


async def seconds(works: dict[str, Work], rounds: int) -> dict[str, float]:
    """The median processor time of each work, in turns, after two that are not counted."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for number in range(rounds + 2):
        for name, work in works.items():
            begun = time.process_time()
            await work()
            if number > 1:
                taken[name].append(time.process_time() - begun)
    return {name: statistics.median(each) for name, each in taken.items()}


async def measure(place: Path, token: str, rounds: int) -> None:
    """All dimensions."""
    settings = WebSettings(str(place), str(place.parent / "state"), port=PORT)
    async with AsyncDatabase.open(place) as database, AsyncStore.open(place) as store:
        app = build_app(settings, database)
        client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app, client=("127.0.0.1", 1)),
            base_url=f"http://127.0.0.1:{PORT}",
            headers={"Authorization": f"Bearer {token}"},
        )

        async def ask(path: str) -> bytes:
            answer = await client.get(path)
            assert answer.status_code == 200, answer.text
            return answer.content

        stretch = f"/api/v1/stretch?headish=main&limit={TURNS}"
        works: dict[str, Work] = {
            "store stretch": lambda: store.stretch("main", limit=TURNS),
            "store get": lambda: store.get("main"),
            "page": lambda: ask("/c/main"),
            "api stretch": lambda: ask(stretch),
            "api get": lambda: ask("/api/v1/get?headish=main"),
        }
        taken = await seconds(works, rounds)
        for name, beside in (("page", "store stretch"), ("api stretch", "store stretch"), ("api get", "store get")):
            ratio = taken[name] / taken[beside]
            print(f"{name}: {taken[name] * 1e3:.2f} ms, {ratio:.1f} × {beside} ({taken[beside] * 1e3:.2f} ms)")
        for name, path in (("page", "/c/main"), ("api stretch", stretch)):
            sent = await ask(path)
            print(f"{name} of {TURNS} turns: {len(sent):,} bytes")
        assets = Path(build_app.__code__.co_filename).parents[1] / "pages/assets"
        print(f"scripts and styles: {sum(path.stat().st_size for path in assets.iterdir()):,} bytes, once")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "talk.db"
        token = fill(place, 2_000 if options.quick else 10_000)
        asyncio.run(measure(place, token, 10 if options.quick else 50))


if __name__ == "__main__":
    main()
