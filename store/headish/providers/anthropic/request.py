"""Writes a window as the body of ``POST /v1/messages``: joins messages of one role, lifts the system's out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from headish.content.forms.calls import anthropic_call, anthropic_result
from headish.content.forms.media import write_anthropic_media, write_anthropic_text
from headish.content.forms.parts import joined
from headish.providers.shared.copies import owned
from headish.providers.shared.mapping import Part, Piece
from headish.providers.shared.request import CACHE_MARKS, SYSTEM, RequestWriter, counted
from headish.providers.shared.tools import Choice, ToolDefinition, join_schema
from headish.providers.shared.values import Settings
from headish.values.blocks import Document, ProviderBlock, Text, Thinking, ToolResult, ToolUse
from headish.values.caches import CACHE_TTL, TTLS, Cache
from headish.values.forking import cached_property
from headish.values.ids import TurnId
from headish.values.messages import ContextWindow, Message
from headish.values.shapes import listed, name, number, present, record

MAX_TOKENS = 8192
"""The limit if nothing sets one: the API requires a number."""
# The first version: the later ones use code execution, which older models lack.
SEARCH_TOOL = {"type": "web_search_20250305", "name": "web_search"}
REASONING = ("thinking", "redacted_thinking")
"""Blocks that take no ``cache_control``, and with which no answer may end."""
PAIRED = ("tool_use", "tool_result")
SERVED = ("server_tool_use", "mcp_tool_use")
"""Calls that the API's server runs itself, or passes to a server of its MCP connector."""
FORCED = ("any", "tool")
THINKING = ("enabled", "adaptive")
"""Kinds of thinking that the API refuses beside a forced call."""
EFFORTS = ("low", "medium", "high", "xhigh", "max")
_ROLES = {"tool": "user", "developer": "system"}
"""The names under which some roles go out."""


class Flagged(NamedTuple):
    """The parts of a message that is to be cached, and its cache flag, perhaps with a time."""

    parts: list[Part]
    cache: Cache


