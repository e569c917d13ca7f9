"""The shapes of the items that nearly every run makes, as the SDK writes them: an answer, a call, a result.

Beside their blocks, such items differ only in ids. So ``meta.app["agents"]`` has the name of the shape and the ids: a
tenth of the bytes of a difference from a form, and nothing needs to be compared when they are written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from headish.adapters.messages import ContentBlock, KnownBlock, Text, ToolResult, ToolUse, arguments_of, read_call

Item = dict[str, Any]


class Shaped(NamedTuple):
    """An item of a shape: its role, its block, and the rest for ``meta.app``."""

    role: str
    block: KnownBlock
    beside: dict[str, Any]


def read_shape(item: Mapping[str, Any]) -> Shaped | None:
    """Read an item by its shape; None if it has none of them. Its texts must have no lone surrogates."""
    reader = _BY_KEYS.get(tuple(item))
    return None if reader is None else reader(item)


def write_shape(block: ContentBlock, shape: Any, id: Any) -> Item | None:
    """Write the item of a block in a shape; None if the shape is not known or does not fit. ``id`` is None for an item
    without one."""
    writer = _BY_NAME.get(shape) if isinstance(shape, str) else None
    return None if writer is None else writer(block, id)


def _read_answer(item: Mapping[str, Any]) -> Shaped | None:
    content, id = item["content"], item["id"]
    if type(id) is not str or type(content) is not list or len(content) != 1 or type(content[0]) is not dict:
        return None
    if (item["role"], item["status"], item["type"]) != ("assistant", "completed", "message"):
        return None
    part, keys = content[0], tuple(content[0])
    if keys not in _PARTS or part["type"] != "output_text" or type(part["text"]) is not str:
        return None
    if part["annotations"] != [] or part.get("logprobs", []) != []:
        return None
    return Shaped("assistant", Text(part["text"]), {"shape": _PARTS[keys], "id": id})


def _write_answer(block: ContentBlock, id: Any, **further: Any) -> Item | None:
    if not isinstance(block, Text):
        return None
    part = {"annotations": [], "text": block.text, "type": "output_text", **further}
    return {"id": id, "content": [part], "role": "assistant", "status": "completed", "type": "message"}


def _read_call(item: Mapping[str, Any]) -> Shaped | None:
    texts = [item.get(key, "") for key in ("arguments", "call_id", "name", "id")]
    if any(type(each) is not str for each in texts) or item["type"] != "function_call":
        return None
    if item.get("status", "completed") != "completed":
        return None
    arguments, call_id, name, id = texts
    beside = {"shape": "call", "id": id} if "id" in item else {"shape": "call"}
    return Shaped("assistant", read_call(name, call_id, arguments), beside)


def _write_call(block: ContentBlock, id: Any) -> Item | None:
    if not isinstance(block, ToolUse):
        return None
    call: Item = {"arguments": arguments_of(block), "call_id": block.id, "name": block.name, "type": "function_call"}
    if id is not None:
        call["id"], call["status"] = id, "completed"
    return call


def _read_result(item: Mapping[str, Any]) -> Shaped | None:
    if type(item["call_id"]) is not str or type(item["output"]) is not str or item["type"] != "function_call_output":
        return None
    return Shaped("tool", ToolResult(item["call_id"], content=(Text(item["output"]),)), {"shape": "result"})


def _write_result(block: ContentBlock, id: Any) -> Item | None:
    if not isinstance(block, ToolResult) or len(block.content) != 1 or not isinstance(block.content[0], Text):
        return None
    return {"call_id": block.tool_use_id, "output": block.content[0].text, "type": "function_call_output"}


_PARTS = {("annotations", "text", "type", "logprobs"): "answer", ("annotations", "text", "type"): "answer.0"}
_CALL = ("arguments", "call_id", "name", "type")
_BY_KEYS: dict[tuple[str, ...], Callable[[Mapping[str, Any]], Shaped | None]] = {
    ("id", "content", "role", "status", "type"): _read_answer,
    _CALL: _read_call,
    (*_CALL, "id", "status"): _read_call,
    ("call_id", "output", "type"): _read_result,
}
_BY_NAME: dict[Any, Callable[[ContentBlock, Any], Item | None]] = {
    "answer": partial(_write_answer, logprobs=[]),
    "answer.0": _write_answer,
    "call": _write_call,
    "result": _write_result,
}
