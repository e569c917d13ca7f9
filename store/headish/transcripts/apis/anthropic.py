"""A transcript as Anthropic's messages, and back, strictly: what does not fit is refused.

providers/anthropic makes requests instead, and repairs what Anthropic would refuse.

Source: the types of the official SDK (read 2026-11-20); the RWKV template's table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import UNSET

from headish.content.forms.calls import ANTHROPIC_CALL, ANTHROPIC_RESULT, anthropic_call, anthropic_result
from headish.errors import InvalidInterchange, Unmappable
from headish.transcripts.apis.steps import ApiStep, as_object, read_call, read_steps, text_of, to_transcript
from headish.transcripts.shared.jsontext import list_of, refuse_keys, string
from headish.transcripts.shared.transcript import Transcript
from headish.values.checks.doors import an, door

TARGET = "list of Anthropic messages"
_ID = re.compile(r"[A-Za-z0-9_-]+")
Blocks = list[dict[str, Any]]


@door(transcript=an(Transcript))
def to_anthropic(transcript: Transcript) -> dict[str, Any]:
    """``{system?, messages: […]}``; messages of one role in a row are one, with a content block for each.

    Raises: Unmappable (E-MAP-UNREPRESENTABLE) for what would not come back, or what the API would refuse.
    """
    system: Blocks = []
    messages: Blocks = []
    for step in read_steps(transcript, TARGET):
        # The API takes system texts before the conversation only, and knows no developer.
        if step.role in ("system", "developer"):
            if step.role == "developer" or messages:
                raise Unmappable(TARGET, f"a {step.role} message behind the first, or of role developer")
            system.append(_write_text(step))
            continue
        role = "assistant" if step.role == "assistant" else "user"
        block = _WRITERS[step.kind](step)
        # Read back, each block is a message again, so joining loses nothing.
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"].append(block)
        else:
            messages.append({"role": role, "content": [block]})
    _check_pairs(messages)
    head = {"system": system[0]["text"] if len(system) == 1 else system} if system else {}
    return {**head, "messages": messages}


def from_anthropic(data: Mapping[str, Any]) -> Transcript:
    """The transcript of ``{system?, messages: […]}``; other parameters are ignored.

    Raises: InvalidInterchange (E-MAP-INPUT) for what a transcript does not carry.
    """
    return to_transcript(_read(data), TARGET)


def _write_text(step: ApiStep) -> dict[str, Any]:
    # The API refuses such a block.
    if not step.text.strip():
        raise Unmappable(TARGET, "a blank text")
    return {"type": "text", "text": step.text}


def _write_call(step: ApiStep) -> dict[str, Any]:
    value = as_object(step.text)
    if value is UNSET:
        raise Unmappable(TARGET, "arguments that are not an object, or have a key twice or half a character")
    if _ID.fullmatch(step.id or "") is None:
        raise Unmappable(TARGET, f"the call id {step.id!r}", drop="call_id")
    return anthropic_call(step.id, step.name or "", value)


def _write_result(step: ApiStep) -> dict[str, Any]:
    return anthropic_result(step.id, step.text, step.is_error)


def _check_pairs(messages: Blocks) -> None:
    """Check that calls end their message, and that the next one begins with all their results, as the API wants."""
    for index, message in enumerate(messages):
        kinds = [block["type"] for block in message["content"]]
        if message["role"] == "assistant":
            if "tool_use" in kinds and "text" in kinds[kinds.index("tool_use") :]:
                raise Unmappable(TARGET, "a text behind a call in one turn")
            continue
        called = {block["id"] for block in messages[index - 1]["content"] if "id" in block} if index else set()
        results = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        if set(results) != called or kinds[: len(results)] != ["tool_result"] * len(results):
            raise Unmappable(TARGET, "calls that are not all answered at the head of the next user message")


def _read(data: Mapping[str, Any]) -> Iterator[ApiStep]:
    messages = list_of(data, "messages", TARGET)
    yield from _read_system(data.get("system"))
    for index, message in enumerate(messages):
        path, role = f"$.messages[{index}]", message.get("role")
        refuse_keys(message, ("role", "content"), TARGET, path)
        if role not in ("user", "assistant"):
            raise InvalidInterchange(TARGET, f"a message of role {role!r}", path)
        content = message.get("content")
        if isinstance(content, str):
            yield ApiStep(kind="text", role=role, text=content)
            continue
        if not isinstance(content, list) or not content:
            raise InvalidInterchange(TARGET, "content is a string or a list of blocks", path)
        for place, block in enumerate(content):
            yield _read_block(block, role, f"{path}.content[{place}]")


def _read_system(system: Any) -> Iterator[ApiStep]:
    if not isinstance(system, str | list | None):
        raise InvalidInterchange(TARGET, "system is a string or a list of blocks", "$.system")
    for place, block in enumerate([system] if isinstance(system, str) else system or []):
        text = block if isinstance(block, str) else text_of([block], TARGET, f"$.system[{place}]")
        yield ApiStep(kind="text", role="system", text=text)


def _read_block(block: Any, role: str, path: str) -> ApiStep:
    kind = block.get("type") if isinstance(block, Mapping) else None
    if kind == "tool_use" and role == "assistant":
        return read_call(block, ANTHROPIC_CALL, TARGET, path)
    if kind == "tool_result" and role == "user":
        refuse_keys(block, ANTHROPIC_RESULT.all, TARGET, path)
        text = text_of(block.get(ANTHROPIC_RESULT.body) or "", TARGET, f"{path}.{ANTHROPIC_RESULT.body}")
        # The result names its call by id alone: ``to_transcript`` finds the name.
        call_id, failed = string(block, ANTHROPIC_RESULT.id, TARGET, path), block.get("is_error")
        if failed is not None and not isinstance(failed, bool):
            raise InvalidInterchange(TARGET, "is_error is true or false", f"{path}.is_error")
        return ApiStep(kind="result", role="tool", text=text, id=call_id, is_error=failed)
    return ApiStep(kind="text", role=role, text=text_of([block], TARGET, path))


_WRITERS = {"text": _write_text, "call": _write_call, "result": _write_result}
