"""What goes through LiteLLM is recorded: each message once, each answer with its usage, whatever way it was called."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from support.frameworks import not_installed

pytest.importorskip("litellm", reason=not_installed("litellm"))

import litellm

from headish import Store
from headish.errors import InvalidArgument, InvalidName
from headish.integrations.litellm import HeadishLogger, open_calls

pytestmark = [pytest.mark.peers, pytest.mark.slow, pytest.mark.xdist_group("litellm")]


CALLBACKS = (
    "callbacks", "input_callback", "success_callback", "failure_callback", "_async_input_callback",
    "_async_success_callback", "_async_failure_callback",
)  # fmt: skip


class Answers(BaseHTTPRequestHandler):
    """A provider on loopback: says back what it hears, whole or as a stream, or calls the tool that it is given."""

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing to the terminal."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        said = asked["messages"][-1]["content"]
        if said == "fail":
            self.send_error(400, "no")
            return
        message: dict[str, Any] = {"role": "assistant", "content": f"re {said}"}
        if said == "call":
            function = {"name": "weather", "arguments": '{"city":"Paris"}'}
            message |= {"content": None, "tool_calls": [{"id": "c1", "type": "function", "function": function}]}
        about = {"id": "x", "created": 1, "model": "m-1"}
        self.send_response(200)
        if not asked.get("stream"):
            usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            self._send("application/json", json.dumps({**about, "choices": [choice], "usage": usage}))
            return
        pieces = [{"role": "assistant", "content": piece} for piece in ("re ", said)]
        chunks = [{**about, "choices": [{"index": 0, "delta": each, "finish_reason": None}]} for each in pieces]
        chunks.append({**about, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        text = "".join(f"data: {json.dumps(each)}\n\n" for each in chunks) + "data: [DONE]\n\n"
        self._send("text/event-stream", text)

    def _send(self, kind: str, text: str) -> None:
        data = text.encode()
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


@pytest.fixture
def asked(address: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What every call says beside its messages."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for kept in CALLBACKS:  # LiteLLM goes on with the first object of a class that it was given
        monkeypatch.setattr(litellm, kept, [])
    return {"model": "openai/m", "api_base": address, "api_key": "sk-test-0123456789abcdefghij", "num_retries": 0}


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def wait_for(store: Store, turns: int) -> list[tuple[str | None, str]]:
    """What is said in the space, once it has so many turns: LiteLLM tells of a call after it has answered."""
    until = time.monotonic() + 30
    while store.stats().turns < turns and time.monotonic() < until:
        time.sleep(0.02)
    return [(turn.meta.role, turn.text) for turn in store.turns()]


def test_a_conversation_is_one_thread_however_it_is_called(tmp_path: Path, asked: dict[str, Any]) -> None:
    with HeadishLogger(tmp_path / "a.db", bookmark="trip") as logger, Store.open(tmp_path / "a.db") as store:
        litellm.callbacks = [logger]
        messages: list[Any] = [{"role": "system", "content": "be brief"}, user("one")]
        answer = litellm.completion(messages=messages, **asked).choices[0].message
        messages.append(answer)  # at once, before LiteLLM has told
        messages.append(user("two"))
        wait_for(store, 3)
        text = "".join(
            chunk.choices[0].delta.content or ""
            for chunk in litellm.completion(messages=messages, stream=True, **asked)
        )
        messages += [{"role": "assistant", "content": text}, user("call")]
        wait_for(store, 5)

        async def go_on() -> None:
            called = (await litellm.acompletion(messages=messages, **asked)).choices[0].message
            messages.append(called.model_dump())
            messages.append({"role": "tool", "tool_call_id": "c1", "content": "rain"})
            wait = asyncio.to_thread(wait_for, store, 7)
            await wait
            async for _ in await litellm.acompletion(messages=messages, stream=True, **asked):
                pass
            await asyncio.to_thread(wait_for, store, 9)

        asyncio.run(go_on())
        assert wait_for(store, 9) == [
            ("system", "be brief"), ("user", "one"), ("assistant", "re one"), ("user", "two"), ("assistant", "re two"),
            ("user", "call"), ("assistant", ""), ("tool", ""), ("assistant", "re rain"),
        ]  # fmt: skip
        assert store.log("trip")[0].text == "re rain"
        assert len(store.log("trip")) == 9
        first = store.log("trip")[6]
        assert first.meta.reply["model"] == "m-1"
        assert first.meta.reply["usage"]["input_tokens"] == 3
        assert b"sk-test" not in (tmp_path / "a.db").read_bytes() + (tmp_path / "a.db-wal").read_bytes()
        assert store.verify().problems == ()


def test_calls_without_a_name_and_with_a_function_for_it(tmp_path: Path, asked: dict[str, Any]) -> None:
    def named(kwargs: Any) -> str | None:
        return (kwargs["litellm_params"].get("metadata") or {}).get("thread")

    with HeadishLogger(tmp_path / "a.db", bookmark=named) as logger, Store.open(tmp_path / "a.db") as store:
        litellm.callbacks = [logger]
        for text, metadata in (("one", {}), ("two", {"thread": "t"})):
            litellm.completion(messages=[user(text)], metadata=metadata, **asked)
            wait_for(store, 2 if text == "one" else 4)
        assert list(store.bookmarks) == ["t"]
        assert [turn.text for turn in store.log("t")] == ["re two", "two"]


def test_what_cannot_be_stored_is_told_and_fails_nothing(
    tmp_path: Path, asked: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with Store.open(tmp_path / "a.db") as store:
        logger = HeadishLogger(tmp_path / "a.db")
        litellm.callbacks = [logger]
        with pytest.raises(litellm.BadRequestError):
            litellm.completion(messages=[user("fail")], **asked)
        logger.log_success_event({"call_type": "completion", "messages": [{"role": "nobody"}]}, {}, None, None)
        logger.log_success_event({"call_type": "aembedding", "messages": [user("x")]}, {}, None, None)
        with caplog.at_level(logging.WARNING, "headish"):
            logger.close()
            litellm.completion(messages=[user("one")], **asked)
            until = time.monotonic() + 30
            while "closed" not in caplog.text and time.monotonic() < until:
                time.sleep(0.02)
        assert "a call of LiteLLM is not stored" in caplog.text
        assert "closed" in caplog.text
        assert store.stats().turns == 0


def test_half_a_character_is_healed(tmp_path: Path) -> None:
    with HeadishLogger(tmp_path / "a.db") as logger, Store.open(tmp_path / "a.db") as store:
        answer = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "b\ud800"}}]}
        logger.log_success_event({"call_type": "completion", "messages": [user("a\ud800")]}, answer, None, None)
        assert [turn.text for turn in store.turns()] == ["a\ufffd", "b\ufffd"]


PROGRAM = """
import asyncio, sys
import litellm
from headish.integrations.litellm import HeadishLogger
litellm.callbacks = [HeadishLogger(sys.argv[1], bookmark="trip")]
asked = dict(model="openai/m", api_base=sys.argv[2], api_key="sk-test", num_retries=0)
messages = [{"role": "user", "content": "one"}]
if sys.argv[3] == "sync":
    litellm.completion(messages=messages, **asked)
