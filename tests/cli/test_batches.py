"""``batch`` at the command: what it prints, its exit codes and its JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.command import Command
from support.loopback import Loopback

LINES = {"content-type": "application/x-jsonl"}
MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "small-1", "stop_reason": "end_turn",
           "content": [{"type": "text", "text": "Yes."}],
           "usage": {"input_tokens": 1000, "output_tokens": 100}}  # fmt: skip


@pytest.fixture
def server(headish: Command, monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    monkeypatch.setenv("TEST_KEY", "sk-very-secret-key-of-the-test")
    with Loopback() as server:
        headish("ptr", "set", "milli", "anthropic/small", "--base-url", server.url, "--key-env", "TEST_KEY")
        for name in ("one", "two"):
            headish("add", f"{name}?", "-b", name)
        yield server


def end(server: Loopback, *results: dict[str, object]) -> None:
    ids = [each["custom_id"] for each in server.requests[0].body["requests"]]
    lines = [json.dumps({"custom_id": id, "result": each}) for id, each in zip(ids, results, strict=True)]
    server.answer_json({"processing_status": "ended", "request_counts": {"succeeded": 1, "errored": 1}})
    server.answer(headers=LINES, chunks=["\n".join(lines).encode()])


def test_a_batch_from_its_creation_to_its_end(headish: Command, server: Loopback) -> None:
    assert headish("batch", "status").err == "There are no batches: 'headish batch create' makes one.\n"
    server.answer_json({"id": "msgbatch_1"})
    made = headish.run("batch", "create", "-", "-p", "milli", "-o", "max_tokens=9", stdin="one\n\ntwo\n")
    assert (made.code, made.out) == (0, "batch-1\n")
    assert "2 requests to anthropic; 'headish batch collect batch-1' stores the answers." in made.err
    assert headish("batch", "status").out == "batch-1  open       milli  2 waiting\n"
    server.answer_json({"processing_status": "in_progress", "request_counts": {"processing": 2, "errored": 0}})
    assert headish("batch", "status", "batch-1").out == "batch-1: in_progress (2 processing)\n"
    server.answer_json({"processing_status": "in_progress", "request_counts": {}})
    waiting = headish("batch", "collect", "batch-1")
    assert (waiting.out, "has not ended yet" in waiting.err) == ("", True)
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": "bad\x1b[31m"}}
    end(server, {"type": "succeeded", "message": MESSAGE}, {"type": "errored", "error": error})
    done = headish.run("batch", "collect", "batch-1")
    assert done.code == 1
    assert headish("log", "one", "--json").json_lines[0]["id"] == done.out.strip()
    assert "two has no answer: invalid_request_error: bad" in done.err
    assert "\x1b" not in done.err
    assert "batch-1: 1 stored now, 1 of 2 in all." in done.err
    assert headish("batch", "status").out == "batch-1  collected  milli  1 answered, 1 failed\n"
    [listed] = headish("batch", "status", "--json").json_lines
    assert (listed["state"], listed["answered"], listed["failed"], listed["remote"]) == (
        "collected",
        1,
        1,
        "msgbatch_1",
    )
    assert "is forgotten" in headish("batch", "drop", "batch-1").err
    assert "no batch is named 'batch-1'" in headish.fails("batch", "collect", "batch-1")


def test_what_a_batch_cost_takes_its_factor(headish: Command, server: Loopback, tmp_path: Path) -> None:
    server.answer_json({"id": "msgbatch_1"})
    headish("batch", "create", "one", "two", "-p", "milli", "--name", "b", "--json")
    end(server, *[{"type": "succeeded", "message": MESSAGE}] * 2)
    record = headish("batch", "collect", "b", "--json").json
    assert [each["error"] for each in record["entries"]] == [None, None]
    assert [each["turn"] for each in record["entries"]] == record["turns"]
    table = tmp_path / "prices.json"
    table.write_text('{"price": [{"model": "small*", "input": 1, "output": 10, "batch": 0.5}]}', "utf-8")
    assert headish("cost", "--all", "--prices", str(table), "--json").json_lines[0]["cost"] == "0.002"


def test_a_creation_that_was_cut_off_says_what_to_do(headish: Command, server: Loopback) -> None:
    server.hang_up()
    told = headish.fails("batch", "create", "one", "-p", "milli", "--name", "b")
    assert "'headish batch status b' looks for it, and 'headish batch drop b' forgets it" in told
    assert headish("batch", "status").out == "b  uncertain  milli  1 waiting\n"
