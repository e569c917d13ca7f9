"""Messages of Pydantic AI as turns, and back: what a block can express becomes blocks, the rest is kept beside them.

A part's text, call, result or picture becomes a block, and is removed from the part. ``meta.app`` has the rest of the
message, without empty fields. A message that would not come back equal is kept as JSON.

Source: ``pydantic_ai.messages``, pydantic-ai 2.68.0, read on 2026-11-22.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, cast

import msgspec
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

from headish.adapters.healing import heal
from headish.adapters.messages import (
    MAPPING_LIMIT_BYTES,
    ContentBlock,
    Message,
    Text,
    decode_payload,
    encode_json,
    encode_payload,
    find_secret,
    read_block,
    to_mapping,
)
from headish.errors import HeadishError

APP = "pydantic-ai"
"""The adapter's key in ``meta.app``, and the provider of blocks with JSON."""
TAKEN = "blocks"
"""The key, in the rest of a part, for the number of blocks that were taken from it, unless that is one."""
Json = dict[str, Any]


class WrittenModelMessage(NamedTuple):
    """A message as a turn: its role, its blocks, and the value for ``meta.app``."""

    role: str
    blocks: tuple[ContentBlock, ...]
    app: Json


def write(message: ModelMessage) -> WrittenModelMessage:
    """Write a message as a turn; ``read`` gives an equal one back. Lone surrogates become U+FFFD, with a note."""
    plain, note = dumped(message)
    try:
        blocks, rest = _split(plain)
        written = WrittenModelMessage(_role_of(plain), blocks, {APP: {**rest, **note}})
        if _comes_back(plain, written):
            return written
    except (HeadishError, LookupError, TypeError, ValueError, ArithmeticError, RecursionError):
        pass  # it has something that no turn can express
    return write_opaque(plain, note)


def dumped(message: ModelMessage) -> tuple[Json, Json]:
    """Return a message as JSON without lone surrogates, and a note if it had any."""
    given, healed = heal(ModelMessagesTypeAdapter.dump_python([message], mode="json")[0])
    return given, {"healed": True} if healed else {}


def write_opaque(given: Json, note: Json) -> WrittenModelMessage:
    """Write a message as one block of JSON, after its texts, so that people can read it and find it."""
    texts = [part["content"] for part in given["parts"] if isinstance(part.get("content"), str)]
    whole = {"type": "provider", "provider": APP, "data": {"json": msgspec.json.encode(given).decode()}}
    return WrittenModelMessage(_role_of(given), (*map(Text, texts), read_block(whole)), {APP: {"opaque": True, **note}})


def read(blocks: tuple[ContentBlock, ...], app: Mapping[str, Any]) -> ModelMessage:
    """The message of a turn. Raises: LookupError, TypeError, ValueError if this adapter did not write the turn."""
    return cast(ModelMessage, ModelMessagesTypeAdapter.validate_python([_join(blocks, app[APP])])[0])


def of_another_origin(message: Message) -> ModelMessage:
    """A message that says the same as a turn that Pydantic AI did not write, without blocks that only another provider
    understands."""
    mappings = [to_mapping(block) for block in message.content]
    if message.role == "assistant":
        parts = [part for block in mappings for part in _answered(block)]
        return cast(ModelMessage, ModelMessagesTypeAdapter.validate_python([{"kind": "response", "parts": parts}])[0])
    kind = "system-prompt" if message.role in ("system", "developer") else "user-prompt"
    parts = [part for block in mappings for part in _asked(block, kind)]
    return cast(ModelMessage, ModelMessagesTypeAdapter.validate_python([{"kind": "request", "parts": parts}])[0])


def _answered(block: Json) -> Iterator[Json]:
    if block["type"] == "text":
        yield {"part_kind": "text", "content": block["text"]}
    elif block["type"] == "thinking":
        yield {"part_kind": "thinking", "content": block["text"], "signature": block.get("signature")}
    elif block["type"] == "tool_use":
        arguments = block["raw"] if "raw" in block else block["input"]
        call = {"tool_name": block["name"], "args": arguments, "tool_call_id": block.get("id") or block["name"]}
        yield {"part_kind": "tool-call", **call}


