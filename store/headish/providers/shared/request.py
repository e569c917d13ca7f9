"""A request being written: the way from a window to a body, the same for all providers.

The writer drops what was cut off, pairs calls and results (ledger.py), makes parts of blocks (mapping.py), places each
message in the body, then adds the tools and the parameters. A provider's own writer decides the places in its body.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from headish.content.unfinished import without_partial
from headish.errors import Unsupported
from headish.providers.shared.ledger import settle
from headish.providers.shared.mapping import BlockMapper, Part
from headish.providers.shared.parameters import place_parameters, read_params
from headish.providers.shared.schemas import strict_problem
from headish.providers.shared.tools import Choice, ToolDefinition, choose_tool, read_tools
from headish.providers.shared.values import Origin, Request, Settings, Sources
from headish.values.blocks import Text
from headish.values.ids import TurnId
from headish.values.messages import NO_ATTRIBUTES, ROLES, ContextWindow, Message, Note
from headish.values.shapes import listed, name, record

SYSTEM = ("system", "developer")
"""The roles of instructions."""
CACHE_MARKS = 4
"""Anthropic refuses a request with more, OpenAI writes no more to its cache."""
_ATTRIBUTES = ("speaker", "channel", "recipient", "call_id", "intent", "content_type", "constrain", "extra")


class RequestWriter(BlockMapper):
    """Writes one request. ``messages`` is the body's list, filled by ``place``."""

    list_name: ClassVar[str] = "messages"
    """The key of the body's list of messages."""
    head_name: ClassVar[str] = "system"
    """The place in the body of the instructions that are lifted out of the conversation."""
    sends_ids: ClassVar[bool] = True
    """Whether a call goes out with an id that headish made."""
    dropped_keywords: ClassVar[frozenset[str]] = frozenset()
    """Keywords of JSON Schema that the provider refuses in a tool's schema."""

    plain_roles: Collection[str] = ("user", "assistant")
    """The roles whose messages go to ``add_text`` if they hold one text and nothing else."""
    takes_breakpoints: ClassVar[bool] = False
    """Whether a part may be marked as the end of what is to be cached, with ``prompt_cache_breakpoint``."""
    search_tool: ClassVar[Mapping[str, Any] | None] = None
    """The provider's own tool for the option ``search``."""

    def __init__(self, window: ContextWindow, settings: Settings) -> None:
        super().__init__()
        self.window, self.settings = without_partial(window), settings
        self.options = window.options
        self.notes += self.window.notes
        self.messages: list[Part] = []
        self.system: list[Part] = []
        """The parts of the head, for an API that has one."""
        self.hoisted: list[Origin] = []
        self.flags = 0
        """The number of messages that are to be cached."""
        self.marked: list[Part] = []
        """The last part of each of these messages, if it takes a breakpoint."""
        self.strict = False
        """Whether the API enforces the schemas of tools, as far as it can."""
        self._settled: Sequence[Message] = ()
        self._at = 0
        """The index of the message that is being placed."""
        self.turns: list[tuple[TurnId, ...] | dict[TurnId, None]] = []
        """The turns that each of ``messages`` was made of; the keys of a dict if several were joined."""

    @abstractmethod
    def place(self, message: Message, turns: tuple[TurnId, ...], parts: list[Part]) -> None:
        """Put the parts of a message, perhaps none, into the body. ``turns`` are those that it was made of."""

    def hoist(self, message: Message, turns: tuple[TurnId, ...], parts: list[Part]) -> None:
        """Put the parts of an instruction into the head."""
        if self.messages and parts:
            self.note(f"a {message.role} message inside the conversation is moved to its head", message)
        start = len(self.system)
        self.system += parts
        self.hoisted += [Origin(f"{self.head_name}[{start + index}]", turns) for index in range(len(parts))]

    @abstractmethod
    def add_text(self, role: str, text: str, turns: tuple[TurnId, ...]) -> None:
        """Put a message of one of the ``plain_roles`` that is one text into the body. The result is that of ``place``,
        in fewer steps, because nearly every message is such a text."""

    @abstractmethod
    def body(self, model: str | None, tools: list[ToolDefinition], placed: Part) -> Part:
        """The whole body; ``placed`` is what the parameters make of it, by place."""

    def check_parameters(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """The parameters without those that the server does not take."""
        return params

    def parameter_places(self) -> Mapping[str, str]:
        """The places that differ from those of the table ``PARAMETERS``."""
        return {}

    def write(self) -> Request:
        """The request. Do not send it if ``refusals`` is not empty."""
        # Before any call or tool is named: the thread's tools give way to the provider's own.
        self.names.taken = self._taken_names()
        settlement = settle(self.window.messages)
        self._settled = settlement.messages
        self.notes += (settlement.ids if self.sends_ids else []) + settlement.notes
        for orphan in settlement.orphans:
            self._report_orphan(orphan)
        self._note_attributes()
        self._place_messages(settlement.turns)
        self._check_messages()
        params = read_params(self, self.options)
        if self.settings.max_tokens is not None:
            params = {**params, "max_tokens": self.settings.max_tokens}
        model = self.settings.model or params.get("model")
        tools = self._read_tools()
        # The option ``search`` adds a tool, so parameters of tools have a place with it alone, too.
        has_tools = bool(tools) or self.options.get("search") is True
        params = self.check_parameters(params)
        self.strict = params.get("strict") is True
        schema = params.get("schema")
        places = self.parameter_places()
        body = self.body(
            model, tools, place_parameters(self, self.provider, params, has_tools=has_tools, places=places)
        )
        self.note_schema(self.schema_format(body), schema)
        self._note_rest()
        sources = Sources(self.list_name, tuple(self.hoisted), tuple(map(tuple, self.turns)))
        return Request(
            provider=self.provider,
            model=model,
            body=body,
            notes=tuple(self.notes),
            tool_names=self.names.rewritten,
            sources=sources,
            dialect=self.settings.dialect,
            schema=dict(schema) if isinstance(schema, Mapping) else None,
        )

    def _place_messages(self, turns: Mapping[int, tuple[TurnId, ...]]) -> None:
        """Place all messages in order: single texts directly, all others block by block."""
        roles, add_text = self.plain_roles, self.add_text
        for at, message in enumerate(self._settled):
            content, turn = message.content, message.turn
            if len(content) == 1 and type(block := content[0]) is Text and message.attributes is NO_ATTRIBUTES:
                text, role = block.text, message.role or ""
                if role in roles and text and not text.isspace() and not block.opaque and not message.cache:
                    add_text(role, text, () if turn is None else (turn,))
                    continue
            self._at = at
            parts = self.parts(message)
            if parts and message.role not in ROLES:
                self.refuse(f"a message of role {message.role!r}", message)
            self.place(message, turns.get(at) or (() if turn is None else (turn,)), parts)

    @property
    def follower(self) -> str | None:
        """The role of the message after the one that is being placed; None at the end."""
        behind = self._at + 1
        return self._settled[behind].role if behind < len(self._settled) else None

    def schema_format(self, body: Part) -> Mapping[str, Any]:
        """The object of the body that holds the answer's schema, and whether the provider enforces it (``strict``)."""
        return {}

    def add(self, entry: Part, turns: tuple[TurnId, ...]) -> None:
        """Append a message to the body's list."""
        self.messages.append(entry)
        self.turns.append(turns)

    def extend_last(self, turns: tuple[TurnId, ...]) -> None:
        """Record that the last message was made of these turns too."""
        last = self.turns[-1]
        if not isinstance(last, dict):
            # A dict once there are several: a thousand messages joined one by one would copy a tuple a thousand times.
            last = self.turns[-1] = dict.fromkeys(last)
        last.update(dict.fromkeys(turns))

    def drop_before(self, index: int, calls: Collection[str | None] = ()) -> None:
        """Leave out the messages before the one at ``index``, which sums them up. Instructions stay, and so do the
        ``calls`` that are answered after it: the API refuses a result without its call."""
        staying = [
            at
            for at in range(index)
            if self.messages[at].get("role") in SYSTEM
            or (self.messages[at].get("call_id") in calls and "output" not in self.messages[at])
        ]
        count = index - len(staying)
        if count:
            self.note(f"{counted(count, 'message')} before a compaction {'is' if count == 1 else 'are'} not sent")
            places = [*staying, *range(index, len(self.messages))]
            self.messages = [self.messages[at] for at in places]
            self.turns = [self.turns[at] for at in places]

    def sent_parts(self) -> set[int]:
        """The identities of all parts of the body's messages: of those before a compaction, none is left."""
        return {id(part) for entry in self.messages for part in listed(entry.get("content"))}

    def wants_search(self) -> bool:
        """Whether the option ``search`` is set, with a refusal unless it is true or false."""
        search = self.options.get("search")
        if search is not None and not isinstance(search, bool):
            self.refuse(f"the option search={search!r}: it is true or false")
        return search is True

    def choose_tool(self, names: Sequence[str]) -> Choice | None:
        """The option ``tool_mode``; None to leave it out. ``names`` are those of the tools as they go out."""
        return choose_tool(self, self.names, self.options.get("tool_mode"), names)

    def own_tools(self, placed: Part) -> list[Part]:
        """Take the provider's own tools out of the placed parameters. Add its search tool if the option asks for it.

        If the parameter has a search tool already, the option adds none.
        """
        own = placed.pop("tools", None)
        if own is None:
            own = []
        if not isinstance(own, list) or not all(isinstance(tool, Mapping) for tool in own):
            self.refuse(f"params.{self.provider}.tools={own!r}: it is a list of tools")
            own = []
        searching = [dict(self.search_tool)] if self.search_tool is not None and self.wants_search() else []
        names = {name for tool in own for name in (*self.names_of(tool), *self.kinds_of(tool))}
        if any(names.intersection((*self.names_of(tool), *self.kinds_of(tool))) for tool in searching):
            self.note(f"the option search adds no tool: params.{self.provider}.tools has one")
            searching = []
        return [*searching, *map(dict, own)]

    def holds_to(self, called: str, schema: Mapping[str, Any]) -> bool:
        """Whether the API enforces a tool's schema. A note gives the reason if it was wanted but cannot be."""
        problem = strict_problem(schema) if self.strict else None
        if problem is not None:
            self.note(f"the calls of {called} are not held to its schema: {problem}")
        return self.strict and problem is None

    def as_function(self, tool: ToolDefinition) -> tuple[str, str | None, dict[str, Any]]:
        """Name, description and schema of a tool as a function. A custom tool, which takes text, gets the argument
        ``input``."""
        if tool.format is not None:
            lost = ", and its grammar is not sent" if tool.format.get("type") == "grammar" else ""
            self.note(f"the tool {tool.name} takes text: it goes out as a function of one input{lost}")
        return tool[:3]

    def note_schema(self, format: Mapping[str, Any], schema: Any) -> None:
        """Note why the API does not enforce the answer's schema. ``format`` is what the parameter became."""
        if isinstance(schema, Mapping) and format.get("strict") is False and format.get("schema") == schema:
            self.note(f"the API does not hold the answer to its schema: {strict_problem(schema)}")

    def names_of(self, tool: Mapping[str, Any]) -> list[str]:
        """The names by which the model calls one of the provider's own tools."""
        holders = (tool, record(tool.get("function")), record(tool.get("custom")))
        return [called for each in holders if (called := name(each.get("name"))) is not None][:1]

    def kinds_of(self, tool: Mapping[str, Any]) -> list[str]:
        """The type of one of the provider's own tools, by which those without names are told apart."""
        kind = name(tool.get("type"))
        return [] if kind is None or kind in ("function", "custom") else [kind]

    def check_names(self, names: Sequence[str]) -> None:
        """Refuse two tools of one name: no provider takes them, and a call would not say which it means."""
        for called, count in Counter(names).items():
            if count > 1:
                self.refuse(f"{count} tools named {called[:80]!r}: a name stands for one tool")

    def _taken_names(self) -> set[str]:
        """The names that the thread's tools share with the provider's own; the thread's go out under another name."""
        names = {tool.get("name") for tool in self.settings.tools if isinstance(tool, Mapping)}
        # From the options: the parameters are placed after the messages, whose calls need the names already.
        own = record(record(self.options.get("params")).get(self.provider)).get("tools")
        tools = [record(tool) for tool in listed(own)]
        if self.search_tool is not None and self.options.get("search") is True:
            tools.append(self.search_tool)
        return {each for tool in tools for each in (*self.names_of(tool), *self.kinds_of(tool)) if each in names}

    def write_marks(self) -> None:
        """Write the cache flags as breakpoints, as many as fit, or note that the provider caches by itself."""
        if self.takes_breakpoints and self.settings.cache_breakpoints:
            for part in self.marked[-CACHE_MARKS:]:
                part["prompt_cache_breakpoint"] = {"mode": "explicit"}
            self.note_marks(len(self.marked), self.flags)
        elif self.flags:
            verb = "is" if self.flags == 1 else "are"
            self.note(f"{counted(self.flags, 'cache flag')} {verb} not sent: {self.provider} caches by itself")

    def note_marks(self, marked: int, flags: int) -> None:
        """Note the flags without a place, and the marks that are more than fit."""
        if marked < flags:
            self.note(f"{counted(flags - marked, 'cache flag')} left out: nothing of the message can be marked")
        if marked > CACHE_MARKS:
            self.note(f"the first {marked - CACHE_MARKS} of {marked} cache flags are left out: {CACHE_MARKS} fit")

    def _check_messages(self) -> None:
        self.check_media()
        if not self.messages:
            self.refuse("a request without a message of the user or the assistant")
        elif self.messages[-1].get("role") in ("assistant", "model"):
            # Only noted: a model with prefill takes it as the beginning of its answer.
            self.note("the last message is the assistant's: models without prefill refuse the request")

    def _read_tools(self) -> list[ToolDefinition]:
        tools, dropped = read_tools(self.settings.tools, self.dropped_keywords)
        if dropped:
            self.note(f"not sent of tool definitions: {', '.join(dropped)}")
        return tools

    def _report_orphan(self, note: Note) -> None:
        if self.settings.orphans == "refuse":
            self.refusals.append(Unsupported(self.provider, note.what.partition(":")[0], turn=note.turn))
        else:
            self.notes.append(note)

    def _note_attributes(self) -> None:
        """Note a transcript's attributes, which have no place in the body."""
        set_attributes = [each.attributes for each in self.window.messages if each.attributes is not NO_ATTRIBUTES]
        for key in _ATTRIBUTES if set_attributes else ():
            count = sum(bool(getattr(attributes, key)) for attributes in set_attributes)
            if count:
                self.note(f"the {key} of {counted(count, 'message')} is not sent")

    def _note_rest(self) -> None:
        """Note everything else in the thread that has no place in the body, and the renamed tools."""
        for provider, count in sorted(self.foreign.items()):
            self.note(f"what {provider} keeps beside {counted(count, 'block')} is left out")
        used = {"search", "tool_mode", "params", "provider_ptr"} | ({"servers"} if self.settings.tools else set())
        for key in self.options:
            if key not in used:
                self.note(f"the option {key} is not sent")
        for sent, called in self.names.rewritten.items():
            self.note(f"the tool {called[:80]!r} goes out as {sent}")


def counted(count: int, word: str) -> str:
    """``1 message``, ``2 messages``."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
