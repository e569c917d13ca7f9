"""What the three agent APIs share: turn a transcript into steps with ids, and steps back into messages.

A step is one text, call or result. Writing gives calls without an id ``noid_n``, so that every result names its call;
reading removes these ids. Anything that would not survive the round trip is refused.

Source: the RWKV template's "Mapping to major APIs"; what today's APIs take outranks its tables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from headish.content.forms.calls import BlockKeys
from headish.errors import InvalidInterchange, Unmappable
from headish.transcripts.shared.jsontext import quote, read_json, refuse_keys, string
from headish.transcripts.shared.pairs import only_block, pair_replies
from headish.transcripts.shared.transcript import Transcript, arguments_of, make_call, make_message, stop_of, usual_stop
from headish.values.blocks import Text, Thinking, ToolResult, ToolUse
from headish.values.messages import NO_ATTRIBUTES, Message

ROLES = ("system", "developer", "user", "assistant")
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MADE_ID = re.compile(r"noid_[0-9]+")


class ApiStep(Struct, frozen=True, kw_only=True):
    """One text, call or result. ``id`` is that of the call; a result has the id of the call that it answers."""

    kind: str
    role: str
    text: str = ""
    name: str | None = None
    id: str | None = None
    is_error: bool | None = None


def read_steps(transcript: Transcript, target: str) -> list[ApiStep]:
    """The steps of a transcript. Raises: Unmappable, also for a message that is not exactly one block."""
    if transcript.header is not None or transcript.header_raw is not None or transcript.tail is not None:
        raise Unmappable(target, "a header, or the unread rest of a partial reading", drop="header")
    steps = [_read_message(message, target) for message in transcript.messages]
    return _with_ids(steps, transcript.messages, target)


def to_transcript(steps: Iterable[ApiStep], target: str) -> Transcript:
    """The transcript of steps that were read from an API's JSON. Raises: InvalidInterchange."""
    messages: list[Message] = []
    names: dict[str, str] = {}
    for step in steps:
        call_id = None if step.id is None or _MADE_ID.fullmatch(step.id) else step.id
        if step.kind == "call":
            if step.id is not None:
                names[step.id] = step.name or ""
            messages.append(make_message("assistant", [make_call(step.name or "", step.text, id=call_id)]))
        elif step.kind == "result":
            name = names.get(step.id or "")
            if name is None or (step.name is not None and step.name != name):
                raise InvalidInterchange(target, f"a result of the call {step.id!r}, which is not there")
            texts = (Text(step.text),) if step.text else ()
            messages.append(make_message("tool", [ToolResult(call_id, name, texts, step.is_error)]))
        else:
            texts = (Text(step.text),) if step.text else ()
            messages.append(make_message(step.role, texts, speaker=step.name))
    return Transcript(messages=tuple(messages))


def text_of(content: Any, target: str, path: str, kinds: Sequence[str] = ("text",)) -> str:
    """The text of a string or of a list with one text part. Raises: InvalidInterchange."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or len(content) != 1 or not isinstance(content[0], Mapping):
        raise InvalidInterchange(target, "content is a string, or a list with one text part", path)
    part = content[0]
    if part.get("type") not in kinds or not isinstance(part.get("text"), str):
        raise InvalidInterchange(target, f"a part of type {part.get('type')!r}", f"{path}[0]")
    refuse_keys(part, ("type", "text"), target, f"{path}[0]")
    return str(part["text"])


def read_call(
    said: Mapping[str, Any],
    keys: BlockKeys,
    target: str,
    path: str,
    *,
    id: str | None = None,
    further: Sequence[str] = (),
) -> ApiStep:
    """Read a call of an API; any key except its own and the ``further`` ones is refused. ``id`` is for APIs that keep
    the call's id elsewhere than beside its name. Raises: InvalidInterchange."""
    refuse_keys(said, (*keys.all, *further), target, path)
    id = string(said, keys.id, target, path) if keys.id else id
    text = arguments_text(said.get(keys.body), target, f"{path}.{keys.body}")
    return ApiStep(kind="call", role="assistant", text=text, name=string(said, "name", target, path), id=id)


