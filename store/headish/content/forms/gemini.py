"""Contents of Gemini's API, under its own names or with the underscores of its Python library.

Source: the types of the official SDK, google-genai 3.4.0 (``types.Content``, ``types.Part``), read on 2026-11-22.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headish.content import strictjson
from headish.content.forms.layout import camel
from headish.content.forms.media import read_gemini_media, write_gemini_media
from headish.content.forms.parts import (
    Form,
    Losses,
    NeutralEntry,
    Part,
    input_of,
    joined,
    keep,
    list_at,
    make_call,
    object_at,
    opaque_of,
    refuse,
    rest_of,
    text_at,
)
from headish.content.recordings import join_data
from headish.errors import InvalidContent
from headish.values.blocks import ContentBlock, Document, ProviderBlock, Text, Thinking, ToolResult, ToolUse

PROVIDER = "gemini"
TRANSPORT: frozenset[str] = frozenset()
ROLES = {"user": "user", "model": "assistant", "function": "tool", None: "user", "system": "system"}
_SPOKEN = ("output", "result", "error")
"""Keys of a response; with one of them alone, its text is the whole response."""


def read(entry: Mapping[str, Any]) -> NeutralEntry:
    """One content. Raises: InvalidContent."""
    role = entry.get("role")
    if (role is not None and not isinstance(role, str)) or role not in ROLES:
        raise refuse(f"a content of Gemini's has no role {role!r:.80}", "$.role")
    parts = entry.get("parts")
    listed = enumerate(list_at(parts, "$.parts") if parts is not None else ())
    blocks = [
        _read_part(object_at(part, f"$.parts[{at}]"), f"$.parts[{at}]", media=role != "model") for at, part in listed
    ]
    rest = rest_of(entry, dict.fromkeys(("role", "parts")), TRANSPORT)
    return NeutralEntry(ROLES[role], tuple([*blocks, ProviderBlock(PROVIDER, {"content": rest})] if rest else blocks))


def _read_part(given: Mapping[str, Any], path: str, *, media: bool = True) -> ContentBlock:
    """Read a part. ``media``: as in ``chat.read_content``."""
    part = {camel(key): value for key, value in given.items()}
    if isinstance(part.get("text"), str) and not part.keys() & _DATA:
        return _read_text(part)
    call, response = part.get("functionCall"), part.get("functionResponse")
    if isinstance(call, Mapping) and isinstance(call.get("name"), str):
        return _read_call(_camel(call), part, f"{path}.functionCall")
    if isinstance(response, Mapping):
        return _read_result(_camel(response), part, f"{path}.functionResponse")
    held = {key: _camel(value) if key in ("inlineData", "fileData") else value for key, value in part.items()}
    document = read_gemini_media(held, PROVIDER) if media or _is_sound(held) else None
    if document is None:
        return ProviderBlock(PROVIDER, held)
    rest = rest_of(held, write_gemini_media(document), TRANSPORT)
    return Document(document.source, document.name, keep(PROVIDER, rest))


def _is_sound(part: Mapping[str, Any]) -> bool:
    """Whether a part of an answer is a recording of what the model said."""
    inline = part.get("inlineData")
    kind, data = (inline.get("mimeType"), inline.get("data")) if isinstance(inline, Mapping) else (None, None)
    return (
        isinstance(kind, str)
        and kind.lower().startswith("audio/")
        and isinstance(data, str)
        and bool(join_data([data]))
    )


def _camel(value: Any) -> Any:
    return {camel(key): each for key, each in value.items()} if isinstance(value, Mapping) else value


def _read_text(part: Mapping[str, Any]) -> ContentBlock:
    is_thought = part.get("thought") is True
    rest = rest_of(part, dict.fromkeys(("text", "thought") if is_thought else ("text",)), TRANSPORT)
    if not is_thought:
        return Text(part["text"], opaque=keep(PROVIDER, rest))
    signature = rest.pop("thoughtSignature", None)
    if signature is not None and not isinstance(signature, str):
        return ProviderBlock(PROVIDER, part)
    return Thinking(part["text"], signature=signature, provider=PROVIDER, opaque=keep(PROVIDER, rest))


def _read_call(call: Mapping[str, Any], part: Mapping[str, Any], path: str) -> ToolUse:
    """Read a call. ``opaque`` notes that the id is the provider's own, as the reader of answers does."""
    beside = rest_of(part, {"functionCall": None}, TRANSPORT)
    further = rest_of(call, dict.fromkeys(("id", "name", "args")), TRANSPORT)
    id = call.get("id") or None
    opaque = ({} if id is None else {"id": id}) | beside | ({"functionCall": further} if further else {})
    arguments = {} if call.get("args") is None else call["args"]
    return make_call(call["name"], id, keep(PROVIDER, opaque), path, input=arguments)