def _asked(block: Json, kind: str) -> Iterator[Json]:
    if block["type"] == "text":
        yield {"part_kind": kind, "content": block["text"]}
    elif block["type"] == "tool_result":
        content = block.get("content", "")
        text = content if isinstance(content, str) else "".join(each.get("text", "") for each in content)
        name = block.get("name") or block.get("tool_use_id") or "tool"
        yield {"part_kind": "tool-return", "tool_name": name, "content": text,
               "tool_call_id": block.get("tool_use_id") or name}  # fmt: skip
    elif block["type"] == "document" and block["source"]["type"] in ("base64", "url"):
        source = block["source"]
        if source["type"] == "base64":
            item = {"kind": "binary", "data": source["data"], "media_type": source["media_type"]}
        else:
            item = {"kind": "document-url", "url": source["url"]}
        yield {"part_kind": "user-prompt", "content": [item]}


def reply_of(message: ModelMessage) -> Json:
    """The facts of an answer: provider (always), model, stop reason, response id and usage. Empty if the message is not
    an answer."""
    if message.kind != "response":
        return {}
    texts = {
        "provider": message.provider_name or APP, "model": message.model_name, "stop": message.finish_reason,
        "response_id": message.provider_response_id,
    }  # fmt: skip
    facts = {key: value for key, value in texts.items() if isinstance(value, str)}
    used = message.usage
    # Pydantic AI counts cache reads and writes in the input, headish apart.
    apart = {"cache_read_input_tokens": used.cache_read_tokens, "cache_creation_input_tokens": used.cache_write_tokens}
    reasoning = used.details.get("reasoning_tokens", 0) or getattr(used, "output_reasoning_tokens", 0)
    counts = {
        "input_tokens": max(0, used.input_tokens - sum(apart.values())), "output_tokens": used.output_tokens, **apart,
        "reasoning_tokens": reasoning,
    }  # fmt: skip
    return {**facts, **({"usage": counts} if any(counts.values()) else {})}


def _comes_back(given: Json, written: WrittenModelMessage) -> bool:
    """Whether a message comes back equal from its turn, and the turn may be stored."""
    app = msgspec.json.encode(written.app)
    if len(app) > MAPPING_LIMIT_BYTES or find_secret(written.app, "$") is not None:
        return False
    again = read(decode_payload(encode_payload(written.blocks)), msgspec.json.decode(app))
    # Pydantic AI's own JSON gives some parts back in other classes. So the result must equal what that JSON gives back.
    expected = ModelMessagesTypeAdapter.validate_python([given])
    return bool(ModelMessagesTypeAdapter.dump_python([again]) == ModelMessagesTypeAdapter.dump_python(expected))


def _role_of(given: Json) -> str:
    if given["kind"] == "response":
        return "assistant"
    kinds = {part["part_kind"] for part in given["parts"]}
    if kinds and kinds <= {"system-prompt"}:
        return "system"
    return "tool" if kinds and kinds <= {"tool-return"} else "user"


# Writing.


def _split(given: Json) -> tuple[tuple[ContentBlock, ...], Json]:
    blocks: list[ContentBlock] = []
    parts = []
    is_mixed = len({part["part_kind"] == "system-prompt" for part in given["parts"]}) > 1
    for part in given["parts"]:
        take = _TAKERS.get(part["part_kind"])
        # A system part inside a user's message stays beside: as a block it would read as the user's words.
        if take is None or (is_mixed and part["part_kind"] == "system-prompt"):
            parts.append(part)
            continue
        rest_of_part = {key: value for key, value in part.items() if value is not None}
        part_blocks = take(rest_of_part)
        blocks += map(read_block, part_blocks)
        parts.append({**rest_of_part, **({} if len(part_blocks) == 1 else {TAKEN: len(part_blocks)})})
    rest = {key: value for key, value in given.items() if value is not None}
    if "usage" in rest:
        rest["usage"] = {key: value for key, value in rest["usage"].items() if value}
    return tuple(blocks), {**rest, "parts": parts}


def _take_text(part: Json) -> list[Json]:
    return [{"type": "text", "text": part.pop("content")}]


def _take_thinking(part: Json) -> list[Json]:
    signature = {"signature": part.pop("signature")} if "signature" in part else {}
    return [{"type": "thinking", "text": part.pop("content"), **signature}]


def _take_call(part: Json) -> list[Json]:
    block = {"type": "tool_use", "id": part.pop("tool_call_id"), "name": part.pop("tool_name")}
    args = part.pop("args", None)
    if isinstance(args, str):
        part["args"] = "text"
        return [{**block, "raw": args}]
    part["args"] = "none" if args is None else "object"
    return [{**block, "input": {} if args is None else args}]


