"""Batches at servers that say anything: what comes is bounded and shows no key, and each answer reaches its turn."""

from __future__ import annotations

import json
from collections.abc import Iterator
from email.utils import formatdate
from typing import Any

import pytest

from headish import Store
from headish.calls import Timeouts
from headish.errors import (
    CallRefused,
    HeadishError,
    Redirected,
    SilenceTimedOut,
    UncertainBatch,
    UnknownBatch,
    UnreadableAnswer,
)
from headish.store.asking.batches import _Collecting
from support.insides import dump
from support.loopback import JSON, Loopback
from support.places import Place

LINES = {"content-type": "application/x-jsonl"}
KEY = "sk-very-secret-key-of-the-test"
POINTERS = {"milli": "anthropic/small", "gpt": "openai/m", "resp": "openai_responses/m", "gem": "gemini/g-1"}
ODD: list[Any] = [None, 7, 1.5, True, [], {}, "", ".", "..", "é", "\ud800", "a\nb", "x" * 100_000, KEY, [[]], 10**400]
"""What stands where a text is expected. An id may be none of them."""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headish.calls.client.FIRST_DELAY_SECONDS", 0.001)


@pytest.fixture(params=POINTERS)
def pointer(request: pytest.FixtureRequest, asking: Store, server: Loopback) -> str:
    """A pointer to the server, for each kind of batches."""
    asking.pointers.set(request.param, POINTERS[request.param], base_url=server.url, key_env="TEST_KEY")
    asking.add_turn("question?", bookmark="q")
    return str(request.param)


def create(store: Store, server: Loopback, pointer: str = "milli", heads: int = 1) -> list[str]:
    """A batch ``b`` of some heads; the ids of its requests."""
    for number in range(heads):
        store.add_turn(f"question {number}?", bookmark=f"q{number}", force=True)
    if pointer in ("gpt", "resp"):
        server.answer_json({"id": "file-1"})
    server.answer_json({"id": "b1", "name": "batches/b1"})
    made = store.batches.create([f"q{number}" for number in range(heads)], name="b", ptr=pointer)
    return [each.id for each in made.entries]


def ended(server: Loopback, **said: Any) -> None:
    """All that any provider says of a batch that has ended, with files."""
    google = {"state": "BATCH_STATE_SUCCEEDED", "output": {"responsesFile": "files/out"}}
    whole = {"processing_status": "ended", "status": "completed", "output_file_id": "out", "metadata": google}
    server.answer_json({**whole, **said})


def answered(id: str, text: str = "Yes.") -> bytes:
    """A line with an answer of Anthropic's."""
    message = {"type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
               "content": [{"type": "text", "text": text}]}  # fmt: skip
    return json.dumps({"custom_id": id, "result": {"type": "succeeded", "message": message}}).encode()


