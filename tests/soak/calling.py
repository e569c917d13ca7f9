"""Rounds of programs that talk through LiteLLM, which tells headish's logger of a call after it came back: they end at
once behind a call, or are killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from headish import Store
from soak.caller import ENDS, WAYS
from soak.rounds import Failed, Round, Skipped, Soak, Where, kind_of
from support.upstream import LAST, Asked, Step, Upstream, answer, chunked, head

TESTS = Path(__file__).resolve().parents[1]
PEERS = TESTS.parent / ".venv-peers-litellm/bin/python"
PATIENCE_SECONDS = 600
ENDLESS = 10_000


def end_callers(soak: Soak) -> Round:
    """Two programs end right behind their last call: all that came back is in the history. A third one is killed: what
    a reader saw before stays, and nothing is there twice."""
    python, where = _python(), soak.either("callers")
    sure = set[str]()
    with Upstream(answer_chat) as upstream:
        for end in soak.chance.sample(ENDS, 2):
            caller = Caller(python, soak, where, upstream.url, end=end, calls=soak.chance.randint(1, 5))
            caller.wait(end)
            sure |= caller.said()
        caller = Caller(python, soak, where, upstream.url, end="returns", calls=ENDLESS)
        wanted, until = len(sure) + soak.chance.randint(2, 20), time.monotonic() + PATIENCE_SECONDS
        while len(seen := _texts(where)) < wanted and caller.process.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        caller.process.kill()
        caller.process.communicate()
        sure |= seen
    return Round(3, len(sure), len(sure - _texts(where)), kind_of(where))


class Caller:
    """A program that talks, seen from the one that started it."""

    def __init__(self, python: str, soak: Soak, where: Where, url: str, *, end: str, calls: int) -> None:
        way = soak.chance.choice(WAYS)
        name = f"caller-{soak.number()}-{way}-{end}"
        self._notes = soak.folder / name
        self._notes.touch()
        words = [*where, str(self._notes), url, name, "--end", end, "--calls", str(calls)]
        words += ["--way", way]
        environment = {**os.environ, "NO_PROXY": "*", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        self.process = subprocess.Popen(
            [python, "-m", "soak.caller", *words], cwd=TESTS, env=environment, stderr=subprocess.PIPE, text=True
        )

    def wait(self, end: str) -> None:
        """Raises: Failed where it does not end as it was told to."""
        _, told = self.process.communicate(timeout=PATIENCE_SECONDS)
        if self.process.returncode != (end == "raises") or (end == "raises" and "as told" not in told):
            raise Failed(f"a program that {end} ended with {self.process.returncode}: {told[-2000:]}")

    def said(self) -> set[str]:
        """The questions and answers of the calls that came back."""
        questions = self._notes.read_text().split("\n")[:-1]
        return {text for question in questions for text in (question, f"Answer to {question}")}


def answer_chat(asked: Asked) -> Iterator[Step]:
    """An answer of Chat Completions that repeats the last question, whole or in pieces."""
    body = json.loads(asked.body)
    said = {"role": "assistant", "content": f"Answer to {body['messages'][-1]['content']}"}
    about = {"id": "x", "created": 1, "model": "m", "object": "chat.completion"}
    if not body.get("stream"):
        choice = {"index": 0, "message": said, "finish_reason": "stop"}
        yield from answer(json.dumps({**about, "choices": [choice]}).encode())
        return
    pieces = [({"role": "assistant"}, None), ({"content": said["content"]}, None), ({}, "stop")]
    yield head(200, "text/event-stream")
    for delta, reason in pieces:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        yield from chunked([b"data: %b\n\n" % json.dumps({**about, "choices": [choice]}).encode()])
    yield from (*chunked([b"data: [DONE]\n\n"]), LAST)


def _texts(where: Where) -> set[str]:
    """What is stored. Raises: Failed where something is stored twice, or ``verify`` finds something."""
    with Store.open(where.target, space=where.space) as store:
        texts = [store.text(turn.id) for turn in store.turns()]
        problems = store.verify().problems
    twice = [text for text, times in Counter(texts).items() if times > 1]
    if problems or twice:
        raise Failed(f"{where}: these are stored twice: {twice[:9]}; verify finds {problems[:5]}")
    return set(texts)


def _python() -> str:
    """An interpreter that has LiteLLM. Raises: Skipped."""
    if find_spec("litellm"):
        return sys.executable
    if not PEERS.exists():
        raise Skipped(f"no LiteLLM: make {PEERS.relative_to(TESTS.parent).parts[0]}/.installed")
    return str(PEERS)
