"""The tokens of OpenChatML 0.1; read the body of a message as blocks, and write blocks as a body.

A thought is enclosed by its two tokens. A function token opens a block only in its role and only before JSON of the
right shape. Everything else is kept as marks and exact text, so nothing is lost. One line break separates a thought,
call, output or list from its neighbours; it is not part of the text.

Source: README §2, §4, §8 (git 48037ee). Git 459e16e wrote the same token for ``<tools>`` and ``</tools>`` and dropped
the other closing tags, so a token after a payload closes it, unless a payload follows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from headish.transcripts.shared.jsontext import quote, read_json, read_members, scan_value, skip_blanks
from headish.transcripts.shared.source import BLANKS
from headish.transcripts.shared.transcript import arguments_of, make_call
from headish.values.blocks import ContentBlock, Mark, Text, Thinking, ToolDefinitions, ToolResult, ToolUse, join_texts

FRAMED = (Thinking, ToolUse, ToolResult, ToolDefinitions)
"""Blocks that a line break separates from their neighbours."""


class _Payload(Struct, frozen=True):
    """The block that a function token opened, and where its text ends."""

    block: ContentBlock
    end: int


def read_body(body: str, role: str | None, *, has_crlf: bool) -> list[ContentBlock]:
    """The blocks of a body in normal form. Only the line breaks beside framed blocks are left out."""
    tokens = list(BODY_TOKEN.finditer(body))
    blocks: list[ContentBlock] = []
    place, index = 0, 0
    while index < len(tokens):
        token, following = tokens[index], tokens[index + 1] if index + 1 < len(tokens) else None
        _add_text(blocks, body[place : token.start()])
        place, index = token.end(), index + 1
        kind = token.group(1).removeprefix("start_")
        # Reasoning has no token inside: with one between, the start and the end are marks.
        if following and kind != token.group(1) and following.group(1) == f"end_{kind}":
            blocks.append(Thinking(body[place : following.start()], kind))
            place, index = following.end(), index + 1
            continue
        payload = _read_payload(body, token, following, role)
        if payload is None:
            blocks.append(Mark(token.group()))
            continue
        blocks.append(payload.block)
        place = payload.end
        if following is not None and _closes(body, payload.end, token, tokens, index, role):
            blocks[-1] = replace(payload.block, closed=True)
            place, index = following.end(), index + 1
    _add_text(blocks, body[place:])
    return _without_breaks(blocks, "\r\n" if has_crlf else "\n")


def write_body(blocks: Sequence[ContentBlock]) -> str:
    """The text of blocks, with a line break beside each framed one."""
    body = ""
    for index, block in enumerate(blocks):
        if index and (isinstance(block, FRAMED) or isinstance(blocks[index - 1], FRAMED)):
            body += "\n"
        body += _WRITERS[type(block)](block)
    return body


def _read_payload(
    body: str, token: re.Match[str], following: re.Match[str] | None, role: str | None
) -> _Payload | None:
    """The block that a function token opens in this role, if JSON of its shape follows before the next token."""
    name = token.group(1)
    if role is None or FUNCTIONS.get(role) != name:
        return None
    segment = body[token.end() : following.start() if following else len(body)]
    payload = _READERS[name](segment)
    return None if payload is None else _Payload(payload.block, token.end() + payload.end)


def _closes(
    body: str, end: int, token: re.Match[str], tokens: list[re.Match[str]], index: int, role: str | None
) -> bool:
    """Whether the next token closes a payload: it is the same one, directly after it, and opens no block itself."""
    following = tokens[index]
    if following.group(1) != token.group(1) or body[end : following.start()].strip(BLANKS):
        return False
    behind = tokens[index + 1] if index + 1 < len(tokens) else None
    return _read_payload(body, following, behind, role) is None


def _read_call(segment: str) -> _Payload | None:
    found = read_members(segment)
    if found is None:
        return None
    members, begin, end = found
    name, arguments, call_id = (_value(members, key) for key in ("name", "arguments", "id"))
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return None
    raw = members["arguments"][1]
    call = make_call(name, raw, id=call_id if isinstance(call_id, str) else None)
    # The exact JSON is kept only if the writer would write it differently.
    source = segment[begin:end]
    return _Payload(call if _write_call_json(call) == source else replace(call, envelope=source), end)


def _read_output(segment: str) -> _Payload | None:
    found = read_members(segment)
    if found is None:
        return None
    members, begin, end = found
    name, content, call_id = (_value(members, key) for key in ("name", "content", "id"))
    if not isinstance(name, str) or not isinstance(content, str | dict | list):
        return None
    text = content if isinstance(content, str) else members["content"][1]
    failed = True if _value(members, "is_error") is True else None
    content_blocks = (Text(text),) if text else ()
    result = ToolResult(call_id if isinstance(call_id, str) else None, name, content_blocks, failed)
    source = segment[begin:end]
    return _Payload(result if _write_output_json(result) == source else replace(result, envelope=source), end)


def _read_list(segment: str) -> _Payload | None:
    begin = end = skip_blanks(segment, 0)
    place = begin
    while segment[place : place + 1] in ("{", "["):
        scanned = scan_value(segment, place)
        if scanned is None:
            break
        end = scanned[1]
        place = skip_blanks(segment, end)
    return _Payload(ToolDefinitions(segment[begin:end]), end) if end > begin else None


def _value(members: dict[str, tuple[Any, str]], key: str) -> Any:
    return members[key][0] if key in members else None


def _add_text(blocks: list[ContentBlock], text: str) -> None:
    if text:
        blocks.append(Text(text))


def _without_breaks(blocks: list[ContentBlock], line_break: str) -> list[ContentBlock]:
    """The blocks without the one line break on each side of a framed block."""
    trimmed: list[ContentBlock] = []
    for index, block in enumerate(blocks):
        if isinstance(block, Text):
            text = block.text
            if index and isinstance(blocks[index - 1], FRAMED):
                text = _without(text, line_break, at_start=True)
            if index + 1 < len(blocks) and isinstance(blocks[index + 1], FRAMED):
                text = _without(text, line_break, at_start=False)
            if text:
                trimmed.append(Text(text))
        else:
            trimmed.append(block)
    return trimmed


def _without(text: str, line_break: str, *, at_start: bool) -> str:
    # Even in a text with CRLF, some line breaks may be bare line feeds.
    for each in dict.fromkeys((line_break, "\n")):
        if at_start and text.startswith(each):
            return text.removeprefix(each)
        if not at_start and text.endswith(each):
            return text.removesuffix(each)
    return text


def _write_call_json(call: ToolUse) -> str:
    call_id = "" if call.id is None else f', "id": {quote(call.id)}'
    return f'{{"arguments": {arguments_of(call)}, "name": {quote(call.name)}{call_id}}}'


def _write_output_json(result: ToolResult) -> str:
    text = join_texts(result.content)
    # A tool's JSON is written as JSON, not as a string of JSON: reading makes the same text of both.
    value = text if _is_json_structure(text) else quote(text)
    members = [f'"name": {quote(result.name or "")}', f'"content": {value}']
    members += [] if result.tool_use_id is None else [f'"id": {quote(result.tool_use_id)}']
    members += ['"is_error": true'] if result.is_error else []
    return "{\n  " + ",\n  ".join(members) + "\n}"


def _is_json_structure(text: str) -> bool:
    return text[:1] in ("{", "[") and text[-1:] in ("}", "]") and isinstance(read_json(text), dict | list)


def _write_call(call: ToolUse) -> str:
    end = "\n<|function_call|>" if call.closed else ""
    return f"<|function_call|>\n{call.envelope or _write_call_json(call)}{end}"


def _write_output(result: ToolResult) -> str:
    end = "\n<|function_output|>" if result.closed else ""
    return f"<|function_output|>\n{result.envelope or _write_output_json(result)}{end}"


_READERS: dict[str, Callable[[str], _Payload | None]] = {
    "function_call": _read_call,
    "function_output": _read_output,
    "function_list": _read_list,
}
_WRITERS: dict[type, Callable[[Any], str]] = {
    Text: lambda block: block.text,
    Mark: lambda block: block.token,
    Thinking: lambda block: f"<|start_{block.kind}|>{block.text}<|end_{block.kind}|>",
    ToolUse: _write_call,
    ToolResult: _write_output,
    ToolDefinitions: lambda block: f"<|function_list|>\n{block.raw}" + ("\n<|function_list|>" if block.closed else ""),
}


IM_START, IM_END = "<|im_start|>", "<|im_end|>"
THOUGHTS = ("reflect", "introspect", "reason")
FUNCTIONS = {"assistant": "function_call", "tool": "function_output", "system": "function_list"}
"""The function token that opens a block in each role; in another role it is a mark."""
NAMES = (
    "fim_prefix", "fim_suffix", "fim_middle", "file_separator", *THOUGHTS,
    *(f"{edge}_{kind}" for kind in THOUGHTS for edge in ("start", "end")),
    "function_list", "function_output", "function_call",
)  # fmt: skip
ANY_TOKEN = re.compile(rf"<\|(?:im_start|im_end|{'|'.join(NAMES)})\|>")
_FRAME = re.compile(r"^<\|start\|>", re.MULTILINE)
BODY_TOKEN = re.compile(rf"<\|({'|'.join(NAMES)})\|>")


def is_framed(text: str) -> bool:
    """Whether a text is OpenChatML 2.x: a line begins with a frame before any token of 0.1 (2.2 §13)."""
    frame = _FRAME.search(text)
    if frame is None or "<|message|>" not in text:
        return False
    token = BODY_TOKEN.search(text)
    return token is None or frame.start() < token.start()