elif sys.argv[3] == "async":
    asyncio.run(litellm.acompletion(messages=messages, **asked))
else:
    async def main():
        async for _ in await litellm.acompletion(messages=messages, stream=True, **asked):
            pass
    asyncio.run(main())
"""


@pytest.mark.parametrize("how", ["sync", "async", "stream"])
def test_the_last_call_of_a_program_is_recorded(tmp_path: Path, address: str, how: str) -> None:
    script = [sys.executable, "-c", PROGRAM, str(tmp_path / "a.db"), address, how]
    done = subprocess.run(script, capture_output=True, text=True, timeout=120, env={**os.environ, "NO_PROXY": "*"})
    assert done.returncode == 0, done.stderr
    with Store.open(tmp_path / "a.db") as store:
        assert [turn.text for turn in store.log("trip")] == ["re one", "one"], done.stderr


def test_quick_calls_are_stored_in_their_order_each_answer_once(tmp_path: Path, asked: dict[str, Any]) -> None:
    with HeadishLogger(tmp_path / "a.db", bookmark="trip") as logger, Store.open(tmp_path / "a.db") as store:
        litellm.callbacks = [logger]

        async def talk() -> None:
            messages: list[Any] = []
            for number in range(10):
                messages.append(user(f"{number}"))
                answer = await litellm.acompletion(messages=messages, **asked)
                messages.append(answer.choices[0].message)
            await asyncio.to_thread(wait_for, store, 20)

        asyncio.run(talk())
        wanted = [text for number in range(10) for text in (f"{number}", f"re {number}")]
        assert [text for _, text in wait_for(store, 20)] == wanted
        assert [turn.text for turn in store.log("trip", limit=100)] == wanted[::-1]
        assert all(turn.meta.reply for turn in store.turns() if turn.meta.role == "assistant")


def call(id: str, *said: str) -> dict[str, Any]:
    """What LiteLLM tells of a call: each second text is an answer."""
    messages = [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(said)]
    return {"litellm_call_id": id, "call_type": "completion", "messages": messages}


def answer(text: str) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}], "usage": {"prompt_tokens": 1}}


class TestTheOrder:
    """LiteLLM tells of calls in any order; here a test says in which."""

    def test_of_a_call_that_goes_on_from_another_is_that_of_their_beginnings(self, tmp_path: Path) -> None:
        first, second = call("1", "one"), call("2", "one", "re one", "two")
        with HeadishLogger(tmp_path / "a.db", bookmark="trip") as logger, Store.open(tmp_path / "a.db") as store:
            for each in (first, second):
                logger.log_pre_api_call("m", each["messages"], each)
            told = threading.Thread(target=logger.log_success_event, args=(second, answer("re two"), None, None))
            told.start()
            time.sleep(0.05)
            assert store.stats().turns == 0
            logger.log_success_event(first, answer("re one"), None, None)
            told.join(30)
            assert [turn.text for turn in store.turns()] == ["one", "re one", "two", "re two"]
            assert store.log("trip")[2].meta.reply["usage"] == {"input_tokens": 1}
            assert store.log("trip")[0].text == "re two"

    def test_a_late_one_is_a_branch_and_the_name_stays(self, tmp_path: Path) -> None:
        slow, quick = call("1", "one"), call("2", "one", "another answer", "two")
        with HeadishLogger(tmp_path / "a.db", bookmark="trip") as logger, Store.open(tmp_path / "a.db") as store:
            logger.log_pre_api_call("m", slow["messages"], slow)
            quick["messages"][0]["content"] = "uno"  # nothing of the first call
            logger.log_pre_api_call("m", quick["messages"], quick)
            logger.log_success_event(quick, answer("re two"), None, None)
            logger.log_success_event(slow, answer("re one"), None, None)
            assert store.log("trip")[0].text == "re two"
            assert [turn.text for turn in store.turns()][-2:] == ["one", "re one"]

    @pytest.mark.parametrize("how", ["failed", "abandoned"])
    def test_one_that_never_ends_is_waited_for_no_longer(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
    ) -> None:
        monkeypatch.setattr(open_calls, "EARLIER_SECONDS", 600 if how == "failed" else 0.05)
        first, second, third = call("1", "a"), call("2", "a", "b", "c"), call("3", "a", "b", "c", "d", "e")
        with HeadishLogger(tmp_path / "a.db", bookmark="trip") as logger, Store.open(tmp_path / "a.db") as store:
            for each in (first, second, third):
                logger.log_pre_api_call("m", each["messages"], each)
            if how == "failed":
                logger.log_failure_event(first, None, None, None)
            logger.log_success_event(second, answer("d"), None, None)
            logger.log_success_event(third, answer("f"), None, None)
            assert [turn.text for turn in store.log("trip")] == list("fedcba")
            assert store.stats().turns == 6

    def test_one_that_is_being_stored_is_waited_for_however_long_that_takes(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(open_calls, "EARLIER_SECONDS", 0.05)
        first, second = call("1", "a"), call("2", "a", "b", "c")
        begun, may_end = threading.Event(), threading.Event()

        def name(kwargs: Any) -> str:
            if kwargs is first:
                begun.set()
                may_end.wait(60)
            return "trip"

        with HeadishLogger(tmp_path / "a.db", bookmark=name) as logger, Store.open(tmp_path / "a.db") as store:
            for each in (first, second):
                logger.log_pre_api_call("m", each["messages"], each)
            storing = [
                threading.Thread(target=logger.log_success_event, args=(each, answer(text), None, None))
                for each, text in ((first, "b"), (second, "d"))
            ]
            storing[0].start()
            assert begun.wait(60)
            storing[1].start()
            storing[1].join(0.5)
            may_end.set()
            for each in storing:
                each.join()
            assert [turn.text for turn in store.log("trip")] == list("dcba")
            assert store.stats().turns == 4


@pytest.mark.parametrize(("bookmark", "error"), [("two words", InvalidName), (5, InvalidArgument)])
def test_a_name_that_cannot_be_one_is_refused(tmp_path: Path, bookmark: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        HeadishLogger(tmp_path / "a.db", bookmark=bookmark)
