"""Writes a window as the body of ``:generateContent``: joins contents of one role, lifts the system's texts out.

The URL names the model and whether the answer is a stream, so the body names neither.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from headish.content.forms.gemini import response_of
from headish.content.forms.layout import camel
from headish.content.forms.media import write_gemini_media
from headish.content.forms.parts import joined, without
from headish.content.inherited import merge
from headish.content.media import media_type_of
from headish.providers.gemini.calls import GeminiNames, is_signature, sign_calls
from headish.providers.shared.copies import owned
from headish.providers.shared.mapping import Part, Piece
from headish.providers.shared.request import SYSTEM, RequestWriter
from headish.providers.shared.tools import Choice, ToolDefinition
from headish.providers.shared.values import Settings
from headish.values.blocks import Base64Source, Document, ProviderBlock, Text, Thinking, ToolResult, ToolUse
from headish.values.ids import TurnId
from headish.values.messages import ContextWindow, Message
from headish.values.shapes import listed, name, record

OPENING = "(The conversation begins with your own words.)"
"""The text that is sent as the user's if a thread begins with the assistant: a turn that calls has to follow a turn of
the user. It is sent even without calls, so that a later call changes nothing before it."""
TOOL_LIMIT = 512
"""The number of function declarations that a request may have. Source: ``types.Tool`` of google-genai 3.4.0."""
EFFORTS = ("minimal", "low", "medium", "high", "xhigh")
MODES = {"auto": "AUTO", "any": "ANY", "none": "NONE", "tool": "ANY"}
_IN_CACHE = ("systemInstruction", "tools", "toolConfig")
"""Keys that the API refuses beside a cached content, which has its own."""
_ECHO = "includeServerSideToolInvocations"
_PAIRED = frozenset(("functionCall", "function_call", "functionResponse", "function_response"))
_OURS = frozenset(
    ("id", "text", "thought", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode",
     "codeExecutionResult", "toolCall", "toolResponse")
)  # fmt: skip
"""Keys of a part that come from the block itself, never from its opaque data: a part has one kind of data."""


class GeminiWriter(RequestWriter):
    """A request of Gemini's ``generateContent``."""

    provider = "gemini"
    list_name = "contents"
    head_name = "systemInstruction.parts"
    sends_ids = False  # some of its models refuse an id that Gemini did not make
    tool_name = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]*")
    tool_name_limit = 128
    search_tool = {"googleSearch": {}}

    def __init__(self, window: ContextWindow, settings: Settings) -> None:
        super().__init__(window, settings)
        self.names = GeminiNames(self.tool_name, self.tool_name_limit)
        self.ids: dict[str | None, str] = {}
        """The ids that go out, by the ids of the ledger."""
        self._given: set[str] = set()

    def text_part(self, text: str, block: Text | None, message: Message) -> Part | None:
        return {"text": text} | ({} if block is None else self._beside(block.opaque, message))

    def blank_part(self, block: Text | None, message: Message) -> Part | None:
        """A blank text is sent only if it carries a signature: the API ends some streams with such a part."""
        beside = {} if block is None else self._beside(block.opaque, message)
        if block is None or "thoughtSignature" not in beside:
            return super().blank_part(block, message)
        return {"text": block.text} | beside

    def media_part(self, media_type: str, block: Document) -> Part:
        return joined(write_gemini_media(block), block.opaque.get(self.provider))

    def spoken_part(self, block: Document, message: Message) -> Part | None:
        """Send a recording of Gemini back as it came; for another provider's, send only the words."""
        if any(provider != self.provider for provider in block.opaque) or not isinstance(block.source, Base64Source):
            return super().spoken_part(block, message)
        return joined(write_gemini_media(block), owned(block.opaque.get(self.provider)))

    def call_part(self, block: ToolUse, message: Message) -> Part:
        call = {"name": self.names.send(block.name), "args": owned(self.arguments(block, message))}
        return {"functionCall": self._identified(block) | call} | self._beside(block.opaque, message)

    def _identified(self, block: ToolUse) -> Part:
        """The id of a call, if Gemini gave it one.

        Ids are optional on both sides. They pair a call and its result only if both have one, else name and order do.
        Models before Gemini 3 give none, and some versions of the API refuse the key, so no other id is sent.
        """
        own_id = name(record(block.opaque.get(self.provider)).get("id"))
        if own_id is None or block.id is None:
            return {}
        self.ids[block.id] = block.id if own_id in self._given else own_id  # a thread may hold a call twice
        self._given.add(own_id)
        return {"id": self.ids[block.id]}

    def result_part(self, block: ToolResult, pieces: Sequence[Piece], message: Message) -> Part:
        words = "\n".join(piece for piece in pieces if isinstance(piece, str))
        media = [self.media_part(media_type_of(piece), piece) for piece in pieces if isinstance(piece, Document)]
        result: Part = {"id": self.ids[block.tool_use_id]} if block.tool_use_id in self.ids else {}
        result |= {
            "name": self.names.send(block.name or ""),
            "response": response_of(block, words),
        }
        own = record(block.opaque.get(self.provider))
        response = joined(result | ({"parts": media} if media else {}), own.get("functionResponse"))
        return {"functionResponse": response} | without(own, ("response", "functionResponse"))

    def thinking_part(self, block: Thinking, message: Message) -> Part | None:
        signature = {} if block.signature is None else {"thoughtSignature": block.signature}
        beside = self._checked(signature | self._beside(block.opaque, message), message)
        if "thoughtSignature" not in beside:
            return self.left_out("reasoning without a signature", message)
        return {"text": block.text, "thought": True} | beside

    def own_part(self, block: ProviderBlock, data: Mapping[str, Any], message: Message) -> Part | None:
        if data.keys() == {"content"}:
            return self.left_out("what a content says beside its parts", message)
        if not data or data.keys() & _PAIRED:
            return self.refuse("a block of its own that is empty, a call or a result", message)
        if "toolCall" in data and name(record(data["toolCall"]).get("id")) not in self.asked_once(message, _answered):
            return self.left_out("a search that was cut off", message)
        return dict(data)

    def _beside(self, opaque: Mapping[str, Any], message: Message) -> Part:
        """Gemini's opaque data of a part, such as a signature, which goes back on the same part."""
        own = record(opaque.get(self.provider))
        sendable = {key: value for key, value in own.items() if key not in _OURS}
        if sendable and message.role != "assistant":
            self.left_out(f"what {self.provider} keeps beside a text of role {message.role}", message)
            return {}
        return self._checked(sendable, message)

    def _checked(self, kept: Part, message: Message) -> Part:
        if "thoughtSignature" in kept and not is_signature(kept["thoughtSignature"]):
            self.left_out("a signature that is not base64", message)
            return {key: value for key, value in kept.items() if key != "thoughtSignature"}
        return kept

    def place(self, message: Message, turns: tuple[TurnId, ...], parts: list[Part]) -> None:
        """Put the parts into the body. Messages of one role in a row become one content, so that roles alternate and
        results directly follow their calls."""
        self.flags += bool(message.cache)
        if message.role in SYSTEM:
            self.hoist(message, turns, parts)
        elif parts:
            self._say("model" if message.role == "assistant" else "user", turns, parts)

    def add_text(self, role: str, text: str, turns: tuple[TurnId, ...]) -> None:
        self._say("model" if role == "assistant" else "user", turns, [{"text": text}])

    def _say(self, role: str, turns: tuple[TurnId, ...], parts: list[Part]) -> None:
        if not self.messages and role == "model":
            self.note("the thread begins with the assistant: a fixed text of the user stands before it")
            self.add({"role": "user", "parts": [{"text": OPENING}]}, ())
        if self.messages and self.messages[-1]["role"] == role:
            self.messages[-1]["parts"] += parts
            self.extend_last(turns)
        else:
            self.messages.append({"role": role, "parts": parts})
            self.turns.append(turns)

    def body(self, model: str | None, tools: list[ToolDefinition], placed: Part) -> Part:
        sign_calls(self, self.messages, model)
        self._check_effort()
        self.write_marks()
        body: Part = {"systemInstruction": {"parts": self.system}} if self.system else {}
        body |= {"contents": self.messages, **self._write_tools(tools, placed)}
        return self._beside_cache({**body, **placed})

    def _beside_cache(self, body: Part) -> Part:
        held = [key for key in _IN_CACHE if key in body] if body.get("cachedContent") else []
        if held:
            self.note(f"{', '.join(held)} left out: a cached content has its own")
        return {key: value for key, value in body.items() if key not in held}

    def _check_effort(self) -> None:
        """Refuse an effort that ``thinkingLevel`` has no word for. A value of a wrong type is refused when it is
        placed."""
        effort = record(self.options.get("params")).get("effort")
        if isinstance(effort, str) and effort and effort.lower() not in EFFORTS:
            self.refuse(f"params.effort={effort!r}: it is {', '.join(EFFORTS[:-1])} or {EFFORTS[-1]}")

    def _write_tools(self, tools: Sequence[ToolDefinition], placed: Part) -> Part:
        """``tools`` and ``toolConfig``, merged with those of ``params.gemini``."""
        if len(tools) > TOOL_LIMIT:
            self.refuse(f"{len(tools)} tools: {TOOL_LIMIT} fit into a request")
        functions = [self._define(tool) for tool in tools]
        own, config = self.own_tools(placed), placed.pop("toolConfig", {})
        names = [function["name"] for function in functions]
        self.check_names([*names, *(each for tool in own for each in self.names_of(tool))])
        choice = self.choose_tool(names)
        if not isinstance(config, Mapping):
            self.refuse("params.gemini.toolConfig that is not an object")
            return {}
        defined: list[Any] = own + ([{"functionDeclarations": functions}] if functions else [])
        kinds = {kind for tool in defined for kind in record(tool)}
        # The API refuses functions together with its own tools unless this asks for the calls of those, too (Gemini 3).
        mixed: Part = {_ECHO: True} if "functionDeclarations" in kinds and len(kinds) > 1 else {}
        chosen: Part = {} if choice is None else {"functionCallingConfig": _choice(choice)}
        config = merge(mixed | chosen, config)
        return ({"tools": defined} if defined else {}) | ({"toolConfig": config} if config else {})

    def names_of(self, tool: Mapping[str, Any]) -> list[str]:
        declared = listed(tool.get("functionDeclarations")) or listed(tool.get("function_declarations"))
        return [called for each in declared if (called := name(record(each).get("name"))) is not None]

    def kinds_of(self, tool: Mapping[str, Any]) -> list[str]:
        # Function declarations do not count as a kind of own tools. A client may spell the key with either f or F.
        return [camel(kind) for kind in tool if "unction" not in kind]

    def _define(self, tool: ToolDefinition) -> Part:
        called, description, schema = self.as_function(tool)
        described: Part = {"description": description} if description else {}
        # Not ``parameters``, which takes only a subset of OpenAPI's schemas.
        return {"name": self.names.send(called), **described, "parametersJsonSchema": schema}


def _choice(choice: Choice) -> Part:
    return {"mode": MODES[choice.mode]} | ({"allowedFunctionNames": [choice.name]} if choice.name else {})


def _answered(message: Message) -> set[Any]:
    """The ids of the server's own calls whose response is in the message; None for one without an id."""
    own = [record(block.data) for block in message.content if isinstance(block, ProviderBlock)]
    return {name(record(data.get("toolResponse")).get("id")) for data in own if "toolResponse" in data}
