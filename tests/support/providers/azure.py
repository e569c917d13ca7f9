"""A resource of Azure OpenAI that has batches, scripted on loopback as Microsoft's pages say, and not from the library.

Source: "Getting started with Azure OpenAI batch deployments", MicrosoftDocs/azure-ai-docs, ``articles/foundry/openai/
includes/batch``; its list of error codes; read 2026-11-22.

    with AzureBatches(deployment="batchy") as azure:
        ...create a batch at azure.url...
        azure.finish()
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

from support.loopback import JSON, Answer, Loopback, Request, event_stream

LINES = {"content-type": "application/octet-stream"}


class AzureBatches(Loopback):
    """The server. It wants ``api-key`` or a bearer, the deployment in each line, and the URLs of its API version.

    ``dated`` is the version that it serves; None for the v1 API. ``looks`` is how often a file is still ``pending``.
    """

    def __init__(
        self, *, deployment: str = "batchy", key: str = "", token: str = "", dated: str | None = None, looks: int = 0
    ) -> None:
        super().__init__()
        self.deployment, self.key, self.token, self.dated, self.looks = deployment, key, token, dated, looks
        self.files: dict[str, dict[str, Any]] = {}
        self.batches: list[dict[str, Any]] = []
        self.contents: dict[str, bytes] = {}
        self.says: Callable[[dict[str, Any]], dict[str, Any]] = chat_answer
        self.keeps_metadata = True

    def next_answer(self) -> Answer:
        """For the handler: what the resource says to the last request."""
        request = self.requests[-1]
        problem = self._unauthorized(request)
        if problem is not None:
            return _json({"error": {"code": "401", "message": problem}}, 401)
        place = urlsplit(request.path)
        path = place.path.removeprefix("/openai" if self.dated else "/openai/v1")
        version = parse_qs(place.query).get("api-version")
        if path == place.path or version != ([self.dated] if self.dated else None):
            return _json({"error": {"code": "404", "message": "Resource not found"}}, 404)
        return self._route(request, path, parse_qs(place.query))

    def finish(self, status: str = "completed", *, failed: tuple[int, ...] = (), errors: Any = None) -> None:
        """The newest batch has ended: its lines are answered, from the last to the first, but for some that failed."""
        batch = self.batches[-1]
        lines = self.read(batch["input_file_id"])
        good = [line for number, line in enumerate(lines) if number not in failed]
        bad = [line for number, line in enumerate(lines) if number in failed]
        done = [_result(line, 200, self.says(line["body"])) for line in reversed(good)]
        error = {"error": {"code": "content_filter", "message": "The response was filtered"}}
        self.contents["file-out"] = b"\n".join([] if errors else done)
        self.contents["file-err"] = b"\n".join(_result(line, 400, error) for line in bad)
        counts = {"total": len(lines), "completed": len(good), "failed": len(bad)}
        batch |= {"status": status, "output_file_id": "file-out", "error_file_id": "file-err"}
        batch |= {"request_counts": counts, "errors": errors}

    def read(self, file: str) -> list[dict[str, Any]]:
        """The lines of a file."""
        return [json.loads(line) for line in self.contents[file].splitlines()]

    def _unauthorized(self, request: Request) -> str | None:
        keys = request.headers.get("api-key"), request.headers.get("authorization")
        wanted = (self.key or None, f"Bearer {self.token}" if self.token else None)
        return None if keys == wanted else "Access denied due to invalid subscription key or wrong API endpoint."

    def _route(self, request: Request, path: str, query: dict[str, list[str]]) -> Answer:
        if request.method == "POST":
            return self._upload(request) if path == "/files" else self._create(request.body)
        if path in ("/files", "/batches"):
            return self._list(list(self.files.values()) if path == "/files" else self.batches[::-1], query)
        kind, _, rest = path.removeprefix("/").partition("/")
        id, _, content = rest.partition("/")
        if content == "content" and id in self.contents:
            return Answer([self.contents[id]], 200, LINES)
        if kind == "files" and id in self.files:
            return _json(self._look(self.files[id]))
        batch = next((each for each in self.batches if each["id"] == id), None)
        return _json({"error": {"message": f"{path} is not here"}}, 404) if batch is None else _json(batch)

    def _list(self, found: list[dict[str, Any]], query: dict[str, list[str]]) -> Answer:
        """Pages of two, whatever is asked for."""
        after = query.get("after", [None])[0]
        at = next((number + 1 for number, each in enumerate(found) if each["id"] == after), 0)
        page = found[at : at + 2]
        return _json({"object": "list", "data": page, "has_more": at + 2 < len(found)})

    def _look(self, file: dict[str, Any]) -> dict[str, Any]:
        if self.looks > 0:
            self.looks -= 1
            return {**file, "status": "pending"}
        return {**file, "status": "processed"}

    def _upload(self, request: Request) -> Answer:
        head = f"content-type: {request.headers['content-type']}\r\n\r\n".encode()
        fields = {
            part.get_param("name", header="content-disposition"): part
            for part in BytesParser(policy=HTTP).parsebytes(head + request.body).iter_parts()
        }
        said = {name: part.get_payload(decode=True) for name, part in fields.items()}
        if said.get("purpose") != b"batch" or not fields["file"].get_filename().endswith(".jsonl"):
            return _json({"error": {"code": "invalidPayload", "message": "no file of lines"}}, 400)
        id = f"file-{len(self.files) + 1}"
        self.contents[id] = said["file"].removesuffix(b"\r\n")
        self.files[id] = {"id": id, "object": "file", "filename": fields["file"].get_filename(), "purpose": "batch"}
        self.files[id]["expires"] = said.get("expires_after[seconds]", b"").decode()
        return _json(self._look(self.files[id]))

    def _create(self, body: dict[str, Any]) -> Answer:
        problem = self._problem(body)
        if problem is not None:
            code, message = problem
            return _json({"error": {"code": code, "message": message}}, 400)
        batch = {"id": f"batch_{len(self.batches) + 1}", "object": "batch", "status": "Validating", "endpoint": None}
        batch |= {"input_file_id": body["input_file_id"], "error_file_id": "", "output_file_id": "", "errors": None}
        batch["metadata"] = body.get("metadata") if self.keeps_metadata else None
        batch["request_counts"] = {"total": None, "completed": None, "failed": None}
        self.batches.append(batch)
        return _json(batch)

    def _problem(self, body: dict[str, Any]) -> tuple[str, str] | None:
        """What the validation of the file finds; here at once, as where it fails fast."""
        if body["endpoint"] != "/chat/completions" or body["completion_window"] != "24h":
            return "invalidPayload", "endpoint and completion_window"
        if self._look(self.files[body["input_file_id"]])["status"] != "processed":
            return "invalidPayload", "the file is not processed"
        urls = {line["url"] for line in self.read(body["input_file_id"])}
        known = r"/chat/completions" if self.dated else r"/v1/(chat/completions|responses)"
        if len(urls) != 1 or not re.fullmatch(known, urls.pop()):
            return "url_mismatch", "the URL of a row does not match the others, or the endpoint"
        models = {line["body"]["model"] for line in self.read(body["input_file_id"])}
        if models != {self.deployment}:
            return "model_not_found", f"no deployment of the type Global Batch has the name {models}"
        return None


def chat_answer(body: dict[str, Any]) -> dict[str, Any]:
    """What a deployment says to a request of Chat Completions: its question again, and Azure's own filters beside."""
    said = body["messages"][-1]["content"]
    text = said if isinstance(said, str) else said[0]["text"]
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": f"To {text}"}}
    choice["content_filter_results"] = {"hate": {"filtered": False, "severity": "safe"}}
    usage = {"prompt_tokens": 27, "completion_tokens": 24, "total_tokens": 51}
    return {"id": "chatcmpl-1", "object": "chat.completion", "model": "gpt-x", "choices": [choice], "usage": usage}


