"""Batches: many heads at once; each answer is stored once behind its turn, whatever the results and the time bring."""

from __future__ import annotations

import json
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from headish import Store
from headish.errors import (
    CallRefused,
    CorruptRecord,
    Interrupted,
    InvalidArgument,
    InvalidName,
    MissingKey,
    RecordChanged,
    TooLarge,
    UncertainBatch,
    UnknownBatch,
)
from headish.store.asking.batches import Batches, _Collecting
from support.insides import dump, run_sql
from support.loopback import Loopback

LINES = {"content-type": "application/x-jsonl"}
SECRET = "sk-very-secret-key-of-the-test"
CHAT = {"id": "chatcmpl-1", "object": "chat.completion", "model": "m",
        "usage": {"prompt_tokens": 3, "completion_tokens": 2}}  # fmt: skip


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headish.calls.client.FIRST_DELAY_SECONDS", 0.001)


def message(text: str) -> dict[str, Any]:
    said = {"id": f"msg_{text}", "type": "message", "role": "assistant", "model": "small-1", "stop_reason": "end_turn"}
    return {**said, "content": [{"type": "text", "text": text}], "usage": {"input_tokens": 3, "output_tokens": 2}}


def succeeded(id: str, text: str) -> bytes:
    return json.dumps({"custom_id": id, "result": {"type": "succeeded", "message": message(text)}}).encode()


def grow(store: Store, count: int = 3) -> list[str]:
    """So many conversations, ``q1`` …, that wait for an answer."""
    for number in range(1, count + 1):
        store.add_turn(f"question {number}?", bookmark=f"q{number}")
    return [f"q{number}" for number in range(1, count + 1)]


def create(store: Store, server: Loopback, count: int = 3, **settings: Any) -> list[str]:
    """A batch of Anthropic's, named ``b``; the ids of its requests."""
    server.answer_json({"id": "msgbatch_1", "processing_status": "in_progress", "request_counts": {}})
    store.batches.create(grow(store, count), name="b", ptr="milli", **settings)
    return [each["custom_id"] for each in server.requests[-1].body["requests"]]


def end(server: Loopback, *lines: bytes, cut: bool = False) -> None:
    """The batch has ended with these lines."""
    server.answer_json({"id": "msgbatch_1", "processing_status": "ended", "request_counts": {"succeeded": len(lines)}})
    server.answer(headers=LINES, chunks=[b"\n".join(lines)], cut=cut)


