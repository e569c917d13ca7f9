"""Input items of OpenAI's Responses API.

Items of the assistant in a row are one turn, because the API refuses reasoning without what it led to. Every other item
is a turn of its own. Items that only this API understands are kept whole as provider blocks.

Source: the types of the official SDK, openai 3.54.0 (``ResponseInputItemParam``), read on 2026-11-22.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import groupby
from typing import Any

from msgspec.structs import replace

from headish.content.forms.calls import (
    FUNCTION_CALL,
    FUNCTION_OUTPUT,
    read_call,
    read_result,
    responses_call,
    responses_output,
)
from headish.content.forms.customs import OUTPUT, text_of
from headish.content.forms.customs import RESPONSES as RESPONSES_CALL
from headish.content.forms.layout import is_nothing
from headish.content.forms.media import read_responses_media, write_responses_media
from headish.content.forms.parts import (
    Form,
    Losses,
    NeutralEntry,
    Part,
    arguments_of,
    content_of,
    joined,
    keep,
    make_call,
    object_at,
    opaque_of,
    parts_at,
    refuse,
    rest_of,
    without,
)
from headish.values import shapes
from headish.values.blocks import ContentBlock, Document, ProviderBlock, Text, Thinking, ToolResult, ToolUse

PROVIDER = "openai_responses"
TRANSPORT = frozenset(("prompt_cache_breakpoint",))
PLACED = TRANSPORT | {"id", "status"}
"""Keys that say where the server keeps a message, a call or an output. The API wants none of them back."""
ROLES = ("system", "developer", "user", "assistant")
PARAGRAPH = "\n\n"
"""The separator of the texts of one reasoning item."""
CLIENT_ITEMS = frozenset(
    ("additional_tools", "apply_patch_call_output", "compaction_trigger", "computer_call_output",
     "configuration_update", "item_reference", "local_shell_call_output",
     "mcp_approval_response", "shell_call_output")
)  # fmt: skip
"""The types of the client's own items; all others are the model's or the server's."""
TEXTS = ("input_text", "output_text", "text")
"""The types of parts that are texts."""


def group(items: Iterable[Any]) -> list[list[Any]]:
    """The items of each turn: those of the assistant in a row, any other by itself."""
    groups: list[list[Any]] = []
    for is_answer, grouped in groupby(items, _is_answer):
        run = list(grouped)
        groups += [run] if is_answer else [[item] for item in run]
    return groups


def _is_answer(item: Any) -> bool:
    # headish's own messages, and an item with options beside it, are not items by themselves: each is a turn.
    return isinstance(item, Mapping) and ("type" in item or "role" in item) and role_of(item) == "assistant"


def kind_of_item(item: Mapping[str, Any]) -> Any:
    """The type of an item. A message may go without one, and so may a reference to another item."""
    kind = item.get("type")
    return (
        kind if kind is not None else "message" if "role" in item else "item_reference" if "id" in item else "message"
    )


def role_of(item: Mapping[str, Any]) -> str:
    """The role of an item. Raises: InvalidContent."""
    kind = kind_of_item(item)
    if kind == "message":
        role = item.get("role")
        if role not in ROLES:
            raise refuse(f"an item has no role {role!r:.80}", "$.role")
        return str(role)
    if not isinstance(kind, str):
        raise refuse("the type of an item is text", "$.type")
    if kind in ("function_call_output", OUTPUT):
        return "tool"
    is_client = kind in CLIENT_ITEMS or (kind == "tool_search_output" and item.get("execution") != "server")
    return "user" if is_client else "assistant"


def read(item: Mapping[str, Any]) -> NeutralEntry:
    """One item. Raises: InvalidContent."""
    role = role_of(item)
    return NeutralEntry(role, tuple(_READERS.get(kind_of_item(item), _read_own)(item)))


def _read_own(item: Mapping[str, Any]) -> list[ContentBlock]:
    return [ProviderBlock(PROVIDER, without(item, TRANSPORT))]


