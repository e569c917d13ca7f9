"""Batches at Azure OpenAI, asked of a resource that behaves as Microsoft's pages say; other clouds are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headish import Store
from headish.errors import CallRefused, InvalidArgument, UncertainBatch
from headish.providers.clouds import Cloud
from support.insides import dump
from support.loopback import Answer, Loopback
from support.providers.azure import AzureBatches, responses_answer

KEY, TOKEN = "0123456789abcdef0123456789abcdef", "eyJhbGciOiJSUzI1NiJ9.eyJhdWQiOiJ4In0.c2lnbmF0dXJl"


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_OPENAI_AD_TOKEN", raising=False)
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
    monkeypatch.setattr("headish.calls.batches.azure.POLL_SECONDS", 0.001)
    monkeypatch.setattr("headish.calls.client.FIRST_DELAY_SECONDS", 0.001)


def grow(store: Store, azure: Loopback, provider: str = "openai", model: str = "batchy", **account: Any) -> list[str]:
    """Three conversations that wait for an answer, and the pointer ``az`` to the resource."""
    store.pointers.set("az", f"{provider}/{model}", cloud="azure", base_url=azure.url, **account)
    for number in (1, 2, 3):
        store.add_turn(f"question {number}?", bookmark=f"q{number}")
    return ["q1", "q2", "q3"]


@pytest.mark.parametrize(
    ("provider", "dated", "url"),
    [
        ("openai", None, "/v1/chat/completions"),
        ("openai_responses", None, "/v1/responses"),
        ("openai", "2024-10-21", "/chat/completions"),
    ],
)
def test_a_batch_from_its_creation_to_its_end(everywhere: Store, provider: str, dated: str | None, url: str) -> None:
    with AzureBatches(key=KEY, dated=dated, looks=2) as azure:
        if provider == "openai_responses":
            azure.says = responses_answer
        heads = grow(everywhere, azure, provider, api_version=dated)
        everywhere.batches.create(heads, name="b", ptr="az")
        lines = azure.read("file-1")
        assert [(line["method"], line["url"], line["body"]["model"]) for line in lines] == [("POST", url, "batchy")] * 3
        assert azure.files["file-1"]["expires"] == ("" if dated else "1209600")
        seen = everywhere.batches.status("b")
        assert (seen.status, seen.ended, seen.counts) == ("validating", False, {})
        azure.finish(failed=(1,))
        found = everywhere.batches.collect("b")
    assert [everywhere.text(head) for head in heads] == ["To question 1?", "question 2?", "To question 3?"]
    assert found.batch.entries[1].error == {"type": "content_filter", "message": "The response was filtered"}
    assert (found.batch.state, found.status) == ("collected", "completed")
    assert everywhere.get("q1").meta.reply["batch"] == "b"
    assert KEY not in str(dump(everywhere))


def test_a_token_of_entra_goes_as_a_bearer(asking: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_AD_TOKEN", TOKEN)
    with AzureBatches(token=TOKEN) as azure:
        asking.batches.create(grow(asking, azure), name="b", ptr="az")
        azure.finish("Completed")
        assert len(asking.batches.collect("b").turns) == 3
    assert TOKEN not in str(dump(asking))


def test_a_deployment_that_is_none_for_batches_is_refused_and_nothing_is_left(asking: Store) -> None:
    with AzureBatches(key=KEY, deployment="other") as azure:
        heads = grow(asking, azure)
        with pytest.raises(CallRefused, match="no deployment of the type Global Batch"):
            asking.batches.create(heads, name="b", ptr="az")
    assert asking.batches.list() == []


@pytest.mark.parametrize("keeps_metadata", [True, False])
def test_one_whose_creation_was_cut_off_is_found_on_a_later_page(
    asking: Store, keeps_metadata: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with AzureBatches(key=KEY) as azure:
        azure.keeps_metadata = keeps_metadata
        heads = grow(asking, azure)
        create = azure._create

        def cut(body: dict[str, Any]) -> Answer:
            create(body)
            return Answer([])

        monkeypatch.setattr(azure, "_create", cut)
        with pytest.raises(UncertainBatch):
            asking.batches.create(heads, name="b", ptr="az")
        monkeypatch.setattr(azure, "_create", create)
        for number in range(2, 6):
            asking.batches.create(heads, name=f"other-{number}", ptr="az")
        assert asking.batches.status("b").batch.remote == "batch_1"
        assert asking.batches.get("b").state == "open"


def test_one_that_failed_with_empty_files_says_why_for_each(asking: Store) -> None:
    with AzureBatches(key=KEY) as azure:
        asking.batches.create(grow(asking, azure), name="b", ptr="az")
        error = {"code": "token_limit_exceeded", "message": "the enqueued tokens are too many"}
        azure.finish("failed", errors={"object": "list", "data": [error]})
        found = asking.batches.collect("b").batch
    wanted = {"type": "batch_failed", "message": "the enqueued tokens are too many"}
    assert [each.error for each in found.entries] == [wanted] * 3
    assert found.state == "collected"


def test_one_that_was_cancelled_keeps_what_was_answered(asking: Store) -> None:
    with AzureBatches(key=KEY) as azure:
        asking.batches.create(grow(asking, azure), name="b", ptr="az")
        azure.finish("cancelled")
        azure.contents["file-out"] = azure.contents["file-out"].splitlines()[0]
        found = asking.batches.collect("b")
    assert asking.text("q3") == "To question 3?"
    assert [(each.error or {}).get("message") for each in found.batch.entries] == ["the batch is cancelled"] * 2 + [
        None
    ]


def test_what_cannot_be_read_of_a_failed_one_stays_waiting(asking: Store) -> None:
    """An answer was paid for: a line that a proxy broke may come whole the next time."""
    with AzureBatches(key=KEY) as azure:
        asking.batches.create(grow(asking, azure), name="b", ptr="az")
        azure.finish("expired")
        whole = azure.contents["file-out"]
        azure.contents["file-out"] = whole[:-20]
        assert asking.batches.collect("b").batch.counts == {"answered": 2, "failed": 0, "waiting": 1}
        azure.contents["file-out"] = whole
        assert asking.batches.collect("b").batch.counts == {"answered": 3, "failed": 0, "waiting": 0}


@pytest.mark.parametrize(
    ("target", "account", "words"),
    [
        ("anthropic/claude-x", {"cloud": "bedrock", "region": "us-east-1"}, "Amazon Bedrock .*: .* S3"),
        ("anthropic/claude-x", {"cloud": "vertex", "region": "eu", "project": "p"}, "Vertex AI .*: .* Cloud Storage"),
        ("gemini/gemini-3", {"cloud": "vertex", "region": "eu", "project": "p"}, "Vertex AI .*: .* BigQuery"),
        ("openai_responses/dep", {"cloud": "azure", "resource": "r", "api_version": "2025-04-01-preview"},
         "Microsoft Azure .* need the v1 API; leave out api_version"),
    ],
)  # fmt: skip
def test_a_cloud_without_batches_is_refused_with_the_reason(
    asking: Store, target: str, account: dict[str, str], words: str
) -> None:
    asking.pointers.set("cloudy", target, **account)
    asking.add_turn("a?", bookmark="a")
    with pytest.raises(InvalidArgument, match=f"headish makes no batches at {words}"):
        asking.batches.create(["a"], ptr="cloudy")
    assert asking.batches.list() == []


def test_a_batch_of_an_older_headish_has_no_cloud(asking: Store, server: Loopback) -> None:
    """What was kept before clouds had batches decodes as it did."""
    server.answer_json({"id": "msgbatch_1"})
    asking.add_turn("a?", bookmark="a")
    asking.batches.create(["a"], name="b", ptr="milli")
    assert "cloud" not in json.loads(asking.objects.get("headish/batch", "b").data)["server"]
    with AzureBatches(key=KEY) as azure:
        asking.batches.create(grow(asking, azure), name="c", ptr="az")
    kept = json.loads(asking.objects.get("headish/batch", "c").data)["server"]
    assert kept["cloud"] == Cloud("azure").to_dict()


def test_an_answer_that_azure_keeps_is_fetched_there(asking: Store, server: Loopback) -> None:
    asking.pointers.set("far", "openai_responses/dep", cloud="azure", base_url=server.url, api_version="preview")
    begun = {"object": "response", "id": "resp_1", "status": "queued", "model": "dep", "output": []}
    server.answer_json(begun)
    wish = {"openai_responses": {"background": True, "store": True}}
    asking.ask("Think hard", bookmark="main", ptr="far", params=wish, stream=False)
    server.answer_json(responses_answer({"input": [{"content": [{"text": "it"}]}]}))
    assert len(asking.streams.recover_remote().turns) == 1
    assert asking.text("main") == "To it"
    assert server.requests[1].path == "/openai/v1/responses/resp_1?api-version=preview"
    assert server.requests[1].headers["api-key"] == KEY
