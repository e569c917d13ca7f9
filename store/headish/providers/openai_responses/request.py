"""Writes a window as the body of ``POST /v1/responses``: items in the order of the thread, each at its own place.

The body refers to nothing that a server keeps: reasoning goes back encrypted, messages and calls go back without the
ids of their items.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from msgspec.structs import replace

from headish.content.forms.calls import responses_call, responses_output
from headish.content.forms.customs import RESPONSES, is_custom
from headish.content.forms.media import write_responses_media
from headish.content.forms.parts import joined
from headish.providers.openai_responses.particulars import FILES, OPTION, OUTPUTS, Pairs, file_name
from headish.providers.shared.copies import arguments_text, custom_text
from headish.providers.shared.mapping import Part, Piece
from headish.providers.shared.request import RequestWriter
from headish.providers.shared.tools import Choice, ToolDefinition, fill_schema
from headish.providers.shared.values import Settings
from headish.values.blocks import Base64Source, Document, ProviderBlock, Text, Thinking, ToolResult, ToolUse
from headish.values.forking import cached_property
from headish.values.ids import TurnId
from headish.values.messages import ContextWindow, Message
from headish.values.shapes import listed, name, present, record

# The server stores nothing, so reasoning can go back only in this form.
INCLUDE = ("reasoning.encrypted_content",)
_REASONED = (Thinking, ProviderBlock)
INPUTS = ("input_text", "input_image", "input_file")
"""Parts of a message; everything else is an item of its own."""
FUNCTIONS = ("function_call", "function_call_output")
PHASES = ("commentary", "final_answer")
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
SEARCH = "web_search"
COMPACTION = "compaction"
EMPTY_ERROR = "(empty result)"


class OpenAIResponsesWriter(RequestWriter):
    """A request of OpenAI's Responses API."""

    provider = "openai_responses"
    list_name = "input"
    takes_breakpoints = True
    search_tool = {"type": SEARCH}

    def __init__(self, window: ContextWindow, settings: Settings) -> None:
        super().__init__(window, settings)
        self.stores = _stores(self.options)
        self._callers: dict[str | None, Any] = {}
        """The program that made a call, by the call's id: the output has to name it, too."""
        self._customs: set[str | None] = set()
        """The ids of calls of custom tools, whose outputs have a type of their own."""

    @cached_property
    def pairs(self) -> Pairs:
        """The pairs of the provider's own calls and outputs. Computed late, because few threads have any."""
        return Pairs(self.window.messages, self.provider)

    # Blocks.

    def parts(self, message: Message) -> list[Part]:
        """The parts of a message. Reasoning is sent only together with the item that it led to."""
        for block in message.content:
            if type(block) in _REASONED:
                return self._followed(message)
        return super().parts(message)

    def _followed(self, message: Message) -> list[Part]:
        """The parts of a message with reasoning, or with items of the provider's own."""
        all_parts: list[Part | None] = []
        for block in message.content:
            all_parts += super().parts(replace(message, content=(block,))) or [None]
        staying: list[Part] = []
        followed = False
        # From the end, because the API refuses reasoning without an item after it.
        for part in reversed(all_parts):
            followed = part is not None and (followed or part.get("type") != "reasoning")
            if part is not None and followed:
                staying.append(part)
            elif part is not None:
                self.left_out("reasoning without what it led to", message)
        return staying[::-1]

    def keeps_name(self, media_type: str) -> bool:
        return not media_type.startswith("image/")

    def text_part(self, text: str, block: Text | None, message: Message) -> Part | None:
        if message.role != "assistant":
            return {"type": "input_text", "text": text}
        own = record(None if block is None else block.opaque.get(self.provider))
        if own.keys() - {"phase"}:
            self.foreign[self.provider] += 1  # annotations are taken only together with the id of the message
        phase = {"phase": own["phase"]} if own.get("phase") in PHASES else {}
        return {"role": "assistant", "content": text} | phase

    def media_part(self, media_type: str, block: Document) -> Part:
        own = record(block.opaque.get(self.provider))
        file = file_name(media_type, block.name) if media_type in FILES else None
        if block.name and file is not None and file != block.name and isinstance(block.source, Base64Source):
            # The API takes the type from the ending.
            self.note(f"the file {block.name[:80]!r} goes out as {file[:80]!r}: its ending says what it is")
        return joined(write_responses_media(block, file), own) | present(detail=own.get("detail"))

    def call_part(self, block: ToolUse, message: Message) -> Part:
        own = record(block.opaque.get(self.provider))
        beside = present(namespace=name(own.get("namespace")), caller=own.get("caller"))
        self._callers[block.id] = beside.get("caller")
        if is_custom(block):
            self._customs.add(block.id)
            called = {"call_id": block.id, "name": self.names.send(block.name), "input": custom_text(block)}
            return {"type": RESPONSES, **called, **beside}
        arguments = arguments_text(block, self.arguments(block, message))
        return responses_call(block.id, self.names.send(block.name), arguments) | beside

    def result_part(self, block: ToolResult, pieces: Sequence[Piece], message: Message) -> Part:
        sent_pieces = _as_error(pieces) if block.is_error else pieces
        texts = [piece for piece in sent_pieces if isinstance(piece, str)]
        output: str | list[Part] = "\n".join(texts)
        if len(texts) < len(sent_pieces):
            output = [self.piece_part(piece, "input_text") for piece in sent_pieces]
        result = responses_output(block.tool_use_id, output, custom=block.tool_use_id in self._customs)
        result |= present(caller=self._callers.get(block.tool_use_id))
        return joined(result, block.opaque.get(self.provider)) if block.opaque else result

    def result_piece(self, block: ProviderBlock, message: Message) -> Part | None:
        return dict(record(record(block.data).get("part")))

    def thinking_part(self, block: Thinking, message: Message) -> Part | None:
        item = record(block.opaque.get(self.provider))
        if name(item.get("encrypted_content")) is None:
            return self.left_out("reasoning without its encrypted content", message)
        if self.stores:
            # The server then knows its id, and wants the ids of the items that it led to as well.
            return self.left_out("reasoning, which goes back only where the server stores nothing,", message)
        present_keys = {key: value for key, value in item.items() if value is not None}  # the API refuses SDKs' nulls
        return {**present_keys, "type": "reasoning", "summary": listed(item.get("summary"))}

    def own_part(self, block: ProviderBlock, data: Mapping[str, Any], message: Message) -> Part | None:
        kind = name(data.get("type"))
        if kind is None:
            return self.left_out("a block of its own without a type", message)
        if kind in FUNCTIONS:
            # It would be a call or an output beside the ledger's pairs, and the API refuses unpaired ones.
            return self.left_out(f"a {kind} in a block of its own", message)
        if not self.pairs.admit(data):
            return self.left_out(f"a {kind} without {'an output' if kind in OUTPUTS else 'its call'}", message)
        return dict(data)

    # Messages.

    def add_text(self, role: str, text: str, turns: tuple[TurnId, ...]) -> None:
        content = text if role == "assistant" else [{"type": "input_text", "text": text}]
        self.messages.append({"role": role, "content": content})
        self.turns.append(turns)

    def place(self, message: Message, turns: tuple[TurnId, ...], parts: list[Part]) -> None:
        if len(parts) == 1 and parts[0].get("type") in FUNCTIONS:
            self.add(parts[0], turns)  # the fast path: nearly every message that is not text
        else:
            for entry in self._entries(parts, message):
                self.add(entry, turns)
        if message.cache:
            self.flags += 1
            self.marked += [part for part in parts if part.get("type") in INPUTS][-1:]

    def _entries(self, parts: list[Part], message: Message) -> Iterator[Part]:
        """Items unchanged, and the parts between them as messages."""
        for is_content, group in groupby(parts, lambda part: part.get("type") in INPUTS):
            if not is_content:
                yield from group
                continue
            if message.role == "tool":
                self.note("a document of a tool that is in no result goes into a message of the user", message)
            yield {"role": "user" if message.role == "tool" else message.role, "content": list(group)}

    # The body.

    def body(self, model: str | None, tools: list[ToolDefinition], placed: Part) -> Part:
        self._drop_compacted()
        self.write_marks()
        self._check(placed)
        placed.pop(OPTION, None)  # the store applies it later: only it knows what the server has seen
        body: Part = {"model": model} if model else {}
        body |= {"stream": self.settings.stream, "store": False, "include": list(INCLUDE), "input": self.messages}
        return {**body, **self._write_tools(tools, placed), **placed}

    def _check(self, placed: Part) -> None:
        """Refuse parameters that the API refuses; leave out those that belong to a stream if the answer is none."""
        effort = record(placed.get("reasoning")).get("effort")
        if effort is not None and effort not in EFFORTS:
            self.refuse(f"the reasoning effort {effort!r}: it is {', '.join(EFFORTS)}")
        if "stream_options" in placed and not self.settings.stream:
            del placed["stream_options"]
            self.note("the option params.stream_options is not sent: the answer is not streamed")

    def _write_tools(self, tools: Sequence[ToolDefinition], placed: Part) -> Part:
        """``tools`` and ``tool_choice``, if there are any tools. The provider's own tools come from its parameters."""
        own, chosen = self.own_tools(placed), placed.pop("tool_choice", None)
        if not all(name(tool.get("type")) for tool in own):
            self.refuse(f"params.{self.provider}.tools={own!r}: it is a list of tools, each of a type")
            own = []
        defined = [*map(self._define_tool, tools), *own]
        self.check_names([each for tool in defined for each in self.names_of(tool)])
        choice = self.choose_tool([name(tool.get("name")) or tool["type"] for tool in defined])
        if not defined:
            if chosen is not None:
                self.note("the option params.tool_choice is not sent: there are no tools")
            return {}
        chosen = chosen if choice is None else _write_choice(choice, defined)
        return {"tools": defined} | ({"tool_choice": chosen} if chosen is not None else {})

    def _define_tool(self, tool: ToolDefinition) -> Part:
        if tool.format is None:
            return self._define(*tool[:3])
        described = {"description": tool.description} if tool.description else {}
        format = {"format": tool.format} if tool.format else {}
        return {"type": "custom", "name": self.names.send(tool.name), **described, **format}

    def _define(self, called: str, description: str | None, schema: Mapping[str, Any]) -> Part:
        parameters = fill_schema(self, called, schema)
        described = {"name": self.names.send(called)} | ({"description": description} if description else {})
        # The key is required. Off unless asked for: schemas of MCP servers are seldom ones that the API can enforce.
        strict = self.holds_to(called, parameters)
        return {"type": "function", **described, "parameters": parameters, "strict": strict}

    def _drop_compacted(self) -> None:
        """Leave out the items before the last compaction, which sums them up."""
        places = [at for at, item in enumerate(self.messages) if item.get("type") == COMPACTION]
        if places:
            behind = [item.get("call_id") for item in self.messages[places[-1] :] if "output" in item]
            self.drop_before(places[-1], behind)
            # The cache flags of what is not sent would use up the marks of what is.
            sent, flagged = self.sent_parts(), len(self.marked)
            self.marked = [part for part in self.marked if id(part) in sent]
            self.flags -= flagged - len(self.marked)

    def schema_format(self, body: Part) -> Mapping[str, Any]:
        return record(record(body.get("text")).get("format"))


def _write_choice(choice: Choice, defined: Sequence[Part]) -> Any:
    """The choice of a tool by its name; of a tool without a name, by allowing no other."""
    if choice.mode != "tool":
        return {"any": "required"}.get(choice.mode, choice.mode)
    for tool in defined:
        if tool.get("name") == choice.name:
            return {"type": tool["type"], "name": choice.name}
    return {"type": "allowed_tools", "mode": "required", "tools": [{"type": choice.name}]}


def _as_error(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces of a result that is an error. The API has no flag for errors, so the first text says it."""
    first = next((index for index, piece in enumerate(pieces) if isinstance(piece, str)), None)
    if first is None:
        return ["Error:", *pieces] if pieces else [f"Error: {EMPTY_ERROR}"]
    return [*pieces[:first], f"Error: {pieces[first]}", *pieces[first + 1 :]]


def _stores(options: Mapping[str, Any]) -> bool:
    """Whether the request asks the server to keep the answer."""
    params = record(options.get("params"))
    return record(params.get("openai_responses")).get("store", params.get("store")) is True
