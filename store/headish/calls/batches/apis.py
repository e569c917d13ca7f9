"""Create, inspect and find batches in each provider's API, and read their results one by one.

Sources, read 2026-11-22: anthropic 2.12.0 ``resources/messages/batches.py`` and its types, "Batch processing",
https://platform.claude.com/docs/en/build-with-claude/batch-processing (100,000 requests, 256 MB); openai 3.54.0
``types/batch*.py``, ``resources/files.py`` (50,000 requests, 200 MB, one model); google-genai 3.4.0 ``batches.py``,
"Batch API", https://ai.google.dev/gemini-api/docs/batch-api (20 MB inline, a file of 2 GB, one model).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from headish.calls.batches.reading import (
    BatchRequest,
    Looked,
    Outcome,
    custom_id,
    id_of,
    named_id,
    read_counts,
    read_error,
    read_id,
    read_line,
    read_records,
    read_time,
    read_word,
    sound_id,
)
from headish.calls.endpoints import ENDPOINTS
from headish.calls.remote import Remote
from headish.values import shapes

MEGABYTE = 1_000_000
INLINE_BYTES = 20 * MEGABYTE
"""The largest document that may hold the requests itself (Gemini)."""
LINE_BYTES = 64
"""The most bytes that such a document has around each request."""
CLOCK_SECONDS = 600
"""The most that this machine's clock may be ahead of the provider's."""


class BatchApi(NamedTuple):
    """The calls of a provider's batch API. ``find`` looks for a batch whose creation was cut off."""

    create: Callable[[Remote, str, str | None, Sequence[BatchRequest]], str]
    look: Callable[[Remote, str], Looked]
    results: Callable[[Remote, str, Looked], Iterator[Outcome]]
    find: Callable[[Remote, str, int, datetime], str | None]
    most_requests: int
    most_bytes: int
    one_model: bool


# Anthropic


def _create_anthropic(remote: Remote, _token: str, _model: str | None, wanted: Sequence[BatchRequest]) -> str:
    requests = [{"custom_id": each.id, "params": each.body} for each in wanted]
    return id_of(remote, remote.post("/v1/messages/batches", {"requests": requests}))


def _look_anthropic(remote: Remote, id: str) -> Looked:
    batch = remote.get(f"/v1/messages/batches/{quote(id, safe='')}")
    status = read_word(remote, batch.get("processing_status"))
    return Looked(status, status == "ended", read_counts(batch.get("request_counts")))


def _results_anthropic(remote: Remote, id: str, _looked: Looked) -> Iterator[Outcome]:
    # Not results_url: an address that an answer names gets no key.
    for number, line in enumerate(remote.lines(f"/v1/messages/batches/{quote(id, safe='')}/results"), 1):
        result_line, problem = read_line(line, number)
        if result_line is None:
            yield from problem
            continue
        result = shapes.record(result_line.get("result"))
        kind = shapes.text(result.get("type"))
        if kind == "succeeded" and isinstance(result.get("message"), dict):
            yield Outcome(custom_id(result_line), result["message"])
            continue
        error = shapes.record(result.get("error"))
        yield Outcome(custom_id(result_line), error=read_error(shapes.record(error.get("error", error)), kind))


def _find_anthropic(remote: Remote, _token: str, count: int, since: datetime) -> str | None:
    """Find a batch of Anthropic by its age and size, because it has no name. The ids of its results prove it later."""
    ids = [
        read_id(each)
        for each in read_records(remote.get("/v1/messages/batches?limit=100").get("data"))
        if read_time(each.get("created_at")) >= since.timestamp() - CLOCK_SECONDS
        and sum(read_counts(each.get("request_counts")).values()) == count
    ]
    # Of several, none: age and size do not tell them apart.
    return id_of(remote, {"id": ids[0]}) if len(ids) == 1 else None


# OpenAI