class TestWhatItSaysOfABatch:
    def test_an_id_that_is_none_is_neither_kept_nor_asked_for(
        self, asking: Store, server: Loopback, pointer: str
    ) -> None:
        for number, odd in enumerate(ODD):
            if pointer in ("gpt", "resp"):
                server.answer_json({"id": "file-1"})
            server.answer_json({"id": odd, "name": f"batches/{odd}" if isinstance(odd, str) else odd})
            with pytest.raises(UncertainBatch):
                asking.batches.create(["q"], name=f"b{number}", ptr=pointer)
        assert {each.remote for each in asking.batches.list()} == {None}
        assert KEY not in str(dump(asking))

    def test_one_that_was_found_is_checked_too(self, asking: Store, server: Loopback, pointer: str) -> None:
        if pointer in ("gpt", "resp"):
            server.answer_json({"id": "file-1"})
        server.hang_up()
        with pytest.raises(UncertainBatch):
            asking.batches.create(["q"], name="b", ptr=pointer)
        job = asking.batches.get("b")
        token = job.entries[0].id.rpartition("-")[0]
        same = {"created_at": job.time.isoformat(), "request_counts": {"processing": 1}}
        for odd in ("..", KEY, "x" * 501, 7):
            each = {**same, "id": odd, "name": f"batches/{odd}" if isinstance(odd, str) else odd}
            each["metadata"] = {"headish": token, "displayName": token}
            server.answer_json({"data": [each], "operations": [each]})
            with pytest.raises((UnreadableAnswer, UncertainBatch)):
                asking.batches.status("b")
        assert asking.batches.get("b").state == "uncertain"

    def test_words_and_counts_are_short_and_show_no_key(self, asking: Store, server: Loopback, pointer: str) -> None:
        create(asking, server, pointer)
        for odd in ODD:
            counts = {"total": 3, KEY: 4, "x" * 99: 5, "a\x1b[31m": 6, "odd": odd}
            google = {"state": odd, "batchStats": counts}
            server.answer_json({"processing_status": odd, "status": odd, "request_counts": counts, "metadata": google})
            found = asking.batches.status("b")
            assert not found.ended
            assert found.counts == {"total": 3} | ({"odd": odd} if type(odd) is int else {})
            assert len(found.status) <= 80
            assert KEY not in found.status

    @pytest.mark.parametrize("pointer", ["gpt", "resp", "gem"], indirect=True)
    @pytest.mark.parametrize("odd", ["x" * 100_000, "..", "é", KEY])
    def test_a_file_that_cannot_be_asked_for_leaves_all_waiting(
        self, asking: Store, server: Loopback, pointer: str, odd: str
    ) -> None:
        create(asking, server, pointer)
        google = {"state": "BATCH_STATE_SUCCEEDED", "output": {"responsesFile": f"files/{odd}"}}
        ended(server, output_file_id=odd, metadata=google)
        with pytest.raises(UnreadableAnswer, match="names no file that could be fetched"):
            asking.batches.collect("b")
        assert asking.batches.get("b").counts["waiting"] == 1

    def test_an_address_of_a_megabyte_is_a_named_error(
        self, asking: Store, server: Loopback, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("headish.calls.batches.apis.INLINE_BYTES", 10)
        asking.pointers.set("gem", POINTERS["gem"], base_url=server.url, key_env="TEST_KEY")
        asking.add_turn("question?", bookmark="q")
        server.answer_json({}, headers={"x-goog-upload-url": f"{server.url}/{'x' * 60_000}"})
        with pytest.raises(HeadishError):
            asking.batches.create(["q"], name="b", ptr="gem")
        assert len(server.requests) <= 2


class TestTheWayThere:
    def test_a_redirect_is_not_followed_and_takes_no_key_along(
        self, asking: Store, server: Loopback, pointer: str
    ) -> None:
        with Loopback() as other:
            moved = {"location": f"{other.url}/there"}
            create(asking, server, pointer)
            for status in (301, 302, 307, 308):
                server.answer(status, moved)
                with pytest.raises(Redirected):
                    asking.batches.status("b")
                server.answer(status, moved)
                with pytest.raises(Redirected):
                    asking.batches.create(["q"], name="c", ptr=pointer)
            assert other.requests == []
        assert [each.name for each in asking.batches.list()] == ["b"]

    def test_a_page_is_told_in_a_line(self, asking: Store, server: Loopback) -> None:
        create(asking, server)
        page = b"<html>\n<h1>502 Bad Gateway</h1>\n" + b"<p>x</p>" * 10_000
        for _ in range(4):
            server.answer(502, {"content-type": "text/html"}, [page])
        with pytest.raises(CallRefused) as raised:
            asking.batches.status("b")
        assert len(str(raised.value)) < 300
        assert "\n" not in str(raised.value)
        server.answer(200, {"content-type": "text/html"}, [page])
        with pytest.raises(UnreadableAnswer, match="not a JSON object; it begins '<html> <h1>502"):
            asking.batches.status("b")

    def test_a_time_that_has_passed_is_not_waited_for(self, asking: Store, server: Loopback) -> None:
        create(asking, server)
        for after in (formatdate(0, usegmt=True), "-5", "nan", "Thu, 99 Foo 2026", "0"):
            server.answer(429, {**JSON, "retry-after": after}, [b"{}"])
            server.answer_json({"processing_status": "in_progress"})
            assert asking.batches.status("b").status == "in_progress"
        server.answer(429, {**JSON, "retry-after": "86400"}, [b"{}"])
        with pytest.raises(CallRefused):
            asking.batches.status("b")

    def test_results_that_stall_keep_what_came(self, asking: Store, server: Loopback) -> None:
        ids = create(asking, server, heads=2)
        ended(server)

        def stall() -> Iterator[bytes]:
            yield answered(ids[0]) + b"\n"
            server.closing.wait(20)

        server.answer(headers=LINES, chunks=stall())
        with pytest.raises(SilenceTimedOut):
            asking.batches.collect("b", timeouts=Timeouts(first_byte_seconds=0.5, silence_seconds=0.5))
        assert asking.batches.get("b").counts["waiting"] == 1
        ended(server)
        server.answer(headers=LINES, chunks=[b"\n".join(answered(id) for id in ids)])
        asking.batches.collect("b")
        assert asking.batches.get("b").counts["answered"] == 2


class TestLines:
    def test_one_that_is_too_long_keeps_no_other_from_its_turn(
        self, asking: Store, server: Loopback, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ids = create(asking, server, heads=3)
        monkeypatch.setattr("headish.calls.remote.EVENT_LIMIT_BYTES", 1000)
        ended(server)
        long = answered(ids[1], "x" * 5000)
        whole = b"\n".join([answered(ids[0]), long, answered(ids[2])])
        server.answer(headers=LINES, chunks=[whole[at : at + 700] for at in range(0, len(whole), 700)])
        found = asking.batches.collect("b")
        assert [asking.text(turn) for turn in found.turns] == ["Yes.", "Yes."]
        assert [problem.partition(":")[0] for problem in found.problems] == ["line 2 cannot be read"]
        assert found.batch.counts["waiting"] == 1
        monkeypatch.undo()
        ended(server)
        monkeypatch.setenv("TEST_KEY", KEY)
        server.answer(headers=LINES, chunks=[whole])
        assert len(asking.batches.collect("b").turns) == 1

    def test_any_json_is_a_turn_a_failure_or_a_problem(self, asking: Store, server: Loopback, pointer: str) -> None:
        ids = create(asking, server, pointer, heads=len(ODD))
        deep = b'{"a":' * 3000 + b"1" + b"}" * 3000
        lines = [deep, *(json.dumps(odd).encode() for odd in ODD)]
        for id, odd in zip(ids, ODD, strict=True):
            body = {"type": "message", "content": [odd, {"type": odd}], "choices": [odd, {"message": {"audio": odd}}],
                    "output": [odd, {"type": "custom_tool_call", "input": odd}], "candidates": [{"content": odd}],
                    "usage": odd, "model": odd, "id": odd, "stop_reason": odd}  # fmt: skip
            response = body if pointer == "gem" else {"status_code": 200, "body": body}
            line = {"custom_id": id, "key": id, "result": {"type": "succeeded", "message": body}, "response": response}
            lines.append(json.dumps(line).encode())
        ended(server)
        server.answer(headers=LINES, chunks=[b"\n".join(lines)])
        found = asking.batches.collect("b")
        assert found.batch.counts["waiting"] == 0
        assert KEY not in str(found.to_dict())
        assert asking.verify().problems == ()

    def test_half_a_character_in_a_document_of_answers_hides_no_other(self, asking: Store, server: Loopback) -> None:
        asking.pointers.set("gem", POINTERS["gem"], base_url=server.url, key_env="TEST_KEY")
        ids = create(asking, server, "gem", heads=2)
        told = [
            {"metadata": {"key": id}, "response": {"candidates": [{"content": {"parts": [{"text": text}]}}]}}
            for id, text in zip(ids, ("half\ud83d", "whole"), strict=True)
        ]
        state = {"state": "BATCH_STATE_SUCCEEDED", "output": {"inlinedResponses": {"inlinedResponses": told}}}
        server.answer_json({"metadata": state})
        assert [asking.text(turn) for turn in asking.batches.collect("b").turns] == ["half\ufffd", "whole"]


class TestMeanwhile:
    def test_a_question_that_was_erased_gets_its_answer_as_a_tombstone_s_child(
        self, everywhere: Store, server: Loopback
    ) -> None:
        """What was erased is gone; that it was answered is not what somebody wanted forgotten."""
        ids = create(everywhere, server, heads=2)
        everywhere.erase("q0", reason="asked for")
        ended(server)
        server.answer(headers=LINES, chunks=[b"\n".join(answered(id) for id in ids)])
        found = everywhere.batches.collect("b")
        assert found.batch.counts == {"answered": 2, "failed": 0, "waiting": 0}
        assert "question 0?" not in str(dump(everywhere))
        assert everywhere.verify().problems == ()

    def test_another_space_has_no_such_batch(self, durable_place: Place, server: Loopback) -> None:
        mine, other = durable_place.open(), durable_place.open(space="other")
        mine.pointers.set("milli", POINTERS["milli"], base_url=server.url, key_env="TEST_KEY")
        create(mine, server)
        for verb in (other.batches.get, other.batches.status, other.batches.collect, other.batches.drop):
            with pytest.raises(UnknownBatch):
                verb("b")
        assert other.batches.list() == []
        assert len(server.requests) == 1

    def test_what_is_left_of_one_that_was_dropped_closes_no_other_of_its_name(
        self, asking: Store, server: Loopback, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It was dropped while another process collected it, whose outcomes came behind."""
        ids = create(asking, server, heads=2)
        ended(server)
        server.answer(headers=LINES, chunks=[b"\n".join(answered(id) for id in ids)])
        store, dropped = _Collecting._store, [False]

        def drop_first(self: Any, *given: Any) -> None:
            if not dropped[0]:
                dropped[0] = True
                asking.batches.drop("b")
            store(self, *given)

        with monkeypatch.context() as patched:
            patched.setattr(_Collecting, "_store", drop_first)
            with pytest.raises(UnknownBatch):
                asking.batches.collect("b")
        ids = create(asking, server, heads=2)
        ended(server)
        server.answer(headers=LINES, chunks=[answered(ids[0])])
        found = asking.batches.collect("b").batch
        assert (found.state, found.counts["waiting"]) == ("open", 1)
