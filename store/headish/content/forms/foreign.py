"""Read an API's messages as another program stored them: a part that the form refuses becomes a provider block, and
the rest of the message is read.

A client gets an error and can mend its message; nobody mends a file. So a part that no reader takes is kept whole for
its provider. What a form keeps whole because only the API can take it back is opened, so that people can read it:
reasoning without a signature, calls and results of custom tools, and messages between agents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from headish.content import strictjson
from headish.content.forms.parts import FORM, WHAT, Form, NeutralEntry, keep, list_at, without
from headish.content.forms.reading import prove
from headish.content.forms.table import FORMS
from headish.errors import InvalidContent
from headish.values.blocks import ContentBlock, ProviderBlock, Text, Thinking, ToolResult, ToolUse

Entry = Mapping[str, Any]
AGENT_MESSAGE = "agent_message"
_SAID = frozenset(("role", "content", "parts", "type"))


class ForeignMessage(NamedTuple):
    """A message of another program. ``form`` says how it was written (``system.form``). It is None if the form cannot
    give the message back; then ``rest`` holds what the blocks do not say."""

    role: str
    blocks: tuple[ContentBlock, ...]
    form: Mapping[str, Any] | None = None
    speaker: str | None = None
    rest: Mapping[str, Any] = {}


def read_kept(name: str, entry: Entry, *, is_sound: bool = False) -> ForeignMessage:
    """Read one entry of a form, or one item. ``is_sound``: ``strictjson.is_sound`` is true of it.

    Raises: TooDeep; InvalidContent for what no database can hold.
    """
    form = FORMS[name]
    if not is_sound and strictjson.encode_read(entry) is None:
        strictjson.check(entry, WHAT)
    plain = entry if is_sound else strictjson.plain(entry)
    opened = _open_item(plain) if form.list_name == "input" else None
    if opened is not None:
        return opened
    neutral = _read(form, plain)
    if ProviderBlock in map(type, neutral.blocks):
        neutral = neutral._replace(blocks=tuple(map(_opened, neutral.blocks)))
    read = prove(form, neutral, [plain])
    last = read.blocks[-1] if len(read.blocks) > len(neutral.blocks) else None
    if isinstance(last, ProviderBlock) and "=" in last.data[FORM]:
        # The difference is the entry itself: keeping it would double each such message.
        rest = {key: value for key, value in plain.items() if key not in _SAID and value is not None}
        return ForeignMessage(neutral.role, neutral.blocks, speaker=neutral.speaker, rest=rest)
    return ForeignMessage(read.role, read.blocks, read.form, read.speaker)


def _read(form: Form, entry: Entry) -> NeutralEntry:
    try:
        return form.read(entry)
    except InvalidContent:
        return _read_parts(form, entry)


def _read_parts(form: Form, entry: Entry) -> NeutralEntry:
    """Read an entry part by part. Parts that are refused become provider blocks, and so does an entry without parts."""
    at = "parts" if "parts" in entry else "content"
    parts = entry.get(at)
    try:
        neutral = form.read({key: value for key, value in entry.items() if key != at})
        listed = list_at(parts, at)
    except InvalidContent:
        role = entry.get("role")
        return NeutralEntry(
            role if role in ("user", "system", "developer") else "assistant", (_own(form.provider, entry),)
        )
    blocks = [block for part in listed for block in _read_part(form, {"role": entry.get("role"), at: [part]}, part)]
    return neutral._replace(blocks=(*blocks, *neutral.blocks))


def _read_part(form: Form, entry: Entry, part: Any) -> Sequence[ContentBlock]:
    if isinstance(part, str):
        return (Text(part),)
    try:
        return form.read(entry).blocks
    except InvalidContent:
        return (_own(form.provider, part),)


def _own(provider: str, part: Any) -> ProviderBlock:
    return ProviderBlock(provider, part if isinstance(part, Mapping) else {"type": "unknown", "value": part})


def _opened(block: ContentBlock) -> ContentBlock:
    """Open Anthropic's reasoning without a signature: the API does not take it back, but people read it."""
    data = block.data if isinstance(block, ProviderBlock) else None
    if not isinstance(data, Mapping) or data.get("type") != "thinking" or not isinstance(data.get("thinking"), str):
        return block
    assert isinstance(block, ProviderBlock)
    rest = {key: value for key, value in data.items() if key not in ("type", "thinking") and value not in (None, [])}
    return Thinking(data["thinking"], provider=block.provider, opaque=keep(block.provider, rest))


# Items of OpenAI's Responses API that the form keeps whole.


def _open_item(item: Entry) -> ForeignMessage | None:
    kind = item.get("type")
    opened = _ITEMS.get(kind) if isinstance(kind, str) else None
    return None if opened is None else opened(item)


def _open_call(item: Entry) -> ForeignMessage | None:
    """Open a call of a custom tool, whose input is any text."""
    if not isinstance(item.get("name"), str) or not isinstance(item.get("input"), str):
        return None
    call = {"type": "function_call", "name": item["name"], "arguments": item["input"], "call_id": _call_id(item)}
    return _as(FORMS["responses"].read(call), item, ("type", "name", "input", "call_id"))


def _open_shell(item: Entry) -> ForeignMessage | None:
    action = item.get("action")
    if not isinstance(action, Mapping):
        return None
    call = ToolUse("local_shell", _call_id(item), dict(action))
    return _as(NeutralEntry("assistant", (call,)), item, ("type", "action", "call_id"))


def _open_result(item: Entry) -> ForeignMessage | None:
    """Open the result of a custom tool, or that of a function for which older versions of Codex wrote
    ``{content, success}``."""
    output = item.get("output")
    is_object = isinstance(output, Mapping)
    content = output.get("content") if isinstance(output, Mapping) else output
    if not isinstance(content, str | list) or (item.get("type") == "function_call_output" and not is_object):
        return None
    parts = content if isinstance(content, list) else [{"type": "input_text", "text": content}]
    blocks = _read(FORMS["responses"], {"role": "user", "content": parts}).blocks
    succeeded = output.get("success") if isinstance(output, Mapping) else None
    failed = not succeeded if isinstance(succeeded, bool) else None
    result = ToolResult(_call_id(item), content=blocks, is_error=failed)
    return _as(NeutralEntry("tool", (result,)), item, ("type", "call_id", "output"))


def _open_routed(item: Entry) -> ForeignMessage | None:
    """Open a message from another agent: a task, or a report. It is written to the model, not by it."""
    content = item.get("content")
    if not isinstance(content, list):
        return None
    blocks = _read(FORMS["responses"], {"role": "user", "content": content}).blocks
    return _as(NeutralEntry("user", blocks), item, ("type", "content"))


def _call_id(item: Entry) -> str | None:
    call_id = item.get("call_id") or item.get("id")
    return call_id if isinstance(call_id, str) else None


def _as(said: NeutralEntry, item: Entry, own: tuple[str, ...]) -> ForeignMessage:
    rest = {key: value for key, value in without(item, own).items() if value is not None}
    return ForeignMessage(said.role, said.blocks, rest={**rest, "type": item["type"]})


_ITEMS: dict[str, Callable[[Entry], ForeignMessage | None]] = {
    "custom_tool_call": _open_call,
    "local_shell_call": _open_shell,
    "custom_tool_call_output": _open_result,
    "function_call_output": _open_result,
    AGENT_MESSAGE: _open_routed,
}