def _create_openai(path: str) -> Callable[[Remote, str, str | None, Sequence[BatchRequest]], str]:
    def create(remote: Remote, token: str, _model: str | None, wanted: Sequence[BatchRequest]) -> str:
        file = upload_openai(remote, token, path, wanted)
        return submit_openai(remote, token, path, id_of(remote, file))

    return create


def upload_openai(
    remote: Remote, token: str, path: str, wanted: Sequence[BatchRequest], about: Mapping[str, str] | None = None
) -> Mapping[str, Any]:
    """Upload the file of requests, one per line, all for one path. Returns the provider's record of the file."""
    lines = [
        msgspec.json.encode({"custom_id": each.id, "method": "POST", "url": path, "body": each.body}) for each in wanted
    ]
    fields = {"purpose": "batch", **(about or {})}
    return remote.post_file("/files", f"{token}.jsonl", b"\n".join(lines), fields)


def submit_openai(remote: Remote, token: str, endpoint: str, file: str) -> str:
    """Create the batch of an uploaded file. Returns its id."""
    body = {"input_file_id": file, "endpoint": endpoint, "completion_window": "24h", "metadata": {"headish": token}}
    return id_of(remote, remote.post("/batches", body))


def look_openai(remote: Remote, id: str) -> Looked:
    """Look up the state of a batch. One that did not complete has a failure beside its files, for the requests without
    a result."""
    batch = remote.get(f"/batches/{quote(id, safe='')}")
    status = read_word(remote, batch.get("status")).lower()  # Azure: Completed
    names = [name for key in ("output_file_id", "error_file_id") if (name := shapes.text(batch.get(key)))]
    files = tuple(sound_id(remote, name, "the answer names no file that could be fetched") for name in names)
    errors = [shapes.text(each.get("message")) for each in read_records(shapes.record(batch.get("errors")).get("data"))]
    ended = status in ("failed", "completed", "expired", "cancelled")
    failure = remote.redactor.show("; ".join(filter(None, errors[:5])) or f"the batch is {status}", 500)
    is_whole = not ended or (status == "completed" and bool(files))
    return Looked(status, ended, read_counts(batch.get("request_counts")), files, failure=None if is_whole else failure)


def results_openai(remote: Remote, _id: str, looked: Looked) -> Iterator[Outcome]:
    """The results in the files of a batch, line by line."""
    for file in looked.files:
        for number, line in enumerate(remote.lines(f"/files/{quote(file, safe='')}/content"), 1):
            result, problem = read_line(line, number)
            if result is None:
                yield from problem
                continue
            response, error = shapes.record(result.get("response")), shapes.record(result.get("error"))
            body = shapes.record(response.get("body"))
            if not error and response.get("status_code") == 200 and body:
                yield Outcome(custom_id(result), body)
            else:
                yield Outcome(custom_id(result), error=read_error(error or shapes.record(body.get("error")), "failed"))


def _find_openai(remote: Remote, token: str, _count: int, _since: datetime) -> str | None:
    for each in read_records(remote.get("/batches?limit=100").get("data")):
        if shapes.record(each.get("metadata")).get("headish") == token:
            return id_of(remote, each)
    return None


# Gemini


def _create_gemini(remote: Remote, token: str, model: str | None, wanted: Sequence[BatchRequest]) -> str:
    name = quote((model or "").removeprefix("models/"), safe="")
    listed = [(each.id, {"model": f"models/{name}", **each.body}) for each in wanted]
    batch = {"displayName": token, "inputConfig": _input_gemini(remote, token, listed)}
    created = remote.post(f"/v1/models/{name}:batchGenerateContent", {"batch": batch})
    return named_id(remote, created, "batches/", "the answer names no batch")


