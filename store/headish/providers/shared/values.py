"""The values of a call to a provider: settings, requests, deltas, replies. The same for all providers."""

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
    """The settings of a request that are not in the window.

    ``tools`` are definitions as MCP lists them (``name``, ``description``, ``inputSchema``). ``max_tokens`` and
    ``model`` win over the window's ``params``. ``stream`` asks for the answer as a stream of events. Results without a
    call go out as text, or are refused with ``orphans="refuse"``. ``system_in_place`` leaves system messages inside a
    conversation where they are, for the models of Anthropic that take them there. ``cache_breakpoints`` writes cache
    flags as the explicit breakpoints of OpenAI's newer models. ``dialect`` names the way in which a server speaks Chat
    Completions; without one, nothing is known of the server.
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
    """The turns that a part of a request's body came from; ``place`` is its path in the body (``messages[3]``)."""

    place: str
    turns: tuple[TurnId, ...]


class Sources(Struct, frozen=True):
    """The turns that a body came from: those of the parts that were lifted out of the conversation, and those of each
    message."""

    list_name: str = "messages"
    hoisted: tuple[Origin, ...] = ()
    turns: tuple[tuple[TurnId, ...], ...] = ()


class Request(Struct, frozen=True):
    """A provider's request: its body as plain JSON data, and notes on everything that is not sent as it is stored.

    ``tool_names`` maps rewritten names back to the thread's own. ``origins`` is made from ``sources``. A store that
    makes a request also sets: the ``turns`` that it was made from, and the ``bookmark`` through which it was asked,
    which the reply continues; for each of the ``options`` the turn that set it; the pointer ``ptr`` that chose the
    model, and its server; the ``params`` of this call alone. ``dialect`` is that of the body, None for the provider's
    own way. The answer has to follow ``schema``. ``whole`` is the body with the whole thread, set if ``body`` continues
    an answer that the server stores.
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
        """The turns that each message came from, in the body's order, after those of the parts that were lifted out of
        the conversation."""
        name = self.sources.list_name
        listed = (Origin(f"{name}[{index}]", turns) for index, turns in enumerate(self.sources.turns))
        return (*self.sources.hoisted, *listed)

    def to_dict(self) -> dict[str, Any]:
        """``{provider, model, body, notes}``."""
        notes = [{"what": note.what, "turn": note.turn} for note in self.notes]
        return {"provider": self.provider, "model": self.model, "body": self.body, "notes": notes}


class Finding(PlainResult, frozen=True):
    """A finding of ``lint``: something that a request would repair or leave out (``note``), or refuse (``refused``)."""

    kind: Literal["note", "refused"]
    what: str
    turn: str | None = None


class Delta(Struct, frozen=True, omit_defaults=True):
    """A piece of an answer, for display while it arrives.

    ``type`` is ``text``, ``thinking``, ``tool_use`` or ``server_tool_use``. The first delta of a call has its ``name``
    and ``id``, the following ones have pieces of its arguments as JSON text. ``index`` counts the blocks of the answer,
    so that a reader can tell pieces of parallel calls apart.
    """

    type: str
    content: str = ""
    name: str | None = None
    id: str | None = None
    index: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """``{type, content?, name?, id?, index?}``, without absent values."""
        record: dict[str, Any] = to_builtins(self)
        return record


class Usage(Struct, frozen=True, omit_defaults=True):
    """Token counts by kind. The first four are disjoint; None if the provider gave no count.

    ``input_tokens`` were neither read from a cache nor written to one. ``output_tokens`` are all generated tokens,
    ``reasoning_tokens`` the part of them that was reasoning. The others are parts of the first four, too: cache writes
    that are kept for an hour, and sound in and out.
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
        """As plain data, without absent values."""
        record: dict[str, Any] = to_builtins(self)
        return record


class Reply(Struct, frozen=True, kw_only=True):
    """A provider's answer, whole or as far as it came.

    ``stop_reason`` is one of Anthropic's words, for every provider; ``stop`` is the provider's own word. ``incomplete``
    is set if the answer broke off before its end. ``error`` is ``{type?, message}`` if the provider failed. ``details``
    has everything else that it sent (``stop_sequence``, ``service_tier``, unknown events), under the provider's names.
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
        """The record of the answer that a turn keeps beside its content, without absent values."""
        usage = None if self.usage is None else to_builtins(self.usage)
        meta: dict[str, Any] = {"provider": self.provider, "model": self.model, "stop_reason": self.stop_reason}
        meta |= {"stop": self.stop, "usage": usage, "response_id": self.id, "incomplete": self.incomplete or None}
        meta |= {"error": self.error, "details": self.details or None}
        meta["notes"] = [str(note) for note in self.notes] or None
        return {key: value for key, value in meta.items() if value is not None}
