"""Calls that passed the gateway: a row for each request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import groupby
from typing import Any

import msgspec

from headish.values.ids import TurnId
from headish.values.results.plain import PlainResult

ENVELOPE = "headish/envelope"
"""The kind of the objects that hold the rest of requests, without their messages, under the BLAKE3 of their bytes."""
UNREAD = "headish/unread-call"
"""The kind of the objects that hold unreadable bodies, under the id of their call, for a week."""


class PrefixBreak(PlainResult, frozen=True, omit_defaults=True):
    """The place at which a request differs from the one before it in its lane: a provider's prompt cache ends there.

    ``what`` is ``message``, ``system`` or ``tools``. ``index`` is the number of the first message that differs, from 0,
    system messages included; ``turn`` is the turn that was there before. ``tokens`` estimates how many tokens the
    request before had from there on, from its usage and the sizes of its messages.
    """

    what: str
    index: int | None = None
    turn: TurnId | None = None
    tokens: int | None = None


class CallFacts(PlainResult, frozen=True, omit_defaults=True):
    """The facts of a call beside the columns of its row. They hold nothing that was said.

    ``entries`` counts the messages of the request (the chunks of an answer are one), ``begins`` the turns of its thread
    before them (if the provider kept those), ``added`` the new turns. ``is_text``: in place of a list, the request had
    the text of its only message. ``has_system``: the first message was beside the list. ``system`` names turns that
    take the place of the first ones. ``patches`` (by index), ``volatile`` (by position in the system prompt) and
    ``resent`` (for the answer to this very call) say how the client wrote what its turns do not say. ``envelope`` and
    ``tools`` are addresses of objects; ``tools_bytes`` is the size of the tools. ``sizes`` are the bytes of request and
    answer that passed, ``first_byte`` and ``end`` milliseconds since the call came.
    """

    api: str
    method: str
    path: str
    outcome: str = "ok"
    status: int | None = None
    model: str | None = None
    form: str | None = None
    envelope: str | None = None
    tools: str | None = None
    tools_bytes: int = 0
    usage: Mapping[str, int] = {}
    first_byte: int | None = None
    end: int | None = None
    sizes: tuple[int, int] = (0, 0)
    entries: int = 0
    begins: int = 0
    added: int = 0
    is_text: bool = False
    has_system: bool = False
    system: Mapping[str, TurnId] = {}
    patches: Mapping[str, Any] = {}
    volatile: tuple[tuple[int, Any], ...] = ()
    resent: Mapping[str, Any] | None = None
    broke: PrefixBreak | None = None
    error: str | None = None
    note: str | None = None


class PassedCall(PlainResult, frozen=True):
    """A call that passed the gateway.

    ``lane`` is the key of its conversation, ``tip`` the last turn that the request sent, ``answer`` the turn of its
    answer, ``response`` the id that the provider gave that. Each is None if there is none.
    """

    id: str
    time: datetime
    client: str
    session: str | None
    lane: str | None
    tip: TurnId | None
    answer: TurnId | None
    response: str | None
    facts: CallFacts

    def to_dict(self) -> dict[str, Any]:
        """As plain data: the columns, and ``facts`` as they are stored."""
        columns = {name: getattr(self, name) for name in ("client", "session", "lane", "tip", "answer", "response")}
        return {"id": self.id, "time": self.time.isoformat(), **columns, "facts": msgspec.to_builtins(self.facts)}


def fold_refusals(calls: Iterable[PassedCall]) -> list[tuple[PassedCall, int]]:
    """Calls in their order, each with a number: GETs that were refused alike, one after the other, are one, the first
    of them. Codex asks seven times for a WebSocket before it falls back to HTTP."""
    return [(next(run), 1 + sum(1 for _ in run)) for _, run in groupby(calls, _same_refusal)]


def _same_refusal(call: PassedCall) -> tuple[Any, ...]:
    facts = call.facts
    is_refused = facts.method == "GET" and facts.form is None and facts.status is not None and facts.status >= 400
    return (call.client, facts.path, facts.status) if is_refused else (call.id,)


decode_facts = msgspec.json.Decoder(CallFacts).decode
"""The facts of a row. Raises: msgspec.MsgspecError, UnicodeDecodeError."""
