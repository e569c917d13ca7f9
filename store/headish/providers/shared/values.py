"""What goes to a provider and what comes back, as values: requests, deltas, replies. Nothing here knows a provider."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, to_builtins

from headish.providers.clouds import Cloud
from headish.values.blocks import ContentBlock, to_mapping
from headish.values.ids import TurnId
from headish.values.messages import Note as Note
from headish.values.results.plain import PlainResult


class Settings(Struct, frozen=True, kw_only=True):
    """What the caller of a request decides, beside the window.

    ``tools`` are definitions as MCP lists them (``name``, ``description``, ``inputSchema``). ``max_tokens`` and
    ``model`` win over the window's ``params``. ``stream`` asks for the answer as a stream of events. ``orphans`` says
    what becomes of results without a call: ``"text"``, or ``"refuse"``. ``system_in_place`` leaves the system messages
    inside a conversation where they stand, for the models of Anthropic that take them there. ``cache_breakpoints``
    writes cache flags as the explicit breakpoints of OpenAI's newer models. ``dialect`` is how a server that is not
    OpenAI's speaks Chat Completions.
    """

    model: str | None = None
    tools: Sequence[Mapping[str, Any]] = ()
    stream: bool = True
    max_tokens: int | None = None
    orphans: Literal["text", "refuse"] = "text"
    system_in_place: bool = False
    cache_breakpoints: bool = False
    dialect: str | None = None


class Origin(PlainResult, frozen=True):
    """Which turns a part of a request's body came from; ``place`` is its path in the body (``messages[3]``)."""

    place: str
    turns: tuple[TurnId, ...]


class Sources(Struct, frozen=True):
    """Where a body came from: parts that were lifted out of the conversation, and the turns of each message."""

    list_name: str = "messages"
    hoisted: tuple[Origin, ...] = ()
    turns: tuple[tuple[TurnId, ...], ...] = ()


class Request(Struct, frozen=True):
    """A provider's request: its body as plain JSON data, and all that was not sent as it is stored.

    ``tool_names`` maps the names that had to be rewritten back to the thread's own. ``sources`` are what ``origins``
    is made of. What follows is set where a store made the request: the turns that it was made from and the ``bookmark``
    that it was asked by, which a reply continues; the turn that set each option; the provider pointer that chose the
    model, and what the pointer says of the server; the parameters that were given for this call alone. ``dialect`` is
    the one that the body is written in, where it is not the provider's own; ``schema`` the one that the answer has to
    follow. ``whole`` is the body with all that was said, where ``body`` goes on from an answer that the server stores.
    """

    provider: str
    model: str | None
    body: dict[str, Any]
    notes: tuple[Note, ...]
    tool_names: dict[str, str] = {}
    sources: Sources = Sources()
    turns: tuple[TurnId, ...] = ()
    bookmark: str | None = None
    options: dict[str, TurnId] = {}
    ptr: str | None = None
    base_url: str | None = None
    key_env: str | None = None
    params: dict[str, Any] = {}
    cloud: Cloud | None = None
    headers: dict[str, str] = {}
    dialect: str | None = None
    schema: dict[str, Any] | None = None
    whole: dict[str, Any] | None = None

    @property
    def origins(self) -> tuple[Origin, ...]:
        """Which turns each message came from, in the body's order; what was lifted out of the conversation first."""
        name = self.sources.list_name
        listed = (Origin(f"{name}[{index}]", turns) for index, turns in enumerate(self.sources.turns))
        return (*self.sources.hoisted, *listed)

    def to_dict(self) -> dict[str, Any]:
        """``{provider, model, body, notes}``."""
        notes = [{"what": note.what, "turn": note.turn} for note in self.notes]
        return {"provider": self.provider, "model": self.model, "body": self.body, "notes": notes}


class Finding(PlainResult, frozen=True):
    """What ``lint`` found: something that a request would repair, leave out (``note``) or refuse (``refused``)."""

    kind: Literal["note", "refused"]
    what: str
    turn: str | None = None


class Delta(Struct, frozen=True, omit_defaults=True):
    """A piece of an answer, for display while it arrives.

    ``type`` is ``text``, ``thinking``, ``tool_use`` or ``server_tool_use``. The first delta of a call has its ``name``
    and ``id``, what follows has pieces of its arguments as JSON text. ``index`` counts the blocks of the answer, so
    that pieces of parallel calls can be told apart.
    """

    type: str
    content: str = ""
    name: str | None = None
    id: str | None = None
    index: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """``{type, content?, name?, id?, index?}``, without what is not said."""
        record: dict[str, Any] = to_builtins(self)
        return record


class Usage(Struct, frozen=True, omit_defaults=True):
    """Tokens by kind; the first four counts are disjoint, None where the provider said nothing.

    ``input_tokens`` were neither read from a cache nor written to one. ``output_tokens`` are all that was generated,
    ``reasoning_tokens`` those of them that were reasoning. The others are parts as well: cache writes that are kept for
    an hour, and sound in and out.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_creation_1h_input_tokens: int | None = None
    input_audio_tokens: int | None = None
    output_audio_tokens: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain data, without what is not said."""
        record: dict[str, Any] = to_builtins(self)
        return record


class Reply(Struct, frozen=True, kw_only=True):
    """A provider's answer, whole or as far as it came.

    ``stop_reason`` is one of Anthropic's words, whoever answered; ``stop`` is the provider's own word. ``incomplete``:
    the answer ended without its end. ``error`` is the provider's ``{type?, message}`` where it failed. ``details`` is
    what else it said (``stop_sequence``, ``service_tier``, events that nobody knows yet), by the provider's names.
    """

    provider: str
    content: tuple[ContentBlock, ...]
    model: str | None = None
    stop_reason: str = "incomplete"
    stop: str | None = None
    usage: Usage | None = None
    id: str | None = None
    incomplete: bool = False
    error: dict[str, Any] | None = None
    details: dict[str, Any] = {}
    notes: tuple[Note, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The schema reference's response: ``{message: {role, content, model, stop_reason, usage?}}``."""
        content = [to_mapping(block) for block in self.content]
        message: dict[str, Any] = {"role": "assistant", "content": content, "model": self.model}
        message["stop_reason"] = self.stop_reason
        if self.usage is not None:
            message["usage"] = to_builtins(self.usage)
        return {"message": message}

    def to_meta(self) -> dict[str, Any]:
        """What a turn keeps of the answer beside its content; what is absent is left out."""
        usage = None if self.usage is None else to_builtins(self.usage)
        said: dict[str, Any] = {"provider": self.provider, "model": self.model, "stop_reason": self.stop_reason}
        said |= {"stop": self.stop, "usage": usage, "response_id": self.id, "incomplete": self.incomplete or None}
        said |= {"error": self.error, "details": self.details or None}
        said["notes"] = [str(note) for note in self.notes] or None
        return {key: value for key, value in said.items() if value is not None}