def _take_result(part: Json) -> list[Json]:
    content = part.pop("content", None)
    block = {"type": "tool_result", "tool_use_id": part.pop("tool_call_id"), "name": part.pop("tool_name")}
    if not isinstance(content, str):
        content, part["content"] = encode_json(content).decode(), "json"
    failed = {"is_error": True} if part.get("outcome") not in (None, "success") else {}
    return [{**block, "content": content, **failed}]


def _take_said(part: Json) -> list[Json]:
    """The blocks of a user prompt: of a text, or of texts and media."""
    if isinstance(part["content"], str):
        return _take_text(part)
    blocks, rests = [], []
    for item in part["content"]:
        block, rest = _take_item(item)
        blocks.append(block)
        rests.append(rest)
    part["content"] = rests
    return blocks


def _take_item(item: Any) -> tuple[Json, Any]:
    if isinstance(item, str):
        return {"type": "text", "text": item}, None
    rest = {key: value for key, value in item.items() if value is not None}
    if item["kind"] == "binary":
        source = {"type": "base64", "media_type": rest.pop("media_type"), "data": rest.pop("data")}
        return {"type": "document", "source": source}, rest
    if item["kind"] in ("image-url", "audio-url", "video-url", "document-url"):
        kind = {"media_type": rest.pop("media_type")} if "media_type" in rest else {}
        return {"type": "document", "source": {"type": "url", "url": rest.pop("url"), **kind}}, rest
    return {"type": "provider", "provider": APP, "data": item}, {"kind": item["kind"], "is": "provider"}


_TAKERS: dict[str, Callable[[Json], list[Json]]] = {
    "text": _take_text,
    "thinking": _take_thinking,
    "tool-call": _take_call,
    "tool-return": _take_result,
    "user-prompt": _take_said,
    "system-prompt": _take_text,
}


# Reading.


def _join(blocks: tuple[ContentBlock, ...], app: Mapping[str, Any]) -> Json:
    if app.get("opaque"):
        return cast(Json, msgspec.json.decode(to_mapping(blocks[-1])["data"]["json"]))
    waiting = iter([to_mapping(block) for block in blocks])
    kinds = {part["part_kind"] == "system-prompt" for part in app["parts"]}
    parts = [_fill(dict(part), waiting, is_mixed=len(kinds) > 1) for part in app["parts"]]
    return {**{key: value for key, value in app.items() if key != "healed"}, "parts": parts}


def _fill(part: Json, waiting: Iterator[Json], *, is_mixed: bool) -> Json:
    kind = part["part_kind"]
    if kind not in _GIVERS or (is_mixed and kind == "system-prompt"):
        return part
    part_blocks = [next(waiting) for _ in range(part.pop(TAKEN, 1))]
    _GIVERS[kind](part, part_blocks)
    return part


def _give_text(part: Json, taken: list[Json]) -> None:
    part["content"] = taken[0]["text"]


def _give_thinking(part: Json, taken: list[Json]) -> None:
    part["content"] = taken[0]["text"]
    if "signature" in taken[0]:
        part["signature"] = taken[0]["signature"]


def _give_call(part: Json, taken: list[Json]) -> None:
    [block] = taken
    part |= {"tool_call_id": block["id"], "tool_name": block["name"]}
    args = block.get("input")
    if part["args"] == "text":
        args = block["raw"] if "raw" in block else encode_json(args).decode()
    part["args"] = None if part["args"] == "none" else args


def _give_result(part: Json, taken: list[Json]) -> None:
    [block] = taken
    part |= {"tool_call_id": block["tool_use_id"], "tool_name": block["name"]}
    text = block["content"] if isinstance(block["content"], str) else "".join(each["text"] for each in block["content"])
    part["content"] = msgspec.json.decode(text) if part.get("content") == "json" else text


def _give_said(part: Json, taken: list[Json]) -> None:
    if "content" not in part:
        _give_text(part, taken)
        return
    part["content"] = [_give_item(rest, block) for rest, block in zip(part["content"], taken, strict=True)]


def _give_item(rest: Any, block: Json) -> Any:
    if rest is None:
        return block["text"]
    if rest.get("is") == "provider":
        return block["data"]
    return {**rest, **{key: value for key, value in block["source"].items() if key != "type"}}


_GIVERS: dict[str, Callable[[Json, list[Json]], None]] = {
    "text": _give_text,
    "thinking": _give_thinking,
    "tool-call": _give_call,
    "tool-return": _give_result,
    "user-prompt": _give_said,
    "system-prompt": _give_text,
}
