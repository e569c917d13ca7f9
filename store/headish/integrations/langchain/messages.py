"""Messages of LangChain as turns, and back: one turn for each message.

What a message says (its text, pictures, calls, the result of a call) is the turn's blocks, by way of the form ``chat``.
What else it holds (ids, usage, ``additional_kwargs`` …) stands in ``meta.app["langchain"]``. A message that does not
come back so is one block of the provider ``langchain``, whole.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
from msgspec.structs import replace

from headish.content import strictjson
from headish.content.drafts import Draft, make_plain_draft, make_read_draft
from headish.content.forms.chat import CHAT
from headish.content.forms.parts import Losses
from headish.content.forms.reading import read_turn
from headish.content.forms.writing import write_turn
from headish.errors import HeadishError
from headish.integrations.shared.healing import NOTE, heal
from headish.values.blocks import Erased, Mark, Other, ProviderBlock, Tools
from headish.values.messages import Kept, Message

OWN = "langchain"
"""The provider of a block that holds a whole message, and the key of ``meta.app`` under which the rest stands."""
LARGEST_BESIDE = 256 * 1024
_ROLES = {"human": "user", "HumanMessageChunk": "user", "ai": "assistant", "AIMessageChunk": "assistant",
          "system": "system", "tool": "tool"}  # fmt: skip
_TYPES = {"user": "human", "assistant": "ai", "system": "system", "developer": "system", "tool": "tool"}
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def make_message_draft(message: BaseMessage, limit_bytes: int) -> Draft:
    """The draft of a message. Lone surrogates in it are replaced, and a note says so.

    Raises: TypeError for what is no JSON, as ``json.dumps``; TooLarge.
    """
    given, is_healed = heal(message_to_dict(message))
    note = {"note": NOTE} if is_healed else {}
    try:
        draft = _draft_of_form(given, note, limit_bytes)
        if draft is not None and messages_of(_kept(draft), draft.app) == messages_from_dict([given]):
            return draft
    except (HeadishError, TypeError, ValueError, KeyError, RecursionError):
        pass  # it is kept whole
    return _draft_of_whole(given, note, limit_bytes)


def messages_of(kept: Kept, app: bytes | None) -> list[BaseMessage]:
    """The messages of a turn: the one that it was made of, or of a turn of another origin those that say the same."""
    blocks = kept.message.content
    if len(blocks) == 1 and isinstance(blocks[0], ProviderBlock) and blocks[0].provider == OWN:
        data = blocks[0].data
        return messages_from_dict([data["message"] if "message" in data else json.loads(data["json"])])
    sayable = tuple(block for block in blocks if not isinstance(block, Erased | Mark | Tools | Other))
    if kept.message.role is None or (blocks and not sayable):
        return []
    written, _ = write_turn(
        CHAT, Kept(replace(kept.message, content=sayable), kept.system), Losses("chat", CHAT.provider)
    )
    beside = {} if app is None else _decode(app).get(OWN, {})
    return messages_from_dict([_message(entry, beside) for entry in written])


def _draft_of_form(given: Mapping[str, Any], note: Mapping[str, Any], limit_bytes: int) -> Draft | None:
    kind, data = given["type"], given["data"]
    if kind not in _ROLES:
        return None
    entry: dict[str, Any] = {"role": _ROLES[kind], "content": data["content"]}
    if data.get("tool_calls"):
        entry["tool_calls"] = [_call(each) for each in data["tool_calls"]]
    if kind == "tool":
        entry["tool_call_id"] = data["tool_call_id"]
    read = read_turn(entry, {"form": CHAT.name})
    if read is None:
        return None
    said = ("content", "type", "tool_calls", "tool_call_id")
    rest = {key: value for key, value in data.items() if key not in said and value not in (None, "", [], {})}
    beside = {"type": kind, **({"data": rest} if rest else {}), **note}
    app = strictjson.encode({OWN: beside})
    return None if len(app) > LARGEST_BESIDE else replace(make_read_draft(read, {}, limit_bytes), app=app)


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    arguments = strictjson.encode(call["args"]).decode()
    return {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": arguments}}


def _message(entry: Mapping[str, Any], beside: Mapping[str, Any]) -> dict[str, Any]:
    """A message as ``messages_from_dict`` takes it."""
    kind = beside.get("type") or _TYPES.get(str(entry["role"]), "human")
    data: dict[str, Any] = {"type": kind, "content": entry.get("content") or "", **beside.get("data", {})}
    calls: Sequence[Mapping[str, Any]] = entry.get("tool_calls") or ()
    if calls:
        data["tool_calls"] = [
            {
                "name": each["function"]["name"],
                "args": _arguments(each["function"]["arguments"]),
                "id": each.get("id"),
                "type": "tool_call",
            }
            for each in calls
            if "function" in each
        ]
    if kind == "tool":
        data["tool_call_id"] = entry.get("tool_call_id") or ""
    return {"type": kind, "data": data}


def _arguments(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"invalid_json": text}


def _draft_of_whole(given: Mapping[str, Any], note: Mapping[str, Any], limit_bytes: int) -> Draft:
    text = json.dumps(given)
    try:
        strictjson.check(given, "a message")
        data: Any = {"message": given}
        if json.dumps(_decode(strictjson.encode(data))["message"]) != text:
            data = {"json": text}
    except (HeadishError, ValueError, TypeError):
        data = {"json": text}
    draft = make_plain_draft([ProviderBlock(OWN, data)], _ROLES.get(given["type"], "user"), limit_bytes)
    return replace(draft, app=strictjson.encode({OWN: note})) if note else draft


def _kept(draft: Draft) -> Kept:
    from headish.content.encoding import decode_payload

    message = Message(role=draft.said.role, content=decode_payload(draft.payload))
    return Kept(message, {} if draft.system is None else _decode(draft.system))