def arguments_text(value: Any, target: str, path: str) -> str:
    """The text of arguments that came as text, an object or a list. Raises: InvalidInterchange."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        return quote(value)
    raise InvalidInterchange(target, "arguments are text or an object", path)


def as_object(raw: str) -> Any:
    """The object of a call's arguments; UNSET if they are not a JSON object, repeat a key or hold half a character."""
    try:
        # An API takes the object, so a repeated key would come back once.
        value = json.loads(raw, object_pairs_hook=_unique)
        if "\\u" in raw:
            quote(value).encode()  # half a character has no UTF-8
    except (ValueError, RecursionError):
        return UNSET
    return value if isinstance(value, dict) and read_json(raw) is not UNSET else UNSET


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a key appears twice")
    return record


def _read_message(message: Message, target: str) -> ApiStep:
    # ``tight`` is layout of OpenChatML 0.1 and says nothing.
    attributes = replace(message.attributes, tight=False)
    stop = stop_of(message)
    if stop != usual_stop(message):
        what = "a message that was cut off" if stop == "none" else f"a message that ends in {stop!r}"
        raise Unmappable(target, what, turn=message.turn, drop="stop")
    if replace(attributes, stop=None) != NO_ATTRIBUTES:
        raise Unmappable(target, "the attributes of a message, such as a speaker's name", turn=message.turn)
    block = only_block(message)
    if isinstance(block, ToolUse) and message.role == "assistant":
        if _TOOL_NAME.fullmatch(block.name) is None:
            raise Unmappable(target, f"a tool named {block.name[:80]!r}", turn=message.turn)
        return ApiStep(kind="call", role="assistant", text=arguments_of(block), name=block.name, id=block.id)
    if isinstance(block, ToolResult) and message.role == "tool":
        text = _one_text(block.content, message, target)
        return ApiStep(
            kind="result", role="tool", text=text, name=block.name, id=block.tool_use_id, is_error=block.is_error
        )
    if message.role not in ROLES:
        raise Unmappable(target, f"text of role {message.role!r}", turn=message.turn)
    return ApiStep(kind="text", role=message.role, text=_one_text(message.content, message, target))


def _one_text(blocks: Sequence[Any], message: Message, target: str) -> str:
    if not blocks:
        return ""
    if len(blocks) > 1 or not isinstance(blocks[0], Text) or blocks[0].literal or not blocks[0].text:
        thinks = any(isinstance(block, Thinking) for block in blocks)
        what = "reasoning" if thinks else "a message that is not one block of text, call or result"
        raise Unmappable(target, what, turn=message.turn, drop="thinking" if thinks else None)
    return blocks[0].text


def _with_ids(steps: list[ApiStep], messages: Sequence[Message], target: str) -> list[ApiStep]:
    """Give every call an id of its own, and every result the id of the call that it answers."""
    pairs = pair_replies(messages)
    ids: dict[int, str] = {}
    used_ids: set[str] = set()
    answered: set[int] = set()
    count = 0
    numbered: list[ApiStep] = []
    for index, step in enumerate(steps):
        turn = messages[index].turn
        if step.kind == "call":
            count += step.id is None
            ids[index] = f"noid_{count}" if step.id is None else step.id
            # Reading removes ``noid_`` ids as made ones, so a transcript's own cannot begin so.
            if step.id is not None and (step.id in used_ids or step.id.startswith("noid_") or not step.id):
                raise Unmappable(target, f"the call id {step.id!r}", turn=turn, drop="call_id")
            used_ids.add(ids[index])
            step = replace(step, id=ids[index])
        elif step.kind == "result":
            call_index = pairs.get(index)
            if call_index is None or call_index in answered or step.name not in (None, steps[call_index].name):
                raise Unmappable(target, "a result without its call", turn=turn)
            answered.add(call_index)
            step = replace(step, id=ids[call_index])
        numbered.append(step)
    return numbered