def _read_result(response: Mapping[str, Any], part: Mapping[str, Any], path: str) -> ToolResult:
    beside = rest_of(part, {"functionResponse": None}, TRANSPORT)
    further = rest_of(response, dict.fromkeys(("id", "name", "response", "parts")), TRANSPORT)
    id, name, output = response.get("id"), response.get("name"), response.get("response")
    content: list[ContentBlock] = []
    only = output if isinstance(output, Mapping) and len(output) == 1 else {}
    spoken = next(iter(only), None)
    opaque = beside | ({"functionResponse": further} if further else {})
    if spoken in _SPOKEN and isinstance(only[spoken], str):
        content = [Text(only[spoken])]
        opaque |= {"response": "result"} if spoken == "result" else {}
    elif output is not None:
        content = [Text(strictjson.encode(output).decode())]
        opaque |= {"response": "json"}
    media = response.get("parts")
    listed = list_at(media, f"{path}.parts") if media is not None else []
    content += [_read_part(object_at(each, f"{path}.parts"), f"{path}.parts[{at}]") for at, each in enumerate(listed)]
    return ToolResult(
        None if not id else text_at(id, f"{path}.id"),
        None if name is None else text_at(name, f"{path}.name"),
        tuple(content),
        True if spoken == "error" and "response" not in opaque else None,
        opaque=keep(PROVIDER, opaque),
    )


_DATA = frozenset(
    ("inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult", "toolCall",
     "toolResponse")
)  # fmt: skip


# Writing.


def write(said: NeutralEntry, losses: Losses) -> list[Part]:
    """Write a turn as a content."""
    role = {"assistant": "model", "system": "system", "developer": "system"}.get(said.role, "user")
    entry: Part = {"role": role, "parts": []}
    for block in losses.own(said.blocks):
        if isinstance(block, ProviderBlock) and isinstance(block.data, Mapping) and block.data.keys() == {"content"}:
            entry = joined(entry, block.data["content"])
        else:
            entry["parts"].append(_write_part(block, losses))
    return [entry]


def _write_part(block: ContentBlock, losses: Losses) -> Part:
    own = opaque_of(block, PROVIDER)
    if isinstance(block, ProviderBlock):
        return dict(block.data) if isinstance(block.data, Mapping) else {}
    if isinstance(block, Text):
        return joined({"text": block.text}, own)
    if isinstance(block, Thinking):
        signature = {} if block.signature is None else {"thoughtSignature": block.signature}
        return joined({"text": block.text, "thought": True, **signature}, own)
    if isinstance(block, Document):
        return joined(write_gemini_media(block), own)
    if isinstance(block, ToolUse):
        # Only an id of the provider's own: headish makes one for a call that came without (rule R20, made ids).
        id = {"id": block.id} if "id" in own and block.id is not None else {}
        call = joined({**id, "name": block.name, "args": input_of(block)}, own.get("functionCall"))
        return {"functionCall": call} | {key: own[key] for key in own if key not in ("id", "functionCall")}
    assert isinstance(block, ToolResult)
    return _write_result(block, own, losses)


def _write_result(block: ToolResult, own: Mapping[str, Any], losses: Losses) -> Part:
    texts = [each.text for each in block.content if isinstance(each, Text)]
    media = [_write_part(each, losses) for each in losses.own(block.content) if not isinstance(each, Text)]
    response: Part = {} if block.tool_use_id is None else {"id": block.tool_use_id}
    response |= {} if block.name is None else {"name": block.name}
    response["response"] = response_of(block, "\n".join(texts))
    response |= {"parts": media} if media else {}
    rest = {key: own[key] for key in own if key not in ("response", "functionResponse")}
    return {"functionResponse": joined(response, own.get("functionResponse")), **rest}


def response_of(block: ToolResult, said: str) -> Any:
    """The object of a result, in the shape in which a client gave it; else its text as output or error."""
    kind = opaque_of(block, PROVIDER).get("response")
    if kind == "json":
        try:
            return strictjson.decode(said, "a response")
        except InvalidContent:
            pass  # the result has other texts than the one that was read as JSON
    if kind == "result":
        return {"result": said}
    return {"error" if block.is_error else "output": said}


GEMINI = Form("gemini", PROVIDER, "contents", "systemInstruction", TRANSPORT, read, write)
