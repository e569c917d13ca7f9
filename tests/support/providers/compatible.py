"""Scripted servers that speak like OpenAI's Chat Completions, each as its sources say: what it refuses, what it wants.

They are written from the sources of the dialects' table, and not from the table: a row that says something else fails.

    with CompatibleServer(SERVERS["deepseek"]) as server:
        ...a tool loop against server.url...

A request without a result is answered by reasoning and a call, any other by reasoning and a text. What a server refuses
is status 400 with its own words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from support.loopback import JSON, Answer, Loopback, event_stream

Check = Callable[[Mapping[str, Any]], str | None]
"""What a server has against a body; None for nothing."""
Chunks = list[dict[str, Any]]
THOUGHTS = ("The user wants a height. I look it up.", "8611 it is.")
SIGNATURE = "c2lnbmF0dXJlIG9mIHRoZSBjYWxs"
DETAILS = [
    {"type": "reasoning.text", "text": "The user wants ", "format": "unknown", "index": 0},
    {"type": "reasoning.text", "text": "a height. I look it up.", "signature": "c2ln", "index": 0},
    {"type": "reasoning.encrypted", "data": "ZW5jcnlwdGVk", "id": "rs_1", "index": 1},
]
WHOLE_DETAILS = [
    {"type": "reasoning.text", "text": "The user wants a height. I look it up.", "format": "unknown",
     "signature": "c2ln", "index": 0},
    {"type": "reasoning.encrypted", "data": "ZW5jcnlwdGVk", "id": "rs_1", "index": 1},
]  # fmt: skip


class Compatible(NamedTuple):
    """How a server behaves: how it says reasoning and calls, and what it checks."""

    says: Callable[[str], Chunks]
    """The deltas of a reasoning and of what stands between it and the answer."""
    checks: tuple[Check, ...] = ()
    id: str = "call_1"
    call: Mapping[str, Any] = {}
    """What stands beside the call."""


class CompatibleServer(Loopback):
    """The server. ``refused`` holds what it had against the requests."""

    def __init__(self, behaviour: Compatible) -> None:
        super().__init__()
        self.behaviour = behaviour
        self.refused: list[str] = []

    def next_answer(self) -> Answer:
        """For the handler: the answer to the last request."""
        body = self.requests[-1].body
        problems = [problem for check in self.behaviour.checks if (problem := check(body)) is not None]
        if problems:
            self.refused.append(problems[0])
            return Answer([json.dumps({"error": {"message": problems[0]}}).encode()], 400, JSON)
        return Answer([*event_stream(self._answer(body)), b"data: [DONE]\n\n"], 200)

    def _answer(self, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        behaviour, calls = self.behaviour, not any(message["role"] == "tool" for message in body["messages"])
        deltas = [{"role": "assistant", "content": ""}, *behaviour.says(THOUGHTS[not calls])]
        if calls:
            function = {"name": "height", "arguments": ""}
            begun = {"index": 0, "id": behaviour.id, "type": "function", "function": function, **behaviour.call}
            deltas.append({"tool_calls": [begun]})
            deltas += [
                {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in ('{"pe', 'ak":"K2"}')
            ]
        else:
            deltas += [{"content": "K2 is "}, {"content": "8611 m high."}]
        for delta in deltas:
            yield _chunk(delta, None)
        yield _chunk({}, "tool_calls" if calls else "stop")


def _chunk(delta: Mapping[str, Any], stop: str | None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": stop}
    return {"id": "c-1", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]}


# How reasoning is said.


def under(*keys: str) -> Callable[[str], Chunks]:
    """Reasoning as a key of the message, in pieces; as two keys that say the same."""
    return lambda thought: [dict.fromkeys(keys, piece) for piece in _pieces(thought)]


def between(tag: str, gap: str = "\n\n") -> Callable[[str], Chunks]:
    """Reasoning inside the content, its tags cut in two."""

    def say(thought: str) -> Chunks:
        content = f"<{tag}>\n{thought}\n</{tag}>{gap}"
        return [{"content": content[at : at + 5]} for at in range(0, len(content), 5)]

    return say


def in_parts(thought: str) -> Chunks:
    """Reasoning as a part of the content."""
    return [
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": piece}]}]} for piece in _pieces(thought)
    ]


def detailed(thought: str) -> Chunks:
    """OpenRouter's two ways at once."""
    if thought != THOUGHTS[0]:
        return [{"reasoning": thought}]
    return [{"reasoning": each.get("text", ""), "reasoning_details": [each]} for each in DETAILS]


def _pieces(text: str) -> list[str]:
    return [text[:9], text[9:20], text[20:]]


# What is checked.