class TestCreating:
    def test_each_head_is_a_request_and_pins_its_turn(self, everywhere: Store, server: Loopback) -> None:
        ids = create(everywhere, server)
        [request] = server.requests
        assert (request.method, request.path) == ("POST", "/v1/messages/batches")
        assert request.headers["authorization"] == f"Bearer {SECRET}"
        assert [each["params"]["messages"][0]["content"] for each in request.body["requests"]] == [
            [{"type": "text", "text": f"question {number}?"}] for number in (1, 2, 3)
        ]
        assert all("stream" not in each["params"] or not each["params"]["stream"] for each in request.body["requests"])
        batch = everywhere.batches.get("b")
        assert [each.id for each in batch.entries] == ids
        assert [each.bookmark for each in batch.entries] == ["q1", "q2", "q3"]
        assert (batch.state, batch.remote, batch.counts["waiting"]) == ("open", "msgbatch_1", 3)

    def test_names_count_on_and_a_name_is_taken_once(self, asking: Store, server: Loopback) -> None:
        heads = grow(asking)
        for number in (1, 2):
            server.answer_json({"id": f"msgbatch_{number}"})
            assert asking.batches.create(heads, ptr="milli").name == f"batch-{number}"
        with pytest.raises(RecordChanged):
            asking.batches.create(heads, ptr="milli", name="batch-1")
        with pytest.raises(InvalidName):
            asking.batches.create(heads, ptr="milli", name="a:b")
        assert [each.name for each in asking.batches.list()] == ["batch-1", "batch-2"]
        assert len(server.requests) == 2

    def test_what_the_provider_refuses_leaves_nothing(self, asking: Store, server: Loopback) -> None:
        heads = grow(asking)
        server.answer_json({"error": {"message": f"no credit for {SECRET}"}}, 400)
        with pytest.raises(CallRefused, match=r"no credit for \*\*\*"):
            asking.batches.create(heads, ptr="milli", name="b")
        with pytest.raises(MissingKey):
            asking.batches.create(heads, ptr="milli", name="b", key_env="NOT_THERE")
        assert asking.batches.list() == []

    def test_heads_of_several_servers_or_providers_without_batches_are_refused(
        self, asking: Store, server: Loopback, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asking.add_turn("a?", bookmark="a", provider_ptr="milli")
        asking.pointers.set("other", "openai/m", base_url=server.url)
        asking.add_turn("b?", bookmark="b", provider_ptr="other")
        asking.pointers.set("cloudy", "anthropic/m", cloud="vertex", region="eu", project="p")
        for heads, settings, words in (
            (["a", "b"], {}, "one server: milli and other differ"),
            (["a"], {"to": "cohere", "model": "m", "params": {}}, "headish cannot make batches at cohere"),
            (["a"], {"ptr": "cloudy"}, "headish makes no batches at Vertex AI .*: .* Cloud Storage"),
            ([], {}, "a batch needs a head"),
        ):
            with pytest.raises(InvalidArgument, match=words):
                asking.batches.create(heads, **settings)
        monkeypatch.setattr("headish.store.answers.batches.find_batch_api", lambda *_: limited())
        with pytest.raises(InvalidArgument, match="at most 1 requests"):
            asking.batches.create(["a", "a"])
        with pytest.raises(TooLarge):
            asking.batches.create(["a"])
        assert (asking.batches.list(), server.requests) == ([], [])


def limited() -> Any:
    from headish.calls.batches.apis import BATCH_APIS

    return BATCH_APIS["anthropic"]._replace(most_requests=1, most_bytes=20)


class TestCutOff:
    """A process that is killed, or a connection that is lost, while a batch is created."""

    def test_a_lost_answer_leaves_a_batch_that_is_looked_for_and_found(
        self, everywhere: Store, server: Loopback
    ) -> None:
        heads = grow(everywhere)
        server.hang_up()
        with pytest.raises(UncertainBatch, match="'headish batch status b' looks for it"):
            everywhere.batches.create(heads, name="b", ptr="milli")
        token = server.requests[0].body["requests"][0]["custom_id"].rpartition("-")[0]
        assert everywhere.batches.get("b").state == "uncertain"
        now = everywhere.batches.get("b").time.isoformat()
        mine = {"id": "msgbatch_7", "created_at": now, "request_counts": {"processing": 3}}
        others = [{**mine, "id": "x", "created_at": "2020-01-01T00:00:00Z"},
                  {**mine, "id": "y", "request_counts": {"processing": 4}}]  # fmt: skip
        server.answer_json({"data": [*others, mine]})
        server.answer_json({"processing_status": "in_progress", "request_counts": {"processing": 3}})
        assert everywhere.batches.status("b").batch.remote == "msgbatch_7"
        assert everywhere.batches.get("b").state == "open"
        end(server, *(succeeded(f"{token}-{number}", str(number)) for number in (1, 2, 3)))
        assert len(everywhere.batches.collect("b").turns) == 3

    def test_one_that_the_provider_does_not_have_can_be_dropped(self, asking: Store, server: Loopback) -> None:
        server.hang_up()
        with pytest.raises(UncertainBatch):
            asking.batches.create(grow(asking), name="b", ptr="milli")
        server.answer_json({"data": []})
        with pytest.raises(UncertainBatch, match="no such batch"):
            asking.batches.collect("b")
        asking.batches.drop("b")
        with pytest.raises(UnknownBatch):
            asking.batches.get("b")

    def test_a_wrong_batch_that_was_found_stores_nothing(self, asking: Store, server: Loopback) -> None:
        server.hang_up()
        with pytest.raises(UncertainBatch):
            asking.batches.create(grow(asking, 1), name="b", ptr="milli")
        now = asking.batches.get("b").time.isoformat()
        server.answer_json({"data": [{"id": "z", "created_at": now, "request_counts": {"succeeded": 1}}]})
        end(server, succeeded("somebody-else", "no"))
        found = asking.batches.collect("b")
        assert (found.turns, found.batch.state) == ((), "open")
        assert found.problems == ("a result has the id 'somebody-else', which no request of this batch has",)

    @pytest.mark.parametrize("kept", [0, 1, 2])
    def test_a_kill_between_two_answers_loses_none_and_doubles_none(
        self, kept: int, asking: Store, server: Loopback, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ids = create(asking, server)
        lines = [succeeded(id, id) for id in ids]
        end(server, *lines)
        store, left = _Collecting._store, [kept]

        def killed(self: Any, *given: Any) -> None:
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1
            store(self, *given)

        with monkeypatch.context() as patched:
            patched.setattr(_Collecting, "_store", killed)
            with pytest.raises(KeyboardInterrupt):
                asking.batches.collect("b")
        assert asking.stats().turns == 3 + kept
        end(server, *lines)
        assert len(asking.batches.collect("b").turns) == 3 - kept
        assert asking.stats().turns == 6
        assert asking.batches.get("b").state == "collected"


class TestCollecting:
    def test_an_answer_stands_behind_its_turn_and_its_name_moves(self, everywhere: Store, server: Loopback) -> None:
        ids = create(everywhere, server)
        everywhere.add_turn("another thing", continues="q2")
        end(server, *(succeeded(id, f"answer {number}") for number, id in reversed([*enumerate(ids, 1)])))
        found = everywhere.batches.collect("b")
        assert len(found.turns) == 3
        assert [everywhere.text(name) for name in ("q1", "q2", "q3")] == ["answer 1", "another thing", "answer 3"]
        second = everywhere.batches.get("b").entries[1]
        assert second.turn is not None
        turn = everywhere.get(second.turn)
        assert (turn.text, turn.meta.bookmark, turn.meta.continues) == ("answer 2", None, second.continues)
        reply = everywhere.get("q1").meta.reply
        assert (reply["batch"], reply["ptr"], reply["usage"]["output_tokens"]) == ("b", "milli", 2)
        assert found.batch.state == everywhere.batches.get("b").state == "collected"
        assert everywhere.verify().problems == ()

    def test_collecting_again_stores_nothing_twice(self, asking: Store, server: Loopback) -> None:
        ids = create(asking, server)
        for _ in range(2):
            end(server, *(succeeded(id, id) for id in ids))
        asking.batches.collect("b")
        before = dump(asking)
        assert asking.batches.collect("b").turns == ()
        assert dump(asking) == before

    def test_one_that_has_not_ended_stores_nothing(self, asking: Store, server: Loopback) -> None:
        create(asking, server)
        before = dump(asking)
        for status in ("in_progress", "canceling"):
            for _ in range(2):
                server.answer_json({"processing_status": status, "request_counts": {"processing": 3}})
            assert asking.batches.status("b").counts == {"processing": 3}
            found = asking.batches.collect("b")
            assert (found.ended, found.status, found.turns) == (False, status, ())
        assert dump(asking) == before

    def test_what_failed_and_what_expired_is_named_and_kept(self, asking: Store, server: Loopback) -> None:
        ids = create(asking, server, 4)
        error = {"type": "error", "error": {"type": "invalid_request_error", "message": f"too long, {SECRET}"}}
        end(
            server,
            succeeded(ids[0], "fine"),
            json.dumps({"custom_id": ids[1], "result": {"type": "errored", "error": error}}).encode(),
            json.dumps({"custom_id": ids[2], "result": {"type": "expired"}}).encode(),
            json.dumps({"custom_id": ids[3], "result": {"type": "canceled"}}).encode(),
        )
        found = asking.batches.collect("b").batch
        assert [each.error for each in found.entries] == [
            None,
            {"type": "invalid_request_error", "message": "too long, ***"},
            {"type": "expired", "message": "the batch ended before it was answered"},
            {"type": "canceled", "message": "the batch was cancelled before it was answered"},
        ]
        assert (found.counts, found.state) == ({"answered": 1, "failed": 3, "waiting": 0}, "collected")
        assert SECRET not in str(dump(asking))

    def test_strange_results_are_told_and_the_others_are_stored(self, asking: Store, server: Loopback) -> None:
        ids = create(asking, server)
        last = succeeded(ids[2], "third")
        end(
            server, b"", b"\xff\xfe", b"[1]", b'{"custom_id": 3}', succeeded("unknown", "x"), succeeded(ids[0], "one"),
            succeeded(ids[0], "one again"), succeeded(ids[1], "two")[:60], last[:-9],
        )  # fmt: skip
        found = asking.batches.collect("b")
        assert [asking.text(turn) for turn in found.turns] == ["one"]
        assert [problem.partition(":")[0] for problem in found.problems] == [
            "line 2 cannot be read",
            "line 3 cannot be read",
            "a result has the id 'None', which no request of this batch has",
            "a result has the id 'unknown', which no request of this batch has",
            f"{ids[0]} has another result, which is left out",
            "line 8 cannot be read",
            "line 9 cannot be read",
        ]
        assert (found.batch.state, found.batch.counts["waiting"]) == ("open", 2)
        end(server, succeeded(ids[1], "two"), last)
        assert [asking.text(turn) for turn in asking.batches.collect("b").turns] == ["two", "third"]
        assert asking.batches.get("b").state == "collected"

    def test_an_answer_after_an_error_of_the_same_request_is_stored(self, asking: Store, server: Loopback) -> None:
        """It was paid for, wherever it stands."""
        ids = create(asking, server, 3)
        failed = [json.dumps({"custom_id": id, "result": {"type": "expired"}}).encode() for id in ids]
        end(server, failed[0], failed[1], succeeded(ids[0], "one"), failed[1], succeeded(ids[2], "three"), failed[2])
        found = asking.batches.collect("b")
        assert [asking.text(turn) for turn in found.turns] == ["one", "three"]
        assert found.problems == tuple(f"{id} has another result, which is left out" for id in ids)
        assert [(each.error or {}).get("type") for each in found.batch.entries] == [None, "expired", None]

    def test_half_a_character_does_not_keep_the_others_from_being_stored(self, asking: Store, server: Loopback) -> None:
        ids = create(asking, server, 2)
        end(
            server,
            succeeded(ids[0], "half").replace(b'"text": "half"', b'"text": "half\\ud83d"'),
            succeeded(ids[1], "x"),
        )
        assert [asking.text(turn) for turn in asking.batches.collect("b").turns] == ["half\ufffd", "x"]

    def test_a_connection_that_is_lost_keeps_what_came_and_goes_on_later(self, asking: Store, server: Loopback) -> None:
        ids = create(asking, server)
        lines = [succeeded(id, id) for id in ids]
        end(server, *lines[:2], lines[2][:5], cut=True)
        with pytest.raises(Interrupted):
            asking.batches.collect("b")
        assert asking.batches.get("b").counts == {"answered": 2, "failed": 0, "waiting": 1}
        end(server, *lines)
        assert len(asking.batches.collect("b").turns) == 1

    def test_two_that_collect_at_once_store_each_answer_once(
        self, durable: Store, server: Loopback, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ids = create(durable, server, 6)
        for _ in range(2):
            server.answer_json({"id": "msgbatch_1", "processing_status": "ended", "request_counts": {"succeeded": 6}})
        for _ in range(2):
            server.answer(headers=LINES, chunks=[b"\n".join(succeeded(id, id) for id in ids)])
        look, both = Batches._look, Barrier(2, timeout=20)

        def look_together(self: Batches, *given: Any) -> Any:
            found = look(self, *given)
            both.wait()
            return found

        monkeypatch.setattr(Batches, "_look", look_together)
        with ThreadPoolExecutor(2) as pool:
            found = list(pool.map(lambda _: durable.batches.collect("b"), range(2)))
        assert sum(len(each.turns) for each in found) == 6
        assert durable.stats().turns == 12
        assert durable.batches.get("b").counts["answered"] == 6

    def test_a_turn_that_is_gone_is_a_failure_of_its_own(self, asking: Store, server: Loopback) -> None:
        ids = create(asking, server, 2)
        name = "batch-turn"
        job = json.loads(asking.objects.get("headish/batch", "b").data)
        job["entries"][0]["about"]["turns"] = ["0" * 25]
        asking.objects.put("headish/batch", "b", json.dumps(job).encode())
        end(server, *(succeeded(id, name) for id in ids))
        found = asking.batches.collect("b").batch
        assert (found.entries[0].error or {})["type"] == "not_stored"
        assert found.counts["answered"] == 1

    @pytest.mark.slow
    def test_memory_holds_one_answer_at_a_time(self, asking: Store, server: Loopback) -> None:
        """The file of results may have any size."""
        ids = create(asking, server, 1)
        line = succeeded("unknown", "x" * 1_000_000)
        server.answer_json({"processing_status": "ended", "request_counts": {}})
        server.answer(headers=LINES, chunks=[b"%b\n" % line] * 100 + [succeeded(ids[0], "fine")])
        tracemalloc.start()
        try:
            found = asking.batches.collect("b")
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert len(found.turns) == 1
        assert len(found.problems) == 100
        assert peak < 20_000_000

    def test_a_damaged_batch_is_an_error_that_names_it(self, asking: Store, server: Loopback) -> None:
        create(asking, server)
        run_sql(asking, "UPDATE object SET data = CAST('{}' AS BLOB) WHERE kind = 'headish/batch'")
        with pytest.raises(CorruptRecord, match="the batch 'b'"):
            asking.batches.collect("b")

    def test_no_batch_is_seen_by_what_lists_turns(self, asking: Store, server: Loopback) -> None:
        create(asking, server)
        assert asking.stats().turns == 3
        assert sorted(asking.bookmarks) == ["q1", "q2", "q3"]


class TestOpenAI:
    @pytest.fixture(params=["openai", "openai_responses"])
    def provider(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)

    def test_a_file_goes_up_and_two_come_down(self, provider: str, asking: Store, server: Loopback) -> None:
        asking.pointers.set("gpt", f"{provider}/m", base_url=f"{server.url}/v1", key_env="TEST_KEY")
        server.answer_json({"id": "file-1"})
        server.answer_json({"id": "batch_1", "status": "validating"})
        asking.batches.create(grow(asking), name="b", ptr="gpt")
        upload, created = server.requests
        path = "/v1/chat/completions" if provider == "openai" else "/v1/responses"
        assert (upload.path, created.path) == ("/v1/files", "/v1/batches")
        assert created.body["endpoint"] == path
        assert (created.body["input_file_id"], created.body["completion_window"]) == ("file-1", "24h")
        lines = [json.loads(line) for line in upload.body.splitlines() if line.startswith(b"{")]
        assert [(each["method"], each["url"], each["body"]["model"]) for each in lines] == [("POST", path, "m")] * 3
        assert b'name="purpose"\r\n\r\nbatch\r\n' in upload.body
        ids = [each["custom_id"] for each in lines]
        server.answer_json({"status": "completed", "output_file_id": "out/1", "error_file_id": "err"})
        server.answer(headers=LINES, chunks=[json.dumps(self.answered(provider, ids[0])).encode()])
        failed = {"custom_id": ids[1], "response": {"status_code": 400, "body": {"error": {"message": "bad"}}}}
        expired = {"custom_id": ids[2], "response": None, "error": {"code": "batch_expired", "message": "too late"}}
        server.answer(headers=LINES, chunks=[json.dumps(each).encode() + b"\n" for each in (failed, expired)])
        found = asking.batches.collect("b")
        assert [asking.text(turn) for turn in found.turns] == ["Yes."]
        assert [each.error for each in found.batch.entries[1:]] == [
            {"type": "failed", "message": "bad"}, {"type": "batch_expired", "message": "too late"},
        ]  # fmt: skip
        assert [each.path for each in server.requests[3:]] == ["/v1/files/out%2F1/content", "/v1/files/err/content"]

    def test_a_second_result_leaves_no_request_of_a_failed_batch_open(
        self, provider: str, asking: Store, server: Loopback
    ) -> None:
        asking.pointers.set("gpt", f"{provider}/m", base_url=f"{server.url}/v1", key_env="TEST_KEY")
        server.answer_json({"id": "file-1"})
        server.answer_json({"id": "batch_1", "status": "validating"})
        ids = [each.id for each in asking.batches.create(grow(asking, 2), name="b", ptr="gpt").entries]
        server.answer_json({"status": "expired", "output_file_id": "out"})
        server.answer(headers=LINES, chunks=[json.dumps(self.answered(provider, ids[0])).encode() + b"\n"] * 2)
        found = asking.batches.collect("b")
        assert found.problems == (f"{ids[0]} has another result, which is left out",)
        assert (found.batch.state, found.batch.counts) == ("collected", {"answered": 1, "failed": 1, "waiting": 0})

    def answered(self, provider: str, id: str) -> dict[str, Any]:
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": "Yes.", "annotations": []}]}  # fmt: skip
        body: dict[str, Any] = {"id": "resp_1", "object": "response", "status": "completed", "model": "m"}
        body |= {"output": [item]}
        if provider == "openai":
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Yes."}}
            body = {**CHAT, "choices": [choice]}
        return {"id": "batch_req_1", "custom_id": id, "response": {"status_code": 200, "body": body}, "error": None}

    def test_one_that_failed_as_a_whole_says_why_for_each(self, asking: Store, server: Loopback) -> None:
        asking.pointers.set("gpt", "openai/m", base_url=server.url, key_env="TEST_KEY")
        server.answer_json({"id": "file-1"})
        server.answer_json({"id": "batch_1"})
        asking.batches.create(grow(asking, 2), name="b", ptr="gpt")
        server.answer_json({"status": "failed", "errors": {"data": [{"message": "line 1 is no request"}]}})
        found = asking.batches.collect("b").batch
        wanted = {"type": "batch_failed", "message": "line 1 is no request"}
        assert [each.error for each in found.entries] == [wanted, wanted]

    def test_one_whose_creation_was_cut_off_is_found_by_its_token(self, asking: Store, server: Loopback) -> None:
        asking.pointers.set("gpt", "openai/m", base_url=server.url, key_env="TEST_KEY")
        server.answer_json({"id": "file-1"})
        server.hang_up()
        with pytest.raises(UncertainBatch):
            asking.batches.create(grow(asking, 1), name="b", ptr="gpt")
        token = server.requests[1].body["metadata"]["headish"]
        server.answer_json({"data": [{"id": "no", "metadata": None}, {"id": "b7", "metadata": {"headish": token}}]})
        server.answer_json({"status": "in_progress", "request_counts": {"total": 1}})
        assert asking.batches.status("b").batch.remote == "b7"

    def test_heads_of_two_models_are_refused(self, asking: Store, server: Loopback) -> None:
        for name in ("one", "two"):
            asking.pointers.set(name, f"openai/{name}", base_url=server.url, key_env="TEST_KEY")
            asking.add_turn("?", bookmark=name, provider_ptr=name)
        with pytest.raises(InvalidArgument, match="one model, not one and two"):
            asking.batches.create(["one", "two"])


class TestGemini:
    def test_requests_and_answers_stand_in_one_document_each(self, asking: Store, server: Loopback) -> None:
        asking.pointers.set("gem", "gemini/g-1", base_url=server.url, key_env="TEST_KEY")
        server.answer_json({"name": "batches/b7", "metadata": {"state": "BATCH_STATE_PENDING"}})
        asking.batches.create(grow(asking, 2), name="b", ptr="gem")
        [created] = server.requests
        assert created.path == "/v1/models/g-1:batchGenerateContent"
        assert created.headers["x-goog-api-key"] == SECRET
        listed = created.body["batch"]["inputConfig"]["requests"]["requests"]
        assert [each["request"]["model"] for each in listed] == ["models/g-1"] * 2
        assert listed[0]["request"]["contents"] == [{"role": "user", "parts": [{"text": "question 1?"}]}]
        ids = [each["metadata"]["key"] for each in listed]
        answer = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Yes."}]}, "finishReason": "STOP"}]}
        told = [{"metadata": {"key": ids[1]}, "response": answer},
                {"metadata": {"key": ids[0]}, "error": {"code": 3, "message": "bad"}}, 7]  # fmt: skip
        state = {"state": "BATCH_STATE_SUCCEEDED", "batchStats": {"requestCount": "2"}}
        state["output"] = {"inlinedResponses": {"inlinedResponses": told}}  # type: ignore[assignment]
        server.answer_json({"name": "batches/b7", "metadata": state, "done": True})
        found = asking.batches.collect("b")
        assert (asking.text("q2"), found.status) == ("Yes.", "succeeded")
        assert found.batch.entries[0].error == {"type": "failed", "message": "bad"}
        assert found.problems == ("result 3 is neither an answer nor an error",)
        assert server.requests[1].path == "/v1/batches/b7"

    def test_many_go_up_in_a_file_and_come_down_in_one(
        self, asking: Store, server: Loopback, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("headish.calls.batches.apis.INLINE_BYTES", 100)
        asking.pointers.set("gem", "gemini/g-1", base_url=server.url, key_env="TEST_KEY")
        server.answer_json({}, headers={"x-goog-upload-url": f"{server.url}/there?upload_id=u1"})
        server.answer_json({"file": {"name": "files/in1"}})
        server.answer_json({"name": "batches/b7", "metadata": {"state": "BATCH_STATE_PENDING"}})
        asking.batches.create(grow(asking, 3), name="b", ptr="gem")
        began, sent, created = server.requests
        assert (began.path, began.headers["x-goog-upload-command"]) == ("/upload/v1/files", "start")
        assert began.headers["x-goog-upload-header-content-length"] == str(len(sent.body))
        assert (sent.path, sent.headers["x-goog-upload-command"]) == ("/there?upload_id=u1", "upload, finalize")
        assert "x-goog-api-key" not in sent.headers  # the address holds a key of its own
        assert began.headers["x-goog-api-key"] == created.headers["x-goog-api-key"] == SECRET
        assert created.body["batch"]["inputConfig"] == {"fileName": "files/in1"}
        lines = [json.loads(line) for line in sent.body.splitlines()]
        assert [line["request"]["model"] for line in lines] == ["models/g-1"] * 3
        answer = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Yes."}]}, "finishReason": "STOP"}]}
        told = [{"key": lines[1]["key"], "response": answer},
                {"key": lines[0]["key"], "error": {"code": 3, "message": "bad"}}, {"key": lines[2]["key"]}]  # fmt: skip
        state = {"state": "BATCH_STATE_SUCCEEDED", "output": {"responsesFile": "files/out1"}}
        server.answer_json({"name": "batches/b7", "metadata": state, "done": True})
        server.answer(headers=LINES, chunks=[b"\n".join(json.dumps(each).encode() for each in told)])
        found = asking.batches.collect("b")
        assert server.requests[4].path == "/v1/files/out1:download?alt=media"
        assert asking.text("q2") == "Yes."
        assert found.batch.entries[0].error == {"type": "failed", "message": "bad"}
        assert found.problems == ("line 3 is neither an answer nor an error",)

    @pytest.mark.parametrize("url", ["", "http://127.0.0.1:9/there", "SERVER.evil.example/there"])
    def test_no_bytes_go_to_another_server(
        self, asking: Store, server: Loopback, monkeypatch: pytest.MonkeyPatch, url: str
    ) -> None:
        monkeypatch.setattr("headish.calls.batches.apis.INLINE_BYTES", 100)
        asking.pointers.set("gem", "gemini/g-1", base_url=server.url, key_env="TEST_KEY")
        server.answer_json({}, headers={"x-goog-upload-url": url.replace("SERVER", server.url)})
        with pytest.raises(UncertainBatch, match="no address of the same server"):
            asking.batches.create(grow(asking, 1), name="b", ptr="gem")
        assert len(server.requests) == 1

    def test_one_whose_creation_was_cut_off_is_found_by_its_name(self, asking: Store, server: Loopback) -> None:
        asking.pointers.set("gem", "gemini/g-1", base_url=server.url, key_env="TEST_KEY")
        server.hang_up()
        with pytest.raises(UncertainBatch):
            asking.batches.create(grow(asking, 1), name="b", ptr="gem")
        token = server.requests[0].body["batch"]["displayName"]
        server.answer_json({"operations": [{"name": "batches/b8", "metadata": {"displayName": token}}]})
        server.answer_json({"name": "batches/b8", "metadata": {"state": "BATCH_STATE_EXPIRED"}})
        found = asking.batches.collect("b").batch
        assert found.entries[0].error == {"type": "batch_failed", "message": "the batch is expired"}
