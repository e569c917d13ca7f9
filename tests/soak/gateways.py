"""Rounds of ``headish serve``: clients talk through the gateway while its processes are killed or its disk is full."""

from __future__ import annotations

import http.client
import json
import resource
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from headish import Store
from soak.rounds import Failed, Round, Soak
from support.served import PATIENCE_SECONDS, Served, served
from support.upstream import LAST, Asked, Step, Upstream, chunked, head

CLIENTS, STRIKES = 6, 4
ALIKE = ("recorder", "gateway", "recorder", "web")
"""Which process is killed in turns."""
GATHERED_SECONDS = 1.0
"""What had passed so shortly before the gateway was killed may not be in the spool."""
PATH = "/anthropic/v1/messages"


def kill_servers(soak: Soak) -> Round:
    """kill -9 of recorder, gateway and web beside clients that talk: no call fails but by the gateway's own death, and
    each answer that a client has is in the history."""
    folder = soak.folder / f"served-{soak.number()}"
    folder.mkdir()
    with Upstream(answer_to) as upstream, served(folder, upstream) as server:
        clients = [Client(server, f"client-{number}") for number in range(CLIENTS)]
        killed = []
        for strike in range(STRIKES):
            wait_for_more(clients, soak.chance.randint(1, 10))
            name = ALIKE[strike % len(ALIKE)]
            if name == "gateway":
                killed.append(time.monotonic())
            server.kill(name)
        wait_for_more(clients, 5)
        for client in clients:
            client.end()
        if server.end() != 0:
            raise Failed(f"{folder}: the server ended otherwise than told: {server.told()}")
    for client in clients:
        if client.failures > len(killed) * 2:
            raise Failed(f"{folder}: calls failed, and no gateway was killed: {client.failures}")
    said = {text: at for client in clients for text, at in client.said.items()}
    sure = {text for text, at in said.items() if not any(0 <= kill - at < GATHERED_SECONDS for kill in killed)}
    stored = texts_of(folder / "history.db")
    return Round(STRIKES, len(sure), len(sure - stored), "SQLite")


def fill_spools(soak: Soak) -> Round:
    """A crowd of clients while the gateway's disk is full and the recorder dies: no call fails, the gateway counts what
    it does not record, and what was said is in the history once its conversation went on."""
    folder = soak.folder / f"filled-{soak.number()}"
    folder.mkdir()
    with Upstream(answer_to) as upstream, served(folder, upstream) as server:
        clients = [Client(server, f"client-{number}") for number in range(soak.crowd)]
        wait_for_more(clients, 1)
        gateway = server.child("gateway")
        soft, hard = resource.prlimit(gateway, resource.RLIMIT_FSIZE)  # stands for the disk, for the gateway alone
        resource.prlimit(gateway, resource.RLIMIT_FSIZE, (0, hard))
        wait_for_more(clients, 2)
        server.kill("recorder")
        resource.prlimit(gateway, resource.RLIMIT_FSIZE, (soft, hard))
        wait_for_more(clients, 2)
        for client in clients:
            client.end()
        health = json.loads(server.ask("/healthz", None)[1])
        if server.end() != 0:
            raise Failed(f"{folder}: the server ended otherwise than told: {server.told()}")
    failures = sum(client.failures for client in clients)
    if failures or not health["unrecorded"]:
        raise Failed(f"{folder}: {failures} calls failed, {health['unrecorded']} were counted as unrecorded")
    said = {text for client in clients for text in client.said}
    return Round(2, len(said), len(said - texts_of(folder / "history.db")), "SQLite")


def texts_of(path: Path) -> set[str]:
    """What every turn says. An answer may be there twice: a client that lost its end asked again.

    Raises: Failed where a question is stored twice, or ``verify`` finds something.
    """
    with Store.open(path) as store:
        texts = [store.text(turn.id) for turn in store.turns()]
        problems = store.verify().problems
    if problems:
        raise Failed(f"{path}: verify finds {problems[:5]}")
    questions = [text for text in texts if not text.startswith("Answer")]
    if len(set(questions)) < len(questions):
        raise Failed(f"{path}: something is stored twice")
    return set(texts)


def answer_to(asked: Asked) -> Iterator[Step]:
    """An answer that repeats the last question, in pieces."""
    question = json.loads(asked.body)["messages"][-1]["content"]
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
               "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip
    text = {"type": "text_delta", "text": f"Answer to {question}"}
    events = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": text},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]
    yield head(200, "text/event-stream")
    for event in events:
        yield from chunked([f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()])
        yield 0.002
    yield LAST


class Client:
    """A conversation that goes on until it is ended. ``said`` has when each text was known to have passed."""

    def __init__(self, server: Served, name: str) -> None:
        self.said: dict[str, float] = {}
        self.failures = 0
        self._server, self._name = server, name
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._talk, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop after the call that goes on."""
        self._ending.set()
        self._thread.join(PATIENCE_SECONDS)

    def _talk(self) -> None:
        messages: list[dict[str, str]] = []
        headers = {"x-api-key": "a-key-of-the-soak", "x-headish-conversation": self._name}
        while not self._ending.is_set():
            question = f"{self._name} asks {len(messages)}"
            asked = [*messages, {"role": "user", "content": question}]
            body = json.dumps({"model": "m", "max_tokens": 9, "stream": True, "messages": asked}).encode()
            try:
                status, came = self._server.ask(PATH, body, headers)
            except (OSError, http.client.HTTPException):
                self.failures += 1
                continue
            answer = f"Answer to {question}"
            if status != 200 or answer.encode() not in came:
                self.failures += 1
                continue
            messages = [*asked, {"role": "assistant", "content": answer}]
            self.said |= dict.fromkeys((question, answer), time.monotonic())


def wait_for_more(clients: list[Client], count: int) -> None:
    """Wait until each client has said so much more. Raises: Failed where one does not go on."""
    wanted = [len(client.said) + count for client in clients]
    until = time.monotonic() + PATIENCE_SECONDS
    while any(len(client.said) < each for client, each in zip(clients, wanted, strict=True)):
        if time.monotonic() > until:
            raise Failed("a client waits without end")
        time.sleep(0.02)