class AnthropicWriter(RequestWriter):
    """A request of Anthropic's Messages API."""

    provider = "anthropic"
    tool_name_limit = 128
    search_tool = SEARCH_TOOL

    def __init__(self, window: ContextWindow, settings: Settings) -> None:
        super().__init__(window, settings)
        self.flagged: tuple[list[Flagged], list[Flagged]] = ([], [])
        """The messages that are to be cached: those of the system, and the others."""
        # Both may be set beside the common parameters, or under the provider's name, which wins.
        own = {**record(self.options.get("params")), **record(record(self.options.get("params")).get(self.provider))}
        self._cites, self._ttl = own.get("citations") is True, own.get(CACHE_TTL)
        """Whether answers cite the documents, and the time of cache flags that have none of their own."""

    @cached_property
    def _answered(self) -> set[Any]:
        """The ids of the server's own calls that have an answer. Computed late, because few threads have such calls."""
        return {name(id) for id in _answered(self.window)} - {None}

    def parts(self, message: Message) -> list[Part]:
        """The parts of a message, without reasoning at its end: the API refuses an answer that ends so."""
        parts = super().parts(message)
        while parts and parts[-1]["type"] in REASONING:
            parts.pop()
            self.left_out("reasoning that nothing follows", message)
        return parts

    def text_part(self, text: str, block: Text | None, message: Message) -> Part | None:
        part: Part = {"type": "text", "text": text}
        own = record(None if block is None else block.opaque.get(self.provider))
        if message.role != "assistant" or not own.get("citations"):
            return part
        cited = [record(citation) for citation in listed(own["citations"])]
        if any(citation.get("file_id") for citation in cited):
            self.note("the file_id of a citation has no place in a request", message)
        sendable = [{key: value for key, value in citation.items() if key != "file_id"} for citation in cited]
        return part | present(citations=sendable)

    def keeps_name(self, media_type: str) -> bool:
        return not media_type.startswith("image/")

    def media_part(self, media_type: str, block: Document) -> Part:
        part = joined(write_anthropic_media(block), block.opaque.get(self.provider))
        return self._citing(part) if part["type"] == "document" else part

    def _citing(self, document: Part) -> Part:
        """A document with citations switched on, if any are: the API wants them for all documents of a request, or for
        none."""
        return {"citations": {"enabled": True}, **document} if self._cites else document

    def named_text(self, text: str, block: Document, message: Message) -> Part | None:
        """A text document as a document, which has a place for a title and for citations; None if it needs neither."""
        own = record(block.opaque.get(self.provider))
        if message.role not in ("user", "tool") or not text.strip() or not (block.name or own or self._cites):
            return None
        return self._citing(joined(write_anthropic_text(block), own))

    def result_piece(self, block: ProviderBlock, message: Message) -> Part | None:
        return dict(record(block.data))

    def call_part(self, block: ToolUse, message: Message) -> Part:
        own = record(block.opaque.get(self.provider))
        call = anthropic_call(block.id, self.names.send(block.name), owned(self.arguments(block, message)))
        return call | {key: own[key] for key in ("caller", "toolset_name") if own.get(key) is not None}

    def result_part(self, block: ToolResult, pieces: Sequence[Piece], message: Message) -> Part:
        content = [self.piece_part(piece, "text") for piece in pieces]
        result = anthropic_result(block.tool_use_id, content or None, block.is_error or None)
        return joined(result, block.opaque.get(self.provider)) if block.opaque else result

    def thinking_part(self, block: Thinking, message: Message) -> Part | None:
        if record(block.opaque.get(self.provider)).get("partial") is True:
            return self.left_out("reasoning of which a part was not understood", message)
        if block.signature is None:
            return self.left_out("reasoning without a signature", message)
        return {"type": "thinking", "thinking": block.text, "signature": block.signature}

    def own_part(self, block: ProviderBlock, data: Mapping[str, Any], message: Message) -> Part | None:
        kind = name(data.get("type"))
        if kind is None or kind in PAIRED:
            # It would be a call or a result beside the ledger's pairs, and the API refuses unpaired ones.
            return self.left_out(f"a block of its own of type {kind!r}", message)
        if kind in SERVED and self._is_unanswered(data):
            return self.left_out("a search that was cut off", message)
        if kind == "compaction" and data.get("content") is None:
            return self.left_out("a compaction that failed", message)
        return dict(data)

    def _is_unanswered(self, data: Mapping[str, Any]) -> bool:
        """Whether a call of the server's own tools has no answer, and is not in the last message, where the API resumes
        it (``pause_turn``)."""
        return self.follower is not None and name(data.get("id")) not in self._answered

    def place(self, message: Message, turns: tuple[TurnId, ...], parts: list[Part]) -> None:
        """Put the parts into the body. Messages of one role in a row become one: the API would join them anyway, and
        wants results first in a message."""
        hoisted = message.role in SYSTEM and not self._may_stay()
        if message.cache:
            self.flagged[0 if hoisted else 1].append(Flagged(list(parts), message.cache))
        if hoisted:
            self.hoist(message, turns, parts)
        elif parts:
            role = str(message.role)
            self._say(_ROLES.get(role, role), turns, parts)

    def add_text(self, role: str, text: str, turns: tuple[TurnId, ...]) -> None:
        self._say(role, turns, [{"type": "text", "text": text}])

    def _may_stay(self) -> bool:
        """Whether a system message may stay in its place: models that take one there want it after a message of the
        user, and before one of their own or at the end."""
        inside = self.settings.system_in_place and bool(self.messages) and self.messages[-1]["role"] != "assistant"
        return inside and self.follower in (None, "assistant", *SYSTEM)

    def _say(self, role: str, turns: tuple[TurnId, ...], parts: list[Part]) -> None:
        if self.messages and self.messages[-1]["role"] == role:
            self.messages[-1]["content"] += parts
            self.extend_last(turns)
        else:
            self.messages.append({"role": role, "content": parts})
            self.turns.append(turns)

    def body(self, model: str | None, tools: list[ToolDefinition], placed: Part) -> Part:
        self._drop_compacted()
        self._mark_cached()
        for key in (CACHE_TTL, "citations"):
            placed.pop(key, None)
        self._check(placed)
        body: Part = {"model": model} if model else {}
        body |= {"max_tokens": placed.pop("max_tokens", MAX_TOKENS + _budget(placed)), "stream": self.settings.stream}
        body |= {"system": self.system} if self.system else {}
        choice, own = record(placed.pop("tool_choice", None)), self.own_tools(placed)
        body |= {"messages": self.messages, **self._write_tools(tools, dict(choice), own, placed.get("thinking"))}
        return {**body, **placed}

    def _drop_compacted(self) -> None:
        """Leave out the messages before the last compaction, which sums them up: the API ignores them."""
        for index, entry in reversed(list(enumerate(self.messages))):
            at = [at for at, part in enumerate(entry["content"]) if part["type"] == "compaction"]
            if at:
                entry["content"] = entry["content"][at[-1] :]
                self.drop_before(index)
                self._drop_flags()
                return

    def _drop_flags(self) -> None:
        """Forget the cache flags of what is not sent: they would use up the marks of what is."""
        system, others = self.flagged
        sent = self.sent_parts()
        self.flagged = system, [each for each in others if not each.parts or sent & set(map(id, each.parts))]

    def _check(self, placed: Part) -> None:
        """Refuse parameters that the API refuses."""
        if self._ttl not in (None, *TTLS):
            self.refuse(f"params.cache_ttl={self._ttl!r}: it is {' or '.join(TTLS)}")
        effort = record(placed.get("output_config")).get("effort")
        if effort is not None and effort not in EFFORTS:
            self.refuse(f"the effort {effort!r}: it is {', '.join(EFFORTS)}")
        limit, budget = number(placed.get("max_tokens")), _budget(placed)
        if limit is not None and limit <= budget:
            self.refuse(f"max_tokens={limit}: it has to be more than thinking.budget_tokens, which is {budget}")

    def _mark_cached(self) -> None:
        """Put ``cache_control`` on the last block of each flagged message that takes one; the last four flags win."""
        flagged = [*self.flagged[0], *self.flagged[1]]
        targets = [next((part for part in reversed(each.parts) if part["type"] not in REASONING), None)
                   for each in flagged]  # fmt: skip
        marked = [part for part in targets if part is not None]
        times = [self._ttl if each.cache is True else each.cache
                 for each, part in zip(flagged, targets, strict=True) if part is not None]  # fmt: skip
        for each in flagged:
            if each.cache not in (True, *TTLS):
                self.refuse(f"a cache flag of {str(each.cache)[:80]}: it is {' or '.join(TTLS)}")
        # The API refuses more marks. A mark covers everything before it, so the last ones include what the others would
        # have cached.
        for part, time in zip(marked[-CACHE_MARKS:], self._in_order(times[-CACHE_MARKS:]), strict=True):
            part["cache_control"] = {"type": "ephemeral"} | ({} if time is None else {"ttl": time})
        self.note_marks(len(marked), len(targets))

    def _in_order(self, times: list[Any]) -> list[Any]:
        """The times with every shorter one before the last hour made an hour, because the API refuses a longer time
        after a shorter one. It bills everything before the last hour as cached for an hour, so this costs no more."""
        hours = [at for at, time in enumerate(times) if time == "1h"]
        short = [at for at in range(hours[-1] if hours else 0) if times[at] != "1h"]
        if short:
            self.note(f"{counted(len(short), 'cache flag')} before one of 1h: sent as 1h, since none may be shorter")
        return ["1h" if at in short else time for at, time in enumerate(times)]

    def _write_tools(self, tools: Sequence[ToolDefinition], placed: Part, own: list[Part], thinking: Any) -> Part:
        """``tools`` and ``tool_choice``, if there are any tools. ``own`` are the API's tools, from its parameters."""
        defined = [*(self._define(*self.as_function(tool)) for tool in tools), *own]
        names = [each for tool in defined for each in self.names_of(tool)]
        self.check_names(names)
        choice = self.choose_tool(names)
        if defined:
            chosen = placed | ({} if choice is None else self._choice(choice))
            if chosen.get("type") == "none":  # the API takes no other key beside it
                chosen = {"type": "none"}
            if chosen.get("type") in FORCED and record(thinking).get("type") in THINKING:
                self.refuse(f"a choice of tools that forces a call ({chosen['type']}), with thinking")
            return {"tools": defined} | ({"tool_choice": chosen} if chosen else {})
        stubs = self._stub_tools()
        return {"tools": stubs, "tool_choice": {"type": "none"}} if stubs else {}

    def _define(self, called: str, description: str | None, schema: Mapping[str, Any]) -> Part:
        joined = join_schema(self, called, schema)
        described: Part = {"name": self.names.send(called)} | ({"description": description} if description else {})
        strict = {"strict": True} if self.holds_to(called, joined) else {}
        return {**described, "input_schema": joined, **strict}

    def _choice(self, choice: Choice) -> Part:
        return {"type": choice.mode} | ({"name": choice.name} if choice.name else {})

    def _stub_tools(self) -> list[Part]:
        """Definitions of the tools that the conversation has called, because the API requires them. The choice ``none``
        keeps the model from calling them."""
        called = dict.fromkeys(
            block.name
            for message in self.window.messages
            if message.role == "assistant"
            for block in message.content
            if isinstance(block, ToolUse)
        )
        if called:
            self.note(f"no tools are given: {', '.join(called)[:200]} is defined as a stub that cannot be called")
        return [{"name": self.names.send(name), "input_schema": {"type": "object"}} for name in called]


def _budget(placed: Part) -> int:
    """The number of tokens that the model may think; they count as tokens of the answer."""
    return number(record(placed.get("thinking")).get("budget_tokens")) or 0


def _answered(window: ContextWindow) -> Iterator[Any]:
    """The ids of the server's own calls that a result names, or a call of ours: code that runs there may call our
    tools."""
    for message in window.messages:
        for block in message.content:
            if isinstance(block, ProviderBlock):
                yield record(block.data).get("tool_use_id")
            elif isinstance(block, ToolUse):
                yield record(record(block.opaque.get("anthropic")).get("caller")).get("tool_id")