def _read_message(item: Mapping[str, Any]) -> list[ContentBlock]:
    content, beside = item.get("content"), {}
    if item.get("role") == "assistant" and not is_nothing(item.get("phase")):
        beside = {"phase": item["phase"]}
    blocks = _read_content(content, "$.content", beside, media=item.get("role") != "assistant")
    rest = rest_of(item, dict.fromkeys(("type", "role", "content", *beside)), PLACED)
    return [*blocks, ProviderBlock(PROVIDER, {"message": rest})] if rest else blocks


def _read_content(
    content: Any, path: str, beside: Mapping[str, Any] | None = None, *, media: bool = True
) -> list[ContentBlock]:
    """The blocks of a text or of a list of parts. ``media``: as in ``chat.read_content``."""
    beside = beside or {}
    read_part = partial(_read_part, beside=beside, media=media)
    return parts_at(content, path, read_part, opaque=keep(PROVIDER, beside))


def _read_part(given: Any, path: str, beside: Mapping[str, Any], media: bool) -> ContentBlock:
    part = object_at(given, path)
    kind = part.get("type")
    if kind in TEXTS and isinstance(part.get("text"), str):
        rest = rest_of(part, {"type": "", "text": ""}, TRANSPORT)
        return Text(part["text"], opaque=keep(PROVIDER, {**beside, **rest}))
    if kind == "refusal" and isinstance(part.get("refusal"), str):
        rest = rest_of(part, {"type": "", "refusal": ""}, TRANSPORT)
        return Text(part["refusal"], opaque=keep(PROVIDER, {**beside, **rest}))
    document = read_responses_media(part, PROVIDER) if media else None
    if document is None:
        return ProviderBlock(PROVIDER, {"part": without(part, TRANSPORT)})
    written = write_responses_media(document)
    detail = part.get("detail")
    rest = rest_of(part, written, TRANSPORT)
    rest |= {"detail": detail} if "detail" in written and isinstance(detail, str) and detail != "auto" else {}
    return Document(document.source, document.name, keep(PROVIDER, rest))


def _read_call(item: Mapping[str, Any]) -> list[ContentBlock]:
    rest = rest_of(item, FUNCTION_CALL.all, PLACED)
    return [read_call(item, FUNCTION_CALL, item.get("call_id"), keep(PROVIDER, rest))]


def _read_custom(item: Mapping[str, Any]) -> list[ContentBlock]:
    """Read a call of a custom tool, whose input is any text."""
    if not isinstance(item.get("name"), str) or not isinstance(item.get("input"), str):
        return _read_own(item)
    rest = rest_of(item, dict.fromkeys(("type", "call_id", "name", "input")), PLACED)
    opaque = keep(PROVIDER, {"type": RESPONSES_CALL, **rest})
    return [make_call(item["name"], item.get("call_id"), opaque, "$", raw=item["input"])]


def _read_output(item: Mapping[str, Any]) -> list[ContentBlock]:
    result = read_result(item, FUNCTION_OUTPUT, partial(_read_content, path="$.output"), PROVIDER, PLACED)
    if item.get("type") == OUTPUT:
        result = replace(result, opaque=keep(PROVIDER, {**opaque_of(result, PROVIDER), "type": OUTPUT}))
    return [result]


def _read_reasoning(item: Mapping[str, Any]) -> list[ContentBlock]:
    text = join_texts(item.get("summary")) or join_texts(item.get("content"))
    return [Thinking(text, provider=PROVIDER, opaque={PROVIDER: without(item, TRANSPORT)})]


def join_texts(parts: Any) -> str:
    """The texts of a reasoning item's summary or content as one."""
    return PARAGRAPH.join(filter(None, (shapes.text(shapes.record(part).get("text")) for part in shapes.listed(parts))))


