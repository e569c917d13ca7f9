"""The records in the frames of a call: how it began, how its answer began, how it ended. None of them holds a key."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec import Struct

from headish.gateway.spool.frames import SpoolFrame, SpoolKind

Outcome = Literal["ok", "broken", "client gone", "unreachable", "unrecorded"]
"""How a call ended.

``ok``: both bodies passed whole, whatever the status. ``broken``: the upstream broke off. ``client gone``: the client
did. ``unreachable``: no answer began, and the client got a 502. ``unrecorded``: the call passed, but a part of it is
not in the spool.
"""


class CallBegin(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call as the client sent it, without its body. Times are milliseconds since 1970.

    ``api`` is the gateway's word for the upstream (``anthropic``, ``openai``, ``gemini``, ``ollama``, or the name
    after ``/to/``), ``path`` the rest of the path. ``headers`` are those of an allow-list, names in lower case:
    session ids, content type, versions, ``user-agent``. ``space`` is the space that the call's token opens and
    ``token`` the token's label; both are None for a call without a token.
    """

    at: int
    api: str
    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = {}
    space: str | None = None
    token: str | None = None

    @property
    def client(self) -> str:
        """The client's ``user-agent``; empty if it sent none."""
        return self.headers.get("user-agent", "")


class ResponseHead(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The beginning of an answer: its status, the headers of an allow-list, and when it came."""

    status: int
    at: int
    headers: Mapping[str, str] = {}


class CallEnd(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The end of a call.

    ``first_byte_at`` is when the first byte of the answer's body came. The byte counts are of the bodies as they
    passed, still compressed. ``error`` says in a sentence what broke; ``left_out`` says why bytes that passed are not
    in the spool (too large, or in an unknown or broken encoding).
    """

    outcome: Outcome
    at: int
    first_byte_at: int | None = None
    request_bytes: int = 0
    response_bytes: int = 0
    error: str | None = None
    left_out: str | None = None


def now() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def begin(call: str, value: CallBegin) -> SpoolFrame:
    """The frame that begins a call."""
    return SpoolFrame(SpoolKind.BEGIN, call, msgspec.json.encode(value))


def read_begin(frame: SpoolFrame) -> CallBegin:
    """Decode the beginning of a call. Raises: those of ``UNREADABLE``."""
    return msgspec.json.decode(frame.body, type=CallBegin)


def head(call: str, value: ResponseHead) -> SpoolFrame:
    """The frame that begins an answer."""
    return SpoolFrame(SpoolKind.HEAD, call, msgspec.json.encode(value))


def end(call: str, value: CallEnd) -> SpoolFrame:
    """The frame that ends a call."""
    return SpoolFrame(SpoolKind.END, call, msgspec.json.encode(value))