def answers(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [message for message in body["messages"] if message["role"] == "assistant"]


def roles(*known: str) -> Check:
    """Another role than these is an error."""

    def check(body: Mapping[str, Any]) -> str | None:
        odd = next((message["role"] for message in body["messages"] if message["role"] not in known), None)
        return None if odd is None else f"messages.role: unknown variant `{odd}`"

    return check


def without(*keys: str) -> Check:
    """Keys of the body that are an error."""

    def check(body: Mapping[str, Any]) -> str | None:
        odd = next((key for key in keys if key in body), None)
        return None if odd is None else f"extra_forbidden: {odd}"

    return check


def limited_by(key: str) -> Check:
    """The limit of an answer has this name: under another one it would be passed over."""
    return lambda body: None if body.get(key) == 99 else f"the answer is not limited by {key}"


def goes_back(key: str, *, always: bool = True) -> Check:
    """What was thought has to come back to the letter; ``always``: in each answer, empty too."""

    def check(body: Mapping[str, Any]) -> str | None:
        for index, message in enumerate(answers(body)):
            wanted = THOUGHTS[min(index, 1)]
            if (always or message.get("tool_calls")) and message.get(key) != wanted:
                return f"thinking is enabled but {key} is missing in assistant message {index}"
        return None

    return check


def only_keys(*known: str) -> Check:
    """Other keys of an answer are an error."""

    def check(body: Mapping[str, Any]) -> str | None:
        odd = next((key for message in answers(body) for key in message if key not in known), None)
        return None if odd is None else f"for 'role:assistant' property '{odd}' is unsupported"

    return check


def content_goes_back(tag: str) -> Check:
    """The content of an answer has to come back whole, tags and all."""

    def check(body: Mapping[str, Any]) -> str | None:
        for index, message in enumerate(answers(body)):
            wanted = f"<{tag}>\n{THOUGHTS[min(index, 1)]}\n</{tag}>\n\n"
            if not (message.get("content") or "").startswith(wanted):
                return f"the content of answer {index} is not what it was"
        return None

    return check


def details_go_back(body: Mapping[str, Any]) -> str | None:
    first = next(iter(answers(body)), None)
    return None if first is None or first.get("reasoning_details") == WHOLE_DETAILS else "reasoning_details are missing"


def parts_go_back(body: Mapping[str, Any]) -> str | None:
    for index, message in enumerate(answers(body)):
        parts = message["content"] if isinstance(message["content"], list) else []
        thought = "".join(each["text"] for part in parts for each in part.get("thinking", ()))
        if thought != THOUGHTS[min(index, 1)]:
            return f"answer {index} lost its thinking"
    return None


def signed(body: Mapping[str, Any]) -> str | None:
    calls = [call for message in answers(body) for call in message.get("tool_calls", ())]
    missing = any(call.get("extra_content") != {"google": {"thought_signature": SIGNATURE}} for call in calls)
    return "Function call is missing a thought_signature in functionCall parts" if missing else None


def ids_of(pattern: str) -> Check:
    def check(body: Mapping[str, Any]) -> str | None:
        for message in body["messages"]:
            for id in [message.get("tool_call_id"), *(call["id"] for call in message.get("tool_calls") or ())]:
                if id is not None and not re.fullmatch(pattern, id):
                    return f"Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9"
        return None

    return check


def plain_content(body: Mapping[str, Any]) -> str | None:
    lists = any(isinstance(message.get("content"), list) for message in body["messages"])
    return "invalid type: sequence, expected a string" if lists else None


def choosing(*modes: str) -> Check:
    def check(body: Mapping[str, Any]) -> str | None:
        chosen = body.get("tool_choice", "auto")
        return (
            None if chosen in modes else f"Invalid tool_choice: {chosen}. Supported string values: {', '.join(modes)}"
        )

    return check


FOUR = roles("system", "user", "assistant", "tool")
ANSWER = ("role", "content", "tool_calls")
SERVERS: dict[str, Compatible] = {
    "openai": Compatible(under("reasoning_content"), (only_keys(*ANSWER, "refusal", "name", "audio"),)),
    "azure": Compatible(under(), (limited_by("max_completion_tokens"), without("max_tokens"))),
    "deepseek": Compatible(
        under("reasoning_content"),
        (FOUR, plain_content, limited_by("max_tokens"), goes_back("reasoning_content")),
    ),
    "kimi": Compatible(
        under("reasoning_content"),
        (FOUR, without("temperature"), goes_back("reasoning_content", always=False)),
    ),
    "qwen": Compatible(under("reasoning_content"), (FOUR, limited_by("max_tokens"), goes_back("reasoning_content"))),
    "glm": Compatible(
        under("reasoning_content"),
        (FOUR, without("reasoning_effort"), limited_by("max_tokens"), goes_back("reasoning_content")),
    ),
    "minimax": Compatible(between("think"), (FOUR, without("tool_choice"), content_goes_back("think"))),
    "openrouter": Compatible(detailed, (details_go_back,)),
    "mistral": Compatible(
        in_parts,
        (FOUR, without("stream_options", "max_completion_tokens", "store"), only_keys(*ANSWER, "prefix"),
         ids_of("[a-zA-Z0-9]{9}"), parts_go_back),
        id="a1B2c3D4e",
    ),
    "groq": Compatible(under("reasoning"), (only_keys(*ANSWER, "name"),)),
    "xai": Compatible(
        under("reasoning_content"), (FOUR, without("presence_penalty", "frequency_penalty", "stop"))
    ),
    "together": Compatible(under("reasoning"), (FOUR, limited_by("max_tokens"))),
    "fireworks": Compatible(under("reasoning_content"), (goes_back("reasoning_content"),)),
    "gemini": Compatible(
        between("thought"),
        (FOUR, without("frequency_penalty", "seed", "parallel_tool_calls"), signed, content_goes_back("thought")),
        call={"extra_content": {"google": {"thought_signature": SIGNATURE}}},
    ),
    "ollama": Compatible(under("reasoning"), (FOUR, limited_by("max_tokens"), goes_back("reasoning"))),
    "vllm": Compatible(under("reasoning"), (goes_back("reasoning"),)),
    "sglang": Compatible(under("reasoning_content"), (goes_back("reasoning_content"),)),
    "llamacpp": Compatible(
        under("reasoning_content"), (FOUR, limited_by("max_tokens"), goes_back("reasoning_content"))
    ),
    "lmstudio": Compatible(
        between("think"), (FOUR, limited_by("max_tokens"), choosing("none", "auto", "required"))
    ),
    "litellm": Compatible(under("reasoning_content", "reasoning"), (goes_back("reasoning_content"),)),
}  # fmt: skip
"""The servers by the name of their dialect."""
TOLERANT = frozenset(("openai", "azure", "openrouter", "groq"))
"""Servers that take a request in OpenAI's own spelling."""
