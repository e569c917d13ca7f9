"""A program that talks through LiteLLM with headish's logger, notes each call that came back, and ends at once.

``python -m soak.caller`` runs in an environment that has LiteLLM. A line of its notes is the question of a call.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Iterator
from typing import Any

WAYS = ("sync", "async", "sync-stream", "async-stream")
ENDS = ("returns", "exits", "raises")


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("target", "space", "notes", "url", "name"):
        parser.add_argument(name)
    parser.add_argument("--way", choices=WAYS, required=True)
    parser.add_argument("--end", choices=ENDS, required=True)
    parser.add_argument("--calls", type=int, required=True)
    given = parser.parse_args()

    import litellm

    from headish.integrations.litellm import HeadishLogger

    litellm.callbacks = [HeadishLogger(given.target, bookmark=given.name, space=given.space)]
    talk = Talk(litellm, given)
    if given.way.startswith("async"):
        asyncio.run(talk.go_on())
    else:
        talk.run()
    if given.end == "exits":
        sys.exit(0)
    if given.end == "raises":
        raise SystemError("as told")


class Talk:
    """A conversation of so many calls."""

    def __init__(self, litellm: Any, given: argparse.Namespace) -> None:
        self._litellm, self._given = litellm, given
        self._notes = os.open(given.notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._asked = {"model": "openai/m", "api_base": given.url, "api_key": "sk-of-the-soak", "num_retries": 0,
                       "stream": given.way.endswith("stream")}  # fmt: skip

    def run(self) -> None:
        for question, messages in self._questions():
            came = self._litellm.completion(messages=messages, **self._asked)
            for _ in came if self._asked["stream"] else ():
                pass
            self._note(question)

    async def go_on(self) -> None:
        for question, messages in self._questions():
            came = await self._litellm.acompletion(messages=messages, **self._asked)
            if self._asked["stream"]:
                async for _ in came:
                    pass
            self._note(question)

    def _questions(self) -> Iterator[tuple[str, list[dict[str, str]]]]:
        """Each question, and the list that is sent with it."""
        messages: list[dict[str, str]] = []
        for number in range(self._given.calls):
            question = f"{self._given.name} asks {number}"
            messages = [*messages, {"role": "user", "content": question}]
            yield question, messages
            messages = [*messages, {"role": "assistant", "content": f"Answer to {question}"}]

    def _note(self, question: str) -> None:
        os.write(self._notes, f"{question}\n".encode())


if __name__ == "__main__":
    main()
