"""The batches of each provider's API: created, looked at, found again, and their results one by one.

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

from headish.calls.endpoints import ENDPOINTS
from headish.calls.remote import Remote
from headish.errors import UnreadableAnswer
from headish.providers.events.eventjson import Refusal, decode_event

MEGABYTE = 1_000_000
INLINE_BYTES = 20 * MEGABYTE
"""So large may a document be that holds the requests itself (Gemini)."""
LINE_BYTES = 64
"""What stands around a request there, at the most."""
CLOCK_SECONDS = 600
"""How far this machine's clock may be ahead of the provider's."""


class Wanted(NamedTuple):
    """A request of a batch: the id under which its answer comes back, and its body."""

    id: str
    body: Mapping[str, Any]


class Outcome(NamedTuple):
    """What became of a request: an answer as the API itself would give it, or an error ``{type, message}``.

    ``problem`` says what is wrong with a line that is neither; then there may be no ``id``.
    """

    id: str | None
    response: Mapping[str, Any] | None = None
    error: Mapping[str, str] | None = None
    problem: str | None = None


class Looked(NamedTuple):
    """How far a batch is: the provider's own word, whether it has ended, its counts, and what the results are in.

    ``failure`` says why what has no result will never have one.
    """

    status: str
    ended: bool
    counts: dict[str, int]
    files: tuple[str, ...] = ()
    inline: Sequence[Any] = ()
    failure: str | None = None


class BatchApi(NamedTuple):
    """How a provider's batches are asked for. ``find`` looks for one whose creation was cut off."""

    create: Callable[[Remote, str, str | None, Sequence[Wanted]], str]
    look: Callable[[Remote, str], Looked]
    results: Callable[[Remote, str, Looked], Iterator[Outcome]]
    find: Callable[[Remote, str, int, datetime], str | None]
    most_requests: int
    most_bytes: int
    one_model: bool


# Anthropic


def _create_anthropic(remote: Remote, _token: str, _model: str | None, wanted: Sequence[Wanted]) -> str:
    requests = [{"custom_id": each.id, "params": each.body} for each in wanted]
    return id_of(remote, remote.post("/v1/messages/batches", {"requests": requests}))


def _look_anthropic(remote: Remote, id: str) -> Looked:
    said = remote.get(f"/v1/messages/batches/{quote(id, safe='')}")
    status = _text(said.get("processing_status"))
    return Looked(status, status == "ended", _counts(said.get("request_counts")))


def _results_anthropic(remote: Remote, id: str, _looked: Looked) -> Iterator[Outcome]:
    # Not results_url: an address that an answer names gets no key.
    for number, line in enumerate(remote.lines(f"/v1/messages/batches/{quote(id, safe='')}/results"), 1):
        said, problem = _read_line(line, number)
        if said is None:
            yield from problem
            continue
        result = read_record(said.get("result"))
        kind = _text(result.get("type"))
        if kind == "succeeded" and isinstance(result.get("message"), dict):
            yield Outcome(_name(said), result["message"])
            continue
        error = read_record(result.get("error"))
        yield Outcome(_name(said), error=_error(read_record(error.get("error", error)), kind))


def _find_anthropic(remote: Remote, _token: str, count: int, since: datetime) -> str | None:
    """A batch of Anthropic's has no name. One that is as old and as large is it; its results' ids prove it."""
    found = [
        _text(each.get("id"))
        for each in read_records(remote.get("/v1/messages/batches?limit=100").get("data"))
        if _time(each.get("created_at")) >= since.timestamp() - CLOCK_SECONDS
        and sum(_counts(each.get("request_counts")).values()) == count
    ]
    return found[0] if len(found) == 1 and found[0] else None


# OpenAI


def _create_openai(path: str) -> Callable[[Remote, str, str | None, Sequence[Wanted]], str]:
    def create(remote: Remote, token: str, _model: str | None, wanted: Sequence[Wanted]) -> str:
        file = upload_openai(remote, token, path, wanted)
        return submit_openai(remote, token, path, id_of(remote, file))

    return create