_READERS: dict[Any, Callable[[Mapping[str, Any]], list[ContentBlock]]] = {
    "message": _read_message,
    "function_call": _read_call,
    "function_call_output": _read_output,
    RESPONSES_CALL: _read_custom,
    OUTPUT: _read_output,
    "reasoning": _read_reasoning,
}


# Writing.


def write(said: NeutralEntry, losses: Losses) -> list[Part]:
    """Write a turn as items. Texts and media of one phase are one message, except in an answer."""
    items: list[Part] = []
    blocks = losses.own(said.blocks)
    for key, grouped in groupby(blocks, lambda block: _message_of(block, said.role)):
        run = list(grouped)
        items += [_write_item(block, losses) for block in run] if key is None else [_write_message(run, said.role)]
    return items or [{"role": said.role if said.role in ROLES else "user", "content": ""}]


def _message_of(block: ContentBlock, role: str) -> Any:
    """The key of the message that a block belongs to; None for a block that is an item by itself."""
    if isinstance(block, Text | Document) or _is_part(block):
        # Each text of an answer is a message of its own, as clients send it back.
        return (opaque_of(block, PROVIDER).get("phase"), id(block) if role == "assistant" else None)
    return None


def _is_part(block: ContentBlock) -> bool:
    if not isinstance(block, ProviderBlock) or not isinstance(block.data, Mapping):
        return False
    return block.data.keys() <= {"part", "message"}


def _write_message(blocks: list[ContentBlock], role: str) -> Part:
    kind = "output_text" if role == "assistant" else "input_text"
    parts: list[Part] = []
    entry: Part = {"role": role if role in ROLES else "user"}
    for block in blocks:
        own = opaque_of(block, PROVIDER)
        entry |= {"phase": own["phase"]} if "phase" in own else {}
        if isinstance(block, ProviderBlock):
            entry = joined(entry, block.data.get("message"))
            parts += [block.data["part"]] if "part" in block.data else []
        else:
            parts.append(_write_part(block, kind))
    return {**entry, "content": content_of(parts, empty=[])}


def _write_part(block: ContentBlock, kind: str) -> Part:
    own = without(opaque_of(block, PROVIDER), ("phase",))
    if isinstance(block, Document):
        return {**joined(write_responses_media(block), own), **({"detail": own["detail"]} if "detail" in own else {})}
    return joined({"type": kind, "text": block.text if isinstance(block, Text) else ""}, own)


def _write_item(block: ContentBlock, losses: Losses) -> Part:
    own = opaque_of(block, PROVIDER)
    if isinstance(block, ProviderBlock):
        return dict(block.data) if isinstance(block.data, Mapping) else {}
    if isinstance(block, Thinking):
        return joined({"type": "reasoning"}, own) if own else {"type": "reasoning", "summary": _summary(block.text)}
    if isinstance(block, ToolUse) and own.get("type") == RESPONSES_CALL:
        return joined({"type": RESPONSES_CALL, "call_id": block.id, "name": block.name, "input": text_of(block)}, own)
    if isinstance(block, ToolUse):
        return joined(responses_call(block.id, block.name, arguments_of(block)), own)
    assert isinstance(block, ToolResult)
    parts = [_output_part(each) for each in losses.inside(block.content)]
    if block.is_error:  # the API has no flag for errors
        parts.insert(0, {"type": "input_text", "text": "Error:"})
    output = content_of(parts)
    return joined(responses_output(block.tool_use_id, output, custom=own.get("type") == OUTPUT), own)


def _output_part(block: ContentBlock) -> Part:
    if isinstance(block, ProviderBlock):
        return dict(block.data["part"]) if "part" in block.data else dict(block.data)
    return _write_part(block, "input_text")


def _summary(text: str) -> list[Part]:
    return [{"type": "summary_text", "text": text}] if text else []


RESPONSES = Form("responses", PROVIDER, "input", "instructions", PLACED, read, write)
