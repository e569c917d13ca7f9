"""Messages of LangChain's chat histories as turns, and back, by the mapping of ``frameworks.langchain``.

A message that would not come back equal is kept whole, as a block of the provider ``langchain`` after its text. Rows of
older versions, and turns of another origin, are read by the form ``chat``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
from msgspec.structs import replace

from headish.adapters.healing import NOTE, heal
from headish.adapters.langchain import APP, PROVIDER, Split, is_kind, join, make_split_draft, role_of, split, words_of
from headish.adapters.messages import (
    Draft,
    ProviderBlock,
    TranscriptMessage,
    check_json,
    decode_json,
    encode_json,
    erased_in,
    is_form,
    is_sayable,
    message_of_draft,
    write_form,
)
from headish.errors import HeadishError

WHOLE = "whole"
"""The type of a message that is kept whole."""
_TYPES = {"user": "human", "assistant": "ai", "system": "system", "developer": "system", "tool": "tool"}
_UNREADABLE = (HeadishError, LookupError, TypeError, ValueError, RecursionError)


def make_message_draft(message: BaseMessage, limit_bytes: int) -> Draft:
    """Make the draft of a message. Lone surrogates in it are replaced, and a note says so.

    Raises: TypeError if it is not JSON, as ``json.dumps``; TooLarge.
    """
    plain, is_healed = heal(message_to_dict(message))
    note = {"note": NOTE} if is_healed else {}
    try:
        if is_kind(plain["type"]):
            draft = make_split_draft(split(plain["type"], plain["data"]), limit_bytes, moves=True, note=note)
            # What will be read must equal the message: the mapping may not know a field of a newer LangChain.
            if messages_of(message_of_draft(draft), draft.app) == messages_from_dict([plain]):
                return draft
    except _UNREADABLE:
        pass  # it is kept whole
    return make_split_draft(_split_whole(message, plain), limit_bytes, moves=True, note=note)


def messages_of(kept: TranscriptMessage, app: bytes | None) -> list[BaseMessage]:
    """The messages of a turn: the one that it was made of, or for a turn of another origin those that say the same."""
    blocks = kept.message.content
    beside = decode_json(app).get(APP, {})
    last = blocks[-1] if blocks else None
    # An older version kept a whole message as the only block, without a type beside it.
    is_whole = beside.get("type") == WHOLE or (len(blocks) == 1 and "type" not in beside)
    if is_whole and isinstance(last, ProviderBlock) and last.provider == PROVIDER:
        data = last.data
        return messages_from_dict([data["message"] if "message" in data else json.loads(data["json"])])
    if is_kind(beside.get("type")) and not is_form(kept.system) and erased_in(blocks) is None:
        try:
            return messages_from_dict([_message(beside["type"], join(blocks, beside))])
        except _UNREADABLE:
            pass  # the turn has other blocks now than those it was made of, as an overlay shows it
    return _messages_of_chat(kept, beside)


def _message(kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """A message in the form that ``messages_from_dict`` reads."""
    return {"type": kind, "data": {"type": kind, **fields}}


def _split_whole(message: BaseMessage, given: Mapping[str, Any]) -> Split:
    text = json.dumps(given)
    try:
        check_json(given, "a message")
        data: Any = {"message": given}
        if json.dumps(decode_json(encode_json(data))["message"]) != text:
            data = {"json": text}
    except (HeadishError, ValueError, TypeError):
        data = {"json": text}
    role = role_of(given["type"], given["data"])
    return Split(role, [*words_of(message), ProviderBlock(PROVIDER, data)], {"type": WHOLE})


# Turns of another origin, and rows of older versions, by way of Chat Completions.


def _messages_of_chat(kept: TranscriptMessage, beside: Mapping[str, Any]) -> list[BaseMessage]:
    blocks = kept.message.content
    sayable = tuple(filter(is_sayable, blocks))
    if kept.message.role is None or (blocks and not sayable):
        return []
    entries = write_form("chat", TranscriptMessage(replace(kept.message, content=sayable), kept.system))
    return messages_from_dict([_message_of_chat(entry, beside) for entry in entries])


def _message_of_chat(entry: Mapping[str, Any], beside: Mapping[str, Any]) -> dict[str, Any]:
    type_beside = beside.get("type")
    kind = type_beside if is_kind(type_beside) else _TYPES.get(str(entry["role"]), "human")
    rest = beside.get("data", beside.get("rest", {}))
    fields: dict[str, Any] = {"content": entry.get("content") or "", **rest}
    calls: Sequence[Mapping[str, Any]] = entry.get("tool_calls") or ()
    if calls:
        fields["tool_calls"] = [_call(each) for each in calls if "function" in each]
    if kind == "tool":
        fields["tool_call_id"] = entry.get("tool_call_id") or ""
    return _message(kind, fields)


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call["function"]
    args = _arguments(function["arguments"])
    return {"name": function["name"], "args": args, "id": call.get("id"), "type": "tool_call"}


def _arguments(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"invalid_json": text}