def upload_openai(
    remote: Remote, token: str, path: str, wanted: Sequence[Wanted], about: Mapping[str, str] | None = None
) -> Mapping[str, Any]:
    """Send the file of lines, each of which goes to a path; what is said of the file."""
    lines = [
        msgspec.json.encode({"custom_id": each.id, "method": "POST", "url": path, "body": each.body}) for each in wanted
    ]
    fields = {"purpose": "batch", **(about or {})}
    return remote.post_file("/files", f"{token}.jsonl", b"\n".join(lines), fields)


def submit_openai(remote: Remote, token: str, endpoint: str, file: str) -> str:
    """Make the batch of a file that is there; its id."""
    body = {"input_file_id": file, "endpoint": endpoint, "completion_window": "24h", "metadata": {"headish": token}}
    return id_of(remote, remote.post("/batches", body))


def look_openai(remote: Remote, id: str) -> Looked:
    """How far a batch is. One that did not complete has a failure beside its files: that of what has no result."""
    said = remote.get(f"/batches/{quote(id, safe='')}")
    status = _text(said.get("status")).lower()  # Azure: Completed
    files = tuple(name for key in ("output_file_id", "error_file_id") if (name := _text(said.get(key))))
    errors = [_text(each.get("message")) for each in read_records(read_record(said.get("errors")).get("data"))]
    ended = status in ("failed", "completed", "expired", "cancelled")
    failure = remote.redactor.show("; ".join(filter(None, errors[:5])) or f"the batch is {status}", 500)
    is_whole = not ended or (status == "completed" and bool(files))
    return Looked(status, ended, _counts(said.get("request_counts")), files, failure=None if is_whole else failure)


def results_openai(remote: Remote, _id: str, looked: Looked) -> Iterator[Outcome]:
    """What its files say, line by line."""
    for file in looked.files:
        for number, line in enumerate(remote.lines(f"/files/{quote(file, safe='')}/content"), 1):
            said, problem = _read_line(line, number)
            if said is None:
                yield from problem
                continue
            response, error = read_record(said.get("response")), read_record(said.get("error"))
            body = read_record(response.get("body"))
            if not error and response.get("status_code") == 200 and body:
                yield Outcome(_name(said), body)
            else:
                yield Outcome(_name(said), error=_error(error or read_record(body.get("error")), "failed"))


def _find_openai(remote: Remote, token: str, _count: int, _since: datetime) -> str | None:
    for each in read_records(remote.get("/batches?limit=100").get("data")):
        if read_record(each.get("metadata")).get("headish") == token:
            return _text(each.get("id")) or None
    return None


# Gemini


def _create_gemini(remote: Remote, token: str, model: str | None, wanted: Sequence[Wanted]) -> str:
    name = quote((model or "").removeprefix("models/"), safe="")
    listed = [(each.id, {"model": f"models/{name}", **each.body}) for each in wanted]
    batch = {"displayName": token, "inputConfig": _input_gemini(remote, token, listed)}
    said = remote.post(f"/v1/models/{name}:batchGenerateContent", {"batch": batch})
    id = _text(said.get("name"))
    if not id.startswith("batches/"):
        raise UnreadableAnswer(remote.provider, "the answer names no batch")
    return id.removeprefix("batches/")


