"""Items of OpenAI's Responses API, one by one, in headish's own kinds. What only OpenAI understands is kept for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

PROVIDER = "openai_responses"
Block = dict[str, Any]
Item = Mapping[str, Any]
_DATA_URL = re.compile(r"data:([^;,]+);base64,(.*)", re.S)
_ROLES = ("system", "developer", "user", "assistant")


def read_item(item: Item) -> tuple[str, list[Block], dict[str, Any]]:
    """The role of an item, its blocks, and what they do not say."""
    kind = str(item.get("type", "message" if "role" in item else None))
    role, read, own = _ITEMS.get(kind, ("assistant", _own, None))
    if kind == "message":
        role = str(item.get("role")) if item.get("role") in _ROLES else "user"
    blocks = read(item)
    if own is None or any(block["type"] == "provider" for block in blocks):
        return role, blocks, {}
    return role, blocks, {key: value for key, value in item.items() if key not in own and value is not None}


def _message(item: Item) -> list[Block]:
    content = item.get("content")
    return _parts([{"type": "input_text", "text": content}] if isinstance(content, str) else content)


def _parts(parts: Any) -> list[Block]:
    blocks = [_part(part) for part in parts] if isinstance(parts, list) else []
    return [block for block in blocks if block.get("text") != ""]


def _part(part: Any) -> Block:
    part = part if isinstance(part, Mapping) else {"type": "text", "text": str(part)}
    text = part.get("text", part.get("refusal"))
    url = part.get("image_url")
    image = _DATA_URL.fullmatch(url) if isinstance(url, str) else None
    if image is not None:
        return {"type": "document", "source": {"type": "base64", "media_type": image[1], "data": image[2]}}
    if not isinstance(text, str):
        return {"type": "provider", "provider": PROVIDER, "data": dict(part)}
    rest = {key: value for key, value in part.items() if key not in ("type", "text", "refusal") and value}
    return {"type": "text", "text": text, **({"opaque": {PROVIDER: rest}} if rest else {})}


def _reasoning(item: Item) -> list[Block]:
    parts = [*_listed(item.get("summary")), *_listed(item.get("content"))]
    texts = [part["text"] for part in parts if isinstance(part, Mapping) and isinstance(part.get("text"), str)]
    return [{"type": "thinking", "text": "\n\n".join(texts), "provider": PROVIDER, "opaque": {PROVIDER: dict(item)}}]


def _call(item: Item) -> list[Block]:
    """The arguments are text: JSON of a function, anything of a tool with a grammar of its own."""
    arguments = item.get("arguments", item.get("input"))
    if not isinstance(item.get("name"), str) or not isinstance(arguments, str):
        return _own(item)
    return [{"type": "tool_use", "name": item["name"], **_id(item, "id"), "raw": arguments}]


def _shell(item: Item) -> list[Block]:
    action = item.get("action")
    if not isinstance(action, Mapping):
        return _own(item)
    return [{"type": "tool_use", "name": "local_shell", **_id(item, "id"), "input": dict(action)}]


def _result(item: Item) -> list[Block]:
    output = item.get("output")
    failed: dict[str, Any] = {}
    if isinstance(output, Mapping):  # older versions: {content, success}
        failed = {"is_error": not output["success"]} if isinstance(output.get("success"), bool) else {}
        output = output.get("content")
    content = _parts(output) if isinstance(output, list) else [{"type": "text", "text": output}]
    if not isinstance(output, str | list):
        return _own(item)
    return [{"type": "tool_result", **_id(item, "tool_use_id"), "content": content, **failed}]


def _own(item: Item) -> list[Block]:
    return [{"type": "provider", "provider": PROVIDER, "data": dict(item)}]


def _id(item: Item, name: str) -> dict[str, str]:
    found = item.get("call_id") or item.get("id")
    return {name: found} if isinstance(found, str) else {}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


_CALL = ("type", "name", "arguments", "input", "call_id")
_RESULT = ("type", "call_id", "output")
_ITEMS: dict[str, tuple[str, Callable[[Item], list[Block]], tuple[str, ...] | None]] = {
    "message": ("user", _message, ("type", "role", "content")),
    "reasoning": ("assistant", _reasoning, None),
    "function_call": ("assistant", _call, _CALL),
    "custom_tool_call": ("assistant", _call, _CALL),
    "local_shell_call": ("assistant", _shell, ("type", "action", "call_id")),
    "function_call_output": ("tool", _result, _RESULT),
    "custom_tool_call_output": ("tool", _result, _RESULT),
}
"""Each item's role and reader, and the keys that its blocks say; None where they say all."""
