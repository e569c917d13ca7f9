"""The chat service of the how-to, run by uvicorn, with clients on loopback that stay, go away, and come in numbers."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from headish import Store
from support.capturers import wait_until
from support.local_model import DONE, says
from support.loopback import Loopback, event_stream

pytestmark = pytest.mark.slow
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "chat-service.md"
BLOCKS = re.findall(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
ANSWERS = (
    "Air scatters |blue light more.",
    "Only red |is left.",
    "Red light |comes through.",
    "Dust scatters |red light.",
)


class Service:
    """The page's program under uvicorn, in a folder of its own."""

    def __init__(self, folder: Path, model: Loopback) -> None:
        for _, name, text in BLOCKS:
            if name:
                (folder / name).write_text(text, "utf-8")
        self.folder, self.model = folder, model
        words = [sys.executable, "-m", "uvicorn", "service:app", "--port", "0", "--timeout-graceful-shutdown", "2"]
        self._process = subprocess.Popen(
            words, cwd=folder, env=environment(model.url), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
        self.lines: list[str] = []
        self.url = self._address()

    def _address(self) -> str:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.lines.append(line)
            found = re.search(r"running on (http://\S+)", line)
            if found:
                self._reader = threading.Thread(target=self._read, daemon=True)
                self._reader.start()
                return found[1]
        raise AssertionError("".join(self.lines))

    def _read(self) -> None:
        assert self._process.stderr is not None
        self.lines.extend(self._process.stderr)

    def client(self, user: str) -> httpx2.Client:
        return httpx2.Client(base_url=self.url, headers={"X-User": user}, timeout=30)

    def store(self, user: str) -> Store:
        return Store.open(self.folder / "chats.db", space=f"user-{user}")

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(20)
        self._reader.join(20)


def environment(model: str) -> dict[str, str]:
    import os

    return {**os.environ, "MODEL_URL": f"{model}/v1"}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Loopback() as model:
        service = Service(tmp_path, model)
        yield service
        service.close()
        assert not any("Traceback" in line for line in service.lines), "".join(service.lines)


def answer(model: Loopback, said: str) -> None:
    model.answer(chunks=[*event_stream(says(*said.split("|"), tokens=(9, 5))), DONE])


def test_the_client_of_the_page_prints_what_the_page_shows(service: Service) -> None:
    for said in ANSWERS:
        answer(service.model, said)
    done = subprocess.run(
        [sys.executable, "client.py", service.url],
        cwd=service.folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    [expected] = [text for language, _, text in BLOCKS if language == "text"]
    assert done.stdout.strip().splitlines() == expected.strip().splitlines()


def test_a_client_that_goes_away_leaves_what_arrived_and_nothing_open(service: Service) -> None:
    gone = threading.Event()

    def unending() -> Iterator[bytes]:
        try:
            yield from event_stream(says("Once ", "upon", tokens=(1, 1))[:2])
            while not service.model.closing.wait(0.01):
                yield b": still there\n\n"
        finally:
            gone.set()

    service.model.answer(chunks=unending())
    with service.client("ann") as ann, ann.stream("POST", "/chats/tale", json={"text": "Tell me"}) as coming:
        assert json.loads(next(coming.iter_lines())) == {"text": "Once "}
    assert gone.wait(20), "the model is still being asked"
    with service.store("ann") as store:
        wait_until(lambda: store.get("tale").meta.role == "assistant", "the answer is stored")
        assert store.text("tale") == "Once "
        assert store.get("tale").meta.reply["incomplete"]
        assert store.streams.list() == []


def test_many_users_at_once_see_their_own_chats_alone(service: Service) -> None:
    users = [f"user{number}" for number in range(20)]

    async def talk(user: str) -> list[Any]:
        async with httpx2.AsyncClient(base_url=service.url, headers={"X-User": user}, timeout=60) as client:
            for turn in range(3):
                reply = await client.post("/chats/main", json={"text": f"{user} says {turn}"})
                assert reply.status_code == 200, reply.text
            found = await client.get("/chats/main")
            return [message["text"] for message in found.json() if message["role"] == "user"]

    async def main() -> list[list[Any]]:
        return await asyncio.gather(*(talk(user) for user in users))

    for _ in range(60):
        answer(service.model, "Yes.")
    assert asyncio.run(main()) == [[f"{user} says {turn}" for turn in range(3)] for user in users]


def test_events_errors_and_the_end_of_a_user(service: Service) -> None:
    answer(service.model, "Yes.")
    with service.client("ann") as ann, service.client("ann") as other:
        with other.stream("GET", "/events") as events:
            assert events.status_code == 200
            ann.post("/chats/main", json={"text": "Hi"})
            assert next(line for line in events.iter_lines() if line.startswith("data:"))
        assert ann.get("/chats/nobody").status_code == 404
        assert ann.post("/chats/a b", json={"text": "Hi"}).status_code == 400
        service.model.answer_json({"error": {"message": "no"}}, 400)
        assert ann.post("/chats/main", json={"text": "Hi again"}).status_code == 502
        assert ann.delete("/me").status_code == 200
        assert ann.get("/chats", headers={"X-User": "bob"}).json() == []
