"""The blocks of calls and results, form by form: what is stored of each is a promise, because digests cover it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headish.content.forms.parts import Losses, NeutralEntry
from headish.content.forms.table import FORMS
from headish.values.blocks import (
    Base64Source,
    Document,
    FileSource,
    KnownBlock,
    Text,
    ToolResult,
    ToolUse,
    UrlSource,
    to_mapping,
)

FURTHER = {"name": "f", "more": 1, "nothing": None}
"""Keys that a result may have beside its own; only Chat's names its tool."""


def call(**said: Any) -> dict[str, Any]:
    return {"type": "tool_use", "name": "f", "id": "c1", **said}


def result(**said: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "5"}], **said}


def chat(**function: Any) -> dict[str, Any]:
    said = {
        "id": "c1",
        "type": "function",
        "index": 0,
        "more": 1,
        "function": {"name": "f", "strict": True, **function},
    }
    return {"role": "assistant", "tool_calls": [said]}


def item(kind: str, **said: Any) -> dict[str, Any]:
    return {"type": kind, "id": "i1", "call_id": "c1", "status": "completed", **said}


KEPT = {"more": 1, "function": {"strict": True}}
CASES: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {
    "chat": [
        (chat(arguments='{"a": 1}'), call(raw='{"a": 1}', input={"a": 1}, opaque={"openai": KEPT})),
        (chat(), call(input={}, opaque={"openai": KEPT})),
        (
            {"role": "tool", "tool_call_id": "c1", "content": "5", **FURTHER},
            result(name="f", opaque={"openai": {"more": 1}}),
        ),
    ],
    "cohere": [
        (chat(arguments='{"a": 1}'), call(raw='{"a": 1}', input={"a": 1}, opaque={"cohere": {"index": 0, **KEPT}})),
        (chat(), call(input={}, opaque={"cohere": {"index": 0, **KEPT}})),
        (
            {"role": "tool", "tool_call_id": "c1", "content": "5", **FURTHER},
            result(opaque={"cohere": {"name": "f", "more": 1}}),
        ),
    ],
    "anthropic": [
        (
            {"role": "assistant", "content": [{**call(input={"a": 1}), "cache_control": {}, "more": 1}]},
            call(input={"a": 1}, opaque={"anthropic": {"more": 1}}),
        ),
        ({"role": "assistant", "content": [{**call(), "caller": {"type": "direct"}}]}, call(input={})),
        (
            {"role": "user", "content": [{**result(is_error=True), **FURTHER}]},
            result(is_error=True, opaque={"anthropic": {"name": "f", "more": 1}}),
        ),
        ({"role": "user", "content": [{**result(), "is_error": "no"}]}, result()),
    ],
    "responses": [
        (
            item("function_call", name="f", arguments='{"a": 1}', more=1),
            call(raw='{"a": 1}', input={"a": 1}, opaque={"openai_responses": {"more": 1}}),
        ),
        (item("function_call", name="f"), call(input={})),
        (
            item("function_call_output", output="5", **FURTHER),
            result(opaque={"openai_responses": {"name": "f", "more": 1}}),
        ),
        (item("function_call_output", output="5"), result()),
        (
            item("custom_tool_call_output", output="5", more=1),
            result(opaque={"openai_responses": {"more": 1, "type": "custom_tool_call_output"}}),
        ),
    ],
}


@pytest.mark.parametrize("form", CASES)
def test_a_call_and_a_result_become_these_blocks(form: str) -> None:
    for entry, wanted in CASES[form]:
        [block] = FORMS[form].read(entry).blocks
        assert to_mapping(block) == wanted, entry


NOTHING: dict[str, list[tuple[str, KnownBlock | None, Any]]] = {
    "chat": [("user", None, ""), ("assistant", ToolUse("f", "c1", {}), None), ("tool", ToolResult("c1"), "")],
    "cohere": [("user", None, ""), ("tool", ToolResult("c1"), "")],
    "anthropic": [("user", None, ""), ("assistant", None, "")],
}
"""A role, a block that holds no words, and the content of the message that says it."""


@pytest.mark.parametrize("form", NOTHING)
def test_a_message_without_words_has_the_empty_content_of_its_form(form: str) -> None:
    for role, block, content in NOTHING[form]:
        said = NeutralEntry(role, () if block is None else (block,))
        [entry] = FORMS[form].write(said, Losses(form, FORMS[form].provider))
        assert entry["content"] == content, (role, block)


FAILED: dict[str, dict[str, Any]] = {
    "chat": {"role": "tool", "tool_call_id": "c1", "name": "f", "content": "Error: no"},
    "cohere": {"role": "tool", "tool_call_id": "c1", "content": [
        {"type": "text", "text": "Error:"}, {"type": "text", "text": "no"},
    ]},
    "anthropic": {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "c1", "content": "no", "is_error": True},
    ]},
    "responses": {"type": "function_call_output", "call_id": "c1", "output": [
        {"type": "input_text", "text": "Error:"}, {"type": "input_text", "text": "no"},
    ]},
    "gemini": {"role": "user", "parts": [
        {"functionResponse": {"id": "c1", "name": "f", "response": {"error": "no"}}},
    ]},
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_a_result_of_a_call_that_failed_says_so_in_each_form(form: str) -> None:
    said = NeutralEntry("tool", (ToolResult("c1", "f", (Text("no"),), is_error=True),))
    assert FORMS[form].write(said, Losses(form, FORMS[form].provider)) == [FAILED[form]]


@pytest.mark.parametrize("form", ["chat", "cohere"])
def test_a_document_at_a_url_is_never_written_as_the_data_of_a_file(form: str) -> None:
    paper = Document(UrlSource("https://example.org/a.pdf", "application/pdf"), "a.pdf")
    said = [("user", (Text("Read."), paper)), ("tool", (ToolResult("c1", "f", (Text("Read."), paper)),))]
    for role, blocks in said:
        losses = Losses(form, FORMS[form].provider, is_foreign=True)
        assert "https://example.org" not in json.dumps(FORMS[form].write(NeutralEntry(role, blocks), losses))
        assert {loss.drop for loss in losses.losses} == {"document"}


@pytest.mark.parametrize(
    "source", [Base64Source(kind, "JVBERi0=") for kind in ("application/pdf", "text/plain", "audio/wav", "video/mp4")]
    + [FileSource("f", "cohere", "image/png")],
)  # fmt: skip
def test_cohere_has_a_part_for_a_picture_and_for_no_other_document(source: Base64Source | FileSource) -> None:
    """It would get the part of Chat's; the SDK's type of its content has text and pictures alone."""
    form, paper, picture = FORMS["cohere"], Document(source, "a"), Document(Base64Source("image/png", "iVBORw0KGgo="))
    losses = Losses("cohere", "cohere", is_foreign=True)
    [asked] = form.write(NeutralEntry("user", (Text("Read."), paper, picture)), losses)
    assert [part["type"] for part in asked["content"]] == ["text", "image_url"]
    assert [(loss.what, loss.drop) for loss in losses.losses] == [
        (f"a document of type {source.media_type}", "document")
    ]


def test_a_result_of_cohere_holds_no_picture() -> None:
    losses = Losses("cohere", "cohere", is_foreign=True)
    held = (Text("Read."), Document(Base64Source("image/png", "iVBORw0KGgo=")))
    [answered] = FORMS["cohere"].write(NeutralEntry("tool", (ToolResult("c1", "f", held),)), losses)
    assert answered["content"] == "Read."
    assert [(loss.what, loss.drop) for loss in losses.losses] == [("what a result holds beside text", "document")]
