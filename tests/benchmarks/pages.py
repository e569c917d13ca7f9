"""What the page and the API cost beside the store, in processor time, and how heavy a page is.

    python tests/benchmarks/pages.py [--quick]

One line per dimension, with the median and the 95th percentile. ``page``: 50 turns as HTML, at the end of a thread of
100,000, beside ``stretch`` of the same turns. ``api``: ``/api/v1/stretch`` and ``/api/v1/get`` beside the verbs.
``list``: the first of 10,000 conversations; ``search``: a word that one of them holds, another one each time. These run
in one process, without a socket: what the network takes is the network's. ``live``: by the clock and over a socket,
from a write to the event that tells the page of it, beside the write alone; ``web``: the memory that a web process has
after all that.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from threading import Condition, Thread
from typing import Any

import httpx2 as httpx

from headish import Database, Store
from headish.aio import AsyncDatabase, AsyncStore
from headish.serve.access.settings import WebSettings
from headish.serve.web.app import build_app

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.served import served
from support.upstream import Upstream

TURNS, CONVERSATIONS, WRITES = 50, 10_000, 30
PORT = 8321
ANSWER = "Machu Picchu was built for Pachacuti around 1450, of granite, without mortar, and left a century later. " * 4

Work = Callable[[], Awaitable[Any]]


def fill(place: Path, length: int) -> str:
    """A thread of questions and answers; a token that reads it."""
    with Store.open(place) as store:
        turns = (
            {"content": f"{number}: {ANSWER}", "role": ("user", "assistant")[number % 2]} for number in range(length)
        )
        store.add_turns([next(turns) | {"bookmark": "main"}])
        store.add_turns([each | {"continues": "main"} for each in turns], moves=True)
        store.add_turns(
            [
                {"content": f"Question {n} about stone{n}. {ANSWER}", "bookmark": f"talk/{n}"}
                for n in range(CONVERSATIONS)
            ]
        )
        store.search("stone7")  # fills the index
    with Database.open(place) as database:
        return str(database.access_tokens.add("bench", rights=["read"]))


async def seconds(works: dict[str, Work], rounds: int) -> dict[str, list[float]]:
    """The processor times of each work, sorted; the works take turns, and two rounds before are not counted."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for number in range(rounds + 2):
        for name, work in works.items():
            begun = time.process_time()
            await work()
            if number > 1:
                taken[name].append(time.process_time() - begun)
    return {name: sorted(each) for name, each in taken.items()}


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

        asked = count(CONVERSATIONS // 2)
        stretch = f"/api/v1/stretch?headish=main&limit={TURNS}"
        works: dict[str, Work] = {
            "store stretch": lambda: store.stretch("main", limit=TURNS),
            "store get": lambda: store.get("main"),
            "page": lambda: ask("/c/main"),
            "api stretch": lambda: ask(stretch),
            "api get": lambda: ask("/api/v1/get?headish=main"),
            "store list": lambda: store.conversations.list(limit=TURNS),
            "list": lambda: ask("/"),
            "store search": lambda: store.search(f"stone{next(asked)}", limit=30),
            "search": lambda: ask(f"/?q=stone{next(asked)}"),
        }
        taken = await seconds(works, rounds)
        for name, beside in BESIDE.items():
            middle, other = statistics.median(taken[name]), statistics.median(taken[beside])
            slow = taken[name][int(len(taken[name]) * 0.95)]
            ratio = f"{middle / other:.1f} × {beside} ({other * 1e3:.2f} ms)"
            print(f"{name}: p50 {middle * 1e3:.2f} ms, p95 {slow * 1e3:.2f} ms; {ratio}")
        for name, path in (("page", "/c/main"), ("api stretch", stretch), ("list", "/"), ("search", "/?q=stone77")):
            sent = await ask(path)
            print(f"{name}: {len(sent):,} bytes")
        assets = Path(build_app.__code__.co_filename).parents[1] / "pages/assets"
        print(f"scripts and styles: {sum(path.stat().st_size for path in assets.iterdir()):,} bytes, once")


class Listener:
    """Reads the events of ``/live``, and knows when each arrived."""

    def __init__(self, client: httpx.Client) -> None:
        self._client, self._came = client, Condition()
        self._events: list[tuple[float, dict[str, Any]]] = []
        Thread(target=self._read, daemon=True).start()
        self.wait(lambda event: event == {})

    def wait(self, fits: Callable[[dict[str, Any]], bool], since: float = 0.0) -> float:
        """When the first event arrived that fits, from a moment on."""
        with self._came:
            found = self._came.wait_for(lambda: [at for at, event in self._events if at >= since and fits(event)], 60)
        assert found, "the event did not arrive within a minute"
        return found[0]

    def _read(self) -> None:
        with suppress(httpx.HTTPError), self._client.stream("GET", "/live") as stream:  # it ends with its client
            for line in stream.iter_lines():
                if line.startswith(("retry:", "data: ")):  # the first says that it listens
                    event = {} if line.startswith("retry:") else json.loads(line[6:])
                    with self._came:
                        self._events.append((time.perf_counter(), event))
                        self._came.notify_all()


def measure_live(folder: Path) -> None:
    """How long a write takes to reach the page; and what a web process holds."""
    with (
        Upstream() as upstream,
        served(folder, upstream, "--no-gateway") as server,
        Store.open(server.database) as store,
        httpx.Client(base_url=server.login.partition("/login")[0], timeout=60) as client,
    ):
        client.get(server.login)
        client.headers |= {"sec-fetch-site": "same-origin"}
        store.add_turn("Begin.", bookmark="live")
        listener = Listener(client)
        taken: dict[str, list[float]] = {"own": [], "others'": [], "the write alone": []}
        for number in range(WRITES):
            begun = time.perf_counter()
            client.post("/do/say", data={"name": "live", "content": f"own {number}"})
            taken["own"].append(listener.wait(lambda event: event.get("event") == "change", begun) - begun)
            own = store.bookmarks["live"]
            listener.wait(lambda event: event.get("turn") == own)  # noqa: B023 - it is over before the next round
            begun = time.perf_counter()
            turn = store.add_turn(f"others' {number}", continues="live").id
            taken["the write alone"].append(time.perf_counter() - begun)
            taken["others'"].append(listener.wait(lambda event: event.get("turn") == turn) - begun)  # noqa: B023
        write = statistics.median(taken.pop("the write alone"))
        for name, each in taken.items():
            middle, slow = statistics.median(each), sorted(each)[int(len(each) * 0.95)]
            ratio = f"{middle / write:.1f} × the write ({write * 1e3:.1f} ms)"
            print(f"live, {name}: p50 {middle * 1e3:.0f} ms, p95 {slow * 1e3:.0f} ms; {ratio}")
        for path in ("/c/main", "/", "/?q=stone77", "/c/main?start=0"):
            assert client.get(path).status_code == 200
        status = Path(f"/proc/{server.child('web')}/status")
        if status.exists():
            held = int(re.findall(r"VmHWM:\s+(\d+)", status.read_text())[0])
            print(f"web: {held / 1024:.0f} MB at most")


BESIDE = {
    "page": "store stretch", "api stretch": "store stretch", "api get": "store get", "list": "store list",
    "search": "store search",
}  # fmt: skip
"""What each is measured beside."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "history.db"
        token = fill(place, 2_000 if options.quick else 100_000)
        asyncio.run(measure(place, token, 10 if options.quick else 50))
        measure_live(Path(folder))


if __name__ == "__main__":
    main()
