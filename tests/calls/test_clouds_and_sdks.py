"""The official SDKs and headish ask a cloud at the same path, with the same body and the same header for the key."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any
from urllib.parse import unquote

import pytest

from headish.calls import open_call
from headish.calls.batches.choosing import find_batch_api
from headish.calls.batches.reading import BatchRequest
from headish.calls.remote import Remote
from headish.errors import CallRefused
from headish.providers.clouds import Cloud
from support.later import Later
from support.loopback import Loopback, Request

pytestmark = pytest.mark.slow

anthropic, openai, genai = Later("anthropic"), Later("openai"), Later("google.genai")
errors, google = Later("google.genai.errors"), Later("google.oauth2.credentials")
KEY = "key-0123"
BODY: dict[str, Any] = {
    "model": "us.claude-x-v1:0",
    "max_tokens": 5,
    "messages": [{"role": "user", "content": "hello"}],
}


def ask(server: Loopback, provider: str, model: str, body: Any, cloud: Cloud) -> None:
    with suppress(CallRefused):
        open_call(
            provider, body, model=model, stream=False, base_url=server.url, key_env="K", cloud=cloud, attempts=1
        ).close()


def bedrock(server: Loopback) -> None:
    sdk = anthropic.AnthropicBedrock(base_url=server.url, api_key=KEY, aws_region="r", max_retries=0)
    with suppress(anthropic.APIError):
        sdk.messages.create(**BODY)
    ask(server, "anthropic", BODY["model"], BODY, Cloud("bedrock", region="r"))


def vertex(server: Loopback) -> None:
    sdk = anthropic.AnthropicVertex(
        base_url=f"{server.url}/v1", access_token=KEY, region="eu", project_id="p", max_retries=0
    )
    with suppress(anthropic.APIError):
        sdk.messages.create(**BODY)
    ask(server, "anthropic", BODY["model"], BODY, Cloud("vertex", region="eu", project="p"))


def vertex_gemini(server: Loopback) -> None:
    client = genai.Client(
        vertexai=True, project="p", location="eu", credentials=google.Credentials(KEY),
        http_options={"base_url": server.url},
    )  # fmt: skip
    with suppress(errors.APIError):
        client.models.generate_content(model="gemini-3", contents="hello")
    body = {"contents": [{"role": "user", "parts": [{"text": "hello"}]}]}
    ask(server, "gemini", "gemini-3", body, Cloud("vertex", region="eu", project="p"))


def azure(server: Loopback) -> None:
    sdk = openai.AzureOpenAI(azure_endpoint=server.url, api_key=KEY, api_version="2024-10-21", max_retries=0)
    with suppress(openai.APIError):
        sdk.chat.completions.create(model="dep", messages=BODY["messages"])
    body = {"model": "dep", "messages": BODY["messages"]}
    ask(server, "openai", "dep", body, Cloud("azure", api_version="2024-10-21"))


def foundry(server: Loopback) -> None:
    sdk = anthropic.AnthropicFoundry(base_url=f"{server.url}/anthropic", api_key=KEY, max_retries=0)
    with suppress(anthropic.APIError):
        sdk.messages.create(**BODY)
    ask(server, "anthropic", BODY["model"], BODY, Cloud("azure"))


def foundry_by_token(server: Loopback) -> None:
    token = "eyJh.eyJi.c2ln"
    provide = {"azure_ad_token_provider": lambda: token}
    sdk = anthropic.AnthropicFoundry(base_url=f"{server.url}/anthropic", max_retries=0, **provide)
    with suppress(anthropic.APIError):
        sdk.messages.create(**BODY)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("K", token)
        ask(server, "anthropic", BODY["model"], BODY, Cloud("azure"))


def azure_responses(server: Loopback) -> None:
    sdk = openai.AzureOpenAI(azure_endpoint=server.url, api_key=KEY, api_version="2024-10-21", max_retries=0)
    with suppress(openai.APIError):
        sdk.responses.create(model="dep", input="hello")
    body = {"model": "dep", "input": "hello"}
    ask(server, "openai_responses", "dep", body, Cloud("azure", api_version="2024-10-21"))


@pytest.mark.parametrize("both", [bedrock, vertex, vertex_gemini, azure, azure_responses, foundry, foundry_by_token])
def test_the_sdk_asks_the_same(
    both: Callable[[Loopback], None], server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server refuses what it is asked: only the requests matter."""
    monkeypatch.setenv("K", KEY)
    both(server)
    theirs, ours = server.requests
    assert unquote(ours.path) == unquote(theirs.path)
    assert ours.body == theirs.body
    for header in ("authorization", "api-key", "x-api-key", "anthropic-version"):
        assert ours.headers.get(header) == (theirs.headers.get(header) or None), header


@pytest.mark.parametrize("dated", [None, "2024-10-21"])
def test_the_sdk_makes_the_same_batch_at_azure(
    dated: str | None, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file with the same fields, at the same paths."""
    monkeypatch.setenv("K", KEY)
    wanted = [BatchRequest("t-1", {"model": "dep", "messages": BODY["messages"]})]
    for _ in range(2):
        server.answer_json({"id": "file-1", "object": "file", "status": "processed"})
        server.answer_json({"id": "batch_1", "object": "batch", "status": "validating"})
    if dated is None:
        sdk = openai.OpenAI(base_url=f"{server.url}/openai/v1", api_key=KEY, max_retries=0)
    else:
        sdk = openai.AzureOpenAI(azure_endpoint=server.url, api_key=KEY, api_version=dated, max_retries=0)
    expiring = {} if dated else {"expires_after": {"seconds": 1209600, "anchor": "created_at"}}
    line = {"custom_id": "t-1", "method": "POST", "body": wanted[0].body}
    line["url"] = "/chat/completions" if dated else "/v1/chat/completions"
    sdk.files.create(file=("t.jsonl", json.dumps(line).encode()), purpose="batch", extra_body=expiring)
    sdk.batches.create(
        input_file_id="file-1", endpoint="/chat/completions", completion_window="24h", metadata={"headish": "t"}
    )
    cloud = Cloud("azure", api_version=dated)
    remote = Remote("openai", model="dep", base_url=server.url, key_env="K", cloud=cloud)
    assert find_batch_api("openai", cloud).create(remote, "t", "dep", wanted) == "batch_1"
    theirs, ours = server.requests[:2], server.requests[2:]
    assert [each.path for each in ours] == [each.path for each in theirs]
    assert ours[1].body == theirs[1].body
    assert _parts(ours[0]) == _parts(theirs[0])


def _parts(request: Request) -> dict[str, Any]:
    """The fields of a form; of a file its name and its lines."""
    head = f"content-type: {request.headers['content-type']}\r\n\r\n".encode()
    found: dict[str, Any] = {}
    for part in BytesParser(policy=HTTP).parsebytes(head + request.body).iter_parts():
        name = str(part.get_param("name", header="content-disposition"))
        data = part.get_payload(decode=True)
        assert isinstance(data, bytes)
        found[name] = (part.get_filename(), json.loads(data)) if name == "file" else data.decode()
    return found