def _input_gemini(remote: Remote, token: str, listed: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """The requests in the document itself or, if that would be too large, in a file of lines."""
    lines = [msgspec.json.encode({"key": id, "request": request}) for id, request in listed]
    if sum(map(len, lines)) + LINE_BYTES * len(lines) <= INLINE_BYTES:
        requests = [{"request": request, "metadata": {"key": id}} for id, request in listed]
        return {"requests": {"requests": requests}}
    about = {"file": {"displayName": token, "mimeType": "application/jsonl"}}
    file = shapes.record(remote.upload("/upload/v1/files", about, b"\n".join(lines)).get("file"))
    return {"fileName": f"files/{named_id(remote, file, 'files/', 'the answer names no file')}"}


def _look_gemini(remote: Remote, id: str) -> Looked:
    operation = remote.get(f"/v1/batches/{quote(id, safe='')}")
    batch = shapes.record(operation.get("metadata"))
    status = read_word(remote, batch.get("state")).removeprefix("BATCH_STATE_").removeprefix("JOB_STATE_").lower()
    output = shapes.record(batch.get("output")) or shapes.record(operation.get("response"))
    inline = shapes.record(output.get("inlinedResponses")).get("inlinedResponses")
    error = shapes.text(shapes.record(operation.get("error")).get("message"))
    ended = status in ("succeeded", "failed", "cancelled", "expired", "partially_succeeded")
    listed = shapes.listed(inline)
    file = {"name": output.get("responsesFile")}
    files = (
        (named_id(remote, file, "files/", "the answer names no file that could be fetched"),) if file["name"] else ()
    )
    is_whole = not ended or (status.endswith("succeeded") and bool(listed or files))
    failure = None if is_whole else remote.redactor.show(error or f"the batch is {status}", 500)
    return Looked(status, ended, read_counts(batch.get("batchStats")), files, inline=listed, failure=failure)


def _results_gemini(remote: Remote, _id: str, looked: Looked) -> Iterator[Outcome]:
    for number, each in enumerate(looked.inline, 1):
        result = shapes.record(each)
        yield _outcome_gemini(
            shapes.text(shapes.record(result.get("metadata")).get("key")) or None, result, f"result {number}"
        )
    for file in looked.files:
        for number, line in enumerate(remote.lines(f"/v1/files/{quote(file, safe='')}:download?alt=media"), 1):
            result_line, problem = read_line(line, number)
            if result_line is None:
                yield from problem
            else:
                yield _outcome_gemini(shapes.name(result_line.get("key")), result_line, f"line {number}")


def _outcome_gemini(id: str | None, said: Mapping[str, Any], place: str) -> Outcome:
    if isinstance(said.get("response"), dict):
        return Outcome(id, said["response"])
    if said.get("error") is not None:
        return Outcome(id, error=read_error(shapes.record(said["error"]), "failed"))
    return Outcome(id, problem=f"{place} is neither an answer nor an error")


def _find_gemini(remote: Remote, token: str, _count: int, _since: datetime) -> str | None:
    for each in read_records(remote.get("/v1/batches?pageSize=100").get("operations")):
        if shapes.record(each.get("metadata")).get("displayName") == token:
            return named_id(remote, each, "batches/", "the answer names no batch")
    return None


_CHAT, _RESPONSES = (f"/v1{ENDPOINTS[each].path}" for each in ("openai", "openai_responses"))
BATCH_APIS: dict[str, BatchApi] = {
    "anthropic": BatchApi(
        _create_anthropic, _look_anthropic, _results_anthropic, _find_anthropic, 100_000, 256 * MEGABYTE, False
    ),
    "openai": BatchApi(_create_openai(_CHAT), look_openai, results_openai, _find_openai, 50_000, 200 * MEGABYTE, True),
    "openai_responses": BatchApi(
        _create_openai(_RESPONSES), look_openai, results_openai, _find_openai, 50_000, 200 * MEGABYTE, True
    ),
    "gemini": BatchApi(_create_gemini, _look_gemini, _results_gemini, _find_gemini, 10_000, 2000 * MEGABYTE, True),
}
