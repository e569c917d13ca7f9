"""The official SDKs with a base URL alone: what they read through the gateway is what they read from the provider.

Each runs twice, beside the upstream and through the gateway. The results and the requests are compared; the record
holds the bodies. The answers are recorded ones of the providers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.gateways import Running, running
from support.later import Later
from support.upstream import Asked, Step, Upstream, answer, gzipped, stream

pytestmark = pytest.mark.slow

anthropic, openai, ollama = Later("anthropic"), Later("openai"), Later("ollama")
genai, genai_types = Later("google.genai"), Later("google.genai.types")
CASES = Path(__file__).parents[1] / "providers" / "cases"
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+M8AAAMBAQAY3Y2wAAAAAElFTkSuQmCC"
KEY = "sk-test-0123456789abcdefghij"
HEADERS_OF_A_HOST = {"host", "connection"}


def events_of(case: str) -> list[bytes]:
    """A recorded stream of a provider, an event each."""
    lines = [json.loads(line) for line in (CASES / case / "events.jsonl").read_text("utf-8").splitlines()]
    named = "type" in lines[0]
    return [
        (f"event: {event['type']}\n" if named else "").encode() + f"data: {json.dumps(event)}\n\n".encode()
        for event in lines
    ]


def script(asked: Asked) -> list[Step]:
    """What the providers answer, by path; compressed where the client takes it, as they do."""
    path = asked.target.partition("?")[0]
    if path.endswith("/files"):
        return answer(json.dumps(FILE).encode())
    if path.endswith("/batches"):
        return answer(json.dumps(BATCH).encode())
    if path.endswith("/content"):
        return answer(b'{"custom_id":"1"}\n', 200, "application/octet-stream")
    if path == "/api/chat":
        parts = [{"message": {"role": "assistant", "content": text}, "done": text == ""} for text in ("gr", "üß", "")]
        return stream([json.dumps(part).encode() + b"\n" for part in parts], "application/x-ndjson")
    events = events_of(next(case for end, case in ANSWERS.items() if path.endswith(end)))
    if "gzip" in (asked.header("accept-encoding") or ""):
        return stream(gzipped(events), "text/event-stream; charset=utf-8", "content-encoding: gzip")
    return stream(events, "text/event-stream; charset=utf-8")


FILE = {"id": "file-1", "object": "file", "bytes": 3, "created_at": 1, "filename": "a.jsonl", "purpose": "batch"}
BATCH = {
    "id": "batch_1",
    "object": "batch",
    "endpoint": "/v1/responses",
    "status": "failed",
    "completion_window": "24h",
    "created_at": 1,
    "input_file_id": "file-1",
}
ANSWERS = {
    "/v1/messages": "anthropic/parallel-calls",
    "/v1/chat/completions": "openai/parallel-calls",
    "/v1/responses": "openai_responses/parallel-calls",
    ":streamGenerateContent": "gemini/parallel-calls",
}


def ask_anthropic(url: str) -> Any:
    tool = {"name": "weather", "description": "…", "input_schema": {"type": "object", "properties": {}}}
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}}
    client = anthropic.Anthropic(base_url=url, api_key=KEY, max_retries=0)
    asked = [{"role": "user", "content": [image, {"type": "text", "text": "Wie ist das Wetter? 🦊"}]}]
    with client.messages.stream(model="claude", max_tokens=100, tools=[tool], messages=asked) as answered:
        return [event.type for event in answered], answered.get_final_message().to_dict()


def ask_chat(url: str) -> Any:
    client = openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0)
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}}
    asked = [{"role": "user", "content": [{"type": "text", "text": "Grüße"}, image]}]
    tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
    answered = client.chat.completions.create(model="m", messages=asked, tools=[tool], stream=True)
    return [chunk.to_dict() for chunk in answered]


def ask_responses(url: str) -> Any:
    client = openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0)
    return [event.to_dict() for event in client.responses.create(model="m", input="Grüße", stream=True)]


def ask_batch(url: str) -> Any:
    client = openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0)
    file = client.files.create(file=("a.jsonl", b'{"custom_id": "1"}\n'), purpose="batch")
    batch = client.batches.create(input_file_id=file.id, endpoint="/v1/responses", completion_window="24h")
    return file.to_dict(), batch.to_dict(), client.files.content("file-1").content


def ask_gemini(url: str) -> Any:
    client = genai.Client(api_key=KEY, http_options=genai_types.HttpOptions(base_url=url))
    parts = [genai_types.Part.from_bytes(data=b"\x89PNG", mime_type="image/png"), genai_types.Part(text="Grüße")]
    asked = [genai_types.Content(role="user", parts=parts)]
    return [
        part.model_dump(exclude={"sdk_http_response"})
        for part in client.models.generate_content_stream(model="gemini-x", contents=asked)
    ]


def ask_ollama(url: str) -> Any:
    asked = [{"role": "user", "content": "Grüße", "images": [PICTURE]}]
    return [part.model_dump() for part in ollama.Client(host=url).chat(model="m", messages=asked, stream=True)]


ASKING: list[tuple[str, Callable[[str], Any], int]] = [
    ("anthropic", ask_anthropic, 1),
    ("openai", ask_chat, 1),
    ("openai", ask_responses, 1),
    ("openai", ask_batch, 3),
    ("gemini", ask_gemini, 1),
    ("ollama", ask_ollama, 1),
]


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream(script) as started:
        yield started


@pytest.fixture(scope="module")
def gateway(upstream: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("gateway"), upstream) as started:
        yield started


def test_the_official_sdks_need_a_base_url_alone(upstream: Upstream, gateway: Running) -> None:
    done = 0
    for api, ask, requests in ASKING:
        upstream.asked.clear()
        direct = ask(upstream.url)
        passed = ask(f"{gateway.url}/{api}")
        assert (ask.__name__, passed) == (ask.__name__, direct)
        assert direct
        beside, through = upstream.asked[:requests], upstream.asked[requests:]
        assert [sent_by(each) for each in through] == [sent_by(each) for each in beside], ask.__name__
        calls = gateway.calls(done + requests)[done:]
        done += requests
        for call, asked in zip(calls, through, strict=True):
            assert call.end is not None
            assert (call.end.outcome, call.end.request_bytes) == ("ok", len(asked.body))
            if call.end.left_out is None:
                assert call.request == asked.body
    assert KEY.encode() not in gateway.spooled()


def sent_by(asked: Asked) -> Any:
    """A request, without what differs from run to run: the boundary of a form, and numbers of the SDKs' own."""
    kept = {
        name.lower(): value
        for name, value in asked.headers
        if name.lower() not in HEADERS_OF_A_HOST and not name.lower().startswith("x-stainless")
    }
    kind = kept.get("content-type", "")
    boundary = kind.partition("boundary=")[2] or "\0"
    body = asked.body.replace(boundary.encode(), b"BOUNDARY")
    return asked.method, asked.target, kept | {"content-type": kind.replace(boundary, "")}, body