def _input_gemini(remote: Remote, token: str, listed: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """Where the requests stand: in the document itself, or where that would be too large, in a file of lines."""
    lines = [msgspec.json.encode({"key": id, "request": request}) for id, request in listed]
    if sum(map(len, lines)) + LINE_BYTES * len(lines) <= INLINE_BYTES:
        requests = [{"request": request, "metadata": {"key": id}} for id, request in listed]
        return {"requests": {"requests": requests}}
    about = {"file": {"displayName": token, "mimeType": "application/jsonl"}}
    made = _text(read_record(remote.upload("/upload/v1/files", about, b"\n".join(lines)).get("file")).get("name"))
    if not made.startswith("files/"):
        raise UnreadableAnswer(remote.provider, "the answer names no file")
    return {"fileName": made}


def _look_gemini(remote: Remote, id: str) -> Looked:
    said = remote.get(f"/v1/batches/{quote(id, safe='')}")
    told = read_record(said.get("metadata"))
    status = _text(told.get("state")).removeprefix("BATCH_STATE_").removeprefix("JOB_STATE_").lower()
    output = read_record(told.get("output")) or read_record(said.get("response"))
    inline = read_record(output.get("inlinedResponses")).get("inlinedResponses")
    error = _text(read_record(said.get("error")).get("message"))
    ended = status in ("succeeded", "failed", "cancelled", "expired", "partially_succeeded")
    listed = inline if isinstance(inline, list) else []
    file = _text(output.get("responsesFile"))
    files = (file.removeprefix("files/"),) if file.startswith("files/") else ()
    is_empty = ended and not listed and not files
    failure = remote.redactor.show(error or f"the batch is {status}", 500) if is_empty else None
    return Looked(status, ended, _counts(told.get("batchStats")), files, inline=listed, failure=failure)


def _results_gemini(remote: Remote, _id: str, looked: Looked) -> Iterator[Outcome]:
    for number, each in enumerate(looked.inline, 1):
        said = read_record(each)
        yield _outcome_gemini(_text(read_record(said.get("metadata")).get("key")) or None, said, f"result {number}")
    for file in looked.files:
        for number, line in enumerate(remote.lines(f"/v1/files/{quote(file, safe='')}:download?alt=media"), 1):
            found, problem = _read_line(line, number)
            if found is None:
                yield from problem
            else:
                yield _outcome_gemini(_text(found.get("key")) or None, found, f"line {number}")


def _outcome_gemini(id: str | None, said: Mapping[str, Any], place: str) -> Outcome:
    if isinstance(said.get("response"), dict):
        return Outcome(id, said["response"])
    if said.get("error") is not None:
        return Outcome(id, error=_error(read_record(said["error"]), "failed"))
    return Outcome(id, problem=f"{place} is neither an answer nor an error")


def _find_gemini(remote: Remote, token: str, _count: int, _since: datetime) -> str | None:
    for each in read_records(remote.get("/v1/batches?pageSize=100").get("operations")):
        if read_record(each.get("metadata")).get("displayName") == token:
            return _text(each.get("name")).removeprefix("batches/") or None
    return None


def _read_line(line: bytes, number: int) -> tuple[Mapping[str, Any] | None, list[Outcome]]:
    """The object of a line; else what is to be told of it: nothing of a blank one."""
    if not line.strip():
        return None, []
    try:
        return decode_event(line), []
    except Refusal as refusal:
        return None, [Outcome(None, problem=f"line {number} cannot be read: {refusal}")]


def id_of(remote: Remote, said: Mapping[str, Any]) -> str:
    """The id of what was created. Raises: UnreadableAnswer."""
    id = _text(said.get("id"))
    if not id:
        raise UnreadableAnswer(remote.provider, "the answer names nothing that was created")
    return id


def _error(error: Mapping[str, Any], kind: str) -> dict[str, str]:
    said = _text(error.get("type")) or _text(error.get("code")) or _text(error.get("status")) or kind or "failed"
    return {"type": said, "message": _text(error.get("message")) or _WORDS.get(kind, "the provider does not say why")}


def _name(said: Mapping[str, Any]) -> str | None:
    return _text(said.get("custom_id")) or None


def read_record(value: object) -> Mapping[str, Any]:
    """A record; an empty one in the place of anything else."""
    return value if isinstance(value, dict) else {}


def read_records(value: object) -> list[Mapping[str, Any]]:
    """The records of a list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def read_id(said: Mapping[str, Any]) -> str | None:
    """The id that something has; None for an empty one, and for what is no text."""
    return _text(said.get("id")) or None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _counts(value: object) -> dict[str, int]:
    """Counts by their names; Gemini's are numbers in texts."""
    return {
        name: int(count)
        for name, count in read_record(value).items()
        if type(count) is int or (isinstance(count, str) and count.isascii() and count.isdigit() and len(count) < 19)
    }


def _time(value: object) -> float:
    try:
        return datetime.fromisoformat(_text(value)).timestamp()
    except (ValueError, OverflowError):
        return 0


_WORDS = {
    "expired": "the batch ended before it was answered",
    "canceled": "the batch was cancelled before it was answered",
}
"""What is told of a request whose provider says no more than a word."""
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