def responses_answer(body: dict[str, Any]) -> dict[str, Any]:
    """The same of the Responses API."""
    said = body["input"][-1]["content"][0]["text"]
    part = {"type": "output_text", "text": f"To {said}", "annotations": []}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
    return {"id": "resp_1", "object": "response", "status": "completed", "model": "gpt-x", "output": [item]}


def _result(line: dict[str, Any], status: int, body: dict[str, Any]) -> bytes:
    response = {"body": body, "request_id": "r-1", "status_code": status}
    return json.dumps({"custom_id": line["custom_id"], "response": response, "error": None}).encode()


def _json(value: Any, status: int = 200) -> Answer:
    return Answer([json.dumps(value).encode()], status, JSON)


class FoundryClaude(Loopback):
    """A deployment of Claude at Microsoft Foundry: first it thinks and calls a tool, then it wants its thought back.

    Source: anthropic 2.12.0 ``lib/foundry.py``; "Deploy and use Claude models in Microsoft Foundry",
    https://learn.microsoft.com/azure/foundry/foundry-models/how-to/use-foundry-models-claude; read 2026-11-22.
    """

    thought: ClassVar = {"type": "thinking", "thinking": "A height. I look it up.", "signature": "c2lnbmF0dXJl"}
    call: ClassVar = {"type": "tool_use", "id": "toolu_1", "name": "height", "input": {"peak": "K2"}}

    def __init__(self, *, deployment: str, key: str = "", token: str = "") -> None:
        super().__init__()
        self.deployment, self.key, self.token = deployment, key, token

    def next_answer(self) -> Answer:
        """For the handler: what the deployment says to the last request."""
        request = self.requests[-1]
        problem = self._problem(request)
        if problem is not None:
            status, words = problem
            said = {"type": "error", "error": {"type": "invalid_request_error", "message": words}}
            return _json(said, status)
        calls = len(request.body["messages"]) == 1
        return Answer(event_stream(self._events([self.thought, self.call] if calls else None), named=True), 200)

    def _problem(self, request: Request) -> tuple[int, str] | None:
        sent = {name: request.headers.get(name) for name in ("x-api-key", "api-key", "authorization")}
        bearer = f"Bearer {self.token}" if self.token else None
        if sent != {"x-api-key": self.key or None, "api-key": self.key or None, "authorization": bearer}:
            return 401, "Access denied due to invalid subscription key or wrong API endpoint."
        if request.path != "/anthropic/v1/messages" or "anthropic-version" not in request.headers:
            return 404, "Resource not found"
        if request.body.get("model") != self.deployment:
            return 404, "The API deployment for this resource does not exist."
        said = request.body["messages"][1]["content"] if len(request.body["messages"]) > 1 else [self.thought]
        return None if said[0] == self.thought else (400, "messages.1.content.0: the thinking block was changed")

    def _events(self, blocks: list[dict[str, Any]] | None) -> Iterator[dict[str, Any]]:
        usage = {"input_tokens": 3, "output_tokens": 1}
        yield {"type": "message_start", "message": {"id": "msg_1", "model": "claude-x", "content": [], "usage": usage}}
        for index, block in enumerate(blocks or [{"type": "text", "text": "K2 is 8611 m high."}]):
            yield from _block_events(index, block)
        stop = {"stop_reason": "tool_use" if blocks else "end_turn"}
        yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 2}}
        yield {"type": "message_stop"}


def _block_events(index: int, block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    empty = {"thinking": "", "signature": "", "text": "", "input": {}}
    begun = {key: empty.get(key, value) for key, value in block.items()}
    yield {"type": "content_block_start", "index": index, "content_block": begun}
    kinds = {"thinking": "thinking_delta", "signature": "signature_delta", "text": "text_delta"}
    for key in kinds.keys() & block.keys() if block["type"] != "thinking" else ("thinking", "signature"):
        yield {"type": "content_block_delta", "index": index, "delta": {"type": kinds[key], key: block[key]}}
    if "input" in block:
        for piece in (json.dumps(block["input"])[:6], json.dumps(block["input"])[6:]):
            delta = {"type": "input_json_delta", "partial_json": piece}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}
