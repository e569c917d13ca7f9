"""Requests and transcripts against cases of other projects, from where they lie.

Where headish differs on purpose, a table says why; what is not in the table must be equal.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from headish import emit
from headish.errors import HeadishError
from support.providers.windows import read_window
from support.shared import PROVIDER_REQUESTS, SHARED, needs_shared, read_request

TRANSCRIPTS = SHARED / "fixtures" / "transcripts" / "2.2"
CASES = ("cache-control", "document-image", "document-text", "mixed-content", "tool-search-only", "tool-use",
         "tool-with-outputschema")  # fmt: skip
WRITTEN_DIFFERENTLY = {
    "ex-2-header": "the header is a transcript's own; a window has none, and every new file says its version alone",
    "fix-1-legacy": "assistant text without a channel goes to final (TRANSCRIPTS C2)",
    "ids-broken": "arguments that are a JSON object are constrained to json (TRANSCRIPTS C2)",
    "visibility": "assistant text without a channel goes to final (TRANSCRIPTS C2)",
}
ATTRIBUTES = {"name": "speaker", "to": "recipient"}
KEPT = ("channel", "call_id", "intent", "content_type", "constrain", "stop", "extra")


@needs_shared
@pytest.mark.parametrize("case", CASES)
def test_an_anthropic_request_is_the_recorded_one(case: str) -> None:
    """Two differences, both ruled in PROVIDERS §7 and §9.5: one role in a row is one message, no tools are no key."""
    record, tools = read_request(case)
    expected = json.loads((PROVIDER_REQUESTS / case / "expected-anthropic.json").read_text())
    joined: list[dict[str, Any]] = []
    for message in expected["messages"]:
        if joined and joined[-1]["role"] == message["role"]:
            joined[-1]["content"] += message["content"]
        else:
            joined.append(message)
    expected["messages"] = joined
    if not expected["tools"]:
        del expected["tools"]
    assert emit(read_window(record), "anthropic", tools=tools) == expected


def transcript_cases() -> Iterator[str]:
    """Cases with a model that is to be emitted; named by their file."""
    for path in sorted(TRANSCRIPTS.glob("*.json")) if TRANSCRIPTS.is_dir() else []:
        name = path.name.removesuffix(".json").removesuffix(".model")
        is_model = path.name.endswith(".model.json")
        is_case = is_model or any((TRANSCRIPTS / f"{name}{end}").exists() for end in (".txt", ".out.txt"))
        if is_case and (TRANSCRIPTS / f"{name}.why").exists() and "messages" in json.loads(path.read_text()):
            yield path.name


def read_model(message: dict[str, Any]) -> dict[str, Any]:
    attributes = {own: message[key] for key, own in ATTRIBUTES.items() if key in message}
    attributes |= {key: message[key] for key in KEPT if key in message}
    return {"role": message["role"], "content": message["content"], "attributes": attributes}


@needs_shared
@pytest.mark.parametrize("file", list(transcript_cases()))
def test_an_openchatml_transcript_is_the_cases_own(file: str) -> None:
    name = file.removesuffix(".json").removesuffix(".model")
    model = json.loads((TRANSCRIPTS / file).read_text())
    window = read_window({"messages": [read_model(message) for message in model["messages"]]})
    refused = json.loads((TRANSCRIPTS / f"{name}.json").read_text()).get("error")
    if refused:
        with pytest.raises(HeadishError) as error:
            emit(window, "2.2")
        assert error.value.code == refused
        return
    canonical = TRANSCRIPTS / f"{name}.out.txt"
    expected = (canonical if canonical.exists() else TRANSCRIPTS / f"{name}.txt").read_bytes().decode()
    emitted = str(emit(window, "2.2", strict=not name.endswith("relaxed"))).removeprefix("version: 2.2\n\n")
    same = emitted == expected.removeprefix("version: 2.2\n\n")
    assert same is (name not in WRITTEN_DIFFERENTLY), emitted


@needs_shared
def test_the_cases_are_found() -> None:
    assert len(list(transcript_cases())) >= 20
