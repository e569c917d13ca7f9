"""Requests made of chat messages, as openai, cerebras and cohere take them.

Each message of the thread becomes messages at its own place. None is joined with an earlier one, so whatever was sent
once is sent the same way again. Results are ``tool`` messages directly after the calls. They have no place for media,
which follow in a message of the user, after all results.

Source: the types of the official SDKs, openai 3.54.0, cerebras-cloud-sdk 1.91.0 and cohere 7.3.1, read on 2026-11-21.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

from headish.content.forms.calls import chat_call, chat_result
from headish.content.forms.chat import MESSAGE, PART, TOOL_CALL
from headish.content.forms.customs import CHAT as CUSTOM
from headish.content.forms.customs import is_custom
from headish.content.forms.media import write_chat_media
from headish.content.forms.parts import joined, without
from headish.content.media import media_type_of
from headish.content.recordings import AUDIO, is_transcript, said_aloud
from headish.providers.shared.copies import arguments_text, custom_text
from headish.providers.shared.mapping import Part, Piece
from headish.providers.shared.request import SYSTEM, RequestWriter
from headish.providers.shared.tools import Choice, ToolDefinition
from headish.providers.shared.values import Settings
from headish.values.blocks import ContentBlock, Document, ProviderBlock, Text, Thinking, ToolResult, ToolUse
from headish.values.ids import TurnId
from headish.values.messages import ContextWindow, Message
from headish.values.shapes import name, record

EMPTY_RESULT = "(empty result)"
"""The text of an empty result: a tool message needs one."""
ATTACHED = "(attached below)"
"""The text of a result that holds only media."""
CALLS = ("function", TOOL_CALL)
_TEXTS = ("text", PART)
_SAID = (*_TEXTS, *CALLS)
"""Parts of which an answer needs at least one."""
OWN_KEYS = frozenset(("audio", "content", "function_call", "name", "role", "tool_call_id", "tool_calls"))
"""Keys of a message that are made from the thread; of ``audio`` only the id goes back."""
NEVER_BACK = frozenset(("executed_tools",))
"""Keys that a server sends but refuses to take back: Groq's list of the tools that it ran."""
_KINDS = {PART: "text", TOOL_CALL: "function"}
_WORDS = {"function": "a call", "reasoning": "reasoning", "thinking": "reasoning", "tool_plan": "a plan"}


