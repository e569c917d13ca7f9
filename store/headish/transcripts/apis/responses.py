"""A transcript as the input items of OpenAI's Responses, and back.

Source: OpenAI's responses types (read 2026-11-20); the RWKV template's table, whose ``tool_call`` and ``tool_result``
parts the API refuses: they are read and never written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headish.content.forms.calls import FUNCTION_CALL, FUNCTION_OUTPUT, BlockKeys, responses_call, responses_output
from headish.content.forms.responses import TEXTS
from headish.errors import InvalidInterchange
from headish.transcripts.apis.steps import ROLES, ApiStep, arguments_text, read_call, read_steps, text_of, to_transcript
from headish.transcripts.shared.jsontext import list_of, refuse_keys, string
from headish.transcripts.shared.transcript import Transcript
from headish.values.checks.doors import an, door

TARGET = "Responses input"
# Keys that the API adds to its items. They say nothing of the conversation, so reading leaves them out.
_ITEM = ("id", "status", "type")
_CALL_PART = BlockKeys("id", "arguments", ("type", "name"))
_RESULT_PART = BlockKeys("tool_call_id", "output", ("type",))
"""The keys of the RWKV template's own parts, ``tool_call`` and ``tool_result``."""


@door(transcript=an(Transcript))
def to_responses(transcript: Transcript) -> dict[str, Any]:
    """``{input: […]}``, one item per block. Raises: Unmappable (E-MAP-UNREPRESENTABLE)."""
    return {"input": [_write_step(step) for step in read_steps(transcript, TARGET)]}


def from_responses(data: Mapping[str, Any]) -> Transcript:
    """The transcript of ``{input: …, instructions?}``; other parameters are ignored.

    Raises: InvalidInterchange (E-MAP-INPUT) for what a transcript does not carry.
    """
    return to_transcript(_read(data), TARGET)


def _write_step(step: ApiStep) -> dict[str, Any]:
    if step.kind == "call":
        return responses_call(step.id, step.name or "", step.text)
    if step.kind == "result":
        return responses_output(step.id, step.text)
    kind = "output_text" if step.role == "assistant" else "input_text"
    return {"role": step.role, "content": [{"type": kind, "text": step.text}]}


def _read(data: Mapping[str, Any]) -> Iterator[ApiStep]:
    if not isinstance(data, Mapping):
        raise InvalidInterchange(TARGET, "it must be an object")
    if data.get("instructions") is not None:
        yield ApiStep(kind="text", role="system", text=string(data, "instructions", TARGET, "$"))
    if isinstance(data.get("input"), str):
        yield ApiStep(kind="text", role="user", text=data["input"])
        return
    for index, item in enumerate(list_of(data, "input", TARGET)):
        yield _read_item(item, f"$.input[{index}]")


def _read_item(item: Mapping[str, Any], path: str) -> ApiStep:
    kind = item.get("type", "message")
    if kind == "function_call":
        return read_call(item, FUNCTION_CALL, TARGET, path, further=_ITEM)
    if kind == "function_call_output":
        return _read_result(item, FUNCTION_OUTPUT, path, _ITEM)
    role = item.get("role")
    if kind != "message" or role not in ROLES:
        raise InvalidInterchange(TARGET, f"an item of type {kind!r} and role {role!r}", path)
    refuse_keys(item, (*_ITEM, "role", "content"), TARGET, path)
    content = item.get("content")
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], Mapping):
        part, where = content[0], f"{path}.content[0]"
        if part.get("type") == "tool_call" and role == "assistant":
            return read_call(part, _CALL_PART, TARGET, where)
        if part.get("type") == "tool_result" and role == "user":
            return _read_result(part, _RESULT_PART, where)
    return ApiStep(kind="text", role=str(role), text=text_of(content, TARGET, f"{path}.content", TEXTS))


def _read_result(item: Mapping[str, Any], keys: BlockKeys, path: str, further: Sequence[str] = ()) -> ApiStep:
    refuse_keys(item, (*keys.all, *further), TARGET, path)
    output = item.get(keys.body)
    # A list of content parts; any other list is a value that the tool returned.
    if isinstance(output, list) and output and isinstance(output[0], Mapping) and "type" in output[0]:
        output = text_of(output, TARGET, f"{path}.output", TEXTS)
    text = arguments_text(output, TARGET, f"{path}.output")
    return ApiStep(kind="result", role="tool", text=text, id=string(item, keys.id, TARGET, path))
