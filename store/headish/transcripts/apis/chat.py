"""A transcript as the messages of OpenAI's Chat Completions, and back.

Source: OpenAI's chat types (read 2026-11-20); the RWKV template's table, whose ``function_call`` beside ``tool`` the
API refuses: it is read and never written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from headish.content.forms.calls import CHAT_CALL, CHAT_RESULT, FUNCTION, chat_call, chat_result
from headish.errors import InvalidInterchange, Unmappable
from headish.transcripts.apis.steps import ApiStep, read_call, read_steps, text_of, to_transcript
from headish.transcripts.shared.jsontext import list_of, optional_list, refuse_keys, string
from headish.transcripts.shared.transcript import Transcript
from headish.values.checks.doors import an, door

TARGET = "list of chat messages"
_TEXT = ("role", "content", "name")
_KEYS = {
    "system": _TEXT, "developer": _TEXT, "user": _TEXT, "function": _TEXT,
    "assistant": ("role", "content", "name", "tool_calls", "function_call"),
    "tool": CHAT_RESULT.all,
}  # fmt: skip


@door(transcript=an(Transcript))
def to_chat(transcript: Transcript) -> dict[str, Any]:
    """``{messages: […]}``; calls stand on the assistant's message directly before them.

    Raises: Unmappable (E-MAP-UNREPRESENTABLE) for what would not come back.
    """
    steps = read_steps(transcript, TARGET)
    # A call that nothing answers waits for nothing.
    answered = {step.id for step in steps if step.kind == "result"}
    messages: list[dict[str, Any]] = []
    waiting: set[str | None] = set()
    for step in steps:
        if step.kind == "result":
            waiting.discard(step.id)
            messages.append(chat_result(step.id, step.text))
            continue
        joins = step.kind == "call" and bool(messages) and messages[-1]["role"] == "assistant"
        # The API wants the results directly after the message that calls.
        if waiting and not joins:
            raise Unmappable(TARGET, "a message between a call and its result")
        if step.kind == "text":
            messages.append({"role": step.role, "content": step.text})
            continue
        if not joins:
            messages.append({"role": "assistant", "content": None})
        messages[-1].setdefault("tool_calls", []).append(chat_call(step.id, step.name or "", step.text))
        waiting |= {step.id} & answered
    return {"messages": messages}


def from_chat(data: Mapping[str, Any]) -> Transcript:
    """The transcript of ``{messages: […]}``; keys beside the messages are ignored.

    Raises: InvalidInterchange (E-MAP-INPUT) for what a transcript does not carry.
    """
    return to_transcript(_read_messages(list_of(data, "messages", TARGET)), TARGET)


def _read_messages(messages: list[Mapping[str, Any]]) -> Iterator[ApiStep]:
    known: set[str] = set()
    legacy: list[int] = []
    # A list, because a later result may give an earlier call its id.
    steps: list[ApiStep] = []
    for index, message in enumerate(messages):
        path = f"$.messages[{index}]"
        role = message.get("role")
        if not isinstance(role, str) or role not in _KEYS:
            raise InvalidInterchange(TARGET, f"a message of role {role!r}", path)
        refuse_keys(message, _KEYS[role], TARGET, path)
        if role == "assistant":
            for step in _read_assistant(message, path):
                if step.kind == "call" and step.id is None:
                    legacy.append(len(steps))
                elif step.kind == "call":
                    known.add(step.id or "")
                steps.append(step)
        elif role in ("tool", "function"):
            steps.append(_read_result(message, path, steps, legacy, known))
        else:
            steps.append(_read_text(message, path))
    return iter(steps)


def _read_assistant(message: Mapping[str, Any], path: str) -> Iterator[ApiStep]:
    calls, legacy = optional_list(message, "tool_calls", TARGET, path), message.get("function_call")
    if message.get("content") is None and not calls and legacy is None:
        raise InvalidInterchange(TARGET, "an assistant message with neither text nor calls", path)
    if message.get("content") is not None:
        yield _read_text(message, path)
    elif message.get("name") is not None:
        raise InvalidInterchange(TARGET, "a speaker's name without a text", path)
    for place, call in enumerate(calls):
        where = f"{path}.tool_calls[{place}]"
        if not isinstance(call, Mapping) or not isinstance(call.get("function"), Mapping):
            raise InvalidInterchange(TARGET, "a call that is not a function call", where)
        refuse_keys(call, CHAT_CALL, TARGET, where)
        yield read_call(call["function"], FUNCTION, TARGET, where, id=string(call, "id", TARGET, where))
    if legacy is not None:
        if not isinstance(legacy, Mapping):
            raise InvalidInterchange(TARGET, "function_call is an object", path)
        yield read_call(legacy, FUNCTION, TARGET, f"{path}.function_call")


def _read_text(message: Mapping[str, Any], path: str) -> ApiStep:
    name = message.get("name")
    if name is not None and not isinstance(name, str):
        raise InvalidInterchange(TARGET, "name must be a string", f"{path}.name")
    text = text_of(message.get("content"), TARGET, f"{path}.content")
    return ApiStep(kind="text", role=str(message["role"]), text=text, name=name)


def _read_result(
    message: Mapping[str, Any], path: str, steps: list[ApiStep], legacy: list[int], known: set[str]
) -> ApiStep:
    """Read a result. Without an id, or with an unknown one, it answers the earliest open call that has no id."""
    text = text_of(message.get("content"), TARGET, f"{path}.content")
    name = message.get("name")
    call_id = message.get("tool_call_id")
    if message["role"] == "tool":
        call_id = string(message, "tool_call_id", TARGET, path)
    if call_id not in known:
        place = next((at for at in legacy if name in (None, steps[at].name)), None)
        if place is None:
            raise InvalidInterchange(TARGET, "a result without its call", path)
        legacy.remove(place)
        # An id like those that headish makes: it pairs the two steps, and ``to_transcript`` removes it.
        call_id = call_id or f"noid_{place + 1}"
        steps[place] = replace(steps[place], id=call_id)
    return ApiStep(kind="result", role="tool", text=text, name=name, id=call_id)