class ChatWriter(RequestWriter):
    """Writes a request of chat messages. The providers differ in the class attributes and the hooks below."""

    roles: Mapping[str, str] = {}
    """The names under which some roles go out."""
    order: ClassVar[Mapping[str, int]] = {"reasoning": 0, "text": 1, "function": 2}
    """The order of the kinds of parts in the message of an answer; parts in another order lose their place."""
    stop_place: ClassVar[str] = "stop"
    stop_limit: ClassVar[int] = 4
    """The number of stop sequences that the API takes."""
    efforts: ClassVar[Collection[str]] = ()
    """The values of ``reasoning_effort``."""
    takes_custom: bool = False
    """Whether the server has tools that take text. For other servers, a call of one goes out as a function call."""
    has_strict_tools: ClassVar[bool] = True
    """Whether each tool has a key that asks the API to enforce its schema."""

    def __init__(self, window: ContextWindow, settings: Settings) -> None:
        super().__init__(window, settings)
        self._speaks = False
        """Whether the message goes back as the id of its recording."""
        self.mend: Callable[[Part], Part] | None = None
        """A last change to each message, if the server needs one."""
        self._moved: list[Part] = []
        """The media in the results of one message."""

    # Hooks for the providers' own writers.

    @abstractmethod
    def write_choice(self, choice: Choice) -> Any:
        """``tool_choice``; None to leave it out."""

    def write_schema(self, called: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """The schema of a tool's arguments."""
        return schema

    def write_answer(self, parts: list[Part], message: Message) -> Part:
        """A message of the assistant, whose parts include a text or a call."""
        texts, calls = [], []
        beside: Part = {}
        for part in parts:
            kind = part["type"]
            if kind in CALLS:
                calls.append(part if kind == "function" else part[TOOL_CALL])
            elif kind in _TEXTS:
                texts.append(part)
            elif kind == MESSAGE:
                beside |= part[MESSAGE]
        # The thread's keys come last: a kept key of the provider never replaces them.
        # Null without any text, not empty: some servers show the model an empty text as one that it wrote.
        answer: Part = {**beside, "role": "assistant", "content": _said(texts) if texts else None}
        return {**answer, "tool_calls": calls} if calls else answer

    def check(self, placed: Part, tools: Sequence[ToolDefinition]) -> None:
        """Refuse parameters that the API refuses."""
        sequences = placed.get(self.stop_place)
        if isinstance(sequences, list | tuple) and len(sequences) > self.stop_limit:
            self.refuse(f"{len(sequences)} stop sequences: {self.stop_limit} fit")
        effort = placed.get("reasoning_effort")
        if effort is not None and self.efforts and effort not in self.efforts:
            self.refuse(f"the reasoning effort {effort!r}: it is {', '.join(self.efforts)}")

    # Blocks.

    def parts(self, message: Message) -> list[Part]:
        content = message.content
        # By id only while the transcript is unchanged: after an edit, the model would still hear the old words.
        self._speaks = (
            len(content) > 1
            and any(self._id_aloud(each) is not None for each in content)
            and any(is_transcript(each, self.provider) for each in content)
        )
        return super().parts(message)

    def _id_aloud(self, block: ContentBlock) -> str | None:
        """The id of a recording that the server made; None if it does not take such an id back."""
        audio = said_aloud(block, self.provider) if self.takes_custom else None
        return None if audio is None else name(audio.get("id"))

    def spoken_part(self, block: Document, message: Message) -> Part | None:
        id = self._id_aloud(block) if self._speaks else None
        return super().spoken_part(block, message) if id is None else {"type": MESSAGE, MESSAGE: {AUDIO: {"id": id}}}

    def text_part(self, text: str, block: Text | None, message: Message) -> Part | None:
        if block is None or not block.opaque:
            return {"type": "text", "text": text}
        own = record(block.opaque.get(self.provider))
        if is_transcript(block, self.provider):
            return None if self._speaks else {"type": "text", "text": text}
        if own.keys() - {PART}:
            self.foreign[self.provider] += 1  # annotations have no place in a request
        if own.get(PART) is not None and message.role in ("assistant", "user"):
            return {"type": PART, PART: {**record(own[PART]), "type": "text", "text": text}}
        return {"type": "text", "text": text}

    def media_part(self, media_type: str, block: Document) -> Part:
        return joined(write_chat_media(block), record(block.opaque.get(self.provider)).get(PART))

    def call_part(self, block: ToolUse, message: Message) -> Part:
        called = {"name": self.names.send(block.name)}
        own = record(block.opaque.get(self.provider)) if block.opaque else {}
        if self.takes_custom and is_custom(block):
            beside = {key: value for key, value in own.items() if key not in (CUSTOM, "function", "type")}
            custom = {**record(own.get(CUSTOM)), **called, "input": custom_text(block)}
            return {"type": TOOL_CALL, TOOL_CALL: {**beside, "id": block.id, "type": CUSTOM, CUSTOM: custom}}
        arguments = arguments_text(block, self.arguments(block, message))
        call = chat_call(block.id, called["name"], arguments)
        if own:
            call["function"] |= without(record(own.get("function")), ("name", "arguments"))
            call |= without(own, (CUSTOM, "function", "id", "type"))
        return call

    def result_part(self, block: ToolResult, pieces: Sequence[Piece], message: Message) -> Part:
        media = [piece for piece in pieces if isinstance(piece, Document)]
        if media:
            self.note(
                f"what the result of {(block.name or '')[:80]} holds beside text goes into a message of the user",
                message,
            )
            self._moved.append({"type": "text", "text": f"From the result of {self.names.send(block.name or '')}:"})
            self._moved += [self.media_part(media_type_of(piece), piece) for piece in media]
        texts = [piece for piece in pieces if isinstance(piece, str)]
        words = "\n".join(texts) or (ATTACHED if media else EMPTY_RESULT)
        # The API has no flag for an error, so the text has to say it.
        content = f"Error: {words}" if block.is_error else words
        result = chat_result(block.tool_use_id, content)
        return joined(result, block.opaque.get(self.provider)) if block.opaque else result

    def thinking_part(self, block: Thinking, message: Message) -> Part | None:
        part = self.own_thinking(block)
        return part or self.left_out("reasoning, which has no place in a request,", message)

    def own_thinking(self, block: Thinking) -> Part | None:
        """Reasoning that came as a part of the content, as the same part; None for any other."""
        own = record(block.opaque.get(self.provider)).get(PART)
        if own is None or not block.text:
            return None
        thinking = [{"type": "text", "text": block.text}] if "thinking" in record(own) else block.text
        return {"type": PART, PART: {**record(own), "type": "thinking", "thinking": thinking}}

    def own_part(self, block: ProviderBlock, data: Mapping[str, Any], message: Message) -> Part | None:
        """Send a block of the provider back in its old place: an unknown part of the content, or keys of the
        message."""
        if message.role in ("assistant", "user") and isinstance(data.get(PART), Mapping):
            return {"type": PART, PART: dict(data[PART])}
        if message.role == "assistant" and isinstance(data.get(MESSAGE), Mapping):
            return self._message_part(data[MESSAGE], message)
        if TOOL_CALL in data:  # the API refuses a call that no result follows
            kind = record(data[TOOL_CALL]).get("type")
            return self.left_out(f"a call of type {str(kind)[:80]!r}, which no result can answer,", message)
        return self.left_out(f"a block of {self.provider}, whose requests have no place for it,", message)

    def _message_part(self, said: Mapping[str, Any], message: Message) -> Part | None:
        """Keys of the message, without those that the API sends but does not take back."""
        sendable = {key: value for key, value in said.items() if key not in OWN_KEYS and key not in NEVER_BACK}
        audio = record(said.get("audio")).get("id")
        if "audio" in said and audio is not None:
            sendable["audio"] = {"id": audio}  # the only key of it that the API takes
        lost = [key for key in said if key not in sendable]
        if lost:
            self.left_out(f"what the message says as {', '.join(lost)[:200]}", message)
        return {"type": MESSAGE, MESSAGE: sendable} if sendable else None

    # Messages.

    def place(self, message: Message, turns: tuple[TurnId, ...], parts: list[Part]) -> None:
        entries = self._entries(message, parts)
        if self.mend is not None:
            entries = [self.mend(entry) for entry in entries]
        if message.cache:
            self.flag(entries)
        for entry in entries:
            self.add(entry, turns)

    def flag(self, entries: list[Part]) -> None:
        """Record that a message is to be cached. ``entries`` are the chat messages that it became."""
        self.flags += 1

    def add_text(self, role: str, text: str, turns: tuple[TurnId, ...]) -> None:
        self.messages.append({"role": role, "content": text})
        self.turns.append(turns)

    def _entries(self, message: Message, parts: list[Part]) -> list[Part]:
        role = str(message.role)
        if not parts:
            return []
        if role == "tool":
            return self._answered(parts, message)
        if role == "assistant":
            if len(parts) > 1:
                self._note_order(parts, message)
            if any(part["type"] in _SAID or "audio" in part.get(MESSAGE, ()) for part in parts):
                return [self.write_answer(parts, message)]
            self.left_out("an answer that is reasoning alone", message)
            return []
        if role in SYSTEM:
            if role in self.roles:
                self.note(f"a {role} message is sent as {self.roles[role]}", message)
            return [{"role": self.roles.get(role, role), "content": "\n".join(part["text"] for part in parts)}]
        return [{"role": "user", "content": _content(parts)}]

    def _answered(self, parts: list[Part], message: Message) -> list[Part]:
        """Results, one message each, then one message of the user with everything that a ``tool`` message cannot
        hold."""
        # After all results: the API refuses any other message between them.
        rest = [part for part in parts if part.get("role") != "tool"]
        if not rest and not self._moved:
            return parts  # nearly always
        results = [part for part in parts if part.get("role") == "tool"]
        if rest:
            self.note("a document of a tool that is in no result goes into a message of the user", message)
        rest, self._moved = [*self._moved, *rest], []
        return results + ([{"role": "user", "content": _content(rest)}] if rest else [])

    def _note_order(self, parts: list[Part], message: Message) -> None:
        """Note the parts that go out before a part that they followed in the thread."""
        kinds = [_KINDS.get(str(part["type"]), str(part["type"])) for part in parts if part["type"] != MESSAGE]
        turned = {(one, other) for one, other in pairwise(kinds) if self.order[other] < self.order[one]}
        for before, behind in sorted(turned):
            moved, passed = _WORDS.get(behind, behind), _WORDS.get(before, before)
            self.note(f"{moved} behind {passed} is sent in front of it", message)

    # The body.

    def body(self, model: str | None, tools: list[ToolDefinition], placed: Part) -> Part:
        self.write_marks()
        if self.wants_search():
            self.refuse("the option search: its requests have no web search")
        if placed.get(self.stop_place) in ([], ()):
            del placed[self.stop_place]  # the same as none, but the API wants at least one in the list
        self.check(placed, tools)
        body: Part = {"model": model} if model else {}
        body |= {"stream": self.settings.stream, "messages": self.messages, **self._write_tools(tools, placed)}
        return {**body, **placed}

    def _write_tools(self, tools: Sequence[ToolDefinition], placed: Part) -> Part:
        """``tools`` and ``tool_choice``. The provider's own tools, from a parameter, follow the thread's."""
        own, chosen = self.own_tools(placed), placed.pop("tool_choice", None)
        defined = [*map(self._define_tool, tools), *own]
        names = [each for tool in defined for each in self.names_of(tool)]
        self.check_names(names)
        choice = self.choose_tool(names or ["(unnamed)"] * len(defined))
        if chosen is not None and not defined:
            self.note("the option params.tool_choice is not sent: there are no tools")
            return {}
        if choice is not None and choice.mode == "tool" and choice.name in map(_custom_name, defined):
            chosen = {"type": CUSTOM, CUSTOM: {"name": choice.name}}
        elif choice is not None:
            chosen = self.write_choice(choice)
        return ({"tools": defined} if defined else {}) | ({"tool_choice": chosen} if chosen is not None else {})

    def _define_tool(self, tool: ToolDefinition) -> Part:
        """A custom tool if the server has those, else a function."""
        if tool.format is None or not self.takes_custom:
            return self._define(*self.as_function(tool))
        described = {"description": tool.description} if tool.description else {}
        grammar = {key: value for key, value in tool.format.items() if key != "type"}
        format = {"type": "grammar", "grammar": grammar} if tool.format.get("type") == "grammar" else dict(tool.format)
        custom = {"name": self.names.send(tool.name), **described, **({"format": format} if format else {})}
        return {"type": CUSTOM, CUSTOM: custom}

    def _define(self, called: str, description: str | None, schema: Mapping[str, Any]) -> Part:
        function: Part = {"name": self.names.send(called)} | ({"description": description} if description else {})
        function["parameters"] = self.write_schema(called, schema)
        if self.has_strict_tools and self.holds_to(called, function["parameters"]):
            function["strict"] = True
        return {"type": "function", "function": function}


def _custom_name(tool: Mapping[str, Any]) -> Any:
    return record(tool.get(CUSTOM)).get("name") if tool.get("type") == CUSTOM else None


class OpenAIShapedWriter(ChatWriter):
    """The part that only openai and cerebras share: the choice of a tool, and token counts in streams."""

    def schema_format(self, body: Part) -> Mapping[str, Any]:
        return record(record(body.get("response_format")).get("json_schema"))

    def write_choice(self, choice: Choice) -> Any:
        if choice.mode == "tool":
            return {"type": "function", "function": {"name": choice.name}}
        return {"any": "required"}.get(choice.mode, choice.mode)

    def body(self, model: str | None, tools: list[ToolDefinition], placed: Part) -> Part:
        stream_options = placed.pop("stream_options", None)
        body = super().body(model, tools, placed)
        if self.settings.stream:
            # Without it a stream has no token counts.
            body["stream_options"] = {
                "include_usage": True,
                **(stream_options if isinstance(stream_options, Mapping) else {}),
            }
        elif stream_options is not None:
            self.note("the option params.stream_options is not sent: the answer is not streamed")
        return body


def _content(parts: list[Part]) -> str | list[Part]:
    """One text as a string, anything else as parts."""
    if len(parts) == 1 and parts[0]["type"] == "text":
        text: str = parts[0]["text"]
        return text
    return [part.get(PART, part) if part["type"] == PART else part for part in parts]


def _said(parts: list[Part]) -> Any:
    """The content of an answer: the same list of parts as before, or one text."""
    if any(part["type"] == PART for part in parts):
        return [part.get(PART, part) for part in parts]
    return "\n".join(part["text"] for part in parts)
